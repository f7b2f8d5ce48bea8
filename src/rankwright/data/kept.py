"""Columns that are kept beside the features: for those who measure, not for those who learn.

The country of a query, the brand of a document, the subtopics it is about: texts, one a document,
in the order of the rows. A missing value is the empty text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.categories import as_level
from rankwright.data.foreign import plain
from rankwright.data.texts import text_array

Kept: TypeAlias = dict[str, NDArray[Any]]


def kept_texts(values: Iterable[Any]) -> NDArray[Any]:
    """Return values as texts: 3.0, 3 and "3" are one, what is missing is empty, a list has spaces.

    Examples
    --------
    >>> kept_texts([3.0, "de", None, ["a", "b"]]).tolist()
    ['3', 'de', '', 'a b']
    """
    return text_array([_level_text(value) for value in values])


def _level_text(value: Any) -> str:
    if isinstance(value, list | tuple | np.ndarray):
        return " ".join(map(_level_text, value))
    return as_level(value) or ""


def check_kept(given: Mapping[str, ArrayLike] | None, n_rows: int) -> Kept:
    """Return kept columns as vectors of texts, one value per row."""
    kept: Kept = {}
    for name, values in (given or {}).items():
        column = np.asarray(plain(values, f"kept[{name!r}]"))
        if column.shape != (n_rows,):
            raise ValueError(
                f"kept[{name!r}] must have one value per row, {n_rows} in all, but has shape "
                f"{column.shape}."
            )
        kept[str(name)] = kept_texts(column.tolist())
    return kept


def take_rows(kept: Kept, rows: Any) -> Kept:
    """Return some rows of each column."""
    return {name: column[rows] for name, column in kept.items()}


def kept_numbers(kept: Kept, column: str, name: str) -> NDArray[np.float64]:
    """Return a kept column as numbers; ``name`` is what they are to be, for messages.

    Examples
    --------
    >>> kept_numbers({"w": np.array(["1", "0.5"])}, "w", "sample_weight")
    array([1. , 0.5])
    """
    if column not in kept:
        there = f"only {', '.join(map(repr, kept))}" if kept else "none"
        raise ValueError(
            f"{name} must be a column that is kept beside the features, but {column!r} is not: "
            f"there is {there}. Read the data with keep=[{column!r}]."
        )
    try:
        return kept[column].astype(np.float64)
    except ValueError:
        row, text = next(
            (i, t) for i, t in enumerate(kept[column].tolist()) if not _reads_as_number(t)
        )
        what = repr(text) if text else "missing"
        raise ValueError(
            f"{name} must be numbers, but row {row} of the column {column!r} is {what}."
        ) from None


def _reads_as_number(text: str) -> bool:
    try:
        np.asarray(text).astype(np.float64)
    except ValueError:
        return False
    return True
