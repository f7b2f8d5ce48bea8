r"""Certificates by duality for losses made of log-sum-exp terms.

With L the sum of the losses over Q queries and :math:`\Omega` the penalty, every vector
:math:`\theta` of score space gives

.. math::
    \min_w \; \tfrac{1}{Q} L(Xw) + \Omega(w) \;\ge\;
    -\tfrac{1}{Q} L^*(\theta) - \Omega^*(-\tfrac{1}{Q} X^\top \theta).

Here :math:`\theta = c \nabla L(s)` with :math:`0 \le c \le 1`, small enough that
:math:`\Omega^*` is finite. Each term :math:`\log \sum_j e^{s_j + \Delta_j} - \phi \cdot s`, with
p its softmax, has the gradient :math:`p - \phi`, and :math:`c (p - \phi) = p' - \phi` for
:math:`p' = c p + (1 - c) \phi`. Its conjugate there is
:math:`\sum_j p'_j \log p'_j - p'_j \Delta_j`, and the sum of these is at least :math:`L^*(\theta)`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankwright.data.validation import Floats
from rankwright.losses.domination import PreparedDomination
from rankwright.losses.softmax import PreparedSoftmax
from rankwright.penalties import ElasticNet


def lower_bound(
    prepared: Any, n_queries: int, penalty: ElasticNet, scores: Floats, slope: Floats, g: Floats
) -> float:
    """Return a lower bound on the minimum of the objective; -inf where none is known.

    ``slope`` is the gradient of the mean loss by scores, ``g`` that by weights.
    """
    steepest = float(np.abs(g).max(initial=0.0))
    c = 1.0 if penalty.l2 > 0 or steepest <= penalty.l1 else penalty.l1 / steepest
    if isinstance(prepared, PreparedDomination):
        conjugate = _domination(prepared, scores, c)
        if prepared.shift is not None:
            conjugate += n_queries * c * float((slope * prepared.shift).sum())
    elif isinstance(prepared, PreparedSoftmax) and prepared.eps == 0:
        conjugate = _softmax(prepared, scores, slope * n_queries, c)
    else:
        return -math.inf
    bound = -conjugate / n_queries
    if penalty.l2 > 0:
        excess = np.maximum(np.abs(g) - penalty.l1, 0.0)
        bound -= float(np.square(excess).sum()) / (2 * penalty.l2)
    return bound


def _domination(prepared: PreparedDomination, scores: Floats, c: float) -> float:
    r"""Return the sum of the terms' conjugates.

    For document i of layer k, with :math:`\sigma_i = Z_k / (Z_k + e^{m_i})`, :math:`q = c \sigma_i`
    and :math:`M_k` the mean of m below layer k under weights :math:`e^{m + \Delta}`, it is
    :math:`(1 - q) \log(1 - q) + q (\log q + M_k - \log Z_k)`.
    """
    layers, m = prepared.layers, prepared.margins(scores)
    log_z, mean = _below(prepared, m)
    sizes = np.diff(layers.begin)
    layer = np.repeat(np.arange(layers.n_layers), sizes)
    dominating = np.isfinite(log_z[layer])
    layer = layer[dominating]
    lead = log_z[layer] - m[layers.rows[dominating]]
    log_q = math.log(c) - np.logaddexp(0.0, -lead) if c > 0 else np.full(len(lead), -np.inf)
    q = np.exp(log_q)
    # 1 - q = (1 - c) + c / (1 + e^lead), which keeps its digits when q is near 1.
    rest = (1 - c) + c * np.exp(-np.logaddexp(0.0, lead))
    some = rest > 0
    entropy = (rest[some] * np.log(rest[some])).sum()
    inner = np.where(q > 0, q * (np.maximum(log_q, -1e308) + mean[layer] - log_z[layer]), 0.0)
    return float(entropy + inner.sum())


def _below(prepared: PreparedDomination, m: Floats) -> tuple[Floats, Floats]:
    """Return log Z and the weighted mean of m below each layer; log Z is -inf below the lowest."""
    layers = prepared.layers
    begin, first = layers.begin, layers.first_layer
    sorted_m = m[layers.rows]
    log_s, mean_s = np.empty(layers.n_layers), np.empty(layers.n_layers)
    if layers.n_layers:
        highest = np.maximum.reduceat(sorted_m, begin[:-1])
        weights = np.exp(sorted_m - np.repeat(highest, np.diff(begin)))
        total = np.add.reduceat(weights, begin[:-1])
        log_s = highest + np.log(total)
        # Relative to the highest: a mean of numbers that are all large keeps its digits.
        spread = weights * (sorted_m - np.repeat(highest, np.diff(begin)))
        mean_s = highest + np.add.reduceat(spread, begin[:-1]) / total
    log_z, mean = np.full(layers.n_layers, -np.inf), np.zeros(layers.n_layers)

    def add(above: Any, log_weight: Floats, value: Floats) -> None:
        new = np.logaddexp(log_z[above], log_weight)
        old_share = np.exp(log_z[above] - new)
        mean[above] = old_share * mean[above] + np.exp(log_weight - new) * value
        log_z[above] = new

    depth = np.diff(first)
    for k in range(1, int(depth.max(initial=0))):
        above = first[:-1][depth > k] + k
        if len(prepared.between):
            for lower in range(k):
                below = above - k + lower
                delta = prepared.between[prepared.level[above], prepared.level[below]]
                add(above, log_s[below] + delta, mean_s[below])
        else:
            # What is below the layer beneath, and that layer.
            log_z[above], mean[above] = log_z[above - 1], mean[above - 1]
            add(above, log_s[above - 1] + prepared.constant, mean_s[above - 1])
    return log_z, mean


def _softmax(prepared: PreparedSoftmax, scores: Floats, slope: Floats, c: float) -> float:
    """Return the sum of the terms' conjugates, each the negative entropy of p'."""
    weight = np.repeat(prepared.weights, prepared.groups.sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        mixed = np.where(weight > 0, prepared.phi + c * slope / weight, 0.0)
        terms = np.where(mixed > 0, mixed * np.log(mixed), 0.0)
    return float((weight * terms).sum())
