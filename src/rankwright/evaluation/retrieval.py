r"""Metrics of a run against judgements, where not every judged document was found.

A document that was not found has no rank and gains nothing, but counts among those that could have
been found, as in trec_eval:

.. math::
    \mathrm{NDCG} = \frac{\mathrm{DCG}(\text{found})}{\mathrm{DCG}(\text{judged, best first})},
    \qquad \mathrm{AP} = \frac{1}{R} \sum_{r} [y_{(r)} \ge \tau]\, \mathrm{P@}r,

with :math:`R` relevant documents in the judgements. A document without a judgement, or with a
negative one, is either taken for irrelevant, as trec_eval does it, or removed (its option ``-J``),
so that the next one takes its rank ("condensed lists"): Sakai, "Alternatives to bpref", SIGIR 2007.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Groups, Ints
from rankwright.data.trec import Run, document_names
from rankwright.data.validation import Floats
from rankwright.exceptions import DataError, DataWarning
from rankwright.metrics.binary import AP, F1, RBP, RR, HitRate, Precision, Recall, RPrecision
from rankwright.metrics.dcg import DCG, NDCG
from rankwright.metrics.err import ERR
from rankwright.metrics.judged import Bpref, Judged
from rankwright.metrics.metric import Metric, fields_of
from rankwright.metrics.ranking import RankedLabels

Unjudged: TypeAlias = Literal["irrelevant", "remove"]


@dataclass(frozen=True, eq=False)
class _Found:
    """What a run found: labels and scores of its documents, and all that was judged."""

    y: Floats  # NaN where there is no judgement
    scores: Floats
    groups: Groups
    queries: Ints  # that have documents in the run, by position among the judged
    judged_y: Floats
    judged: Groups

    def irrelevant(self) -> _Found:
        """Return the same with 0 for labels that are not known, or negative."""
        return replace(
            self, y=np.maximum(np.nan_to_num(self.y), 0.0), judged_y=np.maximum(self.judged_y, 0.0)
        )

    def condensed(self) -> _Found:
        """Return the same without documents whose labels are not known, or negative."""
        known = self.y >= 0
        groups, sizes = _some_rows(self.groups, known)
        return replace(
            self,
            y=self.y[known],
            scores=self.scores[known],
            groups=Groups(np.unique(groups.indptr)),
            queries=self.queries[sizes > 0],
        ).irrelevant()

    def pooled(self) -> _Found:
        """Return the same, also among all judgements, as trec_eval's bpref looks at them."""
        kept = self.judged_y >= 0
        judged, _ = _some_rows(self.judged, kept)
        return replace(self, judged_y=self.judged_y[kept], judged=judged).condensed()

    def ranking(self, depth: int | None) -> RankedLabels:
        """Return the documents by score, and all that was judged of their queries."""
        rows = self.judged.rows_of(self.queries)
        sizes = self.judged.sizes[self.queries]
        judged = self.judged_y[rows], Groups(np.append(0, np.cumsum(sizes)))
        return RankedLabels(self.y, self.scores, self.groups, depth=depth, judged=judged)


def check_unjudged(word: str) -> None:
    """Raise unless a word says what becomes of documents without a label."""
    if word not in ("irrelevant", "remove"):
        raise ValueError(f"unjudged must be 'irrelevant' or 'remove', but is {word!r}.")


def per_query_of_run(
    metrics: Sequence[Metric], run: Run, dataset: Dataset, unjudged: Unjudged = "irrelevant"
) -> list[Floats]:
    """Return metrics of a run for each query of a data set of judgements.

    Queries without a document in the run count 0, as with trec_eval's ``-c``; queries of the run
    that were not judged are left out. Warnings tell how many. Documents without a judgement are
    taken for irrelevant, or removed.
    """
    check_unjudged(unjudged)
    found = _join(run, dataset)
    other = found.condensed() if unjudged == "remove" else found.irrelevant()
    # bpref does not look at documents without a judgement, and judged@k looks for them.
    return [
        _judged(metric, found)
        if isinstance(metric, Judged)
        else _per_query(metric, found.pooled() if isinstance(metric, Bpref) else other)
        for metric in metrics
    ]


def _judged(metric: Judged, found: _Found) -> Floats:
    values = np.zeros(found.judged.n_queries)
    values[found.queries] = metric.per_query(found.y, found.scores, found.groups)
    return values


