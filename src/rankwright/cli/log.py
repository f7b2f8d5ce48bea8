"""``rankwright log``: the log of a service, as a table, in numbers, and shorter."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.replay import StorePlace
from rankwright.cli.terminal import Json, print_table
from rankwright.progress import display

if TYPE_CHECKING:
    from rankwright.serve.store.interface import Store

app = typer.Typer(
    help="Export the log of a service, look at it, or empty what is old.",
    no_args_is_help=True,
    add_completion=False,
)


@contextlib.contextmanager
def _open_log(place: str) -> Iterator[Store]:
    from rankwright.serve.store import open_store

    store = open_store(place, create=False)
    try:
        yield store
    finally:
        store.close()


@app.command("export")
def export_command(
    store: StorePlace,
    out: Annotated[
        str, typer.Option("--out", "-o", help="File to write: .parquet, .csv, .tsv, .jsonl.")
    ],
    since: Annotated[
        str | None, typer.Option(help="The first event: its number, or a time (2026-01-31T12:00).")
    ] = None,
    until: Annotated[str | None, typer.Option(help="The last event, as for --since.")] = None,
    features: Annotated[
        int | None, typer.Option(min=1, help="Only events with so many features.")
    ] = None,
    events: Annotated[
        bool,
        typer.Option(
            "--events", help="Add id, time, query and model of each event, as texts and times."
        ),
    ] = False,
) -> None:
    """Write the feedback of a service as a table, one row a document, for train.

    An event is a query: its number is the column qid.
    """
    from rankwright.data.writing import check_not_read, check_writable
    from rankwright.serve.learning.log_export import Span, export_log

    check_writable(out)
    check_not_read(out, store.removeprefix("sqlite:///"))
    span = Span.of(since, until)
    with _open_log(store) as opened, display() as shown:
        bar = shown.bar("export")

        def tell(done: int, total: int) -> None:
            bar.update(f"{done:,} events", done=done, total=total)

        done = export_log(opened, out, span, n_features=features, with_events=events, tell=tell)
    typer.echo(
        f"{out}: {done.n_events:,} events, {done.n_docs:,} documents, {done.n_features} features",
        err=True,
    )
    for n, what in ((done.n_empty, "no features"), (done.n_others, "another number of features")):
        if n:
            typer.echo(f"{n:,} events with {what} were left out.", err=True)


@app.command("info")
def info_command(store: StorePlace, as_json: Json = False) -> None:
    """Say how much is in a store, and how far its learners are."""
    with _open_log(store) as opened, opened.snapshot() as moment:
        facts = _store_facts(moment)
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    size = f", {facts['bytes_per_event']:,.0f} bytes an event" if facts["events"] else ""
    typer.echo(
        f"{facts['events']:,} events, {facts['rankings']:,} rankings, "
        f"{facts['bytes'] / 1e6:,.1f} MB{size}"
    )
    rows = [
        [
            model["version"],
            model["kind"],
            "yes" if model["serving"] else "",
            *(
                ["", "", "", ""]
                if model["learned"] is None
                else [
                    f"{model['learned']:,}",
                    f"{model['skipped']:,}",
                    f"{model['loss']:.6g}",
                    "" if model["bound"] is None else f"{model['bound']:.6g}",
                ]
            ),
            model["note"],
        ]
        for model in facts["models"]
    ]
    if rows:
        heads = ["version", "model", "served", "learned", "skipped", "loss", "bound", "note"]
        print_table(heads, rows)


def _store_facts(store: Store) -> dict[str, Any]:
    counts, serving = store.counts(), store.serving()
    learners = {record.model_id: record for record in store.learners()}
    models = []
    for model in store.models():
        learner = learners.get(model.model_id)
        known = {name: None for name in ("position", "learned", "skipped", "loss", "bound")}
        if learner is not None:
            known = {name: getattr(learner, name) for name in known}
        models.append(
            {
                "model": model.model_id,
                "version": str(model.model_id) if learner is None else learner.version,
                "kind": model.kind,
                "serving": serving is not None and serving.promoted == model.model_id,
                **known,
                "reason": "" if learner is None else learner.reason,
                "note": model.note,
            }
        )
    return {
        "events": counts.events,
        "rankings": counts.rankings,
        "bytes": counts.n_bytes,
        "bytes_per_event": counts.n_bytes / counts.events if counts.events else None,
        "models": models,
    }


@app.command("expire")
def expire_command(
    store: StorePlace,
    days: Annotated[float, typer.Option(min=0, help="Empty what is older than so many days.")],
) -> None:
    """Empty old events and drop old rankings; learners keep what they know.

    Replay begins then with what they knew. Event ids stay: what is sent again is still known.
    """
    with _open_log(store) as opened:
        n = opened.expire(time.time() - days * 86400)
    typer.echo(f"{n:,} events older than {days:g} days were emptied.", err=True)
