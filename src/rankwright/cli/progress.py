"""How a fit goes on: a live bar on a terminal, plain lines when piped; and how it is stopped."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from rankwright.solvers.solution import Progress
    from rankwright.trees import BoostingProgress

Show: TypeAlias = Callable[[Any], None]
_EVERY_S = 2.0  # between plain lines


class Interrupt:
    """SIGINT and SIGTERM as a wish to stop after the tree, or the step, that is being made.

    Before there is anything to keep, or when the signal comes again, it ends the program at once.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.may_wait = False

    def __call__(self, number: int, _: FrameType | None) -> None:
        """Remember the signal, or end."""
        if self.signal is None and self.may_wait:
            self.signal = number
        elif number == signal.SIGINT:
            raise KeyboardInterrupt
        else:
            raise SystemExit(128 + number)

    @property
    def exit_code(self) -> int:
        """The shell's code for a program that ended by this signal: 130 or 143."""
        return 0 if self.signal is None else 128 + self.signal


@contextlib.contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Handle the signals while something is being fitted."""
    interrupt = Interrupt()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def progress_bar() -> Iterator[Show]:
    """Show what a solver or a booster tells of itself."""
    if sys.stderr.isatty():
        with _live() as show:
            yield show
        return
    last = time.monotonic()

    def print_sometimes(progress: Any) -> None:
        nonlocal last
        if time.monotonic() - last >= _EVERY_S:
            last = time.monotonic()
            typer.echo(_line(progress), err=True)

    yield print_sometimes


@contextlib.contextmanager
def _live() -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), BarColumn(bar_width=24), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Fitting", total=None)

        def show(progress: Any) -> None:
            total = getattr(progress, "n_estimators", None)
            bar.update(task, description=_line(progress), completed=progress.iteration, total=total)

        yield show


def _line(progress: Any) -> str:
    return _trees(progress) if hasattr(progress, "n_estimators") else _step(progress)


def _step(progress: Progress) -> str:
    return (
        f"iteration {progress.iteration}: objective {progress.objective:.6g}, "
        f"{progress.n_features} features, violation {progress.violation:.1e}"
    )


def _trees(progress: BoostingProgress) -> str:
    parts = [f"tree {progress.iteration} of {progress.n_estimators}"]
    values = (("train", progress.train), ("valid", progress.valid))
    seen = [f"{value:.4f} ({name})" for name, value in values if not math.isnan(value)]
    if seen:
        parts.append(f"{progress.metric} {', '.join(seen)}")
    if not math.isnan(progress.best):
        parts.append(f"best {progress.best:.4f} at {progress.best_iteration}")
    minutes, seconds = divmod(round(progress.seconds_left), 60)
    parts.append(f"{minutes}:{seconds:02} left")
    return ", ".join(parts)
