"""``rankwright convert``: from one file format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from rankwright.cli.terminal import (
    DataFile,
    Jobs,
    Label,
    Qid,
    SpreadsheetSafe,
    doing,
    read_dataset,
)


def convert(
    data: DataFile,
    out: Annotated[str, typer.Argument(help="The file to write; its name tells the format.")],
    label: Label = "label",
    qid: Qid = "qid",
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
    from rankwright.data.reading import write
    from rankwright.data.writing import check_writable

    if spreadsheet_safe and suffix(out) != ".csv":
        raise ValueError(f"--spreadsheet-safe is for *.csv, but OUT is {out!r}.")
    check_writable(out)
    dtype = "float64" if double else "float32"
    doc_id_column = "doc_id" if doc_ids else None
    dataset = read_dataset(
        data,
        label=label,
        qid=qid,
        jobs=jobs,
        dtype=dtype,
        doc_ids=doc_ids,
        doc_id_column=doc_id_column,
    )
    with doing(f"Writing {out}"):
        write(dataset, out, spreadsheet_safe=spreadsheet_safe)
    name = "standard output" if out == "-" else out
    typer.echo(f"{name}: {dataset!r}", err=True)
