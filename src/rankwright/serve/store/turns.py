"""Turns of processes that write to one file."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rankwright.serve.store.interface import StoreUnavailableError

_STEP = 0.0005  # seconds between two looks
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)


class Turns:
    """A lock between threads and processes that are all friendly.

    SQLite has a lock of its own, and looks less and less often whether it is free: with three busy
    processes one of them waited for seconds. This one is asked for first, and often. Whoever waits
    for the turn has the next one meanwhile, so that one who just had it cannot have it again.

    Parameters
    ----------
    path : str
        Of what is written to; the locks are two files beside it, ``.lock`` and ``.next``.
    patience : float
        Seconds after which StoreUnavailableError is raised.
    """

    def __init__(self, path: str, patience: float) -> None:
        self._threads = threading.Lock()
        self._name, self._patience = os.path.basename(path), patience
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._turn = os.open(f"{path}.lock", flags, 0o600)
        try:
            self._next = os.open(f"{path}.next", flags, 0o600)
        except OSError:
            os.close(self._turn)
            raise

    @contextmanager
    def mine(self) -> Iterator[None]:
        """Wait for the turn, and have it."""
        end = time.monotonic() + self._patience
        if not self._threads.acquire(timeout=self._patience):
            raise StoreUnavailableError(f"{self._name}: another thread has kept it locked.")
        with ExitStack() as held:
            held.callback(self._threads.release)
            with ExitStack() as waiting:
                for descriptor, stack in ((self._next, waiting), (self._turn, held)):
                    if not _take(descriptor, end):
                        raise StoreUnavailableError(
                            f"{self._name}: another process has kept it locked."
                        )
                    stack.callback(fcntl.flock, descriptor, fcntl.LOCK_UN)
            yield

    def close(self) -> None:
        """Let go of the files."""
        for descriptor in {self._turn, self._next} - {-1}:
            os.close(descriptor)
        self._turn = self._next = -1


def _take(descriptor: int, end: float) -> bool:
    """Lock a file; return False if it is not free until the end."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(_STEP)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return True  # a file system without locks: SQLite's has to do
        else:
            return True
