"""Objectives: sums over shares of whole queries, penalties, what holds while they are minimised."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from rankwright.data import Groups
from rankwright.data.each import itself
from rankwright.linear import DominationRank
from rankwright.losses import SLAM, XENDCG, Domination, ListNet, Loss, RankLogistic
from rankwright.penalties import ElasticNet
from rankwright.solvers import SOLVERS, Objective, Share, choose_solver, minimize
from rankwright.solvers.scores import Scores

Floats = Any
IDS = np.arange(40) * 7 + 3
SIZES = np.random.default_rng(0).integers(1, 60, 40)
GROUPS = Groups(np.append(0, np.cumsum(SIZES)), IDS)
rng = np.random.default_rng(1)
X = rng.normal(size=(GROUPS.n_rows, 3))
y = np.digitize(X @ [1.0, -1.0, 0.5] + rng.normal(size=len(X)), [0.3, 1.2]).astype(float)
NET = ElasticNet(0.01, 0.02)
LOSSES: dict[str, Loss] = {
    "xendcg": XENDCG(),
    "eps": XENDCG(gamma=0.5, eps=0.5),
    "listnet": ListNet(),
    "domination": Domination(),
    "separable": Domination([0.5, 1.0]),
    "by layers": Domination(np.array([[0, 0, 0], [0.5, 0, 0], [2.0, 1.0, 0]])),
    "rank_logistic": RankLogistic(),
    "slam": SLAM(),
}
every_loss = pytest.mark.parametrize("loss", LOSSES)


def shares(*cuts: int) -> list[Share]:
    """Return the queries, cut before those positions."""
    bounds = [0, *cuts, GROUPS.n_queries]
    result = []
    for first, last in itertools.pairwise(bounds):
        rows = slice(*GROUPS.indptr[[first, last]])
        indptr = GROUPS.indptr[first : last + 1] - GROUPS.indptr[first]
        result.append(Share(X[rows], y[rows], Groups(indptr, IDS[first:last]), 1))
    return result


@every_loss
@pytest.mark.parametrize("cuts", [(20,), (1, 39), (5, 6, 7, 30)], ids=str)
def test_shares_add_up(loss: str, cuts: tuple[int, ...]) -> None:
    one, many = (Objective(s, LOSSES[loss], NET) for s in (shares(), shares(*cuts)))
    w = np.array([0.5, -0.3, 0.2])
    values, gradients, gaps = [], [], []
    for objective in (one, many):
        value, slope = objective.loss_and_slope(objective.scores(w))
        values.append(value)
        gradients.append(objective.gradient(slope))
        gaps.append(objective.gap(w, gradients[-1]))
    assert values[0] == values[1]  # exact sums do not depend on how the queries are shared out
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-12)
    assert gaps[1] == pytest.approx(gaps[0], rel=1e-9)
    assert many.enough(1e-3) == pytest.approx(one.enough(1e-3), rel=1e-12)
    assert many.violation_at_zero() == pytest.approx(one.violation_at_zero(), rel=1e-12)
    assert many.n_queries == 40
    assert choose_solver(many) == choose_solver(one)


@pytest.mark.parametrize("n_docs", [1, 200, 700, 10**6])
@pytest.mark.parametrize("loss", ["xendcg", "eps", "domination", "separable", "by layers"])
def test_a_sample_depends_on_the_ids_and_not_on_the_shares(loss: str, n_docs: int) -> None:
    turned = shares(5, 6, 30)[::-1]
    one, many = (Objective(s, LOSSES[loss], NET) for s in (shares(), turned))
    w = np.array([0.5, -0.3, 0.2])
    samples = [objective.sample(n_docs) for objective in (one, many)]
    found = [s.hessian(o.scores(w)) for o, s in zip((one, many), samples, strict=True)]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)
    assert [sample.is_all for sample in samples] == [n_docs == 10**6] * 2
    losses = [[part.loss for part in sample.parts.tell(itself)] for sample in samples]
    ids = [np.sort(np.concatenate([loss.groups.names for loss in own])) for own in losses]
    np.testing.assert_array_equal(ids[0], ids[1])
    assert samples[0].n_queries == samples[1].n_queries == len(ids[0])
    n_rows = [sum(len(loss.y) for loss in own) for own in losses]
    assert n_rows[0] == n_rows[1]
    assert n_rows[0] >= min(n_docs, len(y))
    assert n_rows[0] - n_docs <= max(SIZES)


@pytest.mark.parametrize(
    ("solver", "loss"),
    [
        *(("prox_newton", loss) for loss in LOSSES if loss not in ("rank_logistic", "slam")),
        *(("lbfgs", loss) for loss in LOSSES if loss != "slam"),
        ("bundle", "slam"),
    ],
)
def test_solvers_take_shares(solver: Any, loss: str) -> None:
    tol = 1e-3 if solver == "bundle" else 1e-9
    one, many = (
        minimize(Objective(s, LOSSES[loss], NET), solver=solver, tol=tol)
        for s in (shares(), shares(3, 20))
    )
    assert many.objective[0] == one.objective[0]
    assert many.stop in ("converged", "stalled")
    assert many.objective[-1] == pytest.approx(one.objective[-1], rel=tol)
    assert many.gap <= max(1e3 * tol, 1e-6) * many.objective[0]


@pytest.mark.parametrize("solver", ["coordinate_descent", "feature_induction"])
def test_solvers_of_columns_need_one_share(solver: Any) -> None:
    target = Objective(shares(3, 20), ListNet(), NET)
    text = rf"^{solver} needs all data in one share, but there are 3\. Use solver='auto'\.$"
    with pytest.raises(TypeError, match=text):
        minimize(target, solver=solver)
    sparse = [Share(sp.csr_array(s.X), s.y, s.groups) for s in shares(3, 20)]
    assert choose_solver(Objective(sparse, ListNet(), ElasticNet(l1=0.1))) == "lbfgs"


def test_with_penalty_prepares_nothing_again() -> None:
    target = Objective(shares(), ListNet(), NET)
    other = target.with_penalty(ElasticNet(l2=3.0))
    assert other.shares is target.shares
    assert (target.penalty, other.penalty) == (NET, ElasticNet(l2=3.0))
    direct = minimize(Objective(shares(), ListNet(), ElasticNet(l2=3.0)))
    np.testing.assert_array_equal(minimize(other).coef, direct.coef)


def test_scores_are_vectors() -> None:
    a, b = Scores([np.array([1.0, 2.0]), np.array([3.0])]), Scores([np.ones(2), np.ones(1)])
    factor: Any
    for factor in (0.5, np.float64(0.5), np.float32(0.5)):
        combined = a - factor * b + b
        assert [part.tolist() for part in combined.parts] == [[1.5, 2.5], [3.5]]
    with pytest.raises(ValueError, match="zip"):
        (a + Scores([np.ones(2)])).each  # noqa: B018


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("solver", SOLVERS)
def test_blas_has_one_thread_while_a_solver_runs(solver: Any) -> None:
    with threadpool_limits(2, user_api="blas"):
        before, seen = blas_threads(), []
        target = Objective(shares(), LOSSES["slam" if solver == "bundle" else "listnet"], NET)
        minimize(target, solver=solver, max_iter=2, callback=lambda _: seen.append(blas_threads()))
        assert seen
        assert all(threads == {1} for threads in seen)
        assert blas_threads() == before


def test_blas_has_one_thread_in_feature_induction_of_a_ranker() -> None:
    from rankwright.data import Dataset

    seen: list[set[int]] = []
    data = Dataset(X, y, np.repeat(IDS, SIZES))
    DominationRank("l1", 0.01, n_induced=1).fit_dataset(data, lambda _: seen.append(blas_threads()))
    assert seen
    assert all(threads == {1} for threads in seen)
