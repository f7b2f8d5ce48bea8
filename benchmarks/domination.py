"""Domination Rank and PAMIR: ``python -m benchmarks.domination STEP [--data DIR] [--quick]``.

``topics``: sparse against dense models on generated topics. ``rcv1``: DIR/topics holds the Reuters
RCV1-v2 subset; train on half a, test on half b. ``scaling``: time and memory against the number of
documents. ``pamir``: triplets per second. (LETOR: ``rankwright reproduce domination --figure 4``.)
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import harness

ALPHAS = [10.0**-k for k in (1, 1.5, 2, 2.5, 3, 3.5, 4)]

# Generated topics.
N_WORDS, WORDS_OF_DOC, RELEVANT_SHARE = 100_000, 75, 0.02
KINDS = {"strong": (20, 0.1), "weak": (300, 0.5)}  # telling words, noise
TOPICS_OF_KIND = 4


# --- generated topics --------------------------------------------------------------------------


def words(n: int, seed: int = 0) -> Any:
    """Return n documents of 75 words of 100,000, by Zipf's law, log-normal weights, length 1."""
    rng = np.random.default_rng(seed)
    frequency = np.cumsum(1 / np.arange(1, N_WORDS + 1))
    drawn = np.searchsorted(frequency, rng.random((n, WORDS_OF_DOC)) * frequency[-1])
    values = rng.lognormal(0, 0.5, drawn.shape).astype(np.float32)
    values /= np.sqrt((values**2).sum(axis=1, keepdims=True))
    indptr = np.arange(n + 1, dtype=np.int64) * WORDS_OF_DOC
    indices = drawn.ravel().astype(np.int32)
    X = sp.csr_array((values.ravel(), indices, indptr.astype(np.int32)), shape=(n, N_WORDS))
    X.sum_duplicates()
    return X


def labels(X: Any, kind: str, seed: int) -> Any:
    """Return which documents are relevant: those that hold most of a topic's telling words."""
    n_telling, noise = KINDS[kind]
    rng = np.random.default_rng(seed)
    # Neither the words that all use nor those that nobody does.
    telling = np.zeros(N_WORDS)
    telling[rng.choice(np.arange(100, 5000), n_telling, replace=False)] = rng.random(n_telling)
    truth = X @ telling
    truth += noise * truth.std() * rng.normal(size=len(truth))
    return (truth >= np.quantile(truth, 1 - RELEVANT_SHARE)).astype(np.float64)


def generated(quick: bool) -> dict[str, Any]:
    """Compare l1 with induction and l2 on topics, alpha chosen on a part of the documents."""
    from rankwright.linear import TopicRankers

    n = 5_000 if quick else 20_000
    X = words(2 * n)
    rows = []
    for kind in KINDS:
        Y = np.column_stack([labels(X, kind, seed) for seed in range(TOPICS_OF_KIND)])
        for name, params, alphas in (
            ("l1, induced", {"penalty": "l1", "n_induced": 50, "tol": 1e-3}, ALPHAS),
            # As many values; dense models want less of a penalty.
            ("l2, dense", {"penalty": "l2", "tol": 1e-3}, [alpha / 30 for alpha in ALPHAS]),
        ):
            start = time.perf_counter()
            rankers = TopicRankers(params, grid={"alpha": alphas}, n_jobs=1).fit(X[:n], Y[:n])
            seconds = time.perf_counter() - start
            rows.append(
                {
                    "topics": kind,
                    "model": name,
                    "ap": rankers.score(X[n:], Y[n:]),
                    "density": rankers.coef_.nnz / (N_WORDS * TOPICS_OF_KIND),
                    "seconds": seconds,
                    "alphas": [choice["alpha"] for choice in rankers.choices_],
                }
            )
            print(rows[-1], flush=True)
    return {"n_docs": n, "rows": rows}


# --- RCV1 --------------------------------------------------------------------------------------


def read_topics(folder: Path) -> tuple[Any, Any, Any, Any]:
    """Return features and topics of both halves; topics with 20 documents in each."""
    from sklearn.datasets import load_svmlight_file

    halves = [
        load_svmlight_file(
            str(folder / "topics" / f"rcv1v2-subset1.{half}.svm.gz"),
            n_features=47_236,
            multilabel=True,
            dtype=np.float32,
        )
        for half in "ab"
    ]
    n_topics = int(max(max(max(row, default=0) for row in y) for _, y in halves)) + 1
    tables = []
    for _, rows in halves:
        table = np.zeros((len(rows), n_topics))
        for i, row in enumerate(rows):
            table[i, [int(topic) for topic in row]] = 1
        tables.append(table)
    kept = (tables[0].sum(axis=0) >= 20) & (tables[1].sum(axis=0) >= 20)
    (Xa, _), (Xb, _) = halves
    return _narrow(Xa), tables[0][:, kept], _narrow(Xb), tables[1][:, kept]


