"""``rankwright convert``: from one file format to another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.terminal import (
    DataFile,
    Jobs,
    SpreadsheetSafe,
    doing,
    read_dataset,
)

if TYPE_CHECKING:
    from rankwright.data.columns import Columns


def convert(
    data: DataFile,
    out: Annotated[str, typer.Argument(help="The file to write; its name tells the format.")],
    columns: Columns = TABLE,
    doc_ids: Annotated[
        bool, typer.Option("--doc-ids", help="Keep document ids (LETOR comments).")
    ] = False,
    double: Annotated[
        bool, typer.Option("--float64", help="Read LETOR features as float64.")
    ] = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    jobs: Jobs = None,
) -> None:
    """Convert between LETOR text, Parquet and CSV; rows keep their order."""
    from rankwright.data.files import suffix
    from rankwright.data.frames import SUFFIXES
    from rankwright.data.reading import write
    from rankwright.data.writing import check_writable

    if spreadsheet_safe and suffix(out) != ".csv":
        raise ValueError(f"--spreadsheet-safe is for *.csv, but OUT is {out!r}.")
    check_writable(out)
    dtype = "float64" if double else "float32"
    if doc_ids and columns.doc_id is None and suffix(data) in SUFFIXES:
        columns = replace(columns, doc_id="doc_id")
    dataset = read_dataset(
        data,
        columns=columns,
        jobs=jobs,
        dtype=dtype,
        doc_ids=doc_ids,
    )
    with doing(f"Writing {out}"):
        write(dataset, out, spreadsheet_safe=spreadsheet_safe)
    name = "standard output" if out == "-" else out
    typer.echo(f"{name}: {dataset!r}", err=True)
