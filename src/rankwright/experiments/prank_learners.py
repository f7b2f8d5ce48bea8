"""The learners of Figure 2, and their loss over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.validation import Floats
from rankwright.experiments.findings import Curve, Row, agrees, mean_of
from rankwright.online import MulticlassPerceptron, PRank, WidrowHoff

# The paper does not tell Widrow-Hoff's rate (R6): these, or these shares of 1 / R^2.
RATES = (0.01, 0.03, 0.05, 0.1, 0.2, 0.3)
SHARES = (0.1, 0.3, 0.5, 1.0, 1.5, 1.9)  # below 2 it is stable


def learners(classes: list[int], squared_radius: float | None = None) -> dict[str, Any]:
    """Return the learners by name; with a radius, Widrow-Hoff's rates are shares of 1 / R^2."""
    found: dict[str, Any] = {
        "PRank": PRank.paper(classes=classes),
        "multiclass perceptron, uniform": MulticlassPerceptron.paper(classes=classes),
        "multiclass perceptron, max": MulticlassPerceptron.paper(update="max", classes=classes),
    }
    if squared_radius is None:
        rates = {f"Widrow-Hoff, {rate:g}": rate for rate in RATES}
    else:
        rates = {f"Widrow-Hoff, {share:g} / R^2": share / squared_radius for share in SHARES}
    return found | {
        name: WidrowHoff.paper(eta=rate, classes=classes) for name, rate in rates.items()
    }


def average_losses(learner: Any, X: Any, y: Floats, at: list[int]) -> list[float]:
    """Return the time-averaged loss after some numbers of rounds."""
    found, begin = [], 0
    for end in at:
        learner.partial_fit(X[begin:end], y[begin:end])
        found.append(learner.cumulative_loss_ / end)
        begin = end
    return found


def curves(runs: list[dict[str, list[float]]], at: list[int]) -> dict[str, Curve]:
    """Return means and 95 % bands over the repeats."""
    return {
        name: Curve.of_repeats(at, zip(*(run[name] for run in runs), strict=True))
        for name in runs[0]
    }


def rows(source: str, what: str, final: dict[str, list[float]]) -> list[Row]:
    """Return the final losses, and whether PRank's is below each other's."""
    prank = np.array(final["PRank"])
    _, ours = mean_of(prank)
    found = []
    for name, values in final.items():
        mean, interval = mean_of(values)
        if name == "PRank":
            found.append(Row(source, f"{what}, {name}", mean, "reported", None, interval))
            continue
        below = ours[1] < interval[0]
        note = "PRank is below it, disjoint intervals" if below else "PRank is not below it"
        if name.startswith("Widrow-Hoff"):
            note += "; R6: the paper's rate is not told"
        found.append(Row(source, f"{what}, {name}", mean, agrees(below), None, interval, note))
    return found