def contenders() -> dict[str, tuple[list[float], Callable[[float, Any, Any], Any]]]:
    """Return strengths to choose from, and what fits a topic with one of them."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    from rankwright import PAMIR, DominationRank

    def domination(penalty: str, **options: Any) -> Callable[[float, Any, Any], Any]:
        def fit(alpha: float, X: Any, y: Any) -> Any:
            ranker = DominationRank(penalty, alpha * y.sum(), tol=1e-3, n_jobs=1, **options)
            return ranker.fit(X, y).coef_

        return fit

    strengths = [10.0**k for k in (-2, -1, 0, 1, 2, 3)]
    return {
        "domination l1 induced": (ALPHAS, domination("l1", n_induced=50)),
        "domination l1 induced, relaxed": (ALPHAS, domination("l1", n_induced=50, relax=True)),
        "domination l1 induced, 10 % negatives": (
            ALPHAS,
            domination("l1", n_induced=50, negatives=0.1),
        ),
        "domination elastic net .3": (ALPHAS, domination("elasticnet", l1_ratio=0.3)),
        "domination elastic net .1": (ALPHAS, domination("elasticnet", l1_ratio=0.1)),
        "domination elastic net .1, relaxed": (
            ALPHAS,
            domination("elasticnet", l1_ratio=0.1, relax=True),
        ),
        "domination l2": (ALPHAS, domination("l2")),
        "PAMIR": (
            [0.003, 0.01, 0.03, 0.1, 0.3, 1.0],
            lambda C, X, y: (
                PAMIR.paper(C=C, n_triplets=200_000, variant="averaged").fit(X, y).coef_
            ),
        ),
        "LinearSVC": (strengths, lambda C, X, y: LinearSVC(C=C).fit(X, y).coef_[0]),
        "LinearSVC l1": (
            strengths,
            lambda C, X, y: LinearSVC(C=C, penalty="l1", dual=False).fit(X, y).coef_[0],
        ),
        "LogisticRegression l1": (
            strengths,
            lambda C, X, y: (
                LogisticRegression(C=C, penalty="l1", solver="liblinear").fit(X, y).coef_[0]
            ),
        ),
        "LogisticRegression": (
            strengths,
            lambda C, X, y: LogisticRegression(C=C, max_iter=1000).fit(X, y).coef_[0],
        ),
    }


def rcv1(folder: Path, quick: bool) -> dict[str, Any]:
    """Fit every topic of half a with every contender, test on half b."""
    from rankwright.linear.topics import _left_out
    from rankwright.metrics import AP, DominationError, PairwiseError, Precision

    Xa, Ya, Xb, Yb = read_topics(folder)
    metrics = {
        "ap": AP(),
        "p@10": Precision(k=10),
        "domination_error": DominationError(),
        "all_pairs_error": PairwiseError(),
    }
    topics = range(0, Ya.shape[1], 10) if quick else range(Ya.shape[1])
    rows = []
    for name, (strengths, fit) in contenders().items():
        start, found, density, chosen = time.perf_counter(), [], [], []
        for topic in topics:
            y, out = Ya[:, topic], _left_out(Ya[:, topic], 0.25, 0, topic)
            Xt, yt, Xv, yv = _narrow(Xa[~out]), y[~out], Xa[out], y[out]
            qualities = [AP().mean(yv, Xv @ fit(strength, Xt, yt)) for strength in strengths]
            chosen.append(strengths[int(np.argmax(qualities))])
            coef = fit(chosen[-1], Xa, y)
            scores = np.asarray(Xb @ coef, dtype=np.float64)
            found.append([metric.mean(Yb[:, topic], scores) for metric in metrics.values()])
            density.append(np.count_nonzero(coef) / len(coef))
        means, aps = np.mean(found, axis=0), np.array(found)[:, 0]
        rows.append(
            {
                "model": name,
                **dict(zip(metrics, means.tolist(), strict=True)),
                "ap_standard_error": float(aps.std(ddof=1) / np.sqrt(len(aps))),
                "density": fmean(density),
                "seconds": time.perf_counter() - start,
                "aps": aps.tolist(),
                "strengths": chosen,
            }
        )
        print({k: v for k, v in rows[-1].items() if k not in ("aps", "strengths")}, flush=True)
    best = max(rows, key=lambda row: float(row["ap"]))
    for row in rows:
        difference = np.array(best["aps"]) - np.array(row["aps"])
        row["behind_best"] = float(difference.mean())
        row["behind_best_standard_error"] = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    return {"n_topics": len(topics), "rows": rows}


def rcv1_table(rows: list[dict[str, Any]]) -> str:
    """Return the figures as Markdown, each topic's difference from plain l1 among them."""
    lines = [
        "| | average precision | minus that of l1 | precision at 10 | weights that are not 0 |",
        "|---|--:|--:|--:|--:|",
    ]
    base = np.array(rows[0]["aps"])
    for row in rows:
        gain = np.array(row["aps"]) - base
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        against = f"{gain.mean():+.3f} ± {error:.3f}" if row is not rows[0] else ""
        lines.append(
            f"| {row['model']} | {row['ap']:.3f} | {against} | {row['p@10']:.3f} "
            f"| {row['density']:.2%} |"
        )
    return "\n".join(lines) + "\n"


