"""Ordinal data sets: ``python -m benchmarks.ordinal --data DIR``.

DIR holds ``era.csv``, ``esl.csv``, ``lev.csv`` and ``swd.csv``: a line with the numbers of rows and
features and the names of the labels, then one row each, features first and the label's place last.
Ten random splits, two thirds for training; features are standardised on the training part, and a
column of ones is added. Figures are mean absolute errors on the rest, with seconds of training.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib import import_module
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS

DATA_SETS = ("era", "esl", "lev", "swd")
N_SPLITS = 10


def models() -> dict[str, Any]:
    """Return the models by name: ours, then mord's where it is installed."""
    import rankwright as rw

    few: Any = {"n_epochs": 5, "shuffle": True, "random_state": 0, "variant": "averaged"}
    found = {
        "PRank": rw.PRank(**few),
        "WidrowHoff": rw.WidrowHoff(0.01, **few),
        "MulticlassPerceptron (uniform)": rw.MulticlassPerceptron("uniform", **few),
        "MulticlassPerceptron (max)": rw.MulticlassPerceptron("max", **few),
    }
    try:
        mord = import_module("mord")
    except ImportError:
        return found
    return found | {
        "mord LogisticAT": mord.LogisticAT(alpha=1.0),
        "mord OrdinalRidge": mord.OrdinalRidge(alpha=1.0),
    }


def load(path: Path) -> tuple[Any, Any]:
    """Return features and labels."""
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    return rows[:, :-1], rows[:, -1].astype(np.int64)


def measure(model: Any, X: Any, y: Any) -> tuple[list[float], list[float]]:
    """Return errors and training times over the splits."""
    from sklearn.base import clone

    errors, seconds = [], []
    for split in range(N_SPLITS):
        order = np.random.default_rng(split).permutation(len(y))
        train, test = order[: 2 * len(y) // 3], order[2 * len(y) // 3 :]
        mean, scale = X[train].mean(axis=0), X[train].std(axis=0)
        Z = np.c_[(X - mean) / np.where(scale > 0, scale, 1), np.ones(len(y))]
        fresh = clone(model)
        begin = time.perf_counter()
        fresh.fit(Z[train], y[train])
        seconds.append(time.perf_counter() - begin)
        errors.append(float(np.abs(fresh.predict(Z[test]) - y[test]).mean()))
    return errors, seconds


def run(folder: Path) -> None:
    """Measure all models on all data sets that are there; print and write what comes out."""
    records = []
    for name in DATA_SETS:
        path = folder / f"{name}.csv"
        if not path.exists():
            print(f"{name}: not in {folder}")
            continue
        X, y = load(path)
        for model_name, model in models().items():
            errors, seconds = measure(model, X, y)
            records.append(
                {
                    "data": name,
                    "model": model_name,
                    "mean_absolute_error": fmean(errors),
                    "deviation": stdev(errors),
                    "seconds": fmean(seconds),
                }
            )
            print(
                f"{name}  {model_name:32} {fmean(errors):.3f} +- {stdev(errors):.3f}"
                f"  {1000 * fmean(seconds):8.2f} ms",
                flush=True,
            )
    if records:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "ordinal.json").write_text(json.dumps(records, indent=1) + "\n")
        (RESULTS / "ordinal.md").write_text(table(records))


def table(records: list[dict[str, Any]]) -> str:
    """Return the errors by model and data set, and the mean time of training, as Markdown."""
    sets = list(dict.fromkeys(record["data"] for record in records))
    lines = [
        f"| | {' | '.join(name.upper() for name in sets)} | training, ms |",
        f"|---|{'--:|' * (len(sets) + 1)}",
    ]
    for model in dict.fromkeys(record["model"] for record in records):
        mine = {record["data"]: record for record in records if record["model"] == model}
        errors = (f"{mine[name]['mean_absolute_error']:.3f}" for name in sets)
        milliseconds = 1000 * fmean(record["seconds"] for record in mine.values())
        lines.append(f"| {model} | {' | '.join(errors)} | {milliseconds:.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ordinal", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    run(parser.parse_args().data)
