"""A cluster of processes on this machine, which end with whoever started them."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING

from rankwright.exceptions import DataError

if TYPE_CHECKING:
    from distributed import Client

_OPTIONS = {
    "threads_per_worker": 1,
    "processes": True,
    "dashboard_address": ":0",
    # What goes wrong is told once, by the error of whoever waits for the result.
    "silence_logs": logging.CRITICAL,
}
_TTL = {"distributed.scheduler.worker-ttl": "60s"}  # after which a worker that stands still is lost


@contextlib.contextmanager
def local_client(n_workers: int) -> Iterator[Client]:
    """Start workers of one thread each; Ctrl-C is for this process, which ends them."""
    import dask
    from distributed import Client, LocalCluster

    try:
        os.getcwd()
    except FileNotFoundError:
        raise DataError(
            "workers start in the current folder, but it is gone. Change to another."
        ) from None
    with contextlib.ExitStack() as stack:
        with dask.config.set(_TTL), _interrupts_kept():
            cluster = stack.enter_context(LocalCluster(n_workers=n_workers, **_OPTIONS))
            client = stack.enter_context(Client(cluster))
        yield client


@contextlib.contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Keep SIGINT from processes that are started here or by threads that are; raise it at the end.

    A cluster that is interrupted while it starts can be neither used nor closed.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    seen: list[int] = []
    resource_tracker.ensure_running()  # which unblocks the signal where it is started
    signal.signal(signal.SIGINT, lambda number, _: seen.append(number))  # other threads may get it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # threads inherit it
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if seen:
        raise KeyboardInterrupt
