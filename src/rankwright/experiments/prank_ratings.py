"""Figure 2, middle and right: predicting a viewer's ratings from those of others."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from rankwright.data.validation import Floats
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Figure, Findings, Panel
from rankwright.experiments.prank_learners import average_losses, curves, learners, rows

FOLDERS = ("ratings/movielens-100k", "movielens-100k", "ml-100k")
CLASSES = [1, 2, 3, 4, 5]
LEAST = (100, 200)  # ratings of a viewer who takes part
TRAIN_SHARE = 0.75  # of the batch setting


def run(context: Context) -> Findings | None:
    """Take a random viewer's ratings as ranks, those of the others as features."""
    folder = context.folder(*FOLDERS)
    if folder is None:
        return None
    table = _read_ratings(folder)
    repeats = context.pick(20, 500)
    result = Findings(settings={"data": "MovieLens 100K for EachMovie", "repeats": repeats})
    panels = {}
    for least in LEAST:
        viewers = table[(table != 0).sum(axis=1) >= least]
        at = np.unique(np.geomspace(5, least, 15).astype(int)).tolist()
        runs = []
        for seed in context.each(f"viewers with {least} ratings", range(repeats)):
            key = {"what": "prank-ratings", "least": least, "seed": seed, "at": at}
            runs.append(context.once(key, _one_viewer, viewers, seed, at))
        online = [run["online"] for run in runs]
        final = {name: [run[name][-1] for run in online] for name in online[0]}
        batch = {name: [run["batch"][name] for run in runs] for name in runs[0]["batch"]}
        seen = f"at least {least} ratings ({len(viewers)} viewers)"
        result.rows += rows("Figure 2", f"{seen}, online loss after {least} rounds", final)
        result.rows += rows("Section 4", f"{seen}, batch: mean loss on unseen ratings", batch)
        panel = Panel(curves(online, at), "rounds", "time-averaged rank loss", log_x=True)
        panels[f"at least {least} ratings"] = panel
    result.notes.append(
        "PRank, unlike the multiclass perceptrons, depends on the scale of the features, because "
        "its thresholds move by 1: halving or doubling the ratings moves its loss by up to 0.1. "
        "EachMovie had 1,802 and 7,542 such viewers, a feature each; MovieLens 100K has a tenth."
    )
    caption = "MovieLens 100K in place of EachMovie, mean of the repeats with 95 % bands"
    result.figures.append(Figure("figure2_right", caption, panels))
    return result


def _read_ratings(folder: Path) -> Floats:
    """Return viewers x titles; 0 where there is no rating."""
    path = next(path for path in (folder / "u.data", folder / "u.data.gz") if path.exists())
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    values = np.array(text.split(), dtype=np.int64).reshape(-1, 4)
    table = np.zeros((values[:, 0].max(), values[:, 1].max()))
    table[values[:, 0] - 1, values[:, 1] - 1] = values[:, 2]
    return table


def _one_viewer(viewers: Floats, seed: int, at: list[int]) -> dict[str, Any]:
    rng = np.random.default_rng([seed, len(viewers)])
    target = int(rng.integers(len(viewers)))
    titles = rng.permutation(np.flatnonzero(viewers[target]))
    y = viewers[target, titles]
    others = np.delete(viewers, target, axis=0)[:, titles].T
    # Ratings a fifth apart, the middle one 0 as what was not seen: the paper's six are so apart.
    X = np.where(others == 0, 0.0, (others - 3) / 5)
    square = float((X**2).sum(axis=1).max())
    online = {
        name: average_losses(learner, X, y, at)
        for name, learner in learners(CLASSES, square).items()
    }
    n = int(TRAIN_SHARE * len(y))
    batch = {
        name: -float(learner.fit(X[:n], y[:n]).score(X[n:], y[n:]))
        for name, learner in learners(CLASSES, square).items()
    }
    return {"online": online, "batch": batch}


RATINGS = Experiment("prank", "figure2_right", "Figure 2, Section 4", "ratings of movies", run)
