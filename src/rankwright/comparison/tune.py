"""Parameters by search over query folds, in a study that survives a crash.

A study on disk is a text file: a first line that says what is searched, then one line for each
finished trial. Lines are only added, so that a crash costs the trials that were running and nothing
else.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwright.comparison.entries import Entry
from rankwright.comparison.executors import JobExecutor, executor_for
from rankwright.comparison.halving import HALVE_ABOVE, Rung, rungs, survivors
from rankwright.comparison.keys import key
from rankwright.comparison.samplers import Sampler, SamplerName, choose_sampler
from rankwright.comparison.space import Space, from_plain
from rankwright.comparison.store import TrialStore, data_beside, open_trial_store
from rankwright.comparison.study import Study, Trial, with_watched
from rankwright.comparison.telling import show_trials
from rankwright.comparison.trial import TrialResult, run_trial
from rankwright.comparison.workers import WorkerError, reason
from rankwright.data.arrays import fingerprint
from rankwright.data.dataset import Dataset, check_is_dataset
from rankwright.data.files import PathLike
from rankwright.data.validation import check_count
from rankwright.evaluation.folds import Fold
from rankwright.metrics.metric import Metric, mean_of_queries
from rankwright.metrics.on_data import columns_of
from rankwright.metrics.parsing import MetricLike, named_metrics
from rankwright.progress import heard
from rankwright.trees.shared_bins import shared_bins


def tune(
    estimator: Any,
    dataset: Dataset,
    space: Space,
    *,
    n_trials: int = 20,
    n_folds: int = 3,
    metric: MetricLike = "ndcg@10",
    sampler: SamplerName = "random",
    n_parallel: int = 1,
    random_state: int = 0,
    halve_above: int | None = HALVE_ABOVE,
    n_jobs: int | None = 1,
    executor: Executor | None = None,
    path: PathLike | None = None,
    callback: Callable[[Trial], None] | None = None,
    verbose: bool = False,
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
    metric : str, Metric or function, default "ndcg@10"
        What is best.
    sampler : {"random", "optuna"}, default "random"
        ``"random"`` draws points that cover the space evenly; ``"optuna"`` lets Optuna's
        tree-structured Parzen estimator choose (``pip install 'rankwright[tune]'``).
    n_parallel : int, default 1
        Trials that ``"optuna"`` has under way at a time: trial t is chosen when all before
        ``t - n_parallel + 1`` are finished, by what came of these, and away from those under way.
        More of them keep more workers busy, and each knows less. What is tried depends on this
        number and the seed, not on the workers, their speed or interruptions; a study on disk
        resumes with the number that it began with. ``"random"`` draws trials that do not depend
        on each other, and has as many under way as there are workers for.
    random_state : int, default 0
        Seed of folds and draws.
    halve_above : int, optional
        With more training documents than this, 150,000 by default, trials run on samples of the
        training queries first, and thirds of them go on (:mod:`rankwright.comparison.halving`);
        None never samples. The sampler hears what came of the first samples.
    n_jobs : int, optional
        Processes, which share folds and trials under way; 1, the default, is this one, None one
        for each core. The results do not depend on it.
    executor : concurrent.futures.Executor, optional
        Takes the work in place of ``n_jobs`` processes, one call for each trial and fold, which
        starts a process where it runs. On several machines ``path`` must lie in a folder that all
        of them share.
    path : str or path-like, optional
        The study on disk, usually ``*.jsonl``. If it exists, the search resumes. One process at a
        time may use it.
    callback : callable, optional
        Called with each finished :class:`Trial`, when it is on disk.
    verbose : bool, default False
        Show the progress: bars on a terminal, text below the cell of a notebook, else plain lines.

    Examples
    --------
    >>> import rankwright as rw
    >>> from rankwright.comparison import Range, tune
    >>> ds = rw.data.make_mslr_like(n_queries=40, n_features=10, mean_docs=15)
    >>> ranker = rw.LinearRanker("listnet", standardize=True)
    >>> study = tune(ranker, ds, {"alpha": Range(1e-4, 10.0, log=True)}, n_trials=5)
    >>> study.best.params
    {'alpha': 2.32}
    >>> ranker = study.fit_best(ds)
    """
    check_is_dataset(dataset, "dataset")
    check_count("n_trials", n_trials)
    check_count("halve_above", halve_above, optional=True)
    if not space:
        raise ValueError("space must name at least one parameter to search.")
    entry = Entry("tuned", estimator, space)
    [(name, measure)] = named_metrics([metric]).items()
    chooser = choose_sampler(sampler, n_parallel)(space, random_state, measure.higher_is_better)
    folds = [
        Fold(f"fold {i + 1}", *with_watched(entry, train, random_state), left_out).check()
        for i, (train, left_out) in enumerate(dataset.folds(n_folds, random_state))
    ]
    about = {
        "estimator": entry.describe(),
        "metric": name,
        "folds": n_folds,
        "sampler": sampler,
        "random_state": random_state,
        "data": fingerprint(dataset),
        **({"n_parallel": n_parallel} if chooser.learns else {}),
    }
    columns = columns_of(dataset, [measure])
    study = Study(name, [], measure, entry, random_state)
    known = {**about, "measure": measure, "columns": columns}
    # One plan for all folds, though some have a document more.
    plan = rungs(max(fold.train.n_docs for fold in folds), n_trials, halve_above)
    n_fits = sum(rung.n_trials for rung in plan)
    last: dict[int, Trial] = {}
    with (
        shared_bins(),
        open_trial_store(path, about) as store,
        executor_for(n_jobs, executor=executor, folder=data_beside(path)) as calls,
        heard(verbose, show_trials(n_fits, name), callback) as told,
    ):
        how = (chooser, n_parallel, random_state)
        search = _Search(entry, folds, measure, known, store, calls, *how)
        for trial, is_new in search.run(plan):
            last[trial.number] = trial
            if is_new and told is not None:
                told(trial)
    study.trials.extend(last.values())
    return study


