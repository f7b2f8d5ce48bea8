"""``rankwright evaluate``: metrics of a file of scores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.terminal import (
    DataFile,
    Jobs,
    Json,
    doing,
    print_table,
    read_dataset,
)

if TYPE_CHECKING:
    from rankwright.data import Dataset, Run
    from rankwright.data.columns import Columns

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
        str,
        typer.Argument(
            help="One score per line, in the order of the data; or a TREC run or table with qid, "
            "doc_id and score. - is stdin."
        ),
    ],
    metric: Metrics = None,
    per_query: Annotated[
        str | None, typer.Option(help="Write values by query (.tsv or .json).")
    ] = None,
    scores_format: Annotated[
        str | None, typer.Option(help="What SCORES is, if its name does not tell: run, csv, ...")
    ] = None,
    columns: Columns = TABLE,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    as_json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Measure scores, with 95 % bootstrap intervals over queries.

    DATA may be TREC qrels, and SCORES a run.
    """
    from rankwright.data.formats import format_of
    from rankwright.data.writing import check_not_read, check_writable
    from rankwright.evaluation import evaluate as measure
    from rankwright.evaluation.measure import DEFAULT_METRICS
    from rankwright.exceptions import DataError
    from rankwright.metrics import parse

    names = metric or list(DEFAULT_METRICS)
    for name in names:
        parse(name)  # before the long reading
    if per_query is not None:
        check_writable(per_query)
        check_not_read(per_query, data, scores)
    if data == scores == "-":
        raise DataError("data and scores cannot both come from standard input.")
    if format_of(data, columns.format) == "qrels":
        dataset, values = _read_trec(data, scores, scores_format)
    else:
        dataset, values = _read_both(data, scores, scores_format, columns, jobs)
    with doing("Measuring"):
        result = measure(values, dataset, names, random_state=seed, n_jobs=jobs)
    if per_query is not None:
        result.write_per_query(per_query)
    err = per_query == "-"  # which is the output then
    if as_json:
        facts = {"data": data, "scores": scores, "metrics": result.to_dict()}
        typer.echo(json.dumps(facts, indent=2), err=err)
        return
    rows = [
        [name, f"{r.mean:.4f}", f"[{r.low:.4f}, {r.high:.4f}]", str(r.n_queries)]
        for name, r in result.results.items()
    ]
    print_table(["metric", "mean", "95 % interval", "queries"], rows, err=err)


def _read_trec(data: str, scores: str, scores_format: str | None) -> tuple[Dataset, Run]:
    from rankwright.data import read_qrels, read_run

    with doing(f"Reading {scores}"):
        return read_qrels(data), read_run(scores, format=scores_format)


def _read_both(
    data: str, scores: str, scores_format: str | None, columns: Columns, jobs: int | None
) -> tuple[Dataset, Any]:
    from rankwright.data.formats import LETOR, format_of
    from rankwright.data.scores import read_scores

    by_id = format_of(scores, scores_format) != LETOR
    dataset = read_dataset(data, columns=columns, jobs=jobs, doc_ids=by_id)
    with doing(f"Reading {scores}"):
        return dataset, read_scores(scores, dataset, format=scores_format)
