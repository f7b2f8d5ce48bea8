"""``rankwright convert``: from one file format to another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.terminal import (
    DataFile,
    Jobs,
    OutFormat,
    SpreadsheetSafe,
    doing,
    read_dataset,
)

if TYPE_CHECKING:
    from rankwright.data.columns import Columns


def convert(
    data: DataFile,
    out: Annotated[str, typer.Argument(help="The file to write; its ending sets the format.")],
    out_format: OutFormat = None,
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
    """Convert between LETOR text, CSV, TSV, JSON lines, Parquet and TREC qrels.

    Rows keep their order. TREC qrels have queries, documents and labels, and no features. A TREC
    run becomes a table of scores, and a table with qid, doc_id and score a run.
    """
    from rankwright.data.formats import LETOR, TABLES, format_of, format_to_write
    from rankwright.data.reading import write
    from rankwright.data.scores import convert_run
    from rankwright.data.trec import read_qrels
    from rankwright.data.writing import check_not_read, check_writable

    kind, given = format_to_write(out, out_format), format_of(data, columns.format)
    if spreadsheet_safe and kind != "csv":
        raise ValueError(f"--spreadsheet-safe is for *.csv, but OUT is {out!r}.")
    check_writable(out)
    if given != LETOR:  # of tables, columns may be left out
        check_not_read(out, data)
    if "run" in (kind, given):
        convert_run(data, out, columns.format, kind)
        return
    if doc_ids and columns.doc_id is None and given in TABLES:
        columns = replace(columns, doc_id="doc_id")
    if given == "qrels":
        dataset = read_qrels(data)
    else:
        dtype = "float64" if double else "float32"
        named = doc_ids or kind == "qrels"
        dataset = read_dataset(data, columns=columns, jobs=jobs, dtype=dtype, doc_ids=named)
    with doing(f"Writing {out}"):
        write(dataset, out, format=kind, spreadsheet_safe=spreadsheet_safe)
    name = "standard output" if out == "-" else out
    lost = ", without its features" if kind == "qrels" and dataset.n_features else ""
    typer.echo(f"{name}: {dataset!r}{lost}", err=True)
