"""The multiclass perceptron, a comparator of PRank that knows no order of the labels."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from rankwright import _kernels
from rankwright.data.groups import Ints
from rankwright.data.products import linear_scores, native_rows
from rankwright.data.validation import Floats, Matrix
from rankwright.inputs import all_scores
from rankwright.online.base import Rounds
from rankwright.online.comparator import Dual
from rankwright.online.intercept import InterceptLearner
from rankwright.online.kernel import kernel_rounds
from rankwright.online.ledger import Ledger
from rankwright.online.means import Variant, check_variant
from rankwright.online.ordinal import OrdinalData
from rankwright.online.parameters import parametrized
from rankwright.online.votes import for_one
from rankwright.scoring.decisions import plurality
from rankwright.theory.budget import budget_bound
from rankwright.theory.guarantee import Guarantee
from rankwright.theory.perceptron import multiclass_bound
from rankwright.theory.warm import WarmStart, named_after, warm_perceptron_bound


@parametrized
class MulticlassPerceptron(InterceptLearner):
    r"""One prototype for each label; the best score predicts.

    .. math::
        \hat y = \arg\max_r w_r \cdot x, \qquad
        E = \{ r \ne y : w_r \cdot x \ge w_y \cdot x \}

    If E is not empty, :math:`w_y \leftarrow w_y + x`, and ``"uniform"`` takes
    :math:`x / |E|` from every prototype of E, ``"max"`` takes x from the best-scored one. The
    number of such rounds is at most :math:`2 R^2/\gamma^2` if prototypes of norm 1 give every
    document's label a lead of :math:`\gamma`.

    Parameters
    ----------
    update : {"uniform", "max"}, default "uniform"
        Which prototypes of wrong labels are moved.
    @voting plurality
    @intercept
    @ordinal

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
        Prototypes; absent with a kernel.
    intercept_ : ndarray of shape (n_classes,)
        The weights of the feature that is always 1; absent with a kernel or without them.
    support_, dual_coef_, born_ : ndarray
        With a kernel or votes: documents, their coefficients for each label, and the rounds in
        which they came.
    @labels

    References
    ----------
    .. [1] Crammer & Singer, "Ultraconservative online algorithms for multiclass problems", 2003.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = np.where(X[:, 0] > 0.5, "good", np.where(X[:, 1] > 0, "fair", "poor"))
    >>> model = MulticlassPerceptron(classes=["poor", "fair", "good"])
    >>> model.fit(X, y).score(X, y) > -0.1
    True
    """

    VOTES: ClassVar[bool] = True
    update: Literal["uniform", "max"] = "uniform"
    _: KW_ONLY
    variant: Variant | None = None
    fit_intercept: bool | None = None
    classes: ArrayLike | None = None

    def decision_function(self, X: Any) -> Floats:
        """Return scores of the labels, or shares of the votes, in the order of ``classes_``."""
        return super().decision_function(X)

    def _scores(self, X: Any) -> Floats:
        if self._votes:
            return self._votes_on(X) / max(self.n_rounds_, 1)
        return all_scores(self, X)

    def _predict_ranks(self, X: Any) -> Ints:
        return plurality(self._votes_on(X) if self._votes else all_scores(self, X))

    def _votes_on(self, X: Any) -> Floats:
        k = len(self.classes_)
        return self._count_votes(X, lambda scores, _: for_one(scores.argmax(axis=2), k), k)

    def _no_budget(self) -> str:
        return ""

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        check_variant(self.variant)
        if self.update not in ("uniform", "max"):
            raise ValueError(f"update must be one of uniform, max, but is {self.update!r}.")

    def _begin(self, data: OrdinalData, whole: bool) -> None:
        k = len(self.classes_)
        if self.kernel is None:
            self._begin_weights(k * data.X.shape[1])
        if self._keeps_support:
            self._begin_support(data.X, whole, k)

    def _publish(self, weights: Floats) -> None:
        self._publish_with_intercept(weights.reshape(len(self.classes_), self._n_weights))

    def _learn(self, task: OrdinalData, order: Ints, comparator: Any) -> Rounds:
        k, losses = len(self.classes_), np.zeros(len(order))
        if k == 1:  # nothing to be wrong about
            return Rounds(losses, 0)
        if self._keeps_support:
            return self._learn_by_kernel(task, order)
        with self._iterate(len(order)) as iterate:
            n_updates = _kernels.multiclass_perceptron(
                native_rows(task.X), task.ranks, k, order, self.update == "uniform", iterate, losses
            )
        return Rounds(losses, n_updates)

    def _learn_by_kernel(self, task: OrdinalData, order: Ints) -> Rounds:
        losses, updated = [], []
        coef = np.empty(len(self.classes_))
        expansion, gain = self._expansion(), () if self.budget is None else (1.0, 1.0)
        for t, row, place, scores in kernel_rounds(
            expansion, task, order, self.n_rounds_, by_ends=False
        ):
            rank = int(task.ranks[row])
            predicted = _kernels.multiclass_step(scores[0], rank, self.update == "uniform", coef)
            losses.append(float(abs(predicted - rank)))
            updated.append(float(coef[rank] != 0))  # ties too
            if updated[-1]:
                expansion.add(np.array([place]), coef[None, :].copy(), t, *gain)
        self._publish_expansion(expansion)
        if self.kernel is None:
            self.iterate_ = (self.dual_coef_.T @ self.support_).ravel()
            self._publish(self.iterate_)
        return Rounds(np.array(losses), int(sum(updated)), {"updated": np.array(updated)})

    def _charge(self, task: OrdinalData, order: Ints, rounds: Rounds, ledger: Ledger) -> None:
        scores, length = self._compared(ledger.comparator, task.X)
        rows = np.arange(len(task.ranks))
        own = scores[rows, task.ranks].copy()
        scores[rows, task.ranks] = -math.inf
        leads = own - scores.max(axis=1)  # own score less the best other
        # The margin is that of prototypes of length 1 together.
        ledger.keep_min("margin", (leads / max(length, 1e-300)).min(initial=math.inf))
        ledger.keep_max("length", length)
        if self.budget is not None or not ledger.start.is_cold:
            # Without a kernel it is not known which rounds made updates: all are charged.
            updated = rounds.terms.get("updated", 1.0 if self.budget is None else 0.0)
            ledger.add("hinges", np.maximum(0, 1 - leads[order]) * updated)
        ledger.keep_max("radius", self._longest(task.X))
        ledger.add("updates", rounds.n_updates)

    def _compared(self, u: Any, X: Matrix) -> tuple[Floats, float]:
        """Return the scores and the length of prototypes."""
        if isinstance(u, Dual):
            return u.scores(X), u.length
        prototypes = self._prototypes(u)
        return linear_scores(X, prototypes)[0], float(np.linalg.norm(prototypes))

    def _prototypes(self, u: Any) -> Floats:
        prototypes, shape = np.asarray(u, dtype=np.float64), (len(self.classes_), self._n_weights)
        if prototypes.shape != shape or not np.isfinite(prototypes).all():
            raise ValueError(f"the comparator must be finite prototypes of shape {shape}.")
        return np.ascontiguousarray(prototypes)

    def _start_of_weights(self, u: Any) -> WarmStart:
        return WarmStart.between(self._weights(), self._prototypes(u).ravel())

    @property
    def cut_free(self) -> bool:
        """Whether ``partial_fit`` gives the same bits wherever a stream is cut: without votes.

        Learners that vote keep documents, as with a kernel.
        """
        return self.kernel is None and vars(self).get("variant_", self.variant) != "voted"

    def guarantee(self, ledger: Ledger) -> Guarantee:
        """Return the bound of the rounds so far."""
        t = ledger.totals
        margin = t["margin"] if math.isfinite(t["margin"]) else 1.0
        bound = multiclass_bound(max(margin, 0.0), t["radius"])
        if self.budget is not None:
            growth, S = 2 * t["radius"] ** 2, float(self.forgotten_[-1])
            bound = budget_bound(t["length"], growth, S, t.get("hinges", 0.0))
            if margin > 0:  # the prototypes over the margin lose nothing
                bound = min(bound, budget_bound(1 / margin, growth, S), key=float)
        start = ledger.start
        if not start.is_cold:
            bound = self._warm_bound(t["length"], t["radius"], t["hinges"], start)
            if margin > 0:
                unit = start.against(1 / margin / t["length"])
                bound = min(bound, self._warm_bound(1 / margin, t["radius"], 0.0, unit), key=float)
        return replace(bound, terms={**bound.terms, "loss": t["updates"]})

    def _warm_bound(self, length: float, r: float, charge: float, start: WarmStart) -> Guarantee:
        bound = warm_perceptron_bound(length, 2 * r**2, charge, start)
        return named_after(bound, "Multiclass perceptron, warm start", "number of mistakes")

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        super().check_state()
        k = len(self.classes_)
        if self.kernel is None:
            self._check_published(k)
            self._check_weights((k * self._n_weights,))
        if self._keeps_support:
            self._check_support(k)
