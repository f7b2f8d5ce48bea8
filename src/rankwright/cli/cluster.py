"""``--dask``: a cluster that takes the work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from concurrent.futures import Executor

Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS|local",
        help="Let a Dask cluster do the work: the address of its scheduler, such as "
        "tcp://scheduler:8786, or local, which starts workers on this machine.",
    ),
]


@contextlib.contextmanager
def client_of(address: str | None, n_workers: int | None = None) -> Iterator[Any]:
    """Yield a client of the cluster that was asked for; None if none was."""
    if address is None:
        yield None
        return
    from rankwright.dask.cluster import open_client

    with open_client(address, n_workers) as client:
        yield client


@contextlib.contextmanager
def executor_of(address: str | None, n_workers: int | None = None) -> Iterator[Executor | None]:
    """Yield what takes jobs; None if no cluster was asked for."""
    with client_of(address, n_workers) as client:
        if client is None:
            yield None
            return
        from rankwright.dask.cluster import jobs_executor

        yield jobs_executor(client)
