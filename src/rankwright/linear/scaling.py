"""Features on one scale."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from rankwright.data.validation import Floats, Matrix


def scaled(X: Matrix) -> tuple[Matrix, Floats]:
    """Return features over their standard deviations, and those deviations."""
    scale = standard_deviations(X)
    return divided(X, scale), scale


def divided(X: Matrix, scale: Floats) -> Matrix:
    """Return features over a scale, in their own precision."""
    result = X * (1 / scale).astype(X.dtype)
    return sp.csr_array(result) if sp.issparse(X) else result


def standard_deviations(X: Matrix) -> Floats:
    """Return the standard deviation of each feature; 1 where it is 0."""
    n = max(X.shape[0], 1)
    if sp.issparse(X):
        data = X.data.astype(np.float64)
        mean = np.bincount(X.indices, weights=data, minlength=X.shape[1]) / n
        stored = np.bincount(X.indices, minlength=X.shape[1])
        data -= mean[X.indices]
        square = np.bincount(X.indices, weights=data**2, minlength=X.shape[1])
        variance = (square + (n - stored) * mean**2) / n
    else:
        variance = np.zeros(X.shape[1])
        mean = X.mean(axis=0, dtype=np.float64)
        for begin in range(0, X.shape[0], 65536):  # a copy of everything would be as large as X
            variance += ((X[begin : begin + 65536] - mean) ** 2).sum(axis=0, dtype=np.float64)
        variance /= n
    deviation = np.sqrt(variance)
    # Rounding leaves a constant feature a deviation of about 1e-8 of its size.
    constant = deviation <= 1e-7 * np.maximum(np.abs(np.asarray(mean)), 1e-300)
    return np.where(constant, 1.0, deviation)
