r"""Sums over the layers below each layer, for all queries at once.

A layer is the documents of a query with equal labels. With m the scores less their shift,
:math:`S_l` the sum of :math:`e^{m_j}` over layer l and :math:`\Delta` the margins between layers,

.. math::
    Z_k = \sum_{l < k} e^{\Delta(k, l)} S_l.

All are kept as logarithms: no score is too large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright._kernels import Layers
from rankwright.data.groups import Ints
from rankwright.data.lazy import lazy
from rankwright.data.validation import Floats


@dataclass(frozen=True, eq=False)
class LayerMargins:
    """Margins between layers: one constant, or a matrix by the levels of their labels.

    Attributes
    ----------
    constant : float
        The margin of all pairs, without a matrix.
    matrix : ndarray of shape (n_levels, n_levels) or (0, 0)
        ``matrix[k, l]`` is the margin of level k over level l.
    level : ndarray of int
        Of each layer, if there is a matrix.
    """

    constant: float = 0.0
    matrix: Floats = field(default_factory=lambda: np.empty((0, 0)))
    level: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def by_pair(self) -> bool:
        """Whether there is a matrix."""
        return self.matrix.size > 0

    def of(self, upper: Ints, lower: Ints) -> Floats | float:
        """Return the margins of upper layers over lower ones."""
        if not self.by_pair:
            return self.constant
        margins: Floats = self.matrix[self.level[upper], self.level[lower]]
        return margins


class LayerSums:
    """The sums at given margins.

    Parameters
    ----------
    layers : Layers
        Documents by query and increasing label.
    m : ndarray of shape (n_docs,)
        Scores less their shift.
    margins : LayerMargins
        Between layers.
    """

    def __init__(self, layers: Layers, m: Floats, margins: LayerMargins) -> None:
        self.margins = margins
        self.starts = layers.begin[:-1]
        self.sizes = np.diff(layers.begin)
        first = layers.first_layer
        depth = np.arange(first[-1]) - np.repeat(first[:-1], np.diff(first))
        self.is_lowest = depth == 0
        self.by_depth = [np.flatnonzero(depth == k) for k in range(int(depth.max(initial=-1)) + 1)]
        self.layer = np.repeat(np.arange(layers.n_layers), self.sizes)
        self.m = m[layers.rows]  # by layer, as all that follows
        highest = np.maximum.reduceat(self.m, self.starts) if layers.n_layers else np.empty(0)
        self.highest = highest[self.layer]
        self.weights = np.exp(self.m - self.highest)
        self.totals = self.over_layers(self.weights)
        self.log_sum: Floats = highest + np.log(self.totals)

    def over_layers(self, values: Floats) -> Floats:
        """Sum over the documents of each layer."""
        if len(self.starts) == 0:
            return np.empty(0)
        return np.asarray(np.add.reduceat(values, self.starts), dtype=np.float64)

    def _pairs(self) -> Iterator[tuple[Ints, Ints, Floats | float]]:
        """Yield layers of one depth, those so many below them, and their margins."""
        # All queries at once: there are few depths, and many queries.
        for depth in range(1, len(self.by_depth)):
            upper = self.by_depth[depth]
            for below in range(1, depth + 1):
                yield upper, upper - below, self.margins.of(upper, upper - below)

    @lazy
    def log_z(self) -> Floats:
        """Logarithm of Z of each layer; -inf of the lowest."""
        log_z = np.full(len(self.log_sum), -np.inf)
        for upper, lower, margin in self._pairs():
            log_z[upper] = np.logaddexp(log_z[upper], margin + self.log_sum[lower])
        return log_z

    def push_down(self, log_pushes: Floats) -> Floats:
        r"""Return :math:`\log \sum_{k > l} e^{\Delta(k, l)} P_k / Z_k` of each layer l."""
        log_a = np.full(len(log_pushes), -np.inf)
        for upper, lower, margin in self._pairs():
            term = margin + log_pushes[upper] - self.log_z[upper]
            log_a[lower] = np.logaddexp(log_a[lower], term)
        return log_a

    def mean_below(self, means: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\sum_{l < k} e^{\Delta(k, l)} S_l \mu_l / Z_k`, given :math:`\mu_l`."""
        mu = np.zeros_like(means)
        for upper, lower, margin in self._pairs():
            share = np.exp(margin + self.log_sum[lower] - self.log_z[upper])
            mu[upper] += share[:, None].astype(means.dtype) * means[lower]
        return mu

    def mean_margin_below(self) -> tuple[Floats, Floats]:
        """Return log Z, and the mean of m under the terms of Z.

        With one margin for all pairs, Z of a layer is that of the layer beneath it and one layer
        more: as many steps as layers, however deep a query is.
        """
        # Relative to the highest: a mean of numbers that are all large keeps its digits.
        spread = self.over_layers(self.weights * (self.m - self.highest))
        own = self.highest[self.starts] + spread / self.totals
        log_z, mean = np.full(len(own), -np.inf), np.zeros(len(own))
        for depth in range(1, len(self.by_depth)):
            upper = self.by_depth[depth]
            n_below = depth
            if not self.margins.by_pair:
                log_z[upper], mean[upper], n_below = log_z[upper - 1], mean[upper - 1], 1
            for below in range(n_below, 0, -1):
                lower = upper - below
                log_weight = self.log_sum[lower] + self.margins.of(upper, lower)
                total = np.logaddexp(log_z[upper], log_weight)
                before = np.exp(log_z[upper] - total)
                mean[upper] = before * mean[upper] + np.exp(log_weight - total) * own[lower]
                log_z[upper] = total
        return log_z, mean
