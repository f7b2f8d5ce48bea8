"""Figures 6 to 8, 11, 12, 16 and 18: one model for each topic, against PAMIR."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.validation import Floats, Matrix
from rankwright.experiments.domination_collections import Collection, collections
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Curve, Figure, Findings, Panel, Row, mean_of
from rankwright.experiments.fitting import fit_quietly
from rankwright.linear import DominationRank
from rankwright.metrics import parse
from rankwright.online import PAMIR

METRICS = {
    "average precision": "ap",
    "precision at 10": "precision@10",
    "domination error": "domination_error",
    "all-pairs error": "pairwise_error",
}
SHARES = (0.3, 0.1, 0.03, 0.01)  # of the penalty from which on no feature is left
# What the thesis has on its own data: RCV1 with 225,000 features (Figure 16), Corel (Figures 6, 7).
PRINTED: dict[str, dict[str, dict[str, float]]] = {
    "RCV1-v2 subset": {
        "PAMIR": {
            "average precision": 0.705,
            "precision at 10": 0.915,
            "domination error": 0.9738,
            "all-pairs error": 0.0137,
            "density": 0.2189,
        },
        "induction": {
            "average precision": 0.670,
            "precision at 10": 0.918,
            "domination error": 0.9757,
            "all-pairs error": 0.0243,
            "density": 0.0018,
        },
    },
    "Corel5k, easy": {
        "PAMIR": {
            "average precision": 0.4522,
            "domination error": 0.7574,
            "all-pairs error": 0.0935,
            "density": 0.6282,
        },
        "induction": {
            "average precision": 0.438,
            "domination error": 0.7658,
            "all-pairs error": 0.1114,
            "density": 0.4332,
        },
        "sampled": {
            "average precision": 0.411,
            "domination error": 0.7954,
            "all-pairs error": 0.1176,
            "density": 0.2303,
        },
        "sequential": {
            "average precision": 0.444,
            "domination error": 0.7650,
            "all-pairs error": 0.1059,
            "density": 0.7468,
        },
    },
}
METHODS = ("PAMIR", "sequential", "induction", "sampled")
SOURCES = {"RCV1-v2 subset": "Figure 16", "Corel5k, easy": "Figure 7", "generated": "Figure 16"}


def run(context: Context) -> Findings:
    """Fit every method to every topic; penalties are chosen on a fourth of the training part."""
    result = Findings()
    panels = {}
    for collection in collections(context):
        result.settings[collection.name] = collection.settings
        found: dict[str, list[dict[str, float]]] = {method: [] for method in METHODS}
        for topic in context.each(f"{collection.name}, topics", range(collection.n_topics)):
            key = {"what": "domination-topics", "data": collection.name, "topic": topic}
            values = context.once(key | collection.settings, _topic, collection, topic)
            for method in METHODS:
                found[method].append(values[method])
        result.rows += _topic_rows(collection.name, found)
        clouds = {
            method: Curve.of(
                [one["average precision"] for one in found["PAMIR"]],
                [one["average precision"] for one in found[method]],
            )
            for method in METHODS[1:]
        }
        panels[collection.name] = Panel(
            clouds, "average precision of PAMIR", "of Domination Rank", kind="scatter"
        )
    caption = "Average precision of each topic against PAMIR's (the style of Figures 11, 12 and 18)"
    result.figures.append(Figure("topics", caption, panels))
    return result


def _topic_rows(name: str, found: dict[str, list[dict[str, float]]]) -> list[Row]:
    rows = []
    for method, values in found.items():
        for metric in (*METRICS, "density"):
            mean, interval = mean_of([one[metric] for one in values])
            paper = PRINTED.get(name, {}).get(method, {}).get(metric)
            verdict: Any = "reported" if paper is None else "not comparable"
            note = "" if paper is None else "same protocol, other documents"
            what = f"{name}, {metric}, {method}"
            rows.append(Row(SOURCES[name], what, mean, verdict, paper, interval, note))
    return rows


def _topic(collection: Collection, topic: int) -> dict[str, dict[str, float]]:
    X, y = collection.train, collection.relevant_train[:, topic]
    inner = np.ones(len(y), dtype=bool)
    for kind in (0, 1):  # a fourth of each
        members = np.random.default_rng([topic, kind]).permutation(np.flatnonzero(y == kind))
        inner[members[::4]] = False
    found = {}
    for method in METHODS:
        trials = _candidates(method, X, y)
        scored = []
        for model in trials:
            fit_quietly(model, X[inner], y[inner])
            held_out = model.predict(X[~inner])
            scored.append(parse("ap").mean(y[~inner], held_out, None))
        best = trials[int(np.argmax(scored))]
        fit_quietly(best, X, y)
        found[method] = measure(best, collection.test, collection.relevant_test[:, topic])
    return found


def _candidates(method: str, X: Matrix, y: Floats) -> list[Any]:
    if method == "PAMIR":
        n = 10 * X.shape[0]
        return [PAMIR.paper(C=C, n_triplets=n, variant="averaged") for C in (1.0, 0.1, 0.01)]
    more: dict[str, Any] = {"tol": 1e-3, "max_iter": 100}
    if method != "sequential":
        more["n_induced"] = 20
    if method == "sampled":
        more["negatives"] = 0.1
    top = highest_alpha(X, y)
    return [DominationRank("l1", share * top, **more) for share in SHARES]


def highest_alpha(X: Matrix, y: Floats) -> float:
    """Return the l1 penalty from which on no feature is left: the largest derivative at 0."""
    relevant = y > 0
    n, others = int(relevant.sum()), np.asarray(X[~relevant].sum(axis=0)).ravel()
    n_others = len(y) - n
    # Each relevant document has a term log(1 + sum over the others).
    pulled = n * others / (n_others + 1)
    slope = pulled - np.asarray(X[relevant].sum(axis=0)).ravel() * n_others / (n_others + 1)
    return float(np.abs(slope).max())


def measure(model: Any, X: Matrix, y: Floats) -> dict[str, float]:
    """Return the error measures of the thesis, and the share of weights that are not 0."""
    scores = model.predict(X)
    found = {name: float(parse(metric).mean(y, scores, None)) for name, metric in METRICS.items()}
    return found | {"density": float(np.count_nonzero(model.coef_)) / len(model.coef_)}


TOPICS = Experiment(
    "domination", "topics", "Figure 7, Figure 8, Figure 16, Figure 18", "topics against PAMIR", run
)
