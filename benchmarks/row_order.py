"""What the order of a query's rows does to rankers: ``python -m benchmarks.row_order --data DIR``.

DIR is as for ``benchmarks.letor``. The rows of each training query are shuffled; a figure is the
mean over the five folds of NDCG@10 on the test part, and its standard deviation is that over the
shuffles. Features are divided by their standard deviations in the training part.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS
from benchmarks.letor import DATA_SETS, read_folds

ONE_PASS: dict[str, Any] = {
    "variant": "last",
    "n_epochs": 1,
    "shuffle": False,
    "standardize": True,
}
TEN_PASSES: dict[str, Any] = {
    **ONE_PASS,
    "variant": "averaged",
    "n_epochs": 10,
    "shuffle": True,
    "random_state": 0,
}


def rankers() -> dict[str, Any]:
    """Return what makes each ranker, by name."""
    from rankwright import LinearRanker, PredtronRanker, SLAMPerceptron

    made: dict[str, Any] = {}
    for passes, params in (("one pass", ONE_PASS), ("averaged, 10 passes", TEN_PASSES)):
        for weights in ("printed", "group"):
            name = f"SLAMPerceptron(weights={weights!r}), {passes}"
            made[name] = partial(SLAMPerceptron, weights=weights, **params)
        made[f"PredtronRanker, {passes}"] = partial(PredtronRanker, **params)
    made["LinearRanker('smooth-slam')"] = partial(
        LinearRanker, "smooth-slam", alpha=0.1, standardize=True
    )
    return made


def run(folder: Path, n_shuffles: int) -> None:
    """Fit all rankers on shuffled rows; print and write what comes out."""
    records = []
    for name in DATA_SETS:
        folds = read_folds(folder, name)
        for ranker, make in rankers().items() if folds else ():
            values = [
                fmean(_quality(make(), fold, seed) for fold in folds) for seed in range(n_shuffles)
            ]
            mean, sd = fmean(values), stdev(values)
            spread = max(values) - min(values)
            record = {"data": name, "ranker": ranker, "mean": mean, "sd": sd, "spread": spread}
            records.append({**record, "values": values})
            print(f"{name:8} {ranker:52} mean {mean:.4f}  sd {sd:.4f}  spread {spread:.4f}")
    if records:
        print(table(records))
        text = json.dumps({"name": "row-order", "shuffles": n_shuffles, "results": records})
        (RESULTS / "row-order.json").write_text(text + "\n")


def table(records: list[dict[str, Any]]) -> str:
    """Return the figures as a table for the docs: a row for each ranker."""
    lines = ["| | OHSUMED, mean | sd | MQ2008, mean | sd |", "|---|--:|--:|--:|--:|"]
    for ranker in rankers():
        found = [
            f"{r[key]:.4f}" for r in records if r["ranker"] == ranker for key in ("mean", "sd")
        ]
        lines.append(" | ".join([f"| {ranker}", *(cell.lstrip("0") for cell in found)]) + " |")
    return "\n".join(lines)


def _quality(ranker: Any, fold: Any, seed: int) -> float:
    from rankwright.metrics import NDCG

    train, rng = fold.train, np.random.default_rng(seed)
    rows = np.concatenate(
        [rng.permutation(np.arange(query.start, query.stop)) for query in train.groups]
    )
    ranker.fit(train.X[rows], train.y[rows], train.qid[rows])
    scores = np.asarray(ranker.predict(fold.test.X))
    return float(NDCG(k=10).mean(fold.test.y, scores, fold.test.groups))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.row_order", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--shuffles", type=int, default=20)
    arguments = parser.parse_args()
    run(arguments.data, arguments.shuffles)


if __name__ == "__main__":
    main()
