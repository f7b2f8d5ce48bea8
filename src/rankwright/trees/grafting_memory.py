"""A base that is fitted to data in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.kept import Kept
from rankwright.data.validation import Floats
from rankwright.inputs import RankingData
from rankwright.linear import LinearRanker
from rankwright.linear.selection import choose_alpha
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import columns_of, per_query_on
from rankwright.trees.additive import Additive
from rankwright.trees.grafting import N_ALPHAS, N_FOLDS, Mask, Rises, only_usable


@dataclass(frozen=True)
class GraftInMemory:
    """Training documents in memory, to which a base is fitted.

    Attributes
    ----------
    data : RankingData
        The documents.
    valid : Dataset or None
        Validation queries.
    metric : Metric
        What the penalty is chosen by.
    slope : callable
        Returns the gradient of the loss at some scores.
    n_jobs : int or None
        Threads.
    columns : dict
        Those of the training documents that the metric looks at.
    """

    data: RankingData
    valid: Dataset | None
    metric: Metric
    slope: Callable[[Floats], Floats]
    n_jobs: int | None
    columns: Kept = field(default_factory=dict)

    def alpha_of(self, ranker: LinearRanker, usable: Mask) -> float:
        """Return the penalty that is best on validation queries, or on folds."""
        data, valid, metric = self._usable(usable), self.valid, self.metric
        qid = _qid(data)
        if valid is None:
            if data.groups.n_queries < N_FOLDS:
                return ranker.alpha
            whole = Dataset(data.X, data.y, qid, kept=self.columns, allow_nan=True)
            if np.isnan(per_query_on([metric], whole, whole.y)[0]).all():
                return ranker.alpha  # no fold has anything to choose by
            return choose_alpha(ranker, whole, n_folds=N_FOLDS, metric=metric).alpha
        looked_at = columns_of(valid, [metric])
        watched = Dataset(valid.X, valid.y, valid.qid, kept=looked_at, allow_nan=True)
        more: Any = {"n_alphas": N_ALPHAS, "valid": watched, "metric": metric}
        points = ranker.path(data.X, data.y, qid, **more, **_given_weights(data))
        sign = 1.0 if metric.higher_is_better else -1.0
        # Of equals the largest, which comes first.
        return max(points, key=lambda point: sign * point.quality).alpha

    def fitted(self, ranker: Any, usable: Mask) -> Additive:
        """Fit a ranker, without the features that are not usable."""
        data = self._usable(usable)
        return Additive.of(ranker.fit(data.X, data.y, _qid(data), **_given_weights(data)))

    def rises(self, part: Additive) -> Rises:
        """Tell whether the loss rises along some scores, as a function of their factor."""
        scores = part.scores(self.data.X, self.n_jobs)
        return lambda c: float(np.dot(scores, self.slope(c * scores))) >= 0

    def _usable(self, usable: Mask) -> RankingData:
        return replace(self.data, X=only_usable(self.data.X, usable))


def _given_weights(data: RankingData) -> dict[str, Any]:
    """Return the weights as arguments of ``fit``; none if all are 1."""
    given = {"sample_weight": data.sample_weight, "query_weight": data.query_weight}
    return {name: value for name, value in given.items() if value is not None}


def _qid(data: RankingData) -> Any:
    return np.repeat(data.groups.names, data.groups.sizes)
