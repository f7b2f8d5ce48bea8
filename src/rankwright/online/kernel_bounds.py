"""What bounds ask of learners with a kernel: lengths and comparators, in its space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwright.data.groups import Ints
from rankwright.data.validation import Matrix, check_X
from rankwright.inputs import check_features
from rankwright.online.comparator import Dual, DualComparator
from rankwright.online.kernel_form import KernelForm
from rankwright.theory.gradients import mean_square, radius
from rankwright.theory.margins import comparator_array


class KernelBounds(KernelForm):
    """Mixin of learners with a parameter ``kernel`` and a bound.

    Without a kernel a comparator is of the form of the weights; with one it is a sum over
    documents, in the kernel and the scale of the learner.
    """

    def _longest(self, X: Matrix, order: Ints | None = None) -> float:
        """Return the length of the longest document, in the space of the weights."""
        if self.kernel is None:
            return radius(X)
        squares = self._kernel().squared_lengths(X, order)
        return math.sqrt(max(0.0, float(squares.max(initial=0.0))))

    def _mean_square(self, X: Matrix, order: Ints | None = None) -> float:
        """Return the mean square of the lengths of documents, in the space of the weights."""
        if self.kernel is None:
            return mean_square(X)
        squares = self._kernel().squared_lengths(X, order)
        return max(0.0, float(squares.mean())) if squares.size else 0.0

    # ---- comparators ----

    def as_comparator(self) -> DualComparator:
        """Return what predicts in this fitted learner, as a comparator of other runs.

        If the weights of all rounds vote, the last of them.
        """
        if self.kernel is None:
            raise ValueError("only a learner with a kernel is a comparator in kernel form.")
        check_is_fitted(self, "support_")
        points = self.support_
        if "scale_" in vars(self):  # documents as they are
            points = points * self.scale_ + vars(self).get("center_", 0.0)
        return DualComparator(points, self.predicting_coef(), vars(self).get("thresholds_"))

    def _of_learner(self, u: Any) -> Any:
        """Return a learner that is a comparator in kernel form; others are as they were."""
        if not isinstance(u, KernelBounds):
            return u
        found, mine, its = u.as_comparator(), self._kernel(), u._kernel()
        n = u.n_features_in_
        # An intercept, like the scale, is that of the learner which is compared.
        if mine.essence(n) != its.essence(n):
            raise ValueError(
                f"the comparator must have the kernel of the learner, {mine}, but was fitted with "
                f"{its}. Fit it with the same."
            )
        return found

    def _comparator_for(self, u: Any, X: Any) -> Any:
        """Return a comparator of ``bound``: coefficients of the rows of X become a sum of them."""
        if self.kernel is None:
            return u
        u = self._of_learner(u)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if not isinstance(u, DualComparator):
            given = comparator_array(u)
            if given.ndim not in (1, 2) or given.shape[-1] < n:
                raise ValueError(
                    f"the comparator must have a coefficient for each of the {n} rows of X, but "
                    f"has shape {given.shape}. Others are a DualComparator."
                )
            points = np.arange(n) if self._precomputed() else X
            rest = given[..., n:].ravel()
            u = DualComparator(points, given[..., :n].T, rest if rest.size else None)
        return self._dual(u, X) if self._precomputed() else u

    def _comparator_in_scale(self, u: Any) -> Any:
        if self.kernel is None:
            return super()._comparator_in_scale(u)
        u = self._of_learner(u)
        if not isinstance(u, Dual | DualComparator):
            raise ValueError(
                "a comparator in kernel form must be a DualComparator: documents, and their "
                "coefficients."
            )
        dual = u if isinstance(u, Dual) else self._dual(u, None)
        found = dual.coef.shape[1], len(dual.thresholds)
        if found != (self.dual_coef_.shape[1], self._n_thresholds()):
            raise ValueError(
                f"the comparator must have {self.dual_coef_.shape[1]} coefficients for each "
                f"document and {self._n_thresholds()} thresholds, but has {found[0]} and "
                f"{found[1]}."
            )
        return dual

    def _n_thresholds(self) -> int:
        """Return how many thresholds a comparator has."""
        return 0

    def _dual(self, u: DualComparator, X: Any) -> Dual:
        """Return a comparator as the learner sees it; X is a whole precomputed kernel."""
        coef = np.asarray(u.coef, dtype=np.float64)
        coef = coef[:, None] if coef.ndim == 1 else coef
        if X is None:
            rows: Any = np.empty((0, self.n_features_in_))
            if len(coef):  # a learner that made no update has none
                rows = self._in_scale(self._documents(u.points))
            points = self._kernel().points(rows, np.arange(rows.shape[0]), None)
        else:
            points = np.asarray(u.points)
            rows = check_X(X)[_columns(points, X)]
        b = np.empty(0) if u.thresholds is None else np.asarray(u.thresholds, dtype=np.float64)
        return Dual.measured(self._kernel(), rows, points, coef, b)

    def _documents(self, points: Any) -> Matrix:
        """Return the points of a comparator as ``predict`` reads documents."""
        if np.ndim(points) == 1:
            raise ValueError(
                "points of the comparator must be documents, a row for each, but are whole "
                "numbers: columns are for kernel='precomputed'."
            )
        try:
            return check_features(self, points)
        except ValueError as error:
            raise ValueError(f"points of the comparator: {error}") from None


def _columns(points: Ints, X: Any) -> Ints:
    """Return the points of a comparator, which are columns of a whole precomputed kernel."""
    n = len(X) if isinstance(X, list) else X.shape[0]
    outside = (points < 0) | (points >= n)
    if points.ndim != 1 or outside.any():
        found = f"have shape {points.shape}" if points.ndim != 1 else f"have {points[outside][0]}"
        raise ValueError(
            "points of the comparator must be columns of the kernel, whole numbers from 0 to "
            f"{n - 1}, but {found}."
        )
    return points
