"""Row ranges of queries."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwright.data import Groups
from rankwright.data.groups import gather, run_starts
from rankwright.data.hashing import hash_ids


def test_queries_own_the_rows_between_offsets() -> None:
    groups = Groups(np.array([0, 2, 2, 5]))
    assert groups.n_queries == len(groups) == 3
    assert groups.n_rows == 5
    assert groups.sizes.tolist() == [2, 0, 3]
    assert list(groups) == [slice(0, 2), slice(2, 2), slice(2, 5)]
    assert groups.query_of_rows().tolist() == [0, 0, 2, 2, 2]


def test_no_query_at_all_is_allowed() -> None:
    groups = Groups(np.array([0]))
    assert (groups.n_queries, groups.n_rows, list(groups)) == (0, 0, [])
    assert groups.keys.shape == (0,)
    assert groups.query_of_rows().shape == (0,)


def test_one_query_owns_all_rows() -> None:
    assert Groups.one_query(4).indptr.tolist() == [0, 4]


@pytest.mark.parametrize(
    "indptr",
    [[], [1, 2], [0, 3, 2], [[0, 3]], 0, [0.0, 1.5], [0.0, 2.0], ["0", "1"], [False, True], None],
)
def test_wrong_offsets_are_refused(indptr: Any) -> None:
    message = (
        "indptr must be a 1-dimensional array of whole offsets that starts with 0 and never "
        f"decreases, but is {indptr!r}."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        Groups(indptr)


def test_offsets_may_be_any_integers() -> None:
    for indptr in ([0, 2, 3], np.array([0, 2, 3], dtype=np.uint32), np.array([0, 9, 2, 9, 3])[::2]):
        groups = Groups(np.asarray(indptr))
        assert groups.indptr.dtype == np.int64
        assert groups.indptr.flags.c_contiguous
        assert groups.indptr.tolist() == [0, 2, 3]


def test_ids_must_be_one_for_each_query() -> None:
    with pytest.raises(ValueError, match=r"ids must name 2 queries, but has 3\."):
        Groups(np.array([0, 1, 2]), np.array([7, 8, 9]))


def test_ids_may_be_a_list() -> None:
    ids: Any = ["a", "b"]
    groups = Groups(np.array([0, 1, 2]), ids)
    assert groups.ids is not None
    assert groups.ids.tolist() == ["a", "b"]
    np.testing.assert_array_equal(groups.keys, hash_ids(np.array(["a", "b"])))


def test_keys_are_of_the_ids_or_else_of_the_positions() -> None:
    np.testing.assert_array_equal(Groups(np.array([0, 1, 2])).keys, hash_ids(np.array([0, 1])))
    named = Groups(np.array([0, 1, 2]), np.array([1, 0]))
    np.testing.assert_array_equal(named.keys, hash_ids(np.array([1, 0])))


def test_names_are_the_ids_or_else_the_positions() -> None:
    indptr = np.array([0, 2, 3])
    assert Groups(indptr, np.array(["b", "a"])).names.tolist() == ["b", "a"]
    assert Groups(indptr).names.tolist() == [0, 1]


def test_positions_count_from_0_in_every_query() -> None:
    assert Groups(np.array([0, 3, 3, 5])).positions().tolist() == [0, 1, 2, 0, 1]


def test_adjacent_ids_make_groups() -> None:
    groups = Groups.from_qid(["b", "b", "a"])
    assert groups.indptr.tolist() == [0, 2, 3]
    assert groups.ids is not None
    assert groups.ids.tolist() == ["b", "a"]
    assert Groups.from_qid([]).n_queries == 0


def test_scattered_ids_are_refused_with_their_rows() -> None:
    message = (
        "the rows of a query must be adjacent, but query 5 starts at row 0 and again at row 3. "
        "Let rankwright.Dataset gather them."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        Groups.from_qid([5, 5, 6, 5])
    with pytest.raises(ValueError, match="query 'x' starts at row 1 and again at row 3"):
        Groups.from_qid(["y", "x", "z", "x"])


def test_rows_of_queries_come_in_the_order_asked_for() -> None:
    groups = Groups(np.array([0, 2, 2, 5]))
    assert groups.rows_of(np.array([2, 0])).tolist() == [2, 3, 4, 0, 1]
    assert groups.rows_of(np.array([1])).tolist() == []
    assert groups.rows_of(np.array([], dtype=np.int64)).tolist() == []


def test_rows_of_a_negative_position_are_those_from_the_end() -> None:
    groups = Groups(np.array([0, 2, 3, 6]))
    assert groups.rows_of(np.array([-1])).tolist() == [3, 4, 5]
    assert groups.rows_of(np.array([-2])).tolist() == [2]


def test_rows_must_fit() -> None:
    groups = Groups.one_query(3)
    groups.require_rows(3)
    with pytest.raises(ValueError, match=r"groups must cover the 2 rows of y, but cover 3\."):
        groups.require_rows(2)


def test_runs_start_where_the_id_changes() -> None:
    assert run_starts(np.array([4, 4, 2, 4])).tolist() == [0, 2, 3]
    assert run_starts(np.array([], dtype=np.int64)).tolist() == []


ids = st.lists(st.integers(-3, 3), max_size=20)


@given(ids, st.booleans())
def test_gathering_equals_a_slow_one(values: list[int], text: bool) -> None:
    names: list[Any] = [f"q{value}" if text else value for value in values]
    array = np.array(names, dtype=str if text else np.int64)
    order, groups = gather(array)
    expected = [
        i for name in dict.fromkeys(names) for i, other in enumerate(names) if other == name
    ]
    moved = expected != list(range(len(names)))
    assert (order is not None) == moved
    assert (list(range(len(names))) if order is None else order.tolist()) == expected
    assert groups.ids is not None
    assert groups.ids.tolist() == list(dict.fromkeys(names))
    assert groups.sizes.tolist() == [names.count(name) for name in dict.fromkeys(names)]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.data())
def test_rows_of_queries_equal_a_slow_computation(sizes: list[int], data: st.DataObject) -> None:
    groups = Groups(np.append(0, np.cumsum(sizes)))
    queries = data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=6))
    rows = [row for q in queries for row in range(sum(sizes[:q]), sum(sizes[: q + 1]))]
    assert groups.rows_of(np.array(queries, dtype=np.int64)).tolist() == rows
