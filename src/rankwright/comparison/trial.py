"""One ranker, one set of parameters, one fold: fitted and measured. Everything else calls this.

A comparison searches with it on the validation queries (:func:`run_search`), a study of parameters
measures with it on the queries left out, a noise study on those that stay as they are.
"""

from __future__ import annotations

import contextlib
import io
import math
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rankwright.comparison.entries import Entry
from rankwright.comparison.facts import facts_of
from rankwright.comparison.halving import rungs, survivors
from rankwright.comparison.space import draw_parameters, from_plain
from rankwright.comparison.store import json_value
from rankwright.comparison.workers import arrived, sent, tell
from rankwright.data.dataset import Dataset
from rankwright.data.validation import Floats
from rankwright.evaluation.folds import Fold
from rankwright.evaluation.systems import timed_scores
from rankwright.metrics.function import FunctionMetric
from rankwright.metrics.metric import Metric, mean_of_queries
from rankwright.metrics.on_data import per_query_on
from rankwright.metrics.parsing import MetricLike, parse
from rankwright.models import make_model, name_and_params
from rankwright.showing import Brief
from rankwright.trees.shared_bins import shared_bins

MODEL_FILE = "model.rw"


@dataclass(frozen=True, eq=False, repr=False)
class TrialResult(Brief):
    """What came of a trial.

    Attributes
    ----------
    model : object
        The fitted model.
    params : dict
        Its parameters that the entry searches.
    per_query : ndarray of shape (n_queries,)
        The metric by query.
    value : float
        Its mean.
    seconds : float
        Time of the fit.
    warnings : list of str
        What the model warned of.
    """

    model: Any
    params: dict[str, Any]
    per_query: Floats
    value: float
    seconds: float
    warnings: list[str]


def run_trial(
    entry: Entry,
    params: dict[str, Any],
    fold: Fold,
    metric: MetricLike,
    *,
    on: Literal["valid", "test"] = "valid",
    n_jobs: int | None = 1,
    watch: bool = True,
) -> TrialResult:
    """Fit a clone of the entry's estimator to the training queries, and measure it.

    Parameters
    ----------
    entry : Entry
        The model.
    params : dict
        Parameters to set; the others are the estimator's own.
    fold : Fold
        The queries. A model whose ``fit`` takes ``valid`` watches the validation queries.
    metric : str, Metric or function
        What is measured.
    on : {"valid", "test"}
        Where it is measured.
    n_jobs : int, optional
        Threads of the model; None leaves it to the model.
    watch : bool, default True
        Let a model that has an ``eval_metric`` watch this metric; else it has its own.
    """
    measured = parse(metric)
    model = set_up(entry, params, measured if watch else None, n_jobs)
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asked = fit_watched(model, fold.train, fold.valid)
        seconds = time.perf_counter() - begin
        part = fold.parts()[on]
        scores = asked.predict_dataset(part)
    per_query = per_query_on([measured], part, scores)[0]
    return TrialResult(
        model,
        {name: model.get_params()[name] for name in entry.space},
        per_query,
        mean_of_queries(per_query, str(measured)),
        seconds,
        sorted({str(warning.message) for warning in caught}),
    )


def set_up(
    entry: Entry, params: dict[str, Any], metric: Metric | None, n_jobs: int | None = None
) -> Any:
    """Return a clone of the entry's estimator with these parameters, which watches this metric."""
    from sklearn.base import clone

    from rankwright.estimator import Estimator

    model = clone(entry.estimator)
    watched: Any = None if metric is None else str(metric)
    if isinstance(metric, FunctionMetric):  # which others than ours could not call
        watched = metric if isinstance(model, Estimator) else None
    given = {"eval_metric": watched, "n_jobs": n_jobs}
    known = model.get_params()
    settings = {k: v for k, v in given.items() if v is not None and k in known}
    return model.set_params(**{**params, **settings}) if params or settings else model


def fit_watched(model: Any, train: Dataset, valid: Dataset | None) -> Any:
    """Fit a model, which watches the validation queries if there are any and it can."""
    from rankwright.estimator import as_model

    asked = as_model(model, train.n_features)
    asked.fit_dataset(train, valid=valid if asked.takes_valid() else None)
    return asked


# ---- a search ----


@dataclass(frozen=True, repr=False)
class Event(Brief):
    """Progress of a comparison.

    ``kind`` is ``"trial"`` (one set of parameters was tried), ``"done"``, ``"kept"`` (was finished
    before) or ``"failed"``; ``value`` is the validation metric, ``text`` what went wrong.
    """

    kind: str
    model: str
    fold: str
    value: float = float("nan")
    seconds: float = 0.0
    text: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Brief):
    """What came of a search.

    ``facts`` is plain data, ready for JSON; ``scores`` are those of the test documents; ``model``
    is the fitted model, or None if it must be read from the folder ``path``; ``files`` are what is
    to be written there.
    """

    facts: dict[str, Any]
    scores: Floats
    model: Any = None
    path: Path | None = None
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def valid(self) -> float:
        """The metric on the validation queries."""
        value = self.facts["valid"]
        return math.nan if value is None else float(value)

    def __getstate__(self) -> dict[str, Any]:
        # Another process gets a model from its file; one that has none travels, if it can.
        return {**vars(self), "model": None if MODEL_FILE in self.files else sent(self.model)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, model=arrived(state["model"]))


