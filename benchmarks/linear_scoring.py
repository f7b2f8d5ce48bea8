"""``python -m benchmarks linear-scoring``: documents a second of linear models, and of a call.

136 float32 features, one thread, one process. In every round each has its turn: runs of calls, of
which the fastest counts, since whatever disturbs a call of microseconds makes it longer; a figure
is the median over the rounds. Seconds are the processor's, which a busy machine lengthens least.
"kernel" is the compiled product alone, on rows prepared beforehand and with memory for the scores
included; what ``predict`` takes beyond it is the overhead, of models that predict labels with the
decision. "memory" is the sum of the same bytes as 64-bit integers by NumPy: what reading them costs
at least. 100 and 1,000 documents stay in a cache, 100,000 do not. The bar: an overhead of at most
5 microseconds for 100 documents.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import QUICK_RESULTS, RESULTS

SIZES = (100, 1_000, 100_000)
N_FEATURES = 136
ROUNDS, QUICK_ROUNDS = 41, 3
RUNS, RUN_S = 10, 0.0005  # of each in a round, and how long one takes
OVERHEAD_US = 5.0  # the bar

Call = Callable[[], Any]


def run(quick: bool = False) -> None:
    """Measure, and write what came out."""
    from rankwright.blas import one_blas_thread

    os.environ["RANKWRIGHT_NUM_THREADS"] = "1"
    with one_blas_thread():
        _write(*_measured(QUICK_ROUNDS if quick else ROUNDS), quick)


def _measured(rounds: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what was found of each tool and number of documents, and of each model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(max(SIZES), N_FEATURES)).astype(np.float32)
    models = _models(X[:2000])
    rows: list[dict[str, Any]] = []
    for n in SIZES:
        times = measure(_contenders(X[:n], models["LinearRanker"]), rounds)
        rows += [_row(n, name, us, times) for name, us in times.items()]
    times = measure(_calls_of(X[:100], models), rounds)
    calls = [
        {"model": name, "us": us, "kernel_us": times[f"{name}, kernel"]}
        for name, us in times.items()
        if not name.endswith(", kernel")
    ]
    return rows, calls


def _write(rows: list[dict[str, Any]], calls: list[dict[str, Any]], quick: bool) -> None:
    record = {
        "name": "linear-scoring",
        "method": __doc__,
        "quick": quick,
        "load_average": os.getloadavg(),
        "bar_us": OVERHEAD_US,
        "rows": rows,
        "calls_of_100": calls,
    }
    folder = QUICK_RESULTS if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "linear-scoring.json").write_text(json.dumps(record, indent=1) + "\n")
    text = table(rows, calls)
    (folder / "linear-scoring.md").write_text(text)
    print(text)


def measure(calls: dict[str, Call], rounds: int) -> dict[str, float]:
    """Return the microseconds of each call."""
    sizes = {}
    for name, call in calls.items():
        call()  # warm
        sizes[name] = max(1, int(RUN_S / _seconds(call, 1)))
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            found[name].append(min(_seconds(call, sizes[name]) for _ in range(RUNS)))
    return {name: 1e6 * median(seconds) for name, seconds in found.items()}


def _seconds(call: Call, n: int) -> float:
    """Return the processor's time of a call, over n of them: the clock itself takes a while."""
    start = time.thread_time()
    for _ in range(n):
        call()
    return (time.thread_time() - start) / n


def _row(n: int, name: str, us: float, times: dict[str, float]) -> dict[str, Any]:
    return {
        "documents": n,
        "name": name,
        "us": us,
        "documents_per_s": n / us * 1e6,
        "gigabytes_per_s": n * N_FEATURES * 4 / us / 1e3,
        "overhead_us": us - times["kernel"] if name == "rankwright" else None,
        "of_memory": us / times["memory"],
    }


def _models(X: Any) -> dict[str, Any]:
    """Return fitted linear models."""
    import rankwright as rw

    rng = np.random.default_rng(1)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=len(X)) + 1), 0, 4)
    qid = np.arange(len(X)) // 50
    kinds = {
        "LinearRanker": rw.LinearRanker(max_iter=5),
        "DominationRank": rw.DominationRank(max_iter=5),
        "SLAMPerceptron": rw.SLAMPerceptron(),
        "OnlineRanker": rw.OnlineRanker(),
        "PAMIR": rw.PAMIR(),
        "PredtronRanker": rw.PredtronRanker(),
        "PRank": rw.PRank(),
        "WidrowHoff": rw.WidrowHoff(),
        "MulticlassPerceptron": rw.MulticlassPerceptron(),
        "PredtronOrdinal": rw.PredtronOrdinal(),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations are enough
        return {name: model.fit(X, y, qid) for name, model in kinds.items()}


def _kernel(X: Any, coef: Any) -> Call:
    from rankwright import _kernels

    rows, weights, none = _kernels.dense_rows(X), np.ascontiguousarray(coef), np.empty(0)
    shape = (len(X), *weights.shape[:-1])
    return lambda: _kernels.linear_scores(rows, weights, none, np.empty(shape), 1)


def _contenders(X: Any, model: Any) -> dict[str, Call]:
    from sklearn.linear_model import LinearRegression

    weights = model.coef_.astype(np.float32)
    other = LinearRegression().fit(X[:100], X[:100, 0])
    words = X.ravel().view(np.int64)
    return {
        "rankwright": lambda: model.predict(X),
        "kernel": _kernel(X, model.coef_),
        "memory": words.sum,
        "NumPy, X @ w": lambda: X @ weights,
        "scikit-learn, LinearRegression": lambda: other.predict(X),
    }


def _calls_of(X: Any, models: dict[str, Any]) -> dict[str, Call]:
    calls: dict[str, Call] = {}
    for name, model in models.items():
        calls[name] = partial(model.predict, X)
        calls[f"{name}, kernel"] = _kernel(X, model.coef_)
    return calls


def table(rows: list[dict[str, Any]], calls: list[dict[str, Any]]) -> str:
    """Return the figures as Markdown."""
    lines = [
        "| documents | tool | a call | documents a second | GB/s | of the memory | overhead |",
        "|--:|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        over = "" if row["overhead_us"] is None else f"{row['overhead_us']:.1f} µs"
        lines.append(
            f"| {row['documents']:,} | {row['name']} | {row['us']:,.1f} µs | "
            f"{row['documents_per_s'] / 1e6:.1f} M | {row['gigabytes_per_s']:.1f} | "
            f"{row['of_memory']:.2f} × | {over} |"
        )
    lines += [
        "",
        "| `predict` of 100 documents | a call | kernel | overhead |",
        "|---|--:|--:|--:|",
    ]
    for call in calls:
        us, kernel = call["us"], call["kernel_us"]
        lines.append(f"| {call['model']} | {us:.1f} µs | {kernel:.1f} µs | {us - kernel:.1f} µs |")
    return "\n".join(lines) + "\n"
