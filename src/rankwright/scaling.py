r"""Features on one scale.

Feature j of a learner that standardizes is

.. math::
    z_j = (x_j - m_j) / s_j

where :math:`s_j` is its standard deviation, and :math:`m_j`

- its mean, for learners with an intercept or thresholds (``"center"``);
- 0 for rankers, whose rankings do not depend on it (``"spread"``);
- 0 for learners that would miss it (``"size"``); :math:`s_j` is then the root mean square of the
  values that are not 0, since what lies far from 0 cannot be moved there.

A feature that is 0 in most rows keeps its zeros: it is always scaled by its ``"size"``. By its
deviation, a word that is in one of a thousand documents would count thirty times as much as others.

Online learners round both: :math:`s_j` to a power of two and :math:`m_j` to a sixteenth of it. That
is as good, and scaling there and back changes no bit of a weight; nor does it matter whether the
rows were measured at once, in pieces, dense or sparse. Batch linear models, whose penalty gives the
scale a meaning, divide by the standard deviations themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rankwright.data.groups import Ints
from rankwright.data.sparse import is_sparse
from rankwright.data.validation import Floats, Matrix

Kind: TypeAlias = Literal["center", "spread", "size"]

_ROWS = 1024  # measured at once: in the cache, and never a copy of everything
_EXPONENTS = (-120, 120)  # float32 can be multiplied by these powers of two and their inverses
_STEPS = 16  # of a mean, in a deviation
# Deviations and means of plain data, such as 3 or 0.5, must not lie where rounding turns: there
# the last bit of a sum would decide.
_ASIDE = 0.0137


@dataclass(frozen=True)
class FeatureScale:
    """What features are divided by, and what is taken from them before.

    Attributes
    ----------
    scale : ndarray of shape (n_features,)
        Positive.
    center : ndarray of shape (n_features,), optional
        None takes nothing.
    """

    scale: Floats
    center: Floats | None = None

    def apply(self, X: Matrix) -> Matrix:
        """Return scaled features, in their own precision."""
        inverse = (1 / self.scale).astype(X.dtype)
        if not is_sparse(X):
            centered = X if self.center is None else X - self.center.astype(X.dtype)
            return np.asarray(centered * inverse)
        import scipy.sparse as sp

        scaled = sp.csr_array(sp.csr_array(X) * inverse)  # X * inverse of a matrix is a product
        if self.center is None or not self.center.any():
            return scaled
        # Features with a mean are mostly not 0: this stores at most twice as much.
        columns = np.flatnonzero(self.center)
        means = np.tile(self.center[columns].astype(X.dtype) * inverse[columns], X.shape[0])
        indptr = np.arange(X.shape[0] + 1) * len(columns)
        shift = sp.csr_array((means, np.tile(columns, X.shape[0]), indptr), shape=X.shape)
        return sp.csr_array(scaled - shift)


class Moments:
    """Means and deviations of features, while rows go by."""

    def __init__(self, n_features: int) -> None:
        self.n_rows = 0
        self._nonzero = np.zeros(n_features, dtype=np.int64)
        self._squares = np.zeros(n_features)
        self._mean = np.zeros(n_features)
        self._deviations = np.zeros(n_features)  # sum of squares around the mean

    def add(self, X: Matrix) -> None:
        """Measure more rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            if is_sparse(X):
                self._merge(*_sums_of_sparse(X))
                return
            for begin in range(0, X.shape[0], _ROWS):
                self._merge(*_sums_of_dense(X[begin : begin + _ROWS]))

    def _merge(
        self,
        n: int,
        nonzero: Floats | Ints,
        squares: Floats,
        mean: Floats,
        deviations: Floats,
    ) -> None:
        """Add what was measured of n rows (Chan, Golub & LeVeque)."""
        if n == 0:
            return
        total = self.n_rows + n
        apart = mean - self._mean
        self._deviations += deviations + apart**2 * (self.n_rows * n / total)
        self._mean += apart * (n / total)
        self._squares += squares
        self._nonzero += nonzero.astype(np.int64)
        self.n_rows = total

    def joined(self, other: Moments) -> Moments:
        """Add what was measured of other rows, and return itself."""
        self._merge(other.n_rows, other._nonzero, other._squares, other._mean, other._deviations)
        return self

    def scale(self, kind: Kind = "spread") -> FeatureScale:
        """Return the scale of what was measured."""
        n = max(self.n_rows, 1)
        deviation, size = self.deviations(), np.abs(self._mean)
        # A constant feature may be there to be an intercept: what counts is its size.
        deviation = np.where(deviation > 0, deviation, size)
        rare = (2 * self._nonzero < n) | (kind == "size")
        spread = np.where(rare, np.sqrt(self._squares / np.maximum(self._nonzero, 1)), deviation)
        scale = power_of_two(spread)
        if kind != "center":
            return FeatureScale(scale)
        steps = np.floor(self._mean / scale * _STEPS + 0.5 + _ASIDE)
        # Exact in both precisions, so that rows of either are moved by the same.
        moved = np.where(rare, 0.0, steps * scale / _STEPS).astype(np.float32)
        return FeatureScale(scale, moved.astype(np.float64))

    def mean_square(self, scale: FeatureScale | None = None) -> float:
        """Return the mean square of the rows' lengths, on a scale."""
        center = 0.0 if scale is None or scale.center is None else scale.center
        squares = self._deviations / max(self.n_rows, 1) + (self._mean - center) ** 2
        return float((squares if scale is None else squares / scale.scale**2).sum())

    def deviations(self) -> Floats:
        """Return the standard deviations; 0 of features that are constant."""
        large = np.flatnonzero(~np.isfinite(self._squares + self._deviations))
        if len(large):
            raise ValueError(
                f"feature {large[0] + 1} is too large to be measured, its squares overflow: "
                "scale the features, or take their logarithms."
            )
        deviation = np.sqrt(self._deviations / max(self.n_rows, 1))
        # Rounding leaves a constant feature a deviation of about 1e-8 of its size.
        return np.where(deviation <= 1e-7 * np.abs(self._mean), 0.0, deviation)