@dataclass(frozen=True)
class _Search:
    entry: Entry
    folds: list[Fold]
    metric: Metric
    about: dict[str, Any]
    store: TrialStore
    calls: JobExecutor
    sampler: Sampler
    n_parallel: int
    random_state: int

    def run(self, plan: list[Rung]) -> Iterator[tuple[Trial, bool]]:
        """Yield trials in their order, each with whether it is new; new ones are on disk then.

        A trial that goes on is yielded again, with what came of it on more queries.
        """
        found = {n: Trial(n, {}, math.nan, [], 0.0) for n in range(plan[0].n_trials)}
        for rung in plan:
            values = {number: trial.value for number, trial in found.items()}
            chosen = {n: found[n].params for n in survivors(values, rung.n_trials, self.metric)}
            found = {}
            for trial, is_new in self._run_rung(chosen, rung, is_first=rung is plan[0]):
                found[trial.number] = trial
                yield trial, is_new

    def _run_rung(
        self, chosen: dict[int, dict[str, Any]], rung: Rung, *, is_first: bool
    ) -> Iterator[tuple[Trial, bool]]:
        """Yield the trials of a rung; a sampler asks and hears of those of the first."""
        # Trials under way, each with the results of its folds; none for one that was kept.
        begun: deque[tuple[Trial, list[Future[TrialResult]]]] = deque()
        in_step = is_first and self.sampler.learns
        folds = [rung.part_of(fold, self.random_state) for fold in self.folds]

        def is_full() -> bool:
            if in_step:  # by numbers alone: neither speed nor a file decides what a choice knows
                return len(begun) >= self.n_parallel
            n_calls = sum(len(futures) for _, futures in begun)
            return bool(begun) and (not begun[0][1] or n_calls >= self.calls.at_once)

        def end() -> tuple[Trial, bool]:
            trial, is_new = self._end(*begun.popleft())
            if is_first:
                self.sampler.tell(trial.params, trial.value)
            return trial, is_new

        for number, known in chosen.items():
            under_way = [trial.params for trial, _ in begun]
            begun.append(self._begin(number, known, under_way, folds, rung))
            while is_full():
                yield end()
        while begun:
            yield end()

    def _begin(
        self,
        number: int,
        known: dict[str, Any],
        under_way: list[dict[str, Any]],
        folds: list[Fold],
        rung: Rung,
    ) -> tuple[Trial, list[Future[TrialResult]]]:
        """Return a trial, and what it will come to; its parameters are chosen if none is known."""
        share = float(rung.share)
        if (found := self.store.find(self._key(number, share))) is not None:
            return self._read(found), []
        params = known or ({} if number == 0 else self.sampler.ask(number, under_way))
        own = self.entry.estimator.get_params()
        shown = {name: {**own, **params}[name] for name in self.entry.space}
        given: dict[str, Any] = {"entry": self.entry, "params": params, "metric": self.metric}
        futures = [self.calls.submit(_measure_on_fold, fold=fold, **given) for fold in folds]
        return Trial(number, shown, math.nan, [], 0.0, share=share), futures

    def _end(self, trial: Trial, futures: list[Future[TrialResult]]) -> tuple[Trial, bool]:
        if futures:
            trial = self._measured(trial, futures)
            self.store.add(self._key(trial.number, trial.share), vars(trial))
        return trial, bool(futures)

    def _measured(self, trial: Trial, futures: list[Future[TrialResult]]) -> Trial:
        results: list[TrialResult] = []
        error = ""
        try:
            for future in futures:
                results.append(future.result())
        except (BrokenExecutor, CancelledError) as lost:  # it says nothing about the parameters
            text = f"trial {trial.number} was lost with its executor: {reason(lost)}. Finished "
            raise WorkerError(f"{text}trials are kept in the study, if it has a path.") from lost
        except Exception as wrong:  # told, and not tried again
            error = reason(wrong)
            for future in futures:
                future.cancel()
        value = math.nan
        if not error:
            pooled = np.concatenate([r.per_query for r in results])
            value = mean_of_queries(pooled, str(self.metric))
        seconds = sum(result.seconds for result in results)
        means = [result.value for result in results]
        return replace(trial, value=value, folds=means, seconds=seconds, error=error)

    def _key(self, number: int, share: float) -> str:
        return key(what="trial", number=number, share=share, **self.about)

    def _read(self, found: dict[str, Any]) -> Trial:
        params = from_plain(found["params"], self.entry.space)
        means = [math.nan if mean is None else mean for mean in found["folds"]]
        value = math.nan if found["value"] is None else found["value"]
        facts = (found["seconds"], found["error"], found["share"])
        return Trial(found["number"], params, value, means, *facts)


def _measure_on_fold(
    entry: Entry, params: dict[str, Any], fold: Fold, metric: Metric
) -> TrialResult:
    """Run a trial on the queries left out; its model stays where it was fitted."""
    return replace(run_trial(entry, params, fold, metric, on="test"), model=None)
