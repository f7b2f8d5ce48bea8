"""``rankwright serve``: a ranking service that learns online."""

from __future__ import annotations

import signal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rankwright.serve.settings import Settings

_MOST_DAYS = 36_500.0
_PACKAGES = ("starlette", "uvicorn", "httptools", "uvloop", "msgspec", "sqlalchemy")


class Logged(StrEnum):
    """What is written of a ranking."""

    features = "features"
    ids = "ids"
    none = "none"


Place = Annotated[
    str, typer.Option(help="The log: a file (SQLite), or postgresql://user@host/name.")
]
Host = Annotated[
    str, typer.Option(help="Where to listen; any address but this machine needs tokens.")
]
TokenFile = Annotated[
    str | None,
    typer.Option(
        help="Lines of scopes (rank, feedback, admin) and a token: 'rank,feedback TOKEN'. By "
        "default those of RANKWRIGHT_TOKENS."
    ),
]
Keep = Annotated[
    Logged | None,
    typer.Option(
        help="What is kept of rankings; by default features if the model learns, else ids."
    ),
]
Rival = Annotated[
    str | None,
    typer.Option(help="A model that learning is compared with; by default the one served first."),
]
Training = Annotated[
    str | None,
    typer.Option(help="Data that drift is measured against; by default what is served first."),
]
Days = Annotated[
    float,
    typer.Option(min=0.0, max=_MOST_DAYS, metavar="DAYS", help="Empty what is older; 0: never."),
]
Seconds = Annotated[
    float, typer.Option(min=0.1, max=3600.0, help="Seconds for a request to arrive.")
]
RateOf = Annotated[
    float,
    typer.Option(min=0.0, max=1e9, help="Requests a second of one caller; 0: any number."),
]


def serve(
    model: Annotated[str, typer.Argument(help="A model file (*.rw).")],
    store: Place = "rankwright.db",
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 8765,
    token_file: TokenFile = None,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes that answer.")] = 1,
    log: Keep = None,
    comparator: Rival = None,
    reference: Training = None,
    retention: Days = 0.0,
    max_body: Annotated[int, typer.Option(min=1, metavar="MB", help="Largest request.")] = 64,
    max_documents: Annotated[int, typer.Option(min=1, help="Documents of a query.")] = 10_000,
    max_queries: Annotated[int, typer.Option(min=1, help="Queries of a batch.")] = 1_000,
    max_seconds: Seconds = 10.0,
    max_rate: RateOf = 0.0,
    max_connections: Annotated[int, typer.Option(min=1, help="At a time, of a worker.")] = 1_000,
) -> None:
    """Rank over HTTP, take feedback, and learn from it.

    The page is at /, the description of the API at /docs. SIGTERM or Ctrl-C ends it: requests that
    are under way are answered, and what waits is written.
    """
    from rankwright.extras import load_extra

    for package in _PACKAGES:
        load_extra(package, "serve", "rankwright serve needs")
    from rankwright.serve.settings import Limits, Log, Settings

    limits = Limits(
        body=max_body << 20,
        documents=max_documents,
        queries=max_queries,
        seconds=max_seconds,
        rate=max_rate,
        connections=max_connections,
    )
    settings = Settings(
        store=store,
        host=host,
        port=port,
        workers=workers,
        log=None if log is None else Log(log.value),
        tokens=token_file,
        comparator=comparator,
        reference=reference,
        retention=retention,
        limits=limits,
    )
    _run_service(model, settings)


def _run_service(model: str, settings: Settings) -> None:
    from rankwright.serve.starting import bind, prepare, shown_store, url_of
    from rankwright.serve.supervisor import Supervisor

    with bind(settings) as listener:
        plan = prepare(model, settings)
        for note in plan.notes:
            typer.echo(note)
        supervisor = Supervisor(settings, listener, lambda line: typer.echo(line, err=True))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: supervisor.end())
        try:
            supervisor.start()
            if not supervisor.ending:
                typer.echo(
                    f"serving {model} as version {plan.version} at {url_of(listener)} "
                    f"(store {shown_store(settings.store)}, log {plan.log})"
                )
            supervisor.run()
        except RuntimeError as error:
            typer.echo(f"rankwright: {error}", err=True)
            raise typer.Exit(1) from None
        finally:
            supervisor.close()
