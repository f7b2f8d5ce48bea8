"""Sums of a linear part and trees, for the targets that hold them."""

from __future__ import annotations

from typing import Any

import numpy as np

import rankwright as rw
from tests.contracts.test_export_bits import N_FEATURES, held, ranker
from tests.reference import forest as twin

HOLDING = ["c", "java", "onnx", "sql", "vespa"]
"""The targets that add a linear part and trees."""


def added(trees: list[Any], weights: Any, bias: float, fill: Any) -> rw.BoostedRanker:
    """Return a model of these trees and this linear part."""
    model, width = ranker(trees), len(weights)
    if width != N_FEATURES:
        model.model_text_, model.n_features_in_ = twin.text_of(trees, width), width
    model.linear_coef_ = np.array(weights, dtype=np.float64)
    model.linear_intercept_, model.linear_spread_ = float(bias), np.ones(width)
    if fill is not None:
        model.linear_fill_ = np.array(fill, dtype=np.float64)
    return model


def random_sum(
    rng: np.random.Generator, fills: bool | None = None
) -> tuple[rw.BoostedRanker, list[Any]]:
    """Return a random model and its trees; with what stands for missing values, or by chance."""
    shape = twin.Shape(N_FEATURES, int(rng.integers(1, 20)), rng.random())
    trees = [held(twin.random_tree(rng, shape), None) for _ in range(rng.integers(1, 9))]
    weights = rng.normal(size=N_FEATURES) * 10.0 ** rng.integers(-3, 4, N_FEATURES)
    weights[rng.random(N_FEATURES) < 0.3] = 0
    filled = rng.random() < 0.7 if fills is None else fills
    fill = rng.normal(size=N_FEATURES) if filled else None
    return added(trees, weights, rng.choice([0.0, rng.normal()]), fill), trees


def partly_linear() -> rw.Dataset:
    """Return queries that need a linear part and trees: y rises with a feature, and with a size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(720, 4)).astype(np.float32)
    y = np.digitize(2 * X[:, 0] + 3 * np.abs(X[:, 1]) + rng.normal(size=720), [1.0, 3.0, 5.0])
    return rw.Dataset(X, y, np.arange(720) // 12)
