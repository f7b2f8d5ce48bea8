"""How rankers behave as the training data gets worse.

Each trial cuts the queries anew into training, validation and test queries (60/20/20). At each
level the training queries are corrupted (clicks also replace the validation labels, as they would
in practice), every model is fitted to the same corrupted data, and is measured on the test queries,
which stay as they are. Sections 5.4 and 5.5 of the XE-NDCG paper do the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from rankwright.comparison.entries import Entry, check_names, lineup
from rankwright.comparison.job import fit
from rankwright.comparison.noise_curves import NoiseStudy
from rankwright.comparison.noise_record import (
    Fit,
    Record,
    describe,
    fingerprint,
    key_of,
)
from rankwright.data.corruptions import Corruption, LabelNoise, find_corruption
from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.data.noise import label_noise_up_to
from rankwright.data.streams import check_seed
from rankwright.evaluation.folds import Fold
from rankwright.metrics.metric import Metric, mean_of_queries
from rankwright.metrics.parsing import parse

DEFAULT_TRIALS = 5
DEFAULT_MODELS = (
    "xendcg-trees",
    "lambdarank-trees",
    "listnet-trees",
    "xendcg-linear",
    "domination-rank",
)
SHARES = (0.6, 0.2, 0.2)

Callback: TypeAlias = Callable[[Fit, int, int], None]  # fit, how many are done, of how many


def noise_study(
    dataset: Dataset,
    corruption: str | Corruption = "labels",
    models: Sequence[str | Entry] | Mapping[str, Any] = DEFAULT_MODELS,
    *,
    levels: Sequence[float] | None = None,
    n_trials: int = DEFAULT_TRIALS,
    metric: str | Metric = "ndcg@5",
    random_state: int = 0,
    n_jobs: int | None = None,
    path: PathLike | None = None,
    callback: Callback | None = None,
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
    metric : str or Metric, default "ndcg@5"
        What is measured.
    random_state : int, default 0
        Seed.
    n_jobs : int, optional
        Threads of each model.
    path : str or path-like, optional
        A CSV file that has a line for each finished fit. Called again with the same file, only
        what is missing is done; lines of other data, models or settings are left alone.
    callback : callable, optional
        Called after each fit with a :class:`Fit`, the number done and the number in all.

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
    seed = check_seed(random_state)
    what = _check_corruption(corruption, dataset)
    entries = _check_models(models)
    swept = tuple(float(level) for level in (what.levels if levels is None else levels))
    if not swept or len(set(swept)) < len(swept):
        raise ValueError(f"levels must be different numbers, at least one, but are {levels!r}.")
    if isinstance(n_trials, bool) or not isinstance(n_trials, int) or n_trials < 2:
        raise ValueError(f"n_trials must be an integer of at least 2, but is {n_trials!r}.")
    measured = parse(metric)
    values = np.full((len(entries), len(swept), n_trials), np.nan)
    record = Record(path, what.name, str(measured))
    facts = fingerprint(dataset)
    done, total = 0, values.size
    for trial in range(n_trials):
        clean = Fold(f"trial {trial}", *dataset.split(SHARES, seed + trial))
        for j, level in enumerate(swept):
            fold: Fold | None = None
            for i, entry in enumerate(entries):
                key = key_of(facts, what, measured, seed, trial, level, describe(entry))
                result = record.find(key)
                if result is None:
                    fold = _corrupt(what, clean, level, seed + trial) if fold is None else fold
                    value, seconds = _measure(entry, fold, measured, n_jobs, level)
                    result = Fit(level, trial, entry.name, value, seconds, key)
                    record.add(result)
                values[i, j, trial] = result.value
                done += 1
                if callback is not None:
                    callback(result, done, total)
    names = tuple(entry.name for entry in entries)
    return NoiseStudy(what, measured, names, swept, values)


def _check_corruption(corruption: str | Corruption, dataset: Dataset) -> Corruption:
    if isinstance(corruption, Corruption):
        return corruption
    if corruption == "labels":
        return LabelNoise(label_noise_up_to(float(dataset.y.max())))
    return find_corruption(corruption)


def _check_models(models: Sequence[str | Entry] | Mapping[str, Any]) -> list[Entry]:
    if isinstance(models, str):
        raise TypeError(f"models must be a sequence of names or entries, but is {models!r}.")
    if isinstance(models, Mapping):
        return check_names([Entry(name, ranker) for name, ranker in models.items()])
    return check_names([m if isinstance(m, Entry) else lineup([m])[0] for m in models])


def _corrupt(what: Corruption, clean: Fold, level: float, seed: int) -> Fold:
    train = what.apply(clean.train, level, seed)
    valid = what.apply(clean.valid, level, seed) if what.of_validation else clean.valid
    return Fold(clean.name, train, valid, clean.test)


def _measure(
    entry: Entry, fold: Fold, metric: Metric, n_jobs: int | None, level: float
) -> tuple[float, float]:
    """Return the mean of the metric over the test queries, and the seconds of fit and scores."""
    from sklearn.base import clone

    model = clone(entry.estimator)
    if n_jobs is not None and "n_jobs" in model.get_params():
        model.set_params(n_jobs=n_jobs)
    begin = time.perf_counter()
    try:
        fit(model, fold, entry.scale)
        scores = model.predict(fold.test.X)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{entry.name} at level {level:g}, {fold.name}: {error}") from error
    seconds = time.perf_counter() - begin
    values = metric.per_query(fold.test.y, scores, fold.test.groups)
    return mean_of_queries(values, str(metric)), seconds
