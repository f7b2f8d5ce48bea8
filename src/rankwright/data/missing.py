"""Missing values: NaN in the features, counted and filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwright.data.groups import Ints
from rankwright.data.sparse import is_sparse
from rankwright.data.validation import Floats, Matrix

Missing: TypeAlias = Literal["error", "median", "zero"]
MISSING: tuple[Missing, ...] = ("error", "median", "zero")
ROWS = 10_000  # a median is that of so many rows, evenly spaced: more would not move it


def count_missing(X: Matrix) -> Ints:
    """Return how many values each feature lacks."""
    if is_sparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1]).astype(np.int64)
    counts = np.zeros(X.shape[1], dtype=np.int64)
    for begin in range(0, X.shape[0], ROWS):  # a mask of everything would be a quarter of X
        counts += np.isnan(X[begin : begin + ROWS]).sum(axis=0)
    return counts


def even_rows(n_rows: int) -> Ints:
    """Return the rows whose median is taken for that of all."""
    return np.arange(0, n_rows, max(1, -(-n_rows // ROWS)))


def medians(parts: Sequence[Matrix]) -> Floats:
    """Return the medians of rows that come in parts."""
    return fills(_stacked(parts), "median")


def medians_of_stream(pieces: Callable[..., Iterable[Any]]) -> Floats:
    """Return the medians of the rows of a stream that :func:`fills` would take for all.

    ``pieces`` is called with ``on_count``, and yields data sets whose rows have not moved.
    """
    wanted, sample, begin = [np.empty(0, dtype=np.int64)], [], 0

    def on_count(n_docs: int) -> None:
        wanted[0] = even_rows(n_docs)

    for piece in pieces(on_count=on_count):
        first, last = np.searchsorted(wanted[0], [begin, begin + piece.n_docs])
        sample.append(piece.X[wanted[0][first:last] - begin])
        begin += piece.n_docs
    return medians_of_samples(sample, lambda rare: [piece.X[:, rare] for piece in pieces()])


def medians_of_samples(
    samples: Sequence[Matrix], columns: Callable[[Ints], Sequence[Matrix]]
) -> Floats:
    """Return the medians of rows that are taken for all.

    ``columns`` returns all values of some features, for those that no row of the samples has.
    """
    found = _medians(_stacked(samples))
    rare = np.flatnonzero(np.isnan(found))
    if len(rare):
        found[rare] = _medians(_stacked(columns(rare)))
    return np.nan_to_num(found, nan=0.0)


def _stacked(parts: Sequence[Matrix]) -> Matrix:
    if not is_sparse(parts[0]):
        return np.vstack(parts)
    import scipy.sparse as sp

    return sp.csr_array(sp.vstack(parts))


def fills(X: Matrix, missing: Missing) -> Floats:
    """Return what to put in the place of missing values, for each feature.

    ``"median"`` is the median of the values that are there, 0 if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> fills(np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan], [100.0, np.nan]]), "median")
    array([3., 0.])
    """
    if missing == "zero":
        return np.zeros(X.shape[1])
    found = _medians(X[even_rows(X.shape[0])])
    for j in np.flatnonzero(np.isnan(found)).tolist():  # no value among those rows
        column = X[:, [j]].toarray()[:, 0] if is_sparse(X) else X[:, j]
        found[j] = _medians(column[:, None])[0]
    return np.nan_to_num(found, nan=0.0)


def _medians(X: Matrix) -> Floats:
    """Return the medians of the values that are there; NaN where there is none."""
    if not is_sparse(X):
        columns = np.sort(X.astype(np.float64), axis=0)  # NaN goes to the end
        there = X.shape[0] - count_missing(X)
        middle = np.maximum(there, 1) - 1
        at = np.arange(X.shape[1])
        if X.shape[0] == 0:
            return np.full(X.shape[1], np.nan)
        # Halves, and not the half of a sum, which may overflow.
        return np.asarray(columns[middle // 2, at] / 2 + columns[(middle + 1) // 2, at] / 2)
    matrix = X.tocsc()
    result = np.zeros(X.shape[1])
    # Where less than half of the values are stored, the one in the middle is 0.
    for j in np.flatnonzero(2 * np.diff(matrix.indptr) >= X.shape[0]).tolist():
        result[j] = _medians(matrix[:, [j]].toarray())[0]
    return result


def filled(X: Matrix, fill: Floats) -> Matrix:
    """Return features without missing values; the same object if none is missing."""
    if is_sparse(X):
        absent = np.isnan(X.data)
        if not absent.any():
            return X
        data = np.where(absent, fill[X.indices].astype(X.dtype), X.data)
        full = type(X)((data, X.indices.copy(), X.indptr.copy()), shape=X.shape)
        full.eliminate_zeros()
        return full
    if not count_missing(X).any():
        return X
    return np.where(np.isnan(X), fill.astype(X.dtype), X)
