"""Data sets: gathered rows, and the way back."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw
from rankwright import Dataset
from rankwright.exceptions import DataError


def scattered(**options: Any) -> Dataset:
    return Dataset(
        np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]]),
        [0, 1, 2, 3],
        ["b", "a", "b", "c"],
        doc_ids=["w", "x", "y", "z"],
        **options,
    )


def test_rows_of_a_query_are_gathered_in_order_of_first_appearance() -> None:
    ds = scattered()
    assert ds.qid.tolist() == ["b", "b", "a", "c"]
    assert ds.y.tolist() == [0, 2, 1, 3]
    assert ds.X[:, 0].tolist() == [1, 3, 2, 4]
    assert ds.doc_ids is not None
    assert ds.doc_ids.tolist() == ["w", "y", "x", "z"]
    assert ds.order.tolist() == [0, 2, 1, 3]
    assert ds.groups.indptr.tolist() == [0, 2, 3, 4]
    assert ds.groups.ids is not None
    assert ds.groups.ids.tolist() == ["b", "a", "c"]
    assert ds.gathered
    assert (ds.n_docs, ds.n_queries, ds.n_features, len(ds)) == (4, 3, 2, 4)


def test_restore_undoes_gathering() -> None:
    ds = scattered()
    assert ds.restore(ds.y).tolist() == [0, 1, 2, 3]
    assert ds.restore(ds.X)[:, 1].tolist() == [10, 20, 30, 40]
    assert ds.restore(ds.doc_ids if ds.doc_ids is not None else []).tolist() == list("wxyz")
    with pytest.raises(ValueError, match=r"^values must have 4 rows, but have shape \(3,\)\.$"):
        ds.restore([1, 2, 3])
    with pytest.raises(ValueError, match=r"^values must have 4 rows, but have shape \(\)\.$"):
        ds.restore(1.0)


def test_adjacent_rows_stay_where_they_are() -> None:
    X = np.ones((3, 1))
    ds = Dataset(X, [0, 1, 2], [5, 5, 3])
    assert not ds.gathered
    assert ds.X is X
    assert ds.order.tolist() == [0, 1, 2]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=15), st.sampled_from(["dense", "sparse"]))
def test_order_maps_to_the_input_and_restore_back(qid: list[int], form: str) -> None:
    n = len(qid)
    X: Any = np.arange(1.0, n + 1)[:, None]
    y = np.arange(n) % 3
    ds = Dataset(sp.csr_array(X) if form == "sparse" else X, y, qid)
    rows = ds.X.toarray() if form == "sparse" else ds.X
    np.testing.assert_array_equal(rows, X[ds.order])
    np.testing.assert_array_equal(ds.y, y[ds.order])
    np.testing.assert_array_equal(ds.qid, np.array(qid)[ds.order])
    np.testing.assert_array_equal(ds.restore(ds.qid), qid)
    np.testing.assert_array_equal(np.sort(ds.order), np.arange(n))
    for rows_of_query in ds.groups:
        assert len(set(ds.qid[rows_of_query].tolist())) == 1
        assert (np.diff(ds.order[rows_of_query]) > 0).all()


def test_without_qid_there_is_one_query() -> None:
    ds = Dataset([[1.0], [2.0]], [0, 1])
    assert ds.n_queries == 1
    assert ds.qid.tolist() == [0, 0]
    assert ds.groups.indptr.tolist() == [0, 2]


@pytest.mark.parametrize("convert", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_input_is_gathered_too(convert: Any) -> None:
    dense = np.array([[1, 0], [0, 2], [3, 0]])
    ds = Dataset(convert(dense), [0, 1, 2], [1, 2, 1])
    assert ds.is_sparse
    assert isinstance(ds.X, sp.csr_array)
    assert ds.X.dtype == np.float64
    assert ds.X.toarray().tolist() == [[1, 0], [3, 0], [0, 2]]
    assert repr(ds) == "Dataset(3 documents, 2 queries, 2 features, sparse float64)"


def test_float32_is_kept() -> None:
    ds = Dataset(np.ones((2, 1), dtype=np.float32), [0, 1], [1, 2])
    assert ds.X.dtype == np.float32
    assert repr(ds) == "Dataset(2 documents, 2 queries, 1 feature, dense float32)"


def test_one_of_each_is_singular() -> None:
    assert repr(Dataset([[1]], [0])) == "Dataset(1 document, 1 query, 1 feature, dense float64)"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_data_frame_gives_its_names(make: Any) -> None:
    frame = make({"bm25": [0.5, 1.5], "clicks": [3.0, 4.0]})
    ds = Dataset(frame, [0, 1])
    assert ds.feature_names == ["bm25", "clicks"]
    assert ds.X.tolist() == [[0.5, 3.0], [1.5, 4.0]]
    assert Dataset(frame, [0, 1], feature_names=["u", "v"]).feature_names == ["u", "v"]


def test_columns_of_pandas_work_as_labels_and_ids() -> None:
    frame = pd.DataFrame({"q": ["a", "b", "a"], "y": [0, 1, 2], "f": [1.0, 2.0, 3.0]})
    ds = Dataset(frame[["f"]], frame["y"], frame["q"])
    assert ds.y.tolist() == [0, 2, 1]
    nullable = Dataset(frame[["f"]], frame["y"].astype("Int64"), frame["y"].astype("Int64"))
    assert nullable.qid.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [0, 1]), "y must have 1 values, one per row, but has 2."),
        (([[1.0]], [0], [1, 2]), "qid must have one id per row, 1 in all, but has 2."),
        (([[1.0]], [0], [1], ["a", "b"]), "feature_names must name 1 features, but has 2 names."),
        (
            ([[1.0]], [0], [1], None, ["a", "b"]),
            "doc_ids must have one id per row, 1 in all, but has 2.",
        ),
        ((np.empty((0, 3)), []), "there must be at least one document, but there is none."),
    ],
)
def test_parts_that_do_not_fit_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Dataset(*arguments)


def test_nan_is_allowed_on_request() -> None:
    with pytest.raises(ValueError, match="row 0, column 0 is nan"):
        Dataset([[np.nan]], [0])
    assert np.isnan(Dataset([[np.nan]], [0], allow_nan=True).X).all()


# ---- parts ----


def test_select_takes_queries_by_position_in_that_order() -> None:
    part = scattered(feature_names=["u", "v"]).select([2, 0])
    assert part.qid.tolist() == ["c", "b", "b"]
    assert part.y.tolist() == [3, 0, 2]
    assert part.X[:, 0].tolist() == [4, 1, 3]
    assert part.doc_ids is not None
    assert part.doc_ids.tolist() == ["z", "w", "y"]
    assert part.feature_names == ["u", "v"]
    assert part.order.tolist() == [0, 1, 2]


def test_select_takes_a_mask() -> None:
    assert scattered().select([True, False, True]).qid.tolist() == ["b", "b", "c"]


@pytest.mark.parametrize(
    "queries", [[0, 0], [0, 1, 0], [-1], [3], [0.5], 1, [[0, 1]], [True, False], ["a"]]
)
def test_select_refuses_what_is_no_set_of_positions(queries: Any) -> None:
    message = (
        f"queries must be distinct positions below 3, or a mask of 3 values, but are {queries!r}."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        scattered().select(queries)


@pytest.mark.parametrize("queries", [[], [False, False, False]])
def test_select_refuses_to_select_nothing(queries: Any) -> None:
    with pytest.raises(DataError, match="there must be at least one document"):
        scattered().select(queries)


def many(n_queries: int = 30, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(100, 100 + n_queries), 3))
    return Dataset(rng.normal(size=(len(qid), 2)), rng.integers(0, 3, len(qid)), qid)


def queries_of(ds: Dataset) -> set[Any]:
    return set(ds.qid.tolist())


def test_split_shares_queries_out() -> None:
    ds = many()
    parts = ds.split((0.6, 0.2, 0.2))
    assert [part.n_queries for part in parts] == [18, 6, 6]
    assert set.union(*map(queries_of, parts)) == queries_of(ds)
    assert sum(part.n_docs for part in parts) == ds.n_docs


def test_folds_test_each_query_once() -> None:
    ds = many()
    folds = list(ds.folds(4))
    assert [test.n_queries for _, test in folds] == [8, 8, 7, 7]
    for train, test in folds:
        assert not queries_of(train) & queries_of(test)
        assert queries_of(train) | queries_of(test) == queries_of(ds)
    assert sum(test.n_queries for _, test in folds) == ds.n_queries


@pytest.mark.parametrize("text", [False, True])
def test_parts_depend_on_ids_and_seed_but_not_on_the_order_of_rows(text: bool) -> None:
    ds = many()
    shuffle = np.random.default_rng(1).permutation(ds.n_docs)
    # An integer id and its text fall into the same part.
    qid = ds.qid[shuffle].astype(str) if text else ds.qid[shuffle]
    shuffled = Dataset(ds.X[shuffle], ds.y[shuffle], qid)

    def of(data: Dataset, seed: int) -> list[set[str]]:
        return [{str(q) for q in part.qid} for part in data.split((0.5, 0.5), random_state=seed)]

    assert of(ds, 7) == of(shuffled, 7)
    assert of(ds, 7) != of(ds, 8)
    for (_, a), (_, b) in zip(ds.folds(3), shuffled.folds(3), strict=True):
        assert {str(q) for q in a.qid} == {str(q) for q in b.qid}


def test_folds_complain_at_once() -> None:
    with pytest.raises(ValueError, match=r"^31 folds need as many queries, but there are 30\.$"):
        many().folds(31)


def test_datasets_pickle() -> None:
    ds = scattered()
    again = pickle.loads(pickle.dumps(ds))
    assert again.qid.tolist() == ds.qid.tolist()
    assert again.restore(again.y).tolist() == [0, 1, 2, 3]


def test_the_name_at_the_top_is_the_class() -> None:
    assert rw.Dataset is Dataset


def test_other_labels_keep_everything_else() -> None:
    ds = Dataset([[1.0], [2.0], [3.0]], [0, 1, 2], qid=[1, 2, 1], doc_ids=["a", "b", "c"])
    other = ds.with_labels([5, 6, 7])
    assert other.restore(other.y).tolist() == [5, 7, 6]
    assert other.X is ds.X
    assert other.groups is ds.groups
    assert ds.y.tolist() == [0, 2, 1]
    with pytest.raises(ValueError, match=r"^y must have 3 values, one per row, but has 2\.$"):
        ds.with_labels([1, 2])
