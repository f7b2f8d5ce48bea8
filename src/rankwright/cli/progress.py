"""How a fit is stopped."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


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
