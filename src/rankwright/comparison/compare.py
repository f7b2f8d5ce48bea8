"""Rankers side by side: searched, fitted, measured and tested on the same queries."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TypeAlias

import numpy as np

from rankwright.comparison.entries import Entry, check_names, lineup
from rankwright.comparison.job import Job, Outcome, one_thread, read_outcome, run_job, write_outcome
from rankwright.comparison.result import Comparison, Failure
from rankwright.comparison.workers import Worker, WorkerError, describe
from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.evaluation.folds import Fold, split
from rankwright.evaluation.measure import DEFAULT_METRICS
from rankwright.exceptions import DataError
from rankwright.metrics.metric import Metric, per_query_of_all
from rankwright.metrics.parsing import parse
from rankwright.threads import n_threads

DEFAULT_TRIALS = 8
# The slowest first, so that no process is left alone with them at the end.
_ORDER = {"trees": 0, "": 1, "linear": 2, "online": 3, "baseline": 4}


@dataclass(frozen=True)
class Event:
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


Callback: TypeAlias = Callable[[Event], None]


def compare(
    data: Dataset | Sequence[Fold],
    models: Sequence[Entry | str] | None = None,
    *,
    test: Dataset | None = None,
    valid: Dataset | None = None,
    metrics: Sequence[str | Metric] = DEFAULT_METRICS,
    n_trials: int = DEFAULT_TRIALS,
    random_state: int = 0,
    n_jobs: int | None = 1,
    folder: PathLike | None = None,
    callback: Callback | None = None,
) -> Comparison:
    """Fit rankers on the same queries, and tell which is best and whether the difference is real.

    Parameters
    ----------
    data : Dataset or sequence of Fold
        Training data, or folds with training, validation and test queries.
    models : sequence of str or Entry, optional
        Names of the default line-up, or entries of your own; the whole line-up by default.
    test, valid : Dataset, optional
        Test and validation queries, if ``data`` is a data set; without them they are cut from it by
        query.
    metrics : sequence of str or Metric
        What to measure. By the first one parameters are chosen and rankers are ordered.
    n_trials : int, default 8
        Parameters to try for each model and fold: first the model's own, then seeded draws.
    random_state : int, default 0
        Seed of splits, draws and tests.
    n_jobs : int, optional
        Processes; 1, the default, is this one. None is one for each core. Models of your own must
        be importable by other processes. The results do not depend on it.
    folder : str or path-like, optional
        Where to keep what is finished. Called again with the same folder, models and data, only
        what is missing is done.
    callback : callable, optional
        Called with an :class:`Event` whenever something is finished.

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
    entries = _entries(models)
    names = [str(metric) for metric in metrics]
    if not names:
        raise ValueError("metrics must name at least one metric.")
    if isinstance(n_trials, bool) or not isinstance(n_trials, int) or n_trials < 1:
        raise ValueError(f"n_trials must be a positive integer, but is {n_trials!r}.")
    folds = _folds(data, test, valid, random_state)
    _check_metrics(names, folds)
    jobs = [
        Job(entry, fold.name, names[0], n_trials, random_state)
        for entry in entries
        for fold in folds
    ]
    with _place(folder) as place:
        outcomes, failures = _run(jobs, folds, place, n_threads(n_jobs), callback or _ignore)
        result = Comparison.build(
            entries,
            folds,
            names,
            outcomes,
            failures,
            settings={
                "trials": n_trials,
                "random_state": random_state,
                "processes": n_threads(n_jobs),
            },
            seconds=time.perf_counter() - begin,
        )
        if folder is None:
            result.load_models()  # before their files are gone
    return result


def _ignore(event: Event) -> None:
    pass


def _entries(models: Sequence[Entry | str] | None) -> list[Entry]:
    if models is None:
        return lineup()
    if isinstance(models, str):
        raise TypeError(f"models must be a sequence of names or entries, but is {models!r}.")
    return check_names([m if isinstance(m, Entry) else lineup([m])[0] for m in models])


def _folds(
    data: Dataset | Sequence[Fold], test: Dataset | None, valid: Dataset | None, seed: int
) -> list[Fold]:
    if isinstance(data, Dataset):
        return split(data, test, valid, seed)
    if test is not None or valid is not None:
        raise ValueError("test and valid go with a data set; folds have their own.")
    folds = [fold.check() for fold in data]
    if not folds or len({fold.name for fold in folds}) < len(folds):
        raise ValueError("data must have at least one fold, and folds of different names.")
    return folds


