"""What SLAM and its smooth form share: the weights of documents that make a sum bound a metric."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.validation import Floats, check_number
from rankwright.losses.loss import Bound, by_query
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
        layered = self.grades(y) if self.weights == "group" else y
        return self._by_rank(_kernels.Layers(layered, groups.indptr, 1), y, groups)

    def weights_in(self, layers: _kernels.Layers, y: Floats, groups: Groups) -> Floats:
        """Return the same, given the layers of the grades."""
        # As printed, the weights of MAP go by the labels, not by the grades.
        by_grade = not callable(self.metric) and (self.weights == "group" or not self.is_map)
        return self._by_rank(layers, y, groups) if by_grade else self.document_weights(y, groups)

    def _by_rank(self, layers: _kernels.Layers, y: Floats, groups: Groups) -> Floats:
        """Return :math:`v` of a best order; documents of equal labels keep theirs (S5)."""
        shared = self.weights == "group"
        if self.is_map:
            # Layers of grades are 0 and 1; those of labels are told apart by the threshold.
            return layers.map_weights(1.0 if shared else self.threshold, shared)
        check_gain_labels(y, f"{type(self).__name__}({self.metric!r})")
        discount = discounts(int(groups.sizes.max(initial=1)), "log2")
        return layers.ndcg_weights(self.cutoff, discount, shared)
