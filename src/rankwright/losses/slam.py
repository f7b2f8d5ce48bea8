"""SLAM: large-margin surrogates of listwise metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups, Ints
from rankwright.data.validation import Floats
from rankwright.losses.loss import Bound, Loss, by_query, sum_by_query
from rankwright.metrics.binary import AP
from rankwright.metrics.dcg import NDCG, check_gain_labels, discounts
from rankwright.metrics.metric import Metric
from rankwright.threads import n_threads

_CUTOFF = re.compile(r"ndcg@(\d+)")


@dataclass(frozen=True)
class SLAM(Loss):
    r"""Large-margin surrogate of a listwise metric.

    .. math::
        \phi(s, y) = \sum_i v_i \max\Bigl(0,\; \max_{j : y_j < y_i} (\Delta + s_j - s_i)\Bigr)

    where the weights :math:`v_i` depend on the labels. With the documents sorted by decreasing
    label, :math:`G(y) = 2^y - 1`, :math:`D(r) = 1/\log_2(1 + r)`, best DCG :math:`Z` and :math:`r`
    relevant documents they are

    - ``"ndcg"``: :math:`v_i = (G(y_i) - G(y_m)) (D(i) - D(m)) / Z`,
    - ``"map"``: :math:`v_i = \frac{1}{r} \frac{m - r}{m - r + i}` for :math:`i \le r`, else 0,
    - ``"map-uniform"``: the mean of those on every relevant document, as tight in sum (S2),
    - ``"ndcg@k"``: :math:`v_i = G(y_i) D(i) / Z_k` for :math:`i \le k`, else 0.

    For all scores :math:`\phi(s, y) \ge \Delta\, (1 - \mathrm{metric})` with pessimistic ties, and
    :math:`\|\nabla_s \phi\|_1 \le 2 \sum_i v_i \le 2`. It is 0 on queries without a pair to order.

    Parameters
    ----------
    metric : {"ndcg", "map", "map-uniform", "ndcg@K"} or callable, default "ndcg"
        The metric to bound, or a function from a query's labels to its weights :math:`v \ge 0`.
    margin : float, default 1.0
        :math:`\Delta > 0`.
    threshold : float, default 1.0
        For MAP, relevant from this label on; :math:`y` is then 1 or 0.

    References
    ----------
    .. [1] Chaudhuri & Tewari, "Perceptron-like algorithms and generalization bounds for learning to
       rank", equations 5 and 10-12, Theorems 2 and 3, Corollary 7.

    Examples
    --------
    >>> value, grad = SLAM("map").value_and_grad([0.0, 1.0], [1, 0])  # v = 1/2, slack 2
    >>> value, grad
    (1.0, array([-0.5,  0.5]))
    """

    metric: str | Callable[[Floats], Floats] = "ndcg"
    margin: float = 1.0
    threshold: float = 1.0

    name: ClassVar[str] = "slam"
    smooth: ClassVar[bool] = False
    cost: ClassVar[str] = "O(m log m), O(m) on known labels"

    def __post_init__(self) -> None:
        known = ("ndcg", "map", "map-uniform")
        if isinstance(self.metric, str):
            if self.metric not in known and not self.cutoff:
                raise ValueError(
                    f"metric must be one of {', '.join(known)}, ndcg@K, or a function from labels "
                    f"to weights, but is {self.metric!r}."
                )
        elif not callable(self.metric):
            raise TypeError(f"metric must be a text or a function, but is {self.metric!r}.")
        if not (math.isfinite(self.margin) and self.margin > 0):
            raise ValueError(f"margin must be a positive number, but is {self.margin!r}.")
        if not math.isfinite(self.threshold):
            raise ValueError(f"threshold must be a finite number, but is {self.threshold!r}.")

    @property
    def cutoff(self) -> int:
        """The K of ndcg@K, or 0."""
        match = _CUTOFF.fullmatch(self.metric) if isinstance(self.metric, str) else None
        return int(match[1]) if match else 0

    @property
    def bound(self) -> Bound | None:
        """One minus the metric, times the margin; None for weights of your own."""
        if not isinstance(self.metric, str):
            return None
        metric: Metric = NDCG(k=self.cutoff or None, ties="worst", empty=1.0)
        if self.metric.startswith("map"):
            metric = AP(threshold=self.threshold, ties="worst", empty=1.0)

        def lower(y: Floats, scores: Floats, groups: Groups) -> Floats:
            return self.margin * (1 - metric.per_query(y, scores, groups))

        return Bound(metric, lower, f"{self.margin:g} (1 - {metric.name})")

    def lipschitz(self, m: int) -> float:
        """Twice the sum of the weights, at most 2; unknown for weights of your own."""
        return 2.0 if isinstance(self.metric, str) else math.inf

    def weights(self, y: Floats, groups: Groups) -> Floats:
        """Return :math:`v` of every document."""
        if callable(self.metric):
            v = by_query(self.metric, y, groups)
            if v.shape != y.shape or not np.isfinite(v).all() or (v < 0).any():
                raise ValueError("metric must return one finite weight >= 0 for each label.")
            return v
        # A best order; documents of equal labels keep theirs (S5).
        order = np.lexsort((-y, groups.query_of_rows()))
        sizes = groups.sizes
        rank = groups.positions() + 1
        m = np.repeat(sizes, sizes)
        v = np.empty_like(y)
        if self.metric.startswith("map"):
            v[order] = self._map_weights(y[order], groups, rank, m)
        else:
            v[order] = self._ndcg_weights(y[order], groups, rank, m)
        return v

    def _map_weights(self, y: Floats, groups: Groups, rank: Ints, m: Ints) -> Floats:
        relevant = y >= self.threshold
        r = np.repeat(sum_by_query(relevant.astype(np.float64), groups), groups.sizes)
        # Where r is 0 no document is relevant: the 0/0 is not chosen, and all weights are 0 (S7).
        with np.errstate(divide="ignore", invalid="ignore"):
            v = np.where(relevant, (m - r) / (r * (m - r + rank)), 0.0)
            if self.metric == "map-uniform":
                mean = np.repeat(sum_by_query(v, groups), groups.sizes) / r
                v = np.where(relevant, mean, 0.0)
        return v

    def _ndcg_weights(self, y: Floats, groups: Groups, rank: Ints, m: Ints) -> Floats:
        check_gain_labels(y, f"SLAM({self.metric!r})")
        if len(y) == 0:
            return np.empty(0)
        longest = int(groups.sizes.max(initial=0))
        discount = discounts(longest, "log2")
        gain = np.exp2(y) - 1
        d = discount[rank - 1]
        if self.cutoff:
            # For NDCG of the first k ranks; the paper's (30), of the k most relevant documents, is
            # not bounded by these weights (S3).
            v = np.where(rank <= self.cutoff, gain * d, 0.0)
            best = sum_by_query(v, groups)
        else:
            best = sum_by_query(gain * d, groups)
            # What a document loses at most is its place to the last one's, for the lowest gain.
            last = np.maximum(groups.indptr[1:] - 1, 0)
            v = (gain - np.repeat(gain[last], groups.sizes)) * (d - discount[m - 1])
        # All labels 0: Z = 0, nothing to order, and no weights (S7).
        z = np.repeat(best, groups.sizes)
        return np.divide(v, z, out=np.zeros_like(v), where=z > 0)

    def prepare(
        self,
        y: Floats,
        groups: Groups,
        *,
        draw: int = 0,
        n_jobs: int | None = None,
        weights: Floats | None = None,
    ) -> PreparedSLAM:
        """Sort the labels and compute the weights."""
        return PreparedSLAM(y, groups, self, n_threads(n_jobs), weights)


class PreparedSLAM:
    """SLAM on given labels."""

    def __init__(
        self,
        y: Floats,
        groups: Groups,
        loss: SLAM,
        threads: int,
        weights: Floats | None = None,
    ) -> None:
        self.v = loss.weights(y, groups)
        if weights is not None:
            self.v = weights * self.v
        if isinstance(loss.metric, str) and loss.metric.startswith("map"):
            y = (y >= loss.threshold).astype(np.float64)  # MAP knows two grades
        self.y = y
        self.layers = _kernels.Layers(y, groups.indptr, threads)
        self.margin, self.threads = loss.margin, threads

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the value of each query and a subgradient."""
        return self.layers.slam(scores, self.v, self.margin, self.threads)
