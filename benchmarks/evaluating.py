"""``python -m benchmarks evaluating``: two systems on 100,000 queries, beside reading the files.

A table of documents with features and labels, the scores of what runs today by document id, and a
linear model. In every round a fresh process reads the files and evaluates both systems with four
metrics (means with bootstrap intervals, a paired randomisation test, one segmentation). The bar: at
most 10 s beside the reading.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.harness import DATA, ENVIRONMENT, QUICK_RESULTS, RESULTS

N_QUERIES, QUICK_N_QUERIES, N_DOCS, N_FEATURES = 100_000, 2_000, 10, 8
ROUNDS, QUICK_ROUNDS = 5, 2
BAR = 10.0

ONE_TURN = """
import sys, time
import rankwright as rw
from rankwright.data.scores import read_scores
rw.evaluate, rw.load
begin = time.perf_counter()
test = rw.read(sys.argv[1])
prod = read_scores(sys.argv[2], test)
model = rw.load(sys.argv[3])
read = time.perf_counter()
result = rw.evaluate({"prod": prod, "new": model}, test, segments=["list-length"])
print(read - begin, time.perf_counter() - read)
"""


def run(quick: bool = False) -> None:
    """Measure, and write what came out."""
    n_queries, rounds = (QUICK_N_QUERIES, QUICK_ROUNDS) if quick else (N_QUERIES, ROUNDS)
    files = _files(n_queries)
    turns = []
    for n in range(rounds + 1):  # round 0 warms up
        command = [sys.executable, "-c", ONE_TURN, *map(str, files)]
        text = subprocess.check_output(command, text=True, env={**os.environ, **ENVIRONMENT})
        reading, evaluating = map(float, text.split())
        if n > 0:
            turn = {"reading_s": reading, "evaluating_s": evaluating, "load": os.getloadavg()[0]}
            turns.append(turn)
            print(f"  round {n}/{rounds}  reading {reading:.2f} s, evaluating {evaluating:.2f} s")
    record = {
        "name": "evaluating",
        "method": __doc__,
        "quick": quick,
        "queries": n_queries,
        "documents": n_queries * N_DOCS,
        "reading_s": median(turn["reading_s"] for turn in turns),
        "evaluating_s": median(turn["evaluating_s"] for turn in turns),
        "bar_s": BAR,
        "rounds": turns,
    }
    folder = QUICK_RESULTS if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "evaluating.json").write_text(json.dumps(record, indent=1) + "\n")


def _files(n_queries: int) -> list[Path]:
    """Return table, scores and model, made unless they are there."""
    import rankwright as rw
    from rankwright.data.scores import write_scores

    DATA.mkdir(exist_ok=True)
    files = [DATA / f"evaluating-{n_queries}{end}" for end in (".csv", "-prod.csv", ".rw")]
    if not all(path.exists() for path in files):
        rng = np.random.default_rng(0)
        n = n_queries * N_DOCS
        X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
        weights = rng.normal(size=N_FEATURES)
        y = np.clip(np.rint(X @ weights + rng.normal(0, 2, n)), 0, 4)
        names = [f"feature_{j}" for j in range(N_FEATURES)]
        docs = [f"doc{i}" for i in range(n)]
        data = rw.Dataset(X, y, np.arange(n) // N_DOCS, feature_names=names, doc_ids=docs)
        rw.write(data, files[0])
        write_scores(X[:, 0].astype(np.float64), data, files[1])
        few = data.select(np.arange(min(n_queries, 1000)))
        rw.save(rw.LinearRanker(alpha=0.1).fit_dataset(few), files[2])
    return files
