"""The whole service in this process: its application and its learner, without a socket."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from rankwright.client import Client
from rankwright.serve.http.app import make_app
from rankwright.serve.learning.learner import Learner
from rankwright.serve.settings import Settings
from rankwright.serve.starting import prepare
from rankwright.serve.store import open_store
from rankwright.serve.worker import make_service

Fault = Callable[[httpx.Request, Callable[[], httpx.Response]], httpx.Response]


class AppTransport(httpx.BaseTransport):
    """Takes requests of httpx to an application that runs in a thread of its own.

    ``faults`` stand between: each is called with the next request, and with a function that has it
    answered.
    """

    def __init__(self, app: Any) -> None:
        self._inner = httpx.ASGITransport(app)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.faults: list[Fault] = []
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        request.read()
        if self.faults:
            return self.faults.pop(0)(request, lambda: self._answer(request))
        return self._answer(request)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        return asyncio.run_coroutine_threadsafe(self._ask(request), self._loop).result(60)

    async def _ask(self, request: httpx.Request) -> httpx.Response:
        copy = httpx.Request(
            request.method, request.url, headers=request.headers, content=request.content
        )
        answer = await self._inner.handle_async_request(copy)
        content = await answer.aread()
        return httpx.Response(answer.status_code, headers=answer.headers, content=content)

    def close(self) -> None:
        """Nothing: a client may be closed, and the service goes on."""

    def end(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def lose_answer(request: httpx.Request, answer: Callable[[], httpx.Response]) -> httpx.Response:
    """Have a request answered, and lose the answer."""
    answer()
    raise httpx.ReadError("gone", request=request)


@contextlib.contextmanager
def in_process(
    model: str, settings: Settings, token: str | None = None
) -> Iterator[tuple[Client, AppTransport]]:
    """Give a client of a service, and what is between them."""
    prepare(model, settings)
    service = make_service(settings)
    transport = AppTransport(make_app(service))
    stop, store = threading.Event(), open_store(settings.store, create=False)
    learner = threading.Thread(target=Learner(store, settings).run, args=(stop,))
    learner.start()
    try:
        yield Client("http://localhost", token, transport=transport), transport
    finally:
        stop.set()
        learner.join()
        store.close()
        transport.end()
        service.close()
