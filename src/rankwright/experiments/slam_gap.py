"""Section 6: how the generalisation gap goes with the number of documents of a query."""

from __future__ import annotations

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Curve, Figure, Findings, Panel, Row
from rankwright.experiments.fitting import fit_quietly
from rankwright.linear import LinearRanker
from rankwright.losses import SLAM, ListNet, Loss, RankHinge, SmoothSLAM

LOSSES: dict[str, Loss] = {
    "SLAM": SLAM("ndcg"),
    "SmoothSLAM": SmoothSLAM("ndcg"),
    "ListNet": ListNet(),
    "RankSVM": RankHinge(),
}
NOTES = {
    "SLAM": "gradient of l1 norm 2; on long queries its weights are 0, which leaves no gap (S13)",
    "SmoothSLAM": "gradient of l1 norm 2.9",
    "ListNet": "gradient of l1 norm 2",
    "RankSVM": "its gradient is a sum over pairs",
}
N_FEATURES, N_TRAIN, N_TEST, ALPHA = 20, 25, 1000, 0.05


def run(context: Context) -> Findings:
    """Fit on few queries, and see how much worse the loss is on new ones."""
    sizes = context.pick((10, 40), (10, 20, 40, 80, 160))
    repeats = context.pick(3, 20)
    gaps: dict[str, list[list[float]]] = {name: [] for name in LOSSES}
    for m in context.each("documents of a query", sizes):
        for name in LOSSES:
            key = {"what": "slam-gap", "loss": repr(LOSSES[name]), "m": m, "repeats": repeats}
            gaps[name].append(context.once(key, _gaps, name, m, repeats))
    result = Findings(
        settings={
            "features": N_FEATURES,
            "training queries": N_TRAIN,
            "alpha": ALPHA,
            "repeats": repeats,
            "documents": list(sizes),
        }
    )
    curves = {}
    for name, found in gaps.items():
        curves[name] = Curve.of_repeats(sizes, found)
        growth = curves[name].y[-1] / curves[name].y[0]
        what = f"gap at {sizes[-1]} documents over that at {sizes[0]}, {name}"
        result.rows.append(Row("Section 6", what, growth, "reported", note=NOTES[name]))
    result.notes.append(
        "An illustration, and no evidence for a theorem about bounds, which says how large a gap "
        "can be, not how large it is. Corollary 9 is tested by the norms of gradients, Theorem 8 "
        "by the excess, both above."
    )
    panel = Panel(curves, "documents of a query", "test loss - training loss", True, True)
    caption = (
        "The gap of SLAM, SmoothSLAM and ListNet against that of RankSVM as queries become longer"
    )
    result.figures.append(Figure("gap", caption, {"": panel}))
    return result


def _gaps(name: str, m: int, repeats: int) -> list[float]:
    return [_gap(LOSSES[name], m, seed) for seed in range(repeats)]


def _gap(loss: Loss, m: int, seed: int) -> float:
    rng = np.random.default_rng([seed, m])
    truth = rng.normal(size=N_FEATURES) / np.sqrt(N_FEATURES)
    train, test = (_sample(rng, truth, m, n) for n in (N_TRAIN, N_TEST))
    ranker = LinearRanker(loss, alpha=ALPHA, tol=1e-3)
    fit_quietly(ranker, train.X, train.y, train.qid)
    on_train, on_test = (
        float(np.mean(loss.per_query(part.X @ ranker.coef_, part.y, part.groups)))
        for part in (train, test)
    )
    return on_test - on_train


def _sample(rng: np.random.Generator, truth: np.ndarray, m: int, n_queries: int) -> Dataset:
    """Documents of length at most 1, a fifth of each query relevant."""
    X = rng.normal(size=(n_queries, m, N_FEATURES))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    utility = X @ truth + 0.1 * rng.normal(size=(n_queries, m))
    y = (utility >= np.quantile(utility, 0.8, axis=1)[:, None]).astype(np.float64)
    qid = np.repeat(np.arange(n_queries), m)
    return Dataset(X.reshape(-1, N_FEATURES), y.ravel(), qid)


GAP = Experiment("slam", "gap", "Section 6", "generalisation and the length of queries", run)
