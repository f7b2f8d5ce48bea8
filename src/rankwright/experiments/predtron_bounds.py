"""Theorem 1 and its corollaries: the loss of a run against its bound, for each kind of problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.validation import Floats
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Curve, Figure, Findings, Panel, Row, holds
from rankwright.predtron import (
    PredtronClassifier,
    PredtronLabelRanker,
    PredtronMultilabel,
    PredtronOrdinal,
    PredtronRanker,
)

N_FEATURES = 6
MODES = ("augmented", "predicted", "loss_driven")
PROBLEMS: dict[str, Any] = {
    "binary": PredtronClassifier,
    "multiclass": PredtronClassifier,
    "ordinal": PredtronOrdinal,
    "multilabel": PredtronMultilabel,
    "subset ranking": PredtronRanker,
    "label ranking": PredtronLabelRanker,
}


def run(context: Context) -> Findings:
    """Replay streams of growing length with a comparator that is right about them."""
    lengths = context.pick((30, 100), (30, 100, 300, 1000, 3000))
    result = Findings(settings={"rounds": list(lengths), "features": N_FEATURES})
    panels = {}
    for problem in context.each("problems", PROBLEMS):
        curves = {}
        for mode in MODES:
            key = {"what": "predtron-bounds", "problem": problem, "mode": mode}
            runs = context.once(key | {"n": list(lengths)}, _runs, problem, mode, list(lengths))
            losses, values = zip(*runs, strict=True)
            curves[f"loss, {mode}"] = Curve.of(lengths, losses)
            curves[f"bound, {mode}"] = Curve.of(lengths, values)
            ratio = float(np.max(np.divide(losses, values)))
            what = f"{problem}, {mode}: largest ratio of what happened to the bound"
            result.rows.append(Row("Theorem 1", what, ratio, holds(ratio <= 1)))
        panels[problem] = Panel(curves, "rounds", "cumulative loss", True, True)
    caption = "What happened and what is guaranteed (mistakes in predicted mode)"
    result.figures.append(Figure("bounds", caption, panels))
    return result


def _runs(problem: str, mode: str, lengths: list[int]) -> list[tuple[float, float]]:
    found = []
    for n in lengths:
        X, y, qid, u = _labelled_stream(problem, n)
        learner: Any = PROBLEMS[problem].paper(mode=mode)
        more = (qid,) if problem == "subset ranking" else ()
        guarantee = learner.bound(u, X, y, *more)
        found.append((float(guarantee.terms["loss"]), float(guarantee.value)))
    return found


def _labelled_stream(problem: str, n: int) -> tuple[Floats, Any, Any, Floats]:
    """Return data with labels by a comparator, and the comparator."""
    rng = np.random.default_rng([n, len(problem)])
    X = rng.normal(size=(n, N_FEATURES))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if problem == "binary":
        u = rng.normal(size=(1, N_FEATURES))
        return X, (X @ u[0] > 0).astype(int), None, 5 * u
    if problem == "multiclass":
        u = rng.normal(size=(4, N_FEATURES))
        return X, np.argmax(X @ u.T, axis=1), None, 5 * u
    if problem == "ordinal":
        u = rng.normal(size=(4, N_FEATURES))
        return X, np.argmax(X @ u.T, axis=1), None, 5 * u
    u = rng.normal(size=(4, N_FEATURES))
    if problem == "multilabel":
        return X, (X @ u.T > 0).astype(int), None, 5 * u
    if problem == "label ranking":
        return X, np.argsort(np.argsort(X @ u.T, axis=1), axis=1), None, 5 * u
    w = rng.normal(size=N_FEATURES)
    docs = rng.normal(size=(n * 6, N_FEATURES))
    y = np.clip(np.round(docs @ w), 0, 3)
    return docs, y, np.repeat(np.arange(n), 6), 5 * w


BOUNDS = Experiment("predtron", "bounds", "Theorem 1", "losses and bounds of six problems", run)
