"""``GET /metrics``: what Prometheus asks for, of all workers of this host at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.routing import Route

from rankwright.serve.http.endpoints import Answer, Call, route
from rankwright.serve.http.service import Service
from rankwright.serve.http.telemetry import BUCKETS, COUNTERS, ROUTES, STATUSES
from rankwright.serve.records import LearnerRecord
from rankwright.serve.store.interface import Counts, StoreUnavailableError

_EACH = 4  # of our buckets make one of Prometheus'
_HELP = {
    "rankings_logged": "Rankings that were handed to the log.",
    "rankings_dropped": "Rankings that were answered and not logged: too many waited.",
    "feedback_accepted": "Events that were accepted.",
    "feedback_duplicate": "Events that the log had already.",
}


def routes(service: Service) -> list[Route]:
    """Return the routes."""
    return [route(service, "GET", "/metrics", "any", tell_metrics)]


async def tell_metrics(service: Service, call: Call) -> Answer:
    """Return all metrics as Prometheus reads them."""
    body = await service.ask(metrics_text, service)
    return Answer(body, content_type=CONTENT_TYPE_LATEST)


def metrics_text(service: Service) -> bytes:
    """Return all metrics as text; waits for the store."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Metrics(service))
    return generate_latest(registry)


class _Metrics(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        yield from _requests_seen(self._service)
        yield from _counters_seen(self._service)
        yield from _served_models(self._service)
        try:
            learners = self._service.store.learners()
            counts = self._service.store.counts()  # later: no learner is ahead of the log
        except StoreUnavailableError:
            yield GaugeMetricFamily("rankwright_store_up", "Whether the store answers.", 0)
            return
        yield GaugeMetricFamily("rankwright_store_up", "Whether the store answers.", 1)
        yield from _store_sizes(counts)
        yield from _learning(learners, counts)


def _requests_seen(service: Service) -> Iterator[Metric]:
    telemetry, sums = service.telemetry, service.telemetry.sums()
    requests = CounterMetricFamily(
        "rankwright_requests", "Requests by route and status.", labels=("route", "status")
    )
    seconds = HistogramMetricFamily(
        "rankwright_request_seconds", "From the head of a request to its answer.", labels=("route",)
    )
    for name in ROUTES:
        by_status, by_latency, total = telemetry.of_route(sums, name)
        for status, n in zip(STATUSES, by_status, strict=True):
            if n:
                requests.add_metric((name, str(status) if status else "other"), n)
        if sum(by_latency):
            seconds.add_metric((name,), _cumulated(by_latency), total)
    yield requests
    yield seconds


def _cumulated(counts: Sequence[float]) -> list[tuple[str, float]]:
    found, seen = [], 0.0
    for place, bound in enumerate(BUCKETS):
        seen += counts[place]
        if place % _EACH == 0:
            found.append((f"{bound:.6g}", seen))
    return [*found, ("+Inf", seen + counts[-1])]


def _counters_seen(service: Service) -> Iterator[Metric]:
    for name in COUNTERS:
        yield CounterMetricFamily(f"rankwright_{name}", _HELP[name], service.telemetry.total(name))
    waiting = "Rankings that this worker has not written yet."
    yield GaugeMetricFamily("rankwright_rankings_waiting", waiting, service.writer.n_waiting)


def _served_models(service: Service) -> Iterator[Metric]:
    current = service.board.current
    yield InfoMetricFamily(
        "rankwright_model",
        "The model that ranks.",
        {"version": current.version, "kind": current.kind, "digest": current.record.digest},
    )


def _store_sizes(counts: Counts) -> Iterator[Metric]:
    yield GaugeMetricFamily("rankwright_store_bytes", "Bytes of the store.", counts.n_bytes)
    yield GaugeMetricFamily("rankwright_events", "Feedback in the log.", counts.events)
    yield GaugeMetricFamily("rankwright_log_position", "The last place of the log.", counts.last)


def _learning(learners: Iterable[LearnerRecord], counts: Counts) -> Iterator[Metric]:
    of = {
        name: GaugeMetricFamily(f"rankwright_learner_{name}", text, labels=("model",))
        for name, text in {
            "position": "The last event that a learner has passed.",
            "lag": "Events that an active learner has before it.",
            "learned": "Events that a learner learned from.",
            "skipped": "Feedback that a learner could not learn from.",
            "loss": "Sum of a learner's losses.",
            "bound": "What theory guarantees of that sum.",
        }.items()
    }
    for one in learners:
        model = (str(one.model_id),)
        of["position"].add_metric(model, one.position)
        of["learned"].add_metric(model, one.learned)
        of["skipped"].add_metric(model, one.skipped)
        of["loss"].add_metric(model, one.loss)
        if one.active:
            of["lag"].add_metric(model, counts.last - one.position)
        if one.bound is not None:
            of["bound"].add_metric(model, one.bound)
    yield from of.values()
