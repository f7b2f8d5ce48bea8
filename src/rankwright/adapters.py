"""How estimators of others are told which documents belong to which query.

Some have an argument for it, under several names; most regressors and classifiers have none. It is
passed by name, and only where the signature has it: the third argument of many is a weight.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from rankwright.data.categories import column_of, decoded
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


# ---- pipelines of scikit-learn ----


def chooses_by_name(estimator: Any) -> bool:
    """Tell whether a pipeline chooses columns by their names, and so takes data frames only."""
    return any(
        isinstance(column, str)
        for choice in _of_kind(estimator, "ColumnTransformer")
        for _, _, columns in choice.transformers
        for column in _one_by_one(columns)
    )


def rows_for(estimator: Any, dataset: Dataset) -> Any:
    """Return features as an estimator takes them: a matrix, or a frame with texts of categories."""
    if not chooses_by_name(estimator):
        return dataset.X
    names = dataset.feature_names
    if names is None:
        raise TypeError("this pipeline chooses columns by name, but the features have none.")
    columns = {}
    for j, name in enumerate(names):
        levels, values = dataset.features.categories.get(name), column_of(dataset.X, j)
        columns[name] = values if levels is None else decoded(values, levels)
    return _frame(columns)


def encoded_texts(estimator: Any) -> dict[str, list[str]]:
    """Return the texts that a fitted pipeline knows of columns that it chooses by name."""
    found: dict[str, Any] = {}
    for choice in _of_kind(estimator, "ColumnTransformer"):
        for _, step, columns in getattr(choice, "transformers_", ()):
            listed = _one_by_one(columns)
            for encoder in _of_kind(step, "OneHotEncoder", "OrdinalEncoder"):
                known = getattr(encoder, "categories_", [])
                if len(known) == len(listed) and all(type(name) is str for name in listed):
                    found |= dict(zip(listed, known, strict=True))
    texts = {name: [text for text in known if type(text) is str] for name, known in found.items()}
    return {name: levels for name, levels in texts.items() if levels}


def keep_names_of(estimator: Any, names: Any) -> None:
    """Keep the names of features where a pipeline looks for them: in its first step."""
    first: Any = estimator.steps[0][1] if _is_pipeline(estimator) else None
    if names is not None and "n_features_in_" in getattr(first, "__dict__", {}):
        first.feature_names_in_ = np.array(names, dtype=object)


def predicted(estimator: Any, rows: Any) -> Any:
    """Return predictions; that a matrix has no names is no reason to warn: they were compared."""
    if not _is_pipeline(getattr(estimator, "estimator", estimator)):
        return estimator.predict(rows)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return estimator.predict(rows)


def _is_pipeline(estimator: Any) -> bool:
    return type(estimator).__name__ == "Pipeline"


def _of_kind(step: Any, *kinds: str) -> Iterator[Any]:
    """Yield the steps of some classes, wherever in a pipeline they are."""
    if type(step).__name__ in kinds:
        yield step
    elif type(step).__name__ in ("Pipeline", "FeatureUnion"):
        for _, inner in getattr(step, "steps", None) or step.transformer_list:
            yield from _of_kind(inner, *kinds)


def _one_by_one(columns: Any) -> list[Any]:
    """Return columns as they are told to a ColumnTransformer, one by one."""
    if isinstance(columns, slice):
        return [columns.start, columns.stop]
    return [columns] if isinstance(columns, str) or not hasattr(columns, "__iter__") else [*columns]


def _frame(columns: dict[str, Any]) -> Any:
    """Return a data frame such as scikit-learn takes."""
    for package in ("pandas", "polars"):
        with contextlib.suppress(ModuleNotFoundError):
            return import_module(package).DataFrame(columns)
    raise ModuleNotFoundError(
        "this pipeline chooses columns by name, for which scikit-learn needs a data frame: "
        "pip install pandas."
    )
