"""Linear models in words: which features are strongest, and the score as a formula."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwright.data.validation import Floats, check_count
from rankwright.estimator import as_model


def feature_names(model: Any) -> list[str]:
    """Return the names of a fitted model's features; ``feature 1``, ... if it knows none."""
    return as_model(model).feature_names()


def strongest_features(model: Any, n: int | None = 10) -> list[tuple[str, float]]:
    """Return the features with the largest weights, by name, strongest first.

    Weights are comparable where features are on one scale.

    Parameters
    ----------
    model : fitted model with one weight for each feature
        Such as :class:`DominationRank`, :class:`LinearRanker`, or an online ranker.
    n : int, optional
        How many; None is all that are not 0.

    Examples
    --------
    >>> from rankwright import Dataset, DominationRank
    >>> data = Dataset([[1.0, 0], [0, 2], [0, 0]], [2, 1, 0], None, feature_names=["title", "age"])
    >>> model = DominationRank("l2", 0.1).fit_dataset(data)
    >>> [(name, round(weight, 2)) for name, weight in strongest_features(model)]
    [('title', 2.55), ('age', 0.61)]
    """
    coef, names = _weights(model), feature_names(model)
    order = np.argsort(-np.abs(coef), kind="stable")
    order = order[coef[order] != 0][: len(coef) if n is None else n]
    return [(names[j], float(coef[j])) for j in order.tolist()]


def formula(model: Any, *, digits: int = 6) -> str:
    """Return a linear model as a formula that people and programs can read.

    Parameters
    ----------
    model : fitted model with one weight for each feature
        Such as :class:`DominationRank`, :class:`LinearRanker`, or an online ranker.
    digits : int, default 6
        Significant digits of the weights; 17 lose nothing.

    Examples
    --------
    >>> from rankwright import Dataset, DominationRank
    >>> data = Dataset([[1.0, 0], [0, 2], [0, 0]], [2, 1, 0], None, feature_names=["title", "age"])
    >>> print(formula(DominationRank("l2", 0.1).fit_dataset(data), digits=3))
    score =
      + 2.55 * title
      + 0.611 * age
    """
    check_count("digits", digits)
    terms = strongest_features(model, None)
    if not terms:
        return "score = 0"
    lines = [
        f"  {'-' if weight < 0 else '+'} {abs(weight):.{digits}g} * {_quoted(name)}"
        for name, weight in terms
    ]
    return "\n".join(["score =", *lines])


def _weights(model: Any) -> Floats:
    check_is_fitted(model)
    coef = as_model(model).linear_weights()
    if coef is None:
        raise TypeError(
            f"a formula needs one weight for each feature, which {type(model).__name__} has not."
        )
    return coef


def _quoted(name: str) -> str:
    return name if name.isidentifier() else repr(name)
