"""Options and output that the subcommands share."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rankwright.comparison.entries import Entry
    from rankwright.data import Dataset
    from rankwright.data.columns import Columns

DataFile = Annotated[
    str,
    typer.Argument(help="LETOR text, .parquet or .csv (.gz, .zst allowed); - is standard input."),
]
DataFiles = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="A file as for info; several are read as one."),
]
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
AllowOverlap = Annotated[
    bool,
    typer.Option("--allow-overlap", help="Let validation and test queries be training queries."),
]


def _checked_jobs(jobs: int | None) -> int | None:
    from rankwright.threads import n_threads

    try:
        n_threads(jobs)
    except (ValueError, TypeError) as error:
        raise ValueError(str(error).replace("n_jobs", "--jobs")) from None
    return jobs


Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", callback=_checked_jobs, help="Threads; all cores by default."),
]
Processes = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", callback=_checked_jobs, help="Processes; one per core by default."
    ),
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


def read_dataset(path: str, *, columns: Columns, jobs: int | None, **letor: Any) -> Dataset:
    """Read a file of any format, passing on the options that its format has."""
    from rankwright.data.files import suffix
    from rankwright.data.frames import SUFFIXES, read_columns
    from rankwright.data.reading import read

    is_table = suffix(path) in SUFFIXES
    for name in ("features", "ignore", "doc_id"):
        if getattr(columns, name) and not is_table:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} is for tables, but {path} is LETOR text.")
    with doing(f"Reading {path}"):
        return read_columns(path, columns) if is_table else read(path, n_jobs=jobs, **letor)


def read_like_model(
    path: str, model_path: str, model: Any, *, columns: Columns, jobs: int | None
) -> Dataset:
    """Read a file whose documents must have the features of a fitted model."""
    dataset = read_dataset(path, columns=columns, jobs=jobs)
    with doing("Finding features"):
        aligned: Dataset = model.align(dataset, path=path, name=model_path)
    return aligned


def read_like_data(
    path: str, data_path: str, data: Dataset, *, columns: Columns, jobs: int | None
) -> Dataset:
    """Read a file whose documents must have the features of another file."""
    from rankwright.evaluation.folds import read_like

    reader = partial(read_dataset, columns=columns, jobs=jobs)
    with doing("Finding features"):
        return read_like(data, data_path, path, reader)


def read_joined(
    paths: list[str], *, columns: Columns, jobs: int | None, allow_overlap: bool = False
) -> Dataset:
    """Read files with the same features as one; a query in two of them is used once, if at all."""
    from rankwright.data.joining import join_datasets

    first = read_dataset(paths[0], columns=columns, jobs=jobs)
    parts = {paths[0]: first}
    for path in paths[1:]:
        if path in parts:
            raise ValueError(f"{path} is named twice.")
        parts[path] = read_like_data(path, paths[0], first, columns=columns, jobs=jobs)
    return join_datasets(parts, repeated="first" if allow_overlap else "error")


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
