"""Predtron's algorithm over any problem: modes, links, kernel form, means of weights."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Ints
from rankwright.data.products import native_rows
from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.inputs import all_scores
from rankwright.online.base import OnlineLearner, Rounds, check_step
from rankwright.online.kernel import kernel_rounds, learn_by_kernel
from rankwright.online.means import Names, Variant, WeightForm, check_variant
from rankwright.online.parameters import parametrized
from rankwright.online.standardize import bias_in_scale
from rankwright.online.votes import History
from rankwright.predtron.rounds import PredtronData, check_mode, round_of
from rankwright.predtron.steps import PredtronSteps
from rankwright.predtron.voting import linked_history
from rankwright.problems.native import Native
from rankwright.problems.problem import Problem
from rankwright.scaling import Kind
from rankwright.scoring.kernels import Kernel, PlusOne
from rankwright.scoring.sums import check_weights_of
from rankwright.theory.links import (
    NORMS,
    NormName,
)


@parametrized(kw_only=True)
class PredtronParameters:
    """What all Predtron learners have."""

    variant: Variant | None = None


class PredtronLearner(PredtronParameters, PredtronSteps, WeightForm, OnlineLearner):
    r"""Base of the Predtron learners.

    .. math::
        \nabla\psi(W) \leftarrow \nabla\psi(W)
        - \eta\, s\, (\mathrm{rep}(\tilde\sigma) - \mathrm{rep}(\sigma_y))\, x^\top
        \quad\text{when } L(\mathrm{pred}(W x), y) > 0

    To add a learner, write ``_problem()``, which returns the problem, ``_check_data``, which
    returns :class:`PredtronData`, and ``_n_fitted_scores()``; they may read fitted attributes such
    as ``classes_``. Parameters that a learner does not have keep the values below.
    """

    _names: ClassVar[Names] = Names("weights_", "coef_sum_")
    PAPER: ClassVar[dict[str, Any]] = {"mode": "augmented", "fit_intercept": False}
    mode: str | None = "predicted"
    norm: NormName = "l2"
    fit_intercept: bool = False
    coef_: Floats
    intercept_: Floats

    def _problem(self) -> Problem:
        raise NotImplementedError

    def _mode(self) -> str:
        return str(self.mode)

    def _n_scores(self, data: PredtronData) -> int:
        """Return the weights that a feature has."""
        if data.groups is not None:
            return 1
        problem = self._problem()
        n = problem.n_scores if isinstance(problem, Native) else None
        return n or len(problem.represent(problem.correct(data.labels[0])))

    # ---- parameters and start ----

    def _kind_of_scale(self) -> Kind:
        return "center" if self.fit_intercept else "size"

    def _rest_in_scale(self, rest: Floats, offset: Any) -> Floats:
        return bias_in_scale(rest, offset) if self.fit_intercept else rest

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        check_mode(self._mode())
        if self.norm not in NORMS:
            raise ValueError(f"norm must be one of {', '.join(NORMS)}, but is {self.norm!r}.")
        check_variant(self.variant)
        # Only lengths can be told by a kernel: the other norms look at single features.
        if self.kernel is not None and self.norm != "l2":
            raise ValueError(f"a kernel needs norm='l2', but norm is {self.norm!r}.")

    @property
    def cut_free(self) -> bool:
        """Whether ``partial_fit`` gives the same bits wherever a stream is cut: for l2 weights.

        Behind other norms sums are taken afresh in each call.
        """
        return self.kernel is None and self.norm == "l2"

    def _no_budget(self) -> str:
        if self._mode() != "augmented":
            return ""
        return "mode='augmented' also moves weights that are right, and has no bound for one"

    def _mean(self) -> Variant:
        return "last" if self._votes else self.variant_

    def _n_rounds(self, data: Any) -> int:
        return int(data.n_rounds)

    def _begin(self, data: PredtronData, whole: bool) -> None:
        d = self._n_scores(data)
        if self._keeps_support:
            self._begin_support(data.X, whole, d)
        if self.kernel is None:
            self._begin_weights((data.X.shape[1] + self.fit_intercept, d))
        self.eta_ = self._step(data, whole, d)

    def _kernel(self) -> Kernel:
        kernel = super()._kernel()
        return PlusOne.of(kernel) if self.fit_intercept else kernel

    # ---- rounds ----

    def _learn(self, task: PredtronData, order: Ints, comparator: Any) -> Rounds:
        other = np.empty(0)
        if comparator is not None:
            other = self._comparator_scores(task.X, comparator).ravel()
        learn = self._learn_weights if self.kernel is None else self._learn_by_kernel
        losses, charges, n_updates = learn(task, order, other)
        return Rounds(losses, n_updates, {} if comparator is None else {"charge": charges})

    def _learn_weights(
        self, data: PredtronData, order: Ints, other: Floats
    ) -> tuple[Floats, Floats, int]:
        theta, losses, charges = self.weights_, np.empty(len(order)), np.empty(len(order))
        # Stored is Theta = grad psi(W), which the updates add to. For q = 2, to which short weights
        # fall back as well (P8), W is Theta itself; else the kernel writes W when it is asked to.
        q = self._exponent()
        link = _kernels.LinkedWeights(self.norm, q, theta, self.fit_intercept)
        W = theta
        if q != 2:
            W = np.empty_like(theta)
            link.write(W.ravel())
        problem, rows = self._problem(), native_rows(data.X)
        with self._iterate(len(order), W) as iterate:
            if isinstance(problem, Native) and data.weights is None and not self._votes:
                indptr = np.empty(0, dtype=np.int64) if data.groups is None else data.groups.indptr
                widest = theta.shape[1] if data.groups is None else data.groups.sizes.max(initial=1)
                n_updates = _kernels.predtron(
                    problem.kernel(int(widest)),
                    self._mode(),
                    self.eta_,
                    rows,
                    indptr,
                    order,
                    data.labels,
                    other,
                    link,
                    iterate,
                    losses,
                    charges,
                )
            else:
                n_updates = self._learn_in_python(
                    data, order, other, losses, charges, link, iterate, rows
                )
            if q != 2:
                link.write(W.ravel())
        return losses, charges, n_updates

    def _learn_in_python(
        self,
        data: PredtronData,
        order: Ints,
        other: Floats,
        losses: Floats,
        charges: Floats,
        link: _kernels.LinkedWeights,
        iterate: _kernels.Iterate,
        rows: _kernels.Rows,
    ) -> int:
        play, d = round_of(self._problem(), self._mode()), self.weights_.shape[1]
        made: list[tuple[int, int, Floats]] = []
        for r, at in enumerate(order.tolist()):
            part = data.rows_of(at)
            n = part.stop - part.start
            t = link.scores(rows, part.start, n)
            direction = np.zeros(len(t))
            u = other[part.start * d : part.stop * d]
            loss, charges[r] = play(t, data.label_of(at), u, direction)
            losses[r] = data.weigh(at, loss, direction)
            if losses[r] > 0:
                at_round = self.n_rounds_ + r + 1
                link.update(rows, part.start, n, direction, self.eta_, iterate, at_round)
                made.append((at, at_round, -self.eta_ * direction))
        if self._votes and made:
            where, born, coef = zip(*made, strict=True)
            points = self._kernel().points(data.X, np.array(where), None)
            self._remember(points, np.stack(coef), np.array(born))
        return len(made)

    def _learn_by_kernel(
        self, data: PredtronData, order: Ints, other: Floats
    ) -> tuple[Floats, Floats, int]:
        if self.budget is not None and data.weights is not None:
            raise ValueError("a budget has no bound with weights of documents or queries.")
        charges: list[float] = []
        gains: list[float] = []
        round_, d = round_of(self._problem(), self._mode()), self.dual_coef_.shape[1]

        def play(at: int, scores: Floats) -> tuple[float, Floats]:
            part, direction = data.rows_of(at), np.zeros(scores.size)
            u = other[part.start * d : part.stop * d]
            loss, charge = round_(scores.ravel(), data.label_of(at), u, direction)
            charges.append(charge)
            gains.append(loss if self._mode() == "loss_driven" else 1.0)
            loss = data.weigh(at, loss, direction)
            return loss, direction.reshape(-1, d)

        expansion = self._expansion()
        rounds = kernel_rounds(expansion, data, order, self.n_rounds_)
        more = self._kept_of_updates(expansion, lambda: self.eta_ * gains[-1])
        losses, n_updates = learn_by_kernel(expansion, rounds, -self.eta_, play, more)
        self._publish_expansion(expansion)
        return losses, np.array(charges, dtype=np.float64), n_updates

    # ---- weights that predict ----

    def _history(self) -> History:
        if self.kernel is not None or self._exponent() == 2:
            return super()._history()
        updates = self.support_, self.dual_coef_
        return linked_history(self.norm, self._exponent(), *updates, self.fit_intercept)

    def _length(self, weights: Floats) -> float:
        # As numpy sums, since the first version: another order would change the last bits.
        return float(np.linalg.norm(weights))

    def _publish(self, weights: Floats) -> None:
        """Set ``coef_`` and ``intercept_`` from weights by feature."""
        coef = self._out_of_scale((weights[:-1] if self.fit_intercept else weights).T)
        # By score, as predictions multiply it: else each of them would turn it first.
        self.coef_ = np.ascontiguousarray(coef)
        if self.fit_intercept:  # from coef: of another layout, the last bits would be others
            self.intercept_ = weights[-1] - self._offset(coef)

    def _decision(self, X: Any) -> Floats:
        """Return the scores of rows, one for each score of the problem."""
        scores = all_scores(self, X)
        # One weight for each feature makes a vector; all else here reads rows of scores.
        return scores if scores.ndim == 2 else scores[:, None]

    # ---- files ----

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        super().check_state()
        check_step(self)
        n_scores = self._n_fitted_scores()
        if self._keeps_support:
            self._check_support(n_scores)
        if self.kernel is not None:
            return
        if type(self.fit_intercept) is not bool:
            raise DataError("fit_intercept must be True or False.")
        self._check_weights((self.n_features_in_ + self.fit_intercept, n_scores))
        self._check_published(n_scores)

    def _check_published(self, n_scores: int) -> None:
        check_weights_of(vars(self), n_scores)

    def _n_fitted_scores(self) -> int:
        """Return the number of scores of a fitted learner."""
        raise NotImplementedError

    def _check_problem(self) -> None:
        """Raise unless parameters and labels, read from a file, make a problem."""
        try:
            self._problem()
        except (TypeError, ValueError) as error:
            raise DataError(str(error)) from None