def scores_of_run(run: Run, dataset: Dataset) -> Floats:
    """Return the scores of a data set's rows; -inf for documents that the run lacks."""
    pairs = zip(run.qid.tolist(), run.doc_ids.tolist(), strict=True)
    known = dict(zip(pairs, run.scores.tolist(), strict=True))
    rows = zip(map(str, dataset.qid.tolist()), document_names(dataset), strict=True)
    return np.array([known.get(row, -np.inf) for row in rows])


def _join(run: Run, dataset: Dataset) -> _Found:
    """Find the labels of a run's documents; rows by query, then by falling document id.

    That is trec_eval's order of equal scores, for metrics that keep the order of the rows.
    """
    y = dataset.y
    position = {str(name): i for i, name in enumerate(dataset.groups.names.tolist())}
    pairs = zip(map(str, dataset.qid.tolist()), document_names(dataset), strict=True)
    labels: dict[tuple[str, str], float] = dict(zip(pairs, y.tolist(), strict=True))
    if len(labels) < dataset.n_docs:
        raise DataError("a document must be judged once in a query, but one is there twice.")
    rows = [
        (position[query], doc, labels.get((query, doc), np.nan), score)
        for query, doc, score in zip(
            run.qid.tolist(), run.doc_ids.tolist(), run.scores.tolist(), strict=True
        )
        if query in position
    ]
    if not rows:
        raise DataError("the run and the judgements have no query in common.")
    unknown = len(set(run.qid.tolist()) - set(position))
    rows.sort(key=lambda row: row[1], reverse=True)
    rows.sort(key=lambda row: row[0])
    query = np.array([row[0] for row in rows])
    queries, sizes = np.unique(query, return_counts=True)
    _tell(unknown, "of the run {} not judged and left out")
    _tell(dataset.n_queries - len(queries), "without a document in the run {} counted 0")
    return _Found(
        np.array([row[2] for row in rows]),
        np.array([row[3] for row in rows]),
        Groups(np.append(0, np.cumsum(sizes))),
        queries,
        y,
        dataset.groups,
    )


def _per_query(metric: Metric, found: _Found) -> Floats:
    share = _share(metric, found)
    has_empty = "empty" in fields_of(metric)
    bare: Any = metric
    if has_empty:
        bare = replace(bare, empty="skip")
    possible = ~np.isnan(bare.per_query(found.judged_y, found.judged_y, found.judged))
    values = np.zeros(found.judged.n_queries)
    # Nothing relevant was found: 0, whatever an empty query counts.
    values[found.queries] = np.nan_to_num(bare.from_ranking(found.ranking(metric.depth)))
    values[found.queries] *= share
    empty = fields_of(metric).get("empty", 0.0)
    values[~possible] = np.nan if empty == "skip" else float(empty)
    return values


def _share(metric: Metric, found: _Found) -> Floats:
    """Return how the normaliser of what was found compares with that of what was judged."""
    if type(metric) is NDCG:
        best = DCG(k=metric.k, gain=metric.gain, discount=metric.discount)
        own = best.per_query(found.y, found.y, found.groups)
        every = best.per_query(found.judged_y, found.judged_y, found.judged)[found.queries]
        return _ratio(own, every)
    if isinstance(metric, AP | Recall):
        own = np.add.reduceat(found.y >= metric.threshold, found.groups.indptr[:-1], dtype=float)
        counts = np.add.reduceat(
            found.judged_y >= metric.threshold, found.judged.indptr[:-1], dtype=float
        )
        every = counts[found.queries]
        if isinstance(metric, AP) and metric.denominator == "cutoff" and metric.k is not None:
            own, every = np.minimum(own, metric.k), np.minimum(every, metric.k)
        return _ratio(own, every)
    if isinstance(metric, Bpref | DCG | ERR | F1 | HitRate | Precision | RBP | RPrecision | RR):
        return np.ones(len(found.queries))
    raise ValueError(
        f"{metric} needs a score for every judged document, which a run has not. Measure ndcg, "
        "dcg, ap, rr, err, precision, recall, f1, r_precision, bpref, judged, hit_rate or rbp."
    )


def _some_rows(groups: Groups, kept: NDArray[np.bool_]) -> tuple[Groups, Ints]:
    """Return the queries with some of their rows only, and how many each has."""
    up_to = np.append(0, np.cumsum(kept))[groups.indptr]
    return Groups(up_to), np.diff(up_to)


def _ratio(own: Floats, every: Floats) -> Floats:
    return np.divide(own, every, out=np.zeros_like(own), where=every > 0)


def _tell(n: int, what: str) -> None:
    if n:
        queries, verb = ("query", "is") if n == 1 else ("queries", "are")
        warnings.warn(f"{n} {queries} {what.format(verb)}.", DataWarning, stacklevel=2)
