"""What SLAM and its smooth form share: the weights of documents that make a sum bound a metric."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from rankwright.data.groups import Groups, Ints
from rankwright.data.validation import Floats, check_number
from rankwright.losses.blocks import group_means
from rankwright.losses.loss import Bound, by_query, sum_by_query
from rankwright.metrics.binary import AP
from rankwright.metrics.dcg import NDCG, check_gain_labels, discounts
from rankwright.metrics.metric import Metric

Sharing: TypeAlias = Literal["group", "printed"]
_CUTOFF = re.compile(r"ndcg@(\d+)")
_KNOWN = ("ndcg", "map", "map-uniform")


class MetricWeights:
    r"""Of a loss :math:`\sum_i v_i \ell_i`, the weights with which it bounds a metric.

    :math:`\ell_i` is at least 1, or a ``unit``, for each misordered document: one with a document
    of lower label and no lower score. The weights :math:`v` of :class:`SLAM` then make the sum at
    least so many times 1 minus the metric. A subclass is a frozen dataclass with these fields.
    """

    metric: str | Callable[[Floats], Floats]
    threshold: float
    weights: Sharing
    steepness: ClassVar[float]
    """The largest l1 norm of the gradient by the scores, for weights of sum 1."""

    def __post_init__(self) -> None:
        if isinstance(self.metric, str):
            if self.metric not in _KNOWN and not self.cutoff:
                raise ValueError(
                    f"metric must be one of {', '.join(_KNOWN)}, ndcg@K, or a function from labels "
                    f"to weights, but is {self.metric!r}."
                )
        elif not callable(self.metric):
            raise TypeError(f"metric must be a text or a function, but is {self.metric!r}.")
        check_number("threshold", self.threshold)
        if self.weights not in ("group", "printed"):
            raise ValueError(f"weights must be 'group' or 'printed', but is {self.weights!r}.")
        if self.metric == "map-uniform" and self.weights == "printed":
            raise ValueError(
                "metric='map-uniform' is metric='map' with weights='group', but weights is "
                "'printed'. Use metric='map'."
            )

    @property
    def cutoff(self) -> int:
        """The K of ndcg@K, or 0."""
        match = _CUTOFF.fullmatch(self.metric) if isinstance(self.metric, str) else None
        return int(match[1]) if match else 0

    @property
    def is_map(self) -> bool:
        """Whether the metric is MAP, which knows two grades."""
        return isinstance(self.metric, str) and self.metric.startswith("map")

    @property
    def unit(self) -> float:
        """What a misordered document adds at least, over its weight."""
        return 1.0

    @property
    def bound(self) -> Bound | None:
        """One minus the metric, times the unit; None for weights of your own."""
        if not isinstance(self.metric, str):
            return None
        metric: Metric = NDCG(k=self.cutoff or None, ties="worst", empty=1.0)
        if self.is_map:
            metric = AP(threshold=self.threshold, ties="worst", empty=1.0)

        def lower(y: Floats, scores: Floats, groups: Groups) -> Floats:
            return self.unit * (1 - metric.per_query(y, scores, groups))

        return Bound(metric, lower, f"{self.unit:g} (1 - {metric.name})")

    def lipschitz(self, m: int) -> float:
        """Return the steepness times 1, the largest sum of weights; infinite for your own."""
        return self.steepness if isinstance(self.metric, str) else math.inf

    def grades(self, y: Floats) -> Floats:
        """Return the labels that are compared: for MAP 1 or 0."""
        return (y >= self.threshold).astype(np.float64) if self.is_map else y

    def document_weights(self, y: Floats, groups: Groups) -> Floats:
        """Return :math:`v` of every document."""
        if callable(self.metric):
            # Who gives numbers for each row means them so: they are not shared.
            v = by_query(self.metric, y, groups)
            if v.shape != y.shape or not np.isfinite(v).all() or (v < 0).any():
                raise ValueError("metric must return one finite weight >= 0 for each label.")
            return v
        # A best order; documents of equal labels keep theirs (S5).
        query = groups.query_of_rows()
        order = np.lexsort((-y, query))
        of_metric = self._map_weights if self.is_map else self._ndcg_weights
        sizes = groups.sizes
        sorted_v = of_metric(y[order], groups, groups.positions() + 1, np.repeat(sizes, sizes))
        if self.weights == "group":
            # The sums go by rank, so that not a bit depends on the order of the rows (S14).
            changes = (np.diff(self.grades(y[order])) != 0) | (np.diff(query) != 0)
            begin = np.append(np.flatnonzero(np.append(len(y) > 0, changes)), len(y))
            sorted_v = np.repeat(group_means(sorted_v[:, None], begin)[:, 0], np.diff(begin))
        v = np.empty_like(y)
        v[order] = sorted_v
        return v

    def _map_weights(self, y: Floats, groups: Groups, rank: Ints, m: Ints) -> Floats:
        relevant = y >= self.threshold
        r = np.repeat(sum_by_query(relevant.astype(np.float64), groups), groups.sizes)
        # Where r is 0 no document is relevant: the 0/0 is not chosen, and all weights are 0 (S7).
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(relevant, (m - r) / (r * (m - r + rank)), 0.0)

    def _ndcg_weights(self, y: Floats, groups: Groups, rank: Ints, m: Ints) -> Floats:
        check_gain_labels(y, f"{type(self).__name__}({self.metric!r})")
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
