"""Prediction problems by enumeration: every prediction, its representation and its loss.

Written from the definitions; nothing here knows the routes of ``rankwright.problems``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Enumerated:
    """All predictions of a problem, one vector for each."""

    predictions: list[Any]
    vectors: Floats
    loss: Callable[[Any, Any], float]

    def losses(self, y: Any) -> Floats:
        return np.array([self.loss(sigma, y) for sigma in self.predictions])

    def similarity(self, t: Floats) -> Floats:
        return np.asarray(self.vectors @ t)

    def surrogate(self, t: Floats, y: Any, sigma_y: Any) -> float:
        """Max over predictions of L - <rep(sigma_y) - rep(sigma), t>."""
        own = self.similarity(t)[self.predictions.index(sigma_y)]
        return float((self.losses(y) + self.similarity(t) - own).max())

    def weak_margin(self, t: Floats, y: Any) -> float:
        """Least similarity of a correct prediction minus the largest of a wrong one."""
        wrong = self.losses(y) > 0
        similarity = self.similarity(t)
        return (
            float(similarity[~wrong].min() - similarity[wrong].max()) if wrong.any() else math.inf
        )

    def compatible(self, t: Floats, y: Any, tolerance: float = 1e-12) -> bool:
        """Whether the most similar predictions are exactly the correct ones."""
        similarity = self.similarity(t)
        best = similarity >= similarity.max() - tolerance
        return bool((best == (self.losses(y) == 0)).all())


def binary(alpha: Sequence[float]) -> Enumerated:
    return Enumerated([0, 1], np.array([[-1.0], [1.0]]), lambda s, y: 0.0 if s == y else alpha[y])


def multiclass(matrix: Floats, reject: Sequence[float] | None = None) -> Enumerated:
    k = len(matrix)
    vectors = np.eye(k)
    predictions = list(range(k))
    if reject is not None:
        predictions.append(-1)
        vectors = np.vstack([vectors, np.full((1, k), 1 / math.sqrt(k))])
    costs = reject

    def loss(s: int, y: int) -> float:
        if s == -1:
            assert costs is not None
            return float(costs[y])
        return float(matrix[s, y])

    return Enumerated(predictions, vectors, loss)


def multilabel(m: int, kind: str) -> Enumerated:
    predictions = list(itertools.product((0, 1), repeat=m))
    vectors = np.array([[(1 if bit else -1) / math.sqrt(m) for bit in s] for s in predictions])

    def loss(s: Sequence[int], y: Sequence[int]) -> float:
        chosen = {j for j in range(m) if s[j]}
        true = {j for j in range(m) if y[j]}
        if kind == "hamming":
            return float(len(chosen | true) - len(chosen & true))
        if kind == "subset":
            return float(chosen != true)
        pairs = itertools.product(true, set(range(m)) - true)
        return float(sum(r not in chosen and s in chosen for r, s in pairs))

    return Enumerated(predictions, vectors, loss)


def ranking(m: int, f: Callable[[int], float], cutoff: int | None = None) -> Enumerated:
    """Rankings as tuples: the rank of each document, from 1."""
    predictions = list(itertools.permutations(range(1, m + 1)))
    length = math.sqrt(sum(f(i) ** 2 for i in range(1, m + 1)))
    vectors = np.array([[f(rank) / length for rank in s] for s in predictions])

    def value(s: Sequence[int], y: Sequence[float]) -> float:
        if cutoff is not None:
            return math.fsum(
                label >= 1 and rank <= cutoff for rank, label in zip(s, y, strict=True)
            )
        return math.fsum(
            (2**label - 1) / math.log2(1 + rank) for rank, label in zip(s, y, strict=True)
        )

    def loss(s: Sequence[int], y: Sequence[float]) -> float:
        order = sorted(range(m), key=lambda i: -y[i])
        ideal = [0] * m
        for rank, i in enumerate(order, 1):
            ideal[i] = rank
        best = value(ideal, y)
        lost = 1 - value(s, y) / best if best > 0 else 0.0
        return lost if lost > 1e-12 else 0.0

    return Enumerated(predictions, vectors, loss)
