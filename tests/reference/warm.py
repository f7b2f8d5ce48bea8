"""Slow, plain twins of the bounds from any start, written from what they follow from."""

from __future__ import annotations

import math

import numpy as np

from tests.reference.online import Floats


def largest_sum(u: Floats, w: Floats, growth: float, charge: float) -> float:
    """Return the largest N with N - charge + <w, u> <= |u| sqrt(|w|^2 + growth N), by halving."""
    product = math.fsum((u * w).ravel().tolist())
    length, start = float(np.linalg.norm(u)), float(np.linalg.norm(w))

    def holds(n: float) -> bool:
        return n - charge + product <= length * math.sqrt(start**2 + growth * n)

    low, high = 0.0, 1.0
    while holds(high):
        low, high = high, 2 * high
        if high > 1e300:
            return math.inf
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def slam_potential(
    u: Floats, w: Floats, charge: float, radius: float, m: int, v_max: float, eta: float
) -> float:
    """Return (charge + |u - w|^2/(2 eta)) / (1 - 2 eta m R^2 v_max)."""
    room = 1 - 2 * eta * m * radius**2 * v_max
    return (charge + float(((u - w) ** 2).sum()) / (2 * eta)) / room if room > 0 else math.inf


def widrow_hoff(u: Floats, w: Floats, X: Floats, targets: Floats, eta: float) -> float:
    """Return (|u - w|^2/eta + squared errors of u) / (1 - eta R^2)."""
    room = 1 - eta * float((X**2).sum(axis=1).max())
    own = float(((targets - X @ u) ** 2).sum())
    return (float(((u - w) ** 2).sum()) / eta + own) / room if room > 0 else math.inf
