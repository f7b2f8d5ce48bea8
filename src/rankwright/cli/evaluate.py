"""``rankwright evaluate``: metrics of scores and models; what is new against what runs today."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.columns import TABLE
from rankwright.cli.metrics import (
    Duplicates,
    Group,
    Metrics,
    Subtopics,
    exposure_by_group,
    kept_for,
    print_groups,
    read_metrics,
)
from rankwright.cli.parts import names_parts, read_local_parts
from rankwright.cli.standings import print_segments, print_systems
from rankwright.cli.terminal import DataFile, Jobs, Json, doing, print_table, read_dataset

if TYPE_CHECKING:
    from rankwright.data.columns import Columns
    from rankwright.evaluation import Contest, Evaluation

Segments = Annotated[
    list[str] | None,
    typer.Option(
        "--segment",
        help="Also measure groups of queries: by a COLUMN of the table, by list-length, or by "
        "head:COLUMN, where the column has the traffic of each query; repeatable.",
    ),
]
Title = Annotated[str, typer.Option(help="Heading of the report.")]


Systems = Annotated[
    list[str],
    typer.Argument(
        metavar="[NAME=]SCORES...",
        help="Models (.rw); files with one score per line, in the order of the data; TREC runs or "
        "tables with qid, doc_id and score. - is stdin. Several are compared with the first.",
    ),
]
Reference = Annotated[
    str | None, typer.Option(help="Compare the others with this system instead of the first.")
]
FailIfWorse = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Exit with 1 if another system is worse than the first by more than this, by the "
        "first metric.",
    ),
]
Unscored = Annotated[
    str,
    typer.Option(help="Documents without a score in a table or run: error, or last (ranked last)."),
]
UnjudgedWord = Annotated[
    str, typer.Option("--unjudged", help="Documents of a run without a label: irrelevant, remove.")
]
Report = Annotated[
    str | None, typer.Option(help="Write the comparison of several systems as a page (.html).")
]
PerQuery = Annotated[
    str | None, typer.Option(help="Write the value of each query (.tsv or .json).")
]
ScoresFormat = Annotated[
    str | None, typer.Option(help="Format of SCORES, if the name does not say: run, csv, ...")
]


def evaluate(
    data: DataFile,
    systems: Systems,
    metric: Metrics = None,
    subtopics: Subtopics = None,
    group: Group = None,
    duplicates: Duplicates = None,
    segment: Segments = None,
    reference: Reference = None,
    fail_if_worse: FailIfWorse = None,
    unscored: Unscored = "error",
    unjudged: UnjudgedWord = "irrelevant",
    report: Report = None,
    title: Title = "",
    per_query: PerQuery = None,
    scores_format: ScoresFormat = None,
    columns: Columns = TABLE,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    as_json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Measure scores and models, with 95 % intervals; compare several with the first.

    DATA may be TREC qrels, and SCORES runs. Put what runs today first: each of the others is
    tested against it.
    """
    from rankwright.data.columns import DOC_ID
    from rankwright.evaluation import evaluate as measure
    from rankwright.metrics import parse

    metrics = read_metrics(metric, subtopics=subtopics, group=group, duplicates=duplicates)
    paths = _named_paths(systems)
    only = next(iter(paths)) if len(paths) == 1 else None
    for_several = {"reference": reference, "fail-if-worse": fail_if_worse, "report": report}
    _check_systems(paths, for_several)
    _check_paths(data, paths, unscored, unjudged, per_query, report)
    columns = kept_for(columns, segment or [], data, metrics)
    by_id = any(DOC_ID in parse(kind).needs for kind in metrics)
    read = _reader_of(data, paths, metrics, report)
    dataset, found = read(data, paths, scores_format, columns, jobs, unscored, by_id)
    options: dict[str, Any] = {"segments": segment or [], "reference": reference}
    options["unjudged"] = unjudged
    with doing("Measuring"):
        result: Any = measure(
            found if only is None else found[only],
            dataset,
            metrics,
            **options,
            random_state=seed,
            n_jobs=jobs,
        )
    if per_query is not None:
        result.write_per_query(per_query)
    err = per_query == "-"  # which is the output then
    groups = exposure_by_group(metrics, dataset, found)
    if only is not None:
        _print_one(result, data, paths[only], groups, as_json, err)
        return
    result.card = {"data": data, "systems": paths} | ({"groups": groups} if groups else {})
    _write_page(result, report, title)
    print_systems(result, as_json, err=err)
    if not as_json:
        print_groups(groups, err=err)
    _fail_if_worse(result, fail_if_worse)


