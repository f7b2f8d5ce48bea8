"""What passed through in the last minute, second by second, as the page draws it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rankwright.serve.overview import Pace, RoutePace
from rankwright.serve.telemetry import ROUTES, Telemetry, percentile

RANK, FEEDBACK = "POST /v1/rank", "POST /v1/feedback"
SECONDS = 60
_SHARES = (0.5, 0.95, 0.99)
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

    def between(before: Moment, after: Moment, route: str) -> Tally:
        pairs = zip(
            telemetry.latencies(before[1], route), telemetry.latencies(after[1], route), strict=True
        )
        # A worker that begins anew may begin to count anew.
        counts = [max(0.0, now - then) for then, now in pairs]
        return Tally(sum(counts) / max(after[0] - before[0], 1e-3), counts)

    def by_second(route: str) -> list[Tally]:
        found = [between(before, after, route) for before, after in pairwise(moments)]
        return [Tally(0.0, ())] * (SECONDS - len(found)) + found

    ranked, judged = by_second(RANK), by_second(FEEDBACK)
    p50, p95, p99 = zip(*(tally.percentiles for tally in ranked), strict=True)
    routes = {route: between(moments[0], moments[-1], route) for route in ROUTES} if moments else {}
    return Pace(
        rankings=[round(tally.rate, 2) for tally in ranked],
        feedback=[round(tally.rate, 2) for tally in judged],
        p50=list(p50),
        p95=list(p95),
        p99=list(p99),
        routes=[
            RoutePace(route, tally.requests, *tally.percentiles)
            for route, tally in routes.items()
            if tally.requests
        ],
        worker=_whose(telemetry.workers),
    )


def _whose(workers: int) -> str:
    if workers == 1:
        return "Requests of the last minute, of this process."
    return f"Requests of the last minute, of the {workers} workers of this host."
