"""Products of a feature matrix with a vector."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from rankwright import _kernels
from rankwright.data.validation import Floats, Matrix
from rankwright.threads import n_threads


def multiply(X: Matrix, w: Floats, n_jobs: int | None = None) -> Floats:
    """Return :math:`Xw`, summed in float64 whatever the type of X."""
    threads, w = n_threads(n_jobs), np.ascontiguousarray(w, dtype=np.float64)
    if sp.issparse(X):
        return _kernels.multiply_sparse(X.data, X.indices, X.indptr, w, threads)
    return _kernels.multiply(np.ascontiguousarray(X), w, threads)


def multiply_transposed(X: Matrix, g: Floats, n_jobs: int | None = None) -> Floats:
    r"""Return :math:`X^\top g`, summed in float64; the same bits for every number of threads."""
    threads, g = n_threads(n_jobs), np.ascontiguousarray(g, dtype=np.float64)
    if sp.issparse(X):
        return _kernels.multiply_transposed_sparse(
            X.data, X.indices, X.indptr, X.shape[1], g, threads
        )
    return _kernels.multiply_transposed(np.ascontiguousarray(X), g, threads)
