"""The thread pool when threads, memory or time are taken away from it: tests/native/pool.cpp."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPILER = shutil.which(os.environ.get("CXX", "c++"))

pytestmark = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="needs a C++ compiler and Linux"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert COMPILER is not None
    out = tmp_path_factory.mktemp("pool") / "pool"
    source = ROOT / "tests" / "native" / "pool.cpp"
    flags = ["-std=c++20", "-O1", f"-I{ROOT / 'cpp'}", "-pthread", "-ldl"]
    subprocess.run([COMPILER, str(source), "-o", str(out), *flags], check=True, timeout=300)
    return out


@pytest.mark.parametrize(
    "check",
    [
        "preempted",  # the lowest exception is heard of, and tasks below it have run
        "memory",  # no task runs when parallel_for has been left
        "threads",  # those that there are do the work
        "most",  # at most four for each core
    ],
)
def test_the_pool_keeps_its_promises(program: Path, check: str) -> None:
    done = subprocess.run(
        [program, check], capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"{check}: nothing violated\n"), done.stderr
