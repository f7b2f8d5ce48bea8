"""Every parameter of every estimator is looked at when it is fitted, with one clear line."""

from __future__ import annotations

import math
import re
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.models import CLASSES
from rankwright.parameters import RULES

KINDS = {name: getattr(import_module(package), name) for name, package in CLASSES.items()}
CASES = [(kind, name) for kind, cls in KINDS.items() for name in cls().get_params(deep=False)]
JUNK = ["abc", "maybe", -1, 7.5, 1e400, math.nan, [], {}, object(), b"l2", True, np.zeros(3)]
# What is no text, number or truth value is understood where it is used; what it must be is there.
# Any text is a label to reject with.
OWN = {"loss", "metric", "eval_metric", "kernel", "margin", "layers", "classes", "representation"}
OWN |= {"reject", "lightgbm_params", "params", "grid", "update", "variant", "schedule", "mode"}
OWN |= {"norm", "newton", "select_by", "n_jobs", "members", "bag", "base"}
ANYTHING = {"reject_label"}


def fit(estimator: Any) -> Any:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 3)), np.tile([0, 1, 2], 8)
    if type(estimator).__name__ in ("TopicRankers", "PredtronLabelRanker", "PredtronMultilabel"):
        return estimator.fit(X, (np.arange(72).reshape(24, 3) % 5 < 2).astype(int))
    return estimator.fit(X, y, qid=np.repeat(np.arange(4), 6))


def test_every_parameter_has_a_rule_or_an_owner() -> None:
    assert {name for _, name in CASES} == set(RULES) | OWN | ANYTHING
    assert not set(RULES) & (OWN | ANYTHING)


@pytest.mark.parametrize(("kind", "name"), [c for c in CASES if c[1] in RULES])
def test_what_breaks_a_rule_is_refused(kind: str, name: str) -> None:
    for value in [*JUNK, None]:
        default = KINDS[kind]().get_params()[name]
        allowed = value is None and (default is None or name == "penalty")
        if allowed or (value is not None and RULES[name].holds(value)):
            continue
        estimator = KINDS[kind](**{name: value})
        with pytest.raises(ValueError, match=f"^{name} must be ") as error:
            estimator.check_params()
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 250
        with pytest.raises(ValueError, match=f"^{name} must be "):
            fit(estimator)


@pytest.mark.parametrize(("kind", "name"), [c for c in CASES if c[1] in OWN])
def test_what_nobody_understands_is_refused(kind: str, name: str) -> None:
    for value in ("abc", object()):
        with pytest.raises((ValueError, TypeError)) as error:
            fit(KINDS[kind](**{name: value}))
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(("kind", "name"), [c for c in CASES if c[1] in RULES])
def test_numbers_of_numpy_are_numbers(kind: str, name: str) -> None:
    default = KINDS[kind]().get_params()[name]
    if isinstance(default, bool | int | float):
        KINDS[kind](**{name: np.asarray(default)[()]}).check_params()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"foo": 1}, "LightGBM has no parameter 'foo'."),
        ({"lamda_l1": 1}, "LightGBM has no parameter 'lamda_l1'. Did you mean 'lambda_l1'?"),
        ({"num_leaves": 3}, "lightgbm_params must not have 'num_leaves': use num_leaves."),
    ],
)
def test_a_misspelt_parameter_of_lightgbm(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        fit(rw.BoostedRanker(lightgbm_params=params))
    known = {"lambda_l1": 0.01, "monotone_constraints_method": "basic"}
    fit(rw.BoostedRanker(min_child_samples=1, lightgbm_params=known))
