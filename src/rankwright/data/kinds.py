"""What kinds of numbers features are, by their values."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from rankwright.data.validation import Matrix

KINDS = ("0/1", "integer", "real")  # each has the values of those before it
_BLOCK = 1 << 18  # values that are looked at together, so that they stay in the cache


def feature_kinds(X: Matrix) -> list[str]:
    """Return ``"0/1"``, ``"integer"`` or ``"real"`` for each feature; missing values do not count.

    Examples
    --------
    >>> import numpy as np
    >>> feature_kinds(np.array([[0.0, 3.0, 0.5], [1.0, -2.0, 7.0]]))
    ['0/1', 'integer', 'real']
    """
    width = X.shape[1]
    real, beyond = np.zeros(width, dtype=bool), np.zeros(width, dtype=bool)
    if sp.issparse(X):
        real[X.indices[_is_real(X.data)]] = True
        beyond[X.indices[_is_beyond(X.data)]] = True
    else:
        step = max(1, _BLOCK // max(width, 1))
        for begin in range(0, X.shape[0], step):
            rows = X[begin : begin + step]
            real |= _is_real(rows).any(axis=0)
            beyond |= _is_beyond(rows).any(axis=0)
    kinds: list[str] = np.where(real, "real", np.where(beyond, "integer", "0/1")).tolist()
    return kinds


def _is_real(values: Matrix) -> Matrix:
    return (values != np.floor(values)) & ~np.isnan(values)


def _is_beyond(values: Matrix) -> Matrix:
    return (values != 0) & (values != 1) & ~np.isnan(values)
