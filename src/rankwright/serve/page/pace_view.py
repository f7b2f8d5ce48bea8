"""What passed through in the last minute, second by second, as the page draws it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from rankwright.serve.http.telemetry import ROUTES, Telemetry, percentile
from rankwright.serve.page.overview import Pace, RoutePace

RANK = "POST /v1/rank"
SECONDS = 60
WINDOW = 5  # seconds that a latency is taken over: a few requests have no percentiles
_RANKED = ("rankings_logged", "rankings_dropped")
_JUDGED = ("feedback_accepted", "feedback_duplicate")
_SHARES = (0.5, 0.95, 0.99)
T = TypeVar("T")
Moment = tuple[float, list[float]]
Percentiles = tuple[float | None, float | None, float | None]


class Tally(NamedTuple):
    """Requests between two moments: so many a second, and how many there are in each bucket."""

    rate: float
    counts: Sequence[float]

    @property
    def requests(self) -> int:
        """How many there were."""
        return round(sum(self.counts))

    @property
    def percentiles(self) -> Percentiles:
        """Milliseconds; None without a request."""
        if not self.requests:
            return None, None, None
        p50, p95, p99 = (round(1e3 * percentile(self.counts, share), 3) for share in _SHARES)
        return p50, p95, p99


def pace_of(telemetry: Telemetry) -> Pace:
    """Return rates and latencies of the last minute; nothing for seconds before the start."""
    moments = telemetry.history[-SECONDS - 1 :]
    pairs = list(pairwise(moments))
    requests = [_tally_between(telemetry, before, after, RANK).rate for before, after in pairs]
    # A request may have many queries; where rankings are not logged they are not counted either.
    ranked = [_rate(telemetry, before, after, *_RANKED) for before, after in pairs]
    judged = [_rate(telemetry, before, after, *_JUDGED) for before, after in pairs]
    latencies = [
        _tally_between(telemetry, moments[max(0, i - WINDOW)], moments[i], RANK).percentiles
        for i in range(1, len(moments))
    ]
    nothing: Percentiles = (None, None, None)
    p50, p95, p99 = zip(*_for_a_minute(latencies, nothing), strict=True)
    return Pace(
        rankings=_for_a_minute(
            [round(max(both), 2) for both in zip(requests, ranked, strict=True)], 0.0
        ),
        feedback=_for_a_minute([round(rate, 2) for rate in judged], 0.0),
        p50=list(p50),
        p95=list(p95),
        p99=list(p99),
        routes=_routes(telemetry, moments),
        worker=_whose(telemetry.workers),
    )


def _tally_between(telemetry: Telemetry, before: Moment, after: Moment, route: str) -> Tally:
    then, now = (telemetry.latencies(sums, route) for _, sums in (before, after))
    counts = [b - a for a, b in zip(then, now, strict=True)]
    return Tally(sum(counts) / max(after[0] - before[0], 1e-3), counts)


def _rate(telemetry: Telemetry, before: Moment, after: Moment, *counters: str) -> float:
    """Return how much some counters grew together, a second."""
    then, now = (
        sum(telemetry.counted(sums, counter) for counter in counters) for _, sums in (before, after)
    )
    return (now - then) / max(after[0] - before[0], 1e-3)


def _for_a_minute(values: list[T], empty: T) -> list[T]:
    return [empty] * (SECONDS - len(values)) + values


def _routes(telemetry: Telemetry, moments: list[Moment]) -> list[RoutePace]:
    if not moments:
        return []
    found = [(route, _tally_between(telemetry, moments[0], moments[-1], route)) for route in ROUTES]
    return [
        RoutePace(route, tally.requests, *tally.percentiles)
        for route, tally in found
        if tally.requests
    ]


def _whose(workers: int) -> str:
    if workers == 1:
        return "Requests of the last minute, of this process."
    return f"Requests of the last minute, of the {workers} workers of this host."
