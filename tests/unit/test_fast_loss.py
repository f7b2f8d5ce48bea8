"""A loss of one's own gets each solver, and a certificate, by the methods that it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

from rankwright.data import Groups
from rankwright.linear import LinearRanker
from rankwright.losses import Loss, WithConjugate, WithDescent, WithHessian
from rankwright.losses.prepared import SoftmaxSpec
from rankwright.penalties import ElasticNet
from rankwright.solvers import Objective, Share, choose_solver, minimize
from tests.reference.solvers import smooth_optimum

Floats = Any


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """Half the square of a hinge, for every pair."""

    name: ClassVar[str] = "squared_hinge"

    def prepare(self, y: Floats, groups: Groups, **_: Any) -> PreparedSquaredHinge:
        """List the pairs."""
        return PreparedSquaredHinge(y, groups)


class PreparedSquaredHinge:
    """Half the square of ``h = max(0, 1 + s[lower] - s[upper])``, pair by pair."""

    def __init__(self, y: Floats, groups: Groups) -> None:
        query = groups.query_of_rows()
        above = (y[:, None] > y) & (query[:, None] == query)
        self.upper, self.lower = np.nonzero(above)
        self.query, self.n_queries = query[self.upper], groups.n_queries

    def hinges(self, scores: Floats) -> Floats:
        return np.maximum(0.0, 1 + scores[self.lower] - scores[self.upper])

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        h, n = self.hinges(scores), len(scores)
        values = np.bincount(self.query, h**2 / 2, self.n_queries)
        return values, np.bincount(self.lower, h, n) - np.bincount(self.upper, h, n)

    def hessian(self, X: Floats, scores: Floats) -> Floats:
        inside = self.hinges(scores) > 0
        differences = X[self.lower[inside]] - X[self.upper[inside]]
        return differences.T @ differences

    def conjugate(self, scores: Floats, grad: Floats, c: float) -> float:
        # The gradient is the sum of h (e_lower - e_upper). That of u -> max(0, 1 + u)^2 / 2 is h,
        # and its conjugate at c h is (c h)^2 / 2 - c h.
        h = c * self.hinges(scores)
        return float((h**2 / 2 - h).sum())


@dataclass(frozen=True)
class FirstRelevant(Loss):
    """Negative mean log-probability of the relevant documents under the softmax of the scores."""

    name: ClassVar[str] = "first_relevant"

    def prepare(self, y: Floats, groups: Groups, **_: Any) -> PreparedFirstRelevant:
        """Share one out among the relevant documents of each query."""
        relevant = np.add.reduceat(y > 0, groups.indptr[:-1])
        target = (y > 0) / np.maximum(np.repeat(relevant, groups.sizes), 1)
        return PreparedFirstRelevant(target, relevant > 0, groups)


class PreparedFirstRelevant:
    """Minus ``target`` times the log-softmax, of the queries that have a target."""

    def __init__(self, target: Floats, counts: Floats, groups: Groups) -> None:
        self.target, self.counts, self.groups = target, counts, groups

    def log_softmax(self, scores: Floats) -> Floats:
        result = np.empty_like(scores)
        for rows in self.groups:
            s = scores[rows] - scores[rows].max()
            result[rows] = s - np.log(np.exp(s).sum())
        return result

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        log_p = self.log_softmax(scores)
        counts = np.repeat(self.counts, self.groups.sizes)
        values = np.add.reduceat(-self.target * log_p, self.groups.indptr[:-1])
        return values, counts * (np.exp(log_p) - self.target)

    def hessian(self, X: Floats, scores: Floats) -> Floats:
        p, total = np.exp(self.log_softmax(scores)), np.zeros((X.shape[1], X.shape[1]))
        for rows, counts in zip(self.groups, self.counts, strict=True):
            centred = X[rows] - p[rows] @ X[rows]
            total += counts * centred.T @ (p[rows, None] * centred)
        return total

    def conjugate(self, scores: Floats, grad: Floats, c: float) -> float:
        mixed = self.target + c * grad  # again a distribution; its negative entropy
        some = mixed[mixed > 0]
        return float((some * np.log(some)).sum())

    def descent_spec(self, n_queries: int) -> SoftmaxSpec:
        return SoftmaxSpec(self.groups.indptr, self.target, self.counts / n_queries)


LOSSES: dict[str, Loss] = {"squared hinge": SquaredHinge(), "first relevant": FirstRelevant()}
PENALTIES = {
    "l1": ElasticNet(l1=0.05),
    "l2": ElasticNet(l2=0.1),
    "both": ElasticNet(0.03, 0.05),
    "none": ElasticNet(),
}
rng = np.random.default_rng(0)
SIZES = [6, 1, 9, 5, 4, 7, 2, 8]
GROUPS = Groups(np.append(0, np.cumsum(SIZES)))
X = rng.normal(size=(sum(SIZES), 4)) * (rng.random((sum(SIZES), 4)) < 0.8)
y = np.digitize(X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=len(X)), [0.3, 1.2]).astype(float)
y[GROUPS.indptr[4] : GROUPS.indptr[5]] = 0  # a query without a relevant document

every_loss = pytest.mark.parametrize("loss", LOSSES)
every_penalty = pytest.mark.parametrize("penalty", PENALTIES)


def objective(loss: str, penalty: str, matrix: Any = X) -> Objective:
    return Objective([Share(matrix, y, GROUPS)], LOSSES[loss], PENALTIES[penalty])


def value(loss: str, penalty: str, w: Floats) -> float:
    total, _ = LOSSES[loss].value_and_grad(X @ w, y, GROUPS)
    return total / len(SIZES) + PENALTIES[penalty].value(w)


def optimum(loss: str, penalty: str) -> float:
    def mean_loss(w: Floats) -> tuple[float, Floats]:
        total, slope = LOSSES[loss].value_and_grad(X @ w, y, GROUPS)
        return total / len(SIZES), X.T @ slope / len(SIZES)

    omega = PENALTIES[penalty]
    return value(loss, penalty, smooth_optimum(mean_loss, 4, omega.l1, omega.l2))


def test_what_a_loss_offers_is_what_it_has() -> None:
    hinge, softmax = (objective(loss, "l2").whole.prepared for loss in LOSSES)
    assert isinstance(hinge, WithHessian)
    assert isinstance(hinge, WithConjugate)
    assert not isinstance(hinge, WithDescent)
    assert isinstance(softmax, WithDescent)


@every_loss
@every_penalty
def test_newton_is_chosen_and_certified(loss: str, penalty: str) -> None:
    target = objective(loss, penalty)
    assert choose_solver(target) == "prox_newton"
    best = optimum(loss, penalty)
    for max_iter in (1, 3, None):
        found = minimize(target, tol=1e-9, max_iter=max_iter)
        excess = value(loss, penalty, found.coef) - best
        assert excess <= found.gap + 1e-10
    assert abs(excess) <= 1e-9
    # Without a penalty that keeps it in, the dual point may be no point of its domain.
    assert penalty == "none" or found.gap <= 1e-6


@every_penalty
def test_coordinate_descent_takes_the_loss_that_declares_its_terms(penalty: str) -> None:
    target = objective("first relevant", penalty, sp.csr_array(X))
    chosen = {"l1": "working_set", "l2": "lbfgs"}
    assert choose_solver(target) == chosen.get(penalty, "coordinate_descent")
    best = optimum("first relevant", penalty)
    solver: Any
    for solver in ("working_set", "coordinate_descent", "feature_induction"):
        found = minimize(target, solver=solver, tol=1e-9)
        assert value("first relevant", penalty, found.coef) == pytest.approx(best, abs=1e-9)
        assert (np.diff(found.objective) <= 1e-12).all()


def test_coordinate_descent_refuses_the_one_that_does_not() -> None:
    target = objective("squared hinge", "l1", sp.csr_array(X))
    assert choose_solver(target) == "lbfgs"
    text = "^coordinate_descent needs a loss with descent_spec, which SquaredHinge has not"
    with pytest.raises(TypeError, match=text):
        minimize(target, solver="coordinate_descent")


@every_loss
def test_in_a_ranker(loss: str) -> None:
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    ranker = LinearRanker(LOSSES[loss], alpha=0.1).fit(X, y, qid)
    assert ranker.objective_[-1] == pytest.approx(optimum(loss, "l2"), abs=1e-9)
    assert ranker.gap_ < 1e-8
