"""Products of a feature matrix with a vector."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankwright import _kernels
from rankwright.data.groups import Ints
from rankwright.data.sparse import is_sparse
from rankwright.data.validation import Floats, Matrix
from rankwright.threads import n_threads

_NONE = np.empty(0)
_PART_ROWS = 2048  # kPartRows of cpp/products.hpp


def native_rows(X: Matrix) -> _kernels.Rows:
    """Return a matrix as the kernels see it, without copying."""
    if is_sparse(X):
        indptr = X.indptr.astype(X.indices.dtype, copy=False)
        return _kernels.sparse_rows(X.data, X.indices, indptr, X.shape[1])
    return _kernels.dense_rows(np.ascontiguousarray(X))


def multiply(X: Matrix, w: Floats, n_jobs: int | None = None) -> Floats:
    """Return :math:`Xw`, summed in float64 whatever the type of X."""
    w = np.ascontiguousarray(w, dtype=np.float64)
    return _kernels.multiply(native_rows(X), w, n_threads(n_jobs))


def linear_scores(
    X: Matrix, W: Floats, b: ArrayLike | None = None, n_jobs: int | None = None
) -> tuple[Floats, bool]:
    r"""Return :math:`X W^\top + b`, and whether all of it is finite: then X is.

    A score depends on its own row alone: the same bits whatever rows stand beside it. One row of W
    may be a vector; then the scores are one too.
    """
    offsets = _NONE if b is None else np.ascontiguousarray(b, np.float64)
    scores = np.empty(X.shape[0] if W.ndim == 1 else (X.shape[0], len(W)))
    # Few rows are one part, which one thread multiplies; to count cores would take longer.
    threads = 1 if X.shape[0] <= _PART_ROWS else n_threads(n_jobs)
    rows = native_rows(X) if is_sparse(X) else np.ascontiguousarray(X)
    return scores, _kernels.linear_scores(rows, W, offsets, scores, threads)


def multiply_transposed(X: Matrix, g: Floats, n_jobs: int | None = None) -> Floats:
    r"""Return :math:`X^\top g`, summed in float64; the same bits for every number of threads."""
    g = np.ascontiguousarray(g, dtype=np.float64)
    return _kernels.multiply_transposed(native_rows(X), g, n_threads(n_jobs))


def moments(X: Matrix, g: Floats, n_jobs: int | None = None) -> tuple[Floats, Floats]:
    r"""Return :math:`X^\top g` and :math:`(X \circ X)^\top g`, of the squares of all entries."""
    g = np.ascontiguousarray(g, dtype=np.float64)
    both = _kernels.moments(native_rows(X), g, n_threads(n_jobs)).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def gram(X: Matrix, g: Floats, n_jobs: int | None = None) -> Floats:
    r"""Return :math:`X^\top \mathrm{diag}(g) X`, in float64; columns of sparse rows increase."""
    d = X.shape[1]
    return _kernels.gram(native_rows(X), g, n_threads(n_jobs)).reshape(d, d)


def group_sums(X: Matrix, rows: Ints, begin: Ints, g: Floats, n_jobs: int | None = None) -> Floats:
    r"""Return :math:`\sum g_i x_i` over each group, whose rows are a range of ``rows``."""
    sums = _kernels.group_sums(native_rows(X), rows, begin, g, n_threads(n_jobs))
    return sums.reshape(len(begin) - 1, X.shape[1])
