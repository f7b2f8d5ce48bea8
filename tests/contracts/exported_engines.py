"""Random models before the engines themselves: the same bits as ``predict`` of the grid model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import rankwright as rw
from rankwright.exports.exporting import prepared
from rankwright.exports.judging import first_difference
from rankwright.exports.reference import Reference, grid_model
from rankwright.exports.rules import NUMBERS
from rankwright.exports.targets.registry import target_named
from rankwright.exports.targets.target import Engine, Options
from tests.contracts.exported_sums import random_sum
from tests.contracts.test_export_bits import N_FEATURES, allowed, rows
from tests.reference import forest as twin
from tests.reference.forest import Shape

TEXTS = ["bad", "so'so\\", "good", "best"]


def random_forests(target: str, seed: int) -> tuple[Any, Any, Any]:
    """Return a model that a target can hold, its rules, and rows."""
    rng = np.random.default_rng(seed)
    shape = Shape(N_FEATURES, int(rng.integers(1, 20)), rng.random())
    trees = [twin.random_tree(rng, shape) for _ in range(rng.integers(1, 9))]
    found = target_named(target)
    model, rules = allowed(found, trees)
    return model, rules, rows(rng, found.number)


def random_sums(target: str, seed: int, options: Options) -> Iterator[tuple[Any, Any, Any]]:
    """Yield sums of a linear part and trees, with and without missing values."""
    rng, found = np.random.default_rng(seed), target_named(target)
    for fills in (True, False):
        model, _ = random_sum(rng, fills)
        rules = prepared(model, found, options, None, None, frozenset())[0]
        X = rows(rng, found.number)
        X[np.abs(X) < np.finfo(X.dtype).tiny] = 0  # PostgreSQL refuses products that underflow
        yield model, rules, X if fills else np.nan_to_num(X)


def random_linear(target: str, seed: int, options: Options) -> Iterator[tuple[Any, Any, Any]]:
    """Yield linear models of a few widths, with and without missing values and labels."""
    rng, found = np.random.default_rng(seed), target_named(target)
    for width in (1, 7, 8, 9, 16, 21):
        X = rng.normal(size=(60, width)) * 10.0 ** rng.integers(-3, 4, width)
        X[rng.random(X.shape) < 0.2] = 0
        y, gaps = rng.integers(0, 4, 60), np.where(rng.random(X.shape) < 0.2, np.nan, X)
        gaps[0] = X[0]
        models = [
            (rw.LinearRanker("listnet", missing="median").fit(gaps, y, np.arange(60) // 6), gaps),
            (rw.WidrowHoff(fit_intercept=True).fit(X / np.abs(X).max(), y), X),
            (rw.PRank(classes=TEXTS).fit(X, np.array(TEXTS)[y]), X),
            (rw.PredtronOrdinal().fit(X, y), X),
        ]
        for model, data in models:
            rules = prepared(model, found, options, None, None, frozenset())[0]
            yield model, rules, data.astype(NUMBERS[found.number])


def disagreement(target: str, options: Options, case: tuple[Any, Any, Any]) -> str | None:
    """Return which engine differs from the model, and at which row; None if none does."""
    model, rules, X = case
    found = target_named(target)
    content = found.write(rules, options).content
    expected = Reference(grid_model(model, rules, found), rules)(X)
    judges = [Engine("interpreter", found.interpreter(content, rules, options))]
    judges += list(found.engines(content, rules, options))
    assert len(judges) > 1
    for engine in judges:
        row = first_difference(expected, engine.judge(X))
        if row is not None:
            return f"{engine.name} at {X[row].tolist()}"
    return None
