"""Seeded ragged ranking data that exercises the corners where tools disagree."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def sample(
    seed: int, *, queries: int = 16, longest: int = 12, top: int = 4
) -> tuple[FloatArray, FloatArray, IntArray]:
    """
    Draw labels and scores of a set of ragged queries.

    Every draw holds a query of one document, a query without a relevant document, a query of
    equal positive labels and a query whose scores are all tied, next to random queries.

    Parameters
    ----------
    seed : int
        Seed of the generator; equal seeds give equal data.
    queries : int, default=16
        Number of queries, at least 5.
    longest : int, default=12
        Length of the longest possible query. Several tools sort with an algorithm that is stable
        on short inputs only, so a larger value shows whether their tie rule is a promise.
    top : int, default=4
        Highest grade; 1 gives binary labels.

    Returns
    -------
    y : ndarray of float64
        Integer-valued labels in ``0..top``.
    scores : ndarray of float64
        Scores on a grid of eighths: exact in float32, with many ties.
    indptr : ndarray of int64
        Bounds of the queries, ``queries + 1`` values.
    """
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, size=queries)
    # The first queries are the fixed corners; the lengths straddle the usual cutoff of 5.
    lengths[:5] = [1, 1, *rng.integers(2, longest + 1, size=3)]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    # Grades are skewed towards 0, as in judged collections.
    weights = 0.6 ** np.arange(top + 1)
    y = rng.choice(top + 1, size=int(indptr[-1]), p=weights / weights.sum()).astype(np.float64)
    scores = rng.integers(-4, 5, size=int(indptr[-1])) / 8.0
    y[indptr[0]] = 0.0
    y[indptr[1]] = top
    y[indptr[2] : indptr[3]] = 0.0
    y[indptr[3] : indptr[4]] = rng.integers(1, top + 1)
    scores[indptr[4] : indptr[5]] = 0.25
    return y, scores, indptr


def binary(
    seed: int, *, queries: int = 16, longest: int = 12
) -> tuple[FloatArray, FloatArray, IntArray]:
    """
    Draw the data of `sample` with labels 0 and 1, for tools that refuse grades.

    Parameters
    ----------
    seed : int
        Seed of the generator.
    queries : int, default=16
        Number of queries, at least 5.
    longest : int, default=12
        Length of the longest possible query.

    Returns
    -------
    y : ndarray of float64
        Labels 0 and 1.
    scores : ndarray of float64
        Scores on a grid of eighths.
    indptr : ndarray of int64
        Bounds of the queries.
    """
    return sample(seed, queries=queries, longest=longest, top=1)
