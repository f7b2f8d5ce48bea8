"""Rankers side by side: searched, fitted, measured and tested on the same queries."""

from __future__ import annotations

import io
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankwright.comparison.entries import Entry, Models, entries_of
from rankwright.comparison.executors import executor_for, run_all
from rankwright.comparison.halving import HALVE_ABOVE, budget_text, rungs
from rankwright.comparison.keys import key
from rankwright.comparison.place import comparison_folder
from rankwright.comparison.result import Comparison, Failure
from rankwright.comparison.store import read_result, write_result
from rankwright.comparison.telling import show_models
from rankwright.comparison.trial import Event, Outcome, run_search
from rankwright.comparison.workers import reason
from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.data.validation import check_count
from rankwright.evaluation.folds import Fold, split
from rankwright.evaluation.measure import DEFAULT_METRICS
from rankwright.evaluation.overlap import check_overlap
from rankwright.evaluation.segments import parts_by_each
from rankwright.exceptions import DataError, DataWarning
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import columns_of, per_query_on
from rankwright.metrics.parsing import MetricLike, named_metrics
from rankwright.progress import heard
from rankwright.threads import n_threads

DEFAULT_TRIALS = 8
# The slowest first, so that no process is left alone with them at the end.
_SLOWEST = ("ensemble", "graft", "trees", "", "linear", "online", "baseline")
_ORDER = {name: place for place, name in enumerate(_SLOWEST)}


def compare(
    data: Dataset | Sequence[Fold],
    models: Models | None = None,
    *,
    test: Dataset | None = None,
    valid: Dataset | None = None,
    metrics: Sequence[MetricLike] = DEFAULT_METRICS,
    n_trials: int = DEFAULT_TRIALS,
    random_state: int = 0,
    halve_above: int | None = HALVE_ABOVE,
    n_jobs: int | None = 1,
    executor: Executor | None = None,
    folder: PathLike | None = None,
    overwrite: bool = False,
    allow_overlap: bool = False,
    segments: Sequence[str] = (),
    callback: Callable[[Event], None] | None = None,
    verbose: bool = False,
) -> Comparison:
    """Fit rankers on the same queries, and tell which is best and whether the difference is real.

    Parameters
    ----------
    data : Dataset or sequence of Fold
        Training data, or folds with training, validation and test queries.
    models : sequence of str or Entry, or mapping of str to estimator, optional
        Names of models, entries of your own, or unfitted rankers by name, which are fitted with
        their own parameters; the whole line-up by default.
    test, valid : Dataset, optional
        Test and validation queries, if ``data`` is a data set; without them they are cut from it by
        query.
    metrics : sequence of str, Metric or function
        What to measure. By the first one parameters are chosen and rankers are ordered.
    n_trials : int, default 8
        Parameters to try for each model and fold: first the model's own, then seeded draws.
    random_state : int, default 0
        Seed of splits, draws and tests.
    halve_above : int, optional
        With more training documents than this, 150,000 by default, trials run on samples of the
        training queries first, and thirds of them go on (:mod:`rankwright.comparison.halving`).
        The same for every model; None never samples.
    n_jobs : int, optional
        Processes; 1, the default, is this one. None is one for each core. Models and metrics of
        your own may be defined in a notebook. The results do not depend on it.
    executor : concurrent.futures.Executor, optional
        Takes the work in place of ``n_jobs`` processes: one call for each model and fold, which
        starts a process where it runs. On several machines it needs a ``folder`` that all share.
    folder : str or path-like, optional
        Where to keep what is finished. Called again with the same folder, models and data, only
        what is missing is done. A folder that holds another comparison, or anything else, is an
        error.
    overwrite : bool, default False
        Whether to remove the results that are in the folder, of whatever comparison, and to use a
        folder that holds other things; those stay, unless they have the name of a result.
    allow_overlap : bool, default False
        Whether the parts of a fold may have queries in common, by their ids or by their documents.
    segments : sequence of str
        Kinds of queries to measure apart, such as ``"list-length"`` or a column that the data keep;
        see :mod:`rankwright.evaluation.segments`.
    callback : callable, optional
        Called with an :class:`Event` whenever something is finished, and kept if there is a folder;
        never twice at a time.
    verbose : bool, default False
        Show the progress: bars on a terminal, text below the cell of a notebook, else plain lines.

    Returns
    -------
    Comparison
        The leaderboard, significance tests, models, and ways to write them down.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> ds = make_mslr_like(n_queries=60, n_features=20, mean_docs=20)
    >>> result = compare(ds, ["xendcg-linear", "best-feature", "random"], n_trials=2)
    >>> print(result)
    model          ndcg@10  95 % interval     features
    xendcg-linear  0.8034   [0.7363, 0.8617]  20
    best-feature   0.5763   [0.4802, 0.6665]  1
    random         0.4494   [0.3425, 0.5629]
    >>> result.best
    'xendcg-linear'
    """
    begin = time.perf_counter()
    entries = entries_of(models)
    asked = named_metrics(metrics)
    if not asked:
        raise ValueError("metrics must name at least one metric.")
    main = next(iter(asked))
    check_count("n_trials", n_trials)
    check_count("halve_above", halve_above, optional=True)
    folds = _as_folds(data, test, valid, random_state)
    _check_metrics(asked, folds)
    if not allow_overlap:
        check_overlap(folds)
    parts_by_each(segments, [fold.test for fold in folds])  # before the long training
    settings = {"trials": n_trials, "random_state": random_state, "halve_above": halve_above}
    data_hashes = {fold.name: fold.fingerprint for fold in folds}
    about = {"data": data_hashes, "metric": main, **settings}
    with comparison_folder(folder, about, overwrite=overwrite) as place:
        jobs = [
            _fold_job(entry, fold, place, asked[main], n_trials, random_state, halve_above)
            for entry in entries
            for fold in folds
        ]
        with heard(verbose, show_models(_fits_of(jobs)), callback) as told:
            outcomes, failures = _run_jobs(jobs, place, n_jobs, executor, _one_at_a_time(told))
        result = Comparison.build(
            entries,
            folds,
            list(metrics),
            outcomes,
            failures,
            settings={
                **settings,
                "budget": _budget(folds, n_trials, halve_above),
                **_place_of_work(n_jobs, executor),
            },
            seconds=time.perf_counter() - begin,
            segments=segments,
        )
        if folder is None:
            result.load_models()  # before their files are gone
    return result


