"""What all losses share: functions of a query's scores and labels, with what they promise."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats, check_scores, check_y
from rankwright.losses.prepared import Prepared
from rankwright.metrics.metric import Metric
from rankwright.showing import Brief


@dataclass(frozen=True, repr=False)
class Bound(Brief):
    """A promise that, on every query, ``loss >= lower(y, scores, groups)``.

    Attributes
    ----------
    metric : Metric
        The metric that ``lower`` is made of, with pessimistic ties where it has a tie rule.
    lower : callable
        ``lower(y, scores, groups)`` gives one value a query.
    text : str
        The promise in words.
    """

    metric: Metric
    lower: Callable[[Floats, Floats, Groups], Floats]
    text: str


@dataclass(frozen=True)
class Loss:
    """A sum over queries of a function of that query's scores and labels.

    Losses are frozen and stateless. They live in score space: a linear learner multiplies the
    gradient by the features, a tree learner fits it as it is.

    A loss of your own needs ``value_and_grad`` only; see the guide. Those here implement
    :meth:`prepare`, and have the rest from this class.
    """

    name: ClassVar[str]
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    cost: ClassVar[str]

    @property
    def bound(self) -> Bound | None:
        """The metric that the loss bounds from above, if it is known to bound one."""
        return None

    @property
    def takes_weights(self) -> bool:
        """Whether :meth:`prepare` has an argument ``weights``."""
        return has_argument(self.prepare, "weights")

    def lipschitz(self, m: int) -> float:
        """Return a bound on the l1 norm of the score gradient of a query with ``m`` documents."""
        raise NotImplementedError

    def prepare(
        self,
        y: Floats,
        groups: Groups,
        *,
        draw: int = 0,
        n_jobs: int | None = None,
        weights: Floats | None = None,
    ) -> Prepared:
        """Do once what depends on the labels only; arguments are trusted.

        Parameters
        ----------
        y : ndarray of shape (n_docs,)
            Labels, finite float64.
        groups : Groups
            Row ranges of the queries.
        draw : int
            Number of the random draw, for losses that draw.
        n_jobs : int, optional
            Threads.
        weights : ndarray of shape (n_docs,), optional
            What the term of each document is multiplied by: its target in a cross entropy, the
            terms in which it is the one that should win in all other losses. Equal weights in a
            query multiply the query's loss.
        """
        raise NotImplementedError

    def value_and_grad(
        self,
        scores: ArrayLike,
        y: ArrayLike,
        groups: Groups | None = None,
        *,
        n_jobs: int | None = None,
    ) -> tuple[float, Floats]:
        """Return the sum over queries and its (sub)gradient with respect to the scores."""
        values, grad = self._evaluate(scores, y, groups, n_jobs)
        # Summed exactly: the order of the queries makes no difference.
        return math.fsum(values.tolist()), grad

    def per_query(
        self,
        scores: ArrayLike,
        y: ArrayLike,
        groups: Groups | None = None,
        *,
        n_jobs: int | None = None,
    ) -> Floats:
        """Return the value of each query."""
        return self._evaluate(scores, y, groups, n_jobs)[0]

    def _evaluate(
        self, scores: ArrayLike, y: ArrayLike, groups: Groups | None, n_jobs: int | None
    ) -> tuple[Floats, Floats]:
        labels, values, groups = check_query_data(scores, y, groups)
        return self.prepare(labels, groups, n_jobs=n_jobs).values_and_grad(values)


def has_argument(function: Callable[..., Any], name: str) -> bool:
    """Tell whether a function has an argument of this name."""
    return name in inspect.signature(function).parameters


def check_query_data(
    scores: ArrayLike, y: ArrayLike, groups: Groups | None
) -> tuple[Floats, Floats, Groups]:
    """Return labels, scores and groups as arrays that fit together."""
    labels = check_y(y)
    values = check_scores(scores, len(labels))
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"scores must be finite, but row {row} is {values[row]}.")
    groups = Groups.one_query(len(labels)) if groups is None else groups
    if groups.n_rows != len(labels):
        raise ValueError(f"groups must cover the {len(labels)} rows, but cover {groups.n_rows}.")
    return labels, values, groups


def by_query(function: Callable[[Floats], ArrayLike], y: Floats, groups: Groups) -> Floats:
    """Return a user's function of each query's labels, as one array."""
    parts = [np.atleast_1d(function(y[rows])) for rows in groups]
    return np.concatenate(parts, dtype=np.float64) if parts else np.empty(0)


def max_by_query(values: Floats, groups: Groups) -> Floats:
    """Return the largest value of each query, 0 for those without documents."""
    largest = np.zeros(groups.n_queries)
    filled = groups.sizes > 0
    largest[filled] = np.maximum.reduceat(values, groups.indptr[:-1][filled])
    return largest


def is_empty(y: Floats, groups: Groups) -> NDArray[np.bool_]:
    """Tell of each query whether nothing is relevant: labels are all equal, and not above 0."""
    # Labels below 0 that differ, such as logarithms for ListNet, say which document is better.
    highest = max_by_query(y, groups)
    empty: NDArray[np.bool_] = (highest <= 0) & (highest == -max_by_query(-y, groups))
    return empty


def sum_by_query(values: Floats, groups: Groups) -> Floats:
    """Sum over the rows of each query."""
    sums = np.bincount(groups.query_of_rows(), weights=values, minlength=groups.n_queries)
    return np.asarray(sums, dtype=np.float64)
