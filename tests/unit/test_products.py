"""Products with the feature matrix: float64 sums, the same bits for every number of threads."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rankwright.data.products import gram, group_sums, moments, multiply, multiply_transposed

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


@pytest.mark.parametrize("kind", ["dense", "sparse", "long"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [*SHAPES[:-1], (70_000, 6), (60, 50)])
def test_sums_over_rows(shape: tuple[int, int], dtype: Any, kind: str) -> None:
    X = make(shape, dtype, kind)
    exact = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
    rng = np.random.default_rng(1)
    g = rng.normal(size=shape[0])
    g[::3] = 0
    first, second = moments(X, g)
    np.testing.assert_array_equal(first, multiply_transposed(X, g))
    np.testing.assert_allclose(second, (exact**2).T @ g, atol=1e-10)
    np.testing.assert_allclose(gram(X, g), exact.T @ (g[:, None] * exact), atol=1e-10)
    rows = rng.permutation(shape[0])
    begin = np.array([0, 0, shape[0] // 3, shape[0]])  # the first group is empty
    sums = group_sums(X, rows, begin, g)
    for k, (start, end) in enumerate(itertools.pairwise(begin)):
        chosen = rows[start:end]
        np.testing.assert_allclose(sums[k], exact[chosen].T @ g[chosen], atol=1e-10)
    for n_jobs in (1, 2, 5):
        np.testing.assert_array_equal(moments(X, g, n_jobs), (first, second))
        np.testing.assert_array_equal(gram(X, g, n_jobs), gram(X, g))
        np.testing.assert_array_equal(group_sums(X, rows, begin, g, n_jobs), sums)


def test_groups_must_be_ranges_of_rows() -> None:
    X, g = np.zeros((3, 2)), np.zeros(3)
    rows, begin = np.arange(3), np.array([0, 2, 3])
    for bad_rows, bad_begin in ((rows - 1, begin), (rows + 1, begin), (rows, begin[::-1].copy())):
        with pytest.raises(ValueError, match=r"no such row|ranges of the rows"):
            group_sums(X, bad_rows, bad_begin, g)
    with pytest.raises(ValueError, match="ranges of the rows"):
        group_sums(X, rows, begin + 1, g)


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
