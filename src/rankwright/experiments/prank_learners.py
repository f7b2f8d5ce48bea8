"""The learners of Figure 2, their loss over time, and who is below whom."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.validation import Floats
from rankwright.evaluation.significance import t_test
from rankwright.experiments.findings import Curve, Row, Verdict, agrees, mean_of
from rankwright.online import MulticlassPerceptron, PRank, WidrowHoff

# The paper does not tell Widrow-Hoff's rate (R6): these, or these shares of 1 / R^2.
RATES = (0.01, 0.03, 0.05, 0.07, 0.1, 0.2, 0.3)
SHARES = (0.1, 0.3, 1.0, 1.9)  # below 2 it is stable
LEVEL = 0.01

Runs = dict[str, list[float]]  # by learner, of each repeat


def perceptrons(classes: list[int], variant: Any = "last") -> dict[str, Any]:
    """Return PRank and the two multiclass perceptrons, as in the paper."""
    given: Any = {"classes": classes, "variant": variant}
    return {
        "PRank": PRank.paper(**given),
        "multiclass perceptron, uniform": MulticlassPerceptron.paper(**given),
        "multiclass perceptron, max": MulticlassPerceptron.paper(update="max", **given),
    }


def widrow_hoff(rate: float, classes: list[int], variant: Any = "last", **more: Any) -> Any:
    """Return Widrow-Hoff with a fixed rate."""
    return WidrowHoff.paper(eta=rate, classes=classes, variant=variant, **more)


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


def paired_difference(lower: Floats, higher: Floats) -> tuple[bool | None, str]:
    """Return whether the first are below the second, None if that is undecided, and in words."""
    differences = np.subtract(higher, lower)
    mean, (low, high) = mean_of(differences)
    p = t_test(differences)
    text = f"minus PRank's: {mean:.3f} ({low:.3f} to {high:.3f}), paired, p = {p:.2g}"
    return (mean > 0 if p < LEVEL else None), text


def rows(
    source: str, what: str, found: Runs, why: str = "", *, other_data: bool = False
) -> list[Row]:
    """Return the losses, and whether PRank's is below each other's, by paired differences.

    ``why`` is said where a multiclass perceptron is below it.
    """
    prank = np.array(found["PRank"])
    result = []
    for name, values in found.items():
        mean, interval = mean_of(values)
        verdict: Verdict = "reported"
        note = ""
        if name != "PRank":
            below, note = paired_difference(prank, np.array(values))
            verdict = "undecided" if below is None else agrees(below)
            if below is False:
                note = f"{_reason(name, why)}; {note}"
        if other_data:
            verdict = "other data"
        result.append(Row(source, f"{what}, {name}", mean, verdict, None, interval, note))
    return result


def _reason(name: str, why: str) -> str:
    if not name.startswith("Widrow-Hoff"):
        return why or "the opposite comes out"
    return "R8: it has an intercept" if "intercept" in name else "R6: the rate is not told"
