"""Options and output that the subcommands share."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rankwright.comparison.entries import Entry
    from rankwright.data import Dataset
    from rankwright.data.columns import Columns

DataFile = Annotated[
    str,
    typer.Argument(
        help="LETOR text, .csv, .tsv, .jsonl, .parquet (also .gz, .zst), or a folder of parts; - "
        "is standard input."
    ),
]
DataFiles = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="A data file as for info; several are read as one."),
]
Params = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", help="NAME=VALUE: a parameter of the model; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="CSV: put an apostrophe before texts that a spreadsheet would run as formulas.",
    ),
]
AllowOverlap = Annotated[
    bool,
    typer.Option(
        "--allow-overlap", help="Allow training queries among the validation and test queries."
    ),
]
OutFormat = Annotated[
    str | None,
    typer.Option("--out-format", help="Format to write, if the file name does not say."),
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
HalveAbove = Annotated[
    int,
    typer.Option(
        min=0,
        help="With more training documents, trials see samples first, and thirds go on; 0 never.",
    ),
]
Processes = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", callback=_checked_jobs, help="Processes; one per core by default."
    ),
]


@contextlib.contextmanager
def doing(what: str, *, once: bool = False) -> Iterator[None]:
    """Show progress on a terminal; turn warnings into one plain line each, or ``once`` for all."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    with telling_warnings(once=once):
        if console.is_terminal:
            with console.status(Text(what)):
                yield
        else:
            yield


@contextlib.contextmanager
def telling_warnings(*, once: bool = False) -> Iterator[None]:
    """Turn warnings into one plain line each at the end, or ``once`` for all that are the same."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    messages = [str(warning.message) for warning in caught]
    for message in dict.fromkeys(messages) if once else messages:
        typer.echo(f"rankwright: warning: {message}", err=True)


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
    with doing(f"Reading {path}"):
        return read_quietly(path, columns=columns, jobs=jobs, **letor)


def read_quietly(path: str, *, columns: Columns, jobs: int | None, **letor: Any) -> Dataset:
    """Read a file, and leave its warnings to the caller."""
    from rankwright.data.formats import LETOR, TABLES, format_of
    from rankwright.data.frames import read_columns, refuse_infinite
    from rankwright.data.reading import read
    from rankwright.data.trec import telling_trec

    kind = format_of(path, columns.format)
    if kind == LETOR:
        refuse_table_options(path, columns)
    allow_nan = columns.missing != "error"
    if kind not in TABLES:
        dataset = read(path, format=kind, n_jobs=jobs, allow_nan=allow_nan, **letor)
    else:
        with telling_trec(path):
            dataset = read_columns(path, columns, allow_nan=allow_nan)
    refuse_infinite(dataset, path)
    return dataset


def refuse_table_options(path: str, columns: Columns) -> None:
    """Raise for options of tables that were given for LETOR text."""
    for name in ("features", "ignore", "doc_id", "categorical"):
        if getattr(columns, name):
            option = name.replace("_", "-")
            raise ValueError(f"--{option} is for tables, but {path} is LETOR text.")


def fill_missing(columns: Columns, *models: Any) -> None:
    """Tell models what stands for missing values, if that was said."""
    for model in models:
        if columns.missing is not None and "missing" in model.get_params(deep=False):
            model.set_params(missing=columns.missing)


def with_missing(dataset: Dataset, path: str, columns: Columns, *models: Any) -> Dataset:
    """Say what stands for missing values, and add features that tell of them, if wanted."""
    from rankwright.data.missing import count_missing

    counts = count_missing(dataset.X)
    tell_missing(counts, dataset.n_docs, dataset.features.names, path, *models)
    return dataset.with_indicators() if columns.missing_indicator else dataset


def tell_missing(counts: Any, n_docs: int, names: Any, path: str, *models: Any) -> None:
    """Say what stands for missing values, of which each feature has so many."""
    from rankwright.data.feature_names import feature_name

    lacking = sorted(counts.nonzero()[0].tolist(), key=lambda j: -counts[j])
    fillers = [model for model in models if "missing" in model.get_params(deep=False)]
    if not (lacking and fillers):
        return
    shares = [f"{feature_name(names, j)} {counts[j] / n_docs:.1%}" for j in lacking[:5]]
    more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
    what = {"zero": "0 counts", "median": "their medians count"}
    values = sorted({what[model.missing] for model in fillers if model.missing in what})
    typer.echo(
        f"{path}: {', '.join(shares)}{more} missing: {' or '.join(values)} in linear and "
        "online models (--missing).",
        err=True,
    )


def read_like_model(
    path: str, model_path: str, model: Any, *, columns: Columns, jobs: int | None, **letor: Any
) -> Dataset:
    """Read a file whose documents must have the features of a fitted model; it fills them in."""
    dataset = read_with_features(path, model_path, model, columns=columns, jobs=jobs, **letor)
    filled: Dataset = dataset.with_features(model.filled_in(dataset.X))
    return filled


def read_with_features(
    path: str, model_path: str, model: Any, *, columns: Columns, jobs: int | None, **letor: Any
) -> Dataset:
    """Read a file whose documents must have the features of a fitted model, missing or not."""
    known = model.features()
    dataset = read_dataset(path, columns=replace(columns, model=known), jobs=jobs, **letor)
    with doing("Finding features"):
        return dataset.aligned(replace(known, owner=model_path), path)


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
