"""Comparators of bounds in the space of a kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.dataset import Dataset
from rankwright.data.products import linear_scores
from rankwright.data.validation import Floats, Matrix, finite_numbers
from rankwright.scoring.kernels import BLOCK, Kernel
from rankwright.showing import Brief
from rankwright.theory.margins import check_comparator


@dataclass(frozen=True, repr=False)
class DualComparator(Brief):
    r"""What a learner with a kernel is compared with: a sum over documents.

    .. math::
        u(x) = \sum_i c_i\, K(x_i, x), \qquad \|u\|^2 = \sum_{ij} c_i c_j K(x_i, x_j)

    for each score. The kernel, its intercept and the scale of the features are those of the
    learner. In ``bound`` an array is enough, of the form of the learner's weights with a number for
    each row of X in place of one for each feature, and so is another learner that was fitted with
    this kernel. A stream needs to know the documents beforehand.

    Parameters
    ----------
    points : array-like of shape (n_points, n_features)
        Documents; with a precomputed kernel their columns.
    coef : array-like of shape (n_points,) or (n_points, n_scores)
        :math:`c`, a row for each point. (An array in ``bound`` is the other way round: like
        weights, it has a row for each score.)
    thresholds : array-like of shape (n_ranks - 1,), optional
        Those of :class:`~rankwright.online.PRank`, beside these scores.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwright.online import MulticlassPerceptron
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> model = MulticlassPerceptron(kernel="poly", degree=2, n_epochs=20, variant="last").fit(X, y)
    >>> once = MulticlassPerceptron(kernel="poly", degree=2, n_epochs=1)
    >>> guarantee = once.bound(model.as_comparator(), X, y)
    >>> guarantee.terms["loss"] <= guarantee.value
    True
    """

    points: Any
    coef: ArrayLike
    thresholds: ArrayLike | None = None

    def __post_init__(self) -> None:
        # What else documents must be depends on the learner: NaN may be filled in, for one.
        points = self.points.X if isinstance(self.points, Dataset) else self.points
        shape = np.shape(points)
        columns = len(shape) == 1 and np.asarray(points).dtype.kind in "iu"
        if len(shape) != 2 and not columns:
            raise ValueError(
                "points must be documents, a row for each, or columns of a precomputed kernel, but "
                f"have shape {shape}. For one document use [x]."
            )
        coef = finite_numbers("coef", self.coef)
        if coef.ndim not in (1, 2) or len(coef) != shape[0]:
            raise ValueError(
                f"coef must have a row for each of the {shape[0]} points, and a column for each "
                f"score if there are several, but has shape {coef.shape}."
            )
        if self.thresholds is not None and finite_numbers("thresholds", self.thresholds).ndim != 1:
            raise ValueError("thresholds must be a vector.")


@dataclass(frozen=True, repr=False)
class Dual(Brief):
    """A comparator as a learner sees it: in its kernel and its scale."""

    kernel: Kernel
    points: Any
    coef: Floats
    thresholds: Floats
    squared: float

    @classmethod
    def measured(
        cls, kernel: Kernel, rows: Matrix, points: Any, coef: Floats, thresholds: Floats
    ) -> Dual:
        """Return the comparator with its length; ``rows`` are its points as documents."""
        found = cls(kernel, points, coef, thresholds, 0.0)
        products = coef * found.scores(rows)
        squared = float(products.sum())
        # What rounding can make of 0, where coefficients cancel, and no more.
        squares = kernel.squared_lengths(rows, points if kernel.precomputed else None)
        largest = float(((np.abs(coef).T @ np.sqrt(np.abs(squares))) ** 2).sum())
        if not kernel.is_mercer or squared < -1e-9 * largest:
            raise ValueError(
                "a bound needs a kernel that is positive semi-definite (a polynomial one has "
                f"coef0 >= 0), but in this one the comparator's squared length is {squared:.3g}."
            )
        return cls(kernel, points, coef, thresholds, max(0.0, squared))

    @property
    def length(self) -> float:
        """|u|, without the thresholds."""
        return math.sqrt(self.squared)

    def scores(self, X: Matrix) -> Floats:
        """Return the scores of documents, a column for each score."""
        found = np.zeros((X.shape[0], self.coef.shape[1]))
        for begin in range(0, X.shape[0], BLOCK):
            rows = slice(begin, begin + BLOCK)
            found[rows] = self.kernel(X[rows], self.points) @ self.coef
        return found


class Compared(NamedTuple):
    """What bounds need of a comparator with one score."""

    scores: Floats  # of documents
    rest: Floats  # what stands behind the weights: thresholds
    length: float  # of both together


def compared(u: Any, X: Matrix, n_rest: int = 0, unit: float = 1.0) -> Compared:
    """Return scores and length of a comparator, a :class:`Dual` or a vector.

    The length is that of weights for documents divided by ``unit``.
    """
    if isinstance(u, Dual):
        scores, rest, length = u.scores(X)[:, 0], u.thresholds, u.length
    else:
        d = X.shape[1]
        vector = check_comparator(u, d + n_rest)
        # Each score by its own row: the bits of a bound do not depend on how a stream is cut.
        scores, rest = linear_scores(X, vector[:d])[0], vector[d:]
        length = float(np.linalg.norm(vector[:d]))
    return Compared(scores, rest, math.hypot(unit * length, float(np.linalg.norm(rest))))
