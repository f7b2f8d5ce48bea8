"""Trials of a search, and the best of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from rankwright.comparison.entries import Entry
from rankwright.comparison.store import json_value
from rankwright.comparison.trial import run_trial, set_up
from rankwright.comparison.views import study_html, study_text
from rankwright.data.dataset import Dataset
from rankwright.data.framing import Backend, frame_of
from rankwright.evaluation.folds import Fold
from rankwright.metrics.metric import Metric
from rankwright.metrics.parsing import parse
from rankwright.showing import Brief


@dataclass(frozen=True, repr=False)
class Trial(Brief):
    """One set of parameters and its quality.

    Attributes
    ----------
    number : int
        From 0; trial 0 has the parameters of the estimator as it was given.
    params : dict
        The parameters that were searched.
    value : float
        Mean of the metric over the queries of all folds, each left out once; NaN if it failed.
    folds : list of float
        Mean in each fold.
    seconds : float
        Time it took.
    error : str
        What went wrong; empty if nothing did.
    share : float
        Share of the training queries that it was fitted to, when it was last.
    """

    number: int
    params: dict[str, Any]
    value: float
    folds: list[float]
    seconds: float
    error: str = ""
    share: float = 1.0


@dataclass(eq=False, repr=False)
class Study:
    """Trials of a search.

    Attributes
    ----------
    metric : str
        What was measured.
    trials : list of Trial
        In their order.
    measure : Metric
        The metric itself; by default the one of that name.
    """

    metric: str
    trials: list[Trial] = field(default_factory=list)
    measure: Metric | None = None
    _entry: Entry | None = None
    _random_state: int = 0

    @property
    def higher_is_better(self) -> bool:
        """Whether larger values are better."""
        return parse(self.measure or self.metric).higher_is_better

    @property
    def best(self) -> Trial:
        """The trial with the best value of those that saw most; of equal ones, the first."""
        done = [trial for trial in self.trials if not math.isnan(trial.value)]
        if not done:
            why = self.trials[-1].error if self.trials else "there is none"
            raise ValueError(f"no trial succeeded: {why}")
        sign = 1 if self.higher_is_better else -1
        return max(done, key=lambda trial: (trial.share, sign * trial.value, -trial.number))

    def best_first(self) -> list[Trial]:
        """Return the trials, best first; those that saw less come later, those that failed last."""
        sign = -1 if self.higher_is_better else 1
        return sorted(
            self.trials, key=lambda t: (math.isnan(t.value), -t.share, sign * t.value, t.number)
        )

    def __repr__(self) -> str:
        return study_text(self)

    def _repr_html_(self) -> str:
        return study_html(self)

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """Return a data frame with a row for each trial, in their order.

        ``backend`` is "pandas", "polars" or "pyarrow"; by default the first that is installed.
        """
        trials = self.trials
        columns: dict[str, Any] = {"trial": [t.number for t in trials]}
        for name in trials[0].params if trials else ():
            columns[name] = _of_one_kind([json_value(t.params[name]) for t in trials])
        columns[self.metric] = [t.value for t in trials]
        columns |= {
            name: [getattr(t, name) for t in trials] for name in ("share", "seconds", "error")
        }
        return frame_of(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        trials = json_value([vars(trial) for trial in self.trials])
        best = trials[self.trials.index(self.best)]
        return {"metric": self.metric, "best": best, "trials": trials}

    @property
    def best_estimator(self) -> Any:
        """The estimator with the best parameters, not fitted."""
        if self._entry is None:
            raise ValueError("there must be a study that tune returned.")
        return set_up(self._entry, self.best.params, parse(self.measure or self.metric))

    def fit_best(self, dataset: Dataset) -> Any:
        """Return the estimator with the best parameters, fitted to a data set.

        If it watches queries while it is fitted, a fifth of them is put aside for that.
        """
        if self._entry is None:
            raise ValueError("fit_best needs a study that tune returned.")
        parts = with_watched(self._entry, dataset, self._random_state)
        fold = Fold("all", *parts, dataset)
        return run_trial(
            self._entry,
            self.best.params,
            fold,
            self.measure or self.metric,
            on="test",
            n_jobs=None,
        ).model


def _of_one_kind(values: list[Any]) -> list[Any]:
    """Return the values of a parameter: as they are if they are numbers, else as texts."""
    if all(isinstance(value, int | float) for value in values):
        return values
    return [None if value is None else str(value) for value in values]


def with_watched(entry: Entry, train: Dataset, random_state: int) -> tuple[Dataset, Dataset]:
    """Return training queries, and those to watch meanwhile: a fifth of them, if it watches any."""
    from rankwright.estimator import as_model

    if not as_model(entry.estimator).takes_valid():
        return train, train
    kept, watched = train.split((0.8, 0.2), random_state)
    return kept, watched
