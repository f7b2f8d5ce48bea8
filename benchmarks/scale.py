"""Trees from data in parts: what a second machine gives, and how much memory they take.

T(1) is the time of a fit by one process in memory with one thread, T(2) that of two machines with
one thread each to the same documents; the share that is used of two cores is T(1) / (2 T(2)). Fits
take turns, and seconds are per tree, from the first tree on: bins and imports are told apart.
Memory is the largest of a machine that is its own (mapped files are not).
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import QUICK_RESULTS, RESULTS

N_DOCS, N_FEATURES, N_TREES, ROUNDS = 300_000, 136, 30, 5
QUICK_DOCS, QUICK_TREES, QUICK_ROUNDS = 5_000, 5, 2


class Watch:
    """Looks at the memory of the children of this process until it is closed."""

    def __init__(self) -> None:
        self.largest = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            for pid in Path("/proc/self/task").glob("*/children"):
                for child in pid.read_text(encoding="ascii").split():
                    self.largest = max(self.largest, own_memory(child))

    def close(self) -> None:
        self._over.set()
        self._thread.join()


def own_memory(pid: str) -> int:
    """Return the bytes of a process that are in memory and in no file."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return 1024 * int(lines.get("RssAnon", "0 kB").split()[0])


def seconds_a_tree(fit: Any, data: Any) -> tuple[float, float]:
    """Return the seconds before the first tree was there, and those of each later one."""
    begin, seen = time.perf_counter(), []
    fit(data, callback=lambda progress: seen.append(time.perf_counter()))
    return seen[0] - begin, (seen[-1] - seen[0]) / (len(seen) - 1)


def run(quick: bool = False) -> None:
    import rankwright as rw

    n_docs, n_trees, rounds = (N_DOCS, N_TREES, ROUNDS)
    if quick:
        n_docs, n_trees, rounds = QUICK_DOCS, QUICK_TREES, QUICK_ROUNDS
    rng = np.random.default_rng(0)
    options: dict[str, Any] = {"n_estimators": n_trees, "min_child_samples": 50}
    with tempfile.TemporaryDirectory() as folder:
        X = rng.normal(size=(2 * n_docs, N_FEATURES)).astype(np.float32)
        y = np.clip(np.round(X[:, :5].sum(axis=1) + rng.normal(size=2 * n_docs)), 0, 4)
        data = rw.Dataset(X, y, np.arange(2 * n_docs) // 100)
        for i, half in enumerate(np.split(np.arange(data.n_queries), 2)):
            rw.write(data.select(half), f"{folder}/{i}.parquet")
        parts = rw.read_parts(folder)
        found: dict[str, list[tuple[float, float]]] = {"one": [], "two": []}
        watch = Watch()
        for n in range(rounds):
            one = rw.BoostedRanker(**options, n_jobs=1)
            found["one"].append(seconds_a_tree(one.fit_dataset, data))
            two = rw.BoostedRanker(**options, n_jobs=2)
            found["two"].append(seconds_a_tree(two.fit_parts, parts))
            print(f"round {n + 1}/{rounds}: {found['one'][-1]}, {found['two'][-1]}", flush=True)
        watch.close()
    one_tree, two_trees = (median(tree for _, tree in found[name]) for name in ("one", "two"))
    record = {
        "name": "scale-trees",
        "n_docs_a_machine": n_docs,
        "n_features": N_FEATURES,
        "n_trees": n_trees,
        "quick": quick,
        "seconds": found,
        "seconds_a_tree": {"one": one_tree, "two": two_trees},
        "efficiency": one_tree / (2 * two_trees),
        "lost_ms_a_tree": 1000 * (two_trees - one_tree / 2),
        "memory_of_a_machine": watch.largest,
        "bytes_a_document": watch.largest / n_docs,
    }
    place = QUICK_RESULTS if quick else RESULTS
    place.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1) + "\n"
    (place / "scale-trees.json").write_text(text, encoding="utf-8")
    print(text, flush=True)
