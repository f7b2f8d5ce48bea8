"""Slow twins of weighted losses of one query, each summed just as its formula is printed.

A document's weight a_i multiplies its target in a cross entropy, and the terms in which it is the
one that should win in all other losses. The mean over queries multiplies each by its own weight
c_q, and divides by the number of queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tests.reference.losses import group_means, map_weights, ndcg_weights

Floats: TypeAlias = npt.NDArray[np.float64]
# Scores, labels and weights of the documents of a query.
WeightedLoss: TypeAlias = Callable[[Floats, Floats, Floats], float]


def _cross_entropy(s: Floats, phi: Floats, a: Floats) -> float:
    log_total = math.log(math.fsum(math.exp(value) for value in s))
    return -math.fsum(a[i] * phi[i] * (s[i] - log_total) for i in range(len(s)))


def listnet(s: Floats, y: Floats, a: Floats) -> float:
    """``-sum_i a_i phi_i log rho_i`` with phi the softmax of the labels; 0 for labels of 0."""
    powers = np.exp(y)
    return _cross_entropy(s, powers / powers.sum(), a) if y.any() else 0.0


def xendcg(gamma: float) -> WeightedLoss:
    """Return the same with ``phi_i = (2^y_i - gamma) / sum_j (2^y_j - gamma)``."""

    def value(s: Floats, y: Floats, a: Floats) -> float:
        powers = 2.0**y - gamma
        return _cross_entropy(s, powers / powers.sum(), a) if y.any() else 0.0

    return value


def domination(margin: float = 0.0) -> WeightedLoss:
    """Return ``sum_i a_i log(1 + sum_{y_j < y_i} e^{margin + s_j - s_i})``."""

    def value(s: Floats, y: Floats, a: Floats) -> float:
        terms = []
        for i in range(len(s)):
            below = [math.exp(margin + s[j] - s[i]) for j in range(len(s)) if y[j] < y[i]]
            terms.append(a[i] * math.log1p(math.fsum(below)))
        return math.fsum(terms)

    return value


def slam(weights: Callable[[Floats], Floats], *, grades: bool = True) -> WeightedLoss:
    """Return ``sum_i a_i v_i max(0, max_{y_j < y_i} (1 + s_j - s_i))``; or y is 0 or 1."""

    def value(s: Floats, y: Floats, a: Floats) -> float:
        v, total = weights(y), 0.0
        y = y if grades else (y >= 1).astype(np.float64)
        for i in range(len(s)):
            below = [1 + s[j] - s[i] for j in range(len(s)) if y[j] < y[i]]
            total += a[i] * v[i] * max([0.0, *below])
        return total

    return value


def smooth_slam(weights: Callable[[Floats], Floats], *, grades: bool = True) -> WeightedLoss:
    """Return ``(1/log 2) sum_i a_i v_i log(1 + sum_{y_j < y_i} e^{s_j - s_i})``."""
    plain = domination()

    def value(s: Floats, y: Floats, a: Floats) -> float:
        graded = y if grades else (y >= 1).astype(np.float64)
        return plain(s, graded, a * weights(y) / math.log(2))

    return value


def shared_ndcg_weights(y: Floats) -> Floats:
    """Return NDCG's weights, their mean within equal labels (S14)."""
    return group_means(ndcg_weights(y), y)


def shared_map_weights(y: Floats) -> Floats:
    """Return MAP's weights, their mean over the relevant documents."""
    return group_means(map_weights(y), (y >= 1).astype(np.float64))


def pairs(cost: Callable[[float], float], *, share: bool = False) -> WeightedLoss:
    """Return ``sum_{y_i > y_j} a_i cost(s_j - s_i)``, perhaps over the number of pairs."""

    def value(s: Floats, y: Floats, a: Floats) -> float:
        m = range(len(s))
        costs = [a[i] * cost(s[j] - s[i]) for i in m for j in m if y[i] > y[j]]
        return math.fsum(costs) / (len(costs) if share and costs else 1)

    return value


def hinge(behind: float) -> float:
    """``max(0, 1 + s_j - s_i)``."""
    return max(0.0, 1 + behind)


def logistic(behind: float) -> float:
    """``log(1 + e^{s_j - s_i})``."""
    return math.log1p(math.exp(behind))


WEIGHTED: dict[str, WeightedLoss] = {
    "listnet": listnet,
    "xendcg": xendcg(0.5),
    "domination": domination(),
    "domination-margin": domination(1.0),
    "slam": slam(shared_ndcg_weights),
    "slam-map": slam(shared_map_weights, grades=False),
    "slam-printed": slam(ndcg_weights),
    "smooth-slam": smooth_slam(shared_ndcg_weights),
    "smooth-slam-map": smooth_slam(shared_map_weights, grades=False),
    "rank_hinge": pairs(hinge),
    "rank_hinge-share": pairs(hinge, share=True),
    "rank_logistic": pairs(logistic),
}


def mean_loss(
    loss: WeightedLoss,
    queries: Sequence[tuple[Floats, Floats, Floats]],
    of_query: Sequence[float],
) -> float:
    """``1/Q sum_q c_q L_a(s_q, y_q)`` over (scores, labels, weights of the documents)."""
    values = [c * loss(s, y, a) for (s, y, a), c in zip(queries, of_query, strict=True)]
    return math.fsum(values) / len(values)
