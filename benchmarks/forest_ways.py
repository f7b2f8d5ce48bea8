"""``python -m benchmarks.forest_ways``: ways to score with trees, ours among them.

Writes ``benchmarks/results/forest-ways.json`` and ``.md``: microseconds a document, one thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import FOLDER, RESULTS
from benchmarks.scoring import LEAVES, TREES, make_models

N_DOCS = 20_000


def run(quick: bool = False) -> None:
    """Compile, measure, check that all ways agree, and write."""
    from rankwright import load
    from rankwright.trees.forest import Forest, cut

    models = make_models(quick)
    ranker = load(models / "large.rw")
    forest = Forest.from_text(ranker.model_text_, ranker.n_features_in_)
    X = np.load(models / "X.npy", mmap_mode="r")[:N_DOCS]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for array in ("node_begin", "leaf_begin", "feature", "left", "right", "missing"):
            getattr(forest, array).tofile(folder / array)
        forest.leaf_value.tofile(folder / "leaf_value")
        forest.set_begin.tofile(folder / "set_begin")
        cut(forest.threshold, np.float64).tofile(folder / "cut64")
        cut(forest.threshold, np.float32).tofile(folder / "cut32")
        np.array([forest.n_features]).tofile(folder / "n_features")
        X.tofile(folder / "X")
        program = folder / "forest_ways"
        source = FOLDER / "forest_ways.cpp"
        compiler = [os.environ.get("CXX", "g++"), "-O3", "-std=c++20", f"-I{FOLDER.parent / 'cpp'}"]
        subprocess.run([*compiler, source, "-o", program], check=True)
        answer = subprocess.run(
            [program, folder, str(N_DOCS)], check=True, capture_output=True, text=True
        )
    found = json.loads(answer.stdout)
    sums = {total for way, (_, total) in found.items() if not way.startswith("bytes")}
    if len(sums) != 1:
        raise RuntimeError(f"the ways disagree: {found}")
    record = {
        "name": "forest-ways",
        "title": f"{TREES} trees of {LEAVES} leaves, {forest.n_features} features, one thread",
        "documents": N_DOCS,
        "load_average": list(os.getloadavg()),
        "microseconds": {way: us for way, (us, _) in found.items()},
    }
    rows = [f"| {way} | {us:.2f} |" for way, (us, _) in found.items()]
    table = "\n".join([f"| {record['title']} | µs a document |", "|---|--:|", *rows]) + "\n"
    if not quick:
        (RESULTS / "forest-ways.json").write_text(json.dumps(record, indent=1) + "\n")
        (RESULTS / "forest-ways.md").write_text(table)
    print(table)


if __name__ == "__main__":
    run()
