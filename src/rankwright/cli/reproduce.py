"""``rankwright reproduce``: a paper's tables and figures, theirs beside ours."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.stopping import resumable
from rankwright.cli.terminal import Json, print_table
from rankwright.progress import display

if TYPE_CHECKING:
    from rankwright.experiments import Finished, Row


class Scale(StrEnum):
    """How much to run."""

    quick = "quick"
    full = "full"


def reproduce(
    paper: Annotated[str, typer.Argument(help="slam, domination, prank, xendcg, predtron or all.")],
    figure: Annotated[str | None, typer.Option(help="Only this figure of the paper.")] = None,
    table: Annotated[str | None, typer.Option(help="Only this table of the paper.")] = None,
    scale: Annotated[
        Scale,
        typer.Option(help="quick takes seconds and shows orderings; full has the paper's size."),
    ] = Scale.quick,
    data: Annotated[
        Path | None, typer.Option(help="Folder of public data sets, for the tables that need them.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for results and figures; an interrupted run resumes there."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a paper's experiments, and print its numbers beside ours."""
    from rankwright.data.writing import check_writable_folder
    from rankwright.experiments import Context, chosen
    from rankwright.experiments import reproduce as run

    if figure is not None and table is not None:
        raise ValueError("--figure and --table exclude each other.")
    if data is not None and not data.is_dir():
        raise ValueError(f"--data must be a folder, but {data} is none.")
    if out is not None:
        check_writable_folder(out)
    only = f"Figure {figure}" if figure else f"Table {table}" if table else None
    experiments = chosen(paper, only)
    cache = None if out is None else out / "cache"
    found: list[Finished] = []
    kept = contextlib.nullcontext() if out is None else resumable()
    with kept, _show_steps() as tell:
        context = Context(scale=scale.value, data=data, cache=cache, tell=tell)
        found.extend(run(experiments, context, out))
    if as_json:
        typer.echo(json.dumps([_as_json(one) for one in found], indent=2))
        return
    for one in found:
        typer.echo(f"\n{one.experiment.paper}, {one.experiment.source}: {one.experiment.title}")
        if one.result is None:
            typer.echo("  skipped: its data are not in --data.")
            continue
        if one.result.rows:
            columns = ["source", "what", "paper", "ours", "95 % interval", "verdict", "note"]
            print_table(columns, [_cells(row) for row in one.result.rows])
        for note in one.result.notes:
            typer.echo(note)
    if out is not None:
        typer.echo(f"\nResults and figures: {out}")


def _cells(row: Row) -> list[str]:
    interval = ""
    if row.interval is not None:
        interval = f"[{row.interval[0]:.4g}, {row.interval[1]:.4g}]"
    paper = "" if row.paper is None else f"{row.paper:.4g}"
    return [row.source, row.what, paper, f"{row.ours:.4g}", interval, row.verdict, row.note]


def _as_json(one: Finished) -> dict[str, Any]:
    record = {"paper": one.experiment.paper, "source": one.experiment.source}
    if one.result is None:
        return {**record, "skipped": True}
    return {**record, "rows": one.result.as_json()["rows"], "notes": one.result.notes}


@contextlib.contextmanager
def _show_steps() -> Iterator[Callable[[str, int, int], None]]:
    """Name what is running."""
    with display() as shown:
        bar = shown.bar()
        yield lambda what, done, total: bar.update(
            f"{what}: {done} of {total}", done=done, total=total
        )
