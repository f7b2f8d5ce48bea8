"""The data doctor finds what is there, and nothing else."""

from __future__ import annotations

import json
from functools import reduce
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from rankwright import Dataset
from rankwright.data import Description, make_mslr_like
from rankwright.data.doctor import description_of
from rankwright.data.signs import Signs, signs_of

FORMS = ("dense float64", "dense float32", "sparse float64", "sparse float32")
forms = pytest.mark.parametrize("form", FORMS)


def build(form: str, X: Any, y: ArrayLike, qid: ArrayLike | None = None, **options: Any) -> Dataset:
    matrix = np.array(X, dtype=form.split()[1])
    return Dataset(sp.csr_array(matrix) if form.startswith("sparse") else matrix, y, qid, **options)


def findings(ds: Dataset) -> dict[str, str]:
    return {finding.name: finding.message for finding in ds.describe().findings}


# Two queries of three documents; every feature varies within each query.
CLEAN_X = [[0, 1, 5], [1, 0, 5], [2, 3, 0], [0, 0, 1], [1, 2, 0], [4, 1, 0]]
CLEAN_Y = [0, 1, 2, 0, 0, 4]
CLEAN_QID = [1, 1, 1, 2, 2, 2]


@forms
def test_clean_data_has_no_findings(form: str) -> None:
    ds = build(form, CLEAN_X, CLEAN_Y, CLEAN_QID)
    assert findings(ds) == {}
    assert str(ds.describe()).endswith("\nwarnings      none")


@forms
def test_sizes_density_labels_and_lengths_are_counted(form: str) -> None:
    report = build(form, CLEAN_X, CLEAN_Y, CLEAN_QID).describe()
    assert (report.n_docs, report.n_queries, report.n_features) == (6, 2, 3)
    assert report.form == form
    assert report.density == 11 / 18
    assert report.labels == {0.0: 3, 1.0: 1, 2.0: 1, 4.0: 1}
    assert report.list_lengths == dict.fromkeys((0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0), 3.0)
    assert str(report).splitlines()[:5] == [
        "documents     6",
        "queries       2",
        f"features      3 ({form}, {11 / 18:.1%} not zero)",
        "labels        0: 3 (50.0%), 1: 1 (16.7%), 2: 1 (16.7%), 4: 1 (16.7%)",
        "list lengths  min 3, median 3, max 3",
    ]


def test_explicit_zeros_are_zeros() -> None:
    X = sp.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
    report = Dataset(X, [0, 1]).describe()
    assert report.density == 1 / 4


def test_only_the_most_frequent_of_many_labels_are_listed() -> None:
    y = [*range(20), 3, 17]
    report = Dataset(np.arange(22.0)[:, None], y).describe()
    assert len(report.labels) == 12
    assert report.labels[3.0] == report.labels[17.0] == 2
    assert list(report.labels) == sorted(report.labels)


# ---- each finding ----


@forms
def test_conflicting_duplicates_are_found(form: str) -> None:
    X = [[1, 0], [1, 0], [0, 2], [1, 0], [1, 0]]
    # Rows 0, 1 and 3 are equal within a query; row 4 is of another query.
    found = findings(build(form, X, [0, 0, 1, 2, 1], [1, 1, 1, 1, 2]))
    assert found["conflicting_duplicates"] == (
        "3 documents have the same features as another document of their query, but another label: "
        "no ranker can tell them apart."
    )


@forms
def test_duplicates_with_equal_labels_are_no_conflict(form: str) -> None:
    found = findings(build(form, [[1, 0], [1, 0], [0, 2]], [1, 1, 0]))
    assert "conflicting_duplicates" not in found


@forms
def test_minus_zero_is_zero(form: str) -> None:
    found = findings(build(form, [[1.0, 0.0], [1.0, -0.0], [2.0, 3.0]], [0, 1, 0]))
    assert found["conflicting_duplicates"].startswith("2 documents")


