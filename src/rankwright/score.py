"""What ``score`` returns: means over queries or rows, weighted or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.groups import Groups, gather
from rankwright.data.validation import Floats, check_qid, check_weights
from rankwright.inputs import gathered_weights
from rankwright.losses.loss import sum_by_query
from rankwright.metrics.dcg import NDCG
from rankwright.metrics.metric import mean_of_queries

SCORE_METRIC = NDCG(k=10)


def mean_ndcg(
    scores: Floats, y: ArrayLike, qid: ArrayLike | None, sample_weight: ArrayLike | None = None
) -> float:
    """Return mean NDCG@10, the ``score`` of every ranker; higher is better."""
    labels = np.asarray(y, dtype=np.float64)
    order, groups = gather(check_qid(qid, len(labels)))
    if order is not None:
        labels, scores = labels[order], scores[order]
    weights = gathered_weights(sample_weight, "sample_weight", groups, order)
    if weights is None:
        return SCORE_METRIC.mean(labels, scores, groups)
    values = SCORE_METRIC.per_query(labels, scores, groups)
    return mean_of_queries(values, str(SCORE_METRIC), mean_weights(weights, groups))


def mean_weights(weights: Floats, groups: Groups) -> Floats:
    """Return what a query counts in a mean over queries: the mean weight of its documents."""
    return sum_by_query(weights, groups) / np.maximum(groups.sizes, 1)


def mean_score(values: Any, sample_weight: ArrayLike | None) -> float:
    """Return the mean of the scores of rows, or their weighted mean."""
    scores = np.asarray(values, dtype=np.float64)
    if sample_weight is None:
        return float(np.mean(scores))
    return float(
        np.average(scores, weights=check_weights(sample_weight, "sample_weight", len(scores)))
    )
