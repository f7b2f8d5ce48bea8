r"""Pipelines as one model: scalers and imputers folded into weights and thresholds.

A scaler is a non-decreasing function :math:`T_j` of each feature, so that a split of what it gives
is a split of what it is given:

.. math:: T_j(x) \le c \iff x \le c', \qquad c' = \max \{ x : T_j(x) \le c \},

found by halving the numbers of the type, with the scaler's own arithmetic: no rounding is lost.
Into weights only affine scalers fold, :math:`T_j(x) = r_j x + o_j`, as :math:`w_j r_j` and
:math:`b + \sum_j w_j o_j`; scores then differ from the pipeline's by rounding. Into a sum of a
linear part and trees they fold twice.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from rankwright.data.validation import Floats
from rankwright.exports.lightgbm_text import lightgbm_text
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import NUMBERS, Trees, plain_trees
from rankwright.trees.forest import ZERO, Forest

_AFFINE = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
_INCREASING = (*_AFFINE, PowerTransformer, QuantileTransformer, SimpleImputer)


def folded(model: Any, number: str) -> Any:
    """Return a pipeline as the one model that it is for numbers of a type; others as they are."""
    if not isinstance(model, Pipeline):
        return model
    check_is_fitted(model, msg="a pipeline must be fitted before it is exported.")
    steps, last = unfolded(model)
    last = copy.deepcopy(last)
    trees, part = "model_text_" in vars(last), "linear_coef_" in vars(last)
    for step in steps:
        _refuse_other(step, trees and not part)
    if steps:
        names = getattr(steps[0], "feature_names_in_", None)
        if trees:
            _fold_into_trees(last, steps, number)
        if part:
            _fold_into_part(last, steps)
        elif not trees:
            _fold_into_weights(last, steps)
        if names is not None:
            last.feature_names_in_ = names
    return last


def unfolded(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before the model of a pipeline, and the model; of others, no steps."""
    if not isinstance(model, Pipeline):
        return [], model
    steps = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
    return steps, model.steps[-1][1]


def transformed(model: Any, X: NDArray[Any]) -> NDArray[Any]:
    """Return what the model of a pipeline is given; of others, the rows themselves."""
    return _through([_without_names(step) for step in unfolded(model)[0]], X)


def _refuse_other(step: Any, trees: bool) -> None:
    known = _INCREASING if trees else (*_AFFINE, SimpleImputer)
    kind = type(step).__name__
    plain = type(step) in known
    if isinstance(step, SimpleImputer):
        plain = plain and not step.add_indicator and np.isnan(step.missing_values)
    if isinstance(step, MinMaxScaler) and not trees:
        plain = plain and not step.clip  # a bend is not affine
    width = getattr(step, "n_features_in_", None)
    if plain and isinstance(step, SimpleImputer):
        plain = len(step.statistics_) == width and not np.isnan(step.statistics_).any()
    if not plain:
        raise Refusal(
            "pipeline",
            f"{kind} cannot be folded into {'thresholds' if trees else 'weights'}",
            "export the model that was trained on its output, and transform in the engine; what "
            f"folds is {', '.join(one.__name__ for one in known)}",
        )


def _through(steps: list[Any], X: NDArray[Any]) -> NDArray[Any]:
    for step in steps:
        X = np.asarray(step.transform(X))
    return X


def _fold_into_trees(model: Any, steps: list[Any], number: str) -> None:
    """Put the thresholds of trees before the scalers."""
    forest = Forest.from_text(model.model_text_, model.n_features_in_)
    trees = plain_trees(forest)
    dtype = NUMBERS[number]
    steps = [_without_names(step) for step in steps]
    width = steps[0].n_features_in_
    missing = _through(steps, np.full((1, width), np.nan, dtype))[0, forest.feature]
    went = np.where(np.isnan(missing), trees.nan_left, missing <= trees.cuts[number])
    cuts = _before(trees, steps, number)
    zero = _through(steps, np.zeros((1, width), dtype))[0, forest.feature]
    # What is read as 0 goes where 0 goes.
    near = np.abs(cuts) <= ZERO
    below = np.nextafter(dtype(-ZERO), dtype(-1))
    cuts = np.where(near, np.where(zero <= trees.cuts[number], dtype(ZERO), below), cuts)
    moved = replace(trees, cuts={number: cuts.astype(dtype)}, nan_left=went)
    model.model_text_ = lightgbm_text(moved, number)


