"""Children of a fork never wait for a thread that only the parent has."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import rankwright as rw
from rankwright import blas
from rankwright.blas import one_blas_thread
from rankwright.data.lazy import lazy

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

ROOT = Path(__file__).parents[2]
# Defines in_child(f), which fails unless f returns true in a forked process, in time.
PREAMBLE = """
import faulthandler, os, sys, threading, time, warnings
warnings.simplefilter("ignore")  # newer Pythons warn of any fork beside threads

def in_child(f):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            faulthandler.dump_traceback_later(20, exit=True)
            code = 0 if f() else 2
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 0, code
"""


def run(code: str, timeout: float = 90) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + code],
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- many forks ----


@pytest.mark.parametrize(("count", "names"), [(50, ["measure"]), (15, ["fit", "predict", "read"])])
def test_forks_while_other_threads_work(count: int, names: list[str]) -> None:
    out = run(f"""
from tests.soak import forks
report = forks.soak({count}, 1, {names!r})
print(report.done["forks"], report.failures)
""")
    assert out == f"{count} []\n"


# ---- attributes that are computed once ----


ENDING = """
import numpy as np
from rankwright.data.groups import Groups
from rankwright.data.products import linear_scores
from rankwright.metrics import NDCG

X = np.random.default_rng(0).random((100_000, 20))
groups = Groups.from_qid(np.arange(100_000) // 50)
started = threading.Barrier(5)

def work(call):
    started.wait()
    while True:
        call()

def score():
    linear_scores(X, X[0], None, 1)

def measure():
    NDCG(10).per_query(X[:, 0], X[:, 1], groups)

class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)  # while Python ends, the other threads come back

slow = Slow()
for call in (score, measure) * 2:
    threading.Thread(target=work, args=(call,), daemon=True).start()
started.wait()
time.sleep(0.2)
"""


def test_a_process_may_end_while_its_threads_work() -> None:
    run(ENDING)


def test_a_lazy_attribute_is_computed_once() -> None:
    class Thing:
        count = 0

        @lazy
        def value(self) -> int:
            """The value."""
            self.count += 1
            return 7

    thing = Thing()
    assert [thing.value, thing.value, thing.count] == [7, 7, 1]
    assert Thing.value.__doc__ == ("The value." if sys.flags.optimize < 2 else None)
    other = Thing()
    assert (other.value, other.count, thing.count) == (7, 1, 1)


def test_a_fork_while_another_thread_computes_a_lazy_attribute() -> None:
    run("""
from rankwright.metrics.ranking import RankedLabels
inside, leave = threading.Event(), threading.Event()

class Sizes:  # in place of the array, so that the thread stays where it is
    def max(self, initial):
        inside.set()
        leave.wait()
        return 1

ranking, other = RankedLabels([0, 1], [1.0, 2.0]), RankedLabels([0, 1], [1.0, 2.0])
ranking.groups = type("Slow", (), {"sizes": Sizes()})()
thread = threading.Thread(target=lambda: ranking.longest)
thread.start()
inside.wait()
in_child(lambda: other.longest == 2)
leave.set()
thread.join()
""")


def test_nothing_in_the_source_hides_a_lock() -> None:
    # (functools.cache is a dictionary: no lock.)
    hidden = {"cached_property", "lru_cache", "singledispatchmethod"}
    for path in Path(rw.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "functools":
                assert not hidden & {alias.name for alias in node.names}, path
            elif isinstance(node, ast.Import):
                assert "functools" not in [alias.name for alias in node.names], path


# ---- BLAS ----


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two_blas_threads() -> Any:
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("BLAS has no two threads here")
        yield


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_has_one_thread_inside_and_two_again_outside() -> None:
    with one_blas_thread():
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert blas_threads() == {2}


def test_a_fork_waits_until_the_limit_is_set() -> None:
    run("""
from rankwright import blas
held = threading.Event()
def hold():
    with blas._lock:  # as while OpenBLAS holds its own
        held.set()
        time.sleep(0.3)
thread = threading.Thread(target=hold)
thread.start()
held.wait()
def work():
    with blas.one_blas_thread():
        return True
in_child(work)
thread.join()
assert work()
""")


def test_only_this_module_limits_blas() -> None:
    package = Path(rw.__file__).parent
    users = {p for p in package.rglob("*.py") if "threadpool_limits" in p.read_text("utf-8")}
    for path in users - {Path(blas.__file__)}:
        assert 'user_api="openmp"' in path.read_text("utf-8"), path


# ---- LightGBM ----

TREES = """
import numpy as np
import rankwright as rw
data = rw.data.make_mslr_like(n_queries=60, n_features=10, mean_docs=30)
def fit(n_jobs=2):
    return rw.BoostedRanker(n_estimators=5, num_leaves=7, n_jobs=n_jobs).fit_dataset(data)
"""


def test_trees_in_forked_processes(tmp_path: Path) -> None:
    run(f"""{TREES}
path = {str(tmp_path / "model.rw")!r}
def same(a, b):
    return open(a, "rb").read() == open(b, "rb").read()
ranker = fit()  # OpenMP has threads now
rw.save(ranker, path)
scores, importance = ranker.predict(data.X), ranker.importance()
contributions = ranker.contributions(data.X)[0]
in_child(lambda: fit().model_text_ == ranker.model_text_)
in_child(lambda: np.array_equal(ranker.predict(data.X), scores))
in_child(lambda: np.array_equal(ranker.contributions(data.X)[0], contributions))
in_child(lambda: len(list(ranker.staged_predict(data.X))) == 5)
in_child(lambda: np.array_equal(ranker.importance(), importance))
in_child(lambda: np.array_equal(rw.load(path).predict(data.X), scores))
in_child(lambda: rw.save(fit(), path + '2') or same(path, path + '2'))
""")


def test_a_forked_process_warns_once() -> None:
    run(f"""{TREES}
ranker = fit()
def work():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.predict(data.X)
        fit()
        ranker.contributions(data.X)
        fit(1)
    assert [str(w.message) for w in caught] == [
        "LightGBM uses one thread here: OpenMP cannot start threads in a forked process. Start "
        "processes by spawn or forkserver, or pass n_jobs=1."
    ], caught
    return True
in_child(work)
in_child(work)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    fit()  # not here
""")


def test_trees_in_a_pool_of_forked_processes() -> None:
    run(f"""{TREES}
import multiprocessing
ranker = fit()
scores = ranker.predict(data.X)
def work(i):
    other = fit() if i % 2 else ranker  # the pickled one comes back from a file of its text
    return np.array_equal(other.predict(data.X), scores)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map_async(work, range(6), chunksize=1).get(60) == [True] * 6
    assert pool.apply_async(ranker.predict, (data.X,)).get(60).tobytes() == scores.tobytes()
""")


def test_a_fork_in_the_middle_of_another_threads_trees() -> None:
    run(f"""{TREES}
ranker = fit()
scores, text, stop = ranker.predict(data.X), ranker.model_text_, threading.Event()
def grow():
    while not stop.is_set():
        assert fit().model_text_ == text
        assert np.array_equal(ranker.predict(data.X), scores)
threads = [threading.Thread(target=grow) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(10):
    in_child(lambda: fit().model_text_ == text and np.array_equal(ranker.predict(data.X), scores))
stop.set()
for thread in threads:
    thread.join()
""")
