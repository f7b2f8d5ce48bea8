"""Standard streams as they may come: closed, full, or of a locale that lacks our letters."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator

from rankwright.exceptions import DataError

# Files are written through rankwright.data.writing, which names them. What is left is the output.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Make the streams fit to be used; in the end, write what is left and say if that fails."""
    _plug()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names that are no text, and ASCII
    try:
        try:
            yield
        finally:
            # At its end Python would try as well, and exit with 120 if it cannot.
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        drop_output()
        message = f"cannot be written: {error.strerror}."
        raise DataError(message, path="standard output") from error


def drop_output() -> None:
    """Let what was printed and not written go nowhere, so that Python does not try again."""
    if sys.stdout is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _plug() -> None:
    """Open what is closed: a file that gets its number would receive what libraries print."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
