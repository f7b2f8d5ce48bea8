"""What is said when a command is stopped with Ctrl-C: how to go on."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator

EXIT_CODE = 130  # the shell's, for a program that ended by SIGINT


class Stopped(KeyboardInterrupt):
    """An interrupt of work that another command goes on with."""


@contextlib.contextmanager
def resumable(*without: str, more: tuple[str, ...] = ()) -> Iterator[None]:
    """Tell how to go on if the work in this block is stopped: what is finished is kept.

    Parameters
    ----------
    without : str
        Options of this command that are left out then.
    more : tuple of str
        Options that are added.
    """
    try:
        yield
    except KeyboardInterrupt:
        words = [word for word in sys.argv[1:] if word not in (*without, *more)]
        command = shlex.join(["rankwright", *words, *more])
        raise Stopped(f"stopped; what is finished is kept. Go on with: {command}") from None


def stop_line(error: KeyboardInterrupt) -> str:
    """Return what is said of an interrupt."""
    return str(error) if isinstance(error, Stopped) else "stopped; nothing was written."
