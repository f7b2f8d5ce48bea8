"""The thread pool after forks, under concurrent calls, and at Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from rankwright.data import Groups, make_mslr_like
from rankwright.metrics import METRICS, parse, per_query_of_all
from tests.signals import started

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

# Defines read() and measure(), which use the pool with four threads and return one number each.
PREAMBLE = """
import hashlib, os, sys, warnings
warnings.simplefilter("ignore")  # newer Pythons warn of any fork beside threads
import numpy as np
import rankwright as rw
from rankwright.data import Groups
from rankwright.metrics import parse, per_query_of_all

rng = np.random.default_rng(0)
sizes = rng.integers(1, 300, 400)
groups = Groups(np.append(0, np.cumsum(sizes)))
y = rng.integers(0, 5, groups.n_rows).astype(float)
scores = np.round(rng.normal(size=groups.n_rows), 1)

def measure():
    metrics = [parse(t) for t in ("ndcg@10", "ap", "pairwise_error", "err", "domination_error")]
    values = per_query_of_all(metrics, y, scores, groups, n_jobs=4)
    return hashlib.sha256(b"".join(v.tobytes() for v in values)).hexdigest()

def read():
    ds = rw.data.read_letor(sys.argv[1], n_jobs=4)
    return hashlib.sha256(ds.X.tobytes() + ds.y.tobytes()).hexdigest()

def in_child(f):
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(send, f().encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as stream:
        answer = stream.read()
    assert os.waitpid(child, 0)[1] == 0
    return answer
"""


@pytest.fixture(scope="module")
def letor_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Several megabytes, so that the parser cuts it into several tasks.
    path = tmp_path_factory.mktemp("parallel") / "data.txt"
    rw.write_letor(make_mslr_like(n_queries=60, n_features=60), path)
    assert path.stat().st_size > 3 << 20
    return path


def run(code: str, path: Path, timeout: float = 60) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + code, str(path)],
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_fork
@pytest.mark.parametrize(
    "code",
    [
        # The child uses the pool after the parent used it, and the parent goes on.
        "a = measure(), read(); b = in_child(measure), in_child(read); c = measure(), read()",
        # The child is the first to use the pool.
        "b = in_child(measure), in_child(read); a = measure(), read(); c = measure(), read()",
        # A grandchild.
        "a = measure(), read(); b = in_child(lambda: in_child(measure)), "
        "in_child(lambda: measure() and in_child(read)); c = measure(), read()",
    ],
    ids=["after", "before", "grandchild"],
)
def test_the_pool_works_on_both_sides_of_a_fork(code: str, letor_file: Path) -> None:
    assert run(f"{code}\nassert a == b == c, (a, b, c)\nprint('same')", letor_file) == "same\n"


@needs_fork
def test_a_fork_in_the_middle_of_other_threads_work_is_safe(letor_file: Path) -> None:
    # Threads keep the pool busy, perhaps holding its lock, while the main thread forks.
    code = """
import threading
stop = threading.Event()
def work():
    while not stop.is_set():
        measure()
expected = measure()
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
answers = {in_child(measure) for _ in range(10)}
stop.set()
for thread in threads:
    thread.join()
assert answers == {expected}, answers
print("same")
"""
    assert run(code, letor_file) == "same\n"


@needs_fork
def test_forked_worker_processes_can_use_the_pool(letor_file: Path) -> None:
    code = """
import multiprocessing
def work(i):
    return measure() if i % 2 else read()
expected = [read(), measure()] * 4
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, range(8), chunksize=1) == expected
print("same")
"""
    assert run(code, letor_file) == "same\n"


def test_concurrent_calls_give_the_same_bits(letor_file: Path) -> None:
    rng = np.random.default_rng(1)
    groups = Groups(np.append(0, np.cumsum(rng.integers(1, 200, 200))))
    y = rng.integers(0, 5, groups.n_rows).astype(np.float64)
    scores = np.round(rng.normal(size=groups.n_rows), 1)
    metrics = [parse(name) for name in sorted(METRICS) if not parse(name).needs]

    def work(n_jobs: int) -> bytes:
        values = per_query_of_all(metrics, y, scores, groups, n_jobs=n_jobs)
        ds = rw.data.read_letor(letor_file, n_jobs=n_jobs)
        return b"".join([*(array.tobytes() for array in values), ds.X.tobytes(), ds.y.tobytes()])

    expected = work(1)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(work, [1, 2, 3, 4, 8, 2, 4, 16] * 2))
    assert all(answer == expected for answer in answers)


def test_an_error_in_one_thread_leaves_the_others_alone() -> None:
    rng = np.random.default_rng(2)
    groups = Groups(np.arange(0, 20_001, 20))
    y, scores = rng.integers(0, 3, 20_000).astype(np.float64), rng.normal(size=20_000)
    bad = scores.copy()
    bad[12_345] = np.nan
    expected = parse("ap").per_query(y, scores, groups)

    def work(i: int) -> bool:
        if i % 2:
            with pytest.raises(ValueError, match=r"^scores must be finite, but row 12345 is nan"):
                parse("ap").per_query(y, bad, groups, n_jobs=4)
            return True
        return bool((parse("ap").per_query(y, scores, groups, n_jobs=4) == expected).all())

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(40)))


# ERR over tied scores is the slowest kernel: this call takes several seconds.
INTERRUPTED = """
import sys
import numpy as np
from rankwright.data import Groups
from rankwright.metrics import ERR, PairwiseError

n = 16_000_000
y, scores = (np.arange(n) % 5).astype(float), np.zeros(n)
groups = Groups(np.arange(0, n + 1, 1000))
print("ready", flush=True)
try:
    ERR().per_query(y, scores, groups, n_jobs=int(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
# The pool is still of use.
assert PairwiseError().per_query([0, 1], [1.0, 2.0], n_jobs=2)[0] == 0
print("usable")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_a_long_kernel(n_jobs: int) -> None:
    with started([sys.executable, "-c", INTERRUPTED, n_jobs], stderr=None) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - start < 1.5
        assert process.stdout.read() == "usable\n"
    assert process.returncode == 0
