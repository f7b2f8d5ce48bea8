r"""The scale of a member's scores, and weights of members that validation queries choose.

Scores of two rankers can be averaged only if they are on one scale. A member is divided by

.. math:: \sigma = \frac{1}{|Q|} \sum_{q \in Q} \sqrt{\frac{1}{n_q} \sum_i (s_i - \bar s_q)^2},

the mean standard deviation of its scores within the queries Q of the training data that have more
than one document: one fixed number, so that an average is a sum over documents still, and not a
function of the other documents of a query.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.exceptions import DataWarning
from rankwright.inputs import levels_up
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import per_query_on

_FEW = 100  # validation queries, below which weights follow noise
_ROUNDS = 20  # steps for each member: a weight can reach 21 times that of the others


def mean_deviation(scores: Floats, groups: Groups) -> float:
    r"""Return :math:`\sigma`; 0 if no query has documents with different scores."""
    return mean_of_deviations(query_deviations(scores, groups))


def mean_of_deviations(deviations: Floats) -> float:
    r"""Return :math:`\sigma` of the deviations of all queries: exactly, whatever their order."""
    return math.fsum(deviations) / len(deviations) if len(deviations) else 0.0


def query_deviations(scores: Floats, groups: Groups) -> Floats:
    """Return the standard deviation within each query of more than one document."""
    sizes = groups.sizes
    starts = groups.indptr[:-1]
    means = np.add.reduceat(scores, starts) / sizes
    squares = np.add.reduceat((scores - np.repeat(means, sizes)) ** 2, starts) / sizes
    return np.sqrt(squares[sizes > 1])


def greedy_weights(scores: Floats, valid: Dataset, metric: Metric) -> Floats:
    r"""Return weights on the simplex under which the mean of a metric is high.

    Every member is taken once. Then, again and again, that member is taken once more which makes
    the metric of the sum best, the first of equals, until none makes it better (Caruana et al.,
    2004, begun with all members). Weights are the shares of what was taken.

    Parameters
    ----------
    scores : ndarray of shape (n_members, n_docs)
        Scores of the validation documents, on one scale.
    valid : Dataset
        The validation queries.
    metric : Metric
        What is to be high, or low.
    """
    n_members = len(scores)
    taken, total = np.ones(n_members), scores.sum(axis=0)
    best = _gained(metric, valid, total)
    for _ in range(_ROUNDS * n_members):
        values = [_gained(metric, valid, total + member) for member in scores]
        chosen = int(np.argmax(values))
        if not values[chosen] > best:
            break
        best = values[chosen]
        taken[chosen] += 1
        total = total + scores[chosen]
    return np.asarray(taken / taken.sum())


def warn_of_few(valid: Dataset, metric: Metric) -> None:
    """Warn if there are too few validation queries to choose weights by."""
    counted = int(np.count_nonzero(~np.isnan(per_query_on([metric], valid, valid.y)[0])))
    if counted < _FEW:
        warnings.warn(
            f"weights='valid' follows the noise of {counted} validation queries; below {_FEW} "
            "take weights='equal'.",
            DataWarning,
            stacklevel=levels_up(),
        )


def _gained(metric: Metric, valid: Dataset, scores: Floats) -> float:
    """Return the mean of a metric such that more is better."""
    per_query = per_query_on([metric], valid, scores)[0]
    value = math.fsum(per_query[~np.isnan(per_query)])
    return value if metric.higher_is_better else -value
