"""What a solver returns, and the objective that all of them minimise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from rankwright.data.groups import Groups, Ints
from rankwright.data.products import multiply, multiply_transposed
from rankwright.data.validation import Floats, Matrix
from rankwright.losses.loss import Loss, Prepared
from rankwright.penalties import ElasticNet
from rankwright.solvers.duality import lower_bound
from rankwright.threads import n_threads


@dataclass(frozen=True)
class Progress:
    """Where a solver stands, for progress bars."""

    iteration: int
    objective: float
    violation: float
    n_features: int  # with a weight that is not 0


Callback: TypeAlias = Callable[[Progress], Any]


@dataclass(frozen=True)
class Solution:
    """The result of a solver.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        Weights.
    objective : list of float
        Objective at the start and after each iteration.
    violation : float
        Largest violation of the optimality conditions, on the scale of the gradient.
    gap : float
        Certified bound on how far the objective is from its minimum; infinite where none is known.
    n_iter : int
        Iterations.
    stop : str
        Why it stopped: ``"converged"``, ``"max_iter"``, ``"stalled"`` (no digits left to improve).
    """

    coef: Floats
    objective: list[float]
    violation: float
    gap: float
    n_iter: int
    stop: str

    @property
    def converged(self) -> bool:
        """Whether the tolerance was met, or nothing was left to gain."""
        return self.stop != "max_iter"


class Objective:
    r"""The mean over queries of a loss of :math:`Xw`, plus a penalty.

    .. math::
        F(w) = \frac{1}{Q} \sum_q L_q(X_q w) + a_1 \|w\|_1 + \tfrac{a_2}{2} \|w\|^2

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_docs, n_features)
        Features.
    y : ndarray of shape (n_docs,)
        Labels.
    groups : Groups
        Row ranges of the queries.
    loss : Loss
        The loss; its own ``prepare``, or ``value_and_grad`` of a loss that has nothing else.
    penalty : ElasticNet
        The penalty.
    n_jobs : int, optional
        Threads.
    """

    def __init__(
        self,
        X: Matrix,
        y: Floats,
        groups: Groups,
        loss: Loss,
        penalty: ElasticNet,
        n_jobs: int | None = None,
    ) -> None:
        self.X, self.y, self.groups = X, y, groups
        self.loss, self.penalty, self.n_jobs = loss, penalty, n_threads(n_jobs)
        self.n_queries = max(groups.n_queries, 1)
        self.prepared: Prepared = prepare(loss, y, groups, self.n_jobs)

    @property
    def n_features(self) -> int:
        """Number of weights."""
        return int(self.X.shape[1])

    def part(self, queries: Ints) -> tuple[Ints, Prepared]:
        """Return the rows of some queries, and the loss on them."""
        rows = self.groups.rows_of(queries)
        offsets = np.append(0, np.cumsum(self.groups.sizes[queries]))
        ids = self.groups.ids
        groups = Groups(offsets, queries if ids is None else ids[queries])
        return rows, prepare(self.loss, self.y[rows], groups, self.n_jobs)

    def scores(self, w: Floats) -> Floats:
        """Return :math:`Xw`."""
        return multiply(self.X, w, self.n_jobs)

    def loss_and_slope(self, scores: Floats) -> tuple[float, Floats]:
        """Return the mean loss and its gradient by scores."""
        values, grad = self.prepared.values_and_grad(scores)
        return math.fsum(values.tolist()) / self.n_queries, grad / self.n_queries

    def gradient(self, slope: Floats) -> Floats:
        r"""Return :math:`X^\top` times a gradient by scores."""
        return multiply_transposed(self.X, slope, self.n_jobs)

    def enough(self, tol: float) -> float:
        """Return the violation at which to stop.

        It is ``tol`` times the loss's largest derivative at weights 0, but never less than what
        rounding leaves of a derivative that is 0. (The l1 penalty is left out: near the weight from
        which on it allows no feature, next to nothing of the derivatives remains.)
        """
        loss, slope = self.loss_and_slope(np.zeros(len(self.y)))
        steepest = float(np.abs(self.gradient(slope)).max(initial=0.0))
        some = self.X.data if sp.issparse(self.X) else self.X
        some = some[:: max(len(some) // 4096, 1)]
        largest = max(some.max(initial=0.0), -some.min(initial=0.0))
        rounding = 4 * np.finfo(np.float64).eps * largest * (loss + float(np.abs(slope).sum()))
        return float(max(tol * steepest, rounding))

    def violation_at_zero(self) -> float:
        """Return the largest violation of the optimality conditions at weights 0."""
        _, slope = self.loss_and_slope(np.zeros(len(self.y)))
        zero = np.zeros(self.n_features)
        return float(self.penalty.violation(zero, self.gradient(slope)).max(initial=0.0))

    def gap(self, w: Floats, gradient: Floats) -> float:
        r"""Return a bound on :math:`F(w) - \min F`, infinite where none is known.

        With :math:`a_2 > 0`, F is strongly convex and the squared length of its smallest
        subgradient over :math:`2 a_2` is a bound. For losses made of log-sum-exp terms there is a
        dual point as well, whatever the penalty.
        """
        scores = self.scores(w)
        loss, slope = self.loss_and_slope(scores)
        value = loss + self.penalty.value(w)
        dual = lower_bound(self.prepared, self.n_queries, self.penalty, scores, slope, gradient)
        # What rounding leaves of a difference of equal numbers.
        bound = max(value - dual, 4 * np.finfo(np.float64).eps * value)
        if self.penalty.l2 > 0:
            violation = self.penalty.violation(w, gradient)
            bound = min(bound, float(np.square(violation).sum() / (2 * self.penalty.l2)))
        return float(bound)


def prepare(loss: Loss, y: Floats, groups: Groups, n_jobs: int | None) -> Prepared:
    """Prepare a loss; one that has only ``value_and_grad`` is called query by query."""
    if hasattr(loss, "prepare"):
        return loss.prepare(y, groups, n_jobs=n_jobs)
    return _Plain(loss, y, groups)


class _Plain:
    """A loss of the user's own, as a prepared one."""

    def __init__(self, loss: Loss, y: Floats, groups: Groups) -> None:
        self.loss, self.y, self.groups = loss, y, groups

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        value, grad = self.loss.value_and_grad(scores, self.y, self.groups)
        return np.array([value]), np.asarray(grad, dtype=np.float64)
