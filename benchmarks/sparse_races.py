"""Domination on documents of words: seconds until the objective is near its minimum.

``python -m benchmarks races``. Every solver starts from weights 0; see `benchmarks.linear` for how
near is measured.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.optimize
import scipy.sparse as sp

from benchmarks import harness
from benchmarks.harness import Contender, Task, run_task
from benchmarks.linear import (
    LIMIT,
    SOLVER_ROUNDS,
    Goal,
    Problem,
    Stopped,
    Watch,
    find_goal,
    ours,
    restarted,
)
from benchmarks.worker import Run

N_DOCS, N_WORDS, WORDS_OF_DOC = 60_000, 100_000, 75
RELEVANT_SHARE, N_TELLING = 0.01, 5000
QUICK_N_DOCS = 5_000
N_TOPICS = {"topics": 60, "one query": 1}
GOALS = (1e-4, 1e-8)

METHOD = """Seconds until (F - F*) / (F(0) - F*) is below {goal:g}, all from weights 0, data \
set-up not counted. {n} documents in {queries}, {words} words, about 62 words in a document, 1 % \
relevant. A duality gap certifies the minimum to {certified:.1g} of F(0) - F*. {peers} A peer is \
stopped at {limit:g} times our time, or when it makes no more progress; the ratio is then a lower \
bound."""
PEERS = {
    "l2": "L-BFGS-B has scipy's own products with X in float64, one thread, and our loss; "
    "Newton-CG our products, two threads, and Hessian products by differences of gradients.",
    "l1": "FISTA has our products and our loss, two threads.",
}


def run(quick: bool = False) -> None:
    """Benchmark."""
    before = harness.ROUNDS
    harness.ROUNDS = SOLVER_ROUNDS
    try:
        for problem in problems(quick):
            run_task(_race(problem), quick)
    finally:
        harness.ROUNDS = before
    count_sweeps(quick)
    write_table(quick)


def topics(n_topics: int, n_docs: int = N_DOCS) -> Any:
    """Return documents of words: one query a topic, 1 % of its documents relevant.

    A document has 75 words, drawn from 100,000 by Zipf's law, 62 different ones on average, with
    log-normal weights and length 1. Words tell of relevance by weights that are normal for 5,000 of
    the words and 0 for the others; the documents of a topic that score highest, noise included, are
    relevant.
    """
    from rankwright.data import Dataset

    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, N_WORDS + 1)
    words = rng.choice(N_WORDS, (n_docs, WORDS_OF_DOC), p=frequency / frequency.sum())
    values = rng.lognormal(0, 0.5, words.shape)
    indptr = np.arange(n_docs + 1, dtype=np.int32) * WORDS_OF_DOC
    indices = words.ravel().astype(np.int32)
    X = sp.csr_array((values.ravel(), indices, indptr), shape=(n_docs, N_WORDS))
    X.sum_duplicates()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    X = X.astype(np.float32)
    telling = np.zeros(N_WORDS)
    rarer = np.sqrt(frequency)
    chosen = rng.choice(N_WORDS, N_TELLING, replace=False, p=rarer / rarer.sum())
    telling[chosen] = rng.normal(size=N_TELLING)
    truth = X @ telling
    truth = (truth + 0.5 * truth.std() * rng.normal(size=n_docs)).reshape(n_topics, -1)
    y = (truth >= np.quantile(truth, 1 - RELEVANT_SHARE, axis=1)[:, None]).astype(np.float64)
    return Dataset.from_checked(X, y.ravel(), np.repeat(np.arange(n_topics), truth.shape[1]))


def problems(quick: bool) -> list[Problem]:
    """Return all races."""
    make = partial(topics, n_docs=QUICK_N_DOCS) if quick else topics
    kinds: tuple[tuple[Literal["l1", "l2"], float, float], ...] = (
        ("l2", 1e-2, 3.0),
        ("l1", 0.05, 5.0),
    )
    return [
        Problem(
            name=_name(penalty, kind, goal),
            title=f"Domination, sparse, {kind}, {penalty}, {goal:g}",
            make=make,
            n_queries=n_topics // 12 if quick and n_topics > 1 else n_topics,
            loss="domination",
            penalty=penalty,
            alpha=alpha,
            goal=goal,
            bar=bar if kind == "topics" else None,
        )
        for kind, n_topics in N_TOPICS.items()
        for penalty, alpha, bar in kinds
        for goal in GOALS
    ]


def _name(penalty: str, kind: str, goal: float) -> str:
    return f"sparse-{penalty}-{kind.replace(' ', '-')}-{goal:g}"


def _race(problem: Problem) -> Task:
    goal = find_goal(problem)
    peers = {
        "l2": (
            Contender(
                "L-BFGS-B",
                partial(_lbfgs, problem, goal),
                "scipy",
                "scipy.optimize.minimize and scipy's products, one thread.",
                bars={"total": problem.bar},
            ),
            Contender("Newton-CG", partial(_newton, problem, goal), "scipy", "Our products."),
        ),
        "l1": (
            Contender(
                "coordinate descent",
                partial(ours, problem, goal, solver="coordinate_descent"),
                "rankwright",
                "The thesis' way, with our step.",
            ),
            Contender(
                "FISTA",
                partial(_fista, problem, goal),
                "numpy",
                "Accelerated proximal gradient, backtracking, restarts; our products.",
                bars={"total": problem.bar},
            ),
        ),
    }
    queries = "one query" if problem.n_queries == 1 else f"{problem.n_queries} queries"
    return Task(
        name=problem.name,
        title=problem.title,
        method=METHOD.format(
            goal=problem.goal,
            n=N_DOCS,
            queries=queries,
            words=N_WORDS,
            certified=goal.certified,
            peers=PEERS[problem.penalty],
            limit=LIMIT,
        ),
        amount=1.0,
        unit="fits",
        contenders=[
            Contender("rankwright", partial(ours, problem, goal), "rankwright", "minimize(...)."),
            *peers[problem.penalty],
            Contender("one thread", partial(ours, problem, goal, 1), "rankwright", "The same."),
        ],
    )


def _lbfgs(problem: Problem, goal: Goal) -> Callable[[], Run]:
    from rankwright.blas import one_blas_thread
    from rankwright.solvers.scores import Scores

    objective = problem.objective(1)
    # Not float32: scipy would convert it in every product.
    X, l2 = objective.whole.X.astype(np.float64), objective.penalty.l2

    def run() -> Run:
        watch = Watch(goal.objective, LIMIT * goal.seconds)

        def evaluate(w: Any) -> tuple[float, Any]:
            loss, slope = objective.loss_and_slope(Scores([X @ w]))
            value = loss + 0.5 * l2 * float(w @ w)
            watch.see(value)
            return value, X.T @ slope.parts[0] + l2 * w

        with one_blas_thread():  # two would wait for each other by spinning
            return watch.run(lambda: restarted(evaluate, np.zeros(objective.n_features)))

    return run


def _newton(problem: Problem, goal: Goal) -> Callable[[], Run]:
    from rankwright.blas import one_blas_thread

    objective = problem.objective()
    l2 = objective.penalty.l2

    def run() -> Run:
        watch = Watch(goal.objective, LIMIT * goal.seconds)

        last: list[Any] = [None, None]  # weights and their scores, which many products share

        def scores_at(w: Any) -> Any:
            if not np.array_equal(last[0], w):
                last[:] = w.copy(), objective.scores(w)
            return last[1]

        def evaluate(w: Any) -> tuple[float, Any]:
            loss, slope = objective.loss_and_slope(scores_at(w))
            value = loss + objective.penalty.value(w)
            watch.see(value)
            return value, objective.gradient(slope) + l2 * w

        def hessian_times(w: Any, p: Any) -> Any:
            scores, along = scores_at(w), objective.scores(p)
            step = 1e-6 / max(np.abs(part).max() for part in along.parts)
            ahead, behind = (
                objective.loss_and_slope(scores + sign * step * along)[1] for sign in (1.0, -1.0)
            )
            return objective.gradient((0.5 / step) * (ahead - behind)) + l2 * p

        newton = partial(
            scipy.optimize.minimize,
            evaluate,
            np.zeros(objective.n_features),
            jac=True,
            hessp=hessian_times,
            method="Newton-CG",
            options={"maxiter": 1000, "xtol": 1e-15},
        )
        with one_blas_thread():
            return watch.run(newton)

    return run


def _fista(problem: Problem, goal: Goal) -> Callable[[], Run]:
    from rankwright.blas import one_blas_thread

    objective = problem.objective()

    def run() -> Run:
        watch = Watch(goal.objective, LIMIT * goal.seconds)
        with one_blas_thread():
            return watch.run(lambda: fista(objective, watch))

    return run


def fista(objective: Any, watch: Watch) -> None:
    """Accelerated proximal gradient with backtracking, restarted when the objective rises."""
    penalty = objective.penalty
    w = point = np.zeros(objective.n_features)
    step, momentum, last = 1.0, 1.0, np.inf
    while True:
        loss, slope = objective.loss_and_slope(objective.scores(point))
        gradient = objective.gradient(slope)
        step *= 1.5
        while True:
            moved = penalty.prox(point - step * gradient, step)
            d = moved - point
            at, _ = objective.loss_and_slope(objective.scores(moved))
            if at <= loss + float(gradient @ d) + float(d @ d) / (2 * step) + 1e-12 * abs(loss):
                break
            step /= 2
        value = at + penalty.value(moved)
        if value > last:
            momentum = 1.0
        following = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        point = moved + (momentum - 1) / following * (moved - w)
        w, momentum, last = moved, following, value
        watch.see(value)


# --- sweeps ------------------------------------------------------------------------------------


def count_sweeps(quick: bool) -> None:
    """Count the sweeps that coordinate descent needs with our step and with the thesis'."""
    from rankwright.solvers import coordinate_descent

    problem = problems(quick)[0]
    goal, objective = find_goal(problem), problem.objective()

    def sweeps(step: Literal["newton", "thesis"], most: int) -> tuple[int, bool, float]:
        watch = Watch(goal.objective)
        try:
            coordinate_descent(
                objective,
                np.zeros(objective.n_features),
                step=step,
                tol=0.0,
                max_iter=most,
                callback=lambda p: watch.see(p.objective),
            )
        except Stopped:
            return watch.n, True, watch.seconds
        return watch.n, False, watch.seconds

    newton, _, newton_s = sweeps("newton", 1000)
    thesis, reached, thesis_s = sweeps("thesis", 20 * newton)
    record = {
        "name": "sparse-sweeps",
        "title": "Sweeps of coordinate descent, Domination, sparse, l2",
        "method": f"Sweeps until (F - F*) / (F(0) - F*) is below {problem.goal:g}; the thesis' "
        "step is stopped at twenty times ours.",
        "quick": quick,
        "newton": {"sweeps": newton, "seconds": newton_s},
        "thesis": {"sweeps": thesis, "reached": reached, "seconds": thesis_s},
        "bar": "at most a twentieth",
        "met": thesis >= 20 * newton,
        "load_average": list(os.getloadavg()),
    }
    folder = harness.QUICK_RESULTS if quick else harness.RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sparse-sweeps.json").write_text(json.dumps(record, indent=1) + "\n")
    more = "" if reached else " (stopped)"
    print(f"{record['title']}: newton {newton}, thesis {thesis}{more}", flush=True)


