"""Scoring with trees: our kernel against LightGBM, XGBoost, onnxruntime, compiled C, CatBoost.

All but CatBoost have the very same 500 trees of 64 leaves; CatBoost has grown as many oblivious
trees of 64 leaves on the same documents.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.foreign_trees import write_compiled, write_onnx, write_xgboost
from benchmarks.harness import DATA, QUICK_RESULTS, RESULTS, Contender, Task, run_task
from benchmarks.worker import Run

N_DOCS = 100_000
SIZES = (100, 1000, N_DOCS)
TREES, LEAVES = 500, 64
SMALL_TREES, SMALL_LEAVES = 300, 31
TIMED_DOCS = 2000  # of one timing: small calls are repeated
CALLS = 20_000  # of the latency

METHOD = """MSLR-like documents with 136 features, float32 unless said otherwise; one thread \
unless said otherwise. Timed is the call that a user makes, from an array in memory to scores, \
input checks included. "sum" is that of the first scores: all have the same trees, but CatBoost \
its own."""


def run(quick: bool = False) -> None:
    """Benchmark."""
    folder = make_models(quick)
    for size in SIZES:
        if not (quick and size == N_DOCS):
            run_task(_race(size, folder), quick)
    run_task(_doubles(folder), quick)
    run_task(_two_threads(folder), quick)
    run_latency(folder, quick)


def make_models(quick: bool) -> Path:
    """Write documents and models to a folder, once."""
    from rankwright import BoostedRanker, save
    from rankwright.data import make_mslr_like

    trees, leaves = (20, 8) if quick else (TREES, LEAVES)
    folder = DATA / f"scoring-{trees}-{leaves}"
    if (folder / "done").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    train = make_mslr_like(n_queries=100 if quick else 1000)
    rows = np.arange(N_DOCS) % train.n_docs
    np.save(folder / "X.npy", np.ascontiguousarray(train.X[rows], dtype=np.float32))
    for name, n_trees, n_leaves in (
        ("large", trees, leaves),
        ("small", min(SMALL_TREES, trees), min(SMALL_LEAVES, leaves)),
    ):
        ranker = BoostedRanker(n_estimators=n_trees, num_leaves=n_leaves, learning_rate=0.05)
        ranker.fit_dataset(train)
        save(ranker, folder / f"{name}.rw")
        # Converters want to know an objective.
        head, separator, rest = ranker.model_text_.partition("\nfeature_names=")
        text = f"{head}\nobjective=regression{separator}{rest}"
        (folder / f"{name}.txt").write_text(text)
    write_onnx(folder / "large.txt", folder / "large.onnx")
    write_compiled(folder / "large.txt", folder / "large.so")
    write_xgboost(folder / "large.rw", folder / "large.json")
    catboost = import_module("catboost")
    oblivious = catboost.CatBoostRegressor(
        iterations=trees, depth=int(np.log2(leaves)), learning_rate=0.05, verbose=False
    )
    oblivious.fit(train.X, train.y).save_model(str(folder / "large.cbm"))
    (folder / "done").touch()
    return folder


def _race(size: int, folder: Path) -> Task:
    ours_at_least = 7.0 if size >= 1000 else 5.0
    peers = [
        ("LightGBM", _lightgbm, "lightgbm", "Booster.predict(num_threads=1).", ours_at_least),
        ("onnxruntime", _onnxruntime, "onnxruntime", "TreeEnsembleRegressor, float32.", 3.0),
        ("tl2cgen", _tl2cgen, "tl2cgen", "treelite's trees as C, by gcc -O3.", 3.0),
        ("XGBoost", _xgboost, "xgboost-cpu", "Booster.inplace_predict on the same trees.", None),
        ("CatBoost", _catboost, "catboost", "Oblivious trees of its own.", None),
    ]
    return Task(
        name=f"scoring-{size}",
        title=f"Scoring, {TREES} trees of {LEAVES} leaves, {size:,} documents at once",
        method=METHOD,
        amount=size,
        unit="documents",
        contenders=[
            Contender(
                "rankwright",
                partial(_rankwright, folder, size),
                "rankwright",
                "BoostedRanker.predict.",
            ),
            *(
                Contender(name, partial(make, folder, size), package, note, bars={"total": bar})
                for name, make, package, note, bar in peers
            ),
        ],
    )


def _doubles(folder: Path) -> Task:
    size = 10_000
    ours = partial(_rankwright, folder, size, np.float64)
    theirs = partial(_lightgbm, folder, size, np.float64)
    return Task(
        name="scoring-float64",
        title=f"Scoring of float64 features, {size:,} documents at once",
        method=METHOD,
        amount=size,
        unit="documents",
        contenders=[
            Contender("rankwright", ours, "rankwright", "Thresholds as doubles."),
            Contender("LightGBM", theirs, "lightgbm", "Booster.predict.", bars={"total": 7.0}),
        ],
        agree=("sum",),
    )


def _two_threads(folder: Path) -> Task:
    two = partial(_rankwright, folder, N_DOCS, np.float32, 2)
    one = partial(_rankwright, folder, N_DOCS)
    return Task(
        name="scoring-threads",
        title=f"Scoring with two threads, {N_DOCS:,} documents at once",
        method=METHOD,
        amount=N_DOCS,
        unit="documents",
        contenders=[
            Contender("rankwright, 2 threads", two, "rankwright", "n_jobs=2."),
            Contender("rankwright, 1 thread", one, "rankwright", "n_jobs=1.", bars={"total": 1.8}),
        ],
        agree=("sum",),
    )


def _documents(folder: Path, size: int, dtype: Any = np.float32) -> Any:
    return np.ascontiguousarray(np.load(folder / "X.npy", mmap_mode="r")[:size], dtype=dtype)


def _repeated(predict: Callable[[], Any], size: int) -> Callable[[], Run]:
    """Return a run that times as many calls as make TIMED_DOCS documents, and reports one."""
    calls = max(1, TIMED_DOCS // size)
    first = float(np.sum(np.ravel(predict())[:100]))

    def run() -> Run:
        start = time.perf_counter()
        for _ in range(calls):
            predict()
        return Run({"total": (time.perf_counter() - start) / calls}, {"sum": first})

    return run


def _rankwright(
    folder: Path, size: int, dtype: Any = np.float32, threads: int = 1
) -> Callable[[], Run]:
    import rankwright

    ranker = rankwright.load(folder / "large.rw")
    ranker.n_jobs = threads
    X = _documents(folder, size, dtype)
    return _repeated(lambda: ranker.predict(X), size)


def _lightgbm(folder: Path, size: int, dtype: Any = np.float32) -> Callable[[], Run]:
    booster = import_module("lightgbm").Booster(model_file=folder / "large.txt")
    X = _documents(folder, size, dtype)
    return _repeated(lambda: booster.predict(X, raw_score=True, num_threads=1), size)


def _onnxruntime(folder: Path, size: int) -> Callable[[], Run]:
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(folder / "large.onnx"), options, providers=["CPUExecutionProvider"]
    )
    X = _documents(folder, size)
    return _repeated(lambda: session.run(None, {"X": X})[0], size)


def _tl2cgen(folder: Path, size: int) -> Callable[[], Run]:
    tl2cgen = import_module("tl2cgen")
    predictor = tl2cgen.Predictor(str(folder / "large.so"), nthread=1)
    X = _documents(folder, size)
    return _repeated(lambda: predictor.predict(tl2cgen.DMatrix(X)), size)


def _xgboost(folder: Path, size: int) -> Callable[[], Run]:
    xgboost = import_module("xgboost")
    booster = xgboost.Booster({"nthread": 1}, model_file=folder / "large.json")
    X = _documents(folder, size)
    return _repeated(lambda: booster.inplace_predict(X), size)


def _catboost(folder: Path, size: int) -> Callable[[], Run]:
    model = import_module("catboost").CatBoostRegressor().load_model(str(folder / "large.cbm"))
    X = _documents(folder, size)
    return _repeated(lambda: model.predict(X, thread_count=1), size)


def run_latency(folder: Path, quick: bool) -> None:
    """Measure single calls of 100 documents, and write their quantiles."""
    import rankwright

    ranker = rankwright.load(folder / "small.rw")
    ranker.n_jobs = 1
    X = _documents(folder, 100)
    calls = CALLS // 100 if quick else CALLS
    seconds = np.empty(calls)
    for i in range(-calls // 10, calls):  # the first ones warm up
        start = time.perf_counter()
        ranker.predict(X)
        seconds[i] = time.perf_counter() - start
    quantiles = {f"p{q:g}": float(np.percentile(seconds, q) * 1e6) for q in (50, 90, 99, 99.9)}
    record = {
        "name": "scoring-latency",
        "title": f"100 documents, {SMALL_TREES} trees of {SMALL_LEAVES} leaves, one call",
        "calls": calls,
        "microseconds": quantiles,
        "bar": {"p99": 250},
    }
    target = QUICK_RESULTS if quick else RESULTS
    (target / "scoring-latency.json").write_text(json.dumps(record, indent=1) + "\n")
    print(record["title"], quantiles)
