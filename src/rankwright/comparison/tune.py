"""Parameters by search over query folds, in a study that survives a crash.

A study on disk is a text file: a first line that says what is searched, then one line for each
finished trial. Lines are only added, so that a crash costs the trial that was running and nothing
else.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, Protocol, TypeAlias

import numpy as np

from rankwright import __version__
from rankwright.comparison.entries import Entry
from rankwright.comparison.job import fit, jsonable, one_thread
from rankwright.comparison.space import Choice, Range, Space, draw
from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.evaluation.folds import Fold
from rankwright.exceptions import DataError
from rankwright.metrics.metric import mean_of_queries
from rankwright.metrics.parsing import parse

SamplerName: TypeAlias = Literal["random", "optuna"]


@dataclass(frozen=True)
class Trial:
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
    """

    number: int
    params: dict[str, Any]
    value: float
    folds: list[float]
    seconds: float
    error: str = ""


@dataclass(eq=False)
class Study:
    """Trials of a search.

    Attributes
    ----------
    metric : str
        What was measured.
    trials : list of Trial
        In their order.
    """

    metric: str
    trials: list[Trial] = field(default_factory=list)

    @property
    def best(self) -> Trial:
        """The trial with the best value; of equal ones, the first."""
        done = [trial for trial in self.trials if not math.isnan(trial.value)]
        if not done:
            why = self.trials[-1].error if self.trials else "there is none"
            raise ValueError(f"no trial succeeded: {why}")
        sign = 1 if parse(self.metric).higher_is_better else -1
        return max(done, key=lambda trial: (sign * trial.value, -trial.number))

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return {"metric": self.metric, "best": _plain(self.best), "trials": _plain(self.trials)}


def tune(
    estimator: Any,
    dataset: Dataset,
    space: Space,
    *,
    n_trials: int = 20,
    n_folds: int = 3,
    metric: str = "ndcg@10",
    sampler: SamplerName = "random",
    scale: bool = False,
    random_state: int = 0,
    path: PathLike | None = None,
    callback: Callable[[Trial], None] | None = None,
) -> Study:
    """Search parameters by query folds.

    Parameters
    ----------
    estimator : object
        What is cloned and fitted: ``fit(X, y, qid)``, ``predict(X)``. It is not changed; its own
        parameters are trial 0.
    dataset : Dataset
        Queries; each fold is left out once.
    space : mapping of str to Choice or Range
        What to search.
    n_trials : int, default 20
        Trials in all, also those that are in the file already.
    n_folds : int, default 3
        Folds, by query.
    metric : str, default "ndcg@10"
        What is best.
    sampler : {"random", "optuna"}, default "random"
        ``"random"`` draws points that cover the space evenly; ``"optuna"`` lets Optuna's
        tree-structured Parzen estimator choose (``pip install 'rankwright[tune]'``).
    scale : bool, default False
        Fit to features divided by their standard deviations; see :class:`Entry`.
    random_state : int, default 0
        Seed of folds and draws.
    path : str or path-like, optional
        The study on disk, usually ``*.jsonl``. If it exists, the search resumes.
    callback : callable, optional
        Called with each finished :class:`Trial`.

    Examples
    --------
    >>> import rankwright as rw
    >>> from rankwright.comparison import Range, tune
    >>> ds = rw.data.make_mslr_like(n_queries=40, n_features=10, mean_docs=15)
    >>> ranker = rw.LinearRanker("listnet", standardize=True)
    >>> study = tune(ranker, ds, {"alpha": Range(1e-4, 10.0, log=True)}, n_trials=5)
    >>> study.best.params
    {'alpha': 2.32}
    >>> ranker = ranker.set_params(**study.best.params).fit(ds.X, ds.y, ds.qid)
    """
    if isinstance(n_trials, bool) or not isinstance(n_trials, int) or n_trials < 1:
        raise ValueError(f"n_trials must be a positive integer, but is {n_trials!r}.")
    if not space:
        raise ValueError("space must name at least one parameter to search.")
    entry = Entry("tuned", estimator, space, scale=scale)
    parse(metric)
    folds = [
        Fold(f"fold {i + 1}", *parts(estimator, train, random_state), left_out).check()
        for i, (train, left_out) in enumerate(dataset.folds(n_folds, random_state))
    ]
    what = _description(entry, folds, metric, sampler, random_state)
    chooser = _choose_sampler(sampler)(space, random_state, parse(metric).higher_is_better)
    with _file(path, what) as (study_file, trials):
        study = Study(metric, trials[:n_trials])
        for trial in study.trials:
            chooser.tell(trial)
        for number in range(len(study.trials), n_trials):
            params = {} if number == 0 else chooser.ask(number)
            trial = _try(entry, params, number, folds, metric)
            study.trials.append(trial)
            chooser.tell(trial)
            if study_file is not None:
                study_file.write(json.dumps(_plain(trial)).encode() + b"\n")
                study_file.flush()
                os.fsync(study_file.fileno())
            if callback is not None:
                callback(trial)
    return study