# --- table -------------------------------------------------------------------------------------


def write_table(quick: bool) -> None:
    """Write medians of seconds, and ratios to the peers, as Markdown."""
    folder = harness.QUICK_RESULTS if quick else harness.RESULTS
    lines = [
        "| | near to | rankwright | one thread | peer | its time | ratio | of processor time |",
        "|---|--:|--:|--:|---|--:|--:|--:|",
    ]
    for problem in problems(quick):
        record = json.loads((folder / f"{problem.name}.json").read_text())
        ours, *peers, one = record["contenders"]
        _, _, kind, penalty, near = record["title"].split(", ")
        mine, single = (c["median_seconds"]["total"] for c in (ours, one))
        for peer in peers:
            seconds = peer["median_seconds"]["total"]
            over = "" if all(turn["facts"]["reached"] for turn in peer["turns"]) else "over "
            lines.append(
                f"| {penalty}, {kind} | {near} | {mine:.2f} s | {single:.2f} s | {peer['name']} "
                f"| {seconds:.2f} s | {over}{seconds / mine:.1f} "
                f"| {over}{_cpu_s(peer) / _cpu_s(one):.1f} |"
            )
    (folder / "sparse-races.md").write_text("\n".join(lines) + "\n")


def _cpu_s(contender: dict[str, Any]) -> float:
    return float(np.median([turn["facts"]["cpu_s"] for turn in contender["turns"]]))
