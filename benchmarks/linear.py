"""Linear rankers: SLAM's value and subgradient, and seconds until an objective is near its minimum.

Minimisers are compared by the time until the first iterate whose objective is near enough to the
minimum, relative to what there is to gain: (F - F*) / (F(0) - F*). F* is that of a long run of
ours; with an l2 penalty the length of its gradient proves how near that is, with l1 a second
solver, started there, finds nothing better.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import scipy.optimize
import scipy.sparse as sp

from benchmarks import harness
from benchmarks.harness import Contender, Task, run_task
from benchmarks.scored import Shape
from benchmarks.worker import Run, timed

N_QUERIES = 6000
QUICK_N_QUERIES = 300
GROWTH = (1_000, 10_000, 100_000)
SOLVER_ROUNDS = 3  # of runs that take up to a minute; after one that warms up
LIMIT = 10.0  # times our time after which a peer is stopped

SLAM_METHOD = """Value and subgradient of SLAM("ndcg") of every query, labels and weights known. \
The peer is the formula in numpy: per query one matrix of all pairs, its row maxima, two \
scatters."""

SOLVER_METHOD = """Seconds until (F - F*) / (F(0) - F*) is below {goal:g}, all from weights 0, \
features standardised, data set-up not counted. The peer uses the same native loss and gradient. \
It is stopped at {limit:g} times our time, or when it makes no more progress; the ratio is then a \
lower bound."""


def run(quick: bool = False) -> None:
    """Benchmark."""
    n_queries = QUICK_N_QUERIES if quick else N_QUERIES
    run_task(_slam(Shape(n_queries, ties=False)), quick)
    run_task(_growth(), quick)
    before = harness.ROUNDS
    harness.ROUNDS = SOLVER_ROUNDS
    try:
        for problem in problems(quick):
            run_task(_race(problem), quick)
    finally:
        harness.ROUNDS = before


# --- SLAM --------------------------------------------------------------------------------------


def _slam(shape: Shape) -> Task:
    return Task(
        name="slam",
        title="SLAM, value and subgradient",
        method=SLAM_METHOD,
        amount=shape.n_docs(),
        unit="documents",
        agree=["value", "gradient_norm"],
        contenders=[
            Contender("rankwright", partial(_our_slam, shape), "rankwright", "O(m) a query."),
            Contender(
                "numpy",
                partial(_numpy_slam, shape),
                "numpy",
                "O(m^2) a query, vectorised. One thread.",
                bars={"total": 20.0},
            ),
        ],
    )


def _slam_facts(values: Any, gradient: Any) -> dict[str, float]:
    return {"value": float(np.sum(values)), "gradient_norm": float(np.linalg.norm(gradient))}


def _our_slam(shape: Shape) -> Callable[[], Run]:
    from rankwright.data import Groups
    from rankwright.losses import SLAM

    data = shape.make()
    prepared = SLAM().prepare(data.y, Groups(data.indptr))

    def run() -> Run:
        (values, gradient), seconds = timed(lambda: prepared.values_and_grad(data.scores))
        return Run({"total": seconds}, _slam_facts(values, gradient))

    return run


def _numpy_slam(shape: Shape) -> Callable[[], Run]:
    from rankwright.data import Groups
    from rankwright.losses import SLAM

    data = shape.make()
    groups = Groups(data.indptr)
    v = SLAM().document_weights(data.y, groups)
    rows = list(groups)

    def evaluate() -> tuple[Any, Any]:
        values, gradient = np.zeros(len(rows)), np.zeros(len(v))
        for q, r in enumerate(rows):
            y, s = data.y[r], data.scores[r]
            slack = np.where(y[:, None] > y, 1 + s - s[:, None], 0.0)
            worst = slack.argmax(axis=1)
            largest = slack[np.arange(len(y)), worst]
            active = np.flatnonzero(largest > 0)
            values[q] = v[r][active] @ largest[active]
            np.subtract.at(gradient[r], active, v[r][active])
            np.add.at(gradient[r], worst[active], v[r][active])
        return values, gradient

    def run() -> Run:
        (values, gradient), seconds = timed(evaluate)
        return Run({"total": seconds}, _slam_facts(values, gradient))

    return run


def _growth() -> Task:
    ours = Contender("rankwright", _slam_by_size, "rankwright", "One query of each size.")
    return Task(
        name="slam-growth",
        title="SLAM, one query of 1,000 to 100,000 documents",
        method='Value and subgradient of SLAM("ndcg"), labels known; one query, so one thread.',
        amount=float(sum(GROWTH)),
        unit="documents",
        contenders=[ours],
    )


def _slam_by_size() -> Callable[[], Run]:
    from rankwright.data import Groups
    from rankwright.losses import SLAM

    rng = np.random.default_rng(0)
    queries = []
    for m in GROWTH:
        prepared = SLAM().prepare(rng.integers(0, 5, m).astype(float), Groups.one_query(m))
        queries.append((m, prepared, rng.normal(size=m)))

    def run() -> Run:
        seconds = {}
        for m, prepared, scores in queries:
            seconds[f"{m}"] = timed(partial(prepared.values_and_grad, scores))[1]
        return Run({"total": sum(seconds.values()), **seconds})

    return run


# --- data --------------------------------------------------------------------------------------


def independent(n_queries: int) -> Any:
    """Return `rankwright.data.make_mslr_like`: its features are independent but for the label."""
    from rankwright.data import make_mslr_like

    return make_mslr_like(n_queries)


# The eigenvalues of the correlations of MSLR-WEB's 136 features fall from 25 to below 1e-4, about
# evenly on a logarithmic scale: the same quantity is measured in title, body, anchor and so on.
HIGHEST_EIGENVALUE, LOWEST_EIGENVALUE = 25.0, 1e-4


def correlated(n_queries: int) -> Any:
    """Return documents of `make_mslr_like`'s queries, features correlated as MSLR-WEB's are."""
    from rankwright.data import Dataset

    qid = independent(n_queries).qid
    rng = np.random.default_rng(0)
    n, d = len(qid), 136
    spectrum = np.geomspace(HIGHEST_EIGENVALUE, LOWEST_EIGENVALUE, d)
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    mixing = (np.sqrt(spectrum)[:, None] * rotation.T).astype(np.float32)
    seen, hidden = rng.normal(size=d), rng.normal(size=d) / np.sqrt(d)
    X, utility = np.empty((n, d), dtype=np.float32), np.empty(n)
    for begin in range(0, n, 65536):
        rows = slice(begin, min(begin + 65536, n))
        factors = rng.standard_normal((rows.stop - rows.start, d), dtype=np.float32)
        X[rows] = factors @ mixing
        utility[rows] = 0.1 * (X[rows] @ seen) + 0.5 * (factors @ hidden)
    utility += rng.normal(size=n)
    cuts = np.quantile(utility, np.cumsum((0.52, 0.32, 0.13, 0.02)))
    return Dataset.from_checked(X, np.searchsorted(cuts, utility).astype(np.float64), qid)


# --- races -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """An objective, and how near its minimum is near enough."""

    name: str
    title: str
    make: Callable[[int], Any]
    n_queries: int
    loss: str
    penalty: Literal["l1", "l2"]
    alpha: float  # with l1, relative to where no feature is left
    goal: float
    bar: float | None

    def objective(self, threads: int = harness.THREADS) -> Any:
        """Return the objective on standardised features; sparse ones are taken as they are."""
        from rankwright.losses import XENDCG, Domination, ListNet, Loss
        from rankwright.penalties import ElasticNet
        from rankwright.scaling import by_deviation
        from rankwright.solvers import Objective, Share

        data = self.make(self.n_queries)
        X = data.X
        if not sp.issparse(X):
            X = by_deviation(X).apply(X)
        losses: dict[str, Loss] = {
            "listnet": ListNet(),
            "xendcg": XENDCG(gamma=0.5),
            "domination": Domination(),
        }
        share = Share(X, data.y, data.groups, threads)
        objective = Objective([share], losses[self.loss], ElasticNet())
        alpha = self.alpha
        if self.penalty == "l1":
            alpha *= objective.violation_at_zero()
        return objective.with_penalty(ElasticNet.from_name(self.penalty, alpha))


def problems(quick: bool) -> list[Problem]:
    """Return all races."""
    n_queries = QUICK_N_QUERIES if quick else N_QUERIES
    names = {"listnet": "ListNet", "xendcg": "XE-NDCG", "domination": "Domination"}
    dense = [
        Problem(
            name=f"dense-{loss}-{alpha:g}",
            title=f"{name}, dense, alpha {alpha:g}",
            make=correlated,
            n_queries=n_queries,
            loss=loss,
            penalty="l2",
            alpha=alpha,
            goal=1e-6,
            bar=3.0,
        )
        for loss, name in names.items()
        for alpha in (1e-2, 1e-4)
    ]
    easy = Problem(
        name="dense-independent",
        title="ListNet, dense, independent features, alpha 0.0001",
        make=independent,
        n_queries=n_queries,
        loss="listnet",
        penalty="l2",
        alpha=1e-4,
        goal=1e-6,
        bar=None,
    )
    return [*dense, easy]


@dataclass(frozen=True)
class Goal:
    """The objective to reach, how long it took us once, and how well its minimum is known."""

    objective: float
    seconds: float
    certified: float  # relative to what there is to gain


@cache
def find_goal(problem: Problem) -> Goal:
    """Find the minimum, make sure of it, and return what is near enough."""
    from rankwright.solvers import minimize

    objective = problem.objective()
    history: list[tuple[float, float]] = []
    start = time.perf_counter()
    found = minimize(
        objective,
        tol=1e-10,
        max_iter=2000,
        callback=lambda p: history.append((time.perf_counter() - start, p.objective)),
    )
    at_zero, best, uncertain = found.objective[0], found.objective[-1], found.gap
    if problem.penalty == "l1":
        again = minimize(
            objective, found.coef, solver="coordinate_descent", tol=1e-10, max_iter=100
        )
        uncertain = best - min(again.objective)
        best = min(again.objective)
    if not uncertain <= 0.1 * problem.goal * (at_zero - best):
        raise RuntimeError(f"{problem.name}: the minimum is known to {uncertain:g} only")
    goal = best + problem.goal * (at_zero - best)
    seconds = next(seconds for seconds, value in history if value <= goal)
    return Goal(goal, seconds, found.gap / (at_zero - best))


class Stopped(Exception):  # noqa: N818
    """Raised to stop a minimiser."""


class Watch:
    """Stops a minimiser as soon as it is near enough, or has had its time."""

    def __init__(self, goal: float, limit_s: float = np.inf) -> None:
        self.goal, self.limit_s = goal, limit_s
        self.n, self.value = 0, np.inf
        self.start, self.start_cpu = time.perf_counter(), time.process_time()
        self.seconds = 0.0

    def see(self, value: float) -> None:
        """Look at an iterate's objective."""
        self.n += 1
        self.value = min(self.value, value)
        self.seconds = time.perf_counter() - self.start
        if self.value <= self.goal or self.seconds > self.limit_s:
            raise Stopped

    def run(self, minimiser: Callable[[], Any]) -> Run:
        """Run until stopped, or until it gives up by itself."""
        with contextlib.suppress(Stopped):
            minimiser()
        cpu_s = time.process_time() - self.start_cpu
        facts = {"iterates": self.n, "reached": self.value <= self.goal, "cpu_s": cpu_s}
        return Run({"total": self.seconds}, {name: float(fact) for name, fact in facts.items()})


