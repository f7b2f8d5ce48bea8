"""Data sets that become one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.joining import join_datasets
from rankwright.exceptions import DataError
from tests.contracts.test_categories import read, table


def make(qid: Any, *, sparse: bool = False) -> rw.Dataset:
    X = np.arange(2.0 * len(qid)).reshape(-1, 2) + 1
    return rw.Dataset(sp.csr_array(X) if sparse else X, np.arange(len(qid)) % 2, qid)


@pytest.mark.parametrize("sparse", [False, True])
def test_queries_keep_their_order_and_rows(sparse: bool) -> None:
    a, b = make([3, 3, 1]), make([2, 2], sparse=sparse)
    joined = join_datasets({"a": a, "b": b})
    assert joined.groups.names.tolist() == [3, 1, 2]
    assert joined.qid.tolist() == [3, 3, 1, 2, 2]
    X = joined.X.toarray() if sparse else joined.X
    np.testing.assert_array_equal(X, np.concatenate([a.X, b.X.toarray() if sparse else b.X]))
    np.testing.assert_array_equal(joined.y, [0, 1, 0, 0, 1])


def test_one_stays_as_it_is() -> None:
    one = make(["a", "b"])
    assert join_datasets({"one": one}) is one


def test_a_query_in_two_parts_is_an_error_or_used_once() -> None:
    a, b = make([1, 2, 2]), make(["2", "x", "x"])  # a number is the same id as its text
    with pytest.raises(DataError, match=r"^a and b must have different queries, but query '2' is "):
        join_datasets({"a": a, "b": b})
    joined = join_datasets({"a": a, "b": b}, repeated="first")
    assert joined.qid.tolist() == ["1", "2", "2", "x", "x"]
    np.testing.assert_array_equal(joined.X[3:], b.X[1:])
    assert join_datasets({"a": a, "again": a}, repeated="first") is a


def test_three_parts() -> None:
    parts = {"a": make([1]), "b": make([2]), "c": make([1, 2, 3])}
    assert join_datasets(parts, repeated="first").qid.tolist() == [1, 2, 3]
    ds = read(table())
    assert join_datasets({"a": ds.select([0]), "b": ds.select([1])}).features == ds.features