def power_of_two(spread: Floats) -> Floats:
    """Return the nearest powers of two; 1 for 0."""
    exponents = np.floor(np.log2(np.where(spread > 0, spread, 1.0)) + 0.5 + _ASIDE)
    return np.asarray(np.exp2(np.clip(exponents, *_EXPONENTS)))


def measured(X: Matrix) -> Moments:
    """Return the moments of features."""
    moments = Moments(X.shape[1])
    moments.add(X)
    return moments


def by_deviation(X: Matrix) -> FeatureScale:
    """Return the standard deviations of features as a scale; 1 where they are constant."""
    return deviations_of(measured(X))


def deviations_of(moments: Moments) -> FeatureScale:
    """Return the same of what was measured."""
    deviation = moments.deviations()
    return FeatureScale(np.where(deviation > 0, deviation, 1.0))


def _sums_of_dense(X: Matrix) -> tuple[int, Floats, Floats, Floats, Floats]:
    n = X.shape[0]
    rows = X.astype(np.float64)
    nonzero = (rows != 0).sum(axis=0, dtype=np.float64)
    squares = np.einsum("ij,ij->j", rows, rows)
    mean = rows.mean(axis=0)
    rows -= mean
    return n, nonzero, squares, mean, np.einsum("ij,ij->j", rows, rows)


def _sums_of_sparse(X: Matrix) -> tuple[int, Floats, Floats, Floats, Floats]:
    n, width = X.shape
    data = X.data.astype(np.float64)

    def by_feature(values: Floats) -> Floats:
        return np.bincount(X.indices, weights=values, minlength=width).astype(np.float64)

    nonzero, squares = by_feature((data != 0).astype(np.float64)), by_feature(data**2)
    mean = by_feature(data) / max(n, 1)
    around = by_feature((data - mean[X.indices]) ** 2)
    # Entries that are not stored are 0.
    return n, nonzero, squares, mean, around + (n - by_feature(np.ones(len(data)))) * mean**2
