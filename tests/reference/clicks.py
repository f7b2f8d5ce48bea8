"""Click models by enumeration: the probability of every click pattern, from the definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

# Probability that rank r (from 1) is examined, given which ranks above were clicked.
Examined = Callable[[int, Sequence[int]], float]


def click_probabilities(attraction: Sequence[float], examined: Examined) -> list[float]:
    """Return the probability of a click at each rank, summed over all 2^m patterns."""
    m = len(attraction)
    total = [0.0] * m
    for pattern in product((0, 1), repeat=m):
        probability = 1.0
        for r in range(1, m + 1):
            above = [s for s in range(1, r) if pattern[s - 1]]
            p = examined(r, above) * attraction[r - 1]
            probability *= p if pattern[r - 1] else 1 - p
        for i in range(m):
            total[i] += probability * pattern[i]
    return total


def cascade(r: int, above: Sequence[int]) -> float:
    """Nothing is examined behind a click."""
    return 0.0 if above else 1.0


def position_based(eta: float) -> Examined:
    """Rank r is examined with probability r^-eta."""
    return lambda r, above: r**-eta


def user_browsing(eta: float) -> Examined:
    """Rank r is examined with probability d^-eta, d ranks behind the last click."""
    return lambda r, above: (r - (above[-1] if above else 0)) ** -eta
