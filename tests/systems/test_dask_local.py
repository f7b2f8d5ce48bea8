"""``--dask local``: Ctrl-C at a terminal, which every process of the group gets."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankwright as rw
from tests.part_samples import write_parts
from tests.signals import started
from tests.systems.conftest import package


def interrupted(words: list[str], folder: Path, ready: Callable[[Any], bool]) -> tuple[int, str]:
    """Run a command, press Ctrl-C when it is ready; return its exit code and what it said."""
    command = [sys.executable, "-m", "rankwright", *words]
    said = folder / "said.txt"
    with (
        said.open("w") as file,
        started(command, cwd=folder, stderr=file, start_new_session=True) as process,
    ):
        while not ready(process):
            assert process.poll() is None, said.read_text()
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        code = process.wait()
    return code, said.read_text()


def n_processes(process: Any) -> int:
    return len(package("psutil").Process(process.pid).children(recursive=True))


@pytest.mark.parametrize("n", [2, 3])
def test_a_cluster_that_starts_is_stopped_in_one_line(tmp_path: Path, n: int) -> None:
    """Two processes are the tracker of multiprocessing and a worker that begins to import."""
    write_parts(tmp_path)
    words = ["train", "part-*.txt", "-o", "model.rw", "--dask", "local", "--jobs", "2"]
    code, said = interrupted(words, tmp_path, lambda process: n_processes(process) >= n)
    assert code == 130
    assert [line for line in said.splitlines() if not line.startswith("Dask at")] == [
        "rankwright: stopped; nothing was written."
    ]
    assert not (tmp_path / "model.rw").exists()


def test_trees_are_kept_after_an_interrupt(tmp_path: Path) -> None:
    write_parts(tmp_path)
    words = ["train", "part-*.txt", "--model", "boosted", "-p", "n_estimators=100000"]
    words += ["-o", "model.rw", "--dask", "local", "--jobs", "2"]
    said = tmp_path / "said.txt"
    growing = re.compile(r"tree \d+ of")  # which is told first depends on how fast they grow
    code, text = interrupted(words, tmp_path, lambda _: bool(growing.search(said.read_text())))
    assert code == 130
    assert "Traceback" not in text
    assert "Warning" not in text
    assert rw.load(tmp_path / "model.rw").stop_ == "interrupted"