@forms
@pytest.mark.parametrize("values", [(0.0, 1.0), (1.0, 2.0), (1.0, np.nextafter(1, 2)), (0.1, 0.3)])
def test_different_rows_of_few_values_are_no_duplicates(
    form: str, values: tuple[float, float]
) -> None:
    # All 1024 rows of ten such values: hashes without much in their low bits would meet.
    X = np.array(values)[(np.arange(1024)[:, None] >> np.arange(10)) & 1]
    if form.endswith("float32") and values[1] - values[0] < 1e-9:
        X = np.where(X == 1, np.float32(1), np.nextafter(np.float32(1), np.float32(2)))
    assert findings(build(form, X, np.arange(1024) % 5)) == {}


@forms
def test_split_queries_are_found(form: str) -> None:
    # Queries 1 and 3 are split, 1 into three parts; 2 is not.
    qid = [1, 3, 1, 2, 2, 2, 3, 1, 3]
    X = np.arange(27).reshape(9, 3)
    found = findings(build(form, X, [0, 1, 1, 0, 1, 2, 2, 2, 0], qid))
    assert found == {
        "split_queries": "2 queries have rows that are not adjacent in the file. They were "
        "gathered; tools that take group sizes would see more queries."
    }


@forms
def test_queries_with_equal_labels_are_found(form: str) -> None:
    found = findings(
        build(form, [[1], [2], [3], [4], [1], [2]], [0, 0, 3, 3, 0, 1], [1, 1, 2, 2, 3, 3])
    )
    assert found == {
        "equal_labels": "2 queries have the same label on all documents (1 with label 0): nothing "
        "can be learned there, and each metric has its own rule for such queries."
    }


@forms
def test_queries_of_one_document_are_found(form: str) -> None:
    found = findings(build(form, [[1], [2], [3]], [0, 1, 2], [1, 1, 2]))
    assert found == {"single_document": "1 query has a single document: there is nothing to rank."}


@forms
def test_constant_features_are_found(form: str) -> None:
    X = [[7, 1, 0, 2], [7, 2, 0, 2], [7, 1, 0, 3], [7, 2, 0, 3]]
    found = findings(build(form, X, [0, 1, 0, 1], [1, 1, 2, 2]))
    assert found == {
        "constant_features": "2 features are constant (feature 1, feature 3), which tells a ranker "
        "nothing.",
        "query_constant_features": "1 feature is constant within every query (feature 4): of use "
        "to trees, not to linear rankers.",
    }


@forms
def test_a_feature_of_some_queries_only_is_constant_within_each(form: str) -> None:
    # 5 for all documents of query 1, absent from query 2.
    found = findings(build(form, [[5, 1], [5, 2], [0, 1], [0, 2]], [0, 1, 0, 1], [1, 1, 2, 2]))
    assert list(found) == ["query_constant_features"]


@forms
def test_a_feature_of_some_documents_only_varies(form: str) -> None:
    found = findings(build(form, [[5, 1], [0, 2], [5, 1], [0, 2]], [0, 1, 0, 1], [1, 1, 2, 2]))
    assert found == {}


@forms
def test_features_are_called_by_name_and_not_all_of_them(form: str) -> None:
    names = [f"n{j}" for j in range(8)]
    X = np.hstack([np.full((2, 7), 3), [[1], [2]]])
    message = findings(build(form, X, [0, 1], feature_names=names))["constant_features"]
    assert message.startswith("7 features are constant (n0, n1, n2, n3, n4 and 2 more)")


@pytest.mark.parametrize(
    ("y", "parts"),
    [
        ([-1, 0], "1 label is unusual: 1 below 0 (refused by NDCG and ERR)."),
        (
            [0.5, 1],
            "1 label is unusual: 1 with a fraction (refused by LightGBM and XGBoost).",
        ),
        (
            [0, 6],
            "1 label is unusual: 1 above 4 (at most 6; ERR needs max_grade=6).",
        ),
        (
            [0, 40],
            "1 label is unusual: 1 above 4 (at most 40; LightGBM and XGBoost stop at 31; ERR needs "
            "max_grade=40).",
        ),
        (
            [-0.5, 4.5, 1],
            "2 labels are unusual: 1 below 0 (refused by NDCG and ERR); 2 with a fraction (refused "
            "by LightGBM and XGBoost); 1 above 4 (at most 4.5; ERR needs max_grade=4.5).",
        ),
    ],
)
def test_unusual_labels_are_found(y: list[float], parts: str) -> None:
    found = findings(Dataset(np.arange(len(y))[:, None], y))
    assert found == {"unusual_labels": parts}


