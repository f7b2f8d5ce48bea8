"""Positions of documents in the rankings of their queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.groups import Ints, gather
from rankwright.data.validation import check_count, check_qid, check_scores


def rank(scores: ArrayLike, qid: ArrayLike | None = None) -> Ints:
    """Return each row's position in its query: 1 for the largest score.

    Equal scores keep the order of the rows.

    Parameters
    ----------
    scores : array-like of shape (n_docs,)
        Scores.
    qid : array-like of shape (n_docs,), optional
        Query ids in any order; None is one query.

    Examples
    --------
    >>> rank([0.1, 0.7, 0.9, 0.4], qid=["a", "b", "a", "b"])
    array([2, 1, 1, 2])
    """
    order, places = _sorted_rows(scores, qid)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = places + 1
    return ranks


def top_k(scores: ArrayLike, qid: ArrayLike | None = None, k: int = 10) -> Ints:
    """Return the rows of each query's first ``k`` documents, best first.

    Queries come in the order of their first rows.

    Examples
    --------
    >>> top_k([0.1, 0.7, 0.9, 0.4], qid=["a", "b", "a", "b"], k=1)
    array([2, 1])
    """
    check_count("k", k)
    order, places = _sorted_rows(scores, qid)
    return order[places < k]


def _sorted_rows(scores: ArrayLike, qid: ArrayLike | None) -> tuple[Ints, Ints]:
    """Rows by query and falling score, and the place of each within its query, from 0."""
    values = check_scores(scores)
    rows, groups = gather(check_qid(qid, len(values)))
    if rows is None:
        rows = np.arange(len(values))
    within = np.lexsort((-values[rows], groups.query_of_rows()))
    return rows[within], groups.positions()
