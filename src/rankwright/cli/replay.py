"""``rankwright replay``: learn the log of a service anew, and prove that it learned just that."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from rankwright.cli.terminal import Json
from rankwright.progress import display

StorePlace = Annotated[
    str,
    typer.Argument(
        metavar="STORE", help="The service's store: a file, or postgresql://user@host/name."
    ),
]


def replay(
    store: StorePlace,
    out: Annotated[str, typer.Option("--out", "-o", help="The model file to write (*.rw).")],
    model: Annotated[
        int | None, typer.Option(help="The number of the model; the one that is served.")
    ] = None,
    until: Annotated[
        int | None, typer.Option(help="The last event; where the service's learner is.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Learn a service's log anew, from the model that was served first.

    Compares what is known and what was lost, event by event, with what the service did: exit code 0
    and "the same bits", or 1 and the event at which they part. The service may run meanwhile.
    """
    from rankwright.data.writing import check_not_read, write_atomically
    from rankwright.persistence import check_model_path
    from rankwright.serve.learning.replay import as_facts, replay_log
    from rankwright.serve.store import open_store

    check_model_path(out)
    check_not_read(out, store.removeprefix("sqlite:///"))
    opened = open_store(store, create=False)
    try:
        with display() as shown:
            bar = shown.bar("replay")

            def tell(done: int, total: int) -> None:
                bar.update(f"{done:,} of {total:,} events", done=done, total=total)

            found = replay_log(opened, model, until=until, tell=tell)
    finally:
        opened.close()
    with write_atomically(out) as file:
        file.write(found.content)
    if as_json:
        typer.echo(json.dumps(as_facts(found), indent=2))
    else:
        for line in found.lines():
            typer.echo(line)
    if found.parting is not None:
        raise typer.Exit(1)
