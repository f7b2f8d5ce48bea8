"""Section 5's remark: regularisation makes Domination Rank robust to wrong labels."""

from __future__ import annotations

import numpy as np

from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import (
    Curve,
    Figure,
    Findings,
    Panel,
    difference_row,
)
from rankwright.experiments.fitting import fit_quietly
from rankwright.linear import DominationRank
from rankwright.metrics import parse

LEVELS = (0.0, 0.05, 0.1, 0.2, 0.3)
ALPHAS = {"without regularisation": 1e-6, "with regularisation": 10.0}
N_DOCS, N_FEATURES = 200, 60


def run(context: Context) -> Findings:
    """Flip labels of the training part, measure on clean documents."""
    repeats = context.pick(5, 100)
    found: dict[str, dict[float, list[float]]] = {how: {v: [] for v in LEVELS} for how in ALPHAS}
    for seed in context.each("repeats", range(repeats)):
        values = context.once({"what": "domination-noise", "seed": seed}, _noisy_sample, seed)
        for how in ALPHAS:
            for level, value in zip(LEVELS, values[how], strict=True):
                found[how][level].append(value)
    result = Findings(settings={"repeats": repeats, "documents": N_DOCS, "features": N_FEATURES})
    curves = {}
    for how, by_level in found.items():
        curves[how] = Curve.of_repeats(LEVELS, by_level.values())
    without, with_it = (found[how] for how in ALPHAS)
    for level in LEVELS:
        what = f"gain in average precision by regularisation, {level:.0%} of the labels wrong"
        differences = np.subtract(with_it[level], without[level])
        result.rows.append(difference_row("Section 5", what, differences))
    panel = Panel(curves, "share of wrong labels", "average precision on clean documents")
    result.figures.append(Figure("noise", "Wrong labels, with and without a penalty", {"": panel}))
    return result


def _noisy_sample(seed: int) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=N_FEATURES) * (rng.random(N_FEATURES) < 0.3)
    X = rng.normal(size=(2 * N_DOCS, N_FEATURES))
    utility = X @ truth + 0.5 * rng.normal(size=len(X))
    y = (utility >= np.quantile(utility, 0.85)).astype(np.float64)
    order = rng.permutation(N_DOCS)
    found: dict[str, list[float]] = {how: [] for how in ALPHAS}
    for level in LEVELS:
        wrong = y[:N_DOCS].copy()
        flipped = order[: int(level * N_DOCS)]
        wrong[flipped] = 1 - wrong[flipped]
        for how, alpha in ALPHAS.items():
            model = DominationRank("l2", alpha, tol=1e-4, max_iter=200)
            fit_quietly(model, X[:N_DOCS], wrong)
            scores = model.predict(X[N_DOCS:])
            found[how].append(float(parse("ap").mean(y[N_DOCS:], scores, None)))
    return found


NOISE = Experiment("domination", "noise", "Section 5", "wrong labels and the penalty", run)
