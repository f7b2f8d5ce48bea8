"""Whether the process lives, and whether it is ready."""

from __future__ import annotations

from starlette.routing import Route

from rankwright.serve.http.endpoints import Answer, Call, json_answer, route
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.http.service import Service


def routes(service: Service) -> list[Route]:
    """Return the routes."""
    return [
        route(service, "GET", "/healthz", None, healthz),
        route(service, "GET", "/readyz", None, readyz),
    ]


async def healthz(service: Service, call: Call) -> Answer:
    """Say that the process lives."""
    return json_answer({"status": "ok"})


async def readyz(service: Service, call: Call) -> Answer:
    """Say whether rankings and feedback are welcome: 503 if the store does not answer."""
    if not service.board.fresh:
        raise RefusedError(503, "the store does not answer; ranking goes on.", None, 1)
    if not service.writer.healthy:
        raise RefusedError(503, "the store takes no events now; ranking goes on.", None, 1)
    return json_answer({"status": "ready", "model": service.board.current.version})
