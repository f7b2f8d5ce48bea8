"""Losses of one's own: any object with ``value_and_grad``, as the library asks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.losses.loss import Bound, Loss, has_argument
from rankwright.losses.prepared import Prepared


@runtime_checkable
class WithValue(Protocol):
    """All that a loss must have."""

    def value_and_grad(self, scores: Any, y: Any, groups: Any) -> tuple[Any, Any]:
        """Return the sum over queries and its (sub)gradient with respect to the scores."""
        ...


def as_loss(loss: Any) -> Loss:
    """Return a loss as the library asks it: itself, or with answers that are always safe."""
    return loss if isinstance(loss, Loss) else _OwnLoss(loss)


def prepare_loss(
    loss: Any, y: Floats, groups: Groups, weights: Floats | None = None, **options: Any
) -> Prepared:
    """Prepare any loss, with a weight for each row or None.

    Raises ValueError if documents of a query differ in weight and the loss is one's own, whose
    terms are not known; if it has a ``prepare`` with an argument ``weights``, it is asked.
    """
    known = as_loss(loss)
    if weights is None:
        return known.prepare(y, groups, **options)
    if known.takes_weights:
        return known.prepare(y, groups, weights=weights, **options)
    of_query = weights[np.minimum(groups.indptr[:-1], len(weights) - 1)]
    if (weights != np.repeat(of_query, groups.sizes)).any():
        raise ValueError(
            "sample_weight needs a loss that knows its documents' terms, but "
            f"{type(loss).__name__} has no prepare(..., weights=). Use query_weight."
        )
    return _QueryWeighted(known, y, groups, of_query, weights, options)


@runtime_checkable
class WithQueries(Protocol):
    """A loss whose queries the kernels can evaluate one at a time."""

    def prepare_queries(
        self, y: Floats, groups: Groups, weights: Floats | None = None
    ) -> _kernels.QueryLoss:
        """Prepare all queries; each evaluation says which one, and the number of its draw."""
        ...


def prepare_queries(
    loss: Loss, y: Floats, groups: Groups, weights: Floats | None = None
) -> _kernels.QueryLoss:
    """Prepare any loss for learners that meet one query at a time."""
    if isinstance(loss, WithQueries):
        return loss.prepare_queries(y, groups, weights)

    # One query at a time, as it is met: who draws at random knows the draw only then.
    def value_and_grad(scores: Floats, q: int, draw: int) -> tuple[float, Floats]:
        rows = slice(groups.indptr[q], groups.indptr[q + 1])
        of_rows = None if weights is None else weights[rows]
        one = prepare_loss(loss, y[rows], groups.only(q), of_rows, draw=draw, n_jobs=1)
        values, grad = one.values_and_grad(scores)
        return float(values[0]), np.ascontiguousarray(grad, dtype=np.float64)

    return _kernels.loss_by_query(value_and_grad)


class _QueryWeighted:
    """A loss of which nothing is known, each query times its weight."""

    def __init__(
        self,
        loss: Loss,
        y: Floats,
        groups: Groups,
        of_query: Floats,
        of_row: Floats,
        options: dict[str, Any],
    ) -> None:
        self.of_query, self.of_row = of_query, of_row
        # Query by query: a loss that has only sums tells no query's own value.
        self.parts = [
            (rows, loss.prepare(y[rows], groups.only(q), **options))
            for q, rows in enumerate(groups)
        ]

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the value of each query and the gradient."""
        values, grad = np.zeros(len(self.parts)), np.zeros(len(scores))
        for q, (rows, part) in enumerate(self.parts):
            value, grad[rows] = part.values_and_grad(scores[rows])
            values[q] = value.sum()
        return self.of_query * values, self.of_row * grad


@dataclass(frozen=True, repr=False)
class _OwnLoss(Loss):
    """A loss that is no :class:`Loss`: what it says of itself, and what holds if it does not.

    It is smooth unless it says otherwise. Whether it is convex is None if it does not say.
    """

    own: Any

    def __post_init__(self) -> None:
        smooth, convex = getattr(self.own, "smooth", True), getattr(self.own, "convex", None)
        vars(self).update(smooth=smooth, convex=convex)

    @property
    def bound(self) -> Bound | None:
        """The metric that it says it bounds."""
        bound: Bound | None = getattr(self.own, "bound", None)
        return bound

    @property
    def takes_weights(self) -> bool:
        """Whether it can be prepared, with an argument ``weights``."""
        return hasattr(self.own, "prepare") and has_argument(self.own.prepare, "weights")

    def lipschitz(self, m: int) -> float:
        """Return its bound on the gradient; NotImplementedError if it has none."""
        if not hasattr(self.own, "lipschitz"):
            raise NotImplementedError
        return float(self.own.lipschitz(m))

    def prepare(self, y: Floats, groups: Groups, **options: Any) -> Prepared:
        """Prepare it, if it can be prepared."""
        if not hasattr(self.own, "prepare"):
            return _PreparedOwn(self.own, y, groups)
        prepared: Prepared = self.own.prepare(y, groups, **options)
        return prepared

    def per_query(
        self,
        scores: ArrayLike,
        y: ArrayLike,
        groups: Groups | None = None,
        *,
        n_jobs: int | None = None,
    ) -> Floats:
        """Return the value of each query; a loss that has only sums is asked query by query."""
        s, labels = np.asarray(scores), np.asarray(y)
        groups = Groups.one_query(len(labels)) if groups is None else groups
        if hasattr(self.own, "per_query"):
            return np.asarray(self.own.per_query(s, labels, groups))
        values = [
            self.own.value_and_grad(s[rows], labels[rows], Groups.one_query(rows.stop - rows.start))
            for rows in groups
        ]
        return np.array([value for value, _ in values], dtype=np.float64)

    def __repr__(self) -> str:
        return repr(self.own)


class _PreparedOwn:
    """A loss that has ``value_and_grad`` and nothing else, on given labels."""

    def __init__(self, loss: WithValue, y: Floats, groups: Groups) -> None:
        self.loss, self.y, self.groups = loss, y, groups

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the sum over all queries in one value, and the gradient."""
        value, grad = self.loss.value_and_grad(scores, self.y, self.groups)
        return np.array([value]), np.asarray(grad, dtype=np.float64)
