"""S13: batch SLAM is least at weights 0 where labels are noisy; SmoothSLAM can be trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.evaluation.folds import read_folds
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Curve, Figure, Findings, Panel, Row, mean_of
from rankwright.experiments.fitting import fit_quietly
from rankwright.linear import LinearRanker
from rankwright.losses import SLAM, Loss, SmoothSLAM
from rankwright.metrics import NDCG

LOSSES: dict[str, Loss] = {"SLAM": SLAM("ndcg"), "SmoothSLAM": SmoothSLAM("ndcg")}
NOISE = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)  # standard deviations of what is cut into labels
ALPHAS = (1e-1, 1e-3, 1e-5, 1e-7)
N_FEATURES, N_QUERIES = 5, 200
COLLECTIONS = ("ohsumed", "mq2008")
METRIC = NDCG(k=10, empty=0.0)
SOURCE = "Equation 4"


def run(context: Context) -> Findings:
    """Minimise both losses on lists of several lengths, and on LETOR collections."""
    sizes = context.pick((10,), (5, 10, 20, 40))
    repeats = context.pick(2, 10)
    settings = {"queries": N_QUERIES, "features": N_FEATURES, "repeats": repeats}
    result = Findings(settings={**settings, "documents": list(sizes), "alphas": list(ALPHAS)})
    panels = {}
    for m in context.each("batch SLAM, documents of a query", sizes):
        curves = {}
        for name in LOSSES:
            key = {"what": "slam-batch", "loss": name, "m": m, "repeats": repeats}
            found = context.once(key, _cosines, name, m, repeats)
            curves[name] = Curve.of_repeats(NOISE, found)
            cosine = curves[name].y[NOISE.index(1.0)]
            what = f"cosine to the truth, noise of one sd, {m} documents, {name}"
            note = "" if cosine else "S13: weights 0"
            result.rows.append(Row(SOURCE, what, cosine, "reported", note=note))
        panels[f"{m} documents"] = Panel(curves, "sd of the noise", "cosine to the truth")
    caption = "Weights of the two losses against the truth, as the noise of labels grows"
    result.figures.append(Figure("batch", caption, panels))
    for collection in COLLECTIONS:
        folder = context.folder(f"letor/{collection}", collection)
        if folder is not None:
            result.rows += _collection_rows(context, collection, folder)
    return result


def _cosines(name: str, m: int, repeats: int) -> list[list[float]]:
    return [[_cosine(LOSSES[name], m, noise, seed) for seed in range(repeats)] for noise in NOISE]


def _cosine(loss: Loss, m: int, noise: float, seed: int) -> float:
    """Return the cosine of the fitted weights and the true ones, 0 for weights 0."""
    rng = np.random.default_rng([seed, m])
    truth = rng.normal(size=N_FEATURES)
    X = rng.normal(size=(N_QUERIES * m, N_FEATURES))
    score = X @ truth / np.linalg.norm(truth)
    utility = score + noise * rng.normal(size=len(score))
    y = np.digitize(utility, np.quantile(utility, [0.5, 0.75, 0.9])).astype(np.float64)
    ranker = LinearRanker(loss, alpha=1e-3)
    w = fit_quietly(ranker, X, y, np.repeat(np.arange(N_QUERIES), m)).coef_
    length = float(np.linalg.norm(w) * np.linalg.norm(truth))
    return float(w @ truth) / length if length > 0 else 0.0


def _collection_rows(context: Context, name: str, folder: Any) -> list[Row]:
    folds = read_folds(folder)[: context.pick(2, 5)]
    found = []
    for i in context.each(f"batch SLAM, {name}", range(len(folds))):
        key = {"what": "slam-batch-letor", "data": name, "fold": i}
        found.append(context.once(key, _one_fold, tuple(folds[i].parts().values())))
    title = name.upper()
    decrease = max(fold["decrease"] for fold in found)
    gap = max(fold["gap"] for fold in found)
    what = f"{title}: largest decrease of the objective from weights 0, SLAM, all folds and alphas"
    note = f"S13: the largest certified gap is {gap:.1e}"
    rows = [Row(SOURCE, what, decrease, "reported", note=note)]
    for loss in LOSSES:
        mean = float(np.mean([fold[loss] for fold in found]))
        rows.append(Row(SOURCE, f"{title}: NDCG@10 on the test parts, {loss}", mean, "reported"))
    mean, interval = mean_of([fold["SmoothSLAM"] - fold["SLAM"] for fold in found])
    what = f"{title}: SmoothSLAM minus SLAM, paired over the folds"
    return [*rows, Row(SOURCE, what, mean, "reported", None, interval)]


def _one_fold(parts: tuple[Dataset, ...]) -> dict[str, float]:
    """Return each loss's test quality, alpha chosen by validation, and what SLAM gained on 0."""
    train, valid, test = parts
    found = {"decrease": 0.0, "gap": 0.0}
    for name, loss in LOSSES.items():
        best = (-np.inf, 0.0)
        for alpha in ALPHAS:
            ranker = LinearRanker(loss, alpha=alpha, standardize=True)
            fit_quietly(ranker, train.X, train.y, train.qid)
            quality, tested = (
                METRIC.mean(part.y, ranker.predict(part.X), part.groups) for part in (valid, test)
            )
            best = max(best, (quality, tested))
            if name == "SLAM":
                decrease = ranker.objective_[0] - ranker.objective_[-1]
                found["decrease"] = max(found["decrease"], decrease)
                found["gap"] = max(found["gap"], ranker.gap_)
        found[name] = best[1]
    return found


BATCH = Experiment("slam", "batch", SOURCE, "the minimum of the batch objective", run)
