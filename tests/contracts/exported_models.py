"""Models that are exported to every target, and rows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import rankwright as rw

_RNG = np.random.default_rng(0)
N_ROWS, N_FEATURES = 1200, 8


def _rows() -> Any:
    """Return float32 rows: integers, many zeros, and missing values in two features."""
    X = _RNG.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    X[:, 1] = np.rint(3 * X[:, 1])
    X[_RNG.random(N_ROWS) < 0.6, 2] = 0
    X[_RNG.random(N_ROWS) < 0.2, 3] = np.nan
    X[_RNG.random(N_ROWS) < 0.4, 4] = np.nan
    return X


ROWS = _rows()
FILLED = np.nan_to_num(ROWS)
QID = np.arange(N_ROWS) // 12
_SIGNAL = FILLED[:, 0] + np.abs(FILLED[:, 1]) - FILLED[:, 2] + np.isnan(ROWS[:, 4])
LABELS = np.digitize(_SIGNAL + _RNG.normal(size=N_ROWS), [0, 1.5, 3])
_TREES: dict[str, Any] = {"n_jobs": 1, "random_state": 0}


def _trees(**params: Any) -> Any:
    return rw.BoostedRanker("xendcg", **{**_TREES, **params}).fit(ROWS, LABELS, QID)


def _infinite() -> Any:
    X, missing = np.zeros((400, N_FEATURES), dtype=np.float32), np.arange(400) % 5 < 2
    X[missing, 4] = np.nan
    model = rw.BoostedRanker("xendcg", n_estimators=3, num_leaves=2, **_TREES)
    model.fit(X, missing.astype(int), np.arange(400) // 20)
    assert "threshold=inf" in model.model_text_
    return model


def _linear(**params: Any) -> Any:
    return rw.LinearRanker("listnet", **params).fit(ROWS, LABELS, QID)


def _sum(X: Any, **params: Any) -> Any:
    """Return trees on a linear base, which fills in what it lacks, or takes no missing values."""
    base = rw.LinearRanker("listnet", **params)
    model = rw.BoostedRanker("xendcg", n_estimators=20, num_leaves=7, base=base, **_TREES)
    return model.fit(X, LABELS, QID)


def _average() -> Any:
    """Return an average of trees and of linear models: a sum of both."""
    trees = rw.BoostedRanker("xendcg", n_estimators=5, num_leaves=7)
    members = [trees, rw.LinearRanker("listnet", missing="median")]
    return rw.EnsembleRanker(members, n_models=2, **_TREES).fit(ROWS, LABELS, QID)


_MAKERS: dict[str, Callable[[], Any]] = {
    "trees": lambda: _trees(n_estimators=300, num_leaves=31),
    "one tree": lambda: _trees(n_estimators=1, num_leaves=15),
    "stump": lambda: _trees(n_estimators=1, num_leaves=2),
    "infinite threshold": _infinite,
    "zero as missing": lambda: _trees(n_estimators=5, lightgbm_params={"zero_as_missing": True}),
    "linear": lambda: rw.LinearRanker("listnet").fit(FILLED, LABELS, QID),
    "linear with bias": lambda: rw.WidrowHoff(fit_intercept=True).fit(FILLED, LABELS),
    "linear with imputation": lambda: _linear(missing="median"),
    "sum": lambda: _sum(FILLED),
    "sum with imputation": lambda: _sum(ROWS, missing="median"),
    "average": _average,
    "prank": lambda: rw.PRank().fit(FILLED, LABELS),
}
_FITTED = {name: cache(make) for name, make in _MAKERS.items()}  # once in a process


def _copied(name: str) -> Any:
    return copy.deepcopy(_FITTED[name]())


MODELS: dict[str, Callable[[], Any]] = {name: partial(_copied, name) for name in _MAKERS}
"""Each is a copy, which a test may change."""