def _check_metrics(names: list[str], folds: list[Fold]) -> None:
    """Raise now, not after the training, if the labels do not suit the metrics."""
    parsed = [parse(name) for name in names]
    for fold in folds:
        for name, part in (("valid", fold.valid), ("test", fold.test)):
            values = per_query_of_all(parsed, part.y, np.zeros(part.n_docs), part.groups)
            for metric, column in zip(names, values, strict=True):
                if np.isnan(column).all():
                    raise DataError(
                        f"{metric} is defined on none of the {name} queries of {fold.name}: there "
                        "must be one with a relevant document."
                    )


# ---- where, and how many at a time ----


@contextlib.contextmanager
def _place(folder: PathLike | None) -> Iterator[Path]:
    """Make the folder, and keep others from writing to it."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="rankwright-") as temporary:
            yield Path(temporary)
        return
    place = Path(folder)
    try:
        (place / "models").mkdir(parents=True, exist_ok=True)
        lock = open(place / ".lock", "wb")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise DataError(f"cannot be written to: {error.strerror}.", path=place) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # let go when the process ends
        except BlockingIOError:
            raise DataError("another comparison is writing to this folder.", path=place) from None
        try:
            yield place
        finally:
            shutil.rmtree(place / ".data", ignore_errors=True)


def _run(
    jobs: list[Job], folds: list[Fold], place: Path, n_workers: int, callback: Callback
) -> tuple[dict[tuple[str, str], Outcome], list[Failure]]:
    by_name = {fold.name: fold for fold in folds}
    outcomes: dict[tuple[str, str], Outcome] = {}
    failures: list[Failure] = []
    waiting = []
    for unfinished in place.glob("models/*/.*.part"):
        shutil.rmtree(unfinished, ignore_errors=True)
    for job in jobs:
        target = place / "models" / job.entry.name / job.fold
        task = _Task(
            job, by_name[job.fold], target, job.key(by_name[job.fold].fingerprint), callback
        )
        found = read_outcome(target, task.key)
        if found is None or len(found.scores) != task.fold.test.n_docs:
            waiting.append(task)
        else:
            outcomes[job.entry.name, job.fold] = found
            callback(Event("kept", job.entry.name, job.fold, _value(found)))
    waiting.sort(key=lambda task: _ORDER.get(task.job.entry.family, 1))
    for task, outcome in _do(waiting, place, min(n_workers, len(waiting))):
        job = task.job
        if isinstance(outcome, Outcome):
            outcomes[job.entry.name, job.fold] = outcome
            seconds = outcome.facts["search_seconds"]
            callback(Event("done", job.entry.name, job.fold, _value(outcome), seconds))
        else:
            failures.append(Failure(job.entry.name, job.fold, outcome))
            callback(Event("failed", job.entry.name, job.fold, text=outcome))
    in_order = [(job.entry.name, job.fold) for job in jobs]
    return {key: outcomes[key] for key in in_order if key in outcomes}, failures


def _value(outcome: Outcome) -> float:
    value = outcome.facts["valid"]
    return float("nan") if value is None else float(value)


@dataclass(frozen=True)
class _Task:
    job: Job
    fold: Fold
    target: Path
    key: str
    callback: Callback

    def progress(self, trial: int, value: float) -> None:
        self.callback(Event("trial", self.job.entry.name, self.job.fold, value))


def _do(tasks: list[_Task], place: Path, n_workers: int) -> Iterator[tuple[_Task, Outcome | str]]:
    """Yield each task with its outcome, or with what went wrong."""
    if n_workers <= 1:
        for task in tasks:
            try:
                with one_thread():
                    outcome = run_job(task.job, task.fold, task.progress)
                yield task, write_outcome(outcome, task.target, task.key)
            except Exception as error:
                yield task, describe(error)
        return
    data = place / ".data"
    shutil.rmtree(data, ignore_errors=True)
    for fold in {task.fold.name: task.fold for task in tasks}.values():
        (data / fold.name).mkdir(parents=True)
        fold.write(data / fold.name)
    workers = [Worker() for _ in range(n_workers)]
    free: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def work(task: _Task) -> Outcome:
        worker = free.get()
        try:
            return worker.run(task.job, data / task.fold.name, task.target, task.key, task.progress)
        finally:
            free.put(worker)

    pool = ThreadPoolExecutor(n_workers)
    try:
        futures: dict[Future[Outcome], _Task] = {pool.submit(work, task): task for task in tasks}
        for future in as_completed(futures):
            wrong = future.exception()
            yield futures[future], future.result() if wrong is None else _reason(wrong)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.close()


def _reason(error: BaseException) -> str:
    """Return what went wrong; what a worker says is a line already."""
    return str(error) if isinstance(error, WorkerError) else describe(error)
