"""PredtronMultilabel and PredtronLabelRanker with their defaults, on multilabel data sets.

``python -m benchmarks.predtron_multilabel [--data FOLDER]``: the folder holds ``yeast.svm.gz``,
``scene.svm.gz``, ``emotions.svm.gz`` and ``corel5k.svm.gz``, with lines ``label,label index:value
...``; two more sets are generated. Ours get features as they are; scikit-learn's learners, one for
each label, a ``StandardScaler``, whose time is part of theirs, and on sparse sets the features as
they are too.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file, make_multilabel_classification
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.metrics import f1_score, hamming_loss, label_ranking_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler

from benchmarks.paired import (
    Makers,
    difference_table,
    quality_table,
    run_models,
    write_results,
)
from rankwright.data import Groups
from rankwright.metrics import NDCG
from rankwright.predtron import PredtronLabelRanker, PredtronMultilabel

NAMES = ("emotions", "scene", "yeast", "corel5k")
DENSE = 0.3  # of the entries; what has fewer stays sparse
METHOD = (
    "Ten random splits, two thirds for training. Ours with their defaults, on features as they "
    "are; averaged SGD (hinge) and perceptrons one for each label, behind a StandardScaler (raw: "
    "without). NDCG and ranking loss by the scores of the labels, rows without or with all labels "
    "left out of NDCG."
)
FIGURES = {
    "micro_f1": "micro-F1",
    "hamming_loss": "Hamming loss",
    "ranking_loss": "ranking loss",
    "ndcg": "NDCG",
}


def models(sparse: bool) -> Makers:
    """Return the models by name."""

    def of_labels(learner: Any, scaled: bool = True) -> Any:
        all_labels = OneVsRestClassifier(learner)
        return (
            make_pipeline(StandardScaler(with_mean=not sparse), all_labels)
            if scaled
            else (all_labels)
        )

    found: Makers = {
        "PredtronMultilabel": PredtronMultilabel,
        "PredtronMultilabel augmented": lambda: PredtronMultilabel(mode="augmented"),
        "PredtronLabelRanker": PredtronLabelRanker,
        "averaged SGD": lambda: of_labels(SGDClassifier(average=True, random_state=0)),
        "Perceptron": lambda: of_labels(Perceptron(random_state=0)),
    }
    if sparse:
        found["averaged SGD, raw"] = lambda: of_labels(
            SGDClassifier(average=True, random_state=0), scaled=False
        )
    return found


def data_sets(folder: Path | None) -> dict[str, tuple[Any, Any]]:
    """Return features and sets of labels by name."""
    found = {}
    for name in NAMES:
        if folder is not None and (folder / f"{name}.svm.gz").exists():
            X, sets = load_svmlight_file(str(folder / f"{name}.svm.gz"), multilabel=True)
            dense = X.nnz > DENSE * X.shape[0] * X.shape[1]
            matrix = sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)))
            found[name] = (
                matrix.toarray() if dense else matrix,
                MultiLabelBinarizer().fit_transform(sets),
            )
    for n_labels, n_features in ((10, 50), (30, 200)):
        X, y = make_multilabel_classification(
            2000, n_features, n_classes=n_labels, n_labels=3, random_state=n_labels
        )
        found[f"generated, {n_labels} labels"] = X, y
    return found


def judge(model: Any, X: Any, y: Any) -> dict[str, float]:
    """Return the figures of a model on test rows."""
    scores = model.decision_function(X)
    groups = Groups(np.arange(len(scores) + 1) * scores.shape[1])
    result = {
        "ranking_loss": float(label_ranking_loss(y, scores)),
        "ndcg": NDCG().mean(y.ravel().astype(np.float64), scores.ravel(), groups),
    }
    if not isinstance(model, PredtronLabelRanker):
        sets = model.predict(X)
        result["hamming_loss"] = float(hamming_loss(y, sets))
        result["micro_f1"] = float(f1_score(y, sets, average="micro"))
    return result


def run(folder: Path | None) -> None:
    """Measure all models on all sets; print and write what comes out."""
    sets = {}
    for name, (X, y) in data_sets(folder).items():
        print(name, X.shape, y.shape[1], flush=True)
        sets[name] = run_models(models(sp.issparse(X)), X, y, judge)
    pairs = [
        ("PredtronMultilabel", theirs)
        for theirs in ("averaged SGD", "averaged SGD, raw", "Perceptron")
    ]
    differences = difference_table(sets, pairs, "micro_f1", "micro-F1", larger_is_better=True)
    lines = [*quality_table(sets, FIGURES), "", *differences, "", METHOD]
    write_results("predtron-multilabel", METHOD, sets, "\n".join(lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    run(parser.parse_args().data)
