"""Writes ``tests/golden/first``: files as rankwright 0.1.0 wrote them, for later versions to read.

Run once with the first version installed (``python make_first.py FOLDER``); what it wrote is kept,
because later versions write other bytes. ``tests/interfaces/test_first_files.py`` reads them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import rankwright as rw
from rankwright.models import MODELS, make_model

SMALL: dict[str, list[dict[str, Any]]] = {
    "linear": [{"loss": "xendcg", "standardize": True}, {"loss": "slam", "max_iter": 5}],
    "domination-rank": [{"penalty": "l1", "alpha": 0.05}],
    "boosted": [{"n_estimators": 3, "num_leaves": 4, "min_child_samples": 3, "n_jobs": 1}],
    "ensemble": [{"members": ["boosted", "linear"], "n_models": 2, "n_estimators": 3, "n_jobs": 1}],
    "slam-perceptron": [{"variant": "voted", "n_epochs": 2}, {"kernel": "rbf"}],
    "prank": [{}, {"variant": "averaged"}],
    "multiclass-perceptron": [{}, {"variant": "averaged"}],
}


def model_files(folder: Path, ds: rw.Dataset) -> dict[str, list[Any]]:
    """Write a model of each kind; return what each predicts for the documents of ``X.npy``."""
    predictions = {}
    for name in MODELS:
        for i, params in enumerate(SMALL.get(name, [{}])):
            model = make_model(name, **params)
            y: Any = ds.y
            if name == "predtron-multilabel":
                y = np.stack([ds.y > 0, ds.y > 1], axis=1).astype(int)
            if name == "predtron-label-ranker":
                y = np.argsort(np.asarray(ds.X)[:, :3], axis=1) + 1
            takes_queries = name not in (
                "predtron-classifier", "predtron-ordinal", "predtron-multilabel",
                "predtron-label-ranker",
            )  # fmt: skip
            fitted = model.fit(ds.X, y, ds.qid) if takes_queries else model.fit(ds.X, y)
            rw.save(fitted, folder / f"{name}-{i}.rw")
            predictions[f"{name}-{i}"] = np.asarray(fitted.predict(ds.X)).tolist()
    return predictions


def command(*arguments: str, folder: Path) -> None:
    """Run the command line."""
    subprocess.run([sys.executable, "-m", "rankwright", *arguments], cwd=folder, check=True)


def main(folder: Path) -> None:
    """Write everything."""
    folder.mkdir(parents=True, exist_ok=True)
    ds = rw.data.make_mslr_like(n_queries=12, n_features=5, mean_docs=6)
    rw.write_letor(ds, folder / "data.txt")
    ds = rw.read(folder / "data.txt")
    warnings.simplefilter("ignore")
    predictions = model_files(folder, ds)
    (folder / "predictions.json").write_text(json.dumps(predictions))
    command(
        "compare", "data.txt", "--models", "xendcg-linear,xendcg-trees,random", "--trials", "2",
        "-o", "comparison", folder=folder,
    )  # fmt: skip
    command(
        "tune", "data.txt", "--model", "xendcg-linear", "--trials", "3",
        "--study", "study.jsonl", folder=folder,
    )  # fmt: skip
    command(
        "noise-study", "data.txt", "--models", "xendcg-linear,random", "--trials", "2",
        "-o", "noise", folder=folder,
    )  # fmt: skip
    for name in ("comparison/report.html", "comparison/.lock", "noise/labels.svg"):
        (folder / name).unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
