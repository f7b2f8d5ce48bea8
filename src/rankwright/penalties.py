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

    @property
    def kink(self) -> float:
        r"""The slope :math:`a_1` of its kink at 0; a penalty without is smooth."""
        return self.l1

    @property
    def convexity(self) -> float:
        r"""The least curvature, :math:`a_2`: above 0, objectives have one minimiser."""
        return self.l2

    def smooth(self, w: Floats) -> tuple[float, Floats]:
        r"""Return value and gradient of all but the kink, :math:`\tfrac{a_2}{2} \|w\|^2`."""
        return 0.5 * self.l2 * float(w @ w), self.l2 * w

    def argmin(self, z: Floats, mu: float) -> Floats:
        r"""Return the minimiser over w of :math:`\Omega(w) + \tfrac{\mu}{2} |w|^2 - z \cdot w`."""
        # A soft threshold: within a_1 of 0 the kink holds the weight at 0 exactly.
        shrunk = np.sign(z) * np.maximum(np.abs(z) - self.l1, 0)
        return np.asarray(shrunk / (self.l2 + mu), dtype=np.float64)

    def shrink(self, x: float, curvature: float) -> float:
        r"""Return the minimiser over z of :math:`a_1 |z| + \tfrac{\mu}{2} (z - x)^2`.

        That is one weight of a quadratic model of curvature :math:`\mu` with all but the kink.
        """
        return float(np.sign(x)) * max(abs(x) - self.l1 / curvature, 0.0)

    def prox(self, w: Floats, step: float) -> Floats:
        r"""Return the minimiser over z of :math:`\Omega(z) + |z - w|^2 / (2\,\mathrm{step})`."""
        return self.argmin(np.asarray(w) / step, 1 / step)

    def conjugate(self, gradient: Floats) -> tuple[float, float]:
        r"""Return the largest :math:`c \le 1` with a finite :math:`\Omega^*(-c g)`, and that."""
        steepest = float(np.abs(gradient).max(initial=0.0))
        # Without a_2 the conjugate is 0 on a box, and infinite outside.
        if self.l2 == 0:
            return (1.0 if steepest <= self.l1 else self.l1 / steepest), 0.0
        excess = np.maximum(np.abs(gradient) - self.l1, 0.0)
        return 1.0, float(np.square(excess).sum()) / (2 * self.l2)

    def violation(self, w: Floats, gradient: Floats) -> Floats:
        """Return how far each coordinate is from optimal, given the gradient of the rest."""
        total = gradient + self.l2 * w
        if self.l1 == 0:
            return np.abs(total)
        active = np.abs(total + self.l1 * np.sign(w))
        return np.where(w != 0, active, np.maximum(np.abs(total) - self.l1, 0))