def _write_page(result: Contest, report: str | None, title: str) -> None:
    if report is not None:
        from rankwright.report.report import write_report

        with doing("Writing the report"):
            write_report(result, report, title)


def _named_paths(texts: Sequence[str]) -> dict[str, str]:
    """Return the files by name: NAME=FILE, or else what the file is called."""
    paths: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or os.path.exists(text):
            name, path = Path(text).name.split(".")[0] or text, text
        if not name or not path:
            raise ValueError(f"a system must be a file, or NAME=FILE, but is {text!r}.")
        if name in paths:
            raise ValueError(
                f"systems must have different names, but two are called {name!r}. Name them: "
                "NAME=FILE."
            )
        paths[name] = path
    return paths


def _check_systems(paths: Mapping[str, str], for_several: Mapping[str, Any]) -> None:
    """Raise for options that one system alone does not have, or that name no system."""
    for option, given in for_several.items():
        if len(paths) == 1 and given is not None:
            (path,) = paths.values()
            raise ValueError(f"--{option} is for two systems or more, but {path} is alone.")
    reference = for_several["reference"]
    if reference is not None and reference not in paths:
        raise ValueError(f"--reference must be one of {', '.join(paths)}, but is {reference!r}.")


def _check_paths(
    data: str,
    paths: Mapping[str, str],
    unscored: str,
    unjudged: str,
    per_query: str | None,
    report: str | None,
) -> None:
    """Raise now what would be wrong after the long reading."""
    from rankwright.data.scores import check_unscored
    from rankwright.data.writing import check_not_read, check_writable
    from rankwright.evaluation.retrieval import check_unjudged
    from rankwright.exceptions import DataError

    check_unscored(unscored)
    check_unjudged(unjudged)
    for out in (per_query, report):
        if out is not None:
            check_writable(out)
            check_not_read(out, data, *paths.values())
    if report == "-":
        raise ValueError("--report must be a file: the table is on standard output.")
    if [data, *paths.values()].count("-") > 1:
        raise DataError("data and scores cannot both come from standard input.")


# ---- reading ----


def _read_all(
    data: str,
    paths: Mapping[str, str],
    scores_format: str | None,
    columns: Columns,
    jobs: int | None,
    unscored: str,
    by_id: bool,
) -> tuple[Any, dict[str, Any]]:
    """Return the documents, and what ranks them by name."""
    from rankwright.data import read_qrels, read_run
    from rankwright.data.formats import LETOR, format_of
    from rankwright.data.scores import read_scores

    found = _loaded(paths)
    others = {name: path for name, path in paths.items() if name not in found}
    if format_of(data, columns.format) == "qrels":
        if found:
            raise ValueError(f"{data} has no features, which the model {paths[min(found)]} needs.")
        with doing("Reading"):
            dataset = read_qrels(data)
            return dataset, {n: read_run(p, format=scores_format) for n, p in others.items()}
    by_id |= any(format_of(path, scores_format) != LETOR for path in others.values())
    wanted = _columns_for(columns, found)
    dataset = read_dataset(data, columns=wanted, jobs=jobs, doc_ids=by_id)
    for name, path in others.items():
        with doing(f"Reading {path}"):
            found[name] = read_scores(path, dataset, format=scores_format, unscored=unscored)
    return dataset, {name: found[name] for name in paths}


