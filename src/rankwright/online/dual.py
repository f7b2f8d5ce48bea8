r"""Kernel perceptrons: scores that are a sum over the documents that made updates.

.. math::
    f(x) = \sum_i c_i \, K(x_i, x)

One helper serves every learner with a kernel form. It scores a block of documents at once and keeps
those scores right while the block's own documents join the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats, Matrix
from rankwright.estimator import Estimator
from rankwright.exceptions import DataError

KernelLike: TypeAlias = str | Callable[[Floats, Floats], Any]
KERNELS = ("linear", "poly", "rbf", "precomputed")
BLOCK = 512  # documents scored at once


@dataclass(frozen=True)
class Kernel:
    r"""A kernel: linear :math:`x \cdot z`, poly :math:`(\gamma\, x \cdot z + c_0)^d`, rbf
    :math:`e^{-\gamma |x - z|^2}`, precomputed, or a function of two matrices of rows.

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
    """  # noqa: D205

    kind: KernelLike
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

    def points(self, X: Matrix, rows: Ints, order: Ints | None) -> Any:
        """Return some documents as the sum keeps them: features, or columns of the kernel."""
        if self.precomputed:
            return rows if order is None else order[rows]
        return _dense(X[rows])

    def __call__(self, X: Matrix, points: Any) -> Floats:
        """Return the kernel's values, documents by points."""
        if self.precomputed:
            return _dense(X[:, points])
        rows = _dense(X)
        if callable(self.kind):
            values = np.asarray(self.kind(rows, points), dtype=np.float64)
            if values.shape != (len(rows), len(points)) or not np.isfinite(values).all():
                raise ValueError(
                    f"kernel must return finite values of shape {(len(rows), len(points))}, but "
                    f"returned shape {values.shape}."
                )
            return values
        gamma = 1 / max(rows.shape[1], 1) if self.gamma is None else self.gamma
        if self.kind == "rbf":
            squares = (rows**2).sum(1)[:, None] + (points**2).sum(1) - 2 * (rows @ points.T)
            return np.asarray(np.exp(-gamma * np.maximum(squares, 0)))
        products = rows @ points.T
        if self.kind == "poly":
            products = (gamma * products + self.coef0) ** self.degree
        return np.asarray(products, dtype=np.float64)


class Expansion:
    """The sum, while it grows.

    ``coef`` has a row for each point and a column for each score; ``born`` is the round in which a
    point joined.
    """

    def __init__(self, kernel: Kernel, points: Any, coef: Floats, born: Ints) -> None:
        self.kernel = kernel
        self._points = [points]
        self._coef = [coef]
        self._born = [born]
        self.scores = np.empty((0, coef.shape[1]))

    def open(self, X: Matrix, rows: Ints, order: Ints | None) -> None:
        """Score a block of documents; ``scores`` then has a row for each."""
        points, coef, _ = self.parts()
        block = X[rows]
        self._block = self.kernel.points(X, rows, order)
        self._gram = self.kernel(block, self._block)
        self.scores = np.zeros((len(rows), coef.shape[1]))
        if len(coef):
            self.scores += self.kernel(block, points) @ coef

    def squared_norm(self, place: int) -> float:
        """Return the kernel of a document of the block with itself."""
        return float(self._gram[place, place])

    def add(self, members: Ints, coef: Floats, born: int) -> None:
        """Let documents of the block join; ``coef`` has a row for each."""
        self.scores += self._gram[:, members] @ coef
        self._points.append(self._block[members])
        self._coef.append(coef)
        self._born.append(np.full(len(members), born, dtype=np.int64))

    def parts(self) -> tuple[Any, Floats, Ints]:
        """Return points, coefficients and rounds of birth."""
        self._points = [np.concatenate(self._points)]
        self._coef = [np.concatenate(self._coef)]
        self._born = [np.concatenate(self._born)]
        return self._points[0], self._coef[0], self._born[0]


class KernelForm(Estimator):
    """Mixin of learners with parameters ``kernel``, ``gamma``, ``degree`` and ``coef0``.

    Without a kernel a learner has weights; with one it has ``support_`` (documents, or columns of a
    precomputed kernel), ``dual_coef_`` and ``born_``, the round in which each joined.
    """

    kernel: KernelLike | None = None
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    support_: Any
    dual_coef_: Floats
    born_: Ints
    n_features_in_: int

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel or "linear", self.gamma, self.degree, self.coef0)

    def _begin_dual(self, X: Matrix, whole: bool, n_scores: int = 1) -> None:
        kernel = self._kernel()
        if kernel.precomputed:
            if not whole:
                raise ValueError(
                    "partial_fit cannot take kernel='precomputed', whose columns are all documents "
                    "of fit."
                )
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    "X must be square with kernel='precomputed', a row and a column for each "
                    f"document, but has shape {X.shape}."
                )
        for name in {"coef_", "intercept_"} & vars(self).keys():  # of a fit without a kernel
            delattr(self, name)
        width = () if kernel.precomputed else (X.shape[1],)
        self.support_ = np.empty((0, *width), dtype=np.int64 if kernel.precomputed else np.float64)
        self.dual_coef_ = np.empty((0, n_scores))
        self.born_ = np.empty(0, dtype=np.int64)

    def _expansion(self) -> Expansion:
        return Expansion(self._kernel(), self.support_, self.dual_coef_, self.born_)

    def _keep(self, expansion: Expansion) -> None:
        self.support_, self.dual_coef_, self.born_ = expansion.parts()

    def _dual_scores(self, X: Matrix, coef: Floats) -> Floats:
        """Return the scores of documents, with these coefficients of the support."""
        kernel = self._kernel()
        scores = np.zeros((X.shape[0], coef.shape[1]))
        for begin in range(0, X.shape[0] if len(coef) else 0, BLOCK):
            rows = slice(begin, begin + BLOCK)
            scores[rows] = kernel(X[rows], self.support_) @ coef
        if not np.isfinite(scores).all():
            raise ValueError("the values of the kernel overflow: scale the features.")
        return scores

    def _check_dual_state(self, n_scores: int) -> None:
        """Raise unless the support, read from a file, fits together."""
        precomputed = self.kernel == "precomputed"
        support = getattr(self, "support_", None)
        n = len(support) if isinstance(support, np.ndarray) and support.ndim else -1
        shape = (n,) if precomputed else (n, self.n_features_in_)
        if not isinstance(support, np.ndarray) or support.shape != shape:
            raise DataError("support_ must be the documents that made updates.")
        if precomputed and (
            support.dtype != np.int64
            or (n and not 0 <= support.min() <= support.max() < self.n_features_in_)
        ):
            raise DataError("support_ must be columns of the kernel.")
        if not precomputed and (support.dtype != np.float64 or not np.isfinite(support).all()):
            raise DataError("support_ must be finite float64.")
        coef, born = getattr(self, "dual_coef_", None), getattr(self, "born_", None)
        if (
            not isinstance(coef, np.ndarray)
            or coef.dtype != np.float64
            or coef.shape != (n, n_scores)
            or not np.isfinite(coef).all()
        ):
            raise DataError(f"dual_coef_ must be finite float64 of shape {(n, n_scores)}.")
        if not isinstance(born, np.ndarray) or born.dtype != np.int64 or born.shape != (n,):
            raise DataError("born_ must be a round for each of the support.")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn whether X is a kernel."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def survival(born: Ints, n_rounds: int) -> Floats:
    """Return the share of the rounds after which each point was part of the sum."""
    return (n_rounds + 1 - born) / max(n_rounds, 1)


def _dense(X: Matrix) -> Floats:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
