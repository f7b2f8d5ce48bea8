"""What learners with a kernel share: parameters, the documents that made updates, files."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats, Matrix, check_X
from rankwright.estimator import check_fitted_array
from rankwright.exceptions import DataError
from rankwright.inputs import check_features
from rankwright.online.budget import Budget
from rankwright.online.comparator import Dual, DualComparator
from rankwright.online.kernel import Expansion, Support
from rankwright.online.means import Variant
from rankwright.online.parameters import KernelParameters
from rankwright.online.settings import Settings
from rankwright.online.standardize import Standardized
from rankwright.online.votes import Ballots, History, count_votes, linear_history, survived
from rankwright.scoring.kernels import Kernel
from rankwright.scoring.sums import check_support_of, plain_kernel, predicting_coef
from rankwright.theory.gradients import mean_square, radius
from rankwright.theory.margins import comparator_array


class KernelForm(KernelParameters, Settings, Standardized):
    """Mixin of learners with a parameter ``kernel``.

    Without a kernel a learner has weights; with one it has ``support_`` (documents as
    it saw them, or columns of a precomputed kernel), ``dual_coef_`` and ``born_``, the round in
    which each joined. Where ``variant="voted"`` is the mean of directions, ``squared_lengths_``
    has the square of the length of the weights after each of these rounds. With a budget,
    ``gains_`` has for each document the gain of its round and what is left of it, and
    ``forgotten_`` the totals of :class:`~rankwright.online.budget.Budget`.
    """

    VOTES: ClassVar[bool] = False
    """Whether all weights vote, if ``variant`` is "voted": they do on classes and sets."""
    variant: Variant | None
    variant_: Variant
    support_: Any
    dual_coef_: Floats
    born_: Ints
    squared_lengths_: Floats
    gains_: Floats
    forgotten_: Floats
    n_features_in_: int
    n_rounds_: int

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        self._kernel()  # it raises
        if self.budget is None:
            return
        if self.kernel is None:
            raise ValueError("budget needs a kernel: weights do not grow with the rounds.")
        if self._no_budget():
            raise ValueError(f"budget must be None: {self._no_budget()}.")
        if not self._kernel().is_mercer:
            raise ValueError(f"a budget needs coef0 >= 0, but coef0 is {self._kernel().coef0:g}.")
        if self.variant not in (None, "last"):
            raise ValueError(
                f"budget needs variant='last', but variant is {self.variant!r}: older weights are "
                "sums over documents that are gone."
            )

    def settle(self, whole: bool) -> None:
        """Decide what was left open: with a budget the last weights predict."""
        super().settle(whole)
        if self.budget is not None:
            self.variant_ = "last"

    def _no_budget(self) -> str:
        """Return why there is no theorem for a budget, if there is none."""
        return f"{type(self).__name__} has no bound for one"

    @property
    def _votes(self) -> bool:
        """Whether the weights of all rounds vote."""
        return self.VOTES and vars(self).get("variant_") == "voted"

    @property
    def _keeps_support(self) -> bool:
        return self.kernel is not None or self._votes

    def _extra(self) -> tuple[str, int]:
        """Return what else is kept of the documents: its name, and how many numbers."""
        if self.budget is not None:
            return "gains_", 2
        averages = self.variant_ == "voted" and not self.VOTES
        return ("squared_lengths_", 1) if averages else ("", 0)

    def _kernel(self) -> Kernel:
        return plain_kernel(vars(self))

    def _has_features(self) -> bool:
        return not self._precomputed()

    def _precomputed(self) -> bool:
        kind = self.kernel.kind if isinstance(self.kernel, Kernel) else self.kernel
        return isinstance(kind, str) and kind == "precomputed"

    def _begin_support(self, X: Matrix, whole: bool, n_scores: int = 1) -> None:
        precomputed = self._precomputed()
        if precomputed:
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
        stale = {"squared_lengths_", "gains_", "forgotten_"}
        if self.kernel is not None:  # of a fit without
            stale |= {"coef_", "intercept_"}
        for name in stale & vars(self).keys():
            delattr(self, name)
        width = () if precomputed else (X.shape[1],)
        self.support_ = np.empty((0, *width), dtype=np.int64 if precomputed else np.float64)
        self.dual_coef_ = np.empty((0, n_scores))
        self.born_ = np.empty(0, dtype=np.int64)
        name, n = self._extra()
        if name:
            setattr(self, name, np.empty((0, n)))
        if self.budget is not None:
            self.forgotten_ = np.zeros(Budget.N_TOTALS)

    def _expansion(self) -> Expansion:
        if ("gains_" in vars(self)) != (self.budget is not None):
            raise ValueError("budget must be there from the first round on, or not at all.")
        name, _ = self._extra()
        more = getattr(self, name) if name else np.empty((len(self.born_), 0))
        support = Support(self.support_, self.dual_coef_, self.born_, more)
        budget = None if self.budget is None else Budget(self.budget, self.forgotten_)
        return Expansion(self._kernel(), support, budget)

    def _publish_expansion(self, expansion: Expansion) -> None:
        support, (name, _) = expansion.support(), self._extra()
        self.support_, self.dual_coef_, self.born_ = support.points, support.coef, support.born
        if name:
            setattr(self, name, support.more)
        if expansion.budget is not None:
            self.forgotten_ = expansion.budget.totals

    def _remember(self, points: Any, coef: Floats, born: Ints) -> None:
        """Keep updates that were made without a kernel, for votes."""
        self.support_ = np.concatenate([self.support_, points])
        self.dual_coef_ = np.concatenate([self.dual_coef_, coef])
        self.born_ = np.concatenate([self.born_, born])

    def _kept_of_updates(
        self, expansion: Expansion, gain: Callable[[], float]
    ) -> Callable[[Ints, Floats], tuple[float, ...]]:
        r"""Return what tells what else is kept of an update.

        With a budget its gain, twice; for the mean of directions
        :math:`\|w + g\|^2 = \|w\|^2 + 2 \langle w, g \rangle + \|g\|^2`.
        """
        if self.budget is not None:
            return lambda members, coef: (gain(), gain())
        if self._extra()[0] != "squared_lengths_":
            return lambda members, coef: ()
        known = self.squared_lengths_
        squared, largest = (float(known[-1, 0]), float(known.max())) if len(known) else (0.0, 0.0)

        def after(members: Ints, coef: Floats) -> tuple[float, ...]:
            nonlocal squared, largest
            product, own = expansion.products(members, coef)
            squared += 2 * product + own
            largest = max(largest, squared)
            # What rounding leaves of weights that are 0 again has no direction.
            squared = squared if squared > 1e-13 * largest else 0.0
            return (squared,)

        return after

    def predicting_coef(self) -> Floats:
        """Return the coefficients of the documents that predict; of votes, those of the last."""
        return predicting_coef(vars(self))

    # ---- votes ----

    def _history(self) -> History:
        return linear_history(self._kernel(), self.support_, self.dual_coef_)

    def _count_votes(self, X: Any, ballots: Ballots, width: int) -> Floats:
        """Return the votes of all weights on documents."""
        votes = survived(self.born_, self.n_rounds_)
        rows = check_features(self, X)
        return count_votes(rows, self._in_scale, self._history(), votes, ballots, width)

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
        if not isinstance(u, KernelForm):
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

    @property
    def _n_weights(self) -> int:
        """Return how many features a document has, as the learner sees it."""
        return self.n_features_in_

    def _n_thresholds(self) -> int:
        """Return how many thresholds a comparator has."""
        return 0

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

    def _check_support(self, n_scores: int) -> None:
        """Raise unless the support, read from a file, fits together."""
        n = check_support_of(vars(self), self._n_weights, n_scores)
        name, width = self._extra()
        if name:
            check_fitted_array(self, name, (n, width))
            if (getattr(self, name) < 0).any():
                raise DataError(f"{name} must not be negative.")
        if self.budget is not None:
            check_fitted_array(self, "forgotten_", (Budget.N_TOTALS,))
            if n > self.budget:
                raise DataError(f"support_ must have at most {self.budget} documents, but has {n}.")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn whether X is a kernel."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed()
        return tags


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
