"""Results of experiments, computed as often as somebody looks, but not more often than pays."""

from __future__ import annotations

import threading
from time import perf_counter

from rankwright.serve.bodies import ExperimentResult
from rankwright.serve.records import ExperimentRecord
from rankwright.serve.store.interface import Store
from rankwright.serve.watching.experiments import judge

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
        self._known: dict[int, tuple[ExperimentRecord, ExperimentResult, float]] = {}

    def all(self) -> list[ExperimentResult]:
        """Return all results, oldest first; waits for the store."""
        return [self.of(experiment) for experiment in self._store.experiments()]

    def of(self, experiment: ExperimentRecord) -> ExperimentResult:
        """Return the result of one; waits for the store.

        Who looks while another computes gets the last result, if there is one.
        """
        known = self._fresh(experiment)
        if known is not None:
            return known
        last = self._known.get(experiment.number)
        waits = last is None or last[0] != experiment
        if not self._lock.acquire(blocking=waits):
            assert last is not None
            return last[1]
        try:
            return self._fresh(experiment) or self._compute(experiment)
        finally:
            self._lock.release()

    def _fresh(self, experiment: ExperimentRecord) -> ExperimentResult | None:
        known = self._known.get(experiment.number)
        if known is None or known[0] != experiment:
            return None
        over = experiment.ended is not None
        return known[1] if over or perf_counter() < known[2] else None

    def _compute(self, experiment: ExperimentRecord) -> ExperimentResult:
        begin = perf_counter()
        sums = self._store.arm_sums(experiment)
        result = judge(experiment, sums["a"], sums["b"])
        now = perf_counter()
        again = now + max(_LEAST, _TIMES * (now - begin))
        self._known[experiment.number] = experiment, result, again
        return result
