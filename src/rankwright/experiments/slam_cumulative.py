"""Theorem 5 and S1: cumulative loss against the bounds, as rounds and documents grow."""

from __future__ import annotations

import numpy as np

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Curve, Figure, Findings, Panel, Row, holds
from rankwright.losses import SLAM
from rankwright.online import SLAMPerceptron
from rankwright.online.slam_perceptron import SLAMFacts, Update
from rankwright.theory import slam_misordered, slam_theorem5

N_FEATURES, MARGIN = 10, 0.1
UPDATES: tuple[Update, ...] = ("misordered", "paper")


def run(context: Context) -> Findings:
    """Run both updates on streams that a unit vector orders, and on noisy ones."""
    rounds = context.pick(400, 20_000)
    sizes = context.pick((5, 20), (5, 10, 20, 50, 100))
    result = Findings(settings={"rounds": rounds, "documents": list(sizes), "margin": MARGIN})
    by_round, worst = {}, 0.0
    for noisy in (False, True):
        curves: dict[str, Curve] = {}
        for update in UPDATES:
            key = {"what": "slam-rounds", "update": update, "noisy": noisy, "rounds": rounds}
            run = context.once(key, _losses_and_bounds, update, 10, rounds, noisy)
            curves[f"loss, {update}"] = Curve.of(run["rounds"], run["loss"])
            curves[f"bound, {update}"] = Curve.of(run["rounds"], run["bound"])
            worst = max(worst, float(np.max(np.divide(run["loss"], run["bound"]))))
        heading = "noisy labels" if noisy else "separable"
        by_round[heading] = Panel(curves, "rounds", "cumulative loss", True, True)
    by_size: dict[str, dict[str, list[float]]] = {}
    for m in context.each("documents of a query", sizes):
        for update in UPDATES:
            key = {"what": "slam-sizes", "update": update, "m": m, "rounds": rounds}
            run = context.once(key, _losses_and_bounds, update, m, rounds, False)
            for what in ("loss", "bound"):
                by_size.setdefault(f"{what}, {update}", {"y": []})["y"].append(run[what][-1])
            worst = max(worst, float(np.max(np.divide(run["loss"], run["bound"]))))
    curves = {name: Curve.of(sizes, found["y"]) for name, found in by_size.items()}
    axes = ("documents of a query", "cumulative loss", True, True)
    result.figures += [
        Figure("rounds", "Cumulative loss and what is guaranteed, against rounds", by_round),
        Figure("documents", "The same against the length of queries", {"": Panel(curves, *axes)}),
    ]
    what = "largest ratio of cumulative loss to bound, all streams and rounds"
    result.rows.append(Row("Theorem 5", what, worst, holds(worst <= 1)))
    growth = {name: found["y"][-1] / found["y"][0] for name, found in by_size.items()}
    for update in UPDATES:
        note = "S1: free of m" if update == "misordered" else "Theorem 5 has the factor m v_max"
        what = f"bound at {sizes[-1]} documents over that at {sizes[0]}, {update}"
        value = growth[f"bound, {update}"]
        result.rows.append(Row("Theorem 5", what, value, "reported", note=note))
    return result


def _losses_and_bounds(update: Update, m: int, rounds: int, noisy: bool) -> dict[str, list[float]]:
    """Return the cumulative loss and the bound at some rounds."""
    X, y, u = _random_queries(m, rounds, noisy)
    groups = Groups(np.arange(0, len(y) + 1, m))
    compared = SLAM("ndcg").per_query(X @ u, y, groups)
    facts = SLAMFacts.of(SLAM("ndcg").weights(y, groups), groups)
    radius = float(np.sqrt((X**2).sum(axis=1).max()))
    length = float(np.linalg.norm(u))
    learner = SLAMPerceptron.paper(
        update=update, radius=radius, max_docs=facts.max_docs, v_max=facts.v_max
    )
    at = np.unique(np.geomspace(1, rounds, 40).astype(int)) - 1
    losses, bounds, begin = [], [], 0
    for end, charged in zip(m * (at + 1), np.cumsum(compared)[at].tolist(), strict=True):
        part = slice(begin, end)
        learner.partial_fit(X[part], y[part], np.arange(begin, end) // m)
        losses.append(float(learner.cumulative_loss_))
        if update == "misordered":
            guarantee = slam_misordered(length, radius, facts.V, charged)
        else:
            guarantee = slam_theorem5(length, radius, facts.max_docs, facts.v_max, charged)
        bounds.append(guarantee.value)
        begin = end
    return {
        "rounds": (at + 1.0).tolist(),
        "loss": losses,
        "bound": bounds,
    }


def _random_queries(m: int, rounds: int, noisy: bool) -> tuple[Floats, Floats, Floats]:
    """Return documents, labels, and a vector that orders them with margin 1 if nothing is noisy.

    Documents have length at most 1. Three labels lie at least ``MARGIN`` apart along the vector's
    direction, so that it must be ``1 / MARGIN`` long.
    """
    rng = np.random.default_rng([m, rounds, noisy])
    direction = np.zeros(N_FEATURES)
    direction[0] = 1.0
    y = rng.integers(0, 3, (rounds, m))
    X = rng.normal(size=(rounds, m, N_FEATURES))
    X[..., 0] = 0
    X *= 0.8 / np.linalg.norm(X, axis=2, keepdims=True)
    X[..., 0] = MARGIN * (y - 1) * 1.5 + 0.2 * MARGIN * rng.uniform(-1, 1, (rounds, m))
    if noisy:
        wrong = rng.random((rounds, m)) < 0.1
        y = np.where(wrong, rng.integers(0, 3, (rounds, m)), y)
    return X.reshape(-1, N_FEATURES), y.ravel().astype(np.float64), direction / MARGIN


CUMULATIVE = Experiment(
    "slam", "cumulative", "Theorem 5, Corollary 6", "cumulative loss and its bounds", run
)
