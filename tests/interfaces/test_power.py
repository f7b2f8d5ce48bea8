"""Power cuts: old or new, what was told is there, and all can be done again.

``make soak`` has the long form, and ``kill -9`` besides.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from rankwright.data import disk
from rankwright.data.writing import replace_folder, write_atomically
from tests.soak.commands import COMMANDS
from tests.soak.power import BrokenError, Cuts
from tests.soak.recorder import Recorder

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_after_a_power_cut(name: str) -> None:
    cuts = Cuts(COMMANDS[name])
    chance = random.Random(name)
    for _ in range(5):
        cuts.check(chance)


@pytest.mark.parametrize("forgotten", ["sync", "sync_folder"])
def test_a_program_that_forgets_to_sync_is_found(
    forgotten: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget(*_: object) -> None:
        pass

    with monkeypatch.context() as patch:
        patch.setattr(disk, forgotten, forget)
        patch.setattr(Recorder, forgotten, forget)
        cuts = Cuts(COMMANDS["convert"])

    def is_broken(seed: int) -> bool:
        try:
            cuts.check(random.Random(seed))
        except BrokenError:
            return True
        return False

    assert any(is_broken(seed) for seed in range(50))


def test_what_a_cut_may_leave(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    recorder = Recorder(tmp_path)
    with recorder.recording(), write_atomically(tmp_path / "a") as out:
        out.write(b"new")
    assert recorder.versions == {"a": {b"old", b"new"}}

    def found(k: int) -> set[tuple[str, bytes]]:
        states = [recorder.cut(k, random.Random(seed)) for seed in range(200)]
        return {(name[:3], content) for state in states for name, content in state.files()}

    last = len(recorder.operations)
    assert found(0) == {("a", b"old")}
    assert found(last) == {("a", b"new")}
    assert found(last - 1) == {("a", b"old"), ("a", b"new"), (".a.", b"new")}  # not yet the folder
    part = {content for k in range(last) for name, content in found(k) if name == ".a."}
    assert part >= {b"", b"n", b"ne", b"new", b"\0", b"\0\0", b"\0\0\0", b"\0ew", b"n\0w"}


def test_a_folder_is_never_seen_in_part(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("x", "y"):
        (tmp_path / "a" / name).write_bytes(b"old")
    recorder = Recorder(tmp_path)
    with recorder.recording(), replace_folder(tmp_path / "a") as part:
        for name in ("x", "y"):
            (part / name).write_bytes(b"new")
    whole = [{"a/x": content, "a/y": content} for content in (b"old", b"new")]
    for k in range(len(recorder.operations) + 1):
        for seed in range(30):
            files = dict(recorder.cut(k, random.Random(seed)).files())
            seen = {name: content for name, content in files.items() if name.startswith("a/")}
            assert seen in [{}, *whole]
    assert seen == whole[1]


def test_killed_at_random_moments(tmp_path: Path) -> None:
    paths = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak", "kills", "--count", "5", "--out", tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert ", 0 failed (" in done.stdout
