"""What holds for every solver: on each loss it takes, each penalty, and each form of the data."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rankwright.data import Groups
from rankwright.losses import SLAM, XENDCG, Domination, ListNet, RankHinge, RankLogistic, SmoothSLAM
from rankwright.losses.prepared import WithCurvatures
from rankwright.penalties import ElasticNet
from rankwright.solvers import (
    SOLVERS,
    Objective,
    Progress,
    Share,
    Solution,
    choose_solver,
    minimize,
)
from rankwright.solvers.bundle import _Model
from rankwright.solvers.coordinate_descent import coordinate_descent
from rankwright.solvers.descent import Descent
from rankwright.solvers.prox_newton import _Curvature
from rankwright.solvers.scores import Scores
from tests.contracts.test_losses import MARGINS, half_label, twin
from tests.reference import losses as reference
from tests.reference.losses import Evaluation, Floats
from tests.reference.solvers import (
    Hinge,
    ThesisDescent,
    hinge_optimum,
    pair_hinges,
    slam_hinges,
    smooth_optimum,
    violation,
)

# --- members -----------------------------------------------------------------------------------


class SquaredError:
    """A loss of a user's own: it has value_and_grad and nothing else."""

    def value_and_grad(
        self, scores: Floats, y: Floats, groups: Groups | None = None
    ) -> tuple[float, Floats]:
        return 0.5 * float((scores - y) @ (scores - y)), np.asarray(scores - y)


LOG_SUM_EXP: dict[str, Any] = {
    "domination": Domination(),
    "domination-margin": Domination(margin=1.5),
    "domination-separable": Domination(margin=half_label),
    "domination-by-layers": Domination(margin=MARGINS),
    "smooth-slam": SmoothSLAM(),
    "smooth-slam-map": SmoothSLAM("map"),
    "listnet": ListNet(),
    "xendcg": XENDCG(),
    "xendcg-all": XENDCG(gamma=0.5, skip_empty=False),
    "xendcg-1": XENDCG(gamma=1.0),
    "xendcg-normalized": XENDCG(gamma=0.5, normalize="ideal_dcg"),
}
WITH_EPS: dict[str, Any] = {"xendcg-eps": XENDCG(gamma=0.5, eps=0.5)}
OTHER: dict[str, Any] = {"rank-logistic": RankLogistic(), "own": SquaredError()}
KINKED: dict[str, Any] = {
    "slam": SLAM(),
    "slam-map": SLAM("map"),
    "slam-printed": SLAM(weights="printed"),
    "rank-hinge": RankHinge(),
}
LOSSES = {**LOG_SUM_EXP, **WITH_EPS, **OTHER, **KINKED}
PENALTIES = {
    "none": ElasticNet(),
    "l1": ElasticNet(l1=0.05),
    "l2": ElasticNet(l2=0.1),
    "elastic-net": ElasticNet(l1=0.03, l2=0.05),
}
LAYOUTS = ("float64", "float32", "csr-float64", "csr-float32")
# What form the data have is a matter of the kernels: one loss of each shows it.
IN_ALL_LAYOUTS = ("domination", "listnet", "xendcg-eps", "rank-logistic", "slam", "rank-hinge")
TAKES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "working_set": (LOG_SUM_EXP, LAYOUTS),
    "coordinate_descent": (LOG_SUM_EXP, LAYOUTS),
    "feature_induction": (LOG_SUM_EXP, LAYOUTS),
    "prox_newton": ({**LOG_SUM_EXP, **WITH_EPS}, LAYOUTS[:2]),
    "lbfgs": ({**LOG_SUM_EXP, **WITH_EPS, **OTHER}, LAYOUTS),
    "bundle": (KINKED, LAYOUTS),
}


@dataclass(frozen=True)
class Case:
    """A solver on a problem that it takes."""

    solver: Any
    loss: str
    penalty: str
    layout: str = "float64"

    @property
    def single(self) -> bool:
        return self.layout.endswith("32")

    @property
    def smooth(self) -> bool:
        return self.loss not in KINKED

    @property
    def sparse(self) -> bool:
        """Whether the penalty makes weights 0."""
        return PENALTIES[self.penalty].l1 > 0

    @property
    def strong(self) -> bool:
        """Whether the objective is strongly convex, its minimiser unique."""
        return PENALTIES[self.penalty].l2 > 0

    @property
    def certified(self) -> bool:
        """Whether a bound on the distance from the optimum is known."""
        return self.strong or self.loss in LOG_SUM_EXP

    def __str__(self) -> str:
        return f"{self.solver}-{self.loss}-{self.penalty}-{self.layout}"


CASES = [
    Case(solver, loss, penalty, layout)
    for solver, (losses, layouts) in TAKES.items()
    for loss in losses
    for penalty in PENALTIES
    for layout in (layouts if loss in IN_ALL_LAYOUTS else layouts[:1])
]
DOUBLE = [case for case in CASES if case.layout == "float64"]
SMOOTH = [case for case in DOUBLE if case.smooth]
# What a solver does with its arguments: with l1 and without, as several have a way for each.
HABITS = [case for case in DOUBLE if case.penalty in ("l2", "elastic-net")]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_habit = pytest.mark.parametrize("case", HABITS, ids=str)
every_smooth = pytest.mark.parametrize("case", SMOOTH, ids=str)
every_log_sum_exp = pytest.mark.parametrize("loss", LOG_SUM_EXP)
every_penalty = pytest.mark.parametrize("penalty", PENALTIES)


def test_no_solver_escapes() -> None:
    import rankwright.solvers as package

    assert set(SOLVERS) == set(TAKES)
    for name, solver in SOLVERS.items():
        assert getattr(package, name) is solver.function


