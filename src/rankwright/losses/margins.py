"""Separable margins: functions of a document's feedback."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwright.data.validation import Floats


@dataclass(frozen=True)
class _Margin(ABC):
    """A function of positive feedback with two constants; other feedback has no margin."""

    k1: float = 1.0
    k2: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("k1", self.k1), ("k2", self.k2)):
            if not (isinstance(value, float | int) and math.isfinite(value)):
                raise ValueError(f"{name} must be a finite number, but is {value!r}.")

    def __call__(self, y: Any) -> Floats:
        """Return the margin of each feedback."""
        r = np.asarray(y, dtype=np.float64)
        # 1 stands in where there is no margin: no logarithm of 0 is taken, and no warning given.
        return np.where(r > 0, self.k1 * self._grow(np.where(r > 0, r, 1.0)) + self.k2, 0.0)

    @abstractmethod
    def _grow(self, r: Floats) -> Floats:
        """Return what is multiplied by k1."""


@dataclass(frozen=True)
class LinearMargin(_Margin):
    r"""Margin that grows with the feedback: :math:`t(r) = k_1 r + k_2`, and 0 for :math:`r \le 0`.

    Parameters
    ----------
    k1 : float, default 1.0
        :math:`k_1`.
    k2 : float, default 0.0
        :math:`k_2`.

    References
    ----------
    .. [1] Stevens, "Domination Rank", Section 8.3, with :math:`k_1 = 200`.

    Examples
    --------
    >>> LinearMargin(2.0, 0.5)([0, 1, 3])
    array([0. , 2.5, 6.5])
    """

    def _grow(self, r: Floats) -> Floats:
        return r


@dataclass(frozen=True)
class LogMargin(_Margin):
    r"""Margin that grows with the order of magnitude of the feedback.

    :math:`t(r) = k_1 \log r + k_2`, and 0 for :math:`r \le 0`.

    Parameters
    ----------
    k1 : float, default 1.0
        :math:`k_1`.
    k2 : float, default 2.7
        :math:`k_2`.

    References
    ----------
    .. [1] Stevens, "Domination Rank", Section 8.3, with these defaults.

    Examples
    --------
    >>> LogMargin()([0, 1, 10]).round(3)
    array([0.   , 2.7  , 5.003])
    """

    k2: float = 2.7

    def _grow(self, r: Floats) -> Floats:
        return np.log(r)
