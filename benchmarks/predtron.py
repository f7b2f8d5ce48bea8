"""Predtron: classes against river, rankers against the SLAM perceptron, argmax against scipy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Task, run_task
from benchmarks.worker import Run, timed

N_FEATURES, N_CLASSES = 136, 10
N_ROWS, N_QUERIES, N_ARGMAX = 200_000, 2000, 2000
QUICK = 20
M = 100  # documents of an argmax

CLASSES_METHOD = """One pass over dense rows of 136 float32 features with 10 classes that a linear \
rule explains but for 10 % noise; every row is predicted, then learned. Peers take rows as \
dictionaries, which are made beforehand; they do a hundredth of the rows."""
RANKER_METHOD = """One pass over about 120 documents a query, 136 float32 features, labels 0..4. \
Both rank each query and update on those that they rank wrongly."""
ARGMAX_METHOD = """The ranking with the largest sum of loss 1 - NDCG and similarity, 100 documents \
with standard normal scores, {grades} grades, representation {name}; the peer's cost matrix is \
made beforehand. Route: {route}."""

# Representation, grades, how many times as fast as the peer we mean to be.
ARGMAX = {
    "discount": ("dcg", 5, 20.0),
    "two-grades": ("-i^1.1", 2, 20.0),
    "two-grades-linear": ("-i", 2, 20.0),
    "grades": ("-i^1.1", 5, 0.95),
    "reciprocal": ("1/i", 5, 0.95),
}


