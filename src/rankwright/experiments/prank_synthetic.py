"""Figure 2, left: generated data, a kernel of degree 2."""

from __future__ import annotations

import numpy as np

from rankwright.data.validation import Floats
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import (
    Figure,
    Findings,
    Panel,
    Row,
    Verdict,
    agrees,
    difference_row,
)
from rankwright.experiments.prank_learners import (
    RATES,
    Runs,
    average_losses,
    curves,
    paired_difference,
    perceptrons,
    rows,
    widrow_hoff,
)
from rankwright.online import PRank

THRESHOLDS = (-1.0, -0.1, 0.25, 1.0)
NOISE = 0.125
CLASSES = [1, 2, 3, 4, 5]
HIDDEN = (" 0.01", " 0.07", " 0.3")  # rates that the figure leaves out


def run(context: Context) -> Findings:
    """Repeat the online run on fresh data."""
    repeats, rounds = context.pick((6, 2000), (100, 7000))
    moments = (100, 500, rounds)
    at = np.unique([*np.geomspace(20, rounds, 25).astype(int), *moments]).tolist()
    runs = []
    for seed in context.each("repeats", range(repeats)):
        key = {"what": "prank-synthetic", "seed": seed, "at": at, "rates": list(RATES)}
        runs.append(context.once(key, _one_sequence, seed, at))
    result = Findings(settings={"repeats": repeats, "rounds": rounds, "noise": NOISE})
    found: dict[int, Runs] = {
        moment: {name: [run[name][at.index(moment)] for run in runs] for name in runs[0]}
        for moment in moments
    }
    what = f"time-averaged rank loss after {rounds} rounds"
    result.rows += rows("Figure 2", what, found[rounds])
    result.rows += [_story_row(found, rate) for rate in RATES]
    for moment in moments:
        what = f"round {moment}: loss of the multiclass perceptron (uniform) less PRank's"
        name = "multiclass perceptron, uniform"
        differences = np.subtract(found[moment][name], found[moment]["PRank"])
        why = "PRank starts slowly, and is below it later"
        result.rows.append(difference_row("Figure 2", what, differences, why=why))
    result.rows.append(_same_as_the_kernel())
    shown = {n: c for n, c in curves(runs, at).items() if not n.endswith(HIDDEN)}
    panel = Panel(shown, "rounds", "time-averaged rank loss", log_x=True)
    caption = "Generated data, mean of the repeats with 95 % bands"
    result.figures.append(Figure("figure2_left", caption, {"": panel}))
    return result


def _story_row(found: dict[int, Runs], rate: float) -> Row:
    """Test that Widrow-Hoff is best first and PRank in the end."""
    mine = f"Widrow-Hoff, {rate:g}"
    names = [name for name in found[100] if not name.startswith("Widrow-Hoff")] + [mine]
    told, last = [], max(found)
    for moment, losses in found.items():
        means = {name: float(np.mean(losses[name])) for name in names}
        best = min(means, key=means.__getitem__)
        others = f"Widrow-Hoff {means[mine]:.3f}, PRank {means['PRank']:.3f}"
        told.append(f"round {moment}: {best.partition(',')[0]} is best ({others})")
    first, _ = paired_difference(np.array(found[100]["PRank"]), np.array(found[100][mine]))
    ends = [
        paired_difference(np.array(found[last]["PRank"]), np.array(found[last][n]))
        for n in names[1:]
    ]
    later = [below for below, _ in ends]
    verdict: Verdict = "undecided"
    if first is not None and None not in later:
        verdict = agrees(not first and all(later))
    lead = float(np.mean(np.subtract(found[last][mine], found[last]["PRank"])))
    what = f"Widrow-Hoff is best first, PRank in the end, rate {rate:g}: lead of PRank at {last}"
    return Row("Figure 2", what, lead, verdict, note=f"R6, R8; {'; '.join(told)}")


def sample_points(seed: int, rounds: int) -> tuple[Floats, Floats]:
    """Return points of the unit square and their ranks (R5)."""
    rng = np.random.default_rng(seed)
    X = rng.random((rounds, 2))
    value = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + NOISE * rng.normal(size=rounds)
    return X, 1 + np.searchsorted(THRESHOLDS, value).astype(np.float64)


def explicit(X: Floats) -> Floats:
    """Return the features whose products are ``(x . z + 1)^2``; the last is an intercept."""
    a, b = X.T
    root = np.sqrt(2)
    return np.column_stack([a * a, b * b, root * a * b, root * a, root * b, np.ones(len(X))])


def _one_sequence(seed: int, at: list[int]) -> dict[str, list[float]]:
    X, y = sample_points(seed, at[-1])
    features = explicit(X)
    learners = perceptrons(CLASSES)
    learners |= {f"Widrow-Hoff, {rate:g}": widrow_hoff(rate, CLASSES) for rate in RATES}
    return {name: average_losses(learner, features, y, at) for name, learner in learners.items()}


def _same_as_the_kernel() -> Row:
    X, y = sample_points(0, 500)
    kernel = PRank.paper(classes=CLASSES, kernel="poly", degree=2, coef0=1.0, gamma=1.0).fit(X, y)
    weights = PRank.paper(classes=CLASSES).fit(explicit(X), y)
    difference = abs(kernel.cumulative_loss_ - weights.cumulative_loss_)
    what = "loss in kernel form less that with the kernel's explicit features, 500 rounds"
    return Row("Figure 2", what, difference, agrees(difference == 0), note="rounding of the sums")


SYNTHETIC = Experiment("prank", "figure2_left", "Figure 2", "generated data", run)
