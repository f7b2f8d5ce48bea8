"""NDCG of lists in which a document may stand twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwright.data.columns import DOC_ID
from rankwright.data.groups import Groups, Ints
from rankwright.data.validation import Floats
from rankwright.metrics.dcg import DCG, NDCG, require_gain_labels
from rankwright.metrics.metric import Columns, RowMetric
from rankwright.metrics.on_data import column
from rankwright.metrics.order import text_codes


@dataclass(frozen=True)
class UniqueNDCG(RowMetric, NDCG):
    r"""NDCG of a list from which repeated documents are dropped.

    .. math::
        \mathrm{NDCG@}k = \frac{1}{Z} \sum_{r=1}^{k} G(y_{(r)})\, D(r)

    where :math:`(1), (2), \ldots` are the documents that are the first of their key; a later one
    neither gains nor takes a rank. :math:`Z` is the sum of the best order of such a list: each key
    once, with its highest label.

    Of documents with one key and one score, one stays: their mean gain with ``ties="average"``, the
    first row with ``"order"``, the lowest or highest label with ``"worst"`` or ``"best"``.

    Parameters
    ----------
    k, gain, discount, ties, empty, short
        As for :class:`NDCG`. ``short`` counts each key once.
    duplicates : str, default "doc_id"
        The column whose equal values, within a query, are one document; ids of documents need not
        be kept. A document without a value is like no other.

    Examples
    --------
    >>> NDCG().per_query([1, 1, 0], [3.0, 2.0, 1.0])
    array([1.])
    >>> UniqueNDCG().per_query([0, 0, 1], [3.0, 2.0, 1.0], columns={"doc_id": ["a", "a", "b"]})
    array([0.63092975])
    """

    duplicates: str = DOC_ID

    name: ClassVar[str] = "unique_ndcg"

    def of_rows(self, y: Floats, scores: Floats, groups: Groups, columns: Columns) -> Floats:
        """Return the metric of each query."""
        require_gain_labels(y, self.name, self.gain)
        key = _keys(column(self, columns, self.duplicates, len(y)), groups)
        unique = self._unique(y, scores, key)
        sizes = np.bincount(groups.query_of_rows()[unique.row], minlength=groups.n_queries)
        parts = Groups(np.append(0, np.cumsum(sizes)))
        dcg = DCG(self.k, self.gain, self.discount, self.ties)
        gained = dcg.per_query(unique.label, unique.score, parts)
        ideal = dcg.per_query(unique.highest, unique.highest, parts)
        found: Floats = np.full(len(ideal), self.undefined)
        np.divide(gained, ideal, out=found, where=ideal > 0)
        if self.short == "zero" and self.k is not None:
            found[(sizes < self.k) & (sizes > 0)] = 0.0
        return found

    def _unique(self, labels: Floats, scores: Floats, key: Ints) -> _Unique:
        """Return one document for each key, in the order of their rows."""
        order = np.lexsort((-scores, key))  # of a key, the best score first, then the first row
        first = np.flatnonzero(np.diff(key[order], prepend=-1))
        row, highest = order[first], np.maximum.reduceat(labels[order], first)
        # Only those with the score of the first can be in its place.
        rivals = order[
            scores[order] == np.repeat(scores[row], np.diff(np.append(first, len(order))))
        ]
        begin = np.flatnonzero(np.diff(key[rivals], prepend=-1))
        low = np.minimum.reduceat(labels[rivals], begin)
        high = np.maximum.reduceat(labels[rivals], begin)
        label = {"order": labels[row], "worst": low, "best": high}.get(self.ties)
        if label is None:
            exponential = self.gain == "exp2"
            gains = np.exp2(labels[rivals]) - 1 if exponential else labels[rivals]
            mean = np.add.reduceat(gains, begin) / np.diff(np.append(begin, len(rivals)))
            label = np.where(low == high, low, np.log2(1 + mean) if exponential else mean)
        by_row = np.argsort(row)
        return _Unique(row[by_row], label[by_row], scores[row][by_row], highest[by_row])


@dataclass(frozen=True)
class _Unique:
    """A document for each key: its row, what it gains and scores, and the best of its key."""

    row: Ints
    label: Floats
    score: Floats
    highest: Floats


def _keys(texts: NDArray[Any], groups: Groups) -> Ints:
    """Return numbers that are equal for documents of one query with the same text."""
    distinct, code = text_codes(texts)
    n_rows = len(texts)
    own = np.arange(n_rows)
    nameless = (distinct == "")[code]
    known = groups.query_of_rows() * len(distinct) + code
    number: Ints = np.unique(np.where(nameless, -1 - own, known), return_inverse=True)[1]
    return number
