"""Rows in the order of their scores, for metrics that look at more of a document than its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.groups import Groups, Ints
from rankwright.data.validation import Floats


@dataclass(frozen=True)
class RankedRows:
    """Where each row stands: in which block of tied documents, from which rank on.

    Attributes
    ----------
    query : ndarray of shape (n_docs,)
        The query of each row.
    block : ndarray of shape (n_docs,)
        Blocks of equal scores, numbered query after query from the best score down.
    begin, size : ndarray of shape (n_blocks,)
        First rank of a block, from 0, and its documents.
    """

    query: Ints
    block: Ints
    begin: Ints
    size: Ints


def rows_by_rank(scores: Floats, groups: Groups, ties: str) -> RankedRows:
    """Rank the rows of each query; with ``ties="order"`` every row is a block of its own."""
    query = groups.query_of_rows()
    order = np.lexsort((-scores, query))  # stable: equal scores keep the order of the rows
    new = np.ones(len(order), dtype=bool)
    if ties != "order":
        same = (scores[order][1:] == scores[order][:-1]) & (query[order][1:] == query[order][:-1])
        new[1:] = ~same
    first = np.flatnonzero(new)
    block = np.empty(len(order), dtype=np.int64)
    block[order] = np.cumsum(new) - 1
    begin = first - groups.indptr[query[order][first]]
    return RankedRows(query, block, begin, np.diff(np.append(first, len(order))))


def text_codes(texts: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the distinct texts in their order, and for each text its place among them."""
    values = texts.tolist()
    distinct = sorted(set(values))
    place = {text: i for i, text in enumerate(distinct)}
    # Looked up, not sorted: comparing texts would take most of the time of a metric.
    codes = np.fromiter(map(place.__getitem__, values), dtype=np.int64, count=len(values))
    return np.array(distinct, dtype=object), codes


def sums_at(place: Ints, values: Floats, n: int) -> Floats:
    """Return the sum of the values at each of n places."""
    return np.asarray(np.bincount(place, weights=values, minlength=n), dtype=np.float64)
