"""Ordinal learners with their defaults: ``python -m benchmarks.ordinal [--data DIR]``.

DIR holds ``era.csv``, ``esl.csv``, ``lev.csv`` and ``swd.csv``: a line with the numbers of rows and
features and the names of the labels, then one row each, features first and the label's place last.
Other sets are scikit-learn's and generated ones, whose rows are sorted by their labels. Ten random
splits, two thirds for training. Ours get features as they are; the others, mord's and
scikit-learn's, a ``StandardScaler``, whose time is part of theirs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.paired import (
    Makers,
    difference_table,
    quality_table,
    run_models,
    write_results,
)

FILES = ("era", "esl", "lev", "swd")
METHOD = (
    "Mean absolute error on ten random splits, two thirds for training. Ours with their defaults, "
    "on features as they are; the others behind a StandardScaler."
)


def models() -> Makers:
    """Return the models by name: ours, then the others that are installed."""
    import rankwright as rw

    found: Makers = {
        "PRank": rw.PRank,
        "PredtronOrdinal": rw.PredtronOrdinal,
        "WidrowHoff": rw.WidrowHoff,
        "MulticlassPerceptron": rw.MulticlassPerceptron,
    }
    others: Makers = {
        "LogisticRegression": lambda: LogisticRegression(max_iter=1000),
        "Perceptron": lambda: Perceptron(random_state=0),
    }
    try:
        mord = import_module("mord")
    except ImportError:
        print("mord is not installed")
    else:
        others = {"mord LogisticAT": lambda: mord.LogisticAT(alpha=1.0)} | others
    return found | {name: partial(scaled, make) for name, make in others.items()}


def scaled(make: Callable[[], Any]) -> Any:
    """Return a model behind a scaler."""
    return make_pipeline(StandardScaler(), make())


def cut(values: Any, n_labels: int) -> Any:
    """Return labels with about as many rows each."""
    return np.digitize(values, np.quantile(values, np.arange(1, n_labels) / n_labels))


def generated(n_labels: int, n_features: int, noise: float) -> tuple[Any, Any]:
    """Return features of many sizes and labels of a direction, sorted by label."""
    rng = np.random.default_rng([n_labels, n_features])
    Z = rng.normal(size=(1500, n_features))
    score = Z @ rng.normal(size=n_features) / np.sqrt(n_features) + noise * rng.normal(size=1500)
    y = cut(score, n_labels)
    order = np.argsort(y, kind="stable")
    return (Z * rng.lognormal(0, 2, n_features))[order], y[order]


def data_sets(folder: Path | None) -> dict[str, tuple[Any, Any]]:
    """Return features and labels by name."""
    found = {}
    for name in FILES:
        if folder is not None and (folder / f"{name}.csv").exists():
            rows = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
            found[name.upper()] = rows[:, :-1], rows[:, -1].astype(np.int64)
    diabetes = datasets.load_diabetes(return_X_y=True)
    return found | {
        "diabetes in 5": (diabetes[0], cut(diabetes[1], 5)),
        "wine": datasets.load_wine(return_X_y=True),
        "digits": datasets.load_digits(return_X_y=True),
        "generated, 5 labels": generated(5, 10, 0.3),
        "generated, 10 labels": generated(10, 50, 0.1),
        "generated, noisy": generated(4, 3, 1.0),
    }


def judge(model: Any, X: Any, y: Any) -> dict[str, float]:
    """Return the mean absolute error."""
    return {"mean_absolute_error": float(np.abs(model.predict(X).astype(float) - y).mean())}


def run(folder: Path | None) -> None:
    """Measure all models on all data sets; print and write what comes out."""
    sets = {}
    for name, (X, y) in data_sets(folder).items():
        print(name, X.shape, flush=True)
        sets[name] = run_models(models(), X, y, judge)
    figure = "mean_absolute_error"
    pairs = [
        (ours, theirs)
        for theirs in ("mord LogisticAT", "LogisticRegression")
        for ours in ("PRank", "PredtronOrdinal")
    ]
    lines = quality_table(sets, {figure: "MAE"})
    differences = difference_table(sets, pairs, figure, "MAE", larger_is_better=False)
    write_results("ordinal", METHOD, sets, "\n".join([*lines, "", *differences, "", METHOD]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ordinal", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    run(parser.parse_args().data)
