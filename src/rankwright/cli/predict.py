"""``rankwright predict``: scores of a model for a data file."""

from __future__ import annotations

from typing import Annotated

import typer

from rankwright.cli.terminal import DataFile, Jobs, Label, Qid, doing, read_dataset


def predict(
    model: Annotated[str, typer.Argument(help="The model file (*.rw).")],
    data: DataFile,
    out: Annotated[
        str, typer.Option("--out", "-o", help="Where to write; - is standard output.")
    ] = "-",
    label: Label = "label",
    qid: Qid = "qid",
    jobs: Jobs = None,
) -> None:
    """Write one score a line, in the order of the data."""
    from rankwright.data.writing import write_atomically
    from rankwright.exceptions import DataError
    from rankwright.persistence import load

    ranker = load(model)
    width = ranker.n_features_in_
    dataset = read_dataset(data, label=label, qid=qid, jobs=jobs, n_features=width)
    if dataset.n_features != width:
        raise DataError(
            f"must have the {width} features that {model} was trained on, but has "
            f"{dataset.n_features}.",
            path=data,
        )
    with doing("Scoring"):
        scores = dataset.restore(ranker.predict(dataset.X))
    with write_atomically(out) as file:
        file.write("".join(f"{score!r}\n" for score in scores.tolist()).encode())
