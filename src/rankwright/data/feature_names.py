"""What features are called where nobody named them, and lists of names in messages."""

from __future__ import annotations

from collections.abc import Sequence


def feature_name(names: Sequence[str] | None, column: int) -> str:
    """Return the name of the feature in a column; without names ``feature 1`` is the first.

    LETOR files count their features from 1 as well.

    >>> feature_name(["title", "age"], 1), feature_name(None, 1)
    ('age', 'feature 2')
    """
    return f"feature {column + 1}" if names is None else str(names[column])


def all_feature_names(names: Sequence[str] | None, n_features: int) -> list[str]:
    """Return the names of all features.

    >>> all_feature_names(None, 3)
    ['feature 1', 'feature 2', 'feature 3']
    """
    return [feature_name(names, column) for column in range(n_features)]


def listed(names: Sequence[object], most: int = 8) -> str:
    """Return names as a message lists them; of many, the first.

    >>> listed(["a", "b"]), listed([1, 2, 3], most=2)
    ("'a', 'b'", '1, 2 and 1 more')
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
