"""S1: Algorithm 1 as printed depends on the scale of the features, and breaks its own theorem."""

from __future__ import annotations

import numpy as np

from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Curve, Figure, Findings, Panel, Row, holds
from rankwright.online import SLAMPerceptron
from rankwright.online.slam_perceptron import Update
from rankwright.theory import slam_corollary6

QUERY = np.array([[-0.2, 1.0], [0.1, 0.0], [0.0, 0.0], [0.0, 0.0]])
LABELS = np.array([1.0, 1, 0, 0])
SCALES = (1.0, 0.1, 0.03, 0.01, 0.003)
UPDATES: tuple[Update, ...] = ("printed", "paper", "misordered")


def run(context: Context) -> Findings:
    """Show one query again and again, in smaller and smaller units."""
    rounds = context.pick(20_000, 200_000)
    comparator = np.array([10.0, 3.0])
    margin = float(np.min(QUERY[:2] @ comparator)) / float(np.linalg.norm(comparator))
    # m = 4, R_X^2 = 1.04, and the weights of MAP are 1/3 and 1/4, so that v_max = 4/3.
    bound = slam_corollary6(margin, np.sqrt(1.04), max_docs=4, v_max=4 / 3).value
    losses: dict[str, list[float]] = {}
    for update in context.each("one query, repeated", UPDATES):
        losses[update] = [
            context.once(
                {"what": "slam-scale", "update": update, "scale": scale, "rounds": rounds},
                _cumulative,
                update,
                scale,
                rounds,
            )
            for scale in SCALES
        ]
    result = Findings(settings={"rounds": rounds, "scales": list(SCALES), "comparator": [10, 3]})
    for name, values in losses.items():
        worst = max(values)
        note = f"the bound is {bound:.0f} at every scale"
        if name == "printed":
            note = f"S1: eta = 1; {note}; stopped after {rounds:,} rounds"
        what = f'largest cumulative loss over the scales, update="{name}"'
        result.rows.append(Row("Theorem 5", what, worst, holds(worst <= bound), note=note))
    curves = {update: Curve.of(SCALES, values) for update, values in losses.items()}
    curves["bound of Theorem 5"] = Curve.of(SCALES, np.full(len(SCALES), bound))
    panel = Panel(curves, "scale of the features", "cumulative loss", log_x=True, log_y=True)
    caption = "One query, repeated: the loss of Algorithm 1 as printed grows as the features shrink"
    result.figures.append(Figure("scale", caption, {"": panel}))
    return result


def _cumulative(update: Update, scale: float, rounds: int) -> float:
    X = np.tile(scale * QUERY, (rounds, 1))
    qid = np.repeat(np.arange(rounds), len(QUERY))
    learner = SLAMPerceptron.paper(metric="map", update=update)
    return float(learner.fit(X, np.tile(LABELS, rounds), qid).cumulative_loss_)


SCALE = Experiment("slam", "scale", "Theorem 5, Algorithm 1", "the printed step size", run)
