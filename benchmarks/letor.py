"""Five-fold figures on LETOR folders: ``python -m benchmarks.letor --data DIR``.

DIR holds the data sets as ``ohsumed/Fold1/train.txt.gz`` and so on. For each fold the penalty
weight is chosen by NDCG@10 on the validation part; figures are means over the folds of the test
parts, by the conventions of the LETOR scripts, which published figures follow.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS

DATA_SETS = ("ohsumed", "mq2008")
# Two grids, because a fold has some twenty validation queries: which one is searched moves the mean
# by as much as the losses differ.
GRIDS = {"narrow": (1.0, 0.3, 0.1, 0.03, 0.01), "wide": (1.0, 0.1, 0.01, 1e-3, 1e-4)}
METRICS = ("letor:ndcg@5", "letor:ndcg@10", "letor:map", "ndcg@10(empty=0.0)")
CHOICE = "letor:ndcg@10"


def losses() -> dict[str, Any]:
    """Return the losses by name."""
    from rankwright.losses import SLAM, XENDCG, Domination, ListNet, RankHinge, SmoothSLAM

    return {
        "xendcg": XENDCG(gamma=0.5),
        "listnet": ListNet(),
        "domination": Domination(),
        "smooth-slam": SmoothSLAM(),
        "slam": SLAM(),
        "rank_hinge": RankHinge(normalize="pairs"),
    }


@dataclass(frozen=True)
class Fold:
    """The parts of one fold."""

    train: Any
    vali: Any
    test: Any


def run(folder: Path) -> None:
    """Fit all losses on all data sets that are there; print and write what comes out."""
    records = []
    for name in DATA_SETS:
        folds = read_folds(folder, name)
        for loss, grid in product(losses(), GRIDS) if folds else ():
            records.append(_five_folds(name, loss, grid, folds))
            print(_line(records[-1]), flush=True)
    if records:
        RESULTS.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"name": "letor", "grids": GRIDS, "results": records}, indent=1)
        (RESULTS / "letor.json").write_text(text + "\n")
        print(table(records))


def table(records: list[dict[str, Any]]) -> str:
    """Return the figures as a table for the docs: a row for each loss and grid."""
    found = {(r["data"], r["loss"], r["grid"]): r for r in records}
    names = [f"{data}, {metric.partition('(')[0]}" for data in DATA_SETS for metric in METRICS]
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "--:|" * len(names)]
    for loss, grid in product(losses(), GRIDS):
        cells = [
            f"{found[data, loss, grid]['means'][metric]:.4f}"
            for data, metric in product(DATA_SETS, METRICS)
            if (data, loss, grid) in found
        ]
        zero = any(r["n_models_of_weights_0"] for r in records if r["loss"] == loss)
        name = f"{loss}, {grid}" + (", weights 0" if zero else "")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def read_folds(folder: Path, name: str) -> list[Fold]:
    """Return the folds of a data set; none, and say so, if the folder has none."""
    folds = sorted((folder / name).glob("Fold*"))
    if not folds:
        print(f"{name}: skipped, {folder / name} has no folds.")
    return [_read(fold) for fold in folds]


def _read(fold: Path) -> Fold:
    from rankwright import read

    return Fold(*(read(fold / f"{part}.txt.gz") for part in ("train", "vali", "test")))


def _five_folds(data_set: str, loss: str, grid: str, folds: list[Fold]) -> dict[str, Any]:
    start = time.perf_counter()
    chosen, values, n_zero = [], [], 0
    for fold in folds:
        ranker, alpha = _best(losses()[loss], GRIDS[grid], fold)
        chosen.append(alpha)
        n_zero += not ranker.coef_.any()
        values.append(_measure(ranker, fold.test))
    return {
        "data": data_set,
        "loss": loss,
        "grid": grid,
        "means": {metric: fmean(value[metric] for value in values) for metric in METRICS},
        "folds": values,
        "alphas": chosen,
        "n_models_of_weights_0": n_zero,  # all documents tied: the order of the file is measured
        "seconds": time.perf_counter() - start,
        "load_average": list(os.getloadavg()),
    }


def _best(loss: Any, alphas: tuple[float, ...], fold: Fold) -> tuple[Any, float]:
    """Return the ranker of the penalty weight that is best on the validation part."""
    from rankwright import LinearRanker

    fitted = []
    for alpha in alphas:
        # Labels, scales and penalties of the training part only.
        ranker = LinearRanker(loss, alpha=alpha, standardize=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranker.fit(fold.train.X, fold.train.y, fold.train.qid)
        fitted.append((_measure(ranker, fold.vali)[CHOICE], alpha, ranker))
    _, alpha, ranker = max(fitted, key=lambda found: found[:2])
    return ranker, alpha


def _measure(ranker: Any, part: Any) -> dict[str, float]:
    from rankwright.metrics import parse

    scores = np.asarray(ranker.predict(part.X))
    return {name: float(parse(name).mean(part.y, scores, part.groups)) for name in METRICS}


def _line(record: dict[str, Any]) -> str:
    means = "  ".join(f"{name} {value:.4f}" for name, value in record["means"].items())
    alphas = ", ".join(f"{alpha:g}" for alpha in record["alphas"])
    zero = record["n_models_of_weights_0"]
    notes = f"{record['seconds']:.1f} s" + (f", {zero} models of weights 0" if zero else "")
    what = f"{record['data']:8} {record['loss']:11} {record['grid']:6}"
    return f"{what} {means}  alpha {alphas}  {notes}"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.letor", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    run(parser.parse_args().data)


if __name__ == "__main__":
    main()
