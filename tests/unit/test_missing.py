"""Medians of what is there, and what stands for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rankwright.data import missing
from rankwright.data.missing import count_missing, even_rows, filled, fills, medians

TABLES = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=9),
    elements=st.sampled_from([0.0, 0.0, np.nan, 1.0, -2.5, 7.0]),
)


@given(TABLES)
def test_medians_are_numpys(X: Any) -> None:
    there = [column[~np.isnan(column)] for column in X.T]
    expected = [np.median(values) if len(values) else 0.0 for values in there]
    for form in (np.asarray, sp.csr_array):
        np.testing.assert_allclose(fills(form(X), "median"), expected, rtol=1e-15)
        np.testing.assert_array_equal(fills(form(X), "zero"), np.zeros(X.shape[1]))
        np.testing.assert_array_equal(count_missing(form(X)), np.isnan(X).sum(axis=0))
        full = filled(form(X), np.array(expected))
        full = full.toarray() if sp.issparse(full) else full
        np.testing.assert_array_equal(full, np.where(np.isnan(X), expected, X))


def test_nothing_is_copied_where_nothing_is_missing() -> None:
    X = np.ones((3, 2), dtype=np.float32)
    assert filled(X, np.zeros(2)) is X
    sparse = sp.csr_array(X)
    assert filled(sparse, np.zeros(2)) is sparse
    X[0, 0] = np.nan
    assert filled(X, np.zeros(2)).dtype == filled(sp.csr_array(X), np.zeros(2)).dtype == np.float32


def test_large_values_do_not_overflow() -> None:
    X = np.array([[1.7e308], [1.7e308], [np.nan]])
    assert fills(X, "median")[0] == 1.7e308


@pytest.mark.parametrize("n_rows", [0, 1, 9, 10, 11, 25, 100])
def test_rows_are_evenly_spaced(n_rows: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(missing, "ROWS", 10)
    rows = even_rows(n_rows)
    assert len(rows) <= 10
    assert len(rows) >= min(n_rows, 5)
    assert len(set(np.diff(rows))) <= 1


def test_a_value_that_is_rare_is_found(monkeypatch: Any) -> None:
    monkeypatch.setattr(missing, "ROWS", 5)
    X = np.full((20, 2), np.nan)
    X[:, 1] = 2.0
    X[7, 0] = 3.0  # not among the rows that are looked at
    np.testing.assert_array_equal(fills(X, "median"), [3.0, 2.0])
    np.testing.assert_array_equal(medians([X[:10], X[10:]]), [3.0, 2.0])
    np.testing.assert_array_equal(fills(sp.csr_array(X), "median"), [3.0, 2.0])