def _narrow(X: Any) -> Any:
    """Return the same matrix with 32-bit indices, which is all that liblinear takes."""
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_array((X.data, indices, indptr), shape=X.shape)


# --- scaling, speed ----------------------------------------------------------------------------


def _status(name: str) -> int:
    """Return a size of this process in bytes."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(name))
    return 1024 * int(line.split()[1])


def _reset_peak() -> int:
    """Forget the peak of making the data; return what is held now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def scaling(quick: bool) -> dict[str, Any]:
    """Fit one topic of more and more documents; memory is what the process takes beyond X."""
    from rankwright import DominationRank

    rows = []
    for n in (12_500, 25_000, 50_000) if quick else (125_000, 250_000, 500_000, 1_000_000):
        X = words(n)
        y = labels(X, "strong", 0)
        held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        before = _reset_peak()
        start = time.perf_counter()
        ranker = DominationRank("l1", 1e-3 * y.sum(), n_induced=50, tol=1e-3).fit(X, y)
        seconds = time.perf_counter() - start
        peak = _status("VmHWM")
        rows.append(
            {
                "n_docs": n,
                "nonzeros": X.nnz,
                "x_bytes": held,
                "peak_beyond_x_bytes": peak - before,
                "seconds": seconds,
                "seconds_per_million_nonzeros": 1e6 * seconds / X.nnz,
                "seconds_per_million_nonzeros_and_sweep": 1e6 * seconds / X.nnz / ranker.n_iter_,
                "sweeps": ranker.n_iter_,
                "features": len(ranker.selected_features_),
                "gap": ranker.gap_ / ranker.objective_[0],
                "stop": ranker.stop_,
            }
        )
        print(rows[-1], flush=True)
    return {"rows": rows}


def pamir(quick: bool) -> dict[str, Any]:
    """Count triplets per second on 136 dense features, one thread; noise, so that most update."""
    from rankwright import PAMIR
    from rankwright.data import make_mslr_like

    data = make_mslr_like(n_queries=100 if quick else 1000, mean_docs=120)
    X = (data.X / np.maximum(data.X.std(axis=0), 1e-9)).astype(np.float32)
    noise = np.random.default_rng(0).integers(0, 3, len(data.y)).astype(np.float64)
    n, rows = (200_000 if quick else 2_000_000), []
    for name, y in (("labels of the generator", data.y), ("random labels", noise)):
        for variant in ("last", "averaged"):
            seconds = []
            for _ in range(3):
                which: Any = variant
                model = PAMIR.paper(C=0.001, n_triplets=n, variant=which)
                start = time.perf_counter()
                model.fit(X, y, data.qid)
                seconds.append(time.perf_counter() - start)
            rows.append(
                {
                    "labels": name,
                    "variant": variant,
                    "triplets_per_second": n / float(np.median(seconds)),
                    "updates_per_second": model.n_updates_ / float(np.median(seconds)),
                }
            )
            print(rows[-1], flush=True)
    return {"n_docs": len(data.y), "n_triplets": n, "rows": rows}


def main() -> None:
    """Read the command line, run a step, write its results."""
    steps: dict[str, Callable[..., dict[str, Any]]] = {
        "topics": generated,
        "rcv1": rcv1,
        "scaling": scaling,
        "pamir": pamir,
    }
    parser = argparse.ArgumentParser(prog="python -m benchmarks.domination", description=__doc__)
    parser.add_argument("step", choices=list(steps))
    parser.add_argument("--data", type=Path, help="folder with topics/")
    parser.add_argument("--quick", action="store_true", help="small data, to check the step")
    options = parser.parse_args()
    if options.step == "rcv1" and options.data is None:
        parser.error(f"{options.step} needs --data")
    folder = [options.data] if options.step == "rcv1" else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = steps[options.step](*folder, options.quick)
    record = {
        "name": f"domination-{options.step}",
        "quick": options.quick,
        "load_average": list(os.getloadavg()),
        **record,
    }
    results = harness.QUICK_RESULTS if options.quick else harness.RESULTS
    results.mkdir(parents=True, exist_ok=True)
    (results / f"{record['name']}.json").write_text(json.dumps(record, indent=1) + "\n")
    if options.step == "rcv1":
        (results / f"{record['name']}.md").write_text(rcv1_table(record["rows"]))


if __name__ == "__main__":
    main()
