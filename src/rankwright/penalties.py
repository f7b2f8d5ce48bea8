"""Penalties on the weights of linear models."""

from __future__ import annotations

__all__ = ["ElasticNet"]

import math
from dataclasses import dataclass

import numpy as np

from rankwright.data.validation import Floats


@dataclass(frozen=True)
class ElasticNet:
    r"""Elastic net, with the lasso, the ridge and no penalty as its limits.

    .. math::
        \Omega(w) = a_1 \|w\|_1 + \tfrac{a_2}{2} \|w\|_2^2

    Parameters
    ----------
    l1 : float
        :math:`a_1 \ge 0`.
    l2 : float
        :math:`a_2 \ge 0`.
    """

    l1: float = 0.0
    l2: float = 0.0

    def __post_init__(self) -> None:
        for name in ("l1", "l2"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a number >= 0, but is {value!r}.")

    @classmethod
    def from_name(cls, penalty: str | None, alpha: float, l1_ratio: float = 0.5) -> ElasticNet:
        r"""Return the penalty :math:`\alpha (\lambda |w|_1 + \frac{1-\lambda}{2} |w|^2)`.

        ``"l1"`` is :math:`\lambda = 1`, ``"l2"`` is 0, ``"elasticnet"`` is ``l1_ratio``, None is no
        penalty.
        """
        ratios = {"l1": 1.0, "l2": 0.0, "elasticnet": l1_ratio}
        if penalty is None or penalty == "none":
            return cls()
        if penalty not in ratios:
            raise ValueError(
                f"penalty must be 'l1', 'l2', 'elasticnet' or None, but is {penalty!r}."
            )
        if not (math.isfinite(alpha) and alpha >= 0):
            raise ValueError(f"alpha must be a number >= 0, but is {alpha!r}.")
        ratio = ratios[penalty]
        if not 0 <= ratio <= 1:
            raise ValueError(f"l1_ratio must lie between 0 and 1, but is {l1_ratio!r}.")
        return cls(alpha * ratio, alpha * (1 - ratio))

    def value(self, w: Floats) -> float:
        r"""Return :math:`\Omega(w)`."""
        # Not w @ w: the threads of a BLAS wait for each other by spinning.
        return float(self.l1 * np.abs(w).sum() + 0.5 * self.l2 * np.square(w).sum())

    def prox(self, w: Floats, step: float) -> Floats:
        r"""Return the minimiser over z of :math:`\Omega(z) + |z - w|^2 / (2\,\mathrm{step})`."""
        shrunk = np.sign(w) * np.maximum(np.abs(w) - step * self.l1, 0)
        return np.asarray(shrunk / (1 + step * self.l2), dtype=np.float64)

    def violation(self, w: Floats, gradient: Floats) -> Floats:
        """Return how far each coordinate is from optimal, given the gradient of the rest."""
        total = gradient + self.l2 * w
        if self.l1 == 0:
            return np.abs(total)
        active = np.abs(total + self.l1 * np.sign(w))
        return np.where(w != 0, active, np.maximum(np.abs(total) - self.l1, 0))
