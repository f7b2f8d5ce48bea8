"""The learner of the service over many events: speed, memory, disk and latency.

Events have 10 documents with 20 features. Feedback is written here, as fast as the disk takes it;
the learner is a process of its own.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import rankwright as rw
from rankwright.persistence import packed
from rankwright.serve.learning.replay import replay_log
from rankwright.serve.records import EventLesson, Kind, NewEvent
from rankwright.serve.settings import Settings
from rankwright.serve.store import open_store
from rankwright.serve.store.interface import Store
from tests.soak.report import Report

COUNT = 1_000_000
N_DOCS, N_FEATURES, GROUP = 10, 20, 500
FIRST = 0.1  # of the events, after which memory must not grow


def memory(process: int) -> int:
    """Return the resident bytes of a process."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


def seconds(process: int) -> float:
    """Return the processor time that a process has used."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / 100


def events(begin: int, rng: np.random.Generator, weights: np.ndarray) -> list[NewEvent]:
    """Return feedback that can be learned."""
    X = rng.normal(size=(GROUP, N_DOCS, N_FEATURES)).astype(np.float32)
    labels = np.digitize(X @ weights, [-4, -1, 1, 4]).astype(np.float64)
    ids = [f"document-{j}" for j in range(N_DOCS)]
    return [
        NewEvent(
            f"event-{begin + i:09}",
            time.time(),
            Kind.feedback,
            bytes(32),
            EventLesson(f"query-{i}", ids, labels[i], X[i]),
        )
        for i in range(GROUP)
    ]


def wait(store: Store, learned: int) -> float:
    """Wait until so many events are learned; return how long it took."""
    begin = time.monotonic()
    while store.learners()[0].learned < learned:
        time.sleep(0.005)
    return time.monotonic() - begin


def soak(count: int, seed: int) -> Report:
    """Let the learner process learn so many events."""
    report, rng = Report(), np.random.default_rng(seed)
    X, y = rng.normal(size=(300, N_FEATURES)), rng.integers(0, 5, 300)
    model = rw.SLAMPerceptron().fit(X, y, np.repeat(np.arange(30), 10))
    weights = rng.normal(size=N_FEATURES)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/log.db"
        store = open_store(path)
        store.add_model(packed(model), "SLAMPerceptron", True, 0.0)
        store.promote(1, 0.0, "first")
        told = json.dumps(dataclasses.asdict(Settings(store=path)))
        words = [sys.executable, "-m", "rankwright.serve.learning.learner", told]
        with subprocess.Popen(words) as learner:
            try:
                early, begin = 0, time.monotonic()
                for done in range(0, count, GROUP):
                    store.write([], events(done, rng, weights))
                    if not early and done >= FIRST * count:
                        wait(store, done)
                        early = memory(learner.pid)
                count = done + GROUP
                behind = wait(store, count)
                took, used, late = (
                    time.monotonic() - begin,
                    seconds(learner.pid),
                    memory(learner.pid),
                )
                delays = []
                for more in range(1, 21):
                    store.write([], events(count + more * GROUP, rng, weights)[:1])
                    delays.append(wait(store, count + more))
            finally:
                learner.terminate()
        begin, counts = time.process_time(), store.counts()
        replayed = replay_log(store)
        again = time.process_time() - begin
        store.close()
    report.done["events"] = count
    report.facts = {
        "events a second, with the writes": round(count / took),
        "seconds behind the last write": round(behind, 3),
        "events a second of the learner's processor time": round(count / used),
        "memory after a tenth": early,
        "memory at the end, over that": round(late / early, 4),
        "bytes on disk an event": round(counts.n_bytes / counts.events),
        "seconds until a state is published, at most": round(max(delays), 3),
        "events a second of replay": round(count / again),
        "replay": replayed.lines()[-1],
    }
    if late > 1.1 * early:
        report.fail(f"memory grew from {early:,} to {late:,} bytes")
    if replayed.parting is not None:
        report.fail(str(replayed.parting))
    return report
