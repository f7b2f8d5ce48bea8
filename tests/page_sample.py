"""A service with a filled store, for tests of the page."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import sleep, time
from typing import Any

import numpy as np
import uvicorn

import rankwright as rw
from rankwright.persistence import packed
from rankwright.serve.http.app import make_app
from rankwright.serve.http.ranking_ids import new_ranking_id
from rankwright.serve.http.service import Service
from rankwright.serve.http.tokens import Tokens
from rankwright.serve.learning.learner import Learner
from rankwright.serve.ranking.board import Board
from rankwright.serve.records import EventLesson, Kind, NewEvent, RankingRecord
from rankwright.serve.settings import Settings
from rankwright.serve.store import open_store
from rankwright.serve.store.writer import Writer
from rankwright.serve.watching.drift import DriftWatch
from rankwright.serve.watching.experiments import arm_of

N_FEATURES = 6
NAMES = ["bm25_title", "bm25_body", "price", "clicks_7d", "age_days", "rating"]


def online_model(seed: int) -> Any:
    """Return a ranker that has learned a little, and goes on learning."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, N_FEATURES))
    return rw.SLAMPerceptron().partial_fit(X, X[:, 0] > 0.5, np.repeat(np.arange(20), 10))


def sample_models() -> list[tuple[bytes, str, bool, str]]:
    """Return two models that learn: content, kind, whether they learn, note."""
    notes = ("first.rw", "second.rw")
    return [(packed(online_model(i)), "SLAMPerceptron", True, n) for i, n in enumerate(notes)]


def open_service(
    path: Path,
    tokens: Tokens | None = None,
    models: Sequence[tuple[bytes, str, bool, str]] | None = None,
) -> Service:
    """Return a service of a store that has a model, without its threads of refreshing."""
    store = open_store(str(path / "log.db"))
    if store.serving() is None:
        for content, kind, learns, note in sample_models() if models is None else models:
            store.add_model(content, kind, learns, time(), note)
        store.promote(1, time(), "promote-1")
    settings = Settings(store=str(path / "log.db"))
    service = Service(settings, store, Writer(store, settings.limits), Board(store), None, tokens)
    service.drift = DriftWatch(names=NAMES)
    service.watches.append(service.drift.observe)
    return service


def fill(
    service: Service, n: int = 400, query: str = "query", seed: int = 0, learning: bool = True
) -> None:
    """Rank and judge queries, by the store alone, and learn."""
    rng = np.random.default_rng(seed)
    store, look = service.store, service.board.look
    rankings, events = [], []
    for i in range(n):
        X = rng.normal(size=(8, N_FEATURES)) + (1.5 * (i > n // 2)) * (np.arange(N_FEATURES) == 2)
        name = f"{query} {i}"
        model, arm = look.pick(name)
        ids = [f"d{j}" for j in range(8)]
        ranking = RankingRecord(
            new_ranking_id(time()), time(), name, model.version, arm, ids, model.rank(X), X
        )
        rankings.append(ranking)
        labels = (X[:, 0] + 0.3 * rng.normal(size=8) > 0.5).astype(np.float64)
        value = rw.metrics.NDCG(k=10).per_query(labels, ranking.scores, None)[0]
        events.append(
            NewEvent(
                f"{query}-{seed}-{i}",
                time(),
                Kind.feedback,
                b"%d" % i,
                EventLesson(name, ids, labels, X),
                ranking.ranking_id,
                model.version,
                arm,
                None if np.isnan(value) else float(value),
            )
        )
        for watch in service.watches:
            watch(model.version, X)
        if service.drift is not None and i % 20 == 0:
            service.drift.tick()
    for i in range(0, n, 50):
        store.write(rankings[i : i + 50], events[i : i + 50])
        if learning:
            learn(service)
    service.board.refresh()


def learn(service: Service) -> None:
    """Let the learner catch up."""
    learner = Learner(service.store, service.settings)
    while learner.step():
        pass
    learner.publish()


def two_arms(service: Service) -> Any:
    """Begin an experiment of models 1 and 2."""
    found = service.store.begin_experiment("two <b>models</b>", 1, 2, 0.5, time(), "begin")
    service.board.refresh()
    assert arm_of(found, "x") in "ab"
    return found


@contextlib.contextmanager
def serving(service: Service, port: int = 0) -> Iterator[int]:
    """Answer on a port of the loopback, in a thread; give the port."""
    listener = socket.create_server(("127.0.0.1", port))
    config = uvicorn.Config(
        make_app(service),
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(0.1):
            service.telemetry.tick()
            service.board.refresh()
            if service.drift is not None:
                service.drift.tick()

    threads = [
        threading.Thread(target=lambda: asyncio.run(server.serve([listener]))),
        threading.Thread(target=tick),
    ]
    for thread in threads:
        thread.start()
    while not server.started:
        sleep(0.01)
    try:
        yield int(listener.getsockname()[1])
    finally:
        server.should_exit = True
        ended.set()
        for thread in threads:
            thread.join()
        listener.close()
