"""Measure scores or a model on a data set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike, suffix
from rankwright.data.trec import Run
from rankwright.data.validation import Floats
from rankwright.data.writing import write_text
from rankwright.evaluation.bootstrap import bootstrap_interval
from rankwright.evaluation.retrieval import Unjudged, per_query_of_run
from rankwright.metrics.metric import Metric, mean_of_queries
from rankwright.metrics.on_data import per_query_on
from rankwright.metrics.parsing import MetricLike, named_metrics

DEFAULT_METRICS = ("ndcg@10", "ndcg@5", "ap", "rr")


@dataclass(frozen=True, eq=False)
class Result:
    """One metric on one data set."""

    metric: Metric
    mean: float
    low: float  # 95 % bootstrap interval over queries
    high: float
    per_query: Floats

    @property
    def n_queries(self) -> int:
        """Queries that count, that is, were not skipped."""
        return int(np.count_nonzero(~np.isnan(self.per_query)))


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Mapping[str, float]):
    """Metrics of a ranking; a mapping from their names, as given, to their means.

    Attributes
    ----------
    results : dict of str to Result
        Means, intervals and values by query.
    query_ids : ndarray of shape (n_queries,)
        Ids of the queries, in the order of ``per_query``.
    """

    results: dict[str, Result]
    query_ids: NDArray[Any]

    def __getitem__(self, name: str) -> float:
        return self.results[name].mean

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        width = max(map(len, self.results), default=0)
        return "\n".join(
            f"{name:{width}}  {r.mean:.4f}  [{r.low:.4f}, {r.high:.4f}]  {r.n_queries} queries"
            for name, r in self.results.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON; NaN becomes None."""
        return {
            name: {
                "metric": str(r.metric),
                "mean": _or_none(r.mean),
                "low": _or_none(r.low),
                "high": _or_none(r.high),
                "n_queries": r.n_queries,
            }
            for name, r in self.results.items()
        }

    def write_per_query(self, path: PathLike) -> None:
        """Write a tab-separated table, one query a line; ``.json`` gives an object of arrays."""
        names = list(self.results)
        ids = self.query_ids.tolist()
        columns = [self.results[name].per_query.tolist() for name in names]
        if suffix(path) == ".json":
            data = {"qid": ids} | {
                name: [_or_none(v) for v in column]
                for name, column in zip(names, columns, strict=True)
            }
            text = json.dumps(data) + "\n"
        else:
            rows = ["\t".join(["qid", *names])]
            rows += ["\t".join(map(str, row)) for row in zip(ids, *columns, strict=True)]
            text = "\n".join(rows) + "\n"
        write_text(path, text)


def evaluate(
    model_or_scores: Any,
    dataset: Dataset,
    metrics: MetricLike | Sequence[MetricLike] = DEFAULT_METRICS,
    *,
    unjudged: Unjudged = "irrelevant",
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Evaluation:
    """Measure a model, or scores, on a data set.

    Parameters
    ----------
    model_or_scores : object with ``predict(X)``, array-like of shape (n_docs,), or Run
        A ranker, whose features are found by their names; scores in the order of the data
        set's rows; or a run, whose documents are found by their ids. Documents that
        a run lacks are not ranked, as in trec_eval.
    dataset : Dataset
        Features, labels and queries.
    metrics : str, Metric or function, or sequence of them
        What to measure. A function gets the labels and scores of one query; see
        :class:`rankwright.metrics.FunctionMetric`.
    unjudged : {"irrelevant", "remove"}, default "irrelevant"
        What becomes of a run's documents without a label: they count 0, as in trec_eval, or they
        are removed before the list is measured. Scores have a label for each document.
    random_state : int, default 0
        Seed of the bootstrap.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Evaluation
        Means with 95 % bootstrap intervals over queries.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> ds = make_mslr_like(n_queries=50, random_state=0)
    >>> evaluate(ds.X[:, 4], ds, ["ndcg@10", "map"])
    ndcg@10  0.4613  [0.4195, 0.5020]  50 queries
    map      0.7190  [0.6866, 0.7489]  50 queries
    """
    asked = named_metrics(metrics)
    measured = list(asked.values())
    if isinstance(model_or_scores, Run):
        values = per_query_of_run(measured, model_or_scores, dataset, unjudged)
    else:
        scores = model_or_scores
        if hasattr(scores, "predict"):
            from rankwright.estimator import as_model

            scores = as_model(scores, dataset.n_features).predict_dataset(dataset)
        values = per_query_on(measured, dataset, scores, n_jobs=n_jobs)
    results = {}
    for (name, metric), per_query in zip(asked.items(), values, strict=True):
        mean = mean_of_queries(per_query, name)
        low, high = bootstrap_interval(per_query, random_state=random_state)
        results[name] = Result(metric, mean, low, high, per_query)
    return Evaluation(results, dataset.groups.names)


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
