"""Slow, plain-python twins of the losses, for one query at a time.

Every twin sums over documents or pairs just as its formula is printed. Exponentials and logarithms
are decimals with 60 digits and nearly no limit to the exponent, so that no twin needs a trick
against overflow or cancellation. Hinges are floats: where a slack is exactly 0, the rounding of
``margin + (s_j - s_i)`` is part of the convention.
"""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Values: TypeAlias = Sequence[float] | Floats
Margin: TypeAlias = float | Callable[[Floats], Floats] | Values | Floats | None
Evaluation: TypeAlias = tuple[float, Floats]  # value and gradient
Terms: TypeAlias = tuple[Floats, Floats]  # gradient and hessian

P = ParamSpec("P")
R = TypeVar("R")

DIGITS = 40


def digits(n: int = DIGITS) -> decimal.Context:
    """Decimals of `n` digits that overflow beyond 10^(10^17) only."""
    return decimal.Context(prec=n, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


def _in_decimals(function: Callable[P, R]) -> Callable[P, R]:
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with decimal.localcontext(digits()):
            return function(*args, **kwargs)

    return wrapped


def _floats(values: Sequence[Decimal | float]) -> Floats:
    return np.array([float(value) for value in values], dtype=np.float64)


def _decimals(values: Values) -> list[Decimal]:
    return [Decimal(float(value)) for value in values]


# --- gains and weights -------------------------------------------------------------------------


def _gain(label: float) -> float:
    return math.pow(2.0, label) - 1.0


def _discount(rank: int) -> float:
    return 1.0 / math.log2(1 + rank)


def by_label(y: Values) -> list[int]:
    """Rows by decreasing label, equal labels in row order."""
    return sorted(range(len(y)), key=lambda row: -y[row])


def ideal_dcg(y: Values, k: int | None = None) -> float:
    """Return the largest DCG (at `k`) that an order of the documents can have."""
    best = [y[row] for row in by_label(y)]
    return math.fsum(_gain(label) * _discount(r) for r, label in enumerate(best[:k], start=1))


def ndcg_weights(y: Values) -> Floats:
    """``v_i = (G(y_i) - G(y_m)) (D(i) - D(m)) / Z`` by decreasing label; 0 if Z is."""
    v = np.zeros(len(y))
    order, z, m = by_label(y), ideal_dcg(y), len(y)
    for i, row in enumerate(order, start=1):
        if z > 0:
            gain = _gain(y[row]) - _gain(y[order[-1]])
            v[row] = gain * (_discount(i) - _discount(m)) / z
    return v


def ndcg_at_k_weights(y: Values, k: int) -> Floats:
    """``v_i = G(y_i) D(i) / Z_k`` for the first `k` by decreasing label; 0 if Z_k is."""
    v = np.zeros(len(y))
    z = ideal_dcg(y, k)
    for i, row in enumerate(by_label(y)[:k], start=1):
        if z > 0:
            v[row] = _gain(y[row]) * _discount(i) / z
    return v


def map_weights(y: Values, threshold: float = 1.0) -> Floats:
    """``v_i = (1/r) (m - r)/(m - r + i)`` for the r relevant documents by decreasing label."""
    v = np.zeros(len(y))
    m, r = len(y), sum(1 for label in y if label >= threshold)
    for i, row in enumerate(by_label(y)[:r], start=1):
        v[row] = (m - r) / (m - r + i) / r
    return v


def group_means(v: Values, y: Values) -> Floats:
    """Return, for each document, the mean of the weights of those with its label (S14)."""
    rows = range(len(y))
    groups = [[float(v[j]) for j in rows if y[j] == y[i]] for i in rows]
    return np.array([math.fsum(group) / len(group) for group in groups], dtype=np.float64)


# --- hinges ------------------------------------------------------------------------------------


def slam(scores: Values, y: Values, v: Values, margin: float = 1.0) -> Evaluation:
    """``sum_i v_i max(0, max_{j : y_j < y_i} (margin + s_j - s_i))`` and a subgradient.

    Several best-scored documents below i share what pushes them down.
    """
    m = len(y)
    terms: list[float] = []
    grad: list[list[float]] = [[] for _ in range(m)]
    for i in range(m):
        below = [j for j in range(m) if y[j] < y[i]]
        if not below:
            continue
        best = max(float(scores[j]) for j in below)
        tied = [j for j in below if scores[j] == best]
        slack = margin + (best - float(scores[i]))
        if slack > 0:
            terms.append(float(v[i]) * slack)
            grad[i].append(-float(v[i]))
            for k in tied:
                grad[k].append(float(v[i]) / len(tied))
    return math.fsum(terms), _floats([math.fsum(parts) for parts in grad])


def pairs(y: Values) -> list[tuple[int, int]]:
    """Pairs (i, j) with ``y_i > y_j``."""
    rows = range(len(y))
    return [(i, j) for i in rows for j in rows if y[i] > y[j]]


def rank_hinge(scores: Values, y: Values, normalize: Literal["pairs"] | None = None) -> Evaluation:
    """``sum_{y_i > y_j} max(0, 1 + s_j - s_i)``, perhaps divided by the number of pairs."""
    grad = np.zeros(len(y))
    terms: list[float] = []
    for i, j in pairs(y):
        slack = 1.0 + (float(scores[j]) - float(scores[i]))
        if slack > 0:
            terms.append(slack)
            grad[i] -= 1
            grad[j] += 1
    n = max(1, len(pairs(y))) if normalize == "pairs" else 1
    return math.fsum(terms) / n, grad / n


# --- sums of exponentials ----------------------------------------------------------------------


@_in_decimals
def rank_logistic(
    scores: Values, y: Values, normalize: Literal["pairs"] | None = None
) -> Evaluation:
    """``sum_{y_i > y_j} log(1 + e^{s_j - s_i})``, perhaps divided by the number of pairs."""
    s = _decimals(scores)
    grad = [Decimal(0)] * len(s)
    value = Decimal(0)
    for i, j in pairs(y):
        odds = (s[j] - s[i]).exp()
        value += (1 + odds).ln()
        grad[i] -= odds / (1 + odds)
        grad[j] += odds / (1 + odds)
    n = max(1, len(pairs(y))) if normalize == "pairs" else 1
    return float(value / n), _floats([g / n for g in grad])


def pair_margin(y: Values, margin: Margin) -> Callable[[int, int], float]:
    """Return ``Delta(i, j)`` as a function.

    A number is every pair's margin, a function t of the labels gives ``t(y_i) - t(y_j)``, and a
    square array is looked up by the two labels; a vector holds the margin of each boundary between
    neighbouring labels.
    """
    if margin is None:
        return lambda i, j: 0.0
    if callable(margin):
        t = margin(np.asarray(y, dtype=np.float64))
        return lambda i, j: float(t[i] - t[j])
    table = np.asarray(margin, dtype=np.float64)
    if table.ndim == 0:
        return lambda i, j: float(table)
    if table.ndim == 1:
        return lambda i, j: float(table[int(y[j]) : int(y[i])].sum())
    return lambda i, j: float(table[int(y[i]), int(y[j])])


@_in_decimals
def domination(
    scores: Values, y: Values, margin: Margin = None, cuts: Values | None = None
) -> Evaluation:
    """``sum_i log(1 + sum_{j : y_j < y_i} e^{Delta(i, j) + s_j - s_i})`` and its gradient.

    With cuts, i dominates j if it has reached more of them; margins in arrays are between such
    layers, functions are still of the labels.
    """
    feedback = y
    if cuts is not None:
        y = [float(sum(label >= cut for cut in cuts)) for label in feedback]
    delta = pair_margin(feedback if callable(margin) else y, margin)
    s, m = _decimals(scores), len(y)
    grad = [Decimal(0)] * m
    value = Decimal(0)
    for i in range(m):
        below = [j for j in range(m) if y[j] < y[i]]
        odds = {j: (Decimal(delta(i, j)) + s[j] - s[i]).exp() for j in below}
        total = 1 + sum(odds.values(), Decimal(0))
        value += total.ln()
        for j in below:
            grad[j] += odds[j] / total
            grad[i] -= odds[j] / total
    return float(value), _floats(grad)


@_in_decimals
def smooth_slam(scores: Values, y: Values, v: Values) -> Evaluation:
    """``(1/log 2) sum_i v_i log(1 + sum_{j : y_j < y_i} e^{s_j - s_i})`` and its gradient."""
    s, a, two = _decimals(scores), _decimals(v), Decimal(2).ln()
    value = Decimal(0)
    for i in range(len(y)):
        odds = [(s[j] - s[i]).exp() for j in range(len(y)) if y[j] < y[i]]
        value += a[i] * (1 + sum(odds, Decimal(0))).ln() / two
    return float(value), smooth_slam_terms(scores, y, v)[0]


@_in_decimals
def smooth_slam_terms(scores: Values, y: Values, v: Values) -> Terms:
    """Return its gradient, pushes down less pushes up, and the sum of both for trees."""
    s, a, m = _decimals(scores), _decimals(v), len(y)
    down, up = [Decimal(0)] * m, [Decimal(0)] * m
    for i in range(m):
        odds = {j: (s[j] - s[i]).exp() for j in range(m) if y[j] < y[i]}
        total = 1 + sum(odds.values(), Decimal(0))
        for j, odd in odds.items():
            push = a[i] * odd / total / Decimal(2).ln()
            down[j] += push
            up[i] += push
    pairs_of = list(zip(down, up, strict=True))
    return _floats([d - u for d, u in pairs_of]), _floats([d + u for d, u in pairs_of])


# --- cross entropy -----------------------------------------------------------------------------


def is_empty(y: Values) -> bool:
    """Whether nothing is relevant: no label above 0, and none above another."""
    return max(y, default=0.0) <= 0 and len(set(y)) <= 1


@_in_decimals
def listnet_target(y: Values) -> Floats:
    """``phi = softmax(y)``."""
    powers = [label.exp() for label in _decimals(y)]
    return _floats([power / sum(powers, Decimal(0)) for power in powers])


def xendcg_target(y: Values, gamma: Values) -> Floats:
    """``phi_i = (2^{y_i} - gamma_i) / sum_j (2^{y_j} - gamma_j)``, or 0 where that is 0/0."""
    raw = [math.pow(2.0, label) - g for label, g in zip(y, gamma, strict=True)]
    total = math.fsum(raw)
    return _floats([part / total if total > 0 else 0.0 for part in raw])


@_in_decimals
def softmax(scores: Values, eps: float = 0.0) -> Floats:
    """``rho_i = e^{s_i} / (eps + sum_j e^{s_j})``."""
    powers = [score.exp() for score in _decimals(scores)]
    total = Decimal(eps) + sum(powers, Decimal(0))
    return _floats([power / total for power in powers])


@_in_decimals
def cross_entropy(
    scores: Values, phi: Values, eps: float = 0.0, ideal: float | None = None
) -> Evaluation:
    """``-sum_i phi_i log rho_i`` and ``rho - phi``, divided by `ideal`.

    It is 0 if all of ``phi`` or ``ideal`` is.
    """
    if not any(phi) or ideal == 0:
        return 0.0, np.zeros(len(phi))
    s, target = _decimals(scores), _decimals(phi)
    weight = 1 / Decimal(1 if ideal is None else ideal)
    powers = [score.exp() for score in s]
    total = Decimal(eps) + sum(powers, Decimal(0))
    log_rho = [score - total.ln() for score in s]
    value = -sum((p * r for p, r in zip(target, log_rho, strict=True)), Decimal(0))
    grad = [power / total - p for power, p in zip(powers, target, strict=True)]
    return float(weight * value), _floats([weight * g for g in grad])


@_in_decimals
def newton_terms(
    scores: Values,
    phi: Values,
    mode: Literal["plain", "exact", "neumann"],
    eps: float = 0.0,
    ideal: float | None = None,
) -> Terms:
    """Gradients and hessians for trees, divided by `ideal`; 0 if all of ``phi`` or ``ideal`` is."""
    zeros = np.zeros(len(phi))
    if not any(phi) or ideal == 0:
        return zeros, zeros
    if mode == "neumann":
        grad, hess = neumann_terms(scores, phi, eps)
    else:
        grad = cross_entropy(scores, phi, eps)[1]
        hess = softmax(scores, eps)
        if mode == "plain":
            hess = neumann_terms(scores, phi, eps)[1]
    weight = 1.0 if ideal is None else 1.0 / ideal
    return weight * grad, weight * hess


def neumann_terms(scores: Values, phi: Values, eps: float = 0.0, n_digits: int = DIGITS) -> Terms:
    """``g + rho t1 + rho t2`` and ``rho (1 - rho)``, where ``g = rho - phi``.

    ``t1_k = sum_{i != k} g_i/(1 - rho_i)`` and ``t2_k = sum_{i != k} rho_i t1_i/(1 - rho_i)``;
    ``1 - rho_i`` is the share of the other documents and of ``eps``.
    """
    with decimal.localcontext(digits(n_digits)):
        target = _decimals(phi)
        powers = [score.exp() for score in _decimals(scores)]
        rows = range(len(powers))

        def others(terms: Sequence[Decimal], k: int) -> Decimal:
            return sum((terms[i] for i in rows if i != k), Decimal(0))

        total = Decimal(eps) + sum(powers, Decimal(0))
        rho = [power / total for power in powers]
        rest = [(Decimal(eps) + others(powers, i)) / total for i in rows]
        # phi sums to 1 up to its rounding; the leader's g must not see that rounding.
        phi_sum = sum(target, Decimal(0))
        g = [rho[i] - target[i] / phi_sum for i in rows]
        first = [g[i] / rest[i] if rest[i] else Decimal(0) for i in rows]  # 0/0: one document
        t1 = [others(first, k) for k in rows]
        second = [rho[i] * t1[i] / rest[i] if rest[i] else Decimal(0) for i in rows]
        t2 = [others(second, k) for k in rows]
        grad = [g[k] + rho[k] * t1[k] + rho[k] * t2[k] for k in rows]
        return _floats(grad), _floats([rho[k] * rest[k] for k in rows])


# --- LambdaRank --------------------------------------------------------------------------------


def lambdarank(
    scores: Values,
    y: Values,
    sigma: float = 1.0,
    k: int = 30,
    norm: bool = False,
    ranked_by: Values | None = None,
) -> Terms:
    """Directions and curvatures by LightGBM's conventions.

    Documents are ranked by score, or by other numbers, ties in row order. A pair with ``y_i > y_j``
    counts if one of the two ranks is at most `k`. Its |Delta NDCG| is the difference of gains times
    that of the discounts, divided by the best DCG at `k`; with `norm` also by
    ``0.01 + |s_i - s_j|``, unless all scores are equal. With `norm` the query is rescaled by
    ``log2(1 + S)/S``, where S is the sum of ``|lambda_i| + |lambda_j|`` over pairs.
    """
    m = len(y)
    grad, hess = np.zeros(m), np.zeros(m)
    best = ideal_dcg(y, k)
    if best == 0:
        return grad, hess
    keys = scores if ranked_by is None else ranked_by
    order = sorted(range(m), key=lambda row: -keys[row])
    rank = {row: r for r, row in enumerate(order, start=1)}
    spread = max(scores) > min(scores)
    total = 0.0
    for i, j in pairs(y):
        if min(rank[i], rank[j]) > k:
            continue
        lead = float(scores[i]) - float(scores[j])
        change = (_gain(y[i]) - _gain(y[j])) / best
        change *= abs(_discount(rank[i]) - _discount(rank[j]))
        if norm and spread:
            change /= 0.01 + abs(lead)
        p = _logistic(-sigma * lead)
        grad[i] -= sigma * change * p
        grad[j] += sigma * change * p
        hess[i] += sigma * sigma * change * p * (1 - p)
        hess[j] += sigma * sigma * change * p * (1 - p)
        total += 2 * sigma * change * p
    if norm and total > 0:
        scale = math.log2(1 + total) / total
        return grad * scale, hess * scale
    return grad, hess


def stochastic_lambdarank(
    scores: Values, y: Values, noise: Sequence[Values], sigma: float, k: int, norm: bool
) -> Terms:
    """Means of directions and curvatures over draws, ranked by scores plus each draw's noise."""
    drawn = [
        lambdarank(scores, y, sigma, k, norm, [s + e for s, e in zip(scores, draw, strict=True)])
        for draw in noise
    ]
    grads, hessians = zip(*drawn, strict=True)
    return np.mean(grads, axis=0), np.mean(hessians, axis=0)


def gumbel(u: float) -> float:
    """Return the number of Gumbel's distribution below which a share `u` lies."""
    return -math.log(-math.log(u))


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


# --- queries -----------------------------------------------------------------------------------


def per_query(
    twin: Callable[[slice], tuple[Any, Floats]], indptr: npt.NDArray[np.int64]
) -> tuple[list[Any], Floats]:
    """Apply a twin to the rows of every query; return the first results and joined second ones."""
    bounds = indptr.tolist()
    results = [twin(slice(*ends)) for ends in itertools.pairwise(bounds)]
    second = [part for _, part in results]
    return [first for first, _ in results], np.concatenate(second) if second else np.empty(0)
