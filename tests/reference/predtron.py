"""Predtron's links and updates in plain numpy, from the definitions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def exponent(n: int) -> float:
    """Return r = log n / (log n - 1), or 2 where that is no exponent in (1, 2]."""
    return math.log(n) / (math.log(n) - 1) if n >= 8 else 2.0


def vector_link(w: Floats, r: float) -> Floats:
    """Gradient of |w|_r^2 / 2."""
    size = float((np.abs(w) ** r).sum() ** (1 / r))
    if size == 0:
        return np.zeros_like(w)
    return np.asarray(np.sign(w) * np.abs(w) ** (r - 1) * size ** (2 - r))


def weights(theta: Floats, norm: str) -> Floats:
    """Return W (d x p) from grad psi(W): the link with the conjugate exponent."""
    d, p = theta.shape
    if norm == "l1":
        r = exponent(d * p)
        return vector_link(theta.ravel(), r / (r - 1)).reshape(d, p)
    if norm == "group":
        r = exponent(p)
        lengths = np.linalg.norm(theta, axis=0)
        scaled = vector_link(lengths, r / (r - 1))
        safe = np.where(lengths > 0, lengths, 1.0)
        return np.asarray(theta * (scaled / safe))
    if norm == "trace":
        r = exponent(min(d, p))
        u, s, v = np.linalg.svd(theta, full_matrices=False)
        return np.asarray((u * vector_link(s, r / (r - 1))) @ v)
    return theta.copy()
