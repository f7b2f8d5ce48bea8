"""kill -9 at random moments of every command that takes long.

Each command is stopped one to three times and then left to finish. Whenever it was stopped, every
result that can be seen is an old or a new one; in the end it is that of a run that was never
stopped, and nothing is left behind.
"""

from __future__ import annotations

import itertools
import os
import pkgutil
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import rankwright.cli
from rankwright.docstrings import keep_docstrings
from tests.soak.commands import COMMANDS, WITH_PROCESSES, Command, prepare
from tests.soak.power import differing
from tests.soak.report import Report

COUNT = 1000
_KILLED, _LAST = ".killed.log", ".last.log"  # what was told, in the folder of a command
_MOST_SECONDS = 60.0
# Workers take a hundred times longer to start than the other commands need for all of their work.
_TURNS = [*COMMANDS] * 5 + [*WITH_PROCESSES]


def import_all() -> None:
    """Import what the commands need, so that a forked process has it.

    Python takes longer to start than the commands to do their work.
    """
    for module in pkgutil.walk_packages(rankwright.__path__, "rankwright."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    keep_docstrings()
    for name in ("lightgbm", "pyarrow.csv", "narwhals", "altair", "jinja2", "rich.console"):
        import_module(name)


def in_child(folder: Path, act: Callable[[], None], log_name: str) -> int:
    """Do something in a forked process; return its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.chdir(folder)
        log = os.open(log_name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        act()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def start(words: str, folder: Path, log_name: str) -> int:
    """Start a command; return its process id."""
    sys.argv = ["rankwright", *words.split()]
    return in_child(folder, rankwright.cli.main, log_name)


def finish(words: str, folder: Path) -> str:
    """Run a command to its end; return what went wrong, or nothing."""
    end = time.monotonic() + _MOST_SECONDS
    while True:
        (folder / _LAST).unlink(missing_ok=True)
        _, status = os.waitpid(start(words, folder, _LAST), 0)
        if os.waitstatus_to_exitcode(status) == 0:
            return ""
        told = (folder / _LAST).read_text(encoding="utf-8")
        # Workers of the one that was killed may finish what they are at.
        if "are still using" not in told or time.monotonic() > end:
            return told
        time.sleep(0.02)


class Kills:
    """A command that was run once, to be killed again and again."""

    def __init__(self, command: Command, prepared: Path) -> None:
        self.command, self.prepared = command, prepared
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "folder"
            shutil.copytree(prepared, folder)
            self.before = command.result(folder)
            begin = time.monotonic()
            if wrong := finish(command.words, folder):
                raise AssertionError(wrong)
            self.seconds = time.monotonic() - begin
            self.result = command.result(folder)

    def check(self, chance: random.Random) -> tuple[int, list[str]]:
        """Kill it and let it finish; return how often it was hit, and what went wrong."""
        hits, wrong = 0, []
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "folder"
            shutil.copytree(self.prepared, folder)
            for _ in range(chance.randint(1, 3)):
                process = start(self.command.words, folder, _KILLED)
                time.sleep(chance.random() * self.seconds)
                os.kill(process, signal.SIGKILL)
                _, status = os.waitpid(process, 0)
                hits += os.waitstatus_to_exitcode(status) == -signal.SIGKILL
                wrong += self._half_done(folder)
            if told := finish(self.command.words, folder):
                wrong.append(f"it cannot be run again: {told}")
            elif differs := differing(self.command.result(folder), self.result):
                wrong.append(f"run again, it ends otherwise: {differs}")
            wrong += [f"run again, it leaves {path}" for path in folder.rglob(".*.part")]
            for log in (_KILLED, _LAST):  # also of workers that were left alone
                if "Traceback" in (told := (folder / log).read_text(encoding="utf-8")):
                    wrong.append(told)
        return hits, wrong

    def _half_done(self, folder: Path) -> list[str]:
        found = self.command.result(folder).items()
        return [
            f"{name} is neither old nor new"
            for name, value in found
            if value not in (self.before.get(name), self.result.get(name))
        ]


def soak(count: int, seed: int) -> Report:
    """Kill commands, in turn, until so many kills have hit one running."""
    import_all()
    report = Report()
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        os.waitpid(in_child(Path(place), lambda: prepare(Path(place)), _LAST), 0)
        commands = COMMANDS | WITH_PROCESSES
        kills: dict[str, Kills] = {}
        for name in itertools.cycle(_TURNS):
            if sum(report.done.values()) >= count:
                break
            if name not in kills:
                kills[name] = Kills(commands[name], Path(place))
            hits, wrong = kills[name].check(chance)
            report.count(name, hits)
            for text in wrong:
                report.fail(f"{name}: {text}")
    return report
