"""Losses of one's own: any object with ``value_and_grad``, as the library asks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.losses.loss import Bound, Loss
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
