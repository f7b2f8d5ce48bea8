"""Results of experiments, computed as often as somebody looks, but not more often than pays."""

from __future__ import annotations

import threading
from time import perf_counter

from rankwright.serve.bodies import ExperimentResult
from rankwright.serve.experiments import judge
from rankwright.serve.records import Experiment
from rankwright.serve.store.interface import Store

_LEAST = 1.0  # seconds between two computations
_TIMES = 20.0  # of what a computation took: at most 5 % of the time goes into them


class Results:
    """What experiments have shown so far.

    Their judgements are added up by the store. A result of an experiment that runs may be a second
    old, or older where there are millions of judgements; one that has ended is computed once.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[int, tuple[Experiment, ExperimentResult, float]] = {}

    def all(self) -> list[ExperimentResult]:
        """Return all results, oldest first; waits for the store."""
        experiments = self._store.experiments()
        with self._lock:
            return [self._result(experiment) for experiment in experiments]

    def of(self, experiment: Experiment) -> ExperimentResult:
        """Return the result of one; waits for the store."""
        with self._lock:
            return self._result(experiment)

    def _result(self, experiment: Experiment) -> ExperimentResult:
        known = self._known.get(experiment.number)
        now = perf_counter()
        if known is not None and known[0] == experiment:
            over = experiment.ended is not None
            if over or now < known[2]:
                return known[1]
        sums = self._store.arm_sums(experiment)
        result = judge(experiment, sums["a"], sums["b"])
        took = perf_counter() - now
        again = perf_counter() + max(_LEAST, _TIMES * took)
        self._known[experiment.number] = experiment, result, again
        return result
