"""Boosted trees: our losses on LightGBM's trees against LightGBM's own losses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import DATA, THREADS, Contender, Task, run_task
from benchmarks.worker import Run, timed

N_QUERIES = 6000
QUICK_N_QUERIES = 300
TREES, LEAVES, BINS = 100, 31, 255

METHOD = """MSLR-like documents with 136 features; 100 trees of 31 leaves, 255 bins, learning rate \
0.1, two threads. Timed is the whole training, from an array in memory to a model, binning \
included; no metric is measured meanwhile. "spread" is the standard deviation of the scores, to \
see that both learned."""

# The built-in loss, ours, and how many times as fast as it ours must be.
RACES = {
    "xendcg": ("rank_xendcg", "XE-NDCG", 1 / 1.10),
    "lambdarank": ("lambdarank", "LambdaRank", 1.0),
}


def run(quick: bool = False) -> None:
    """Benchmark."""
    folder = make_data(QUICK_N_QUERIES if quick else N_QUERIES)
    for ours in RACES:
        run_task(_race(ours, folder), quick)


def make_data(n_queries: int) -> Path:
    """Write the arrays to a folder, once."""
    from rankwright.data import make_mslr_like

    folder = DATA / f"trees-{n_queries}"
    if not (folder / "indptr.npy").exists():
        folder.mkdir(parents=True, exist_ok=True)
        data = make_mslr_like(n_queries)
        np.save(folder / "X.npy", data.X)
        np.save(folder / "y.npy", data.y)
        np.save(folder / "indptr.npy", data.groups.indptr)
    return folder


def _race(ours: str, folder: Path) -> Task:
    built_in, title, bar = RACES[ours]
    n_docs = len(np.load(folder / "y.npy", mmap_mode="r"))
    return Task(
        name=f"trees-{ours}",
        title=f"{title}, {TREES} trees on {n_docs:,} documents",
        method=METHOD,
        amount=TREES,
        unit="trees",
        contenders=[
            Contender(
                "rankwright",
                partial(_rankwright, ours, folder),
                "rankwright",
                f'BoostedRanker("{ours}"): gradients by our kernels.',
            ),
            Contender(
                "LightGBM",
                partial(_lightgbm, built_in, folder),
                "lightgbm",
                f'lightgbm.train({{"objective": "{built_in}"}}).',
                bars={"total": bar},
            ),
        ],
    )


def _load(folder: Path) -> tuple[Any, Any, Any]:
    X, y, indptr = (np.load(folder / f"{name}.npy") for name in ("X", "y", "indptr"))
    return X, y, indptr


def _facts(scores: Any) -> dict[str, float]:
    return {"spread": float(np.std(scores))}


def _rankwright(loss: str, folder: Path) -> Callable[[], Run]:
    from rankwright import BoostedRanker

    X, y, indptr = _load(folder)
    qid = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    ranker = BoostedRanker(
        loss, n_estimators=TREES, num_leaves=LEAVES, max_bin=BINS, n_jobs=THREADS
    )
    import_module("lightgbm")

    def run() -> Run:
        _, seconds = timed(lambda: ranker.fit(X, y, qid))
        return Run({"total": seconds}, _facts(ranker.predict(X[:10_000])))

    return run


def _lightgbm(objective: str, folder: Path) -> Callable[[], Run]:
    lightgbm = import_module("lightgbm")
    X, y, indptr = _load(folder)
    params = {
        "objective": objective,
        "metric": "None",
        "num_leaves": LEAVES,
        "max_bin": BINS,
        "learning_rate": 0.1,
        "num_threads": THREADS,
        "verbosity": -1,
    }

    def train() -> Any:
        data = lightgbm.Dataset(X, y, group=np.diff(indptr), params=params)
        return lightgbm.train(params, data, num_boost_round=TREES)

    def run() -> Run:
        booster, seconds = timed(train)
        return Run({"total": seconds}, _facts(booster.predict(X[:10_000], num_threads=THREADS)))

    return run
