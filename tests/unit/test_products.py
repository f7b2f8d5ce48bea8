"""Products with the feature matrix: float64 sums, the same bits for every number of threads."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rankwright import _kernels
from rankwright.data.products import (
    gram,
    group_sums,
    linear_scores,
    moments,
    multiply,
    multiply_transposed,
    native_rows,
)

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


@pytest.mark.parametrize("kind", ["dense", "sparse", "long"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 13), (2049, 8), (9000, 20)])
def test_scores_are_products_and_offsets(shape: tuple[int, int], dtype: Any, kind: str) -> None:
    X = make(shape, dtype, kind)
    rng = np.random.default_rng(1)
    W, b = rng.normal(size=(3, shape[1])), rng.normal(size=3)
    columns = np.stack([multiply(X, w) for w in W], axis=1)
    for n_jobs in (None, 1, 2, 5):
        for offsets in (b, b.tolist(), np.repeat(b, 2)[::2]):
            np.testing.assert_array_equal(
                linear_scores(X, W, offsets, n_jobs)[0], columns + b, strict=True
            )
        np.testing.assert_array_equal(linear_scores(X, W, None, n_jobs)[0], columns, strict=True)
        for offset in (float(b[0]), b[0], b[:1]):
            np.testing.assert_array_equal(
                linear_scores(X, W[0], offset, n_jobs)[0], columns[:, 0] + b[0], strict=True
            )
    assert linear_scores(X, W[:1], b[:1])[0].shape == (shape[0], 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_of_an_array_are_those_of_its_rows(dtype: Any) -> None:
    X = make((37, 13), dtype, "dense")
    W, b = np.random.default_rng(1).normal(size=(3, 13)), np.ones(3)
    expected, finite = linear_scores(X, W, b)
    assert finite
    assert (linear_scores(np.asfortranarray(X), W, b)[0] == expected).all()
    scores = np.full((37, 3), np.nan)
    assert _kernels.linear_scores(native_rows(X), W, b, scores, 1)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("n_scores", [1, 2])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_tell_that_they_are_finite(bad: float, n_scores: int) -> None:
    X, W, b = np.ones((3000, 4)), np.zeros((n_scores, 4)), np.zeros(n_scores)
    assert linear_scores(X, W, b)[1]
    b[-1] = bad
    assert not linear_scores(X, W, b)[1]
    X[2500, 2] = bad  # a weight of 0 does not hide it
    for offsets in (None, np.zeros(n_scores)):
        assert not linear_scores(X, W, offsets)[1]
        assert not linear_scores(X.astype(np.float32), W, offsets)[1]


def test_scores_need_room_of_their_shape() -> None:
    X, W, b = np.ones((5, 4), np.float32), np.ones((2, 4)), np.ones(2)
    fixed = np.empty((5, 2))
    fixed.flags.writeable = False
    no_room: list[Any] = [fixed, np.empty((5, 4))[:, ::2], np.empty((5, 2), np.float32)]
    forms: list[Any] = [X, X.astype(np.float64), native_rows(X)]
    for rows in forms:
        with pytest.raises(ValueError, match="out must have an entry for each row and score"):
            _kernels.linear_scores(rows, W, b, np.empty(9), 1)
        with pytest.raises(ValueError, match="b must have an entry for each score"):
            _kernels.linear_scores(rows, W, np.ones(3), np.empty((5, 2)), 1)
        with pytest.raises(ValueError, match="W must have an entry for each score and feature"):
            _kernels.linear_scores(rows, W[:, :3].copy(), b, np.empty((5, 2)), 1)
        for bad in no_room:
            with pytest.raises(TypeError, match="incompatible function arguments"):
                _kernels.linear_scores(rows, W, b, bad, 1)
