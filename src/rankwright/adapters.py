"""How estimators of others are told which documents belong to which query.

Some have an argument for it, under several names; most regressors and classifiers have none. It is
passed by name, and only where the signature has it: the third argument of many is a weight.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from rankwright.data.dataset import Dataset

# Rows are gathered, so that sizes and numbers of queries tell them: LightGBM's, CatBoost's names.
_ARGUMENTS: dict[str, Callable[[Dataset], Any]] = {
    "qid": lambda dataset: dataset.qid,
    "group": lambda dataset: dataset.groups.sizes,
    "group_id": lambda dataset: dataset.groups.query_of_rows(),
}
_NEEDED = ["fit", "predict", "get_params"]


def query_arguments(estimator: Any, dataset: Dataset) -> dict[str, Any]:
    """Return the arguments that tell an estimator's ``fit`` the queries; none if it takes none.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> query_arguments(Ridge(), Dataset([[1.0]], [0]))
    {}
    """
    from sklearn.pipeline import Pipeline  # which loads much, and seldom is there

    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return {f"{name}__{key}": value for key, value in query_arguments(last, dataset).items()}
    known = inspect.signature(estimator.fit).parameters
    for name, make in _ARGUMENTS.items():
        if name in known:
            # XGBoost takes numbers only.
            of_xgboost = type(estimator).__module__.startswith("xgboost")
            return {name: _ARGUMENTS["group_id"](dataset) if of_xgboost else make(dataset)}
    return {}


def check_estimator(estimator: Any, name: str, *, searched: bool) -> None:
    """Raise unless an estimator has what is asked of one in a comparison."""
    if isinstance(estimator, type):
        raise TypeError(f"{name}: the estimator must be an object, but is a class: call it.")
    needed = [*_NEEDED, "set_params"] if searched else _NEEDED
    missing = [method for method in needed if not callable(getattr(estimator, method, None))]
    if missing:
        raise TypeError(
            f"{name}: an estimator must have {', '.join(needed)}, but {type(estimator).__name__} "
            f"has no {', '.join(missing)}. Derive it from sklearn.base.BaseEstimator."
        )
