"""A plain twin of perceptrons with a budget: weights as arrays, one round at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tests.reference.online import Floats


@dataclass
class Forgetful:
    """Weights, the updates that they are the sum of, and what the conditions add up."""

    w: Floats
    size: int
    held: list[tuple[int, float, Floats]] = field(default_factory=list)  # documents, a, g
    shares: list[float] = field(default_factory=list)  # what is left of each update held
    gone: list[tuple[float, float, float]] = field(default_factory=list)  # a, sigma, damage
    factors: list[float] = field(default_factory=list)
    ratio: float = 0.0
    largest: float = 0.0

    def update(self, g: Floats, gain: float, n_docs: int = 1) -> None:
        self.ratio = max(self.ratio, float((g**2).sum()) / gain**2)
        self.largest = max(self.largest, gain)
        self.w = self.w + g
        self.held.append((n_docs, gain, g))
        self.shares.append(1.0)
        while sum(n for n, _, _ in self.held) > self.size:
            self._forget()

    def _holds(self, phi: float, tolerance: float = 0.0) -> bool:
        """Both conditions, with the oldest update gone after a factor phi."""
        _, gain, g = self.held[0]
        sigma = phi * self.shares[0]
        r = sigma * g
        damage = float((r * r).sum() - 2 * (phi * self.w * r).sum())
        gone = [*self.gone, (gain, sigma, damage)]
        G = self.ratio * self.largest
        room = sum(a for a, _, _ in gone) / 2 - 2 * sum(a * s for a, s, _ in gone)
        total = sum(d for _, _, d in gone)
        return room >= -tolerance and total <= G * room + tolerance * G

    def _forget(self) -> None:
        # The largest factor: from 1 down in fine steps, then by halving.
        grid = np.linspace(1, 0, 2001)[:-1]
        place = next((i for i, phi in enumerate(grid) if self._holds(phi)), len(grid) - 1)
        phi = float(grid[place])
        if place > 0:
            low, high = (phi if self._holds(phi) else 0.0), float(grid[place - 1])
            for _ in range(100):
                middle = (low + high) / 2
                low, high = (middle, high) if self._holds(middle) else (low, middle)
            phi = low
        _, gain, g = self.held.pop(0)
        sigma = phi * self.shares.pop(0)
        r = sigma * g
        self.gone.append((gain, sigma, float((r * r).sum() - 2 * (phi * self.w * r).sum())))
        self.shares = [phi * share for share in self.shares]
        # Summed anew: what cancels leaves nothing.
        kept = zip(self.shares, self.held, strict=True)
        self.w = sum((share * g for share, (_, _, g) in kept), np.zeros_like(self.w))
        self.factors.append(phi)

    @property
    def shrinkage(self) -> float:
        return sum((1 - phi) / (1 + phi) for phi in self.factors)


def multiclass_with_budget(
    X: Floats, ranks: npt.NDArray[np.int64], k: int, budget: int
) -> tuple[Forgetful, list[bool]]:
    """Run the multiclass perceptron with uniform updates; ranks count from 0."""
    run, mistakes = Forgetful(np.zeros((k, X.shape[1])), budget), []
    for x, y in zip(X, ranks.tolist(), strict=True):
        scores = run.w @ x
        wrong = [r for r in range(k) if r != y and scores[r] >= scores[y]]
        mistakes.append(len(wrong) > 0)
        if wrong:
            g = np.zeros_like(run.w)
            g[y] = x
            g[wrong] = -x / len(wrong)
            run.update(g, 1.0)
    return run, mistakes
