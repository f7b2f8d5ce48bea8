"""Machines that grow trees, killed and stopped at any tree: the same bits, and nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rankwright as rw
from rankwright.data.parts import LocalParts
from rankwright.refitting import UnfinishedError
from rankwright.trees import BoostedRanker, BoostingProgress, children
from rankwright.trees.forest import Forest
from tests.part_samples import FEW, at_tree, cut, sample

pytestmark = pytest.mark.filterwarnings("ignore:machine . of . was lost")
N_TREES = 12
OPTIONS: dict[str, Any] = {**FEW, "n_estimators": N_TREES, "colsample": 0.7, "subsample": 0.8}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> LocalParts:
    return cut(sample(), [20, 15, 25], tmp_path_factory.mktemp("parts") / "train")


@pytest.fixture(scope="module")
def undisturbed(parts: LocalParts) -> str:
    return BoostedRanker(**OPTIONS).fit_parts(parts).model_text_


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Any]]:
    """Return the processes of a fit; when it is over none may be left, and no file."""
    seen: list[Any] = []

    class Seen(children.ChildMachine):
        def __init__(self, threads: int) -> None:
            super().__init__(threads)
            seen.append(self)

    monkeypatch.setattr(children, "ChildMachine", Seen)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield seen
    assert all(child.process.poll() is not None for child in seen)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("machines", [2, 3])
@pytest.mark.parametrize("tree", [1, N_TREES // 2, N_TREES - 1])
@pytest.mark.parametrize("victim", [0, -1])
def test_a_kill_changes_no_bit(
    machines: int,
    tree: int,
    victim: int,
    parts: LocalParts,
    undisturbed: str,
    started: list[Any],
) -> None:
    kill = at_tree(tree, lambda: started[:machines][victim].process.kill())
    begin = time.monotonic()
    told = f"machine . of {machines} was lost: .*All are started again, behind tree {tree}"
    with pytest.warns(RuntimeWarning, match=told):
        ranker = BoostedRanker(**OPTIONS).fit_parts(parts, callback=kill, machines=machines)
    assert ranker.model_text_ == undisturbed
    assert len(started) == 2 * machines
    assert time.monotonic() - begin < 90


@pytest.mark.parametrize("base", ["linear", "trees"])
@pytest.mark.parametrize("machines", [2, 3])
def test_a_kill_changes_no_bit_behind_a_base(
    base: str, machines: int, parts: LocalParts, started: list[Any]
) -> None:
    """Scores begin with those of the base, to which the trees so far are added one by one."""
    own = rw.LinearRanker("listnet") if base == "linear" else BoostedRanker(**FEW)
    options: dict[str, Any] = {**OPTIONS, "base": own.fit_dataset(sample())}
    expected = BoostedRanker(**options).fit_parts(parts)
    n = len(started)
    kill = at_tree(N_TREES // 2, lambda: started[n:][machines - 1].process.kill())
    ranker = BoostedRanker(**options).fit_parts(parts, callback=kill, machines=machines)
    assert ranker.model_text_ == expected.model_text_
    assert len(started) == n + 2 * machines


def test_a_kill_in_the_middle_of_a_tree(
    parts: LocalParts, undisturbed: str, started: list[Any]
) -> None:
    def later() -> None:
        threading.Timer(0.002, lambda: started[1].process.kill()).start()

    ranker = BoostedRanker(**OPTIONS).fit_parts(parts, callback=at_tree(4, later), machines=3)
    assert ranker.model_text_ == undisturbed


def test_a_process_that_stands_still_is_noticed(
    parts: LocalParts, undisturbed: str, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "_LOOKS", 3)

    def stop() -> None:
        os.kill(started[1].process.pid, signal.SIGSTOP)

    begin = time.monotonic()
    ranker = BoostedRanker(**OPTIONS).fit_parts(parts, callback=at_tree(3, stop))
    assert ranker.model_text_ == undisturbed
    assert len(started) == 4
    assert time.monotonic() - begin < 60


def test_who_goes_on_in_time_is_not_given_up(
    parts: LocalParts, undisturbed: str, started: list[Any]
) -> None:
    def stop() -> None:
        pid = started[0].process.pid
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(2.5, lambda: os.kill(pid, signal.SIGCONT)).start()

    ranker = BoostedRanker(**OPTIONS).fit_parts(parts, callback=at_tree(3, stop))
    assert ranker.model_text_ == undisturbed
    assert len(started) == 2


def test_when_all_restarts_are_used_up_the_trees_are_kept(
    parts: LocalParts, undisturbed: str, started: list[Any]
) -> None:
    def kill(progress: BoostingProgress) -> None:
        if progress.iteration in (3, 5, 7):
            started[-1].process.kill()

    ranker = BoostedRanker(**OPTIONS)
    with pytest.raises(UnfinishedError) as told:
        ranker.fit_parts(parts, callback=kill)
    text = str(told.value)
    assert "\n" not in text
    assert "machine 2 of 2 was lost: its process was ended by signal 9 (SIGKILL)." in text
    assert f"tree 8 of {N_TREES}" in text
    assert "the 7 trees before it are kept" in text
    assert (ranker.stop_, ranker.n_iter_) == ("machine_lost", 7)
    seven = BoostedRanker(**{**OPTIONS, "n_estimators": 7}).fit_parts(parts)
    assert ranker.model_text_ == seven.model_text_
    assert Forest.from_text(ranker.model_text_, 8).n_trees == 7


SCRIPT = """
import sys
from rankwright.trees import BoostedRanker
import rankwright as rw
parts = rw.read_parts(sys.argv[1], keep=["w", "v"], ignore=["w", "v"])
def tell(progress):
    if progress.iteration == 5:
        print("ready", flush=True)
BoostedRanker(n_estimators=100_000, num_leaves=6, n_jobs=1).fit_parts(parts, callback=tell)
"""


@pytest.mark.parametrize("stopped", [False, True])
def test_machines_end_with_a_driver_that_is_killed(stopped: bool, tmp_path: Path) -> None:
    cut(sample(), [30, 30], tmp_path / "train")
    words = [sys.executable, "-c", SCRIPT, str(tmp_path / "train")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"ready\n"
        own = children_of(driver.pid)
        assert len(own) == 2
        if stopped:  # who stands still cannot see that its input has ended
            os.kill(own[0], signal.SIGSTOP)
        driver.kill()
    deadline = time.monotonic() + 10
    while any(map(runs, own)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in found.split()]


def runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return not stat.rpartition(") ")[2].startswith("Z")
