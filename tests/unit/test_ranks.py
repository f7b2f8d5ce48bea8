"""Positions in rankings."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw


def test_ranks_count_from_one_within_each_query() -> None:
    ranks = rw.rank([0.1, 0.7, 0.9, 0.4], ["a", "b", "a", "b"])
    assert ranks.tolist() == [2, 1, 1, 2]
    assert ranks.dtype == np.int64


def test_without_qid_there_is_one_query() -> None:
    assert rw.rank([3, 1, 2]).tolist() == [1, 3, 2]
    assert rw.top_k([3, 1, 2], k=2).tolist() == [0, 2]


def test_equal_scores_keep_the_order_of_rows() -> None:
    assert rw.rank([1.0, 2.0, 1.0, 2.0]).tolist() == [3, 1, 4, 2]
    assert rw.rank([-0.0, 0.0]).tolist() == [1, 2]
    assert rw.top_k([5.0, 5.0, 5.0], k=2).tolist() == [0, 1]


def test_top_k_lists_queries_by_first_row_and_documents_by_score() -> None:
    scores, qid = [0.1, 0.7, 0.9, 0.4, 0.5], ["b", "a", "b", "a", "b"]
    assert rw.top_k(scores, qid, k=2).tolist() == [2, 4, 1, 3]
    assert rw.top_k(scores, qid, k=1).tolist() == [2, 1]
    assert rw.top_k(scores, qid).tolist() == [2, 4, 0, 1, 3]
    assert rw.top_k(scores, qid, k=int(np.int64(1))).tolist() == [2, 1]


def test_nothing_gives_nothing() -> None:
    assert rw.rank([]).tolist() == []
    assert rw.rank([], []).tolist() == []
    assert rw.top_k([], []).tolist() == []


rows = st.lists(st.tuples(st.sampled_from([-1.5, 0.0, 2.0]), st.integers(0, 3)), max_size=15)


@given(rows)
def test_ranks_equal_a_slow_computation(pairs: list[tuple[float, int]]) -> None:
    scores, qid = [score for score, _ in pairs], [query for _, query in pairs]
    slow = [
        1
        + sum(
            q == query and (s > score or (s == score and j < i)) for j, (s, q) in enumerate(pairs)
        )
        for i, (score, query) in enumerate(pairs)
    ]
    assert rw.rank(scores, qid).tolist() == slow
    best = [
        min(i for i in range(len(pairs)) if qid[i] == query and slow[i] == 1)
        for query in dict.fromkeys(qid)
    ]
    assert rw.top_k(scores, qid, k=1).tolist() == best


@pytest.mark.parametrize("k", [0, -1, 2.0, True, None, "3"])
def test_wrong_numbers_of_documents_are_refused(k: Any) -> None:
    message = f"k must be a positive integer, but is {k!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        rw.top_k([1.0], k=k)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_must_be_finite(bad: float) -> None:
    with pytest.raises(ValueError, match=rf"^scores must be finite, but row 1 is {bad}\.$"):
        rw.rank([0.0, bad])
    with pytest.raises(ValueError, match="scores must be finite"):
        rw.top_k([0.0, bad])


def test_ids_must_fit_the_scores() -> None:
    with pytest.raises(ValueError, match="qid must have one id per row, 2 in all, but has 3"):
        rw.rank([0.0, 1.0], [1, 2, 3])
