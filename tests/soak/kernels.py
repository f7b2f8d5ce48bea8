"""Games of learners with a kernel: those of weights, with sums over documents to compare with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwright.online import DualComparator

Make = Callable[[np.random.Generator, int], Any]


WITH_BUDGET = (
    "slam-misordered",
    "multiclass-uniform",
    "multiclass-max",
    "predtron-predicted-l2",
    "predtron-loss_driven-l2",
)
WITH_KERNEL = (*WITH_BUDGET, "prank", "widrow-hoff", "predtron-augmented-l2")


def with_kernels(ledgers: dict[str, Make]) -> dict[str, Make]:
    """Return ledgers of learners with a kernel, and with a budget."""
    found = {f"kernel-{name}": by_kernel(ledgers[name]) for name in WITH_KERNEL}
    return found | {f"budget-{name}": by_kernel(ledgers[name], budget=True) for name in WITH_BUDGET}


def by_kernel(make: Make, budget: bool = False) -> Make:
    """Return the games of a ledger in kernel form, with a budget or without."""

    def made(rng: np.random.Generator, i: int) -> Any:
        game = make(rng, i)
        examples = list(zip(game.X, game.y, strict=True))
        X, y, qid = game.arrays(10 * examples, 0)
        d, size = X.shape[1], float(np.abs(X).max())
        known, kernel = game.learner.get_params(), ("linear", "poly", "rbf")[i % 3]
        if "eta" in known and "radius" not in known and kernel == "poly":
            kernel = "rbf"  # Widrow-Hoff overflows unless K(x, x) is small
        options = {"kernel": kernel, "degree": 2, "gamma": 1 / size**2}
        if "eta" in known and kernel != "linear":
            options["eta"] = rng.uniform(0.01, 0.4)
        if "radius" in known:
            options["eta"] = 0.01 / (1 if kernel != "linear" else size**2)
        if budget:
            options["budget"] = int(rng.integers(5, 40))
        game.learner.set_params(**options)
        u = np.asarray(game.comparator)
        if kernel == "linear":  # the same weights; what stands behind them are thresholds
            rest = u[d:] if u.ndim == 1 and len(u) > d else None
            game.comparator = DualComparator(np.eye(d), u[..., :d].T, rest)
        else:
            teacher = clone(game.learner).set_params(
                standardize=False, variant="last", n_epochs=20, budget=None
            )
            classes = {} if game.classes is None else {"classes": game.classes}
            teacher.partial_fit(X, y, qid, **classes)
            found = teacher.as_comparator()
            scale = 10.0 ** rng.uniform(-1, 1)
            b = None if found.thresholds is None else scale * np.asarray(found.thresholds)
            game.comparator = DualComparator(found.points, scale * np.asarray(found.coef), b)
        return game

    return made
