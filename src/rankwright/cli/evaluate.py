"""``rankwright evaluate``: metrics of a file of scores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from rankwright.cli.terminal import (
    DataFile,
    Jobs,
    Json,
    Label,
    Qid,
    doing,
    print_table,
    read_dataset,
)

if TYPE_CHECKING:
    from rankwright.data.validation import Floats

Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="What to measure: ndcg@10, 'ap(threshold=2)', lightgbm:ndcg@5, ...; may be repeated.",
    ),
]


def evaluate(
    data: DataFile,
    scores: Annotated[
        str, typer.Argument(help="One score a line, in the order of the data; - is stdin.")
    ],
    metric: Metrics = None,
    per_query: Annotated[
        str | None, typer.Option(help="Write values by query (.tsv or .json).")
    ] = None,
    label: Label = "label",
    qid: Qid = "qid",
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    as_json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Measure scores, with 95 % bootstrap intervals over queries."""
    from rankwright.data.files import display_name
    from rankwright.evaluation import evaluate as measure
    from rankwright.evaluation.measure import DEFAULT_METRICS
    from rankwright.exceptions import DataError
    from rankwright.metrics import parse

    names = metric or list(DEFAULT_METRICS)
    for name in names:
        parse(name)  # before the long reading
    if data == scores == "-":
        raise DataError("data and scores cannot both come from standard input.")
    dataset = read_dataset(data, label=label, qid=qid, jobs=jobs)
    values = read_scores(scores)
    if len(values) != dataset.n_docs:
        raise DataError(
            f"there must be one score for each of the {dataset.n_docs} documents of {data}, but "
            f"there are {len(values)}.",
            path=display_name(scores),
        )
    with doing("Measuring"):
        result = measure(values[dataset.order], dataset, names, random_state=seed, n_jobs=jobs)
    if per_query is not None:
        result.write_per_query(per_query)
    if as_json:
        typer.echo(
            json.dumps({"data": data, "scores": scores, "metrics": result.to_dict()}, indent=2)
        )
        return
    rows = [
        [name, f"{r.mean:.4f}", f"[{r.low:.4f}, {r.high:.4f}]", str(r.n_queries)]
        for name, r in result.results.items()
    ]
    print_table(["metric", "mean", "95 % interval", "queries"], rows)


def read_scores(path: str) -> Floats:
    """Read one number a line."""
    import numpy as np

    from rankwright.data.files import display_name, open_binary
    from rankwright.exceptions import DataError

    with open_binary(path) as (stream, _):
        lines = stream.read().split(b"\n")
    while lines and not lines[-1].strip():
        lines.pop()
    try:
        values = np.array([float(line) for line in lines])
    except ValueError:
        values = None
    if values is None or not np.isfinite(values).all():
        number, text = next((i, line) for i, line in enumerate(lines, 1) if not _is_finite(line))
        raise DataError(
            f"must be one finite number, but is {text.decode('utf-8', 'replace').strip()[:60]!r}.",
            path=display_name(path),
            line=number,
            field="score",
        )
    return values


def _is_finite(text: bytes) -> bool:
    from math import isfinite

    try:
        return isfinite(float(text))
    except ValueError:
        return False
