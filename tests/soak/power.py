"""Power cuts at random moments of every command that writes.

After each cut, every file is an old or a new one and nothing in between, what was told to be done
is there, and the command, run again, ends as if nothing had happened.
"""

from __future__ import annotations

import contextlib
import io
import random
import tempfile
from pathlib import Path
from unittest import mock

from rankwright import cli
from tests.soak.commands import COMMANDS, Command, Result, prepare
from tests.soak.recorder import Recorder, State
from tests.soak.report import Report

COUNT = 500


class BrokenError(AssertionError):
    """Something was lost, or half there."""


def run(words: str) -> int:
    """Run a command in this process and folder; return its exit code."""
    with mock.patch("sys.argv", ["rankwright", *words.split()]):
        try:
            cli.main()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


class Cuts:
    """A command that was run once, to be cut at any moment."""

    def __init__(self, command: Command) -> None:
        self.command = command
        with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
            folder = Path(place)
            prepare(folder)
            self.recorder = Recorder(folder)
            with self.recorder.recording():
                code = run(command.words)
            if code != 0:
                raise BrokenError(f"{command.words}: {self.recorder.said()}")
            self.result = command.result(folder)

    def check(self, chance: random.Random) -> None:
        """Cut the power at some moment, look, and run the command again."""
        k = self.recorder.moment(chance)
        try:
            self._check(k, self.recorder.cut(k, chance))
        except BrokenError as error:
            raise BrokenError(f"after {k} operations: {error}") from None

    def _check(self, k: int, state: State) -> None:
        self._check_files(state)
        with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
            folder = Path(place)
            state.write(folder)
            found = self.command.result(folder)
            if k == len(self.recorder.operations) and found != self.result:
                raise BrokenError(
                    f"it ended, but the result is not there: {differing(found, self.result)}"
                )
            if missing := self.command.told(self.recorder.said(k)) - found.keys():
                raise BrokenError(f"it was told, but is not there: {missing}")
            told = io.StringIO()
            with contextlib.redirect_stderr(told), contextlib.redirect_stdout(told):
                code = run(self.command.words)
            if code != 0:
                raise BrokenError(f"it cannot be run again: {told.getvalue()}")
            if differs := differing(self.command.result(folder), self.result):
                raise BrokenError(f"run again, it ends otherwise: {differs}")
            if left := [str(path) for path in folder.rglob(".*.part")]:
                raise BrokenError(f"run again, it leaves {left}")

    def _check_files(self, state: State) -> None:
        """Every file that can be seen must have a content that was complete at some time."""
        for path, content in state.files():
            if any(part.startswith(".") for part in Path(path).parts):
                continue
            if path.endswith(".jsonl"):  # what is there of it is looked at with the result
                continue
            if content not in self.recorder.versions.get(path, ()):
                raise BrokenError(f"{path} is neither old nor new: {content[:60]!r}")


def differing(found: Result, expected: Result) -> list[str]:
    """Return the names of what is missing, too much or other."""
    names = sorted(found.keys() | expected.keys())
    return [name for name in names if found.get(name) != expected.get(name)]


def soak(count: int, seed: int) -> Report:
    """Make cuts, in turn for each command."""
    report = Report()
    recorded = {name: Cuts(command) for name, command in COMMANDS.items()}
    for i in range(count):
        name = list(COMMANDS)[i % len(COMMANDS)]
        try:
            recorded[name].check(random.Random(f"{seed} {i}"))
        except BrokenError as error:
            report.fail(f"{name}, cut {i} of seed {seed}: {error}")
        report.count(name)
    return report