def parts(estimator: Any, train: Dataset, random_state: int = 0) -> tuple[Dataset, Dataset]:
    """Return training queries, and those to watch meanwhile: a fifth of them, if it watches any."""
    from rankwright.estimator import as_model

    if not as_model(estimator).takes_valid():
        return train, train
    kept, watched = train.split((0.8, 0.2), random_state)
    return kept, watched


def _try(
    entry: Entry, params: dict[str, Any], number: int, folds: list[Fold], metric: str
) -> Trial:
    from sklearn.base import clone

    from rankwright.comparison.workers import describe

    begin = time.perf_counter()
    model = clone(entry.estimator)
    shown = {name: {**model.get_params(), **params}[name] for name in entry.space}
    values: list[Any] = []
    error = ""
    try:
        with one_thread():
            for fold in folds:
                model = clone(entry.estimator).set_params(**params)
                fit(model, fold, entry.scale)
                test = fold.test
                values.append(parse(metric).per_query(test.y, model.predict(test.X), test.groups))
    except Exception as wrong:  # told, and not tried again
        error = describe(wrong)
    means = [mean_of_queries(v, metric) for v in values]
    value = math.nan if error else mean_of_queries(np.concatenate(values), metric)
    return Trial(number, shown, value, means, time.perf_counter() - begin, error)


# ---- who chooses ----


class _Sampler(Protocol):
    def ask(self, number: int) -> dict[str, Any]: ...

    def tell(self, trial: Trial) -> None: ...


class _Even:
    """Points that cover the space evenly, whatever came of those before."""

    def __init__(self, space: Space, random_state: int, higher_is_better: bool) -> None:
        self.space, self.random_state = space, random_state

    def ask(self, number: int) -> dict[str, Any]:
        return draw(self.space, number - 1, self.random_state)

    def tell(self, trial: Trial) -> None:
        pass


