"""How rankers behave as the training data gets worse.

Each trial splits the queries afresh into training, validation and test queries (60/20/20). At each
level the training queries are corrupted (clicks also replace the validation labels, as they would
in practice), every model is fitted to the same corrupted data, and is measured on the test queries,
which stay as they are. Sections 5.4 and 5.5 of the XE-NDCG paper do the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwright.comparison.entries import Entry, Models, entries_of
from rankwright.comparison.executors import JobExecutor, executor_for, run_all
from rankwright.comparison.keys import described, key
from rankwright.comparison.noise_curves import NoiseStudy
from rankwright.comparison.store import TrialStore, data_beside, open_trial_store, read_store
from rankwright.comparison.tables import csv_text
from rankwright.comparison.telling import show_fits
from rankwright.comparison.trial import run_trial
from rankwright.comparison.workers import WorkerError, reason
from rankwright.data.arrays import fingerprint
from rankwright.data.corruptions import Corruption, LabelNoise, find_corruption
from rankwright.data.dataset import Dataset, check_is_dataset
from rankwright.data.files import PathLike
from rankwright.data.noise import label_noise_up_to
from rankwright.data.streams import check_seed
from rankwright.data.validation import check_count
from rankwright.evaluation.folds import Fold
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import columns_of
from rankwright.metrics.parsing import MetricLike, parse
from rankwright.progress import heard
from rankwright.showing import Brief

DEFAULT_TRIALS = 5
DEFAULT_MODELS = (
    "xendcg-trees",
    "lambdarank-trees",
    "listnet-trees",
    "xendcg-linear",
    "domination-rank",
)
SHARES = (0.6, 0.2, 0.2)


def noise_study(
    dataset: Dataset,
    corruption: str | Corruption = "labels",
    models: Models = DEFAULT_MODELS,
    *,
    levels: Sequence[float] | None = None,
    n_trials: int = DEFAULT_TRIALS,
    metric: MetricLike = "ndcg@5",
    random_state: int = 0,
    n_jobs: int | None = 1,
    executor: Executor | None = None,
    path: PathLike | None = None,
    callback: Callable[[Fit, int, int], None] | None = None,
    verbose: bool = False,
) -> NoiseStudy:
    """Fit models to data that is corrupted more and more, and measure them on data that is not.

    Parameters
    ----------
    dataset : Dataset
        Judged documents.
    corruption : str or Corruption, default "labels"
        ``"labels"``, ``"augment"``, ``"cascade"``, ``"position"``, ``"browsing"``, or one with
        settings of your own. ``"labels"`` draws labels up to the largest in the data.
    models : sequence of str or Entry, or mapping of str to estimator
        Names of the line-up of :func:`compare`, entries, or unfitted rankers by name; each with its
        own parameters, without a search. By default boosted trees with XE-NDCG, LambdaRank and
        ListNet, a linear ranker with XE-NDCG, and DominationRank. Differences are those of the
        first and each other.
    levels : sequence of float, optional
        Levels; by default those of the corruption.
    n_trials : int, default 5
        Trials, at least 2. Trial t has a split and corruption of its own, seeded by
        ``random_state + t``.
    metric : str, Metric or function, default "ndcg@5"
        What is measured.
    random_state : int, default 0
        Seed.
    n_jobs : int, optional
        Processes; 1, the default, is this one, None one for each core. The results do not depend
        on it.
    executor : concurrent.futures.Executor, optional
        Takes the work in place of ``n_jobs`` processes, one call for each fit, which starts a
        process where it runs. On several machines ``path`` must lie in a folder that all share.
    path : str or path-like, optional
        A file, usually ``*.jsonl``, that gets a line for each finished fit. Called again with the
        same file, only what is missing is done; lines of other data, models or settings are left
        alone. One process at a time may use it.
    callback : callable, optional
        Called after each fit with a :class:`Fit`, the number done and the number in all.
    verbose : bool, default False
        Show the progress: bars on a terminal, text below the cell of a notebook, else plain lines.

    Returns
    -------
    NoiseStudy
        Curves and paired differences with intervals, as table and as chart.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> from rankwright.linear import LinearRanker
    >>> ds = make_mslr_like(n_queries=60, n_features=10, mean_docs=12)
    >>> rankers = {loss: LinearRanker(loss, standardize=True) for loss in ("xendcg", "listnet")}
    >>> study = noise_study(ds, "labels", rankers, levels=[0, 0.6], n_trials=3)
    >>> study.curve("xendcg")[0].round(1).tolist()
    [0.8, 0.6]
    """
    check_is_dataset(dataset, "dataset")
    what = _check_corruption(corruption, dataset)
    entries = entries_of(models)
    swept = tuple(float(level) for level in (what.levels if levels is None else levels))
    if not swept or len(set(swept)) < len(swept):
        raise ValueError(f"levels must be different numbers, at least one, but are {levels!r}.")
    check_count("n_trials", n_trials, 2)
    seed = check_seed(random_state)
    measured = parse(metric)
    common = {"noise": what, "metric": measured, "random_state": seed}
    data = {"rows": fingerprint(dataset), "columns": columns_of(dataset, [measured])}
    jobs = [
        _level_job(entry, level, trial, data=data, **common)
        for trial in range(n_trials)
        for level in swept
        for entry in entries
    ]
    values = np.full((len(entries), len(swept), n_trials), np.nan)
    places = {entry.name: i for i, entry in enumerate(entries)}
    with (
        open_trial_store(path) as store,
        executor_for(n_jobs, executor=executor, folder=data_beside(path)) as calls,
        heard(verbose, show_fits(), callback) as told,
    ):
        for done, fit in enumerate(_fits(jobs, dataset, common, store, calls), 1):
            values[places[fit.model], swept.index(fit.level), fit.trial] = fit.value
            if told is not None:
                told(fit, done, len(jobs))
    return NoiseStudy(what, measured, tuple(places), swept, values)


def _check_corruption(corruption: str | Corruption, dataset: Dataset) -> Corruption:
    if isinstance(corruption, Corruption):
        return corruption
    if corruption == "labels":
        return LabelNoise(label_noise_up_to(float(dataset.y.max())))
    return find_corruption(corruption)


# ---- fits ----


@dataclass(frozen=True, repr=False)
class Fit(Brief):
    """One model, fitted once."""

    level: float
    trial: int
    model: str
    value: float  # mean of the metric over the test queries
    seconds: float
    key: str
    kept: bool = False  # was finished before


def fits_csv(path: PathLike) -> str:
    """Return the fits in a file that :func:`noise_study` wrote, as a table."""
    columns = ["noise", "level", "trial", "model", "metric", "value", "seconds", "key"]
    rows = [[result[name] for name in columns] for result in read_store(path)]
    return csv_text([columns, *rows])


@dataclass(frozen=True)
class _LevelJob:
    entry: Entry
    level: float
    trial: int
    key: str


def _level_job(entry: Entry, level: float, trial: int, **common: Any) -> _LevelJob:
    asked = {"entry": entry.describe(), "level": level, "trial": trial, **common}
    return _LevelJob(entry, level, trial, key(what="noise", **asked))


def _fits(
    jobs: list[_LevelJob],
    dataset: Dataset,
    common: dict[str, Any],
    store: TrialStore,
    calls: JobExecutor,
) -> Iterator[Fit]:
    """Yield all fits: those of the store, then the others as they are finished and kept."""
    missing = []
    for job in jobs:
        found = store.find(job.key)
        if found is None:
            missing.append(job)
            continue
        value = math.nan if found["value"] is None else found["value"]
        numbers = value, found["seconds"]
        yield Fit(job.level, job.trial, job.entry.name, *numbers, job.key, kept=True)
    own = ({"entry": job.entry, "level": job.level, "trial": job.trial} for job in missing)
    submitted = ((_measure_at_level, {"dataset": dataset, **given, **common}) for given in own)
    failed: list[Exception] = []
    try:
        for job, future in run_all(calls, zip(missing, submitted, strict=True)):
            try:
                value, seconds = future.result()
            except Exception as error:
                failed.append(_naming_fit(job, error))
                if calls.at_once == 1:
                    break
                continue  # what runs beside it is finished and kept
            fit = Fit(job.level, job.trial, job.entry.name, value, seconds, job.key)
            names = {"noise": common["noise"].name, "metric": str(common["metric"])}
            figures = {name: vars(fit)[name] for name in ("level", "trial", "value", "seconds")}
            store.add(job.key, {**names, "model": fit.model, **figures})
            yield fit
    finally:
        _last.clear()
    if failed:
        raise failed[0]


def _naming_fit(job: _LevelJob, error: Exception) -> Exception:
    """Return an error that names the fit; one that was raised within it does already."""
    if isinstance(error, ValueError):
        return error
    return WorkerError(
        f"{job.entry.name} at level {job.level:g}, trial {job.trial}: {reason(error)}"
    )


def _measure_at_level(
    entry: Entry,
    dataset: Dataset,
    noise: Corruption,
    level: float,
    trial: int,
    metric: Metric,
    random_state: int,
) -> tuple[float, float]:
    """Return the mean of the metric over the test queries, and the seconds of the fit."""
    fold = corrupted(dataset, noise, level, random_state + trial)
    try:
        result = run_trial(entry, {}, fold, metric, on="test", watch=False)
    except Exception as error:
        text = str(error) if isinstance(error, ValueError | TypeError) else reason(error)
        raise ValueError(f"{entry.name} at level {level:g}, trial {trial}: {text}") from error
    return result.value, result.seconds


# Models are fitted to the same data one after another: the last is kept for the next.
_last: dict[str, tuple[Dataset, Fold]] = {}


def corrupted(dataset: Dataset, noise: Corruption, level: float, seed: int) -> Fold:
    """Return 60/20/20 of the queries, the first corrupted (by clicks also the second)."""
    asked = described((noise, level, seed))
    if asked not in _last or _last[asked][0] is not dataset:
        train, valid, test = dataset.split(SHARES, seed)
        corrupted = noise.apply(train, level, seed)
        watched = noise.apply(valid, level, seed) if noise.of_validation else valid
        _last.clear()
        _last[asked] = dataset, Fold("corrupted", corrupted, watched, test)
    return _last[asked][1]
