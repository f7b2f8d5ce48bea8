"""One process at a time, and a message that says which."""

from __future__ import annotations

import fcntl
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rankwright.data.lock import Lock
from rankwright.exceptions import DataError, DataWarning

# Takes the lock, starts a child that has it too if there is a second argument, and says so.
HOLDER = """
import subprocess, sys, time
from rankwright.data.lock import Lock
with Lock(sys.argv[1] + "/.lock", "this study", sys.argv[1]) as lock:
    if len(sys.argv) > 2:
        quiet = subprocess.DEVNULL
        child = subprocess.Popen(["sleep", "60"], pass_fds=[lock.fileno()], stdout=quiet)
        print(child.pid, flush=True)
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(folder: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def lock(folder: Path) -> Lock:
    return Lock(folder / ".lock", "this study", folder)


def take(folder: Path) -> None:
    with lock(folder):
        pass


def test_the_second_is_told_who_is_first(tmp_path: Path) -> None:
    with hold(tmp_path) as first:
        assert read_line(first) == "held"
        with pytest.raises(DataError) as refusal:
            take(tmp_path)
        message = str(refusal.value)
        assert message.startswith(f"{tmp_path}: another rankwright (pid {first.pid} on ")
        assert f", `-c {shlex.quote(str(tmp_path))}`, since 20" in message
        assert message.endswith(") is using this study. Wait for it, or stop it.")
        first.communicate("")
    take(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_process_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    with hold(tmp_path) as first:
        assert read_line(first) == "held"
        first.kill()
        first.wait()
        take(tmp_path)


def test_children_hold_the_lock_of_a_parent_that_was_killed(tmp_path: Path) -> None:
    with hold(tmp_path, "child") as first:
        child = int(read_line(first))
        assert read_line(first) == "held"
        first.kill()
        first.wait()
        with pytest.raises(DataError, match="workers of a rankwright that was killed") as refusal:
            take(tmp_path)
        assert f"(pid {first.pid} on " in str(refusal.value)
        os.kill(child, 9)
        while os.path.exists(f"/proc/{child}/fd") and os.listdir(f"/proc/{child}/fd"):
            pass
        take(tmp_path)


def test_within_one_process_too(tmp_path: Path) -> None:
    with lock(tmp_path), pytest.raises(DataError, match="another rankwright"):
        take(tmp_path)


def test_a_lock_file_that_was_removed_meanwhile_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = fcntl.flock
    calls = 0

    def flock(descriptor: int, how: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:  # the one before gave up its lock just now
            os.unlink(tmp_path / ".lock")
        original(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with lock(tmp_path):
        assert calls == 2
        with pytest.raises(DataError, match="another rankwright"):
            take(tmp_path)


def test_a_file_system_without_locks_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(descriptor: int, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.warns(DataWarning, match=r"cannot be locked \(No locks available\)"):
        take(tmp_path)


def test_a_holder_that_has_not_said_who_it_is(tmp_path: Path) -> None:
    with lock(tmp_path):
        for content in ("", "{}", "nonsense", "[]", '{"pid": "x"}'):
            (tmp_path / ".lock").write_text(content)
            with pytest.raises(DataError, match="another rankwright is using this study"):
                take(tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no: cannot be written: No such file or directory"):
        take(tmp_path / "no")
