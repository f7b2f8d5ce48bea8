"""What passed through in the last minute, second by second, as the page draws it."""

from __future__ import annotations

from rankwright.serve.overview import Pace, RoutePace
from rankwright.serve.telemetry import Telemetry, Tally

RANK, FEEDBACK = "POST /v1/rank", "POST /v1/feedback"
_SHARES = (0.5, 0.95, 0.99)
_SECONDS = 60


def pace_of(telemetry: Telemetry) -> Pace:
    """Return rates and latencies of the last minute; 0 for seconds before the start."""
    ranked = _filled(telemetry.seconds(RANK))
    judged = _filled(telemetry.seconds(FEEDBACK))
    p50, p95, p99 = zip(*map(_percentiles, ranked), strict=True)
    return Pace(
        rankings=[round(tally.rate, 2) for tally in ranked],
        feedback=[round(tally.rate, 2) for tally in judged],
        p50=list(p50),
        p95=list(p95),
        p99=list(p99),
        routes=[
            RoutePace(route, tally.requests, *_percentiles(tally))
            for route, tally in telemetry.routes()
            if tally.requests
        ],
        worker=_whose(telemetry.workers),
    )


def _filled(found: list[Tally]) -> list[Tally]:
    return [Tally(0, 0.0, ())] * (_SECONDS - len(found)) + found[-_SECONDS:]


def _percentiles(tally: Tally) -> tuple[float | None, float | None, float | None]:
    if not tally.requests:
        return None, None, None
    p50, p95, p99 = (round(1e3 * tally.percentile(share), 3) for share in _SHARES)
    return p50, p95, p99


def _whose(workers: int) -> str:
    if workers == 1:
        return "Figures of this process, since it began."
    return f"Figures of the {workers} workers of this host, since they began; not of other hosts."
