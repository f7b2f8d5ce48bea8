"""Why two metrics give different numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.metrics.metric import Metric, fields_of, mean_of_queries, per_query_of_all
from rankwright.metrics.parsing import parse
from rankwright.showing import Brief

_MEANING: dict[tuple[str, Any], str] = {
    ("gain", "exp2"): "the gain of label y is 2^y - 1",
    ("gain", "linear"): "the gain of label y is y",
    ("discount", "log2"): "rank r is discounted by log2(1 + r)",
    ("discount", "letor"): "ranks 1 and 2 are not discounted, rank r >= 3 by log2(r)",
    ("denominator", "subtopics"): "the mean over subtopics, times alpha",
    ("denominator", "full"): "the mean over subtopics, over what a list about all of them gains",
    ("target", "documents"): "exposure is held against the share of documents",
    ("target", "relevance"): "exposure is held against the share of relevance",
    ("ties", "average"): "tied scores count as the mean of orders",
    ("ties", "order"): "tied scores keep the order of the rows",
    ("ties", "worst"): "tied scores put lower labels first",
    ("ties", "best"): "tied scores put higher labels first",
    ("short", "keep"): "a query with fewer than k documents counts like any other",
    ("short", "zero"): "a query with fewer than k documents counts 0",
    ("denominator", "relevant"): "divided by the number of relevant documents",
    (
        "denominator",
        "cutoff",
    ): "divided by k, or by the number of relevant documents for AP if that is less",
    ("denominator", "documents"): "divided by k, or by the number of documents if that is less",
    ("variant", "a"): "tau-a: divided by the number of all pairs",
    ("variant", "b"): "tau-b: corrected for ties",
}


@dataclass(frozen=True, repr=False)
class QueryDifference(Brief):
    """One query on which two metrics differ."""

    query: Any
    a: float
    b: float
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """The answer of :func:`explain_difference`; print it."""

    a: Metric
    b: Metric
    conventions: tuple[str, ...]
    mean_a: float | None = None
    mean_b: float | None = None
    n_queries: int = 0
    queries: tuple[QueryDifference, ...] = ()
    n_moved: int = 0

    def __repr__(self) -> str:
        lines = [f"a = {self.a}", f"b = {self.b}"]
        lines += [f"- {text}" for text in self.conventions] or ["- the same conventions"]
        if self.mean_a is not None and self.mean_b is not None:
            lines.append(
                f"means: a = {self.mean_a:.6f}, b = {self.mean_b:.6f}; "
                f"{self.n_moved} of {self.n_queries} queries differ"
            )
        for query in self.queries:
            reasons = f" ({', '.join(query.reasons)})" if query.reasons else ""
            lines.append(
                f"  query {query.query}: a {_readable(query.a)}, b {_readable(query.b)}{reasons}"
            )
        if self.n_moved > len(self.queries):
            lines.append(f"  ... and {self.n_moved - len(self.queries)} more")
        return "\n".join(lines)


def explain_difference(
    a: str | Metric,
    b: str | Metric,
    y: ArrayLike | None = None,
    scores: ArrayLike | None = None,
    groups: Groups | None = None,
    *,
    most: int = 5,
) -> Difference:
    """Say in words which conventions of two metrics differ and, given data, which queries move.

    Parameters
    ----------
    a, b : Metric or str
        The metrics.
    y, scores : array-like of shape (n_docs,), optional
        Labels and scores to compare them on.
    groups : Groups, optional
        Row ranges of the queries; None is one query.
    most : int, default 5
        Queries to list, largest difference first.

    Examples
    --------
    >>> print(explain_difference("lightgbm:ndcg@1", "ndcg@1", [1, 0, 0], [3.0, 3.0, 1.0]))
    a = ndcg@1(ties=order,empty=1.0)
    b = ndcg@1
    - ties: a: tied scores keep the order of the rows; b: tied scores count as the mean of orders
    - empty: a: an undefined query counts 1; b: an undefined query is left out
    means: a = 1.000000, b = 0.500000; 1 of 1 queries differ
      query 0: a = 1.000000, b = 0.500000 (tied scores)
    """
    first, second = parse(a), parse(b)
    conventions = _compare(first, second)
    if y is None or scores is None:
        return Difference(first, second, conventions)
    values_a, values_b = per_query_of_all([first, second], y, scores, groups)
    groups = Groups.one_query(np.size(y)) if groups is None else groups
    skipped_a, skipped_b = np.isnan(values_a), np.isnan(values_b)
    both = ~skipped_a & ~skipped_b
    gap = np.where(both, np.abs(np.where(both, values_a - values_b, 0)), 0)
    # A query that only one of them counts changes what the mean is over: it comes first.
    gap[skipped_a != skipped_b] = np.inf
    # Rounding is no difference: the mean gain of three tied documents is not exactly the gain of
    # one, even if their labels are equal.
    moved = np.flatnonzero(gap > 1e-12)
    worst = moved[np.argsort(-gap[moved], kind="stable")][:most]
    ids = groups.names
    listed = tuple(
        QueryDifference(
            ids[q : q + 1].tolist()[0],
            float(values_a[q]),
            float(values_b[q]),
            _reasons(first, second, np.asarray(y), np.asarray(scores), groups, int(q)),
        )
        for q in worst
    )
    return Difference(
        first,
        second,
        conventions,
        mean_of_queries(values_a, str(first)),
        mean_of_queries(values_b, str(second)),
        groups.n_queries,
        listed,
        len(moved),
    )


def _compare(a: Metric, b: Metric) -> tuple[str, ...]:
    if type(a) is not type(b):
        return (f"metric: a is {a.name}, b is {b.name}",)
    texts = []
    others = fields_of(b)
    for name, left in fields_of(a).items():
        right = others[name]
        if left != right:
            texts.append(f"{name}: a: {_words(name, left)}; b: {_words(name, right)}")
    return tuple(texts)


def _words(name: str, value: Any) -> str:
    if (name, value) in _MEANING:
        return _MEANING[name, value]
    if name == "empty":
        return (
            "an undefined query is left out"
            if value == "skip"
            else f"an undefined query counts {value:g}"
        )
    if name == "k":
        return "all ranks count" if value is None else f"{value} ranks count"
    if name == "threshold":
        return f"relevant from label {value:g} on"
    return f"{name} = {value if isinstance(value, str) else f'{value:g}'}"


def _readable(value: float) -> str:
    return "skipped" if np.isnan(value) else f"= {value:.6f}"


def _reasons(
    a: Metric, b: Metric, y: Floats, scores: Floats, groups: Groups, query: int
) -> tuple[str, ...]:
    """Return what is special about a query, as far as the two metrics treat it differently."""
    rows = slice(int(groups.indptr[query]), int(groups.indptr[query + 1]))
    labels, values = y[rows], scores[rows]
    of_a, of_b = fields_of(a), fields_of(b)
    differ = {name for name, value in of_a.items() if value != of_b.get(name)}
    reasons = []
    cutoffs = [k for k in (of_a.get("k"), of_b.get("k")) if k is not None]
    if "ties" in differ and len(np.unique(values)) < len(values):
        reasons.append("tied scores")
    # Graded metrics have no threshold: a query is empty for them if no label is above 0.
    threshold: float = of_a.get("threshold", 1e-300)
    if "empty" in differ and not (labels >= threshold).any():
        reasons.append("no relevant document")
    if differ & {"short", "denominator", "k"} and cutoffs and len(labels) < max(cutoffs):
        reasons.append(f"only {len(labels)} documents")
    if "gain" in differ and (labels > 1).any():
        reasons.append("labels above 1")
    other: float = of_b.get("threshold", threshold)
    if ((labels >= threshold) != (labels >= other)).any():
        reasons.append("labels between the thresholds")
    return tuple(reasons)
