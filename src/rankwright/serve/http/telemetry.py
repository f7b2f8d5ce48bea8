"""What happens: counts and latencies of all workers of a host, for Prometheus and for the page.

Counters lie in one file that the workers of a host share, each writing to its own part: any worker
answers for all of them, and a worker that dies leaves its counts to its successor.
"""

from __future__ import annotations

import mmap
import tempfile
import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from time import monotonic
from typing import IO, NamedTuple

ROUTES = (
    *("POST /v1/rank", "POST /v1/feedback", "GET /v1/state", "GET /v1/overview"),
    *("GET /v1/models", "POST /v1/models", "POST /v1/models/promote", "POST /v1/models/rollback"),
    *("GET /v1/experiments", "POST /v1/experiments", "POST /v1/experiments/end", "other"),
)
STATUSES = (200, 201, 400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 422, 429, 431, 500, 503, 0)
COUNTERS = ("rankings_logged", "rankings_dropped", "feedback_accepted", "feedback_duplicate")
# From 50 microseconds to 13 seconds, each a fifth longer: percentiles are read from these too.
BUCKETS = tuple(5e-5 * 1.2**step for step in range(69))
_ROUTE = len(STATUSES) + len(BUCKETS) + 2  # counts by status, by latency, and the sum of latencies
_CELLS = len(ROUTES) * _ROUTE + len(COUNTERS)
_HISTORY = 61  # seconds


def shared_counts(workers: int) -> IO[bytes]:
    """Return a file for the counters of so many workers; it has no name, and goes with them."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever asked closes it
    file.truncate(8 * _CELLS * workers)
    return file


class Telemetry:
    """Counters of one worker, and sums over all.

    Parameters
    ----------
    counts : int, optional
        The file that the workers share, as :func:`shared_counts` made it; None: a worker alone.
    worker, workers : int
        Which of how many.
    """

    def __init__(self, counts: int | None = None, worker: int = 0, workers: int = 1) -> None:
        self._map = mmap.mmap(-1 if counts is None else counts, 8 * _CELLS * workers)
        self._all = memoryview(self._map).cast("d")
        self._own = self._all[worker * _CELLS : (worker + 1) * _CELLS]
        self._workers = workers
        self._routes = {name: place * _ROUTE for place, name in enumerate(ROUTES)}
        self._status = {status: place for place, status in enumerate(STATUSES)}
        self._lock = threading.Lock()  # of counters that several threads add to
        self._history: deque[tuple[float, list[float]]] = deque(maxlen=_HISTORY)

    # ---- what endpoints tell ----

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count a request; called by the thread of the event loop only."""
        own = self._own
        begin = self._routes.get(route)
        if begin is None:
            begin = self._routes["other"]
        own[begin + self._status.get(status, len(STATUSES) - 1)] += 1
        begin += len(STATUSES)
        own[begin + bisect_left(BUCKETS, seconds)] += 1
        own[begin + len(BUCKETS) + 1] += seconds

    def add(self, counter: str, n: int = 1) -> None:
        """Add to one of ``COUNTERS``."""
        with self._lock:
            self._own[len(ROUTES) * _ROUTE + COUNTERS.index(counter)] += n

    # ---- what is read ----

    def sums(self) -> list[float]:
        """Return all cells, summed over the workers."""
        values: list[float] = [*self._all.tolist()]
        if self._workers == 1:
            return values
        parts = [values[w * _CELLS : (w + 1) * _CELLS] for w in range(self._workers)]
        return [sum(cells) for cells in zip(*parts, strict=True)]

    def tick(self) -> None:
        """Keep the sums of this moment; called once a second, for what was lately."""
        self._history.append((monotonic(), self.sums()))

    @property
    def workers(self) -> int:
        """How many processes these figures are of."""
        return self._workers

    @property
    def history(self) -> list[tuple[float, list[float]]]:
        """The sums of the last minute, a moment each, oldest first."""
        return list(self._history)

    def latencies(self, sums: Sequence[float], route: str) -> Sequence[float]:
        """Return how many requests of a route there are in each of ``BUCKETS``, and above."""
        begin = self._routes[route] + len(STATUSES)
        return sums[begin : begin + len(BUCKETS) + 1]

    def of_route(self, sums: Sequence[float], route: str) -> RouteSums:
        """Return what sums say of a route."""
        begin = self._routes[route]
        seconds = sums[begin + _ROUTE - 1]
        by_status = sums[begin : begin + len(STATUSES)]
        return RouteSums(by_status, self.latencies(sums, route), seconds)

    def total(self, counter: str) -> float:
        """Return one of ``COUNTERS``, of all workers."""
        return self.counted(self.sums(), counter)

    def counted(self, sums: Sequence[float], counter: str) -> float:
        """Return one of ``COUNTERS`` as it was in the sums of a moment."""
        return sums[len(ROUTES) * _ROUTE + COUNTERS.index(counter)]

    def close(self) -> None:
        """Let go of the file."""
        self._own.release()
        self._all.release()
        self._map.close()


class RouteSums(NamedTuple):
    """Requests of a route by status and by latency, and the sum of their seconds."""

    by_status: Sequence[float]
    by_latency: Sequence[float]
    seconds: float


def percentile(counts: Sequence[float], share: float) -> float:
    """Return the latency below which this share is, by counts in ``BUCKETS``; 0 of none.

    >>> percentile([0.0, 10.0] + [0.0] * 68, 0.5) == (BUCKETS[0] + BUCKETS[1]) / 2
    True
    """
    left = share * sum(counts)
    for place, n in enumerate(counts):
        if n and n >= left:
            low = BUCKETS[place - 1] if place else 0.0
            high = BUCKETS[min(place, len(BUCKETS) - 1)]
            return low + (high - low) * left / n
        left -= n
    return 0.0
