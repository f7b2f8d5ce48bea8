"""Texts that a spreadsheet would take for formulas, and run."""

from __future__ import annotations

from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def as_cell(value: Any) -> Any:
    """Return a value as a spreadsheet shows it; a text that begins as a formula gets a ``'``.

    >>> as_cell("=1+1"), as_cell("a=1"), as_cell(-1.5)
    ("'=1+1", 'a=1', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
