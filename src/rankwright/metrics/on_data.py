"""Metrics of scores on a data set, with the columns that they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.columns import DOC_ID
from rankwright.data.dataset import Dataset
from rankwright.data.feature_names import listed
from rankwright.data.kept import Kept, kept_texts
from rankwright.data.validation import Floats
from rankwright.metrics.metric import Columns, Metric, mean_of_queries, per_query_of_all


def columns_of(dataset: Dataset, metrics: Sequence[Metric]) -> Kept:
    """Return the columns that metrics need; raise for one that is not kept.

    Ids of documents are a column ``doc_id`` without being kept.
    """
    found: Kept = {}
    for metric in metrics:
        for name in metric.needs:
            if name in dataset.kept:
                found[name] = dataset.kept[name]
            elif name == DOC_ID and dataset.doc_ids is not None:
                found[name] = kept_texts(dataset.doc_ids.tolist())
            else:
                raise ValueError(lacking(metric, name, list(dataset.kept)))
    return found


def lacking(metric: Metric, column: str, known: Sequence[str]) -> str:
    """Return what to say of a column that is not there."""
    there = f"the data keeps {listed(known)}" if known else "the data keeps none"
    return (
        f"{metric} needs a column {column!r}, but {there}: read it with keep=[{column!r}], or "
        "name another one in the metric."
    )


def column(metric: Metric, columns: Columns | None, name: str, n_rows: int) -> NDArray[Any]:
    """Return the texts of a column; raise if it is not there, or not as long as the labels."""
    if columns is None or name not in columns:
        raise ValueError(lacking(metric, name, list(columns or ())))
    values = np.asarray(columns[name])
    if values.dtype.kind != "U":  # what a data set keeps is text already, as a rule
        values = kept_texts(values.tolist())
    if values.shape != (n_rows,):
        raise ValueError(
            f"column {name!r} must have one value per row, {n_rows} in all, but has {len(values)}."
        )
    return values


def per_query_on(
    metrics: Sequence[Metric], dataset: Dataset, scores: ArrayLike, *, n_jobs: int | None = None
) -> list[Floats]:
    """Return ``per_query`` of several metrics on a data set.

    Parameters
    ----------
    metrics : sequence of Metric
        What to measure. The columns that they need must be kept (``Dataset.kept``).
    dataset : Dataset
        Labels and queries.
    scores : array-like of shape (n_docs,)
        Scores, in the order of its rows.
    n_jobs : int, optional
        Threads.
    """
    columns = columns_of(dataset, metrics)
    return per_query_of_all(
        metrics, dataset.y, scores, dataset.groups, columns=columns, n_jobs=n_jobs
    )


def mean_on(
    metric: Metric, dataset: Dataset, scores: ArrayLike, *, n_jobs: int | None = None
) -> float:
    """Return the mean of a metric over the queries of a data set that are not skipped."""
    return mean_of_queries(per_query_on([metric], dataset, scores, n_jobs=n_jobs)[0], str(metric))
