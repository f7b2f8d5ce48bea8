"""Calls here, in workers, and wherever another executor takes them."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.comparison.executors import (
    Elsewhere,
    Here,
    JobExecutor,
    Workers,
    executor_for,
    run_all,
)
from rankwright.comparison.handing import Handing, OnDisk, opened
from rankwright.comparison.workers import Worker, WorkerError, reason, tell
from rankwright.evaluation import split
from rankwright.exceptions import DataError
from tests.worker_calls import fail, meet, say, sleep, threads, total, unsendable, where


@contextlib.contextmanager
def threads_elsewhere(folder: Path) -> Iterator[JobExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield Elsewhere(executor, folder)


@contextlib.contextmanager
def processes_elsewhere(folder: Path) -> Iterator[JobExecutor]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        yield Elsewhere(executor, folder)


@contextlib.contextmanager
def workers(folder: Path) -> Iterator[JobExecutor]:
    with Workers(2, folder) as executor:
        yield executor


@contextlib.contextmanager
def here(folder: Path) -> Iterator[JobExecutor]:
    with Here() as executor:
        yield executor


KINDS = {
    "here": here,
    "workers": workers,
    "threads": threads_elsewhere,
    "processes": processes_elsewhere,
}


@pytest.mark.parametrize("kind", KINDS)
def test_calls_give_the_same_wherever_they_run(kind: str, tmp_path: Path) -> None:
    data = rw.data.make_mslr_like(n_queries=12, n_features=4, mean_docs=6)
    (fold,) = split(data)
    with KINDS[kind](tmp_path / "data") as executor:
        assert isinstance(executor, Executor)
        pid, number = executor.submit(where, number=7).result()
        assert (pid == os.getpid()) == (kind == "here")
        assert number == 7
        name, value, _ = executor.submit(total, data=fold).result()
        assert (name, value) == ("Fold", float(fold.train.X.sum()))
        name, value, _ = executor.submit(total, data=data).result()
        assert (name, value) == ("Dataset", float(data.X.sum()))
        wrong = executor.submit(fail, how="value").exception()
        assert wrong is not None
        assert reason(wrong) == "ValueError: two lines"
        assert executor.submit(where, number=8).result()[1] == 8  # life goes on
        assert executor.submit(threads).result()["others"] == 1
        if kind != "here":
            with pytest.raises(TypeError, match="arguments of a call must be given by name"):
                executor.submit(where, 7)


FAILURES = {
    "end of file": "EOFError: of a model",
    "own": "OwnError: ab",
    "exit": "SystemExit: 3",
    "kill": "its process was ended by signal 9 (SIGKILL).",
    "leave": "its process ended with exit code 7.",
}


@pytest.mark.parametrize("kind", ["workers", "threads"])
def test_a_call_that_fails_takes_nothing_with_it(kind: str, tmp_path: Path) -> None:
    # Elsewhere every call has a worker of its own, in which it fails as here.
    ways = list(FAILURES) if kind == "workers" else ["own", "kill"]
    with KINDS[kind](tmp_path) as executor:
        for how in ways:
            failing, other = executor.submit(fail, how=how), executor.submit(where, number=1)
            wrong = failing.exception(timeout=60)
            assert wrong is not None
            assert reason(wrong) == FAILURES[how]
            assert other.result()[1] == 1
        assert executor.submit(where, number=2).result()[1] == 2


def test_what_cannot_be_sent_is_said(tmp_path: Path) -> None:
    with Workers(1, tmp_path) as executor:
        wrong = executor.submit(unsendable).exception()
        assert "pickle" in str(wrong)
        wrong = executor.submit(where, number=threading.Lock()).exception()
        assert "pickle" in str(wrong)
        assert executor.submit(where, number=2).result()[1] == 2


def test_a_worker_has_one_thread(tmp_path: Path) -> None:
    with Workers(1, tmp_path) as executor:
        assert executor.submit(threads).result() == {"rankwright": 1, "others": 1}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_calls_tell_is_heard(
    n_jobs: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[Any] = []
    with executor_for(n_jobs, folder=tmp_path, listener=heard.append) as executor:
        assert sorted(f.result() for _, f in run_all(executor, said(4))) == [0, 1, 2, 3]
    assert sorted(heard) == [("begun", i) for i in range(4)]
    out, err = capfd.readouterr()
    assert (out + err).count("models may print") == 4
    tell("nobody listens")


def said(n: int) -> Iterator[Any]:
    return ((i, (say, {"number": i})) for i in range(n))


def test_not_more_is_submitted_than_is_good() -> None:
    begun: list[int] = []
    calls: Iterator[Any] = ((i, (where, {})) for i in range(3))

    class Counting(Here):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            begun.append(len(begun))
            return super().submit(where)

    for done, (_, future) in enumerate(run_all(Counting(), calls), 1):
        assert future.done()
        assert len(begun) == done  # the next only when this one is written down


def test_workers_are_kept_busy(tmp_path: Path) -> None:
    folder = str(tmp_path)
    calls = [(a, (meet, {"folder": folder, "name": a, "other": b})) for a, b in ("xy", "yx")]
    with executor_for(2, folder=tmp_path / "data") as executor:
        for _, future in run_all(executor, calls):
            future.result()


def test_an_interrupt_is_not_a_result() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Here().submit(interrupt)


def test_what_was_not_finished_is_stopped(tmp_path: Path) -> None:
    begin = time.monotonic()
    with executor_for(2, folder=tmp_path) as executor:
        futures = [executor.submit(sleep, seconds=60.0) for _ in range(5)]
        time.sleep(0.1)
    assert time.monotonic() - begin < 30
    for future in futures:
        assert future.cancelled() or isinstance(future.exception(timeout=30), WorkerError)


def test_n_jobs_is_looked_at() -> None:
    with executor_for(1) as executor:
        assert isinstance(executor, Here)
    with pytest.raises(ValueError, match="n_jobs"), executor_for(0):
        pass


# ---- data ----


def test_data_is_written_once_and_mapped_once(tmp_path: Path) -> None:
    data = rw.data.make_mslr_like(n_queries=12, n_features=4, mean_docs=6)
    hand = Handing(tmp_path)
    one, two = hand(data), hand(data)
    assert one is two
    assert hand(7) == 7
    assert isinstance(one, OnDisk)
    assert opened(one) is opened(two)
    assert len(list(tmp_path.iterdir())) == 1
    sparse = rw.Dataset(sp.csr_array(data.X), data.y, [f"q {q}" for q in data.qid])
    again = opened(hand(sparse))
    np.testing.assert_array_equal(again.X.toarray(), data.X)
    assert again.qid.tolist() == sparse.qid.tolist()


def test_a_machine_that_sees_other_data_says_so(tmp_path: Path) -> None:
    data = rw.data.make_mslr_like(n_queries=12, n_features=4, mean_docs=6)
    there = Handing(tmp_path, check=True)(data)
    np.save(there.folder / "all.y.npy", data.y + 1)
    with pytest.raises(DataError, match=r"has other data on .*\. Name a folder that all machines"):
        there.open()
    for path in there.folder.iterdir():
        path.unlink()
    with pytest.raises(DataError, match=r"cannot be read on .*\. Name a folder that all machines"):
        there.open()


# ---- processes ----


def alive(pid: int) -> bool:
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
            != "Z"
        )
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("talks", [True, False])
def test_workers_end_with_the_process_that_started_them(talks: bool, tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path\n"
        "from rankwright.comparison.executors import Workers\n"
        "from tests.worker_calls import hold\n"
        f"calls = Workers(2, Path({str(tmp_path)!r}))\n"
        f"for i in range(2): calls.submit(hold, folder=sys.argv[1], talks={talks})\n"
        "time.sleep(120)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
    )
    pids: list[int] = []
    deadline = time.monotonic() + 60
    while len(pids) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
        pids = [int(path.name) for path in tmp_path.glob("[0-9]*") if path.is_file()]
    assert len(pids) == 2
    process.kill()
    _, err = process.communicate(timeout=30)  # waits for all that hold its end: the workers too
    assert err == b""
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)  # their files are closed a moment before they are gone
    assert not any(map(alive, pids))


def test_a_worker_is_closed_at_once_and_for_good() -> None:
    worker = Worker()
    assert worker.run(where, {}, None)[0] != os.getpid()
    thread = threading.Timer(0.3, worker.close)
    thread.start()
    begin = time.monotonic()
    with pytest.raises(WorkerError, match="signal 9"):
        worker.run(sleep, {"seconds": 60.0}, None)
    assert time.monotonic() - begin < 30
    thread.join()
    with pytest.raises(WorkerError, match="was stopped"):
        worker.run(where, {}, None)


def test_an_interrupt_is_seen_while_calls_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python wakes up now and then, and looks for a signal that it was about to sleep through."""
    release, looks = threading.Event(), []

    class Slow(JobExecutor):
        at_once = 1

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            return pool.submit(release.wait)

    class Watched(queue.Queue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            looks.append(timeout)
            if len(looks) == 3:
                release.set()
            return super().get(block, timeout)

    monkeypatch.setattr("rankwright.comparison.executors.SimpleQueue", Watched)
    monkeypatch.setattr("rankwright.comparison.executors._LONGEST_SLEEP", 0.01)
    with ThreadPoolExecutor(1) as pool:
        assert len(list(run_all(Slow(), [("a", (where, {}))]))) == 1
    assert len(looks) >= 3
    assert set(looks) == {0.01}


def test_no_more_calls_are_under_way_than_is_good() -> None:
    """Each that ends makes room for one."""
    under_way: list[Future[int]] = []

    class Few(JobExecutor):
        at_once = 3

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            future: Future[int] = Future()
            under_way.append(future)
            assert len(under_way) <= self.at_once
            if len(under_way) == self.at_once or kwargs["last"]:
                under_way[0].set_result(kwargs["i"])
            return future

    done = []
    for what, future in run_all(Few(), [(i, (where, {"i": i, "last": i == 9})) for i in range(10)]):
        done.append(what)
        under_way.remove(future)
        if what >= 7 and under_way:  # no more will be submitted
            under_way[0].set_result(0)
    assert sorted(done) == list(range(10))


def test_what_is_no_executor_is_refused(tmp_path: Path) -> None:
    wrong: Any = "tcp://scheduler:8786"
    with (
        pytest.raises(TypeError, match=r"executor must have the interface .*, but is a str"),
        executor_for(1, executor=wrong, folder=tmp_path / "data"),
    ):
        pass
