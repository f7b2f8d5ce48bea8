"""What features are called where nobody named them."""

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
