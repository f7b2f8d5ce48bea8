"""Metrics on the command line: names, the columns that they look at, and functions in files."""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.terminal import print_table

if TYPE_CHECKING:
    from rankwright.data import Dataset
    from rankwright.data.columns import Columns
    from rankwright.metrics import Metric
    from rankwright.metrics.parsing import MetricLike

Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="What to measure: ndcg@10, 'ap(threshold=2)', lightgbm:ndcg@5, ...; or your own "
        "FILE.py:FUNCTION, which is run. Repeatable.",
    ),
]
Subtopics = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="What each document is about, for alpha_ndcg and err_ia: '1 3 7'."
    ),
]
Group = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Groups of documents, for their shares of exposure."),
]
Duplicates = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Equal values are one document, for unique_ndcg."),
]

_OWN = re.compile(r"(?P<path>.+\.py):(?P<name>[A-Za-z_]\w*)")
# What is measured if a column is named and no metric looks at it.
_BY_ROLE = {
    "subtopics": ("alpha_ndcg@10", "err_ia@10"),
    "group": ("exposure_disparity@10",),
    "duplicates": ("unique_ndcg@10",),
}


def read_metrics(texts: Sequence[str] | None, **roles: str | None) -> list[MetricLike]:
    """Return metrics by text or from files; those that look at a column look at the named one."""
    from rankwright.evaluation.measure import DEFAULT_METRICS
    from rankwright.metrics.metric import fields_of

    found: list[MetricLike] = [read_metric(text) for text in texts or DEFAULT_METRICS]
    for role, column in roles.items():
        if column is None:
            continue
        known = [text for text in found if role in fields_of(_as_metric(text))]
        found += () if known else _BY_ROLE[role]
        found = [_looking_at(text, role, column) for text in found]
    return found


def read_metric(text: str) -> MetricLike:
    """Return a metric by its text, or the function or metric that a file defines."""
    match = _OWN.fullmatch(text)
    metric: MetricLike = text if match is None else _from_file(match["path"], match["name"])
    _as_metric(metric)
    return metric


def _from_file(path: str, name: str) -> Any:
    """Run a file, and return what it calls by this name."""
    from rankwright.exceptions import DataError

    place = Path(path)
    if not place.is_file():
        raise DataError("there is no such file.", path=path)
    # Where other processes look for it too; behind all else, so that nothing is hidden by it.
    folder = str(place.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        module = importlib.import_module(place.stem)
    except Exception as error:
        told = " ".join(str(error).split())
        raise DataError(f"cannot be run: {type(error).__name__}: {told:.300}", path=path) from None
    if not os.path.samefile(getattr(module, "__file__", None) or os.devnull, path):
        raise DataError(f"there is another module {place.stem!r}: rename the file.", path=path)
    if not hasattr(module, name):
        raise DataError(f"defines no {name!r}.", path=path)
    return getattr(module, name)


def _as_metric(metric: MetricLike) -> Metric:
    from rankwright.metrics import parse

    return parse(metric)


def _looking_at(metric: MetricLike, role: str, column: str) -> MetricLike:
    from rankwright.metrics.metric import fields_of

    known: Any = _as_metric(metric)
    told = isinstance(metric, str) and f"{role}=" in metric
    return metric if told or role not in fields_of(known) else replace(known, **{role: column})


def kept_for(
    columns: Columns, segments: Sequence[str], path: str, metrics: Sequence[MetricLike] = ()
) -> Columns:
    """Return the columns of a table with those kept that segments and metrics need.

    What documents are about is for those who measure, and never a feature.
    """
    from rankwright.data.columns import DOC_ID
    from rankwright.data.formats import TABLES, format_of
    from rankwright.evaluation.segments import column_of_segment
    from rankwright.metrics.metric import fields_of

    parsed = [_as_metric(metric) for metric in metrics]
    needed = {column: f"--segment {by}" for by in segments if (column := column_of_segment(by))}
    for metric in parsed:
        for column in metric.needs:
            if column != DOC_ID:  # which is known without being kept
                needed.setdefault(column, str(metric))
    if needed and not os.path.isdir(path) and format_of(path, columns.format) not in TABLES:
        who = next(iter(needed.values()))
        raise ValueError(f"{who} needs a table with that column, and {path} is none.")
    topics = {fields_of(metric).get("subtopics") for metric in parsed} - {None, *columns.ignore}
    keep = dict.fromkeys([*columns.keep, *needed])
    return replace(columns, keep=[*keep], ignore=[*columns.ignore, *sorted(map(str, topics))])


def exposure_by_group(
    metrics: Sequence[MetricLike], dataset: Dataset, systems: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the shares of groups by the scores of each system, for each metric of exposure."""
    from rankwright.estimator import as_model
    from rankwright.metrics import ExposureDisparity

    kinds = [
        known for metric in metrics if isinstance(known := _as_metric(metric), ExposureDisparity)
    ]
    lines = []
    for name, system in systems.items() if kinds else ():
        scores = system
        if hasattr(system, "predict"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # measuring it has told
                scores = as_model(system, dataset.n_features).predict_dataset(dataset)
        for kind in kinds:
            lines += [{"system": name, **line} for line in kind.by_group(dataset, scores)]
    return lines


def print_groups(lines: Sequence[Mapping[str, Any]], *, err: bool) -> None:
    """Print what share of documents, relevance and exposure each group has."""
    from rankwright.evaluation.segments import MISSING

    if not lines:
        return
    several = len({line["system"] for line in lines}) > 1
    names = [name for name in lines[0] if several or name != "system"]
    rows = [
        [line[n] or MISSING if isinstance(line[n], str) else f"{line[n]:.4f}" for n in names]
        for line in lines
    ]
    typer.echo("", err=err)
    print_table(names, rows, err=err)
