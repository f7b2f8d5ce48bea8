"""What a parameter must be, by its name: a name means the same in every estimator.

Estimators ask in ``check_params``, before they look at data. What depends on other parameters, or
is an object of its own such as a loss or a kernel, is checked where it is understood.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from rankwright.threads import n_threads


@dataclass(frozen=True)
class Rule:
    """What holds of a value, in words and as a function."""

    text: str
    holds: Callable[[Any], bool]

    def check(self, name: str, value: Any, *, optional: bool = False) -> None:
        """Raise unless it holds, or the value is None where that is allowed."""
        if value is None and optional:
            return
        if value is None or not self.holds(value):
            none = " or None" if optional else ""
            raise ValueError(f"{name} must be {self.text}{none}, but is {value!r:.80}.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _are_positive(values: Any) -> bool:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return array.ndim == 1 and bool((np.isfinite(array) & (array > 0)).all())


def _are_signs(values: Iterable[Any]) -> bool:
    return all(_is_whole(value) and value in (-1, 0, 1) for value in values)


def _is_feature(value: Any) -> bool:
    return isinstance(value, str) or _is_whole(value)


def whole(least: int) -> Rule:
    """Return the rule of integers that are at least so large."""
    text = "a positive integer" if least == 1 else f"an integer of at least {least}"
    return Rule(text, lambda value: _is_whole(value) and value >= least)


def number(text: str, holds: Callable[[float], bool]) -> Rule:
    """Return the rule of finite numbers for which more holds."""
    return Rule(text, lambda value: _is_number(value) and holds(float(value)))


def choice(*values: str) -> Rule:
    """Return the rule of texts that are one of these."""
    text = f"one of {', '.join(values)}"
    return Rule(text, lambda value: isinstance(value, str) and value in values)


TRUTH = Rule("True or False", lambda value: isinstance(value, bool | np.bool_))
POSITIVE = number("a positive number", lambda value: value > 0)
NOT_NEGATIVE = number("a number >= 0", lambda value: value >= 0)
SHARE = number("a number in (0, 1]", lambda value: 0 < value <= 1)
FINITE = number("a finite number", lambda value: True)

RULES: Mapping[str, Rule] = {
    # linear models
    "penalty": Rule(
        "'l1', 'l2', 'elasticnet'",
        lambda value: isinstance(value, str) and value in ("l1", "l2", "elasticnet", "none"),
    ),
    "alpha": NOT_NEGATIVE,
    "l1_ratio": number("a number between 0 and 1", lambda value: 0 <= value <= 1),
    "relax": Rule(
        "True, False or a positive number",
        lambda value: TRUTH.holds(value) or POSITIVE.holds(value),
    ),
    "missing": choice("error", "median", "zero"),
    "standardize": Rule(
        "True, False or positive scales",
        lambda value: TRUTH.holds(value) or _are_positive(value),
    ),
    "solver": choice(
        "auto",
        "prox_newton",
        "working_set",
        "coordinate_descent",
        "feature_induction",
        "bundle",
        "lbfgs",
    ),
    "step": choice("newton", "range", "thesis"),
    "tol": NOT_NEGATIVE,
    "max_iter": whole(1),
    "pooled": TRUTH,
    "negatives": SHARE,
    "n_induced": whole(1),
    "min_decrease": number("a number from 0 to below 1", lambda value: 0 <= value < 1),
    "max_updates": whole(0),
    "n_tuned": whole(1),
    "valid_share": number("a number between 0 and 1", lambda value: 0 < value < 1),
    # online learners
    "n_epochs": whole(1),
    "shuffle": TRUTH,
    "eta": POSITIVE,
    "radius": POSITIVE,
    "v_max": POSITIVE,
    "max_docs": POSITIVE,
    "smallest_loss": POSITIVE,
    "threshold": FINITE,
    "threshold_step": Rule(
        "a positive number or 'auto'",
        lambda value: POSITIVE.holds(value) or (isinstance(value, str) and value == "auto"),
    ),
    "weights": Rule("'group' or 'printed'", choice("group", "printed").holds),
    "C": POSITIVE,
    "n_triplets": whole(1),
    "fit_intercept": TRUTH,
    "gamma": POSITIVE,
    "degree": whole(1),
    "budget": whole(1),
    "coef0": FINITE,
    # trees
    "n_estimators": whole(1),
    "learning_rate": POSITIVE,
    "num_leaves": whole(2),
    "min_child_samples": whole(1),
    "max_bin": whole(2),
    "subsample": SHARE,
    "colsample": SHARE,
    "colsample_bynode": SHARE,
    "leaf_l2": NOT_NEGATIVE,
    "path_smooth": NOT_NEGATIVE,
    "min_gain": NOT_NEGATIVE,
    "extra_trees": TRUTH,
    "early_stopping_rounds": whole(1),
    "eval_train": TRUTH,
    "monotone_constraints": Rule(
        "a dict of features or a list, with -1, 0 and 1 as values",
        lambda value: (
            _are_signs(value.values()) and all(_is_feature(key) for key in value)
            if isinstance(value, Mapping)
            else isinstance(value, Sequence | np.ndarray) and _are_signs(value)
        ),
    ),
    "interaction_constraints": Rule(
        "lists of features",
        lambda value: (
            isinstance(value, list | tuple)
            and all(
                isinstance(group, list | tuple) and group and all(map(_is_feature, group))
                for group in value
            )
        ),
    ),
    # ensembles
    "n_models": whole(1),
    # all of them, or of several kinds
    "skip_empty": TRUTH,
    "random_state": whole(0),
}


def check_parameters(estimator: Any, rules: Mapping[str, Rule] = RULES) -> None:
    """Raise ValueError for the first parameter of an estimator that breaks its rule.

    None is allowed where it is the default, and as a penalty.

    Examples
    --------
    >>> import rankwright as rw
    >>> check_parameters(rw.LinearRanker(max_iter="abc"))
    Traceback (most recent call last):
      ...
    ValueError: max_iter must be a positive integer or None, but is 'abc'.
    """
    rules = {**rules, **getattr(estimator, "RULES", {})}  # a class may allow more
    # get_params would read the signature once more, which costs where pieces are small.
    parameters = inspect.signature(type(estimator).__init__).parameters
    for name, parameter in sorted(parameters.items()):
        if name == "n_jobs":
            n_threads(estimator.n_jobs)
        elif name in rules:
            optional = name == "penalty" or parameter.default is None
            rules[name].check(name, getattr(estimator, name), optional=optional)
