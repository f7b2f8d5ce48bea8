"""Figures 2 and 3: NDCG@5 as documents are added, labels perturbed, or clicks become noisy."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.comparison.entries import Entry
from rankwright.comparison.noise_study import corrupted
from rankwright.comparison.trial import run_trial
from rankwright.data.click_models import CLICKS, Cascade
from rankwright.data.corruptions import Augmentation, Clicks, Corruption, LabelNoise
from rankwright.data.noise import label_noise_up_to
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Curve, Figure, Findings, Panel, Row, difference_row
from rankwright.experiments.xendcg_trials import (
    BEST,
    LOSSES,
    Source,
    model,
    reason_against,
    settings_of,
    sources,
)

LEVELS = {
    "augmentation": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    "label perturbation": LabelNoise.levels,
    "click noise": Clicks.levels,
}


def _corruption(kind: str, highest: float) -> Corruption:
    """Return what happens to the training part; clicks also replace the validation labels."""
    if kind == "augmentation":
        return Augmentation()
    if kind == "label perturbation":
        return LabelNoise(label_noise_up_to(highest))
    return Clicks(Cascade(CLICKS[: int(highest) + 1]))


def _run_figure(context: Context, figure: str, name: str, kinds: tuple[str, ...]) -> Findings:
    n = context.pick(2, 20)
    chosen = [s for s in sources(context) if s.of_the_paper or not s.folders]
    result = Findings(settings={**settings_of(context, chosen), "trials": n})
    panels = {}
    for source in chosen[: context.pick(1, None)]:
        for kind in kinds:
            levels = LEVELS[kind][:: context.pick(3, 1)]
            found = _sweep_levels(context, source, kind, levels, n)
            curves = {loss: Curve.of_repeats(levels, found[loss].values()) for loss in LOSSES}
            panels[f"{source.name}, {kind}"] = Panel(curves, kind, "NDCG@5")
            for level in levels:
                result.rows += _level_rows(figure, source, kind, level, found)
    caption = f"NDCG@5 on clean test queries against {' and '.join(kinds)} of the training part"
    result.figures.append(Figure(name, caption, panels))
    return result


def _level_rows(
    figure: str,
    source: Source,
    kind: str,
    level: float,
    found: dict[str, dict[float, list[float]]],
) -> list[Row]:
    """Return XE-NDCG's lead over both other losses; the paper's figures have lambdaMART alone."""
    what = f"{source.name}, {kind} {level:g}: {BEST}"
    leads = {
        other: np.subtract(found[BEST][level], found[other][level])
        for other in reversed(LOSSES)
        if other != BEST
    }
    why = reason_against(source.name)
    return [difference_row(figure, f"{what} - {o}", lead, why=why) for o, lead in leads.items()]


def _sweep_levels(
    context: Context, source: Source, kind: str, levels: tuple[float, ...], n: int
) -> dict[str, dict[float, list[float]]]:
    found: dict[str, dict[float, list[float]]] = {loss: {v: [] for v in levels} for loss in LOSSES}
    pieces = [(seed, level) for seed in range(n) for level in levels]
    for seed, level in context.each(f"{source.name}, {kind}", pieces):
        key = {
            "what": "xendcg-corruption-3",  # of three losses
            "kind": kind,
            "source": source.name,
            "seed": seed,
            "level": level,
            "scale": context.scale,
        }
        values = context.once(key, _corrupted_trial, context, source, kind, level, seed)
        for loss in LOSSES:
            found[loss][level].append(values[loss])
    return found


def _corrupted_trial(
    context: Context, source: Source, kind: str, level: float, seed: int
) -> dict[str, Any]:
    dataset = source.load(seed)
    fold = corrupted(dataset, _corruption(kind, float(dataset.y.max())), level, seed)
    found = {}
    for name, loss in LOSSES.items():
        entry = Entry(loss, model(context, source, loss, seed))
        found[name] = run_trial(entry, {}, fold, "ndcg@5", on="test").value
    return found


FIGURE2 = Experiment(
    "xendcg",
    "figure2",
    "Figure 2",
    "extra documents and wrong labels",
    lambda context: _run_figure(
        context, "Figure 2", "figure2", ("augmentation", "label perturbation")
    ),
)
FIGURE3 = Experiment(
    "xendcg",
    "figure3",
    "Figure 3",
    "noisy clicks",
    lambda context: _run_figure(context, "Figure 3", "figure3", ("click noise",)),
)