def _before(trees: Trees, steps: list[Any], number: str) -> NDArray[Any]:
    """Return the largest numbers that the steps send to the left, one for each split."""
    dtype, feature, c = NUMBERS[number], trees.forest.feature, trees.cuts[number]
    low = np.full(len(c), _place(dtype(-np.finfo(dtype).max)))  # goes left, or nothing does
    high = np.full(len(c), _place(dtype(np.inf)))  # goes right, or everything goes left
    order = np.argsort(feature, kind="stable")
    # Splits of different features share a row: so many rows as the busiest feature has splits.
    begins = np.searchsorted(feature[order], feature[order], "left")
    row = np.empty(len(c), dtype=np.int64)
    row[order] = np.arange(len(c)) - begins
    X = np.zeros((int(row.max(initial=-1)) + 1, steps[0].n_features_in_), dtype)
    while (low + 1 < high).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)  # of 2^64 places no sum would fit
        X[row, feature] = _number_at(middle, dtype)
        left = _through(steps, X)[row, feature] <= c
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    X[row, feature] = _number_at(low, dtype)
    found = np.where(_through(steps, X)[row, feature] <= c, _number_at(low, dtype), dtype(-np.inf))
    most = dtype(np.finfo(dtype).max)
    # All numbers go left, or none: an infinite threshold.
    return np.asarray(np.where(found == most, dtype(np.inf), found), dtype=dtype)


def _place(value: Any) -> int:
    """Return the place of a number among all numbers of its type, in their order."""
    bits = int(np.asarray(value).view(f"i{value.dtype.itemsize}"))
    return bits if bits >= 0 else -(bits & int(np.iinfo(f"i{value.dtype.itemsize}").max))


def _number_at(places: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
    """Return the numbers at places."""
    size = np.dtype(dtype).itemsize
    sign = np.where(places < 0, dtype(-1), dtype(1))
    return np.asarray(sign * np.abs(places).astype(f"i{size}").view(dtype))


def _without_names(step: Any) -> Any:
    """Return a step that takes arrays without asking for names."""
    step = copy.deepcopy(step)
    vars(step).pop("feature_names_in_", None)
    return step


def _fold_into_weights(model: Any, steps: list[Any]) -> None:
    """Put the weights of a linear model before the scalers."""
    coef = np.asarray(model.coef_, dtype=np.float64)
    own = vars(model).get("intercept_", 0.0), vars(model).get("fill_")
    model.coef_, intercept, fill = _weights_before(coef, *own, steps)
    if intercept.any():
        model.intercept_ = float(intercept) if coef.ndim == 1 else np.atleast_1d(intercept)
        if "fit_intercept" in vars(model):
            model.fit_intercept = True
    if fill is not None:
        model.fill_, model.missing = fill, "median"


def _fold_into_part(model: Any, steps: list[Any]) -> None:
    """Put the linear part that is added to trees before the scalers."""
    own = model.linear_intercept_, vars(model).get("linear_fill_")
    coef, intercept, fill = _weights_before(model.linear_coef_, *own, steps)
    r = _weights_before(np.ones(len(coef)), 0.0, None, steps)[0]
    model.linear_coef_, model.linear_intercept_ = coef, float(intercept)
    # Deviations as they are before the scalers: weights times them stay what they were.
    spread = model.linear_spread_
    model.linear_spread_ = np.divide(spread, np.abs(r), out=spread.copy(), where=r != 0)
    if fill is not None:
        model.linear_fill_ = fill


def _weights_before(
    coef: Floats, intercept: Any, fill: Floats | None, steps: list[Any]
) -> tuple[Floats, Floats, Floats | None]:
    """Return weights, what is added, and what stands for missing values, before the scalers."""
    width = coef.shape[-1]
    r, o = np.ones(width), np.zeros(width)
    for step in reversed(steps):
        if isinstance(step, SimpleImputer):
            fill = np.asarray(step.statistics_, dtype=np.float64)
            continue
        scale, offset = _affine(step)
        if fill is not None:
            # What is filled in behind the scaler, as it would stand before it.
            fill = np.divide(fill - offset, scale, out=np.zeros(width), where=scale != 0)
        r, o = r * scale, r * offset + o
    moved = np.asarray(intercept, dtype=np.float64) + coef @ o
    return np.ascontiguousarray(coef * r), np.asarray(moved), fill


def _affine(step: Any) -> tuple[Floats, Floats]:
    """Return factors and offsets of a scaler."""
    width = step.n_features_in_
    if isinstance(step, MinMaxScaler):
        return step.scale_, step.min_
    factor = np.ones(width) if getattr(step, "scale_", None) is None else 1 / step.scale_
    center = getattr(step, "mean_" if isinstance(step, StandardScaler) else "center_", None)
    if center is None or not getattr(step, "with_mean", getattr(step, "with_centering", True)):
        return factor, np.zeros(width)
    return factor, -np.asarray(center) * factor
