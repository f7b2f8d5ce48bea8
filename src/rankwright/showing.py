"""Objects that read well where they are printed: in a session, a notebook, a list of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import fields
from typing import Any

_LONGEST = 60  # characters of a value
_MOST = 6  # items of a container that are looked at


class Brief:
    """Base of dataclasses whose ``repr`` is a line: what is long is told by its size.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(repr=False)
    ... class Found(Brief):
    ...     name: str
    ...     value: float
    ...     rows: list[int]
    >>> Found("a", 1 / 3, list(range(1000)))
    Found(name='a', value=0.333333, rows=<1000 items>)
    """

    def __repr__(self) -> str:
        this: Any = self
        told = (f"{f.name}={brief(getattr(self, f.name))}" for f in fields(this) if f.repr)
        return f"{type(self).__name__}({', '.join(told)})"


def brief(value: Any) -> str:
    """Return a value as a short text.

    Examples
    --------
    >>> import numpy as np
    >>> brief(np.zeros((3, 4))), brief({"alpha": 0.1}), brief(None), brief("a-" * 9)
    ('<3 x 4 float64>', "{'alpha': 0.1}", 'None', "'a-a-a-a-a-a-a-a-a-'")
    """
    if isinstance(getattr(value, "shape", None), tuple) and value.shape:
        return f"<{' x '.join(map(str, value.shape))} {getattr(value, 'dtype', 'values')}>"
    if isinstance(value, float):
        return f"{float(value):.6g}"
    if isinstance(value, str | bytes):
        return repr(value) if len(value) <= _LONGEST else f"{value[:_LONGEST]!r}..."
    text = _items(value) if isinstance(value, Mapping | Sequence | Set) else repr(value)
    if text is None or len(text) > _LONGEST or "\n" in text:
        sized = isinstance(value, Mapping | Sequence | Set)
        return f"<{len(value)} items>" if sized else f"<{type(value).__name__}>"
    return text


def _items(value: Any) -> str | None:
    """Return what is in a container; None if that is much."""
    if len(value) > _MOST:
        return None
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{brief(k)}: {brief(v)}' for k, v in value.items())}}}"
    items = ", ".join(map(brief, value))
    if isinstance(value, tuple):
        return f"({items},)" if len(value) == 1 else f"({items})"
    return f"{{{items}}}" if isinstance(value, Set) else f"[{items}]"


def counted(n: int, one: str, many: str) -> str:
    """Return a number with its word.

    >>> counted(1, "query", "queries"), counted(1234, "query", "queries")
    ('1 query', '1234 queries')
    """
    return f"{n} {one if n == 1 else many}"


def and_more(n: int, most: int) -> str:
    """Return the words for what is not shown of so many things; empty if all are.

    >>> and_more(32, 20), and_more(20, 20)
    ('... and 12 more', '')
    """
    return f"... and {n - most} more" if n > most else ""


def lined_up(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table of text, with level columns.

    >>> print(lined_up([["model", "ndcg"], ["a", "0.5"]]))
    model  ndcg
    a      0.5
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
