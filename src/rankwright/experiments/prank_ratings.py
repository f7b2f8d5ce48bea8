"""Figure 2, middle and right: predicting a viewer's ratings from those of others."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Figure, Findings, Panel, Row
from rankwright.experiments.prank_learners import (
    SHARES,
    Runs,
    average_losses,
    curves,
    perceptrons,
    rows,
    widrow_hoff,
)

TRAIN_SHARE = 0.75  # of the batch setting


@dataclass(frozen=True)
class Ratings:
    """A collection of ratings."""

    name: str
    folders: tuple[str, ...]
    files: tuple[str, ...]
    n_ranks: int
    first: int  # number of the first viewer and title
    least: tuple[int, ...]  # ratings of a viewer who takes part
    of_the_paper: bool

    def find(self, context: Context) -> Path | None:
        """Return the file, if the data have it."""
        folder = context.folder(*self.folders)
        found = () if folder is None else (folder / name for name in self.files)
        return next((path for path in found if path.exists()), None)

    def read(self, path: Path) -> Floats:
        """Return viewers x titles; 0 where there is no rating."""
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        width = len(text.partition(b"\n")[0].split())
        try:
            values = np.array(text.split(), dtype=np.int64).reshape(-1, width)[:, :3]
            places, ratings = values[:, :2] - self.first, values[:, 2]
            if places.min() < 0 or ratings.min() < 1 or ratings.max() > self.n_ranks:
                raise IndexError
        except (ValueError, IndexError):
            raise DataError(
                f"{path} must have lines of whole numbers: viewer and title from {self.first} on, "
                f"and a rating from 1 to {self.n_ranks}."
            ) from None
        table = np.zeros(places.max(axis=0) + 1)
        table[places[:, 0], places[:, 1]] = ratings
        return table

    def features(self, ratings: Floats) -> Floats:
        """Return ratings from -1/2 to 1/2, and 0 for what was not seen, as the paper describes."""
        return np.where(ratings == 0, 0.0, (ratings - 1) / (self.n_ranks - 1) - 0.5)


COLLECTIONS = (
    # The file has viewers with 121 ratings and more: the paper's 7,542 with 100 are not all there.
    Ratings(
        "EachMovie",
        ("ratings/eachmovie", "eachmovie"),
        ("ratings.tsv.gz", "ratings.tsv"),
        n_ranks=6,
        first=0,
        least=(121, 200),
        of_the_paper=True,
    ),
    Ratings(
        "MovieLens 100K",
        ("ratings/movielens-100k", "movielens-100k", "ml-100k"),
        ("u.data", "u.data.gz"),
        n_ranks=5,
        first=1,
        least=(200,),
        of_the_paper=False,
    ),
)
FEATURES = {  # and why PRank is not first with them
    "literal": "R7: PRank's thresholds move by 1, whatever the scale",
    "scaled": "no reading of the paper that we tried has PRank first",
}
SETTINGS = {"online": "online loss", "batch": "batch, last weights", "averaged": "batch, averaged"}


def run(context: Context) -> Findings | None:
    """Take a random viewer's ratings as ranks, those of the others as features."""
    repeats = context.pick(8, 150)
    result = Findings(settings={"repeats": repeats})
    panels = {}
    for collection in COLLECTIONS:
        path = collection.find(context)
        if path is None:
            continue
        table = collection.read(path)
        for least in collection.least[context.pick(-1, 0) :]:
            viewers = table[(table != 0).sum(axis=1) >= least]
            at = np.unique(np.geomspace(5, least, 8).astype(int)).tolist()
            runs, what = [], f"{collection.name}, at least {least} ratings"
            for seed in context.each(what, range(repeats)):
                key = {"what": "prank-ratings", "data": what, "seed": seed, "at": at}
                runs.append(context.once(key, _one_viewer, collection, viewers, seed, at))
            what = f"{what} ({len(viewers):,} viewers)"
            for kind, why in FEATURES.items():
                mine = [run[kind] for run in runs]
                result.rows += _setting_rows(collection, f"{what}, {kind}", mine, why)
                shown = curves([_shown(mine, run) for run in mine], at)
                panels[f"{collection.name}, {least}, {kind}"] = Panel(
                    shown, "rounds", "time-averaged rank loss", log_x=True
                )
            result.notes.append(_scale_note(f"{collection.name}, {least}", runs))
    if not panels:
        return None
    result.notes = NOTES + result.notes
    caption = "Ratings of movies, mean of the repeats with 95 % bands"
    result.figures.append(Figure("figure2_right", caption, panels))
    return result


