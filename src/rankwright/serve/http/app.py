"""The application: all routes, and answers for what has none."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from time import perf_counter
from typing import Any

from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from rankwright.serve.http.endpoints import Endpoint, problem, send_answer
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.http.service import Service

# Modules that have a function ``routes(service)``.
_MODULES = (
    *("http.health_api", "http.rank_api", "http.feedback_api", "http.models_api"),
    *("http.experiments_api", "page.page_api", "http.metrics_api", "http.docs_api"),
)


class App:
    """An ASGI application of routes; paths without parameters are found at once."""

    def __init__(self, service: Service, routes: Sequence[Route]) -> None:
        self.service = service
        self.routes = list(routes)
        self._exact: dict[tuple[str, str], Endpoint] = {}
        for one in self.routes:
            endpoint: Any = one.endpoint
            if "{" not in one.path:
                self._exact[endpoint.method, one.path] = endpoint
                if endpoint.method == "GET":
                    self._exact["HEAD", one.path] = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        endpoint = self._exact.get((scope["method"], scope["path"]))
        if endpoint is not None:
            await endpoint(scope, receive, send)
            return
        allowed: set[str] = set()
        for one in self.routes:
            match, more = one.matches(scope)
            if match is Match.FULL:
                scope.update(more)
                await one.endpoint(scope, receive, send)
                return
            if match is Match.PARTIAL:
                allowed |= one.methods or set()
        await self._refuse(scope, allowed, send)

    async def _refuse(self, scope: Scope, allowed: set[str], send: Send) -> None:
        begin = perf_counter()
        path, methods = scope["path"], ", ".join(sorted(allowed))
        if allowed:
            text = f"{path:.200} takes {methods}, not {scope['method']:.20}."
            answer = problem(RefusedError(405, text))
            answer.headers = (("allow", methods),)
        else:
            answer = problem(
                RefusedError(404, f"there is no {path!r:.200}: /docs lists what there is.")
            )
        self.service.telemetry.observe("other", answer.status, perf_counter() - begin)
        await send_answer(answer, send, scope["method"] == "HEAD")


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def make_app(service: Service) -> App:
    """Return the application of a service."""
    routes: list[Route] = []
    for name in _MODULES:
        routes += import_module(f"rankwright.serve.{name}").routes(service)
    return App(service, routes)
