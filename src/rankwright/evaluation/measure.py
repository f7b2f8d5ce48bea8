"""Measure scores or a model on a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.data.framing import Backend, frame_of, table_named
from rankwright.data.parts import Parts
from rankwright.data.texts import join_ids
from rankwright.data.validation import Floats
from rankwright.evaluation.contest import Contest, Standing, means_of
from rankwright.evaluation.framed import segments_table
from rankwright.evaluation.retrieval import Unjudged
from rankwright.evaluation.segmented import Segment, segmented
from rankwright.evaluation.segments import parts_by_each
from rankwright.evaluation.systems import bare_queries, contest, systems_on
from rankwright.evaluation.values import write_values
from rankwright.evaluation.views import evaluation_html
from rankwright.metrics.metric import Metric, tell_undefined
from rankwright.metrics.parsing import MetricLike, named_metrics
from rankwright.showing import Brief

DEFAULT_METRICS = ("ndcg@10", "ndcg@5", "ap", "rr")


@dataclass(frozen=True, eq=False, repr=False)
class Result(Brief):
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
    segments : list of Segment
        The same, for queries of a kind.
    """

    results: dict[str, Result]
    query_ids: NDArray[Any]
    segments: list[Segment] = field(default_factory=list)

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

    def _repr_html_(self) -> str:
        return evaluation_html(self)

    def to_frame(
        self,
        table: Literal["metrics", "queries", "segments"] = "metrics",
        *,
        backend: Backend | None = None,
    ) -> Any:
        """Return one of its tables as a data frame.

        Parameters
        ----------
        table : {"metrics", "queries", "segments"}, default "metrics"
            A row for each metric; for each query, with a column for each metric; or for each kind
            of queries and metric.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Whose data frame it is; by default the first of them that is installed.
        """
        results = self.results
        numbers = ("mean", "low", "high", "n_queries")
        tables: dict[str, Callable[[], Mapping[str, Any]]] = {
            "metrics": lambda: (
                {"metric": list(results)}
                | {name: [getattr(r, name) for r in results.values()] for name in numbers}
            ),
            "queries": lambda: (
                {"qid": self.query_ids} | {name: r.per_query for name, r in results.items()}
            ),
            "segments": lambda: segments_table(self.segments),
        }
        return frame_of(table_named(table, tables), backend)

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
        columns = {name: result.per_query for name, result in self.results.items()}
        write_values(path, self.query_ids, columns)


@overload
def evaluate(
    model_or_scores: Mapping[str, Any],
    dataset: Dataset | Parts,
    metrics: MetricLike | Sequence[MetricLike] = ...,
    *,
    segments: Sequence[str] = ...,
    reference: str | None = ...,
    unjudged: Unjudged = ...,
    random_state: int = ...,
    n_jobs: int | None = ...,
) -> Contest: ...
@overload
def evaluate(
    model_or_scores: Any,
    dataset: Dataset | Parts,
    metrics: MetricLike | Sequence[MetricLike] = ...,
    *,
    segments: Sequence[str] = ...,
    reference: str | None = ...,
    unjudged: Unjudged = ...,
    random_state: int = ...,
    n_jobs: int | None = ...,
) -> Evaluation: ...
def evaluate(
    model_or_scores: Any,
    dataset: Dataset | Parts,
    metrics: MetricLike | Sequence[MetricLike] = DEFAULT_METRICS,
    *,
    segments: Sequence[str] = (),
    reference: str | None = None,
    unjudged: Unjudged = "irrelevant",
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Evaluation | Contest:
    """Measure a model, or scores, on a data set; or several, and tell them apart.

    Parameters
    ----------
    model_or_scores : object with ``predict(X)``, array-like of shape (n_docs,), frame, or Run
        A ranker, whose features are found by their names; scores in the order of the data
        set's rows; a data frame with the columns ``qid``, ``doc_id`` and ``score``, or a run, whose
        documents are found by their ids. Documents that a run lacks are not ranked, as in
        trec_eval. A mapping has several of them by name.
    dataset : Dataset or Parts
        Features, labels and queries. Data in parts are measured by models, part by part; values
        are those of all parts in memory.
    metrics : str, Metric or function, or sequence of them
        What to measure. A function gets the labels and scores of one query; see
        :class:`rankwright.metrics.FunctionMetric`.
    segments : sequence of str
        Kinds of queries to measure apart, such as ``"list-length"`` or a column that the data keep;
        see :mod:`rankwright.evaluation.segments`.
    reference : str, optional
        Of several systems, the one that the others are tested against; the first by default.
    unjudged : {"irrelevant", "remove"}, default "irrelevant"
        What becomes of a run's documents without a label: they count 0, as in trec_eval, or they
        are removed before the list is measured. Scores have a label for each document.
    random_state : int, default 0
        Seed of the bootstrap.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Evaluation or Contest
        Means with 95 % bootstrap intervals over queries; of several systems also tests of their
        differences.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> ds = make_mslr_like(n_queries=50, random_state=0)
    >>> evaluate(ds.X[:, 4], ds, ["ndcg@10", "map"])
    ndcg@10  0.4613  [0.4195, 0.5020]  50 queries
    map      0.7190  [0.6866, 0.7489]  50 queries
    >>> both = evaluate({"today": ds.X[:, 4], "new": ds.X[:, 4] + ds.X[:, 5]}, ds)
    >>> both.best
    'new'
    """
    named = list(named_metrics(metrics).items())
    if isinstance(model_or_scores, Mapping):
        found = contest(
            model_or_scores,
            dataset,
            named,
            reference=reference,
            segments=segments,
            unjudged=unjudged,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        for name in found.metrics:
            if all(np.isnan(standing.means[name]) for standing in found.standings):
                tell_undefined(name, stacklevel=3)
        return found
    if reference is not None:
        raise ValueError("reference is for several systems: pass them by name.")
    found_on = systems_on("", model_or_scores, dataset, named, n_jobs, unjudged=unjudged)
    values = [one.values for one in found_on]
    standing = Standing(name="", **means_of({"": values}, random_state)[""])
    for name, mean in standing.means.items():
        if np.isnan(mean):
            tell_undefined(name, stacklevel=3)
    results = {
        name: Result(
            metric,
            standing.means[name],
            standing.low[name],
            standing.high[name],
            standing.per_query[name],
        )
        for name, metric in named
    }
    cut = parts_by_each(segments, bare_queries(dataset, segments)) if segments else []
    apart = segmented([standing], cut, list(results), random_state=random_state)
    return Evaluation(results, _query_ids(dataset), apart)


def _query_ids(dataset: Dataset | Parts) -> NDArray[Any]:
    if isinstance(dataset, Dataset):
        return dataset.groups.names
    return join_ids(dataset.map(_ids_of_part))


def _ids_of_part(part: Dataset) -> NDArray[Any]:
    return part.groups.names


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
