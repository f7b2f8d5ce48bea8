"""Widrow-Hoff regression on labels, a comparator of PRank."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwright import _kernels
from rankwright.data.groups import Ints
from rankwright.data.products import native_rows
from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.online.base import Rounds
from rankwright.online.comparator import compared
from rankwright.online.intercept import InterceptLearner
from rankwright.online.kernel import kernel_rounds
from rankwright.online.ledger import Ledger
from rankwright.online.means import Variant, check_variant
from rankwright.online.ordinal import OrdinalData
from rankwright.online.parameters import parametrized
from rankwright.scoring.decisions import by_rounding
from rankwright.theory.gradients import radius
from rankwright.theory.guarantee import Guarantee
from rankwright.theory.margins import check_comparator
from rankwright.theory.perceptron import widrow_hoff_bound
from rankwright.theory.warm import WarmStart, from_start


@parametrized
class WidrowHoff(InterceptLearner):
    r"""Online least squares on the ranks 1..k of the labels, rounded and clipped.

    .. math::
        w \leftarrow w + \eta\, (y - w \cdot x)\, x, \qquad
        \hat y = \mathrm{clip}(\mathrm{round}(w \cdot x), 1, k)

    Every round makes new weights, which survive one round: there is no ``"voted"``.

    Parameters
    ----------
    eta : float, optional
        :math:`\eta`. By default :math:`1/(2 R^2)`, R being the length of the longest document so
        far. How well it does against PRank depends on it (R6).
    @mean weights
    @intercept
    @ordinal

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        :math:`w`; absent with a kernel.
    intercept_ : float
        The weight of the feature that is always 1; absent with a kernel or without one.
    support_, dual_coef_, born_ : ndarray
        With a kernel: documents, their coefficients, and the rounds in which they came.
    squared_radius_ : float
        :math:`R^2`, where the step needs it.
    @labels

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> y = np.digitize(X @ [3, 1], [1, 2, 3])
    >>> WidrowHoff().fit(X, y).score(X, y) > -0.3
    True
    """

    eta: float | None = None
    _: KW_ONLY
    variant: Variant | None = None
    fit_intercept: bool | None = None
    classes: ArrayLike | None = None

    def decision_function(self, X: Any) -> Floats:
        """Return the ranks 1..k before rounding."""
        return super().decision_function(X)

    def _predict_ranks(self, X: Any) -> Ints:
        return by_rounding(self._scores(X), len(self.classes_))

    def _no_budget(self) -> str:
        return "Widrow-Hoff moves in every round, right or wrong, and has no bound for one"

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        check_variant(self.variant, ("last", "averaged"))

    def _begin(self, data: OrdinalData, whole: bool) -> None:
        self.squared_radius_ = 0.0
        if self.kernel is None:
            self._begin_weights(data.X.shape[1])
        else:
            self._begin_support(data.X, whole)

    def _publish(self, weights: Floats) -> None:
        self._publish_with_intercept(weights)

    def _learn(self, task: OrdinalData, order: Ints, comparator: Any) -> Rounds:
        if self.kernel is not None:
            return self._learn_by_kernel(task, order)
        losses, errors = np.empty(len(order)), np.empty(len(order))
        with self._iterate(len(order)) as iterate:
            try:
                n_updates, self.squared_radius_ = _kernels.widrow_hoff(
                    native_rows(task.X),
                    task.ranks,
                    len(self.classes_),
                    order,
                    self.eta or 0.0,
                    self.squared_radius_,
                    iterate,
                    losses,
                    errors,
                )
            except OverflowError:
                raise ValueError(self._too_long(radius(task.X))) from None
        return Rounds(losses, n_updates, {"squared_errors": errors**2})

    def _learn_by_kernel(self, task: OrdinalData, order: Ints) -> Rounds:
        k, n_updates, square = len(self.classes_), 0, self.squared_radius_
        losses: list[float] = []
        errors: list[float] = []
        expansion = self._expansion()
        for t, row, place, scores in kernel_rounds(
            expansion, task, order, self.n_rounds_, by_ends=False
        ):
            rank = int(task.ranks[row])
            p = float(scores[0, 0])
            # Far above any rank, and its square is still a number; NaN fails as well.
            if not abs(p) < 1e100:
                raise ValueError(self._too_long(math.sqrt(square)))
            losses.append(abs(min(max(math.floor(p + 0.5), 1), k) - 1 - rank))
            errors.append(rank + 1 - p)
            square = max(square, float(expansion.squared_norm(place)))
            # 1/(2 R^2): an update takes away at most half of the error on its document.
            eta = self.eta if self.eta is not None else (0.5 / square if square > 0 else 0.0)
            if p != rank + 1:
                n_updates += 1
                expansion.add(np.array([place]), np.array([[eta * (rank + 1 - p)]]), t)
        self._publish_expansion(expansion)
        self.squared_radius_ = square
        squares = np.square(np.array(errors, dtype=np.float64))
        return Rounds(np.array(losses, dtype=np.float64), n_updates, {"squared_errors": squares})

    def _too_long(self, longest: float) -> str:
        if self.eta is None:
            return "the weights overflow: scale the features."
        return (
            f"the weights overflow with eta = {self.eta:g}: it must be below 2/R^2, and the "
            f"longest document has R = {longest:.4g}. Scale the features, or use eta=None."
        )

    def _charge(self, task: OrdinalData, order: Ints, rounds: Rounds, ledger: Ledger) -> None:
        u = compared(ledger.comparator, task.X)
        errors = (task.ranks + 1 - u.scores)[order]
        ledger.keep_max("length", u.length)
        ledger.add("comparator", errors**2)
        # What is bounded are the squared errors.
        ledger.add("squared_errors", rounds.terms["squared_errors"])
        ledger.keep_max("radius", self._longest(task.X))

    def _no_guarantee(self) -> str:
        if self.eta is None:
            return "a guarantee needs a fixed step: pass eta."
        return super()._no_guarantee()

    def _start_of_weights(self, u: Any) -> WarmStart:
        return WarmStart.between(self._weights(), check_comparator(u, self._n_weights))

    def guarantee(self, ledger: Ledger) -> Guarantee:
        """Return the bound of the rounds so far."""
        t = ledger.totals
        eta = 0.0 if self.eta is None else self.eta
        away = ledger.start.distance(t["length"])  # |u|, from weights 0
        bound = widrow_hoff_bound(away, t["radius"], eta, t["comparator"])
        bound = bound if ledger.start.is_cold else from_start(bound)
        return replace(bound, terms={**bound.terms, "loss": t["squared_errors"]})

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        super().check_state()
        if type(getattr(self, "squared_radius_", None)) is not float:
            raise DataError("squared_radius_ must be a number.")
        if self.kernel is None:
            self._check_published()
            self._check_weights((self._n_weights,))
        else:
            self._check_support(1)
