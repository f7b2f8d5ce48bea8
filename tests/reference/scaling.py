"""Scaled features, as the formulas say: a plain twin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]


def standardized(X: Floats, kind: str) -> tuple[Floats, Floats, Floats]:
    """Return (x - m) / s for each feature, s and m."""
    Z, scale, means = np.empty_like(X), np.ones(X.shape[1]), np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        x = X[:, j]
        values = x[x != 0]
        mostly_zero = 2 * len(values) < len(x) or kind == "size"
        if mostly_zero:
            s = math.sqrt(sum(v * v for v in values) / len(values)) if len(values) else 0.0
        else:
            mean = sum(x) / len(x)
            s = math.sqrt(sum((v - mean) ** 2 for v in x) / len(x))
            if s <= 1e-7 * abs(mean):
                s = abs(mean)
        scale[j] = 2.0 ** math.floor(math.log2(s) + 0.5137) if s > 0 else 1.0
        if kind == "center" and not mostly_zero:
            means[j] = np.float32(math.floor(16 * mean / scale[j] + 0.5137) * scale[j] / 16)
        Z[:, j] = (x - means[j]) / scale[j]
    return Z, scale, means
