"""Slow, plain twins of the online learners, written from the formulas, one round at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass
class Run:
    """What happened: weights after each round, losses, updates, surrogates of a comparator."""

    w: Floats
    history: list[Floats] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    comparator: list[float] = field(default_factory=list)
    n_updates: int = 0

    def averaged(self) -> Floats:
        return np.asarray(np.mean(self.history, axis=0))

    def voted(self) -> Floats:
        lengths = [float(np.linalg.norm(w)) for w in self.history]
        units = [
            w / length if length > 0 else w for w, length in zip(self.history, lengths, strict=True)
        ]
        return np.asarray(np.mean(units, axis=0))


def ndcg_loss(y: Floats, s: Floats, k: int | None) -> float:
    """1 - NDCG@k, tied documents in the worst order; 0 without relevant documents."""
    cutoff = len(y) if k is None else k
    gains = [2.0**label - 1 for label in y]

    def dcg(order: list[int]) -> float:
        return math.fsum(gains[i] / math.log2(r + 2) for r, i in enumerate(order[:cutoff]))

    best = dcg(sorted(range(len(y)), key=lambda i: -y[i]))
    worst_ties = sorted(range(len(y)), key=lambda i: (-s[i], y[i]))
    return 0.0 if best == 0 else 1 - dcg(worst_ties) / best


def ap_loss(y: Floats, s: Floats) -> float:
    """1 - average precision of labels 0 and 1, tied documents in the worst order."""
    order = sorted(range(len(y)), key=lambda i: (-s[i], y[i]))
    hits, total = 0, 0.0
    for r, i in enumerate(order, start=1):
        if y[i]:
            hits += 1
            total += hits / r
    return 0.0 if hits == 0 else 1 - total / hits


def slam_perceptron(
    queries: list[tuple[Floats, Floats]],
    weights: Any,
    loss: Any,
    *,
    update: str = "misordered",
    eta: float = 1.0,
    u: Floats | None = None,
) -> Run:
    """Run over (X, y) with ``weights(y)`` and ``loss(y, s)``, as in Algorithm 1 and S1."""
    run = Run(np.zeros(queries[0][0].shape[1]))
    for X, y in queries:
        s, v, step, charged = X @ run.w, weights(y), np.zeros_like(run.w), 0.0
        for i in range(len(y)):
            below = [j for j in range(len(y)) if y[j] < y[i]]
            if not below:
                continue
            # Of equal scores the lowest label, then the first document: any is a subgradient.
            k = max(below, key=lambda j: (s[j], -y[j], -j))
            if s[k] >= s[i] if update == "misordered" else 1 + s[k] - s[i] > 0:
                step -= v[i] * (X[k] - X[i])
                if u is not None:
                    t = X @ u
                    charged += v[i] * max(0.0, max(1 + t[j] - t[i] for j in below))
        value = loss(y, s)
        wrong = value > 1e-12
        run.losses.append(value if wrong else 0.0)
        run.comparator.append(charged if wrong else 0.0)
        if wrong:
            run.w = run.w + eta * step
            run.n_updates += 1
        run.history.append(run.w)
    return run
