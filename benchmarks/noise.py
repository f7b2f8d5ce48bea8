"""Corrupting judgements and simulating clicks, against a loop over queries in plain numpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Task, run_task
from benchmarks.worker import Run, timed

N_QUERIES = 8400  # about a million documents
QUICK_N_QUERIES = 200
SHARE, IMPRESSIONS = 0.3, 10

METHOD = """About 120 documents a query, labels 0..4, {n_features} features. {what} The peer is a \
loop over queries with numpy's generator, as one would write it, which makes the same arrays; its \
numbers depend on the order of the queries, and augmentation draws with replacement."""

TASKS: dict[str, tuple[str, int]] = {
    "labels": (f"{SHARE:.0%} of the labels drawn anew.", 4),
    "augment": (f"{SHARE:.0%} more documents, drawn from other queries, with features.", 4),
    "cascade": (f"{IMPRESSIONS} shuffled impressions a query, cut at the first click.", 1),
    "position": (f"{IMPRESSIONS} shuffled impressions a query, position-based.", 1),
    "browsing": (f"{IMPRESSIONS} shuffled impressions a query, user-browsing.", 1),
}


def run(quick: bool = False) -> None:
    """Benchmark."""
    n_queries = QUICK_N_QUERIES if quick else N_QUERIES
    for name, (what, n_features) in TASKS.items():
        run_task(
            Task(
                name=f"noise-{name}",
                title=f"Noise: {name}",
                method=METHOD.format(n_features=n_features, what=what),
                amount=_data(n_queries, 1).n_docs,
                unit="documents",
                contenders=[
                    Contender(
                        "rankwright", partial(_ours, name, n_queries, n_features), "rankwright", ""
                    ),
                    Contender(
                        "numpy",
                        partial(_numpy, name, n_queries, n_features),
                        "numpy",
                        "A loop over queries. One thread.",
                    ),
                ],
            ),
            quick,
        )


def _data(n_queries: int, n_features: int) -> Any:
    from rankwright.data import make_mslr_like

    return make_mslr_like(n_queries=n_queries, n_features=n_features)


def _ours(name: str, n_queries: int, n_features: int) -> Callable[[], Run]:
    from rankwright.data import (
        Cascade,
        PositionBased,
        UserBrowsing,
        augment,
        perturb_labels,
        simulate_clicks,
    )

    data = _data(n_queries, n_features)
    clicks = partial(simulate_clicks, data, impressions=IMPRESSIONS)
    calls: dict[str, Callable[[], Any]] = {
        "labels": partial(perturb_labels, data, SHARE),
        "augment": partial(augment, data, SHARE),
        "cascade": partial(clicks, Cascade()),
        "position": partial(clicks, PositionBased()),
        "browsing": partial(clicks, UserBrowsing()),
    }
    kept: list[Any] = []  # so that the memory of the result is still there when it is measured

    def run() -> Run:
        result, seconds = timed(calls[name])
        kept.append(result)
        return Run({"total": seconds})

    return run


def _numpy(name: str, n_queries: int, n_features: int) -> Callable[[], Run]:
    data = _data(n_queries, n_features)
    loops: dict[str, Callable[[Any, np.random.Generator], Any]] = {
        "labels": _label_loop,
        "augment": _augment_loop,
    }
    call = loops.get(name, partial(_click_loop, name))

    def run() -> Run:
        _, seconds = timed(partial(call, data, np.random.default_rng(0)))
        return Run({"total": seconds})

    return run


def _label_loop(data: Any, rng: np.random.Generator) -> Any:
    y = data.y.copy()
    for rows in data.groups:
        m = rows.stop - rows.start
        chosen = rows.start + rng.choice(m, round(SHARE * m), replace=False)
        y[chosen] = rng.choice(5, len(chosen), p=[0.5, 0.2, 0.15, 0.1, 0.05])
    return y


def _augment_loop(data: Any, rng: np.random.Generator) -> Any:
    parts = []
    for rows in data.groups:
        m = rows.stop - rows.start
        drawn = rng.integers(data.n_docs - m, size=round(SHARE * m))
        drawn[drawn >= rows.start] += m
        parts += [data.X[rows], data.X[drawn]]
    return np.concatenate(parts)


def _click_loop(name: str, data: Any, rng: np.random.Generator) -> Any:
    attraction = np.array([0.05, 0.3, 0.5, 0.7, 0.95])[data.y.astype(np.int64)]
    shown, clicks, propensities = [], [], []
    for rows in data.groups:
        m = rows.stop - rows.start
        for _ in range(IMPRESSIONS):
            order = rows.start + rng.permutation(m)
            wanted = rng.uniform(size=m) / attraction[order]
            propensity = np.ones(m)
            if name == "cascade":
                clicked = wanted < 1
                if clicked.any():
                    end = int(clicked.argmax()) + 1
                    order, clicked, propensity = order[:end], clicked[:end], propensity[:end]
            elif name == "position":
                propensity = 1 / np.arange(1, m + 1)
                clicked = wanted < propensity
            else:
                clicked = np.zeros(m, dtype=bool)
                last = 0
                for rank, value in enumerate(wanted.tolist(), 1):
                    propensity[rank - 1] = 1 / (rank - last)
                    if value * (rank - last) < 1:
                        clicked[rank - 1], last = True, rank
            shown.append(order)
            clicks.append(clicked)
            propensities.append(propensity)
    return np.concatenate(shown), np.concatenate(clicks), np.concatenate(propensities)
