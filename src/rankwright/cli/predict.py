"""``rankwright predict``: scores of a model for a data file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.terminal import DataFile, Jobs, OutFormat, doing, read_like_model

if TYPE_CHECKING:
    from rankwright.data.columns import Columns


def predict(
    model: Annotated[str, typer.Argument(help="The model file (*.rw).")],
    data: DataFile,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            help="Where to write: .txt, .csv, .tsv, .jsonl, .parquet, .run; - is standard output.",
        ),
    ] = "-",
    out_format: OutFormat = None,
    top: Annotated[
        int | None, typer.Option(help="Only the first documents of each query, best first.")
    ] = None,
    columns: Columns = TABLE,
    jobs: Jobs = None,
) -> None:
    """Write the scores of a model: one per line, in the order of the data, or with ids and ranks.

    No labels are needed.
    """
    from rankwright.data.formats import LETOR
    from rankwright.data.scores import check_scores_format, write_scores
    from rankwright.data.writing import check_not_read, check_writable
    from rankwright.persistence import load

    kind = check_scores_format(out, out_format, top)
    check_writable(out)
    check_not_read(out, model, data)
    ranker = load(model)
    columns = replace(columns, labelled=False)
    letor = {"doc_ids": kind != LETOR}  # of comments, which plain scores do not need
    dataset = read_like_model(data, model, ranker, columns=columns, jobs=jobs, **letor)
    with doing("Scoring"):
        scores = ranker.predict(dataset.X)
    write_scores(scores, dataset, out, format=kind, top=top)