# --- a problem ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """Documents of some queries, dense."""

    X: Floats
    y: Floats
    groups: Groups

    def matrix(self, layout: str) -> Any:
        X = self.X.astype(layout.removeprefix("csr-"))
        return sp.csr_array(X) if layout.startswith("csr") else X


def make_data(
    sizes: list[int], n_features: int = 5, density: float = 0.7, noise: float = 1.5, seed: int = 0
) -> Data:
    """Features on a grid, so that float32 holds them as they are; labels 0 to 3, with noise."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = np.round(64 * rng.normal(size=(n, n_features))) / 64
    X *= rng.random(X.shape) < density
    truth = X @ rng.normal(size=n_features) + noise * rng.normal(size=n)
    y = np.digitize(truth, np.quantile(truth, [0.5, 0.75, 0.9])).astype(np.float64)
    return Data(X, y, Groups(np.append(0, np.cumsum(sizes)), np.arange(len(sizes)) * 7 + 3))


@cache
def problem() -> Data:
    """Eleven queries: one of one document, one of equal labels, one without a relevant document."""
    data = make_data([6, 1, 9, 5, 4, 7, 2, 8, 3, 7, 8])
    start, stop = data.groups.indptr[3:5]
    data.y[start:stop] = 2
    start, stop = data.groups.indptr[4:6]
    data.y[start:stop] = 0
    return data


def objective(
    case: Case, data: Data | None = None, penalty: ElasticNet | None = None, n_jobs: int | None = 1
) -> Objective:
    data = problem() if data is None else data
    penalty = PENALTIES[case.penalty] if penalty is None else penalty
    share = Share(data.matrix(case.layout), data.y, data.groups, n_jobs)
    return Objective([share], LOSSES[case.loss], penalty)


def solve(case: Case, data: Data | None = None, **options: Any) -> Solution:
    n_jobs = options.pop("n_jobs", 1)
    options = {"tol": 1e-5 if case.single else 1e-9, **options}
    return minimize(objective(case, data, n_jobs=n_jobs), solver=case.solver, **options)


@cache
def solution(case: Case) -> Solution:
    return solve(case)


# --- its optimum, independently ----------------------------------------------------------------


def mean_loss(loss: str, w: Floats, data: Data) -> Evaluation:
    """Return the mean loss and its gradient by weights, from the decimal twins."""
    scores, n_queries = data.X @ w, data.groups.n_queries
    if loss == "own":
        value, slope = SquaredError().value_and_grad(scores, data.y)
        return value / n_queries, data.X.T @ slope / n_queries
    values, slope = twin(LOSSES[loss], scores, data.y, data.groups)
    return math.fsum(values) / n_queries, data.X.T @ slope / n_queries


def value(loss: str, penalty: str, w: Floats, data: Data | None = None) -> float:
    omega = PENALTIES[penalty]
    data = problem() if data is None else data
    cost = omega.l1 * float(np.abs(w).sum()) + 0.5 * omega.l2 * float(w @ w)
    return mean_loss(loss, w, data)[0] + cost


def hinges(loss: str, data: Data) -> list[Hinge]:
    result: list[Hinge] = []
    for rows in data.groups:
        X, y = data.X[rows], data.y[rows]
        if loss == "rank-hinge":
            result += pair_hinges(X, y)
        elif loss == "slam":
            result += slam_hinges(X, y, reference.group_means(reference.ndcg_weights(y), y))
        elif loss == "slam-printed":
            result += slam_hinges(X, y, reference.ndcg_weights(y))
        else:
            grades = (y >= 1).astype(float)
            v = reference.group_means(reference.map_weights(y), grades)
            result += slam_hinges(X, grades, v)
    scale = 1 / data.groups.n_queries
    return [Hinge(scale * hinge.weight, hinge.directions) for hinge in result]


@cache
def optimum(loss: str, penalty: str) -> tuple[float, Floats]:
    """Return the least objective and where it is."""
    omega, data = PENALTIES[penalty], problem()
    if loss in KINKED:
        w = hinge_optimum(hinges(loss, data), data.X.shape[1], omega.l1, omega.l2)
    else:
        w = smooth_optimum(lambda w: mean_loss(loss, w, data), data.X.shape[1], omega.l1, omega.l2)
    return value(loss, penalty, w), w


# --- the contract ------------------------------------------------------------------------------


@every_case
def test_objective_never_rises(case: Case) -> None:
    history = np.array(solution(case).objective)
    rounding = 1e-6 if case.single else 1e-12
    assert (np.diff(history) <= rounding * np.abs(history[:-1])).all()
    assert len(history) == solution(case).n_iter + 1


@every_case
def test_reaches_the_optimum(case: Case) -> None:
    found = solution(case)
    at_zero = value(case.loss, case.penalty, np.zeros(5))
    best, w = optimum(case.loss, case.penalty)
    reached = value(case.loss, case.penalty, found.coef)
    assert found.stop in ("converged", "stalled")
    # The bundle's tol is a gap, that of the others a violation, the gap's square root.
    accuracy = 1e-5 if case.single else 1e-8
    assert reached - best <= accuracy * at_zero
    assert reached - best >= -1e-8 * at_zero
    assert found.objective[-1] == pytest.approx(reached, rel=1e-6 if case.single else 1e-11)
    if case.strong:
        # F - F* >= l2/2 |w - w*|^2
        radius = math.sqrt(2 * 2 * accuracy * at_zero / PENALTIES[case.penalty].l2)
        assert np.linalg.norm(found.coef - w) <= radius


@every_smooth
def test_violation_is_that_of_the_optimality_conditions(case: Case) -> None:
    omega, found = PENALTIES[case.penalty], solution(case)
    gradient = mean_loss(case.loss, found.coef, problem())[1]
    largest = violation(found.coef, gradient, omega.l1, omega.l2).max()
    assert found.violation == pytest.approx(largest, abs=1e-11)
    at_zero = np.abs(mean_loss(case.loss, np.zeros(5), problem())[1]).max()
    assert largest <= 1e-7 * at_zero


@pytest.mark.parametrize("case", [case for case in DOUBLE if case.certified], ids=str)
@pytest.mark.parametrize("max_iter", [2, None])
def test_gap_is_a_certificate(case: Case, max_iter: int | None) -> None:
    found = solution(case) if max_iter is None else solve(case, max_iter=max_iter)
    best, _ = optimum(case.loss, case.penalty)
    excess = value(case.loss, case.penalty, found.coef) - best
    assert excess <= found.gap + 1e-9
    if max_iter is None and case.penalty != "none":
        assert found.gap <= (1e-8 if case.strong else 1e-6) * found.objective[0]


@pytest.mark.parametrize("case", [case for case in DOUBLE if not case.certified], ids=str)
def test_where_no_certificate_is_known_the_gap_is_infinite(case: Case) -> None:
    assert solution(case).gap == math.inf


@pytest.mark.parametrize("case", [case for case in CASES if case.sparse and case.smooth], ids=str)
def test_l1_weights_are_zero_exactly(case: Case) -> None:
    omega, found = PENALTIES[case.penalty], solution(case)
    _, w = optimum(case.loss, case.penalty)
    slope = np.abs(mean_loss(case.loss, w, problem())[1])
    idle = slope < omega.l1 - 1e-3  # 0 at the optimum, and clearly so
    assert (found.coef[idle] == 0).all()
    assert (np.abs(found.coef[np.abs(w) > 1e-3]) > 0).all()


def test_l1_makes_some_weights_zero_and_leaves_others() -> None:
    counts = {
        loss: np.count_nonzero(solution(Case("coordinate_descent", loss, "l1")).coef)
        for loss in LOG_SUM_EXP
    }
    assert any(0 < count < 5 for count in counts.values())


@every_habit
def test_stops_at_max_iter(case: Case) -> None:
    found = solve(case, max_iter=1)
    assert found.n_iter == 1
    if solution(case).n_iter > 1:
        assert found.stop == "max_iter"
        assert not found.converged


@pytest.mark.parametrize("case", [case for case in HABITS if case.smooth], ids=str)
def test_a_start_at_the_solution_stops_at_once(case: Case) -> None:
    found = solution(case)
    again = solve(case, start=found.coef, tol=1e-6)
    assert again.stop == "converged"
    # Coordinate descent learns only from a sweep that there is nothing to do.
    assert again.n_iter == (1 if case.solver == "coordinate_descent" else 0)
    np.testing.assert_allclose(again.coef, found.coef, atol=1e-7)


@pytest.mark.parametrize("case", [case for case in DOUBLE if not case.smooth], ids=str)
def test_a_bundle_never_leaves_a_good_start_for_worse(case: Case) -> None:
    found = solution(case)
    again = solve(case, start=found.coef, max_iter=20)
    assert again.objective[-1] <= found.objective[-1]


@pytest.mark.parametrize("omega", [ElasticNet(), ElasticNet(l1=0.1)], ids=str)
def test_a_bundle_can_be_freed_for_ever(omega: ElasticNet) -> None:
    model = _Model(omega, 2)
    for x, loss in ((1.0, 3.0), (-2.0, 5.0)):
        model.add(np.array([x, 0.5]), loss, np.ones(2))
    model.keep_near(np.ones(2), 2.0)
    for _ in range(400):  # 0.1^400 is 0
        model.scale_mu(0.1)
    assert model.mu > 0
    assert np.isfinite(model.minimise(1e-9, model.mu)[0]).all()


@pytest.mark.parametrize("tol", [0.3, 0.1, 0.03, 0.01])
@pytest.mark.parametrize("case", [c for c in DOUBLE if not c.smooth and c.strong], ids=str)
def test_a_bundle_that_stops_early_knows_how_far_it_is(case: Case, tol: float) -> None:
    # Near the best point the proximal model promises little. That is no bound on what is farther.
    best, _ = optimum(case.loss, case.penalty)
    at_zero = value(case.loss, case.penalty, np.zeros(5))
    for distance in (0.0, 1.0, 3.0):
        start = distance * np.random.default_rng(1).normal(size=5)
        found = solve(case, start=start, tol=tol)
        assert found.stop == "converged"
        assert value(case.loss, case.penalty, found.coef) - best <= found.gap + 1e-9
        assert found.gap <= tol * at_zero


@every_habit
def test_start_is_left_alone(case: Case) -> None:
    start = np.full(5, 0.25)
    solve(case, start=start, max_iter=2)
    np.testing.assert_array_equal(start, 0.25)


@every_habit
def test_callback_hears_of_every_iteration(case: Case) -> None:
    heard: list[Progress] = []
    found = solve(case, callback=heard.append)
    assert [progress.iteration for progress in heard] == list(range(1, found.n_iter + 1))
    for progress, after in zip(heard, found.objective[1:], strict=True):
        assert progress.objective == pytest.approx(after, rel=1e-9)
        assert 0 <= progress.n_features <= 5


@pytest.mark.parametrize("case", [c for c in CASES if c.penalty == "elastic-net"], ids=str)
def test_the_number_of_threads_changes_nothing(case: Case) -> None:
    one, two, eight = (solve(case, n_jobs=n, max_iter=20).coef for n in (1, 2, 8))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, eight)


def reordered(data: Data, rng: np.random.Generator, rows_too: bool) -> Data:
    """Return the same data with the queries, and perhaps their rows, in another order."""
    queries = rng.permutation(data.groups.n_queries)
    rows = [np.arange(*data.groups.indptr[[q, q + 1]]) for q in queries]
    order = np.concatenate([rng.permutation(r) if rows_too else r for r in rows])
    assert data.groups.ids is not None
    groups = Groups(np.append(0, np.cumsum([len(r) for r in rows])), data.groups.ids[queries])
    return Data(data.X[order], data.y[order], groups)


@pytest.mark.parametrize("case", [case for case in DOUBLE if case.strong], ids=str)
def test_the_order_of_the_data_changes_nothing(case: Case) -> None:
    # Gamma is drawn by position, weights of equal labels go by it (S5): rows must stay then.
    rows_too = case.loss not in ("xendcg", "slam-printed")
    other = reordered(problem(), np.random.default_rng(0), rows_too)
    found, again = solution(case), solve(case, other)
    if case.smooth:
        np.testing.assert_allclose(again.coef, found.coef, rtol=0, atol=2e-8)
    else:
        assert again.objective[-1] == pytest.approx(found.objective[-1], rel=1e-8)


@pytest.mark.parametrize("case", [case for case in SMOOTH if case.strong], ids=str)
def test_a_distant_start_leads_to_the_same_optimum(case: Case) -> None:
    start = 200 * np.random.default_rng(1).normal(size=5)  # scores hundreds apart
    found = solve(case, start=start, max_iter=5000)
    history = np.array(found.objective)
    assert (np.diff(history) <= 1e-12 * np.abs(history[:-1])).all()
    np.testing.assert_allclose(found.coef, solution(case).coef, rtol=0, atol=1e-6)


@pytest.mark.parametrize("places", [[0, 0, 5], [4, 11, 11]], ids=str)
@pytest.mark.parametrize(
    "case",
    # Not xendcg: its gamma is drawn by the query's number.
    [c for c in DOUBLE if c.penalty == "elastic-net" and c.loss != "xendcg"],
    ids=str,
)
def test_queries_without_documents_count(case: Case, places: list[int]) -> None:
    data = problem()
    indptr = np.insert(data.groups.indptr, np.array(places) + 1, data.groups.indptr[places])
    more = Data(data.X, data.y, Groups(indptr))
    few = Data(data.X, data.y, Groups(data.groups.indptr))
    # More queries make a smaller mean, as if the penalty were larger.
    share = data.groups.n_queries / more.groups.n_queries
    omega = PENALTIES[case.penalty]
    larger = ElasticNet(omega.l1 / share, omega.l2 / share)
    options: dict[str, Any] = {"solver": case.solver, "tol": 1e-6}
    found = minimize(objective(case, more), **options)
    expected = minimize(objective(case, few, larger), **options)
    assert found.objective[-1] == pytest.approx(share * expected.objective[-1], rel=1e-5)


# --- which solver ------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic-net"])
@pytest.mark.parametrize("layout", ["float64", "csr-float32"])
@pytest.mark.parametrize("loss", LOSSES)
def test_auto_chooses_a_solver_that_takes_the_loss(loss: str, layout: str, penalty: str) -> None:
    chosen = choose_solver(objective(Case("auto", loss, penalty, layout)))
    losses, layouts = TAKES[chosen]
    assert loss in losses
    assert layout in layouts
    sparse = layout.startswith("csr")
    if loss in LOG_SUM_EXP:
        on_sparse = {"l1": "working_set", "l2": "lbfgs", "elastic-net": "coordinate_descent"}
        assert chosen == (on_sparse[penalty] if sparse else "prox_newton")


def test_auto_avoids_hessians_of_many_features_or_layers() -> None:
    many = make_data([4, 4], n_features=1001)
    assert choose_solver(objective(Case("auto", "listnet", "l1"), many)) == "working_set"
    assert choose_solver(objective(Case("auto", "listnet", "l2"), many)) == "lbfgs"
    data = make_data([40])
    deep = Data(data.X, np.arange(40.0), data.groups)
    assert choose_solver(objective(Case("auto", "domination", "l1"), deep)) == "working_set"
    assert choose_solver(objective(Case("auto", "listnet", "l2"), deep)) == "prox_newton"


# How messages name a loss: with what is not as by default.
SHOWN = {
    "xendcg-eps": "XENDCG(gamma=0.5, eps=0.5)",
    "rank-logistic": "RankLogistic",
    "own": "SquaredError",
    "slam": "SLAM",
    "slam-map": "SLAM(metric='map')",
    "slam-printed": "SLAM(weights='printed')",
    "rank-hinge": "RankHinge",
}


@pytest.mark.parametrize("loss", [*WITH_EPS, *OTHER, *KINKED])
def test_coordinate_descent_says_which_losses_it_takes(loss: str) -> None:
    name = SHOWN[loss]
    text = f"coordinate_descent needs a loss with descent_spec, which {name} has not. Use solver="
    with pytest.raises(TypeError, match=re.escape(text)):
        solve(Case("coordinate_descent", loss, "l2"))


@pytest.mark.parametrize("loss", [*OTHER, *KINKED])
def test_proximal_newton_says_which_losses_it_takes(loss: str) -> None:
    text = f"prox_newton needs a loss with hessian, which {SHOWN[loss]} has not. Use solver="
    with pytest.raises(TypeError, match=re.escape(text)):
        solve(Case("prox_newton", loss, "l2"))


def test_proximal_newton_needs_dense_features() -> None:
    with pytest.raises(TypeError, match=r"^prox_newton needs dense features, but X is sparse\."):
        solve(Case("prox_newton", "listnet", "l2", "csr-float64"))


def test_parameters_of_no_solver() -> None:
    with pytest.raises(TypeError, match=r"^no solver has a parameter 'stepp'\.$"):
        solve(Case("lbfgs", "listnet", "l2"), stepp="newton")
    # One of another solver is let pass: what "auto" chooses depends on the data.
    solve(Case("lbfgs", "listnet", "l2"), step="range")


def test_unknown_solver() -> None:
    with pytest.raises(ValueError, match=r"solver must be 'auto', .*, but is 'sgd'\."):
        solve(Case("sgd", "listnet", "l2"))


# --- coordinate descent ------------------------------------------------------------------------


@every_log_sum_exp
@every_penalty
def test_every_step_reaches_the_same_optimum(loss: str, penalty: str) -> None:
    data = problem()
    case = Case("coordinate_descent", loss, penalty)
    best, _ = optimum(loss, penalty)
    at_zero = value(loss, penalty, np.zeros(5))
    sweeps = []
    for step in ("newton", "range", "thesis"):
        found = solve(case, data, step=step, max_iter=20000, tol=1e-6)
        assert found.stop == "converged"
        history = np.array(found.objective)
        assert (np.diff(history) <= 1e-12 * history[:-1]).all()
        assert found.objective[-1] - best <= 1e-8 * at_zero
        sweeps.append(found.n_iter)
    newton, by_range, thesis = sweeps
    assert newton <= by_range + 5 <= thesis + 10


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_newton_steps_need_a_twentieth_of_the_thesis_sweeps(penalty: str) -> None:
    # Sparse, not negative, 15 positives of 300.
    rng = np.random.default_rng(0)
    X = rng.random((300, 40)) * (rng.random((300, 40)) < 0.05)
    y = np.zeros(300)
    y[np.argsort(-(X @ rng.normal(size=40) + 0.3 * rng.normal(size=300)))[:15]] = 1
    omega = ElasticNet(l2=0.1) if penalty == "l2" else ElasticNet(l1=0.3)
    data = Data(X, y, Groups.one_query(300))
    case = Case("coordinate_descent", "domination", penalty, "csr-float64")
    target = objective(case, data, omega)
    best = minimize(target, solver="coordinate_descent", tol=1e-10).objective[-1]

    def sweeps(step: Any, most: int) -> int:
        found = coordinate_descent(target, np.zeros(40), step=step, tol=0.0, max_iter=most)
        history = np.array(found.objective)
        below = np.flatnonzero((history - best) <= 1e-4 * (history[0] - best))
        return int(below[0]) if len(below) else most

    newton = sweeps("newton", 200)
    assert newton < 60
    assert sweeps("thesis", 20 * newton) >= 20 * newton


@pytest.mark.parametrize("layout", LAYOUTS)
@every_log_sum_exp
def test_slopes_are_the_gradient(loss: str, layout: str) -> None:
    target = objective(Case("coordinate_descent", loss, "none", layout))
    descent = Descent(target, "newton")
    everything = np.arange(5)
    rng = np.random.default_rng(0)
    for spread in np.repeat([0.0, 1.0, 10.0, 100.0, 400.0, 3000.0], 5):
        scores = spread * rng.normal(size=len(problem().y))
        descent.start(scores)
        _, slope = target.loss_and_slope(Scores([scores]))
        expected = problem().X.T @ slope.parts[0]
        np.testing.assert_allclose(descent.slopes(everything), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("spread", [0.0, 30.0, 500.0])
@every_log_sum_exp
def test_slopes_are_still_the_gradient_after_many_moves(loss: str, spread: float) -> None:
    # Layers of hundreds, columns of a few documents: sums are updated, not taken afresh.
    data = make_data([700, 40, 3], n_features=60, density=0.02, seed=3)
    case = Case("coordinate_descent", loss, "l2", "csr-float64")
    target = objective(case, data)
    descent = Descent(target, "newton")
    w, everything = np.zeros(60), np.arange(60)
    start = spread * np.random.default_rng(2).normal(size=len(data.y))
    descent.start(start)
    for n in range(40):
        descent.sweep(everything, ElasticNet(l2=1e-3), w)
        if n % 10 == 9:
            w += 1.0  # a wrong idea of the weights: the penalty moves them a long way
    scores = descent.scores()
    slope = target.loss_and_slope(Scores([scores]))[1].parts[0]
    drifted = descent.slopes(everything)
    size = np.abs(data.X).T @ np.abs(slope)
    assert np.abs(drifted - data.X.T @ slope).max() <= 1e-6 * size.max()
    descent.start(scores)
    afresh = descent.slopes(everything)
    assert np.abs(afresh - data.X.T @ slope).max() <= 1e-12 * size.max()


@every_log_sum_exp
@pytest.mark.parametrize("far", [40.0, 300.0, 2000.0])
def test_a_margin_that_comes_back_leaves_no_trace(loss: str, far: float) -> None:
    # D9: with sums that are only ever updated, 0 -> 40 -> 0 turns Z = 5 into 1.
    n = 9
    data = Data(np.eye(n), np.array([0, 0, 0, 0, 0, 1, 1, 2, 3.0]), Groups.one_query(n))
    target = objective(Case("coordinate_descent", loss, "none"), data)
    descent = Descent(target, "newton")
    scores = np.linspace(-1, 1, n)
    descent.start(scores)
    before = descent.slopes(np.arange(n))
    for r in (0, 4, 5, 8):
        for way in (1.0, -1.0):
            # A penalty above all carries the margin by minus the weight.
            w = np.zeros(n)
            w[r] = -way * far
            descent.sweep(np.array([r]), ElasticNet(l2=1e15), w)
            assert np.isfinite(descent.slopes(np.arange(n))).all()
    np.testing.assert_allclose(descent.scores(), scores, atol=1e-9 * far)
    np.testing.assert_allclose(descent.slopes(np.arange(n)), before, atol=1e-9 * far)


@pytest.mark.parametrize("margin", [None, 250.0, 1000.0, -1000.0])
def test_scores_too_far_apart_for_one_exponential(margin: float | None) -> None:
    # The middle layer is far above the lowest: its lead over the top one still counts.
    y = np.array([0.0, 1.0, 1.0, 2.0, 2.0])
    data = Data(np.eye(5), y, Groups.one_query(5))
    penalty = ElasticNet(l2=1e-3)
    target = Objective([Share(data.X, y, data.groups)], Domination(margin), penalty)
    descent = Descent(target, "newton")
    for scores in ([0, 2000, 3, 1990, 1995], [0, 700, 600, 650, 5], [-2000, 0, 1, 2, 3]):
        s = np.array(scores, dtype=float)
        descent.start(s)
        expected = reference.domination(s, y, margin)[1]
        np.testing.assert_allclose(descent.slopes(np.arange(5)), expected, rtol=1e-9, atol=1e-12)
        found = coordinate_descent(target, s, tol=1e-8, max_iter=3000)
        # With a margin as far from the scores, every step takes the bound for the curvature: slow,
        # but safe.
        assert found.stop == "converged" or margin is not None
        assert (np.diff(found.objective) <= 1e-12 * np.abs(found.objective[:-1])).all()


@pytest.mark.parametrize("way", [1e-4, 1e-2, 1.0])
def test_queries_too_far_apart_keep_what_the_bound_on_their_curvature_promises(way: float) -> None:
    # Eight of the top layer tied with one of the middle layer, 2000 above the lowest, and the same
    # with the feature's sign turned: f(w) = 4 log(1 + e^-w) + 4 log(1 + e^w), whose curvature at 0,
    # 2, is nearly its bound, half of 2 x 9 / 4. A smaller one would promise what f does not keep.
    y = np.tile([0.0, 1, 2, 2, 2, 2, 2, 2, 2, 2], 2)
    sign = np.repeat([1.0, -1.0], 10)
    X = np.column_stack([y > 0, sign * (y > 1)]).astype(np.float64)
    share = Share(X, y, Groups(np.array([0, 10, 20])))
    target = Objective([share], Domination(), ElasticNet())
    w = np.array([2000.0, way])
    descent = Descent(target, "newton")
    descent.start(X @ w)
    (_, promised), (_, slope) = descent.promises(ElasticNet(), w)
    assert slope == pytest.approx(4 * math.tanh(way / 2), rel=1e-9)
    assert promised == pytest.approx(slope**2 / (2 * 9 / 4), rel=1e-6)
    moved = w.copy()
    descent.sweep(np.array([1]), ElasticNet(), moved)
    before, after = (target.loss_and_slope(Scores([X @ at]))[0] for at in (w, moved))
    assert before - after >= promised


def test_d9_far_scores_of_the_errata() -> None:
    # Scores (2000, 1, 0, -1) in layers (2, 1, 0, 0): one shift for all gives 0/0.
    scores, y = np.array([2000.0, 1.0, 0.0, -1.0]), np.array([2.0, 1.0, 0.0, 0.0])
    data = Data(np.eye(4), y, Groups.one_query(4))
    with np.errstate(all="ignore"):
        e = np.exp(scores - scores.max())
        naive = (e[2] + e[3]) / (e[2] + e[3] + e[1])
    assert math.isnan(naive)
    target = objective(Case("coordinate_descent", "domination", "none"), data)
    descent = Descent(target, "newton")
    descent.start(scores)
    expected = (1 + math.exp(-1)) / (1 + math.exp(-1) + math.e)
    assert expected == pytest.approx(0.33476, abs=1e-5)
    slopes = descent.slopes(np.arange(4))
    assert slopes[1] == pytest.approx(-expected, rel=1e-12)
    np.testing.assert_allclose(slopes, reference.domination(scores, y)[1], atol=1e-15)


def test_entries_of_one_place_are_added() -> None:
    data = problem()
    twice = sp.csr_array(sp.coo_array(data.X))
    indices, values, indptr = [], [], [0]
    for row in range(twice.shape[0]):
        for k in range(*twice.indptr[row : row + 2]):
            indices += [twice.indices[k]] * 2
            values += [3 * twice.data[k], -2 * twice.data[k]]
        indptr.append(len(indices))
    split = sp.csr_array((np.array(values), np.array(indices), np.array(indptr)), twice.shape)
    for loss in ("domination", "listnet"):
        penalty = PENALTIES["elastic-net"]
        target = Objective([Share(split, data.y, data.groups)], LOSSES[loss], penalty)
        for solver in ("coordinate_descent", "working_set"):
            found = minimize(target, solver=solver, tol=1e-9)
            expected = solution(Case(solver, loss, "elastic-net", "csr-float64"))
            np.testing.assert_allclose(found.coef, expected.coef, atol=1e-8)


# --- proximal Newton ---------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic-net"])
@pytest.mark.parametrize("loss", [*LOG_SUM_EXP, *WITH_EPS])
def test_a_sampled_hessian_leads_to_the_same_optimum(loss: str, penalty: str) -> None:
    data = make_data([30, 50, 70] * 20, n_features=4, seed=1)
    case = Case("prox_newton", loss, penalty)
    target = objective(case, data)
    sample = _Curvature(target)
    assert not sample.exact
    assert sample.refine()
    assert not sample.exact
    found = minimize(target, solver="prox_newton", tol=1e-9)
    history = np.array(found.objective)
    assert (np.diff(history) <= 1e-12 * history[:-1]).all()
    assert found.n_iter < 60
    _, slope = target.loss_and_slope(Scores([data.X @ found.coef]))
    omega = PENALTIES[penalty]
    largest = violation(found.coef, data.X.T @ slope.parts[0], omega.l1, omega.l2).max()
    assert largest <= 2e-8 * target.violation_at_zero()
    # The sample depends on the ids of the queries only.
    again = minimize(
        objective(case, reordered(data, np.random.default_rng(5), rows_too=False)),
        solver="prox_newton",
        tol=1e-9,
    )
    np.testing.assert_allclose(again.coef, found.coef, rtol=0, atol=1e-7)


@pytest.mark.parametrize("spread", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("loss", [*LOG_SUM_EXP, *WITH_EPS])
def test_hessian_is_the_derivative_of_the_gradient(loss: str, spread: float) -> None:
    data = problem()
    share = objective(Case("prox_newton", loss, "none")).whole
    w = spread * np.random.default_rng(4).normal(size=5)

    def gradient(w: Floats) -> Floats:
        return np.asarray(data.X.T @ share.values_and_grad(data.X @ w)[1])

    h = 1e-5
    columns = [(gradient(w + h * e) - gradient(w - h * e)) / (2 * h) for e in np.eye(5)]
    H = share.hessian(data.X @ w)
    np.testing.assert_allclose(H, np.array(columns), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(H, H.T, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(H).min() >= -1e-10


@pytest.mark.parametrize("spread", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("loss", [*LOG_SUM_EXP, *WITH_EPS])
def test_hessian_of_sparse_features_is_the_same(loss: str, spread: float) -> None:
    dense, sparse = (
        objective(Case("prox_newton", loss, "none", layout)).whole
        for layout in ("float64", "csr-float64")
    )
    scores = problem().X @ (spread * np.random.default_rng(4).normal(size=5))
    np.testing.assert_allclose(sparse.hessian(scores), dense.hessian(scores), atol=1e-10)


@pytest.mark.parametrize("loss", [*LOG_SUM_EXP, *WITH_EPS])
def test_curvatures_are_the_hessian_by_scores_but_for_a_low_rank(loss: str) -> None:
    data = make_data([9, 14, 1, 11])
    scores = np.random.default_rng(4).normal(size=35)
    one_feature_each = Data(np.eye(35), data.y, data.groups)
    share = objective(Case("prox_newton", loss, "none"), one_feature_each).whole
    assert isinstance(share.prepared, WithCurvatures)
    h = share.prepared.curvatures(scores)
    assert (h >= 0).all()
    size = np.linalg.svd(share.hessian(scores) - np.diag(h), compute_uv=False)
    upper = sum(len(np.unique(data.y[rows])) - 1 for rows in data.groups)
    rank = 2 * upper if loss.startswith(("domination", "smooth")) else data.groups.n_queries
    assert rank < 20
    assert (size[rank:] <= 1e-12 * (1 + h.max())).all()


@pytest.mark.parametrize("loss", [*LOG_SUM_EXP, *WITH_EPS])
def test_hessian_is_summed_in_blocks(loss: str) -> None:
    data = make_data([3000, 1, 2500, 4000, 1500, 9000], n_features=3, seed=6)
    share = objective(Case("prox_newton", loss, "none"), data).whole
    scores = data.X @ np.array([0.3, -0.2, 0.1])
    total = np.zeros((3, 3))
    for q in range(data.groups.n_queries):
        total += share.some(np.array([q])).hessian(scores)
    np.testing.assert_allclose(share.hessian(scores), total, rtol=1e-9)


# --- penalties ---------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.1, 1.0, 7.0])
@pytest.mark.parametrize("omega", [*PENALTIES.values(), ElasticNet(2.0, 3.0)], ids=str)
def test_prox_is_the_minimiser(omega: ElasticNet, step: float) -> None:
    points = np.linspace(-3, 3, 25)
    grid = np.linspace(-4, 4, 8001)
    cost = np.array([omega.value(np.array([z])) for z in grid])
    found = omega.prox(points, step)
    for w, z in zip(points, found, strict=True):
        total = cost + (grid - w) ** 2 / (2 * step)
        assert abs(grid[np.argmin(total)] - z) <= 1e-3
        at = omega.value(np.array([z])) + (z - w) ** 2 / (2 * step)
        assert at <= total.min() + 1e-12


GRID = np.linspace(-8, 8, 160001)


@pytest.mark.parametrize("mu", [0.5, 2.0])
@pytest.mark.parametrize("omega", [*PENALTIES.values(), ElasticNet(2.0, 3.0)], ids=str)
def test_penalties_know_their_minimisers(omega: ElasticNet, mu: float) -> None:
    kinked = ElasticNet(l1=omega.kink)
    cost = np.array([omega.l1 * np.abs(GRID) + omega.l2 / 2 * GRID**2, omega.l1 * np.abs(GRID)])
    for x in (-3.0, -0.02, 0.0, 0.4, 2.5):
        total = cost[0] + mu / 2 * GRID**2 - x * GRID
        assert omega.argmin(np.array([x]), mu)[0] == pytest.approx(GRID[total.argmin()], abs=1e-4)
        total = cost[1] + mu / 2 * (GRID - x) ** 2
        assert omega.shrink(x, mu) == pytest.approx(GRID[total.argmin()], abs=1e-4)
    w = np.array([0.5, -2.0, 0.0])
    smooth, slope = omega.smooth(w)
    assert smooth + kinked.value(w) == pytest.approx(omega.value(w))
    for j, e in enumerate(0.25 * np.eye(3)):
        ahead, behind = omega.smooth(w + e)[0], omega.smooth(w - e)[0]
        assert slope[j] == pytest.approx((ahead - behind) / (2 * 0.25))
        assert omega.convexity == pytest.approx((ahead + behind - 2 * smooth) / 0.25**2)


@pytest.mark.parametrize("omega", [*PENALTIES.values(), ElasticNet(2.0, 3.0)], ids=str)
def test_conjugate_of_the_penalty_is_a_supremum(omega: ElasticNet) -> None:
    cost = omega.l1 * np.abs(GRID) + omega.l2 / 2 * GRID**2
    for size in (0.01, 0.4):
        g = size * np.array([-1.0, 0.3, 0.0])
        c, value = omega.conjugate(g)
        assert 0 <= c <= 1
        assert value == pytest.approx(sum(((-c * s * GRID) - cost).max() for s in g), abs=1e-7)
        # No larger share of the gradient has a finite one: it grows with the grid.
        if c < 1:
            assert ((c + 1e-3) * GRID[-1] * np.abs(g).max() - cost[-1]) > 0
            assert omega.convexity == 0


@pytest.mark.parametrize("omega", [*PENALTIES.values(), ElasticNet(2.0, 3.0)], ids=str)
def test_violation_is_the_distance_from_the_subdifferential(omega: ElasticNet) -> None:
    rng = np.random.default_rng(0)
    w = np.where(rng.random(200) < 0.5, 0.0, rng.normal(size=200))
    gradient = rng.normal(size=200)
    expected = violation(w, gradient, omega.l1, omega.l2)
    np.testing.assert_allclose(omega.violation(w, gradient), expected, rtol=1e-14)


# --- errata ------------------------------------------------------------------------------------


def two_layers(n: int, d: int, density: float, seed: int) -> tuple[Floats, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    truth = X @ rng.normal(size=d) + rng.normal(size=n)
    return X, truth >= np.quantile(truth, 0.8)


def ours(X: Floats, positive: Any, n_sweeps: int) -> list[float]:
    data = Data(X, positive.astype(float), Groups.one_query(len(X)))
    target = objective(Case("coordinate_descent", "domination", "none"), data)
    found = coordinate_descent(target, np.zeros(X.shape[1]), tol=0.0, max_iter=n_sweeps)
    return found.objective


def rises(history: list[float]) -> int:
    return sum(after > before * (1 + 1e-12) for before, after in itertools.pairwise(history))


def test_d1_a_positive_without_the_feature_has_a_derivative() -> None:
    # x = (0 | 1, 2): mu = 3, Z = 2, so the derivative is 3 / (2 + 1).
    X, positive = np.array([[0.0], [1.0], [2.0]]), np.array([True, False, False])
    assert ThesisDescent(X, positive, skip_zeros=True).gradient(0) == 0.0
    assert ThesisDescent(X, positive).gradient(0) == 1.0
    target = objective(
        Case("coordinate_descent", "domination", "none", "csr-float64"),
        Data(X, positive.astype(float), Groups.one_query(3)),
    )
    descent = Descent(target, "newton")
    descent.start(np.zeros(3))
    assert descent.slopes(np.arange(1))[0] == pytest.approx(1.0, rel=1e-15)


def printed(X: Floats, positive: Any, n_sweeps: int = 300, **errors: Any) -> list[float]:
    descent = ThesisDescent(X, positive, **errors)
    return [descent.loss(), *(descent.sweep() for _ in range(n_sweeps))]


def test_d1_skipping_zeros_makes_the_loss_rise() -> None:
    X, positive = two_layers(60, 10, 0.2, seed=0)
    corrected, literal = printed(X, positive), printed(X, positive, skip_zeros=True)
    assert rises(corrected) == 0
    assert rises(literal) > 100
    assert literal[-1] > 1.1 * corrected[-1]
    assert rises(ours(X, positive, 300)) == 0
    assert ours(X, positive, 300)[-1] <= corrected[-1] + 1e-9


def test_d2_margins_of_positives_move_too() -> None:
    X, positive = two_layers(60, 10, 1.0, seed=0)
    corrected, literal = printed(X, positive), printed(X, positive, leave_positives=True)
    assert rises(corrected) == 0
    assert rises(literal) > 100
    assert literal[-1] > 1.1 * corrected[-1]
    assert ours(X, positive, 300)[-1] <= corrected[-1] + 1e-9


def test_d6_the_sign_of_section_4_climbs() -> None:
    X, positive = two_layers(60, 10, 1.0, seed=0)
    literal = printed(X, positive, n_sweeps=30, sign=-1.0)
    assert rises(literal) == 30
    assert literal[-1] > 5 * literal[0]
    mine = ours(X, positive, 30)
    assert rises(mine) == 0
    assert mine[-1] < mine[0] == pytest.approx(literal[0])


def test_d11_newton_steps_need_a_guard() -> None:
    n_rises = n_failed = 0
    for seed in range(20):
        X, positive = two_layers(60, 10, 0.2, seed)
        X *= 10
        with np.errstate(all="ignore"):
            raw = printed(X, positive, n_sweeps=10, newton=True)
        n_rises += rises(raw)
        n_failed += not raw[-1] < raw[0]
        guarded = ours(X, positive, 200)
        assert rises(guarded) == 0
        assert guarded[-1] < guarded[0]
    assert n_rises > 0
    assert n_failed > 0
