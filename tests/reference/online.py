"""Slow, plain twins of the online learners, written from the formulas, one round at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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


def gradient_descent(
    queries: list[tuple[Floats, Floats]],
    value_and_grad: Any,
    steps: list[float],
    start: Floats | None = None,
) -> Run:
    """Online gradient descent; ``value_and_grad(s, y, t)`` knows the round."""
    run = Run(np.zeros(queries[0][0].shape[1]) if start is None else start)
    for t, (X, y) in enumerate(queries):
        value, grad = value_and_grad(X @ run.w, y, t)
        run.losses.append(value)
        run.w = run.w - steps[t] * (X.T @ grad)
        run.n_updates += bool(np.any(grad))
        run.history.append(run.w)
    return run


@dataclass
class Thresholds:
    """PRank as R1 restores it; ranks count from 1."""

    w: Floats
    b: Floats
    step: float = 1.0  # of the thresholds (R7)
    losses: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)  # thresholds, in each round
    history: list[tuple[Floats, Floats]] = field(default_factory=list)

    def rank(self, x: Floats) -> int:
        return next(
            (r for r, b in enumerate(self.b, start=1) if self.w @ x - b < 0), len(self.b) + 1
        )

    def learn(self, x: Floats, y: int) -> None:
        predicted, score, moved = self.rank(x), self.w @ x, 0
        if predicted != y:
            total, b = 0.0, self.b.copy()
            for r in range(1, len(b) + 1):
                y_r = -1 if y <= r else 1
                if (score - self.b[r - 1]) * y_r <= 0:
                    total, moved = total + y_r, moved + 1
                    b[r - 1] -= self.step * y_r
            self.w, self.b = self.w + total * x, b
        self.losses.append(abs(predicted - y))
        self.moved.append(moved)
        self.history.append((self.w, self.b))


def prank(X: Floats, ranks: npt.NDArray[np.int64], k: int, step: float = 1.0) -> Thresholds:
    """PRank over documents with ranks 1..k, from zero."""
    machine = Thresholds(np.zeros(X.shape[1]), np.zeros(k - 1), step)
    for x, y in zip(X, ranks.tolist(), strict=True):
        machine.learn(x, y)
    return machine


def widrow_hoff(X: Floats, ranks: npt.NDArray[np.int64], k: int, eta: float | None) -> Run:
    """Widrow-Hoff over documents with ranks 1..k."""
    run, longest = Run(np.zeros(X.shape[1])), 0.0
    for x, y in zip(X, ranks.tolist(), strict=True):
        p = float(run.w @ x)
        longest = max(longest, float(x @ x))
        step = eta if eta is not None else 1 / (2 * longest)
        run.losses.append(abs(min(max(math.floor(p + 0.5), 1), k) - y))
        run.w = run.w + step * (y - p) * x
        run.history.append(run.w)
    return run


def multiclass(X: Floats, ranks: npt.NDArray[np.int64], k: int, update: str) -> Run:
    """Run the multiclass perceptron over documents with labels 1..k; w has a row for each label."""
    run = Run(np.zeros((k, X.shape[1])))
    for x, y in zip(X, (ranks - 1).tolist(), strict=True):
        scores = run.w @ x
        run.losses.append(abs(int(np.argmax(scores)) - y))
        wrong = [r for r in range(k) if r != y and scores[r] >= scores[y]]
        if wrong:
            w = run.w.copy()
            w[y] += x
            if update == "max":
                wrong = [max(wrong, key=lambda r: (scores[r], -r))]
            for r in wrong:
                w[r] -= x / len(wrong)
            run.w = w
            run.n_updates += 1
        run.history.append(run.w)
    return run


# --- PAMIR -------------------------------------------------------------------------------------


def pamir(
    queries: Sequence[tuple[Floats, Floats]],
    draw: Callable[[int], tuple[int, int, int]],
    n_rounds: int,
    C: float,
    weights: Sequence[Floats] | None = None,
) -> Run:
    """``w += min(C a, l / |x+ - x-|^2) (x+ - x-)`` with ``l = max(0, 1 - w.(x+ - x-))``.

    ``draw(t)`` names query, better and worse document of round t; a is the weight of the better
    one, and multiplies the loss.
    """
    run = Run(np.zeros(queries[0][0].shape[1]))
    for t in range(n_rounds):
        q, better, worse = draw(t)
        X, y = queries[q]
        assert y[better] > y[worse]
        difference = X[better] - X[worse]
        loss = max(0.0, 1 - float(run.w @ difference))
        a = 1.0 if weights is None else float(weights[q][better])
        run.losses.append(a * loss)
        if a * loss > 0 and difference.any():
            run.w = run.w + min(C * a, loss / float(difference @ difference)) * difference
            run.n_updates += 1
        run.history.append(run.w)
    return run


# --- votes -------------------------------------------------------------------------------------


def most_voted(predictions: Sequence[Any], order: Sequence[Any]) -> Any:
    """Return what was predicted most often; of equally many the first in this order."""
    return max(order, key=lambda label: (sum(p == label for p in predictions), -order.index(label)))


def median_voted(predictions: Sequence[Any], order: Sequence[Any]) -> Any:
    """Return the first label that, with those before it, half of the predictions are."""
    places = sorted(order.index(p) for p in predictions)
    return order[places[(len(places) - 1) // 2]]


def majority_voted(predictions: Sequence[Floats]) -> list[int]:
    """Return the labels that more than half of the sets have."""
    return [int(2 * sum(column) > len(column)) for column in zip(*predictions, strict=True)]
