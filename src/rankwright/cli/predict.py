"""``rankwright predict``: scores of a model for a data file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.terminal import DataFile, Jobs, doing, read_like_model

if TYPE_CHECKING:
    from rankwright.data.columns import Columns


def predict(
    model: Annotated[str, typer.Argument(help="The model file (*.rw).")],
    data: DataFile,
    out: Annotated[
        str, typer.Option("--out", "-o", help="Where to write; - is standard output.")
    ] = "-",
    columns: Columns = TABLE,
    jobs: Jobs = None,
) -> None:
    """Write one score per line, in the order of the data."""
    from rankwright.data.scores import write_scores
    from rankwright.data.writing import check_writable
    from rankwright.persistence import load

    check_writable(out)
    ranker = load(model)
    dataset = read_like_model(data, model, ranker, columns=columns, jobs=jobs)
    with doing("Scoring"):
        scores = ranker.predict(dataset.X)
    write_scores(scores, dataset, out)
