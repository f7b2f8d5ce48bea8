"""Progress of a fit, in words, and how it is stopped."""

from __future__ import annotations

import contextlib
import math
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

from rankwright.progress import display

if TYPE_CHECKING:
    from rankwright.solvers.solution import Progress
    from rankwright.trees import BoostingProgress

Show: TypeAlias = Callable[[Any], None]


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
    """Handle the signals while something is being fitted.

    What whoever started the process chose to ignore, as a shell does with SIGINT for what runs in
    its background, stays ignored.
    """
    interrupt = Interrupt()
    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {n: handler for n, handler in found.items() if handler not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def fit_progress() -> Iterator[Show]:
    """Show what a solver or a booster tells of itself."""
    from rankwright.solvers.solution import Progress

    with display() as shown:
        bar = shown.bar()

        def show(progress: Progress | BoostingProgress) -> None:
            if isinstance(progress, Progress):
                bar.update(_step(progress), done=progress.iteration, total=None)
            else:
                total = progress.n_estimators
                bar.update(_trees(progress), done=progress.iteration, total=total)

        yield show


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
