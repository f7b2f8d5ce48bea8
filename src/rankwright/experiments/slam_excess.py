"""Theorem 8: the excess loss on new queries against its bound, where both are known exactly.

Queries are drawn from a population of N_POPULATION, whose mean is the expected loss, and weights
are those of a grid over the ball: all minima are exact.
"""

from __future__ import annotations

import numpy as np

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Curve, Figure, Findings, Panel, Row, holds, mean_of
from rankwright.losses import SLAM, ListNet, Loss, RankHinge, SmoothSLAM
from rankwright.theory import generalization

N_POPULATION, N_DOCS, B, N_STEPS = 400, 8, 3.0, 41
LOSSES: dict[str, Loss] = {
    "SLAM": SLAM("ndcg"),
    "SmoothSLAM": SmoothSLAM("ndcg"),
    "ListNet": ListNet(),
    "RankSVM": RankHinge(),
}


def run(context: Context) -> Findings:
    """Draw training sets, and see how much worse their weights are than the best."""
    sizes = context.pick((10, 160), (10, 40, 160, 640, 2560))
    repeats = context.pick(50, 1000)
    result = Findings(
        settings={"repeats": repeats, "queries": list(sizes), "documents": N_DOCS, "B": B}
    )
    panels = {}
    for name, loss in context.each("losses", LOSSES.items()):
        key = {"what": "slam-excess", "loss": name, "sizes": list(sizes), "repeats": repeats}
        excesses = context.once(key, _excesses, loss, list(sizes), repeats)
        bounds = [generalization(loss, 1.0, n, B, m=N_DOCS).excess for n in sizes]
        curves = {"excess": Curve.of_repeats(sizes, excesses), "bound": Curve.of(sizes, bounds)}
        panels[name] = Panel(curves, "training queries", "excess over the best", True, True)
        for n, values, bound in zip(sizes, excesses, bounds, strict=True):
            mean, interval = mean_of(values)
            what = f"{name}, n = {n}: excess of the expected loss, at most"
            verdict = holds(interval[1] <= bound)
            result.rows.append(Row("Theorem 8", what, mean, verdict, bound, interval))
    caption = "What training on n queries costs on new ones, and what Theorem 8 guarantees"
    result.figures.append(Figure("excess", caption, panels))
    return result


def _excesses(loss: Loss, sizes: list[int], repeats: int) -> list[list[float]]:
    weights, losses = _all_losses(loss)
    expected = losses.mean(axis=1)
    found = []
    for n in sizes:
        rng = np.random.default_rng([n, repeats])
        alpha = generalization(loss, 1.0, n, B, m=N_DOCS).best_alpha
        shares = rng.multinomial(n, np.full(N_POPULATION, 1 / N_POPULATION), size=repeats) / n
        penalty = alpha / 2 * (weights**2).sum(axis=1)
        chosen = (shares @ losses.T + penalty).argmin(axis=1)
        found.append((expected[chosen] - expected.min()).tolist())
    return found


def _all_losses(loss: Loss) -> tuple[Floats, Floats]:
    """Return the weights of the grid, and the loss of each on each query of the population."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_POPULATION * N_DOCS, 2))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))  # R_X = 1
    y = np.clip(np.rint(1 + 2 * X @ [0.8, 0.6] + 0.2 * rng.normal(size=len(X))), 0, 2)
    groups = Groups(np.arange(0, len(X) + 1, N_DOCS))
    line = np.linspace(-B, B, N_STEPS)
    grid = np.array([(a, b) for a in line for b in line if a * a + b * b <= B * B])
    return grid, np.array([loss.per_query(X @ w, y, groups) for w in grid])


EXCESS = Experiment("slam", "excess", "Theorem 8", "expected loss on new queries", run)
