"""Ctrl-C at many moments: one line that says how to go on, and never a traceback.

A terminal sends SIGINT to the whole process group, workers included.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from pathlib import Path

import pytest

import rankwright as rw
from rankwright.comparison.store import read_store
from tests.interfaces.conftest import Cli
from tests.signals import started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interrupts")
    rw.write_letor(rw.data.make_mslr_like(60, 8, 12), folder / "data.txt")
    return folder


def interrupted(folder: Path, words: str, *, after: str = "", wait: float = 0.0) -> tuple[int, str]:
    """Run a command; interrupt its process group after a text on standard error, or a while.

    The while begins when it is loaded: before, Python itself would print a traceback.
    """
    command = [sys.executable, "-m", "rankwright", *shlex.split(words)]
    with started(command, cwd=folder, start_new_session=True) as process:
        assert process.stderr is not None
        seen = ""
        while after and after not in seen:
            line = process.stderr.readline()
            assert line, seen
            seen += line
        while not after and "numpy" not in Path(f"/proc/{process.pid}/maps").read_text():
            time.sleep(0.005)
        time.sleep(wait)
        os.killpg(process.pid, signal.SIGINT)
        _, rest = process.communicate()
    return process.returncode, seen + rest


GOES_ON = {
    "compare": ("compare data.txt --trials 200 --models linear,random -j 2 -o {}", "random "),
    "tune": ("tune data.txt --trials 9000 -j 2 --study {}.jsonl", "trial 3"),
    "noise-study": ("noise-study data.txt --models linear --trials 900 -j 2 -o {}", "3/"),
}


@pytest.mark.parametrize("name", GOES_ON)
def test_what_goes_on_is_told(name: str, folder: Path) -> None:
    words, after = GOES_ON[name]
    words = words.format(f"'the {name}'" if "jsonl" not in words else f"the-{name}")
    code, err = interrupted(folder, words, after=after)
    assert code == 130
    assert "Traceback" not in err
    told = [line for line in err.splitlines() if "stopped" in line]
    assert told == [
        "rankwright: stopped; what is finished is kept. Go on with: "
        + shlex.join(["rankwright", *shlex.split(words)])
    ]
    if name == "tune":
        assert len(read_store(folder / "the-tune.jsonl")) >= 3


def test_overwriting_is_not_done_again(folder: Path) -> None:
    words = "compare data.txt --trials 200 --models xendcg-linear,random -j 2 -o over"
    code, err = interrupted(folder, f"{words} --overwrite", after="random ")
    assert code == 130
    assert err.splitlines()[-1].endswith(f"Go on with: rankwright {words}")


def test_a_stream_resumes(folder: Path, run: Cli) -> None:
    words = "train data.txt --stream --model pamir -p n_epochs=200000 --checkpoint-every 10 -o m.rw"
    with open(folder / "m.rw.checkpoint", "wb"):  # so that we see when there is one
        pass
    command = [sys.executable, "-m", "rankwright", *words.split()]
    with started(command, cwd=folder, start_new_session=True) as process:
        while not (folder / "m.rw.checkpoint").stat().st_size:
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    line = "rankwright: stopped; what is finished is kept. Go on with: rankwright "
    assert err.splitlines()[-1] == f"{line}{words} --resume"
    assert not (folder / "m.rw").exists()


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
@pytest.mark.parametrize("wait", [0.0, 0.1, 0.3, 0.6, 1.0])
def test_at_any_moment_it_is_one_line(wait: float, folder: Path) -> None:
    words = "tune data.txt --model xendcg-trees --trials 9000 -j 3"
    code, err = interrupted(folder, words, wait=wait)
    assert code == 130, err
    assert "Traceback" not in err
    assert [line for line in err.splitlines() if "trial " not in line] == [
        "rankwright: stopped; nothing was written."
    ]
