"""Clusters of processes on this machine, and data in parts, for tests with Dask."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rankwright as rw
from rankwright.data import make_mslr_like
from tests.systems.conftest import package

N_PARTS = 5


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


def write_parts(folder: Path, **options: Any) -> list[Path]:
    """Write parts of whole queries; some are much larger than others."""
    data = make_mslr_like(**{"n_queries": 60, "n_features": 8, "mean_docs": 12, **options})
    shares = (0.4, 0.05, 0.3, 0.1, 0.15)
    paths = []
    for i, part in enumerate(data.split(shares, 1)):
        paths.append(folder / f"part-{i}.txt")
        rw.write(part, paths[-1])
    return paths


def kill_one(client: Any) -> int:
    """End a worker at once, as a host that fails would; return its process id."""
    pids = sorted(client.run(os.getpid).values())
    os.kill(pids[0], signal.SIGKILL)
    return int(pids[0])
