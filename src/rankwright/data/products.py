"""Products of a feature matrix with a vector."""

from __future__ import annotations

import numpy as np

from rankwright import _kernels
from rankwright.data.sparse import is_sparse
from rankwright.data.validation import Floats, Matrix
from rankwright.threads import n_threads


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


def multiply_transposed(X: Matrix, g: Floats, n_jobs: int | None = None) -> Floats:
    r"""Return :math:`X^\top g`, summed in float64; the same bits for every number of threads."""
    g = np.ascontiguousarray(g, dtype=np.float64)
    return _kernels.multiply_transposed(native_rows(X), g, n_threads(n_jobs))