def test_findings_come_most_consequential_first_and_are_counted() -> None:
    X = [[1, 3], [1, 3], [1, 4], [1, 3], [1, 9]]
    report = Dataset(X, [0, 5, 1, 1, 1], [1, 1, 2, 1, 2]).describe()
    assert [(finding.name, finding.count) for finding in report.findings] == [
        ("unusual_labels", 1),
        ("conflicting_duplicates", 3),
        ("split_queries", 2),
        ("equal_labels", 1),
        ("constant_features", 1),
    ]
    lines = [line for line in str(report).splitlines() if line.startswith("warning ")]
    assert lines == [f"warning       {finding.message}" for finding in report.findings]


# ---- corners ----


def test_a_report_is_ready_for_json() -> None:
    report = Dataset(np.ones((3, 2), dtype=np.float32), [0, 1, 7], ["a", "b", "a"]).describe()
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["n_docs"] == 3
    assert [finding["name"] for finding in data["findings"]] == [
        finding.name for finding in report.findings
    ]


@pytest.mark.parametrize("form", ["dense float64", "sparse float64"])
def test_data_without_features_is_examined(form: str) -> None:
    report = build(form, np.empty((2, 0)), [0, 1]).describe()
    assert report.density == 0
    assert [finding.name for finding in report.findings] == ["conflicting_duplicates"]


@pytest.mark.parametrize("form", ["dense float64", "sparse float64"])
def test_missing_features_vary(form: str) -> None:
    ds = build(form, [[np.nan, 1], [np.nan, 2], [1, 3]], [0, 1, 2], allow_nan=True)
    assert findings(ds) == {}


def test_sparse_data_without_any_entry_is_constant() -> None:
    found = findings(Dataset(sp.csr_array((2, 3)), [0, 1]))
    assert found["constant_features"].startswith(
        "3 features are constant (feature 1, feature 2, feature 3)"
    )


def test_more_queries_than_a_block_are_examined() -> None:
    n = 200  # queries of two documents; only the last one varies in feature 1
    X = np.ones((2 * n, 2))
    X[:, 1] = np.arange(2 * n)
    y, qid = np.arange(2 * n) % 2, np.repeat(np.arange(n), 2)
    assert list(findings(Dataset(X, y, qid))) == ["constant_features"]
    X[-1, 0] = 2
    assert findings(Dataset(X, y, qid)) == {}
    X[-2, 0] = 2
    assert list(findings(Dataset(X, y, qid))) == ["query_constant_features"]


def test_dense_and_sparse_forms_agree_on_realistic_data() -> None:
    ds = make_mslr_like(n_queries=20, n_features=24, mean_docs=15)
    sparse = Dataset(sp.csr_array(ds.X), ds.y, ds.qid)
    assert sparse.describe().findings == ds.describe().findings
    assert sparse.describe().density == ds.describe().density


# ---- against a slow and obvious computation ----


def slow(X: list[list[float]], y: list[float], qid: list[int]) -> dict[str, int]:
    rows = range(len(y))
    queries = list(dict.fromkeys(qid))
    members = {q: [i for i in rows if qid[i] == q] for q in queries}
    columns = range(len(X[0]))
    constant = [j for j in columns if len({X[i][j] for i in rows}) == 1]
    in_queries = [
        j for j in columns if all(len({X[i][j] for i in members[q]}) == 1 for q in queries)
    ]
    conflicts = [
        i
        for i in rows
        if any(X[i] == X[j] and y[i] != y[j] and qid[i] == qid[j] for j in rows if j != i)
    ]
    counts = {
        "unusual_labels": sum(label < 0 or label > 4 or label != int(label) for label in y),
        "conflicting_duplicates": len(conflicts),
        "split_queries": sum(max(m) - min(m) + 1 != len(m) for m in members.values()),
        "equal_labels": sum(len({y[i] for i in m}) == 1 and len(m) > 1 for m in members.values()),
        "single_document": sum(len(m) == 1 for m in members.values()),
        "constant_features": len(constant),
        "query_constant_features": len(set(in_queries) - set(constant)),
    }
    return {name: count for name, count in counts.items() if count}


