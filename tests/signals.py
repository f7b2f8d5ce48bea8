"""Processes to send signals to, whoever started the tests.

A process in the background of a shell ignores SIGINT, and so do its children. These do not, and
none of them outlives its time.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_FOREGROUND = (
    "import os, signal, sys\n"
    "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)
_BACKGROUND = _FOREGROUND.replace("SIG_DFL", "SIG_IGN")


@contextmanager
def started(
    command: Sequence[Any], *, background: bool = False, limit: float = 90, **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """Start a process as a shell does, in the foreground or not; kill it after ``limit`` seconds.

    Its standard output and error are pipes of text unless ``options`` say otherwise.
    """
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    code = _BACKGROUND if background else _FOREGROUND
    words = [sys.executable, "-c", code, *map(str, command)]
    with subprocess.Popen(words, **streams) as process:
        timer = threading.Timer(limit, process.kill)
        timer.start()
        try:
            yield process
        finally:
            if process.poll() is None and sys.exc_info()[0] is not None:
                process.kill()
            process.wait()
            timer.cancel()


@contextmanager
def default_handlers() -> Iterator[None]:
    """Give this process the handlers that Python has in the foreground."""
    handlers: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