NOTES = [
    "Literal features are the ratings of the other viewers, as the paper describes them; scaled "
    "ones are divided by the length of the document. PRank depends on that scale, because its "
    "thresholds move by 1 in each update (R7): where documents are long, they never open, and it "
    "predicts the first rank or the last. The multiclass perceptrons do not depend on it.",
    "Widrow-Hoff has the best of its rates in hindsight, once as described and once with an "
    "intercept (R8). Differences are paired: all learners see the same viewers and titles. The "
    "paper counts 1,802 viewers with 200 ratings and more.",
]


def _scale_note(what: str, runs: list[dict[str, Any]]) -> str:
    """Say how much the scale of the documents moves PRank's online loss (R7)."""
    size = float(np.mean([run["square"] for run in runs]))
    literal, scaled = (
        float(np.mean([run[kind]["online"]["PRank"][-1] for run in runs])) for kind in FEATURES
    )
    return (
        f"{what}: the mean of |x|^2 is {size:.0f}; dividing documents by their length moves "
        f"PRank's online loss from {literal:.2f} to {scaled:.2f}."
    )


def _one_viewer(collection: Ratings, viewers: Floats, seed: int, at: list[int]) -> dict[str, Any]:
    rng = np.random.default_rng([seed, len(viewers)])
    target = int(rng.integers(len(viewers)))
    titles = rng.permutation(np.flatnonzero(viewers[target]))
    y = viewers[target, titles]
    X = collection.features(np.delete(viewers[:, titles], target, axis=0).T)
    length = np.linalg.norm(X, axis=1, keepdims=True)
    classes = list(range(1, collection.n_ranks + 1))
    found: dict[str, Any] = {"square": float(np.mean(length**2))}
    for name, features in (("literal", X), ("scaled", X / np.maximum(length, 1e-12))):
        found[name] = {
            "online": {
                learner: average_losses(made, features, y, at)
                for learner, made in _field(features, classes).items()
            }
        }
        n = int(TRAIN_SHARE * len(y))
        for setting, variant in (("batch", "last"), ("averaged", "averaged")):
            found[name][setting] = {
                learner: -float(made.fit(features[:n], y[:n]).score(features[n:], y[n:]))
                for learner, made in _field(features, classes, variant).items()
            }
    return found


def _field(X: Floats, classes: list[int], variant: str = "last") -> dict[str, Any]:
    """Return all learners by name."""
    found = perceptrons(classes, variant)
    square = float((X**2).sum(axis=1).max())
    for intercept in (False, True):
        name = "Widrow-Hoff with an intercept" if intercept else "Widrow-Hoff"
        for share in SHARES:
            rate = share / (square + intercept)  # an intercept is a feature that is 1
            made = widrow_hoff(rate, classes, variant, fit_intercept=intercept)
            found[f"{name}, {share:g} / R^2"] = made
    return found


def _setting_rows(
    collection: Ratings, what: str, runs: list[dict[str, Any]], why: str
) -> list[Row]:
    """Return the rows of the three settings, with Widrow-Hoff's best rates."""
    found = []
    for setting, text in SETTINGS.items():
        values: Runs = {
            name: [np.atleast_1d(run[setting][name])[-1] for run in runs]
            for name in _chosen(runs, setting)
        }
        source = "Figure 2" if setting == "online" else "Section 4"
        other = not collection.of_the_paper
        found += rows(source, f"{what}, {text}", values, why, other_data=other)
    return found


def _chosen(runs: list[dict[str, Any]], setting: str) -> list[str]:
    """Return the perceptrons, and the best of Widrow-Hoff's rates in the end, of each kind."""
    means = {
        name: float(np.mean([np.atleast_1d(run[setting][name])[-1] for run in runs]))
        for name in runs[0][setting]
    }
    best: dict[str, str] = {}
    for name in means:
        kind = name.rpartition(", ")[0] if name.endswith("R^2") else name
        if kind not in best or means[name] < means[best[kind]]:
            best[kind] = name
    return list(best.values())


def _shown(runs: list[dict[str, Any]], run: dict[str, Any]) -> dict[str, list[float]]:
    return {name: run["online"][name] for name in _chosen(runs, "online")}


RATINGS = Experiment("prank", "figure2_right", "Figure 2, Section 4", "ratings of movies", run)