@st.composite
def small_data(draw: st.DrawFn) -> tuple[list[list[float]], list[float], list[int]]:
    n_rows, n_columns = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    cell = st.sampled_from([0.0, 0.0, 1.0, -0.0, 2.5, -3.0])
    row = st.lists(cell, min_size=n_columns, max_size=n_columns)
    label = st.sampled_from([0.0, 0.0, 1.0, 3.0, -1.0, 0.5, 5.0])
    return (
        draw(st.lists(row, min_size=n_rows, max_size=n_rows)),
        draw(st.lists(label, min_size=n_rows, max_size=n_rows)),
        draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows)),
    )


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=100, deadline=None)
@given(small_data())
def test_counts_equal_a_slow_computation(
    form: str, data: tuple[list[list[float]], list[float], list[int]]
) -> None:
    X, y, qid = data
    report: Description = build(form, X, y, qid).describe()
    assert {finding.name: finding.count for finding in report.findings} == slow(X, y, qid)
    cells = [value for row in X for value in row]
    assert report.density == sum(value != 0 for value in cells) / len(cells)


# ---- names and kinds ----


@pytest.mark.parametrize("sparse", [False, True])
def test_features_with_names_are_listed_by_kind(sparse: bool) -> None:
    X: Any = np.array([[0.0, 3.0, 0.5, 1.0], [1.0, np.nan, 7.0, 0.0], [0.0, -2.0, 0.0, 0.0]])
    data = Dataset(
        sp.csr_array(X) if sparse else X,
        [0, 1, 2],
        feature_names=["clicked", "age", "bm25", "new\n"],
        allow_nan=True,
    )
    report = data.describe()
    assert report.features == {"clicked": "0/1", "age": "integer", "bm25": "real", "new\n": "0/1"}
    assert str(report).splitlines()[3:6] == [
        "  0/1         'clicked', 'new\\n'",
        "  integer     'age'",
        "  real        'bm25'",
    ]
    assert report.to_dict()["features"] == report.features


def test_of_many_features_the_first_are_listed() -> None:
    names = [f"signal {j}" for j in range(60)]
    text = str(Dataset(np.zeros((2, 60)), [0, 1], feature_names=names).describe())
    assert "'signal 49' and 10 more\n" in text


def test_features_without_names_are_not_listed() -> None:
    report = Dataset(np.zeros((2, 60)), [0, 1]).describe()
    assert report.features == {}


@pytest.mark.parametrize("sparse", [False, True])
@given(data=st.data())
@settings(max_examples=30)
def test_parts_are_described_as_one_data_set(sparse: bool, data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 12))
    seed = data.draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 1.0, 0.5, np.nan], (n, 4), p=[0.5, 0.3, 0.15, 0.05])
    X[:, 0] = data.draw(st.sampled_from([1.0, 0.0]))
    qid = np.sort(rng.integers(0, 4, n))
    X[:, 1] = qid
    y = rng.choice([0.0, 1.0, 2.0, 0.5, 7.0], n, p=[0.6, 0.2, 0.1, 0.05, 0.05])
    matrix: Any = sp.csr_array(X) if sparse else X
    whole = Dataset(matrix, y, qid, feature_names=list("abcd"), allow_nan=True)
    cut = data.draw(st.integers(0, whole.n_queries))
    pieces = [whole.select(np.arange(a, b)) for a, b in ((0, cut), (cut, whole.n_queries)) if b > a]
    assert description_of(reduce(Signs.joined, map(signs_of, pieces))) == whole.describe()
