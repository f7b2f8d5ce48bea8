"""The interval of an experiment, from its formula, on the values themselves."""

from __future__ import annotations

import math
from statistics import mean, variance


def interval(a: list[float], b: list[float]) -> tuple[float, float]:
    """Waudby-Smith et al. 2024, theorem 2.2, with n V for sigma squared and rho = 0.05/sigma."""
    n = len(a) + len(b)
    within = [x - mean(a) for x in a] + [x - mean(b) for x in b]
    pooled = sum(x * x for x in within) / (n - 2)
    V = max(variance(a) / len(a) + variance(b) / len(b), pooled / len(a) + pooled / len(b))
    sigma = math.sqrt(n * V)
    rho = 0.05 / sigma
    inside = n * rho**2 + 1
    half = sigma * math.sqrt(2 * inside / (n**2 * rho**2) * math.log(math.sqrt(inside) / 0.05))
    return mean(b) - mean(a) - half, mean(b) - mean(a) + half