def _race(problem: Problem) -> Task:
    goal = find_goal(problem)
    return Task(
        name=problem.name,
        title=problem.title,
        method=SOLVER_METHOD.format(goal=problem.goal, limit=LIMIT),
        amount=1.0,
        unit="fits",
        contenders=[
            Contender("rankwright", partial(ours, problem, goal), "rankwright", "minimize(...)."),
            Contender(
                "L-BFGS-B",
                partial(_lbfgs, problem, goal),
                "scipy",
                "scipy.optimize.minimize, m = 10, every evaluation counts.",
                bars={"total": problem.bar},
            ),
        ],
    )


def ours(
    problem: Problem, goal: Goal, threads: int = harness.THREADS, solver: Any = "auto"
) -> Callable[[], Run]:
    """Make what runs one of our solvers until the goal."""
    from rankwright.solvers import minimize

    objective = problem.objective(threads)

    def run() -> Run:
        watch = Watch(goal.objective)
        found = watch.run(
            lambda: minimize(
                objective, solver=solver, tol=1e-14, callback=lambda p: watch.see(p.objective)
            )
        )
        if not found.facts["reached"]:
            raise RuntimeError(f"ended at {watch.value!r}, before the goal {goal.objective!r}")
        return found

    return run


def _lbfgs(problem: Problem, goal: Goal) -> Callable[[], Run]:
    objective = problem.objective()
    penalty = objective.penalty

    def run() -> Run:
        watch = Watch(goal.objective, LIMIT * goal.seconds)

        def evaluate(w: Any) -> tuple[float, Any]:
            loss, slope = objective.loss_and_slope(objective.scores(w))
            value = loss + penalty.value(w)
            gradient = objective.gradient(slope) + penalty.l2 * w
            watch.see(value)
            return value, gradient

        return watch.run(lambda: restarted(evaluate, np.zeros(objective.n_features)))

    return run


def restarted(evaluate: Callable[[Any], tuple[float, Any]], w: Any) -> None:
    """Run L-BFGS-B; begin again when rounding ends its line search, as long as that helps."""
    options = {"maxiter": 10**6, "maxfun": 10**6, "ftol": 0.0, "gtol": 0.0}
    best = np.inf
    while True:
        found = scipy.optimize.minimize(evaluate, w, jac=True, method="L-BFGS-B", options=options)
        if not found.fun < best:
            return
        best, w = found.fun, found.x
