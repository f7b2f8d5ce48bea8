r"""The penalty weight, chosen with data in parts.

On validation parts, or on folds of the queries of all parts: a fold is left out by weights
:math:`c_q` that are 0 there, so that no part is copied. A ranker of the other :math:`Q_f` queries
with penalty :math:`\alpha` is then one of all Q with a smaller one,

.. math::
    \frac{1}{Q_f} \sum_q c_q L_q(w) + \alpha\, \Omega(w)
    = \frac{Q}{Q_f} \Bigl(\frac{1}{Q} \sum_q c_q L_q(w)
    + \alpha \frac{Q_f}{Q}\, \Omega(w)\Bigr).

Scales of the features and what stands for missing values are those of all queries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Groups
from rankwright.data.parts import Parts
from rankwright.data.products import multiply
from rankwright.data.streams import stream_keys
from rankwright.data.validation import Floats
from rankwright.inputs import WeightColumn, check_parts
from rankwright.linear.base import LinearModel
from rankwright.linear.selection import usual_tries
from rankwright.metrics.metric import Metric, mean_or_nan
from rankwright.metrics.on_data import per_query_on
from rankwright.penalties import ElasticNet

_SEED = 0  # of the folds, as in memory


@dataclass(frozen=True)
class KeyFold:
    """Queries of all parts, by the keys of their ids; the weights of all others are 1.

    Attributes
    ----------
    first, last : int
        The least and the largest key.
    """

    first: int
    last: int

    def __call__(self, part: Dataset) -> Floats:
        """Return a weight for each document."""
        outside = ~self.has(part.groups)
        return np.repeat(outside.astype(np.float64), part.groups.sizes)

    def has(self, groups: Groups) -> NDArray[np.bool_]:
        """Tell of each query whether it is in the fold."""
        keys = stream_keys(groups, _SEED)
        return np.asarray((keys >= np.uint64(self.first)) & (keys <= np.uint64(self.last)))


def alpha_by_valid(
    ranker: LinearModel,
    parts: Parts,
    valid: Parts,
    metric: Metric,
    n_alphas: int,
    weights: tuple[WeightColumn | None, WeightColumn | None] = (None, None),
) -> float:
    """Return the penalty weight of a path that is best on validation parts, the largest of equals.

    ``weights`` are those of the documents and of the queries of the training parts.
    """
    ranker = clone(ranker)
    ready = ranker.ready_parts(check_parts(ranker, parts))
    objective = ready.objective(ElasticNet(), *weights)
    measure = partial(_quality, valid, ranker, metric, None)
    points = ranker.walk(objective, ready.scale, ranker.usual_alphas(objective, n_alphas), measure)
    sign = 1.0 if metric.higher_is_better else -1.0
    return max(points, key=lambda point: sign * point.quality).alpha


def alpha_by_folds(ranker: LinearModel, parts: Parts, metric: Metric, n_folds: int) -> float:
    """Return the penalty weight that is best on left-out queries, the largest of equals.

    The folds, and the weights that are tried, are those of
    :func:`~rankwright.linear.selection.choose_alpha`. What ``ranker`` has is returned if there are
    too few queries, or nothing is measured on any.
    """
    n = parts.facts.n_queries
    if n < n_folds:
        return ranker.alpha
    ranker, tried = clone(ranker), usual_tries()
    filled = check_parts(ranker, parts)
    ready, qualities = ranker.ready_parts(filled), []
    for fold, n_in in _folds(parts, n_folds):
        objective = ready.objective(ElasticNet(), None, fold)
        alphas = (tried * ((n - n_in) / n)).tolist()
        measure = partial(_quality, filled, ranker, metric, fold)
        points = ranker.walk(objective, ready.scale, alphas, measure)
        qualities.append([point.quality for point in points])
    found = np.array(qualities)
    if np.isnan(found).all():
        return ranker.alpha
    # NaN is a fold without a query that counts: whatever the weight, so it takes no side.
    totals = np.nan_to_num(found).sum(axis=0)
    best = np.argmax(totals) if metric.higher_is_better else np.argmin(totals)
    return float(tried[best])


def _folds(parts: Parts, n_folds: int) -> list[tuple[KeyFold, int]]:
    """Return the folds of all queries, and how many each has."""
    keys = np.sort(np.concatenate(parts.map(_keys_of_part)))
    return [(KeyFold(int(own[0]), int(own[-1])), len(own)) for own in np.array_split(keys, n_folds)]


def _keys_of_part(part: Dataset) -> NDArray[np.uint64]:
    return stream_keys(part.groups, _SEED)


def _quality(
    parts: Parts, ranker: LinearModel, metric: Metric, fold: KeyFold | None, coef: Floats
) -> tuple[float, float]:
    """Return the mean of a metric over all queries, or a fold; no loss is measured."""
    found = parts.map(_values_of_part, ranker, metric, fold, coef)
    return mean_or_nan(np.concatenate(found)), math.nan


def _values_of_part(
    part: Dataset, ranker: Any, metric: Metric, fold: KeyFold | None, coef: Floats
) -> Floats:
    """Return the metric of each query, of a fold alone if there is one."""
    aligned = ranker.align(part)
    values = per_query_on([metric], part, multiply(aligned.X, coef, ranker.n_jobs))[0]
    return values if fold is None else values[fold.has(part.groups)]
