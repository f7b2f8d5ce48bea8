"""Queries that are in two parts of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.comparison import compare
from rankwright.evaluation.folds import Fold
from rankwright.evaluation.overlap import check_apart, check_overlap


def make(first: int, n: int = 6, seed: int = 0, **options: Any) -> rw.Dataset:
    rng = np.random.default_rng([seed, first])
    X = rng.normal(size=(4 * n, 3))
    y = np.tile([0.0, 1.0, 0.0, 2.0], n)
    return rw.Dataset(X, y, np.repeat(np.arange(first, first + n), 4), **options)


def renamed(data: rw.Dataset, first: int) -> rw.Dataset:
    """Return the same queries under other ids, rows and queries in another order."""
    order = np.random.default_rng(1).permutation(data.n_docs)
    return rw.Dataset(data.X[order], data.y[order], (data.qid + first)[order])


def test_parts_of_different_queries_are_fine() -> None:
    check_apart(make(0), make(10), "both")
    check_overlap([Fold("a", make(0), make(10), make(20))])


def test_ids_in_common() -> None:
    message = (
        r"^the train and the test queries of a must be different, but query 5 is in both: the "
        r"measurement would be of what was learned\. Remove them, or allow it: allow_overlap=True "
        r"\(--allow-overlap on the command line\)\.$"
    )
    with pytest.raises(rw.DataError, match=message):
        check_overlap([Fold("a", make(0), make(10), make(5, seed=1))])
    with pytest.raises(rw.DataError, match="query 3 and 2 more are in both"):
        check_apart(make(0), make(3, seed=1), "x")
    texts = rw.Dataset(make(3).X, make(3).y, make(3).qid.astype(str))
    with pytest.raises(rw.DataError, match="query '3' and 2 more are in both"):
        check_apart(make(0), texts, "x")


@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
def test_documents_in_common(form: str) -> None:
    data, other = make(0), renamed(make(0), 50)
    if form == "sparse":
        other = rw.Dataset(sp.csr_array(other.X), other.y, other.qid)
    if form == "float32":
        data = rw.Dataset(data.X.astype(np.float32), data.y, data.qid)
        other = rw.Dataset(other.X.astype(np.float32).astype(np.float64), other.y, other.qid)
    with pytest.raises(rw.DataError, match=r"but the documents of query 5\d and 5 more are in bot"):
        check_apart(data, other, "x")


def test_one_document_or_label_more_is_another_query() -> None:
    data = make(0)
    for X, y in ((data.X + (np.arange(24) % 4 == 0)[:, None], data.y), (data.X, data.y + 1)):
        check_apart(data, rw.Dataset(X, y, data.qid + 50), "x")


def test_documents_that_are_all_alike_tell_nothing() -> None:
    X, y = np.zeros((4, 2)), np.zeros(4)
    check_apart(rw.Dataset(X, y, [1, 1, 2, 2]), rw.Dataset(X, y, [3, 3, 4, 4]), "x")


def test_a_comparison_refuses_unless_told() -> None:
    data = make(0, 12)
    with pytest.raises(rw.DataError, match="must be different"):
        compare(data, ["random"], test=data)
    assert compare(data, ["random"], test=data, allow_overlap=True).best == "random"
    with pytest.raises(rw.DataError, match="documents of query"):
        compare(data, ["random"], test=renamed(data, 100))
