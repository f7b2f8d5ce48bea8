"""Figures 9, 13 to 15 and 17: what the penalty and the length of training do."""

from __future__ import annotations

import numpy as np

from rankwright.experiments.domination_collections import Collection, collections
from rankwright.experiments.domination_topics import highest_alpha, measure
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Curve, Figure, Findings, Panel, Row, agrees
from rankwright.experiments.fitting import fit_quietly
from rankwright.linear import DominationRank

KINDS = ("loss", "average precision", "density", "updates")


def run(context: Context) -> Findings:
    """Walk along the penalty, and along the training, for some topics of each collection."""
    shares = np.geomspace(0.5, 0.003, context.pick(4, 12)).tolist()
    lengths = np.unique(np.geomspace(5, context.pick(300, 20_000), context.pick(4, 12)).astype(int))
    result = Findings(
        settings={"penalties, as shares of the largest": [round(s, 4) for s in shares]}
    )
    for collection in collections(context):
        n = min(context.pick(2, 10), collection.n_topics)
        chosen = np.linspace(0, collection.n_topics - 1, n).astype(int).tolist()
        walked: list[list[dict[str, float]]] = []
        trained: dict[str, list[list[float]]] = {"induction": [], "sequential": []}
        for topic in context.each(f"{collection.name}, paths", chosen):
            key = {"what": "domination-path", "data": collection.name, "topic": topic}
            key |= collection.settings
            walked.append(context.once(key | {"shares": shares}, _walk, collection, topic, shares))
            for how in trained:
                more = {"lengths": lengths.tolist(), "how": how}
                steps = context.once(key | more, _train, collection, topic, lengths.tolist(), how)
                trained[how].append(steps)
        result.figures += _figures(collection.name, shares, lengths.tolist(), walked, trained)
        result.rows += _sparsity(collection.name, walked)
    return result


def _figures(
    name: str,
    shares: list[float],
    lengths: list[int],
    walked: list[list[dict[str, float]]],
    trained: dict[str, list[list[float]]],
) -> list[Figure]:
    panels = {}
    for kind in KINDS:
        means = [float(np.mean([path[i][kind] for path in walked])) for i in range(len(shares))]
        log = kind in ("density", "updates")
        panels[kind] = Panel(
            {kind: Curve.of(shares, means)}, "penalty / largest", kind, log_x=True, log_y=log
        )
    stem = name.split()[0].split(",")[0].lower().replace("-", "_")
    curves = {how: Curve.of(lengths, np.mean(runs, axis=0)) for how, runs in trained.items()}
    over = Panel(curves, "updates of one weight", "average precision", log_x=True)
    return [
        Figure(f"path_{stem}", f"{name}: along the penalty (Figures 13 to 15)", panels),
        Figure(f"training_{stem}", f"{name}: over training (Figures 9 and 17)", {"": over}),
    ]


def _sparsity(name: str, walked: list[list[dict[str, float]]]) -> list[Row]:
    """Test the claim that 1 to 10 % of the weights do nearly as well as the best."""
    best = float(np.mean([max(point["average precision"] for point in path) for path in walked]))
    sparse = [
        max((p["average precision"] for p in path if p["density"] <= 0.1), default=0.0)
        for path in walked
    ]
    ratio = float(np.mean(sparse)) / best
    what = f"{name}, best average precision with at most 10 % of the weights over the best of all"
    note = "fewer documents and features than the thesis'"
    return [Row("Figure 13", what, ratio, agrees(ratio >= 0.95), note=note)]


def _walk(collection: Collection, topic: int, shares: list[float]) -> list[dict[str, float]]:
    X, y = collection.train, collection.relevant_train[:, topic]
    top = highest_alpha(X, y)
    found = []
    for share in shares:
        model = fit_quietly(DominationRank("l1", share * top, n_induced=20, tol=1e-3), X, y)
        values = measure(model, collection.test, collection.relevant_test[:, topic])
        penalty = model.alpha * float(np.abs(model.coef_).sum())
        values["loss"] = float(model.objective_[-1]) - penalty
        values["updates"] = float(model.n_updates_)
        found.append({kind: values[kind] for kind in KINDS})
    return found


def _train(collection: Collection, topic: int, lengths: list[int], how: str) -> list[float]:
    X, y = collection.train, collection.relevant_train[:, topic]
    alpha = 0.03 * highest_alpha(X, y)
    induced = 20 if how == "induction" else None
    found = []
    for most in lengths:
        model = DominationRank("l1", alpha, n_induced=induced, max_updates=most, tol=1e-3)
        values = measure(
            fit_quietly(model, X, y), collection.test, collection.relevant_test[:, topic]
        )
        found.append(values["average precision"])
    return found


PATH = Experiment(
    "domination", "path", "Figure 9, Figure 13, Figure 14, Figure 15, Figure 17", "the penalty", run
)
