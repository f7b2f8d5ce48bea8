"""Options and output that the subcommands share."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rankwright.comparison.entries import Entry
    from rankwright.data import Dataset

DataFile = Annotated[
    str,
    typer.Argument(help="LETOR text, .parquet or .csv (.gz, .zst allowed); - is standard input."),
]
Label = Annotated[str, typer.Option(help="Label column of .parquet and .csv files.")]
Qid = Annotated[str, typer.Option(help="Query id column of .parquet and .csv files.")]
Params = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", help="NAME=VALUE: a parameter of the model; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="CSV: an apostrophe before texts that a spreadsheet would run as formulas.",
    ),
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Threads; all cores by default.")]
Processes = Annotated[
    int | None, typer.Option("--jobs", "-j", help="Processes; one per core by default.")
]


@contextlib.contextmanager
def doing(what: str) -> Iterator[None]:
    """Show progress on a terminal; turn warnings into one plain line each."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if console.is_terminal:
            with console.status(Text(what)):
                yield
        else:
            yield
    for warning in caught:
        typer.echo(f"rankwright: warning: {warning.message}", err=True)


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Show each warning at once, as one plain line."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        typer.echo(f"rankwright: warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def read_dataset(path: str, *, label: str, qid: str, jobs: int | None, **letor: Any) -> Dataset:
    """Read a file of any format, passing on the options that its format has."""
    from rankwright.data.files import suffix
    from rankwright.data.frames import SUFFIXES
    from rankwright.data.reading import read

    with doing(f"Reading {path}"):
        if suffix(path) in SUFFIXES:
            doc_id = letor.get("doc_id_column")
            return read(path, label=label, qid=qid, doc_id=doc_id)
        letor.pop("doc_id_column", None)
        return read(path, n_jobs=jobs, **letor)


def read_like_model(
    path: str, model_path: str, model: Any, *, label: str, qid: str, jobs: int | None
) -> Dataset:
    """Read a file whose documents must have the features of a fitted model."""
    from rankwright.exceptions import DataError

    width = model.n_features_in_
    dataset = read_dataset(path, label=label, qid=qid, jobs=jobs, n_features=width)
    if dataset.n_features != width:
        raise DataError(
            f"must have the {width} features that {model_path} was trained on, but has "
            f"{dataset.n_features}.",
            path=path,
        )
    return dataset


def read_entries(models: list[str] | None) -> list[Entry]:
    """Return models by name, or from TOML files; the whole line-up by default."""
    from rankwright.comparison.entries import check_entry_names, lineup, read_lineup

    if not models:
        return lineup()
    entries: list[Entry] = []
    for text in models:
        if text.endswith(".toml"):
            entries += read_lineup(text)
        else:
            entries += lineup([name.strip() for name in text.split(",")])
    return check_entry_names(entries)


def print_table(columns: list[str], rows: list[list[str]], *, err: bool = False) -> None:
    """Print a table: with colour on a terminal, plain and aligned when piped."""
    stream = sys.stderr if err else sys.stdout
    if stream is not None and stream.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        # Names come from files: square brackets in them are text, not markup.
        table = Table(box=None, header_style="bold", pad_edge=False)
        for column in columns:
            table.add_column(Text(column))
        for row in rows:
            table.add_row(*map(Text, row))
        Console(stderr=err).print(table)
        return
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    for row in [columns, *rows]:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(cells).rstrip(), err=err)
