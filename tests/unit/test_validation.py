"""User input becomes arrays, or a message."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from rankwright.data.validation import (
    check_count,
    check_doc_ids,
    check_names,
    check_qid,
    check_scores,
    check_weights,
    check_X,
    check_y,
    require_rows,
)
from rankwright.exceptions import DataError, DataWarning


def exactly(text: str) -> str:
    return f"^{re.escape(text)}$"


# ---- X ----


@pytest.mark.parametrize(
    ("given_type", "kept"),
    [
        (np.float64, np.float64),
        (np.float32, np.float32),
        (np.float16, np.float32),
        (np.int32, np.float64),
        (np.uint8, np.float64),
        (np.bool_, np.float64),
        (object, np.float64),
    ],
)
def test_floats_are_kept_and_other_numbers_become_float64(given_type: Any, kept: Any) -> None:
    X = check_X(np.array([[0, 1], [1, 1]], dtype=given_type))
    assert X.dtype == kept
    assert X.tolist() == [[0, 1], [1, 1]]


def test_a_good_matrix_is_not_copied() -> None:
    for dtype in (np.float32, np.float64):
        X = np.ones((3, 2), dtype=dtype)
        assert check_X(X) is X


def test_matrices_become_c_ordered() -> None:
    X = check_X(np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]))
    assert X.flags.c_contiguous
    assert X.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_])
def test_sparse_matrices_become_csr(form: str, dtype: Any) -> None:
    dense = np.array([[0, 1, 0], [1, 0, 1]])
    X = check_X(sp.coo_array(dense.astype(dtype)).asformat(form))
    assert isinstance(X, sp.csr_array)
    assert X.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), dense)


def test_entries_that_come_twice_are_summed_without_changing_the_callers_matrix() -> None:
    given_matrix = sp.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2)
    )
    X = check_X(given_matrix)
    assert X.toarray().tolist() == [[2, 1 + 4]]
    assert X.indices.tolist() == [0, 1]
    assert given_matrix.indices.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (
            [1.0, 2.0],
            "X must have 2 dimensions, but has shape (2,). For one document use X[None, :].",
        ),
        (5.0, "X must have 2 dimensions, but has shape ()."),
        (np.ones((1, 1, 1)), "X must have 2 dimensions, but has shape (1, 1, 1)."),
    ],
)
def test_wrong_dimensions_are_refused(X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        check_X(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["1.5"]], "X must be numbers, but has dtype <U3."),
        (np.array([["1.5"]], dtype=object), "X must be numbers, but holds strings."),
        (np.array([[b"1"]]), "X must be numbers, but has dtype |S1."),
        ([[1 + 2j]], "X must be numbers, but has dtype complex128."),
        (sp.csr_array([[1 + 2j]]), "X must be numbers, but has dtype complex128."),
        (
            np.array([["2020-01-01"]], dtype="M8[D]"),
            "X must be numbers, but has dtype datetime64[D].",
        ),
    ],
)
def test_what_is_no_number_is_refused_rather_than_read_as_one(X: Any, message: str) -> None:
    with pytest.raises(TypeError, match=exactly(message)):
        check_X(X)


def test_ragged_rows_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^X must be numbers: "):
        check_X([[1.0, 2.0], [3.0]])
    with pytest.raises(TypeError, match=r"^X must be numbers: "):
        check_X(np.array([[{}]], dtype=object))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_features_that_are_not_finite_are_refused_with_their_place(
    bad: float, sparse: bool
) -> None:
    X: Any = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, bad]])
    message = (
        f"X must be finite, but row 2, column 2 is {bad}. Replace it, or pass allow_nan=True if "
        "the learner handles missing values."
    )
    X = sp.csr_array(X) if sparse else X
    with pytest.raises(ValueError, match=exactly(message)):
        check_X(X)
    assert check_X(X, allow_nan=True).shape == (3, 3)


def test_infinities_that_cancel_are_found() -> None:
    with pytest.raises(ValueError, match="row 0, column 0 is inf"):
        check_X(np.array([[np.inf, -np.inf]]))


def test_finite_features_whose_sum_overflows_are_accepted() -> None:
    assert check_X(np.full((1, 3), 1.7e308)).shape == (1, 3)


# ---- y and scores ----


def test_labels_become_float64() -> None:
    for given_labels in ([0, 1, 2], np.array([0, 1, 2], dtype=np.float32), (0.0, 1.0, 2.0)):
        y = check_y(given_labels)
        assert y.dtype == np.float64
        assert y.tolist() == [0, 1, 2]
    assert check_y(np.arange(6.0)[::2]).flags.c_contiguous


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[1.0]], "y must have 1 dimension, but has shape (1, 1)."),
        (1.0, "y must have 1 dimension, but has shape ()."),
        ([1.0, 2.0], "y must have 3 values, one per row, but has 2."),
        ([1.0, np.nan, np.inf], "y must be finite, but row 1 is nan."),
        ([1.0, None, 2.0], "y must be finite, but row 1 is nan."),
        ([np.inf, -np.inf, 0.0], "y must be finite, but row 0 is inf."),
    ],
)
def test_wrong_labels_are_refused(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        check_y(y, 3)


@pytest.mark.parametrize("y", [["1", "0"], [1j], np.array(["1"], dtype=object), [b"1"]])
def test_labels_that_are_no_numbers_are_refused(y: Any) -> None:
    with pytest.raises(TypeError, match=r"^y must be numbers, but "):
        check_y(y)
    with pytest.raises(TypeError, match=r"^scores must be numbers, but "):
        check_scores(y)


def test_scores_must_be_finite_unless_someone_else_looks() -> None:
    with pytest.raises(ValueError, match=exactly("scores must be finite, but row 1 is inf.")):
        check_scores([0.0, np.inf])
    assert check_scores([0.0, np.inf], finite=False).tolist() == [0, np.inf]
    message = "scores must have 3 values, one per row, but has 2."
    with pytest.raises(ValueError, match=exactly(message)):
        check_scores([0.0, 1.0], 3)


# ---- query and document ids ----


@pytest.mark.parametrize(
    ("qid", "expected"),
    [
        ([3, 1], [3, 1]),
        (np.array([3, 1], dtype=np.uint8), [3, 1]),
        (np.array([3.0, -1.0]), [3, -1]),
        (np.array([3, 1], dtype=np.float32), [3, 1]),
        (np.array([3, 1], dtype=object), [3, 1]),
        (np.array([np.int64(3), np.uint8(1)], dtype=object), [3, 1]),
        ([-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1]),
        (["a", "b"], ["a", "b"]),
        (["01", "1"], ["01", "1"]),
        ([b"a", b"b"], ["a", "b"]),
        (["grün".encode(), b"b"], ["grün", "b"]),
        (np.array(["a", "b"], dtype=object), ["a", "b"]),
        (np.array([b"a", b"b"], dtype=object), ["a", "b"]),
        (np.array(["a", "bb"], dtype=np.dtypes.StringDType()), ["a", "bb"]),
        (np.array([2**64 - 1, 5], dtype=np.uint64), [str(2**64 - 1), "5"]),
        (np.array([2**70, -5], dtype=object), [str(2**70), "-5"]),
        ([], []),
        (np.array([], dtype=object), []),
    ],
)
def test_query_ids_become_integers_or_strings(qid: Any, expected: list[int | str]) -> None:
    ids = check_qid(qid)
    assert ids.tolist() == expected
    assert ids.dtype == np.int64 or ids.dtype.kind == "U"


def test_no_query_ids_are_one_query_of_all_rows() -> None:
    ids = check_qid(None, 3)
    assert ids.tolist() == [0, 0, 0]
    assert ids.dtype == np.int64
    with pytest.raises(ValueError, match="qid must have 1 dimension"):
        check_qid(None)  # of how many rows, nobody said


@pytest.mark.parametrize(
    ("qid", "error", "message"),
    [
        (
            [[1, 2]],
            ValueError,
            "qid must have 1 dimension, one id per row, but has shape (1, 2).",
        ),
        (7, ValueError, "qid must have 1 dimension, one id per row, but has shape ()."),
        ([1, 2, 3], ValueError, "qid must have one id per row, 2 in all, but has 3."),
        ([True, False], TypeError, "qid must be integers or strings, but has dtype bool."),
        ([1j, 2], TypeError, "qid must be integers or strings, but has dtype complex128."),
        (
            np.array(["2020", "2021"], dtype="M8[Y]"),
            TypeError,
            "qid must be integers or strings, but has dtype datetime64[Y].",
        ),
        (["a", None], ValueError, "qid must not be missing, but row 1 is None."),
        ([1.0, np.nan], ValueError, "qid must not be missing, but row 1 is nan."),
        (pd.Series(["a", pd.NA]), ValueError, "qid must not be missing, but row 1 is nan."),
        (
            pd.Series(["a", pd.NA], dtype="string"),
            ValueError,
            "qid must not be missing, but row 1 is <NA>.",
        ),
        (
            np.ma.masked_array([1, 2], mask=[False, True]),
            ValueError,
            "qid must not be missing, but row 1 is masked.",
        ),
        ([b"a", b"\xff"], ValueError, "qid must be UTF-8, but row 1 is b'\\xff'."),
        (
            np.array([1, "a"], dtype=object),
            TypeError,
            "qid must be all integers or all strings, but holds int, str.",
        ),
        (
            np.array([1, True], dtype=object),
            TypeError,
            "qid must be all integers or all strings, but holds bool, int.",
        ),
    ],
)
def test_wrong_query_ids_are_refused(qid: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=exactly(message)):
        check_qid(qid, 2)


@pytest.mark.parametrize("bad", [0.5, np.inf, 1e300, 2.0**63, -1e19])
def test_floats_that_are_no_64_bit_integers_are_no_query_ids(bad: float) -> None:
    message = (
        "qid must be integers or strings, but holds fractions or numbers beyond 64 bits. Pass "
        "strings."
    )
    with pytest.raises(ValueError, match=exactly(message)):
        check_qid([1.0, bad])


@given(st.lists(st.integers(-(2**53), 2**53), min_size=1))
def test_every_form_of_an_integer_id_gives_the_same_ids(values: list[int]) -> None:
    expected = np.array(values, dtype=np.int64)
    for form in (values, np.array(values, dtype=object), np.array(values, dtype=np.float64)):
        np.testing.assert_array_equal(check_qid(form), expected)


def test_document_ids_become_strings() -> None:
    for given_ids in (["7", "8"], [7, 8], np.array([7, 8], dtype=object), [7.0, 8.0], [b"7", b"8"]):
        ids = check_doc_ids(given_ids, 2)
        assert ids is not None
        assert ids.tolist() == ["7", "8"]
    assert check_doc_ids(None, 2) is None


def test_missing_document_ids_are_refused() -> None:
    missing: Any = ["a", None]
    with pytest.raises(ValueError, match=r"^doc_ids must not be missing, but row 1 is None\.$"):
        check_doc_ids(missing, 2)
    with pytest.raises(ValueError, match=r"^doc_ids must not be missing, but row 1 is nan\.$"):
        check_doc_ids([1.0, np.nan], 2)
    with pytest.raises(ValueError, match=r"^doc_ids must have one id per row, 2 in all, but has 1"):
        check_doc_ids(["a"], 2)


# ---- the rest ----


def test_feature_names_become_distinct_strings() -> None:
    names: Any = ("a", 1)
    assert check_names(names, 2) == ["a", "1"]
    assert check_names(None, 2) is None
    with pytest.raises(
        ValueError, match=exactly("feature_names must name 3 features, but has 2 names.")
    ):
        check_names(["a", "b"], 3)
    with pytest.raises(
        ValueError, match=exactly("feature_names must be distinct, but 'b' occurs twice.")
    ):
        check_names(["a", "b", "b"], 3)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None, np.array([1, 2])], ids=repr)
def test_a_count_is_a_positive_integer(value: Any) -> None:
    check_count("k", 1)
    check_count("k", np.int32(7))
    with pytest.raises(ValueError, match=r"^k must be a positive integer, but is .*\.$"):
        check_count("k", value)


def test_a_count_may_have_another_least_value_or_be_left_out() -> None:
    check_count("n_folds", 2, 2)
    with pytest.raises(ValueError, match=r"^n_folds must be an integer of at least 2, but is 1\.$"):
        check_count("n_folds", 1, 2)
    check_count("limit", None, 0, optional=True)
    check_count("limit", 0, 0, optional=True)
    text = r"^limit must be an integer of at least 0 or None, but is -1\.$"
    with pytest.raises(ValueError, match=text):
        check_count("limit", -1, 0, optional=True)


def test_there_must_be_a_row() -> None:
    require_rows(1)
    with pytest.raises(
        DataError,
        match=exactly("f.txt: there must be at least one document, but there is none."),
    ):
        require_rows(0, "f.txt")


def test_data_errors_know_their_place() -> None:
    error = DataError("is wrong.", path="f.txt", line=3, field="label")
    assert str(error) == "f.txt, line 3, label: is wrong."
    assert (error.message, error.path, error.line, error.field) == (
        "is wrong.",
        "f.txt",
        3,
        "label",
    )
    assert str(DataError("is wrong.", field="qid")) == "qid: is wrong."
    assert str(DataError("is wrong.")) == "is wrong."
    assert isinstance(error, ValueError)
    assert issubclass(DataWarning, UserWarning)


def test_data_errors_have_no_control_characters() -> None:
    error = DataError("is\twrong.", path="a\nb", field="\x1b[2Jé")
    assert str(error) == r"a\nb, \x1b[2Jé: is\twrong."
    assert str(DataError("is wrong.", path="\udcff")) == "\udcff: is wrong."  # bytes of a name
    assert error.path == "a\nb"
    assert str(DataError("One.\nTwo.")) == "One.\nTwo."  # an instruction of several steps


def test_data_errors_travel_between_processes() -> None:
    error = pickle.loads(pickle.dumps(DataError("is wrong.", path="f.txt", line=3)))
    assert str(error) == "f.txt, line 3: is wrong."
    assert (error.message, error.path, error.line, error.field) == ("is wrong.", "f.txt", 3, None)


def test_weights_of_other_libraries() -> None:
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    given = [1.0, 2.0, 0.0]
    # By position, whatever the index says.
    series = pandas.Series(given, index=[2, 0, 1])
    for weights in (given, tuple(given), series, arrow.array(given), np.array(given, np.float32)):
        assert check_weights(weights, "sample_weight", 3).tolist() == given
    assert check_weights(2, "sample_weight", 3).tolist() == [2.0, 2.0, 2.0]
    masked: Any = np.ma.array(given, mask=[False, True, False])
    with pytest.raises(
        ValueError, match=r"^sample_weight must not be missing, but row 1 is masked"
    ):
        check_weights(masked, "sample_weight", 3)
    with pytest.raises(ValueError, match=r"^sample_weight must be finite, but row 0 is nan"):
        check_weights(pandas.Series([None, 1.0, 1.0]), "sample_weight", 3)
