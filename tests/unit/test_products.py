"""Products with the feature matrix: float64 sums, the same bits for every number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rankwright.data.products import multiply, multiply_transposed

SHAPES = [(0, 3), (1, 1), (5, 0), (7, 13), (2049, 8), (9000, 20), (300, 5000)]


def make(shape: tuple[int, int], dtype: Any, kind: str) -> Any:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=shape) * (rng.random(shape) < 0.5)).astype(dtype)
    if kind == "dense":
        return X
    matrix = sp.csr_array(X)
    if kind == "long":
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(int)
    return matrix


@pytest.mark.parametrize("kind", ["dense", "sparse", "long"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_are_float64_and_the_same_for_any_threads(
    shape: tuple[int, int], dtype: Any, kind: str
) -> None:
    X = make(shape, dtype, kind)
    exact = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
    rng = np.random.default_rng(1)
    w, g = rng.normal(size=shape[1]), rng.normal(size=shape[0])
    g[::3] = 0
    np.testing.assert_allclose(multiply(X, w), exact @ w, atol=1e-11)
    np.testing.assert_allclose(multiply_transposed(X, g), exact.T @ g, atol=1e-11)
    for n_jobs in (1, 2, 5):
        np.testing.assert_array_equal(multiply(X, w, n_jobs), multiply(X, w))
        np.testing.assert_array_equal(multiply_transposed(X, g, n_jobs), multiply_transposed(X, g))


def test_any_layout() -> None:
    X = np.asfortranarray(make((30, 4), np.float32, "dense"))
    w = np.arange(8.0)[::2]
    np.testing.assert_allclose(multiply(X, w), X.astype(np.float64) @ w)
    np.testing.assert_allclose(multiply_transposed(X, X[:, 0]), X.T.astype(np.float64) @ X[:, 0])


def test_lengths_must_match() -> None:
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match="one entry for each feature"):
        multiply(X, np.zeros(3))
    with pytest.raises(ValueError, match="one entry for each row"):
        multiply_transposed(X, np.zeros(2))
