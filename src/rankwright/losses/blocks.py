"""Rows in blocks of whole groups, so that a product needs no copy of all features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwright.data.groups import Ints
from rankwright.data.products import gram, group_sums
from rankwright.data.validation import Floats, Matrix

# A block of this many rows and a hundred features fits a cache of some megabytes.
_BLOCK_ROWS = 8192


def blocks(indptr: Ints) -> Iterator[tuple[slice, slice, Ints]]:
    """Yield runs of whole groups: their rows, their numbers, and their starts within the rows.

    No group may be empty.
    """
    n_groups = len(indptr) - 1
    begin = 0
    while begin < n_groups:
        end = int(np.searchsorted(indptr, indptr[begin] + _BLOCK_ROWS, side="right")) - 1
        end = min(max(end, begin + 1), n_groups)
        rows = slice(int(indptr[begin]), int(indptr[end]))
        if rows.stop > rows.start:
            yield rows, slice(begin, end), indptr[begin:end] - rows.start
        begin = end


def group_means(X: NDArray[Any], indptr: Ints) -> NDArray[Any]:
    """Return the mean row of each group."""
    means = np.zeros((len(indptr) - 1, X.shape[1]), dtype=X.dtype)
    for rows, groups, starts in blocks(indptr):
        sizes = np.maximum(np.diff(indptr)[groups], 1)[:, None].astype(X.dtype)
        means[groups] = np.add.reduceat(X[rows], starts, axis=0) / sizes
    return means


def weighted_sums(
    X: Matrix,
    rows: Ints,
    begin: Ints,
    diagonal: Floats,
    weights: Sequence[Floats],
    centred: Ints,
    threads: int,
) -> tuple[Floats, list[NDArray[Any]]]:
    r"""Return :math:`\sum_i h_i x_i x_i^\top`, and for each weights the sums by group.

    Groups are ranges of ``rows``, from ``begin`` on; ``diagonal``, h, and the weights are in the
    order of ``rows``. Dense features are centred first, by ranges of whole groups: sums in which
    that changes nothing but the rounding can be taken in the type of X.
    """
    if sp.issparse(X):
        place = np.empty_like(rows)  # of each row; sums of sparse rows are in float64 anyway
        place[rows] = np.arange(len(rows))
        sums = [group_sums(X, rows, begin, own[place], threads) for own in weights]
        return gram(X, diagonal[place], threads), sums
    d = X.shape[1]
    total = np.zeros((d, d))
    found = [np.empty((len(begin) - 1, d), dtype=X.dtype) for _ in weights]
    centres = group_means(X, centred)
    centre_of = np.repeat(np.arange(len(centred) - 1), np.diff(centred))
    for part, these, starts in blocks(begin):
        block = X[rows[part]] - centres[centre_of[part]]
        total += block.T @ (block * diagonal[part, None].astype(X.dtype))
        for own, out in zip(weights, found, strict=True):
            weighted = block * own[part, None].astype(X.dtype)
            out[these] = np.add.reduceat(weighted, starts, axis=0)
    return total, found
