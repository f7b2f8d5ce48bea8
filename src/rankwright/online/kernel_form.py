"""What learners with a kernel share: parameters, the documents that made updates, files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats, Matrix
from rankwright.estimator import check_fitted_array
from rankwright.exceptions import DataError
from rankwright.inputs import check_features
from rankwright.online.budget import Budget
from rankwright.online.kernel import Expansion, Support
from rankwright.online.means import Variant
from rankwright.online.parameters import KernelParameters
from rankwright.online.settings import LearnerSettings
from rankwright.online.standardize import Standardized
from rankwright.online.votes import Ballots, History, count_votes, linear_history, survived
from rankwright.scoring.kernels import Kernel
from rankwright.scoring.sums import check_support_of, plain_kernel, predicting_coef


class KernelForm(KernelParameters, LearnerSettings, Standardized):
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

    @property
    def cut_free(self) -> bool:
        """Whether ``partial_fit`` gives the same bits wherever a stream is cut: without a kernel.

        Sums over documents are taken block by block.
        """
        return self.kernel is None

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

    # ---- scores, files ----

    @property
    def _n_weights(self) -> int:
        """Return how many features a document has, as the learner sees it."""
        return self.n_features_in_

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
