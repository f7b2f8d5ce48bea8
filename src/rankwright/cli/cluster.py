"""``--dask``: a cluster that takes the work of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import wraps
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
_client: ContextVar[Any] = ContextVar("client", default=None)


def on_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option ``--dask``; the cluster is there before anything is read."""
    signature = inspect.signature(command)
    parameters = list(signature.parameters.values())
    option = inspect.Parameter(
        "dask", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=Dask
    )

    @wraps(command)
    def run(dask: str | None = None, **given: Any) -> None:
        if dask is None:
            command(**given)
            return
        from rankwright.dask.cluster import describe_cluster, open_client

        with open_client(dask, given.get("jobs")) as client:
            typer.echo(describe_cluster(client), err=True)
            context = copy_context()
            context.run(_client.set, client)
            context.run(command, **given)

    run.__signature__ = signature.replace(parameters=[*parameters, option])  # type: ignore[attr-defined]
    run.__annotations__ = {**command.__annotations__, "dask": Dask}
    return run


def current_client() -> Any:
    """Return the client of the cluster that was asked for; None if none was."""
    return _client.get()


def executor_asked_for() -> Executor | None:
    """Return what takes the jobs of a comparison; None if no cluster was asked for."""
    client = current_client()
    if client is None:
        return None
    from rankwright.dask.cluster import jobs_executor

    return jobs_executor(client)