def _reader_of(
    data: str, paths: Mapping[str, str], metrics: Sequence[Any], report: str | None
) -> Any:
    """Return what reads data and systems; raise for what cannot be measured on data in parts."""
    from rankwright.metrics import ExposureDisparity, parse

    if not names_parts(data):
        return _read_all
    for path in paths.values():
        if not path.endswith(".rw"):
            raise ValueError(f"{data} is in parts, which are measured by models (.rw), not {path}.")
    if report is not None:
        raise ValueError(f"--report shows documents, and needs data in memory: {data} is in parts.")
    if any(isinstance(parse(metric), ExposureDisparity) for metric in metrics):
        raise ValueError(f"exposure by group needs data in memory: {data} is in parts.")
    return _read_models_and_parts


def _read_models_and_parts(
    data: str,
    paths: Mapping[str, str],
    _scores_format: str | None,
    columns: Columns,
    jobs: int | None,
    _unscored: str,
    by_id: bool,
) -> tuple[Any, dict[str, Any]]:
    """Return data in parts, and the models that rank them by name."""
    from rankwright.data.formats import LETOR
    from rankwright.data.part_files import part_paths, same_format

    found = _loaded(paths)
    text = same_format(part_paths(data), columns.format) == LETOR
    letor: dict[str, Any] = {"doc_ids": by_id} if text else {}
    wanted = _columns_for(columns, found)
    return read_local_parts(data, columns=wanted, jobs=jobs, **letor), found


def _loaded(paths: Mapping[str, str]) -> dict[str, Any]:
    """Return the models among the systems."""
    from rankwright.persistence import load

    found: dict[str, Any] = {}
    for name, path in paths.items():
        if path.endswith(".rw"):
            with doing(f"Reading {path}"):
                found[name] = load(path)
    return found


def _columns_for(columns: Columns, models: Mapping[str, Any]) -> Columns:
    """Return the columns to read for models."""
    wanted = replace(columns, model=_features_of(models))
    if wanted.model is None:
        return wanted
    # What is measured by may be what a model looks at, too.
    features = {*columns.keep} & {*(wanted.model.names or ())}
    return replace(wanted, ignore=[name for name in columns.ignore if name not in features])


def _features_of(models: Mapping[str, Any]) -> Any:
    """Return the features of all models together, by which columns of categories are known."""
    from rankwright.data.alignment import Features
    from rankwright.estimator import as_model

    known = [as_model(model).features() for model in models.values()]
    names = list(dict.fromkeys(name for one in known for name in one.names or ()))
    categories = {name: levels for one in known for name, levels in one.categories.items()}
    return Features(len(names), names, categories=categories) if names else None


# ---- printing ----


def _print_one(
    result: Evaluation,
    data: str,
    scores: str,
    groups: Sequence[Mapping[str, Any]],
    as_json: bool,
    err: bool,
) -> None:
    if as_json:
        facts: dict[str, Any] = {"data": data, "scores": scores, "metrics": result.to_dict()}
        if result.segments:
            facts["segments"] = [segment.to_dict() for segment in result.segments]
        if groups:
            facts["groups"] = groups
        typer.echo(json.dumps(facts, indent=2), err=err)
        return
    rows = [
        [name, f"{r.mean:.4f}", f"[{r.low:.4f}, {r.high:.4f}]", str(r.n_queries)]
        for name, r in result.results.items()
    ]
    print_table(["metric", "mean", "95 % interval", "queries"], rows, err=err)
    print_segments(result.segments, next(iter(result)), err=err)
    print_groups(groups, err=err)


def _fail_if_worse(result: Contest, margin: float | None) -> None:
    """Exit with 1 if a system is worse than the reference by more than the margin, if any."""
    if margin is None:
        return
    metric = result.metrics[0]
    sign = 1 if result.measure(metric).higher_is_better else -1
    for pair in result.pairs:
        if sign * pair.difference >= -margin:
            continue
        told = (
            f"{pair.a} is worse than {pair.b}: {metric} differs by {pair.difference:+.4f}, and "
            f"{margin:g} is allowed."
        )
        if pair.n_queries == 0:
            both = f"{pair.a} and {pair.b}"
            told = f"{metric} of both {both} is defined on no query: nothing was checked."
        typer.echo(f"rankwright: {told}", err=True)
        raise typer.Exit(1)