@shared_bins()  # trees: all trials are fitted to the same features
def run_search(
    entry: Entry,
    fold: Fold,
    metric: Metric,
    *,
    n_trials: int,
    random_state: int,
    halve_above: int | None = None,
) -> Outcome:
    """Choose parameters on the validation queries; score the test queries with the best.

    The first trial is the estimator as it was given; of equal trials the first is best. With more
    training documents than ``halve_above`` most trials see a sample of the training queries
    (:mod:`rankwright.comparison.halving`), and the best is one of those that saw all.
    """
    begin = time.perf_counter()
    best, chosen, trials = _climb(entry, fold, metric, n_trials, random_state, halve_above)
    scores, microseconds = timed_scores(best.model, fold.test)
    files = _files(best.model, scores)
    facts = {
        "model": entry.name,
        "family": entry.family,
        "class": type(best.model).__name__,
        "fold": fold.name,
        "params": best.params,
        "trial": chosen,
        "trials": trials,
        "valid": best.value,
        "train_seconds": best.seconds,
        "search_seconds": time.perf_counter() - begin,
        "score_us": microseconds,
        **facts_of(best.model, fold, metric),
        "model_bytes": len(files[MODEL_FILE]) if MODEL_FILE in files else None,
    }
    return Outcome(json_value(facts), scores, best.model, files=files)


def _climb(
    entry: Entry,
    fold: Fold,
    metric: Metric,
    n_trials: int,
    random_state: int,
    halve_above: int | None,
) -> tuple[TrialResult, int, list[dict[str, Any]]]:
    """Return the best trial of the last rung, its number, and what each trial came to last."""
    from rankwright.estimator import as_model

    sign = 1.0 if metric.higher_is_better else -1.0
    trials: dict[int, dict[str, Any]] = {}
    values: dict[int, float] = dict.fromkeys(range(n_trials if entry.space else 1), 0.0)
    best: TrialResult | None = None
    chosen = 0
    for rung in rungs(fold.train.n_docs, len(values), halve_above):
        part, best = rung.part_of(fold, random_state), None
        values = dict.fromkeys(survivors(values, rung.n_trials, metric), 0.0)
        done: dict[str, int] = {}
        for number in values:
            params = draw_parameters(entry.space, number - 1, random_state) if number else {}
            # Few choices are soon drawn twice: the same parameters are not fitted again.
            same = done.setdefault(_same_text(entry, params), number)
            if same == number:
                trial = run_trial(entry, params, part, metric)
                trials[number] = {
                    "params": trial.params,
                    "valid": trial.value,
                    "seconds": trial.seconds,
                    "warnings": trial.warnings,
                    "grown": _plain_grown(as_model(trial.model).grown()),
                    "share": float(rung.share),
                }
                if best is None or sign * trial.value > sign * best.value:
                    best, chosen = trial, number
            trials[number] = trials[same]
            # It does not go on a second time either.
            values[number] = trials[same]["valid"] if same == number else math.nan
            tell(Event("trial", entry.name, fold.name, trials[same]["valid"]))
    assert best is not None
    return best, chosen, list(trials.values())


def _same_text(entry: Entry, params: dict[str, Any]) -> str:
    """Return a text that is equal for equal parameters of an entry."""
    known = entry.estimator.get_params() | params
    return repr([json_value(known[name]) for name in entry.space])


def chosen_model(entry: Entry, trials: list[list[dict[str, Any]]], metric: Metric) -> Any:
    """Return the model of the trial with the best mean over folds; ``trials`` are by fold.

    Of trials that saw samples, those that saw most over the folds come first.
    """
    sign = 1.0 if metric.higher_is_better else -1.0
    shares = np.array([[trial["share"] for trial in fold] for fold in trials]).mean(axis=0)
    values = np.array([[trial["valid"] for trial in fold] for fold in trials], dtype=np.float64)
    means = sign * values.mean(axis=0)
    best = int(np.argmax(np.where(np.isnan(means) | (shares < shares.max()), -np.inf, means)))
    most = max(fold[best]["share"] for fold in trials)
    found = [fold[best] for fold in trials if fold[best]["share"] == most]
    grown = {
        name: round(float(np.median([trial["grown"][name] for trial in found])))
        if isinstance(value, int)
        else _grown_value(value)
        for name, value in found[0]["grown"].items()
    }
    return set_up(entry, from_plain(found[0]["params"], entry.space) | grown, None)


def _plain_grown(grown: dict[str, Any]) -> dict[str, Any]:
    """Return what validation queries chose, with models by name, so that a file can hold it."""
    found = dict(grown)
    for key, value in grown.items():
        if (known := name_and_params(value)) is not None:
            found[key] = {"model": known[0], "params": known[1]}
    return found


def _grown_value(value: Any) -> Any:
    """Return a value that :func:`_plain_grown` may have written."""
    if not isinstance(value, dict):
        return value
    return make_model(value["model"], **value["params"])


def _files(model: Any, scores: Floats) -> dict[str, bytes]:
    from rankwright.model_file import PIPELINE
    from rankwright.models import CLASSES
    from rankwright.persistence import packed

    content = io.BytesIO()
    np.save(content, scores, allow_pickle=False)
    files = {"scores.npy": content.getvalue()}
    if type(model).__name__ in (*CLASSES, PIPELINE):
        with contextlib.suppress(TypeError):  # what cannot be saved was still measured
            files[MODEL_FILE] = packed(model)
    return files