def run(quick: bool = False) -> None:
    """Benchmark."""
    share = QUICK if quick else 1
    run_task(_classes(N_ROWS // share), quick)
    run_task(_ranker(N_QUERIES // share), quick)
    for name in ARGMAX:
        run_task(_argmax(name, N_ARGMAX // share), quick)


# --- classes -----------------------------------------------------------------------------------


def _classes(n_rows: int) -> Task:
    def peer(name: str, note: str, bar: float | None) -> Contender:
        make = partial(_river, name, n_rows // 100)
        return Contender(name, make, "river", note, bars={"total": bar}, share=0.01)

    return Task(
        name="predtron-classes",
        title="PredtronClassifier, 10 classes",
        method=CLASSES_METHOD,
        amount=n_rows,
        unit="rows",
        contenders=[
            Contender("rankwright", partial(_our_classes, n_rows), "rankwright", "One thread."),
            peer("river perceptrons", "OneVsRestClassifier(Perceptron()).", 20.0),
            peer("river softmax", "SoftmaxRegression().", None),
        ],
    )


def _rows(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    y = (X @ rng.normal(size=(N_FEATURES, N_CLASSES))).argmax(axis=1)
    return X, np.where(rng.random(n) < 0.1, rng.integers(0, N_CLASSES, n), y)


def _our_classes(n_rows: int) -> Callable[[], Run]:
    from rankwright.predtron import PredtronClassifier

    X, y = _rows(n_rows)
    classes = range(N_CLASSES)

    def run() -> Run:
        model, seconds = timed(lambda: PredtronClassifier().partial_fit(X, y, classes=classes))
        return Run({"total": seconds}, {"mistakes": model.n_updates_ / n_rows})

    return run


def _river(name: str, n_rows: int) -> Callable[[], Run]:
    from river import linear_model, multiclass

    X, y = _rows(n_rows)
    rows = [dict(enumerate(map(float, x))) for x in X]
    labels = y.tolist()

    def learn() -> int:
        model: Any = linear_model.SoftmaxRegression()
        if name == "river perceptrons":
            model = multiclass.OneVsRestClassifier(linear_model.Perceptron())
        mistakes = 0
        for x, label in zip(rows, labels, strict=True):
            mistakes += model.predict_one(x) != label
            model.learn_one(x, label)
        return mistakes

    def run() -> Run:
        mistakes, seconds = timed(learn)
        return Run({"total": seconds}, {"mistakes": mistakes / n_rows})

    return run


# --- rankers -----------------------------------------------------------------------------------


def _ranker(n_queries: int) -> Task:
    from rankwright.data import make_mslr_like

    return Task(
        name="predtron-ranker",
        title="PredtronRanker, mode predicted",
        method=RANKER_METHOD,
        amount=make_mslr_like(n_queries=n_queries).n_docs,
        unit="documents",
        contenders=[
            Contender("rankwright", partial(_one_pass, "PredtronRanker", n_queries), None, ""),
            Contender(
                "SLAMPerceptron",
                partial(_one_pass, "SLAMPerceptron", n_queries),
                "rankwright",
                "Ours as well.",
                bars={"total": 0.5},
            ),
        ],
    )


def _one_pass(kind: str, n_queries: int) -> Callable[[], Run]:
    import rankwright as rw
    from rankwright.data import make_mslr_like

    data = make_mslr_like(n_queries=n_queries)
    X = np.ascontiguousarray(data.X / data.X.std(axis=0), dtype=np.float32)

    def run() -> Run:
        model, seconds = timed(lambda: getattr(rw, kind)().partial_fit(X, data.y, data.qid))
        return Run({"total": seconds}, {"loss": model.cumulative_loss_ / data.n_queries})

    return run


# --- argmax ------------------------------------------------------------------------------------


def _argmax(name: str, n: int) -> Task:
    from rankwright.problems import Ranking

    representation, grades, bar = ARGMAX[name]
    route = Ranking(representation=representation).route(np.arange(M) % grades)
    return Task(
        name=f"predtron-argmax-{name}",
        title=f"NDCG argmax, {representation}, {grades} grades",
        method=ARGMAX_METHOD.format(grades=grades, name=representation, route=route),
        amount=n,
        unit="queries",
        agree=["value"],
        contenders=[
            Contender("rankwright", partial(_our_argmax, name, n), "rankwright", "One thread."),
            Contender(
                "scipy",
                partial(_scipy_argmax, name, n),
                "scipy",
                "linear_sum_assignment.",
                bars={"total": bar},
            ),
        ],
    )


def _argmax_data(name: str, n: int) -> tuple[Any, Any, Any, Any]:
    from rankwright.problems import Ranking

    representation, grades, _ = ARGMAX[name]
    rng = np.random.default_rng(0)
    t = rng.normal(size=(n, M))
    y = rng.integers(0, grades, (n, M)).astype(np.float64)
    return Ranking(representation=representation), t, y, rng


def _our_argmax(name: str, n: int) -> Callable[[], Run]:
    problem, t, y, _ = _argmax_data(name, n)
    kernel, gains = problem.kernel(M), [problem.encode(labels) for labels in y]

    def run() -> Run:
        found, seconds = timed(lambda: list(map(kernel.augmented, t, gains)))
        value = sum(
            problem.loss(sigma + 1, labels) + problem.represent(sigma + 1) @ scores
            for sigma, labels, scores in zip(found, y, t, strict=True)
        )
        return Run({"total": seconds}, {"value": float(value)})

    return run


def _scipy_argmax(name: str, n: int) -> Callable[[], Run]:
    from scipy.optimize import linear_sum_assignment

    problem, t, y, _ = _argmax_data(name, n)
    f, D = problem.f(M) / np.linalg.norm(problem.f(M)), problem.discounts(M)
    costs = []
    for scores, labels in zip(t, y, strict=True):
        gains = problem.encode(labels)
        costs.append(np.outer(scores, f) - np.outer(gains, D) / (np.sort(gains)[::-1] @ D))

    def run() -> Run:
        found, seconds = timed(lambda: [linear_sum_assignment(c, maximize=True) for c in costs])
        value = sum(1 + cost[at].sum() for cost, at in zip(costs, found, strict=True))
        return Run({"total": seconds}, {"value": float(value)})

    return run
