"""Rows in blocks of whole groups, so that a product needs no copy of all features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.groups import Ints

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
