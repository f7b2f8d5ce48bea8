"""Figures 4 and 5: Layered, Flat and Margin on the LETOR collections that are there."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

from rankwright.data import make_mslr_like
from rankwright.data.dataset import Dataset
from rankwright.evaluation.folds import read_folds
from rankwright.exceptions import ConvergenceWarning
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Findings, Row, Verdict, agrees, mean_of
from rankwright.linear import DominationRank
from rankwright.losses import LinearMargin
from rankwright.metrics import parse

METRICS = ("letor:ndcg@5", "letor:ndcg@10")
VARIANTS = ("Layered", "Flat", "Margin")
PRINTED = {  # Layered, Flat, Margin at 5, then at 10
    "MQ2007": ((0.4065, 0.4150, 0.4149), (0.4400, 0.4405, 0.4405)),
    "OHSUMED": ((0.4759, 0.4726, 0.4701), (0.4453, 0.4538, 0.4542)),
    "NP2003": ((0.7685, 0.7667, 0.7682), (0.8025, 0.7949, 0.7970)),
    "NP2004": ((0.7558, 0.6716, 0.7424), (0.7918, 0.7056, 0.7622)),
    "HP2003": ((0.7988, 0.8032, 0.7941), (0.7847, 0.8117, 0.8084)),
    "HP2004": ((0.7318, 0.7344, 0.7517), (0.7529, 0.7607, 0.7799)),
    "TD2003": ((0.3400, 0.3356, 0.3348), (0.3530, 0.3474, 0.3457)),
    "TD2004": ((0.3366, 0.3280, 0.3194), (0.2909, 0.2985, 0.3020)),
}
FOLDERS = (*(name.lower() for name in PRINTED), "mq2008")
PENALTIES = ("l1", "l2")
N_ALPHAS = 15  # from where nothing is left down to a ten-thousandth of it
MARGINS = (0.3, 1.0, 3.0)


def run(context: Context) -> Findings:
    """Choose penalty and margin on the validation part of each fold; average over the folds."""
    settings = {"penalties": list(PENALTIES), "alphas": N_ALPHAS, "margins": list(MARGINS)}
    result = Findings(settings=settings)
    for name, folds in _collections(context):
        for variant, pooled in product(VARIANTS, (True, False)):
            values = []
            for i in context.each(f"{name}, {variant}", range(len(folds))):
                key: dict[str, Any] = {"what": "domination-letor-path", "data": name}
                key["variant"] = variant
                key |= {"pooled": pooled, "fold": i, "scale": context.scale}
                values.append(context.once(key, _fold, folds[i], variant, pooled))
            for j, metric in enumerate(METRICS):
                result.rows.append(
                    _collection_row(name, variant, pooled, j, [v[metric] for v in values])
                )
    result.notes.append(
        "Pooled is the thesis' reading: documents of all queries in one list. Query-aware compares "
        "documents of one query only. Intervals are over the five folds."
    )
    return result


def _collection_row(name: str, variant: str, pooled: bool, j: int, values: list[float]) -> Row:
    mean, interval = mean_of(values)
    how = "pooled" if pooled else "query-aware"
    paper = None
    verdict: Verdict = "reported"
    if name in PRINTED and pooled:
        paper = PRINTED[name][j][VARIANTS.index(variant)]
        inside = interval[0] <= paper <= interval[1]
        verdict = agrees(inside and abs(mean - paper) < 0.02)
    note = "beyond 0.02 or the folds' interval" if verdict == "not reproduced" else ""
    what = f"{name}, {METRICS[j]}, {variant}, {how}"
    return Row("Figure 4", what, mean, verdict, paper, interval, note)


def _collections(context: Context) -> list[tuple[str, list[tuple[Dataset, ...]]]]:
    found = []
    for name in FOLDERS:
        folder = context.folder(f"letor/{name}", name)
        if folder is not None:
            folds = read_folds(folder)[: context.pick(2, 5)]
            found.append((name.upper(), [tuple(fold.parts().values()) for fold in folds]))
    if not found:
        whole = make_mslr_like(60, n_features=20, mean_docs=15)
        parts = [whole.split((0.6, 0.2, 0.2), random_state=seed) for seed in range(2)]
        found.append(("generated", [tuple(part) for part in parts]))
    return found


def _fold(parts: tuple[Dataset, ...], variant: str, pooled: bool) -> dict[str, float]:
    train, valid, test = parts
    best: tuple[float, Any] | None = None
    margins: tuple[float | None, ...] = MARGINS if variant == "Margin" else (None,)
    for penalty, margin in product(PENALTIES, margins):
        ranker = DominationRank(
            penalty,
            layers=[1] if variant == "Flat" else None,
            margin=None if margin is None else LinearMargin(margin, 0.0),
            pooled=pooled,
            standardize=True,
            tol=1e-4,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            path = ranker.path(train.X, train.y, train.qid, n_alphas=N_ALPHAS)
        for point in path:
            quality = parse(METRICS[1]).mean(valid.y, valid.X @ point.coef, valid.groups)
            if best is None or quality > best[0]:
                best = (quality, point.coef)
    assert best is not None
    scores = test.X @ best[1]
    return {name: float(parse(name).mean(test.y, scores, test.groups)) for name in METRICS}


LETOR = Experiment("domination", "figure4", "Figure 4", "LETOR collections", run)
