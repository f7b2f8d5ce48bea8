"""What came of a comparison: tables, tests, files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwright.comparison import tables
from rankwright.comparison.card import run_card
from rankwright.comparison.entries import Entry
from rankwright.comparison.noise_curves import NoiseStudy
from rankwright.comparison.space import from_plain
from rankwright.comparison.trial import Outcome, chosen_model, fit_watched
from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.data.validation import Floats
from rankwright.evaluation.contest import Contest, Standing, held_against, means_of, ranked
from rankwright.evaluation.folds import Fold, queries_of
from rankwright.evaluation.segmented import segmented
from rankwright.evaluation.segments import parts_by_each
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import per_query_on
from rankwright.metrics.parsing import MetricLike, named_metrics
from rankwright.showing import Brief


@dataclass(frozen=True, repr=False)
class Failure(Brief):
    """A model that could not be fitted on a fold, and why."""

    model: str
    fold: str
    reason: str


@dataclass(eq=False, kw_only=True, repr=False)
class Comparison(Contest):
    """Rankers that were fitted to the same queries, on the same test queries.

    Attributes
    ----------
    metrics : list of str
        What was measured; the first orders the leaderboard.
    standings : list of Standing
        The leaderboard, best first. Models that failed on a fold are not on it.
    pairs : list of PairedComparison
        The best against each of the others by the first metric, in the order of the leaderboard.
    failures : list of Failure
        What failed, and why.
    folds : list of Fold
        The data.
    outcomes : dict of (str, str) to Outcome
        By model and fold.
    segments : list of Segment
        The same, for queries of a kind.
    card : dict
        Versions, seeds and hashes: what it takes to do it again.
    noise : list of NoiseStudy
        How the models behave as the training data gets worse, if that was studied.
    """

    failures: list[Failure]
    folds: list[Fold]
    outcomes: dict[tuple[str, str], Outcome]
    noise: list[NoiseStudy] = field(default_factory=list)
    _models: dict[tuple[str, str], Any] = field(default_factory=dict)
    _entries: dict[str, Entry] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        entries: list[Entry],
        folds: list[Fold],
        metrics: Sequence[MetricLike],
        outcomes: dict[tuple[str, str], Outcome],
        failures: list[Failure],
        *,
        settings: dict[str, Any],
        seconds: float,
        segments: Sequence[str] = (),
    ) -> Comparison:
        """Measure and test what the jobs left."""
        failed = {failure.model for failure in failures}
        complete = [entry for entry in entries if entry.name not in failed]
        seed = settings["random_state"]
        measures = named_metrics(metrics)
        first, names = next(iter(measures)), list(measures)
        standings = _standings(complete, folds, measures, outcomes, seed)
        tests = {fold.name: fold.test for fold in folds}
        cut = parts_by_each(segments, list(tests.values()))
        return cls(
            metrics=names,
            measures=measures,
            standings=standings,
            pairs=held_against(standings, first, random_state=seed, measure=measures[first]),
            tests=tests,
            scores={name: outcome.scores for name, outcome in outcomes.items()},
            segments=segmented(standings, cut, names, random_state=seed) if standings else [],
            card=run_card(folds, names, settings, seconds),
            failures=failures,
            folds=folds,
            outcomes=outcomes,
            _entries={entry.name: entry for entry in entries},
        )

    def model(self, name: str, fold: str | None = None) -> Any:
        """Return a fitted model; of the first fold by default."""
        key = (name, self.folds[0].name if fold is None else fold)
        if key not in self.outcomes:
            known = ", ".join(sorted({model for model, _ in self.outcomes}))
            raise KeyError(f"there is no model {key!r}; there are {known}.")
        outcome = self.outcomes[key]
        if outcome.model is not None:
            return outcome.model
        if key not in self._models:
            from rankwright.persistence import load

            if outcome.path is None or not (outcome.path / "model.rw").exists():
                raise KeyError(f"the model {key!r} could not be saved, and was not kept.")
            self._models[key] = load(outcome.path / "model.rw")
        return self._models[key]

    def tuned(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return the entries on the leaderboard, best first, with the parameters of the first fold.

        Baselines are left out.
        """
        from sklearn.base import clone

        given = {entry.name: entry for entry in entries}
        found = []
        for standing in self.standings:
            entry = given[standing.name]
            if entry.family != "baseline":
                params = from_plain(standing.params[0], entry.space)
                estimator = clone(entry.estimator).set_params(**params)
                found.append(replace(entry, estimator=estimator))
        return found

    def chosen(self, name: str | None = None) -> Any:
        """Return a model, not fitted, with the parameters that the comparison found.

        They are those of the trial that was best on the validation queries, on average over the
        folds. What validation queries stopped gets the median of the sizes that it had.
        """
        entry = self._entries[self.best if name is None else name]
        facts = [self.outcomes[entry.name, fold.name].facts for fold in self.folds]
        return chosen_model(entry, [f["trials"] for f in facts], self.measures[self.metrics[0]])

    def refit(self, name: str | None = None, dataset: Dataset | None = None) -> Any:
        """Return a model with the parameters that the comparison found, fitted to all queries.

        Parameters
        ----------
        name : str, optional
            The model; the best by default.
        dataset : Dataset, optional
            What to fit it to; by default the training, validation and test queries of all folds.
        """
        name = self.best if name is None else name
        model = self.chosen(name)
        data = queries_of(self.folds) if dataset is None else dataset
        fit_watched(model, data, None)
        return model

    def load_models(self) -> None:
        """Read all models that were saved."""
        for name, fold in self.outcomes:
            try:
                self.model(name, fold)
            except KeyError:
                continue

    def troubles(self) -> list[str]:
        """Return what failed, on which folds, and why, a line each."""
        folds: dict[tuple[str, str], list[str]] = {}
        for failure in self.failures:
            folds.setdefault((failure.model, failure.reason), []).append(failure.fold)
        return [
            f"{model} failed on {', '.join(where)}: {reason}"
            for (model, reason), where in folds.items()
        ]

    # ---- files ----

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON, without those by query."""
        models = []
        for s in self.standings:
            scores = {
                m: {
                    "mean": s.means[m],
                    "low": s.low[m],
                    "high": s.high[m],
                    "folds": s.fold_means[m],
                }
                for m in self.metrics
            }
            models.append(
                {
                    "model": s.name,
                    "family": s.family,
                    "metrics": scores,
                    "train_seconds": s.train_seconds,
                    "search_seconds": s.search_seconds,
                    "score_us": s.score_us,
                    "model_bytes": s.model_bytes,
                    "features_used": s.features_used,
                    "params": s.params,
                }
            )
        return {
            "verdict": self.verdict,
            "advice": self.advice,
            "models": models,
            "pairs": [pair.to_dict() for pair in self.pairs],
            "segments": [segment.to_dict() for segment in self.segments],
            "failures": [vars(failure) for failure in self.failures],
            "noise": [study.to_dict() for study in self.noise],
            "card": self.card,
        }

    def metrics_csv(self) -> str:
        """Return all means as CSV; equal for equal seeds, models and data."""
        return tables.metrics_csv(self)

    def models_csv(self) -> str:
        """Return what the search chose as CSV; equal for equal seeds, models and data."""
        return tables.models_csv(self)

    def timings_csv(self) -> str:
        """Return what depends on the machine as CSV."""
        return tables.timings_csv(self)

    def pairs_csv(self) -> str:
        """Return the significance tests as CSV."""
        return tables.pairs_csv(self)

    def per_query_csv(self, *, spreadsheet_safe: bool = False) -> str:
        """Return each metric of each model by query as CSV.

        With ``spreadsheet_safe``, ids that a spreadsheet would run as formulas get an apostrophe.
        """
        return tables.per_query_csv(self, spreadsheet_safe=spreadsheet_safe)

    def write(self, folder: PathLike, *, spreadsheet_safe: bool = False) -> list[Path]:
        """Write the tables into a folder; return the files."""
        return tables.write_tables(self, folder, spreadsheet_safe=spreadsheet_safe)


def _standings(
    entries: list[Entry],
    folds: list[Fold],
    measures: dict[str, Metric],
    outcomes: dict[tuple[str, str], Outcome],
    seed: int,
) -> list[Standing]:
    """Measure each model on the test queries of all folds."""

    def values(name: str, fold: Fold) -> dict[str, Floats]:
        scores = outcomes[name, fold.name].scores
        found = per_query_on(list(measures.values()), fold.test, scores)
        return dict(zip(measures, found, strict=True))

    parts = {entry.name: [values(entry.name, fold) for fold in folds] for entry in entries}
    means = means_of(parts, seed)
    standings = []
    for entry in entries:
        facts = [outcomes[entry.name, fold.name].facts for fold in folds]
        standings.append(
            Standing(
                name=entry.name,
                family=entry.family,
                **means[entry.name],
                train_seconds=sum(f["train_seconds"] for f in facts),
                search_seconds=sum(f["search_seconds"] for f in facts),
                score_us=float(np.median([f["score_us"] for f in facts])),
                model_bytes=_mean_of_known(f["model_bytes"] for f in facts),
                features_used=_mean_of_known(f["features_used"] for f in facts),
                n_features=folds[0].train.n_features,
                params=[f["params"] for f in facts],
            )
        )
    first, measure = next(iter(measures.items()))
    return ranked(standings, first, measure)


def _mean_of_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
