"""What bounds ask of learners with a kernel: lengths and comparators, in its space."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats, Matrix, check_X
from rankwright.inputs import check_features
from rankwright.online.comparator import Dual, DualComparator
from rankwright.online.kernel_form import KernelForm
from rankwright.online.ledger import Ledger
from rankwright.theory.gradients import mean_square, radius
from rankwright.theory.margins import comparator_array
from rankwright.theory.warm import WarmStart

_NONE: Final = np.empty(0)
_ROUNDING: Final = 1e-14


class KernelBounds(KernelForm):
    """Mixin of learners with a parameter ``kernel`` and a bound.

    Without a kernel a comparator is of the form of the weights; with one it is a sum over
    documents, in the kernel and the scale of the learner.
    """

    any_start: ClassVar[bool] = True

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

    # ---- where rounds begin ----

    def _no_guarantee(self) -> str:
        if self.kernel is None:
            return ""
        if not self._kernel().is_mercer:
            return (
                "a bound needs a kernel that is positive semi-definite (a polynomial one has "
                f"coef0 >= 0), but coef0 is {self._kernel().coef0:g}."
            )
        if self.budget is not None and vars(self).get("n_updates_", 0):
            return (
                "with a budget a guarantee is about runs from the start: updates that were made "
                "before may go later, and what goes with them has no bound."
            )
        return ""

    def _note_start(self, ledger: Ledger) -> None:
        u = ledger.comparator
        if isinstance(u, Dual):
            ledger.start = self._start_of_sum(u)
        else:
            ledger.start = self._start_of_weights(u)

    def _start_of_weights(self, u: Any) -> WarmStart:
        """Return the weights so far beside a comparator."""
        raise NotImplementedError

    def _start_of_sum(self, u: Dual, unit: float = 1.0, rest: Floats = _NONE) -> WarmStart:
        """Return the sum so far beside a comparator; ``rest`` are thresholds.

        Lengths are those of weights for documents divided by ``unit``.
        """
        if len(self.dual_coef_) == 0:
            return WarmStart()
        kernel, points, coef = self._kernel(), self.support_, self.dual_coef_
        own = Dual.measured(kernel, points, points, coef, rest)
        length = math.hypot(own.length / unit, float(np.linalg.norm(rest)))
        other = math.hypot(unit * u.length, float(np.linalg.norm(u.thresholds)))
        product = float((coef * u.scores(points)).sum()) + float(rest @ u.thresholds)
        # What rounding can take from the gap, where coefficients cancel, is added to it.
        sizes = [
            np.abs(c).sum(axis=1) @ np.sqrt(np.abs(kernel.squared_lengths(x)))
            for c, x in ((coef, points), (u.coef, u.points))
        ]
        rounding = _ROUNDING * (length * other + float(sizes[0] * sizes[1]))
        return WarmStart(length, max(0.0, length * other - product) + rounding)

    # ---- comparators ----

    def as_comparator(self) -> Any:
        """Return what predicts in this fitted learner, as a comparator of other runs.

        Of the form that ``bound`` and :class:`~rankwright.online.GuaranteeLog` take, for features
        as they are: weights, with intercepts or thresholds behind them; with a kernel a
        :class:`~rankwright.online.DualComparator`. If the weights of all rounds vote, the last of
        them.
        """
        if self.kernel is None:
            check_is_fitted(self, "coef_")
            return self._published_vector()
        check_is_fitted(self, "support_")
        points = self.support_
        if "scale_" in vars(self):  # documents as they are
            points = points * self.scale_ + vars(self).get("center_", 0.0)
        return DualComparator(points, self.predicting_coef(), vars(self).get("thresholds_"))

    def _published_vector(self) -> Floats:
        """Return the weights that predict, with what stands behind them."""
        return np.array(vars(self)["coef_"])

    def _of_learner(self, u: Any) -> Any:
        """Return a learner that is a comparator in kernel form; others are as they were."""
        if not isinstance(u, KernelBounds):
            return u
        if u.kernel is None:
            raise ValueError("only a learner with a kernel is a comparator in kernel form.")
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
