"""How rankers behave as the training data gets worse.

Each trial cuts the queries anew into training, validation and test queries (60/20/20). At each
level the training queries are corrupted (clicks also replace the validation labels, as they would
in practice), every model is fitted to the same corrupted data, and is measured on the test queries,
which stay as they are. Sections 5.4 and 5.5 of the XE-NDCG paper do the same.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from rankwright.data.corruptions import Corruption, LabelNoise, find_corruption
from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.data.noise import label_noise_up_to
from rankwright.data.streams import check_seed
from rankwright.evaluation.noise_record import Fit, Record, describe, fingerprint, key_of
from rankwright.evaluation.noise_results import NoiseStudy
from rankwright.metrics.metric import Metric, mean_of_queries
from rankwright.metrics.parsing import parse
from rankwright.models import make_model

DEFAULT_TRIALS = 5
SHARES = (0.6, 0.2, 0.2)
_TREES = {"n_estimators": 300, "early_stopping_rounds": 30, "eval_metric": "ndcg@5"}
# name: model on the command line, parameters
DEFAULT_MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "boosted-xendcg": ("boosted", {"loss": "xendcg", **_TREES}),
    "boosted-lambdarank": ("boosted", {"loss": "lambdarank", **_TREES}),
    "boosted-listnet": ("boosted", {"loss": "listnet", **_TREES}),
    "linear-xendcg": ("linear", {"loss": "xendcg", "standardize": True}),
    "domination-rank": ("domination-rank", {}),
}

Callback: TypeAlias = Callable[[Fit, int, int], None]  # fit, how many are done, of how many


def noise_study(
    dataset: Dataset,
    corruption: str | Corruption = "labels",
    models: Mapping[str, Any] | Sequence[str] | None = None,
    *,
    levels: Sequence[float] | None = None,
    n_trials: int = DEFAULT_TRIALS,
    metric: str | Metric = "ndcg@5",
    random_state: int = 0,
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
    models : mapping of str to estimator, or sequence of str, optional
        Unfitted rankers by name, or names of :data:`DEFAULT_MODELS`, which is also the default:
        boosted trees with XE-NDCG, LambdaRank and ListNet, a linear ranker with XE-NDCG, and
        DominationRank. Differences are those of the first and each other.
    levels : sequence of float, optional
        Levels; by default those of the corruption.
    n_trials : int, default 5
        Trials, at least 2. Trial t has a split and corruption of its own, seeded by
        ``random_state + t``.
    metric : str or Metric, default "ndcg@5"
        What is measured.
    random_state : int, default 0
        Seed.
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
    rankers = _check_models(models)
    swept = tuple(float(level) for level in (what.levels if levels is None else levels))
    if not swept or len(set(swept)) < len(swept):
        raise ValueError(f"levels must be different numbers, at least one, but are {levels!r}.")
    if isinstance(n_trials, bool) or not isinstance(n_trials, int) or n_trials < 2:
        raise ValueError(f"n_trials must be an integer of at least 2, but is {n_trials!r}.")
    measured = parse(metric)
    values = np.full((len(rankers), len(swept), n_trials), np.nan)
    record = Record(path, what.name, str(measured))
    data_key = fingerprint(dataset)
    done, total = 0, values.size
    for trial in range(n_trials):
        parts = dataset.split(SHARES, seed + trial)
        for j, level in enumerate(swept):
            corrupted: tuple[Dataset, Dataset] | None = None
            for i, (name, ranker) in enumerate(rankers.items()):
                key = key_of(data_key, what, measured, seed, trial, level, describe(ranker))
                fit = record.find(key)
                if fit is None:
                    if corrupted is None:
                        corrupted = _corrupt(what, parts, level, seed + trial)
                    fit = _fit(name, ranker, corrupted, parts[2], measured, level, trial, key)
                    record.add(fit)
                values[i, j, trial] = fit.value
                done += 1
                if callback is not None:
                    callback(fit, done, total)
    return NoiseStudy(what, measured, tuple(rankers), swept, values)


def _check_corruption(corruption: str | Corruption, dataset: Dataset) -> Corruption:
    if isinstance(corruption, Corruption):
        return corruption
    if corruption == "labels":
        return LabelNoise(label_noise_up_to(float(dataset.y.max())))
    return find_corruption(corruption)


def default_models(names: Iterable[str] = DEFAULT_MODELS) -> dict[str, Any]:
    """Return models of the default study by name, unfitted."""
    rankers = {}
    for name in names:
        if name not in DEFAULT_MODELS:
            known = ", ".join(DEFAULT_MODELS)
            raise ValueError(f"there is no model {name!r} to study. There are {known}.")
        model, params = DEFAULT_MODELS[name]
        rankers[name] = make_model(model, **params)
    return rankers


def _check_models(models: Mapping[str, Any] | Sequence[str] | None) -> dict[str, Any]:
    if isinstance(models, str):
        raise TypeError(f"models must be names or estimators by name, but is {models!r}.")
    if isinstance(models, Mapping):
        rankers = dict(models)
    else:
        rankers = default_models(DEFAULT_MODELS if models is None else models)
    if not rankers:
        raise ValueError("models must have at least one.")
    return rankers


def _corrupt(
    what: Corruption, parts: tuple[Dataset, ...], level: float, seed: int
) -> tuple[Dataset, Dataset]:
    train, valid, _ = parts
    return (
        what.apply(train, level, seed),
        what.apply(valid, level, seed) if what.of_validation else valid,
    )


def _fit(
    name: str,
    ranker: Any,
    corrupted: tuple[Dataset, Dataset],
    test: Dataset,
    metric: Metric,
    level: float,
    trial: int,
    key: str,
) -> Fit:
    from sklearn.base import clone

    train, valid = corrupted
    model = clone(ranker)
    extra = {"valid": valid} if "valid" in inspect.signature(model.fit).parameters else {}
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same, over and over
            model.fit(train.X, train.y, train.qid, **extra)
        scores = model.predict(test.X)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} at level {level:g}, trial {trial}: {error}") from error
    seconds = time.perf_counter() - begin
    values = metric.per_query(test.y, scores, test.groups)
    return Fit(level, trial, name, mean_of_queries(values, str(metric)), seconds, key)
