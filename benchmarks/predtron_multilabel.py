"""Quality of PredtronMultilabel and PredtronLabelRanker on multilabel data sets.

``python -m benchmarks.predtron_multilabel --data FOLDER``: the folder holds ``yeast.svm.gz``,
``scene.svm.gz``, ``emotions.svm.gz`` and ``corel5k.svm.gz``, with lines ``label,label index:value
...``. Writes ``results/predtron-multilabel.json`` and ``results/predtron-multilabel.md``.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import hamming_loss, label_ranking_loss
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler

from benchmarks.harness import RESULTS
from rankwright.data import Groups
from rankwright.metrics import NDCG
from rankwright.predtron import PredtronLabelRanker, PredtronMultilabel

NAMES = ("emotions", "scene", "yeast", "corel5k")
N_SPLITS, TEST_SHARE = 5, 1 / 3
OURS: dict[str, Any] = {"variant": "averaged", "n_epochs": 20, "shuffle": True, "random_state": 0}
MODELS: dict[str, Callable[[], Any]] = {
    "PredtronMultilabel": lambda: PredtronMultilabel(**OURS),
    "PredtronMultilabel augmented": lambda: PredtronMultilabel(mode="augmented", **OURS),
    "PredtronLabelRanker": lambda: PredtronLabelRanker(**OURS),
    "PredtronLabelRanker dcg": lambda: PredtronLabelRanker(representation="dcg", **OURS),
    "LogisticRegression": lambda: OneVsRestClassifier(LogisticRegression(max_iter=200, tol=1e-2)),
    "Perceptron": lambda: OneVsRestClassifier(Perceptron(random_state=0)),
}
COLUMNS = ("hamming_loss", "ranking_loss", "ndcg", "seconds")


def main() -> None:
    """Measure all models on all sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=NAMES)
    options = parser.parse_args()
    path = RESULTS / "predtron-multilabel.json"
    before = json.loads(path.read_text())["sets"] if path.exists() else {}
    record: dict[str, Any] = {
        "method": f"{N_SPLITS} random splits, {1 - TEST_SHARE:.0%} to train; features standardised "
        f"on the training part. Ours: {OURS}. One-vs-rest for scikit-learn's; "
        "LogisticRegression with tol=1e-2. NDCG and ranking "
        "loss by the scores of the labels, rows without or with all labels left out of NDCG.",
        "sets": before,  # those measured now replace their own
    }
    RESULTS.mkdir(exist_ok=True)
    for name in options.sets:
        record["sets"][name] = _measure(options.data / f"{name}.svm.gz")
        text = json.dumps(record, indent=1, allow_nan=False)
        path.write_text(text + "\n")
        (RESULTS / "predtron-multilabel.md").write_text(_table(record))
    print(_table(record))


def _measure(path: Path) -> dict[str, Any]:
    X, sets = load_svmlight_file(str(path), multilabel=True)
    y = MultiLabelBinarizer().fit_transform(sets)
    X = X.toarray()
    found: dict[str, list[dict[str, float]]] = {name: [] for name in MODELS}
    for seed in range(N_SPLITS):
        parts = train_test_split(X, y, test_size=TEST_SHARE, random_state=seed)
        scaler = StandardScaler().fit(parts[0])
        train, test = scaler.transform(parts[0]), scaler.transform(parts[1])
        for name, make in MODELS.items():
            found[name].append(_run(make(), train, parts[2], test, parts[3]))
        print(path.name, "split", seed + 1, flush=True)
    return {
        "rows": len(y),
        "features": X.shape[1],
        "labels": y.shape[1],
        "models": {
            name: {
                column: {
                    "mean": float(np.mean([run[column] for run in runs])),
                    "sd": float(np.std([run[column] for run in runs], ddof=1)),
                }
                for column in COLUMNS
                if column in runs[0]
            }
            for name, runs in found.items()
        },
    }


def _run(model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> dict[str, float]:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that no training row has, iterations
        model.fit(X, y)
    seconds = time.perf_counter() - start
    scores = model.decision_function(X_test)
    groups = Groups(np.arange(len(scores) + 1) * scores.shape[1])
    labels = y_test.ravel().astype(np.float64)
    result = {
        "ranking_loss": float(label_ranking_loss(y_test, scores)),
        "ndcg": NDCG().mean(labels, scores.ravel(), groups),
        "seconds": seconds,
    }
    if not isinstance(model, PredtronLabelRanker):
        result["hamming_loss"] = float(hamming_loss(y_test, model.predict(X_test)))
    return result


def _table(record: dict[str, Any]) -> str:
    lines = [
        "| set | model | Hamming loss | ranking loss | NDCG | seconds |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for name, facts in record["sets"].items():
        for model, values in facts["models"].items():
            cells = [
                f"{values[c]['mean']:.4f} ± {values[c]['sd']:.4f}" if c in values else "–"
                for c in COLUMNS[:3]
            ]
            row = [name, model, *cells, f"{values['seconds']['mean']:.2f}"]
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join([*lines, "", record["method"]]) + "\n"


if __name__ == "__main__":
    main()
