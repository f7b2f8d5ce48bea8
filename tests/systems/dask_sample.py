"""Clusters of processes on this machine, for tests with Dask."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any

from tests.systems.conftest import package


@contextlib.contextmanager
def cluster_of(n_workers: int, **options: Any) -> Iterator[Any]:
    """Yield a client of that many workers, each a process with one thread."""
    distributed = package("distributed")
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=50,
            **options,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def kill_one(client: Any) -> int:
    """End a worker at once, as a host that fails would; return its process id."""
    pids = sorted(client.run(os.getpid).values())
    os.kill(pids[0], signal.SIGKILL)
    return int(pids[0])
