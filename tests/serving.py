"""A service in this process, on a store in a folder, and somebody who calls it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import rankwright as rw
from rankwright.persistence import packed
from rankwright.serve.http.app import make_app
from rankwright.serve.http.service import Service
from rankwright.serve.ranking.board import Board
from rankwright.serve.ranking.ways import can_learn, kind_of_content
from rankwright.serve.settings import Settings
from rankwright.serve.store import open_store
from rankwright.serve.store.writer import Writer

Fields = dict[str, Any]


@cache
def small_model(kind: str = "SLAMPerceptron", n_features: int = 3, seed: int = 0) -> bytes:
    """Return the file of a model that was trained on a little."""
    rng = np.random.default_rng(seed)
    X, qid = rng.normal(size=(60, n_features)), np.repeat(np.arange(10), 6)
    y = np.clip(np.round(X[:, 0] + 1), 0, 2) + 0.0  # no -0
    model = getattr(rw, kind)()
    model.fit(X, y, qid=qid)
    return packed(model)


class Caller:
    """Somebody who calls a service."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.app: Any = make_app(service)

    def __call__(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Call, and return what came back."""
        return asyncio.run(self._all([(method, path, more)]))[0]

    def together(self, calls: list[tuple[str, str, Fields]]) -> list[httpx.Response]:
        """Call many times at once."""
        return asyncio.run(self._all(calls))

    async def _all(self, calls: list[tuple[str, str, Fields]]) -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(*(client.request(m, p, **more) for m, p, more in calls))

    def rank(self, query: str = "q", n: int = 4) -> Fields:
        """Rank documents d0, d1, ...; return the answer."""
        documents = [{"id": f"d{i}", "features": features(i)} for i in range(n)]
        answer = self("POST", "/v1/rank", json={"query": query, "documents": documents})
        assert answer.status_code == 200, answer.text
        found: Fields = answer.json()
        return found

    def feedback(self, event: Any, status: int = 200) -> Any:
        """Send feedback; return the answer."""
        answer = self("POST", "/v1/feedback", json=event)
        assert answer.status_code == status, answer.text
        return answer.json()


def features(i: int) -> list[float]:
    """Return the features of document i: larger ones rank higher."""
    return [float(i), 0.5, -0.25 * i]


@contextmanager
def serving(folder: Path, content: bytes | None = None, **settings: Any) -> Iterator[Caller]:
    """Give a caller of a service whose board looks when it is told to."""
    store = open_store(str(folder / "log.db"))
    content = small_model() if content is None else content
    kind = kind_of_content(content)
    record = store.add_model(content, kind, can_learn(content), time.time(), "first")
    store.promote(record.model_id, time.time(), f"first {record.digest}")
    given = Settings(store=str(folder / "log.db"), **settings)
    service = Service(given, store, Writer(store, given.limits), Board(store))
    try:
        yield Caller(service)
    finally:
        service.close()
