"""Kernels: products of documents in another space."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from rankwright.data.groups import Ints
from rankwright.data.sparse import is_sparse
from rankwright.data.validation import Floats, Matrix

KernelFunction: TypeAlias = Callable[[Floats, Floats], Any]
KERNELS = ("linear", "poly", "rbf", "precomputed")
BLOCK = 512  # documents scored at once


@dataclass(frozen=True)
class Kernel:
    r"""A kernel, by name or as a function of two matrices of rows.

    .. math::
        \text{linear: } x \cdot z, \qquad \text{poly: } (\gamma\, x \cdot z + c_0)^d, \qquad
        \text{rbf: } e^{-\gamma \|x - z\|^2}

    Parameters
    ----------
    kind : {"linear", "poly", "rbf", "precomputed"} or callable
        Which; "precomputed" means that X holds the kernel's values with all documents of ``fit``.
    gamma : float, optional
        :math:`\gamma`; by default 1 over the number of features.
    degree : int
        d.
    coef0 : float
        :math:`c_0`.

    Examples
    --------
    >>> from rankwright import PRank
    >>> PRank(kernel=Kernel("poly", degree=2)).get_params()["kernel"].degree
    2
    """

    kind: str | KernelFunction
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.kind) and self.kind not in KERNELS:
            raise ValueError(
                f"kernel must be None, one of {', '.join(KERNELS)}, or a function of two matrices, "
                f"but is {self.kind!r}."
            )
        if self.gamma is not None and not (math.isfinite(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be a positive number, but is {self.gamma!r}.")
        if isinstance(self.degree, bool) or self.degree != int(self.degree) or self.degree < 1:
            raise ValueError(f"degree must be a positive integer, but is {self.degree!r}.")
        if not math.isfinite(self.coef0):
            raise ValueError(f"coef0 must be a finite number, but is {self.coef0!r}.")

    @property
    def precomputed(self) -> bool:
        """Whether X holds the kernel's values."""
        return self.kind == "precomputed"

    @property
    def is_mercer(self) -> bool:
        """Whether it may be positive semi-definite: of a function nothing is known."""
        return self.kind != "poly" or self.coef0 >= 0

    def points(self, X: Matrix, rows: Ints, order: Ints | None) -> Any:
        """Return some documents as the sum keeps them: features, or columns of the kernel."""
        if self.precomputed:
            return rows if order is None else order[rows]
        return _dense(X[rows])

    def rows(self, X: Matrix, points: Any, order: Ints | None) -> Matrix:
        """Return points as documents again; ``order`` is that of the rows of a whole X."""
        if not self.precomputed:
            return np.asarray(points)
        return X[points if order is None else np.argsort(order)[points]]

    def squared_lengths(self, X: Matrix, order: Ints | None = None) -> Floats:
        """Return the kernel of each document with itself."""
        rows = np.arange(X.shape[0])
        squares = [
            np.diagonal(self(X[part], self.points(X, part, order)))
            for part in np.array_split(rows, len(rows) // BLOCK + 1)
        ]
        return np.concatenate(squares)

    def _gamma_for(self, n_features: int) -> float:
        return 1 / max(n_features, 1) if self.gamma is None else self.gamma

    def essence(self, n_features: int) -> tuple[Any, ...]:
        """Return what the kernel's values depend on, but for an intercept."""
        used: tuple[Any, ...] = ()
        if self.kind in ("poly", "rbf"):
            used = (self._gamma_for(n_features),)
        if self.kind == "poly":
            used += (self.degree, self.coef0)
        return (self.kind, *used)

    def __call__(self, X: Matrix, points: Any) -> Floats:
        """Return the kernel's values, documents by points."""
        if self.precomputed:
            return _dense(X[:, points])
        rows = _dense(X)
        if callable(self.kind):
            values = np.asarray(self.kind(rows, points), dtype=np.float64)
            found = f"shape {values.shape}"
            if values.shape == (len(rows), len(points)):
                if np.isfinite(values).all():
                    return values
                found = f"{values[~np.isfinite(values)][0]}, which is not finite"
            raise ValueError(
                f"kernel must return finite values of shape {(len(rows), len(points))}, but "
                f"returned {found}."
            )
        gamma = self._gamma_for(rows.shape[1])
        if self.kind == "rbf":
            squares = (rows**2).sum(1)[:, None] + (points**2).sum(1) - 2 * (rows @ points.T)
            return np.asarray(np.exp(-gamma * np.maximum(squares, 0)))
        products = rows @ points.T
        if self.kind == "poly":
            products = (gamma * products + self.coef0) ** self.degree
        return np.asarray(products, dtype=np.float64)


@dataclass(frozen=True)
class PlusOne(Kernel):
    """A kernel with an intercept: plus one."""

    @classmethod
    def of(cls, kernel: Kernel) -> Self:
        """Return a kernel plus one."""
        return cls(kernel.kind, kernel.gamma, kernel.degree, kernel.coef0)

    def __call__(self, X: Matrix, points: Any) -> Floats:
        """Return the kernel's values plus 1, documents by points."""
        # (x, 1) . (z, 1) = x . z + 1: the constant feature, without writing it down.
        return super().__call__(X, points) + 1.0


KernelLike: TypeAlias = str | KernelFunction | Kernel


def _dense(X: Matrix) -> Floats:
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
