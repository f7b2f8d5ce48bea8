"""Missing values of other libraries stay missing, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rankwright as rw
from rankwright.data.validation import check_doc_ids, check_qid, check_scores, check_X, check_y

masked: Any = np.ma.masked_array
X = masked([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], mask=[[0, 0], [0, 1], [0, 0]])
Y = masked([0, 1, 2], mask=[0, 1, 0])


def test_masked_features_are_missing() -> None:
    expected = [[1, 2], [3, np.nan], [5, 6]]
    for given in (X, X.astype(np.float32), X.astype(int), list(X)):
        with pytest.raises(
            ValueError, match=r"^X must not be missing, but row 1, column 1 is mask"
        ):
            check_X(given)
        checked = check_X(given, allow_nan=True)
        np.testing.assert_array_equal(checked, expected)
        assert type(checked) is np.ndarray
    assert check_X(X.astype(np.float32), allow_nan=True).dtype == np.float32


def test_a_mask_without_anything_masked_is_no_matter() -> None:
    np.testing.assert_array_equal(check_X(masked([[1.0, 2.0]])), [[1, 2]])
    assert check_y(masked([1, 2])).tolist() == [1, 2]
    assert check_qid(masked(["a", "b"])).tolist() == ["a", "b"]


def test_masked_labels_scores_and_ids_are_refused() -> None:
    for check, name in ((check_y, "y"), (check_scores, "scores"), (check_qid, "qid")):
        with pytest.raises(ValueError, match=rf"^{name} must not be missing, but row 1 is masked"):
            check(Y)
    texts: Any = masked(["a", "b"], mask=[0, 1])
    with pytest.raises(ValueError, match=r"^doc_ids must not be missing, but row 1 is masked"):
        check_doc_ids(texts, 2)


@pytest.mark.filterwarnings("ignore:this model ranks nothing")
def test_models_do_not_drop_masks_either() -> None:
    y = np.array([0, 1, 2])
    with pytest.raises(ValueError, match=r"^X must not be missing, but row 1, column 1 is masked"):
        rw.LinearRanker().fit(X, y)
    with pytest.raises(ValueError, match=r"^y must not be missing, but row 1 is masked"):
        rw.LinearRanker().fit(X.data, Y)
    fitted = rw.LinearRanker().fit(X.data, y)
    with pytest.raises(ValueError, match=r"^X must not be missing"):
        fitted.predict(X)
    # Trees know missing values.
    trees = rw.BoostedRanker(n_estimators=2, min_child_samples=1).fit(X.data, y)
    missing = np.array(X.filled(np.nan))
    np.testing.assert_array_equal(trees.predict(X), trees.predict(missing))


def test_arrow_categories_are_not_read_by_position() -> None:
    gaps = pa.array(["a", None, "b"]).dictionary_encode()
    for given in (gaps, pa.chunked_array([gaps])):
        with pytest.raises(ValueError, match=r"^qid must not be missing, but row 1 is None"):
            check_qid(given)
    labels: Any = pa.chunked_array([pa.array([1, None, 2]).dictionary_encode()])
    with pytest.raises(ValueError, match=r"^y must be finite, but row 1 is nan"):
        check_y(labels)
    table = pa.table({"u": labels, "v": [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(check_X(table, allow_nan=True)[:, 0], [1, np.nan, 2])
    with pytest.raises(ValueError, match=r"^X must be finite, but row 1, column 0 is nan"):
        rw.Dataset(table, [0, 1, 2])
