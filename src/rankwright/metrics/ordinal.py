"""Metrics of predicted labels, for learners that predict labels instead of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.metrics.metric import Columns, RowMetric
from rankwright.metrics.ranking import RankedLabels


@dataclass(frozen=True)
class _LabelMetric(RowMetric):
    """Mean over the documents of a query of a function of true and predicted label."""

    # The order of predicted labels is not enough: 1, 2 and 1, 5 rank alike and cost differently.

    def of_rows(self, y: Floats, scores: Floats, groups: Groups, columns: Columns) -> Floats:
        """Return the metric of each query."""
        cost = self._cost(y, scores)
        sums = np.bincount(groups.query_of_rows(), weights=cost, minlength=groups.n_queries)
        # A query without documents is 0/0: NaN, which is how every metric says "skipped".
        with np.errstate(invalid="ignore"):
            means: Floats = sums / groups.sizes
        return means

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Refuse: a ranking does not know predicted labels."""
        raise TypeError(f"{self.name} compares labels; call per_query(y, predicted, groups).")

    def _cost(self, y: Floats, predicted: Floats) -> Floats:
        raise NotImplementedError


@dataclass(frozen=True)
class RankLoss(_LabelMetric):
    r"""Ordinal rank loss: the mean of :math:`|\hat y_i - y_i|`.

    ``scores`` are predicted labels.

    Examples
    --------
    >>> RankLoss().per_query([1, 3], [2, 5])
    array([1.5])
    """

    name: ClassVar[str] = "rank_loss"
    higher_is_better: ClassVar[bool] = False

    def _cost(self, y: Floats, predicted: Floats) -> Floats:
        return np.abs(predicted - y)


@dataclass(frozen=True)
class RankAccuracy(_LabelMetric):
    """Share of the documents whose predicted label is right.

    ``scores`` are predicted labels.

    Examples
    --------
    >>> RankAccuracy().per_query([1, 3], [1, 5])
    array([0.5])
    """

    name: ClassVar[str] = "rank_accuracy"

    def _cost(self, y: Floats, predicted: Floats) -> Floats:
        return np.asarray(predicted == y, dtype=np.float64)