def _place_of_work(n_jobs: int | None, executor: Executor | None) -> dict[str, Any]:
    """Return what the run card says: how many processes there were, or whose."""
    if executor is None:
        return {"processes": n_threads(n_jobs)}
    return {"executor": getattr(executor, "description", type(executor).__name__)}


def _one_at_a_time(callback: Callable[[Event], None] | None) -> Callable[[Event], None]:
    lock = threading.Lock()

    def call(event: Event) -> None:
        if callback is not None:
            with lock:
                callback(event)

    return call


def _as_folds(
    data: Dataset | Sequence[Fold], test: Dataset | None, valid: Dataset | None, seed: int
) -> list[Fold]:
    if isinstance(data, Dataset):
        return split(data, test, valid, seed)
    if not isinstance(data, Sequence) or not all(isinstance(fold, Fold) for fold in data):
        raise TypeError(
            f"data must be a Dataset or a sequence of folds, but is a {type(data).__name__}. Make "
            "one: rankwright.read(path), Dataset(X, y, qid), or rankwright.from_frame(table)."
        )
    if test is not None or valid is not None:
        raise ValueError("test and valid go with a data set; folds have their own.")
    folds = [fold.check() for fold in data]
    if not folds or len({fold.name for fold in folds}) < len(folds):
        raise ValueError("data must have at least one fold, and folds of different names.")
    return folds


def _check_metrics(metrics: dict[str, Metric], folds: list[Fold]) -> None:
    """Raise now, not after the training, if labels or columns do not suit the metrics."""
    for fold in folds:
        for name, part in (("valid", fold.valid), ("test", fold.test)):
            values = per_query_on(list(metrics.values()), part, np.zeros(part.n_docs))
            for metric, column in zip(metrics, values, strict=True):
                if np.isnan(column).all():
                    raise DataError(
                        f"{metric} is defined on none of the {name} queries of {fold.name}: there "
                        "must be one with a relevant document."
                    )


# ---- a model and a fold ----


