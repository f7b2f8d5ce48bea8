"""Forks while other threads measure, fit and read: no child hangs, all compute the same bits."""

from __future__ import annotations

import faulthandler
import hashlib
import os
import random
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rankwright as rw
from rankwright.data import make_mslr_like
from rankwright.metrics import parse, per_query_of_all
from tests.soak.report import Report

COUNT = 2000
TIMEOUT_S = 60.0  # of one child
METRICS = [parse(text) for text in ("ndcg@10", "ap", "rbp", "err", "pairwise_error")]


class Work:
    """What parents and children do, on data made once; each returns a hash of the bits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = make_mslr_like(n_queries=40, n_features=8, mean_docs=20)
        rw.write_letor(self.data, path)
        self.trees = rw.BoostedRanker(n_estimators=3, num_leaves=7, n_jobs=2)
        self.trees.fit_dataset(self.data)

    def measure(self) -> str:
        data = self.data
        values = per_query_of_all(METRICS, data.y, data.X[:, 0], data.groups, n_jobs=4)
        return _hash(*(value.tobytes() for value in values))

    def fit(self) -> str:
        data = self.data
        models: list[Any] = [
            rw.BoostedRanker(n_estimators=3, num_leaves=7, n_jobs=2),
            rw.LinearRanker(max_iter=5, tol=1.0, n_jobs=2),
            rw.SLAMPerceptron(),
        ]
        for model in models:
            model.fit(data.X, data.y, data.qid)
        return _hash(*(model.predict(data.X).tobytes() for model in models))

    def predict(self) -> str:
        return _hash(self.trees.predict(self.data.X).tobytes(), str(self.trees.importance()))

    def read(self) -> str:
        data = rw.read(self.path, n_jobs=4)
        return _hash(data.X.tobytes(), data.y.tobytes())


def _hash(*parts: bytes | str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
    return digest.hexdigest()


@contextmanager
def busy(parts: list[Callable[[], str]]) -> Iterator[None]:
    """Keep a thread busy with each part."""
    stop = threading.Event()

    def repeat(part: Callable[[], str]) -> None:
        while not stop.is_set():
            part()

    threads = [threading.Thread(target=repeat, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def child(parts: list[Callable[[], str]], expected: list[str]) -> int:
    """Fork; return 0 if the child did the same work, 1 if other work, another number if none."""
    process = os.fork()
    if process == 0:
        code = 2
        try:
            faulthandler.dump_traceback_later(TIMEOUT_S, exit=True)
            code = int([part() for part in parts] != expected)
        finally:
            os._exit(code)
    deadline = time.monotonic() + 2 * TIMEOUT_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(process, 9)
    os.waitpid(process, 0)
    return 3


def soak(
    count: int, seed: int, names: Sequence[str] = ("measure", "fit", "predict", "read")
) -> Report:
    """Fork so many times at random moments; every child has to do its work."""
    chance, report = random.Random(seed), Report()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # Newer Pythons warn of any fork beside threads; children, of their one thread.
        warnings.simplefilter("ignore")
        work = Work(Path(folder) / "data.txt")
        parts: list[Callable[[], str]] = [getattr(work, name) for name in names]
        expected = [part() for part in parts]
        with busy(parts):
            for i in range(count):
                time.sleep(chance.random() * 0.005)
                end = child(parts, expected)
                report.count("forks")
                if end != 0:
                    report.fail(f"fork {i} ended with {end}")
    return report