class _Optuna:
    """Optuna's TPE, through its ask-and-tell interface."""

    def __init__(self, space: Space, random_state: int, higher_is_better: bool) -> None:
        try:
            import optuna
        except ImportError:
            raise ImportError(
                "sampler='optuna' needs the package optuna. "
                "Install it with: pip install 'rankwright[tune]'"
            ) from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna, self.space, self.random_state = optuna, space, random_state
        self._study = optuna.create_study(direction="maximize" if higher_is_better else "minimize")
        # A choice is one by its position: Optuna keeps plain values only.
        self._distributions = {
            name: optuna.distributions.CategoricalDistribution(tuple(range(len(d.values))))
            if isinstance(d, Choice)
            else _optuna_range(optuna, d)
            for name, d in space.items()
        }

    def ask(self, number: int) -> dict[str, Any]:
        # A sampler seeded by the trial: a study that was stopped resumes as if it had not been.
        self._study.sampler = self._optuna.samplers.TPESampler(seed=self.random_state + number)
        chosen = self._study.ask(self._distributions).params
        for name, dimension in self.space.items():
            if isinstance(dimension, Choice):
                chosen[name] = dimension.values[chosen[name]]
        return dict(chosen)

    def tell(self, trial: Trial) -> None:
        if math.isnan(trial.value):
            return
        params = {}
        for name, d in self.space.items():
            value = trial.params[name]
            if isinstance(d, Choice):
                texts = [jsonable(v) for v in d.values]
                value = texts.index(jsonable(value)) if jsonable(value) in texts else None
            elif not d.low <= value <= d.high:
                value = None
            if value is None:
                return  # the estimator's own parameters may lie outside
            params[name] = value
        self._study.add_trial(
            self._optuna.trial.create_trial(
                params=params, distributions=self._distributions, value=trial.value
            )
        )


def _optuna_range(optuna: Any, d: Range) -> Any:
    if d.integer:
        return optuna.distributions.IntDistribution(int(d.low), int(d.high), log=d.log)
    return optuna.distributions.FloatDistribution(d.low, d.high, log=d.log)


def _choose_sampler(name: str) -> Callable[[Space, int, bool], _Sampler]:
    samplers: dict[str, Callable[[Space, int, bool], _Sampler]] = {
        "random": _Even,
        "optuna": _Optuna,
    }
    if name not in samplers:
        raise ValueError(f"sampler must be 'random' or 'optuna', but is {name!r}.")
    return samplers[name]


# ---- on disk ----


def _description(
    entry: Entry, folds: list[Fold], metric: str, sampler: str, random_state: int
) -> dict[str, Any]:
    """Return what a study is about: trials of another study must not be mixed in."""
    data = hashlib.blake2b("".join(f.fingerprint for f in folds).encode(), digest_size=16)
    return {
        "study": 1,
        "library": __version__,
        "estimator": entry.describe(),
        "metric": metric,
        "folds": len(folds),
        "sampler": sampler,
        "random_state": random_state,
        "data": data.hexdigest(),
    }


@contextmanager
def _file(
    path: PathLike | None, what: dict[str, Any]
) -> Iterator[tuple[IO[bytes] | None, list[Trial]]]:
    """Open a study to add to it; yield it with the trials that it has."""
    if path is None:
        yield None, []
        return
    place = Path(path)
    try:
        content = place.read_bytes() if place.exists() else b""
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", path=place) from None
    whole = content[: content.rfind(b"\n") + 1]  # a line that was cut short is tried again
    trials = _read(place, whole, what) if whole else []
    try:
        file = open(place, "r+b" if content else "wb")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror}.", path=place) from None
    with file:
        if not whole:
            whole = json.dumps(what).encode() + b"\n"
            file.write(whole)
        file.truncate(len(whole))
        file.seek(len(whole))
        file.flush()
        yield file, trials


def _read(path: Path, content: bytes, what: dict[str, Any]) -> list[Trial]:
    try:
        head, *lines = [json.loads(line) for line in content.splitlines()]
        if not isinstance(head, dict) or "study" not in head:
            raise ValueError
        changed = [key for key, value in what.items() if head.get(key) != value]
        trials = [
            Trial(**{**line, "value": math.nan if line["value"] is None else line["value"]})
            for line in lines
        ]
        if [trial.number for trial in trials] != list(range(len(trials))):
            raise ValueError
    except (ValueError, TypeError, KeyError, UnicodeDecodeError):
        raise DataError("is not a study.", path=path) from None
    if changed:
        raise DataError(
            f"is a study of another search: {', '.join(changed)} differ. Choose another file.",
            path=path,
        )
    return trials


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Trial):
        plain = {key: jsonable(item) for key, item in vars(value).items()}
        return {**plain, "value": None if math.isnan(value.value) else value.value}
    return value