@dataclass(frozen=True)
class _FoldJob:
    entry: Entry
    fold: Fold
    arguments: dict[str, Any]
    target: Path
    key: str

    @property
    def name(self) -> tuple[str, str]:
        return self.entry.name, self.fold.name


def _fold_job(
    entry: Entry,
    fold: Fold,
    place: Path,
    metric: Metric,
    n_trials: int,
    random_state: int,
    halve_above: int | None,
) -> _FoldJob:
    options = {"n_trials": n_trials, "random_state": random_state, "halve_above": halve_above}
    # What the metric looks at is no part of the data's fingerprint: models do not see it.
    columns = {name: columns_of(part, [metric]) for name, part in fold.parts().items()}
    asked = {"entry": entry.describe(), "fold": fold.name, "metric": metric, **options}
    return _FoldJob(
        entry,
        fold,
        {"entry": entry, "fold": fold, "metric": metric, **options},
        place / "models" / entry.name / fold.name,
        key(what="search", data=fold.fingerprint, columns=columns, **asked),
    )


def _budget(folds: list[Fold], n_trials: int, halve_above: int | None) -> str:
    """Say what each model may spend; folds of other sizes may differ."""
    plans = [rungs(fold.train.n_docs, n_trials, halve_above) for fold in folds]
    return "; ".join(dict.fromkeys(map(budget_text, plans)))


def _fits_of(jobs: list[_FoldJob]) -> dict[tuple[str, str], int]:
    """Return how many fits each job has."""
    steps = {}
    for job in jobs:
        n_trials = job.arguments["n_trials"] if job.entry.space else 1
        plan = rungs(job.fold.train.n_docs, n_trials, job.arguments["halve_above"])
        steps[job.name] = sum(rung.n_trials for rung in plan)
    return steps


def _run_jobs(
    jobs: list[_FoldJob],
    place: Path,
    n_jobs: int | None,
    executor: Executor | None,
    callback: Callable[[Event], None],
) -> tuple[dict[tuple[str, str], Outcome], list[Failure]]:
    """Do what was not done before; return all outcomes, and what failed."""
    outcomes = _finished_before(jobs, place, callback)
    failures = []
    missing = [job for job in jobs if job.name not in outcomes]
    missing.sort(key=lambda job: _ORDER.get(job.entry.family, _ORDER[""]))
    with executor_for(
        n_jobs, executor=executor, folder=place / ".data", listener=callback
    ) as calls:
        for job, future in run_all(calls, ((job, (run_search, job.arguments)) for job in missing)):
            try:
                outcome = future.result()
            except Exception as error:
                failures.append(Failure(*job.name, reason(error)))
                callback(Event("failed", *job.name, text=reason(error)))
                continue
            outcomes[job.name] = _keep(outcome, job)
            seconds = outcome.facts["search_seconds"]
            callback(Event("done", *job.name, outcome.valid, seconds))
    return {job.name: outcomes[job.name] for job in jobs if job.name in outcomes}, failures


def _keep(outcome: Outcome, job: _FoldJob) -> Outcome:
    """Write an outcome; its files are on disk, and no longer in memory, when this returns."""
    write_result(job.target, job.key, outcome.facts, outcome.files)
    return Outcome(outcome.facts, outcome.scores, outcome.model, path=job.target)


def _finished_before(
    jobs: list[_FoldJob], place: Path, callback: Callable[[Event], None]
) -> dict[tuple[str, str], Outcome]:
    """Return what was finished before; say what of it is of no use."""
    outcomes = {}
    useless: dict[str, list[str]] = {}
    for job in jobs:
        facts, why = read_result(job.target, job.key)
        if facts is not None:
            content = (job.target / "scores.npy").read_bytes()
            scores = np.load(io.BytesIO(content), allow_pickle=False)
            outcomes[job.name] = outcome = Outcome(facts, scores, path=job.target)
            callback(Event("kept", *job.name, outcome.valid))
        elif why:
            useless.setdefault(why, []).append(" ".join(job.name))
    for why, names in useless.items():
        warnings.warn(
            f"{place}: results that are {why} are done again: {', '.join(names)}.",
            DataWarning,
            stacklevel=4,
        )
    return outcomes
