"""Averages of rankers in plain Python, written from their definition."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence


def poisson(lot: float) -> int:
    """Return the least k with P(N <= k) > lot, for N with P(N = k) = e^-1 / k!."""
    k, below = 0, math.exp(-1)
    while below <= lot:
        k += 1
        below += math.exp(-1) / math.factorial(k)
    return k


def deviation(queries: Sequence[Sequence[float]]) -> float:
    """Return the mean standard deviation of scores within queries of more than one document."""
    found = []
    for scores in queries:
        if len(scores) > 1:
            mean = sum(scores) / len(scores)
            found.append(math.sqrt(sum((s - mean) ** 2 for s in scores) / len(scores)))
    return sum(found) / len(found) if found else 0.0


def greedy(
    members: Sequence[Sequence[float]], value: Callable[[list[float]], float], most: int
) -> list[float]:
    """Return shares: all members once, then the best one again while it makes the value larger."""
    taken = [1] * len(members)

    def average(counts: list[int]) -> list[float]:
        return [
            sum(n * s for n, s in zip(counts, row, strict=True))
            for row in zip(*members, strict=True)
        ]

    while sum(taken) < most:
        tried = []
        for k in range(len(members)):
            more = list(taken)
            more[k] += 1
            tried.append(value(average(more)))
        if max(tried) <= value(average(taken)):
            break
        taken[tried.index(max(tried))] += 1
    return [n / sum(taken) for n in taken]
