"""Figure 2, left: generated data, a kernel of degree 2."""

from __future__ import annotations

import numpy as np

from rankwright.data.validation import Floats
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Figure, Findings, Panel, Row, agrees
from rankwright.experiments.prank_learners import average_losses, curves, learners, rows
from rankwright.online import PRank

THRESHOLDS = (-1.0, -0.1, 0.25, 1.0)
NOISE = 0.125
CLASSES = [1, 2, 3, 4, 5]


def run(context: Context) -> Findings:
    """Repeat the online run on fresh data."""
    repeats, rounds = context.pick((6, 2000), (100, 7000))
    at = np.unique(np.geomspace(20, rounds, 25).astype(int)).tolist()
    runs = []
    for seed in context.each("repeats", range(repeats)):
        key = {"what": "prank-synthetic", "seed": seed, "rounds": rounds, "at": at}
        runs.append(context.once(key, _one_sequence, seed, rounds, at))
    result = Findings(settings={"repeats": repeats, "rounds": rounds, "noise": NOISE})
    final = {name: [run[name][-1] for run in runs] for name in runs[0]}
    what = f"time-averaged rank loss after {rounds} rounds"
    result.rows += rows("Figure 2", what, final)
    result.rows.append(_same_as_the_kernel())
    panel = Panel(curves(runs, at), "rounds", "time-averaged rank loss", log_x=True)
    caption = "Generated data, mean of the repeats with 95 % bands"
    result.figures.append(Figure("figure2_left", caption, {"": panel}))
    return result


def sample_points(seed: int, rounds: int) -> tuple[Floats, Floats]:
    """Return points of the unit square and their ranks (R5)."""
    rng = np.random.default_rng(seed)
    X = rng.random((rounds, 2))
    value = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + NOISE * rng.normal(size=rounds)
    return X, 1 + np.searchsorted(THRESHOLDS, value).astype(np.float64)


def explicit(X: Floats) -> Floats:
    """Return the features whose products are ``(x . z + 1)^2``."""
    a, b = X.T
    root = np.sqrt(2)
    return np.column_stack([a * a, b * b, root * a * b, root * a, root * b, np.ones(len(X))])


def _one_sequence(seed: int, rounds: int, at: list[int]) -> dict[str, list[float]]:
    X, y = sample_points(seed, rounds)
    features = explicit(X)
    return {
        name: average_losses(learner, features, y, at)
        for name, learner in learners(CLASSES).items()
    }


def _same_as_the_kernel() -> Row:
    X, y = sample_points(0, 500)
    kernel = PRank.paper(classes=CLASSES, kernel="poly", degree=2, coef0=1.0, gamma=1.0).fit(X, y)
    weights = PRank.paper(classes=CLASSES).fit(explicit(X), y)
    difference = abs(kernel.cumulative_loss_ - weights.cumulative_loss_)
    what = "loss in kernel form less that with the kernel's explicit features, 500 rounds"
    return Row("Figure 2", what, difference, agrees(difference == 0))


SYNTHETIC = Experiment("prank", "figure2_left", "Figure 2", "generated data", run)
