"""Predtron's algorithm over any problem: modes, links, kernel form, means of weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups, Ints
from rankwright.data.products import native_rows
from rankwright.data.validation import Floats, Matrix
from rankwright.estimator import check_features, check_fitted_array, finite_scores
from rankwright.exceptions import DataError
from rankwright.online.base import Ledger, OnlineLearner, Rounds
from rankwright.online.dual import BLOCK, Kernel, KernelForm, survival
from rankwright.online.linear import VARIANTS, Variant, check_variant
from rankwright.problems.native import Native
from rankwright.problems.problem import Problem
from rankwright.theory.guarantee import Guarantee
from rankwright.theory.links import (
    NORMS,
    NormName,
    link_constant,
    link_exponent,
    link_radius,
    link_size,
    weight_norm,
)
from rankwright.theory.predtron import predtron_bound

Mode: TypeAlias = Literal["augmented", "predicted", "loss_driven"]
MODES = ("augmented", "predicted", "loss_driven")
# Scores, label, scores of a comparator (or none), direction to fill; loss, and its charge.
RoundOf: TypeAlias = Callable[[Floats, Any, Floats, Floats], tuple[float, float]]


@dataclass(frozen=True)
class PredtronData:
    """Examples: rows, or queries of rows.

    ``labels`` has a row for each row of X if the problem is built in, and is otherwise a list with
    a label for each round. ``groups`` are the rows of each round, None if these are single rows.
    """

    X: Matrix
    labels: Any
    groups: Groups | None
    order: Ints | None = None

    @property
    def n_rounds(self) -> int:
        """Rows or queries."""
        return self.X.shape[0] if self.groups is None else self.groups.n_queries

    def rows_of(self, at: int) -> slice:
        """Return the rows of a round."""
        if self.groups is None:
            return slice(at, at + 1)
        return slice(int(self.groups.indptr[at]), int(self.groups.indptr[at + 1]))

    def label_of(self, at: int) -> Any:
        """Return the label of a round, as the problem's kernel or the problem itself reads it."""
        if isinstance(self.labels, list):
            return self.labels[at]
        return np.ascontiguousarray(self.labels[self.rows_of(at)].ravel())


class PredtronLearner(KernelForm, OnlineLearner):
    r"""Base of the Predtron learners.

    .. math::
        \nabla\psi(W) \leftarrow \nabla\psi(W)
        - \eta\, s\, (\mathrm{rep}(\tilde\sigma) - \mathrm{rep}(\sigma_y))\, x^\top
        \quad\text{when } L(\mathrm{pred}(W x), y) > 0

    To add a learner, write ``_problem()``, which returns the problem, and ``_check_data``, which
    returns :class:`PredtronData`; both may read fitted attributes such as ``classes_``.
    """

    mode: str = "predicted"
    norm: NormName = "l2"
    variant: Variant = "last"
    eta: float | None = None
    radius: float | None = None
    smallest_loss: float | None = None
    fit_intercept: bool = False
    weights_: Floats
    coef_: Floats

    def _problem(self) -> Problem:
        raise NotImplementedError

    def _mode(self) -> str:
        return self.mode

    def _n_scores(self, data: PredtronData) -> int:
        """Return the weights that a feature has."""
        if data.groups is not None:
            return 1
        problem = self._problem()
        n = problem.n_scores if isinstance(problem, Native) else None
        return n or len(problem.represent(problem.correct(data.labels[0])))

    # ---- parameters and start ----

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        if self._mode() not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, but is {self.mode!r}.")
        if self.norm not in NORMS:
            raise ValueError(f"norm must be one of {', '.join(NORMS)}, but is {self.norm!r}.")
        check_variant(self.variant)
        for name in ("eta", "radius", "smallest_loss"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a positive number, but is {value!r}.")
        if self.kernel is not None:
            self._kernel()
            if self.norm != "l2":
                raise ValueError(f"a kernel needs norm='l2', but norm is {self.norm!r}.")
            if self.variant == "voted":
                raise ValueError("variant='voted' needs the lengths of weights: use kernel=None.")

    def _n_rounds(self, data: Any) -> int:
        return int(data.n_rounds)

    def _begin(self, data: PredtronData, whole: bool) -> None:
        d, n_features = self._n_scores(data), data.X.shape[1]
        self.eta_ = self._step(data, whole, d)
        if self.kernel is not None:
            self._begin_dual(data.X, whole, d)
            return
        self.weights_ = np.zeros((n_features + self.fit_intercept, d))
        if self.variant != "last":
            self.coef_sum_ = np.zeros_like(self.weights_)
            self.since_ = 0
        self._show(self.weights_)

    def _step(self, data: PredtronData, whole: bool, d: int) -> float:
        if self.eta is not None:
            return float(self.eta)
        if self._mode() != "augmented":
            return 1.0
        smallest, radius = self.smallest_loss, self.radius
        if smallest is None:
            smallest = self._smallest_loss(data, whole)
        if radius is None:
            if not whole:
                raise ValueError(
                    "mode='augmented' needs radius or eta before partial_fit: its step depends on "
                    "the largest input, which may be still to come."
                )
            radius = self._radius(data)
        n = link_size(self.norm, data.X.shape[1] + self.fit_intercept, d)
        step = smallest / max(4 * link_constant(self.norm, n) * radius**2, 1e-300)
        return step if math.isfinite(step) and step > 0 else 1.0

    def _smallest_loss(self, data: PredtronData, whole: bool) -> float:
        problem = self._problem()
        try:
            return problem.loss_range()[0]
        except ValueError:  # it depends on the labels
            if not whole:
                raise ValueError(
                    "mode='augmented' needs smallest_loss or eta before partial_fit: its step "
                    "depends on the labels to come."
                ) from None
        measure = problem.encoded_range if isinstance(problem, Native) else problem.loss_range
        labels = map(data.label_of, range(data.n_rounds))
        return min((measure(label)[0] for label in labels), default=math.inf)

    def _radius(self, data: PredtronData) -> float:
        """Return R of the inputs, in the space of the weights."""
        if self.kernel is None:
            return link_radius(data.X, self.norm, data.groups, intercept=self.fit_intercept)
        kernel, largest = self._kernel(), 0.0
        for at in range(data.n_rounds):
            rows = np.arange(data.X.shape[0])[data.rows_of(at)]
            gram = kernel(data.X[rows], kernel.points(data.X, rows, data.order))
            if gram.size:
                largest = max(largest, float(np.linalg.eigvalsh(gram)[-1]))
        return math.sqrt(largest)

    def _kernel(self) -> Kernel:
        kernel = super()._kernel()
        if not self.fit_intercept:
            return kernel
        return PlusOne(kernel.kind, kernel.gamma, kernel.degree, kernel.coef0)

    # ---- rounds ----

    def _learn(self, task: PredtronData, order: Ints, comparator: Any) -> Rounds:
        other = np.empty(0)
        if comparator is not None:
            other = self._comparator_scores(task.X, comparator).ravel()
        losses, charges = np.empty(len(order)), np.empty(len(order))
        if self.kernel is not None:
            n_updates = self._learn_dual(task, order, other, losses, charges)
        else:
            n_updates = self._learn_primal(task, order, other, losses, charges)
        return Rounds(losses, n_updates, {} if comparator is None else {"charge": charges})

    def _charge(self, task: PredtronData, order: Ints, rounds: Rounds, ledger: Ledger) -> None:
        problem = self._problem()
        measure = problem.encoded_range if isinstance(problem, Native) else problem.loss_range
        for at in order.tolist():
            smallest, largest = measure(task.label_of(at))
            ledger.keep_min("c_L", smallest)
            ledger.keep_max("C_L", largest)
        ledger.add("charge", float(rounds.terms["charge"].sum()))
        ledger.add("mistakes", int(np.count_nonzero(rounds.losses)))
        ledger.keep_max("R", self._radius(task))

    def guarantee(self, ledger: Ledger) -> Guarantee:
        """Return the bound of the rounds so far."""
        t, mode = ledger.totals, self._mode()
        U = np.atleast_2d(np.asarray(ledger.comparator, dtype=np.float64))
        n = link_size(self.norm, *self.weights_.shape)
        bound = predtron_bound(
            mode,
            weight_norm(U, self.norm),
            t.get("R", 0.0),
            t.get("c_L", 1.0),
            t.get("C_L", 0.0),
            comparator_loss=t["charge"],
            link=link_constant(self.norm, n),
            eta=self.eta_ if mode == "augmented" else None,
        )
        happened = t["mistakes"] if mode == "predicted" else t["loss"]
        return replace(bound, terms={**bound.terms, "loss": happened})

    def _learn_primal(
        self, data: PredtronData, order: Ints, other: Floats, losses: Floats, charges: Floats
    ) -> int:
        theta = self.weights_
        n = link_size(self.norm, *theta.shape)
        q = link_exponent(n) if self.norm != "l2" else 2.0
        link = _kernels.LinkedWeights(self.norm, q, theta, self.fit_intercept)
        W = theta
        if q != 2:
            W = np.empty_like(theta)
            link.write(W.ravel())
        total = np.empty(0) if self.variant == "last" else self.coef_sum_.ravel()
        since = 0 if self.variant == "last" else self.since_
        iterate = _kernels.Iterate(W.ravel(), total, self.variant, self.n_rounds_, since)
        problem, rows = self._problem(), native_rows(data.X)
        if isinstance(problem, Native):
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
            n_updates = self._rounds_in_python(
                data, order, other, losses, charges, link, iterate, rows
            )
        if q != 2:
            link.write(W.ravel())
        self._finish(W, iterate.since, self.n_rounds_ + len(order))
        return n_updates

    def _rounds_in_python(
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
        n_updates, d, a_round = 0, self.weights_.shape[1], self._round()
        for r, at in enumerate(order.tolist()):
            part = data.rows_of(at)
            n = part.stop - part.start
            t = link.scores(rows, part.start, n)
            u = other[part.start * d : part.stop * d]
            direction = np.zeros(len(t))
            losses[r], charges[r] = a_round(t, data.label_of(at), u, direction)
            if losses[r] > 0:
                n_updates += 1
                at_round = self.n_rounds_ + r + 1
                link.update(rows, part.start, n, direction, self.eta_, iterate, at_round)
        return n_updates

    def _learn_dual(
        self, data: PredtronData, order: Ints, other: Floats, losses: Floats, charges: Floats
    ) -> int:
        expansion, a_round, n_updates = self._expansion(), self._round(), 0
        d, t, r = self.dual_coef_.shape[1], self.n_rounds_, 0
        for block in _blocks(order, data):
            spans = [data.rows_of(at) for at in block]
            rows = np.concatenate([np.arange(part.start, part.stop) for part in spans])
            expansion.open(data.X, rows, data.order)
            begin = 0
            for at, part in zip(block, spans, strict=True):
                t += 1
                end = begin + part.stop - part.start
                scores = expansion.scores[begin:end].ravel()
                direction = np.zeros(len(scores))
                u = other[part.start * d : part.stop * d]
                losses[r], charges[r] = a_round(scores, data.label_of(at), u, direction)
                if losses[r] > 0:
                    n_updates += 1
                    g = direction.reshape(-1, d)
                    members = np.flatnonzero(g.any(axis=1))
                    expansion.add(begin + members, -self.eta_ * g[members], t)
                begin, r = end, r + 1
        self._keep(expansion)
        return n_updates

    def _round(self) -> RoundOf:
        """Return what makes a round of scores and label."""
        problem, mode = self._problem(), self._mode()
        if isinstance(problem, Native):

            def native(t: Floats, y: Any, u: Floats, direction: Floats) -> tuple[float, float]:
                kernel = problem.kernel(len(t))
                return _kernels.predtron_round(kernel, mode, t, y, u, direction)

            return native
        return lambda t, y, u, direction: predtron_round(problem, mode, t, y, u, direction)

    # ---- weights that predict ----

    def _finish(self, W: Floats, since: int, n_rounds: int) -> None:
        """Keep the weights, or their mean over the rounds."""
        if self.variant == "last":
            return self._show(W)
        self.since_, n = since, max(n_rounds, 1)
        if self.variant == "averaged":
            return self._show(W - self.coef_sum_ / n)
        length = float(np.linalg.norm(W))
        direction = W / length if length > 0 else W
        return self._show((self.coef_sum_ + (n + 1 - since) * direction) / n)

    def _show(self, W: Floats) -> None:
        """Set ``coef_`` and ``intercept_`` from weights by feature."""
        self.coef_ = W.T
        if self.fit_intercept:
            self.coef_, self.intercept_ = W[:-1].T, W[-1]

    def _decision(self, X: Any) -> Floats:
        """Return the scores of rows, one for each score of the problem."""
        matrix = check_features(self, X)
        if self.kernel is not None:
            coef = self.dual_coef_
            if self.variant == "averaged":
                coef = coef * survival(self.born_, self.n_rounds_)[:, None]
            return self._dual_scores(matrix, coef)
        scores = matrix @ np.atleast_2d(self.coef_).T
        return finite_scores(scores + self.intercept_ if self.fit_intercept else scores)

    def _comparator_scores(self, X: Matrix, comparator: Any) -> Floats:
        """Return the scores of a comparator, weights by score and feature, one more for a bias."""
        U = np.atleast_2d(np.asarray(comparator, dtype=np.float64))
        n_features = X.shape[1]
        if self.kernel is not None or U.shape[1] not in (n_features, n_features + 1):
            raise ValueError(
                f"the comparator must have {n_features} weights for each score (one more with an "
                f"intercept), but has shape {U.shape}."
            )
        scores = np.asarray(X @ U[:, :n_features].T, dtype=np.float64)
        return scores + (U[:, n_features] if U.shape[1] > n_features else 0.0)

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        super().check_state()
        eta = getattr(self, "eta_", None)
        if type(eta) is not float or not (math.isfinite(eta) and eta > 0):
            raise DataError("eta_ must be a positive number.")
        if self.variant not in VARIANTS or self.norm not in NORMS:
            raise DataError("variant and norm must be known ones.")
        n_scores = self._n_fitted_scores()
        if self.kernel is not None:
            self._check_dual_state(n_scores)
            return
        if type(self.fit_intercept) is not bool:
            raise DataError("fit_intercept must be true or false.")
        shape = (self.n_features_in_ + self.fit_intercept, n_scores)
        check_fitted_array(self, "weights_", shape)
        self._check_shown(n_scores)
        if self.variant != "last":
            check_fitted_array(self, "coef_sum_", shape)
            since = getattr(self, "since_", None)
            if type(since) is not int or not 0 <= since <= self.n_rounds_:
                raise DataError("since_ must be one of the rounds so far.")

    def _check_shown(self, n_scores: int) -> None:
        check_fitted_array(self, "coef_", (n_scores, self.n_features_in_))
        if self.fit_intercept:
            check_fitted_array(self, "intercept_", (n_scores,))

    def _n_fitted_scores(self) -> int:
        """Return the number of scores of a fitted learner."""
        raise NotImplementedError


@dataclass(frozen=True)
class PlusOne(Kernel):
    """A kernel with an intercept: plus one."""

    def __call__(self, X: Matrix, points: Any) -> Floats:
        """Return the kernel's values plus 1, documents by points."""
        return super().__call__(X, points) + 1.0


def predtron_round(
    problem: Problem, mode: str, t: Floats, y: Any, u: Floats, direction: Floats
) -> tuple[float, float]:
    r"""Make one round of Algorithm 1 over any problem; ``cpp/predtron.hpp`` is its compiled form.

    Fills :math:`s\,(\mathrm{rep}(\tilde\sigma) - \mathrm{rep}(\sigma_y))` if the prediction has a
    loss, and returns that loss and what the bound charges a comparator with scores u (0 without).
    """
    sigma = problem.predict(t, y)
    loss = float(problem.loss(sigma, y))
    if not loss > 0:
        return 0.0, 0.0
    correct = problem.represent(problem.correct(y, t))
    scale, charge = (loss if mode == "loss_driven" else 1.0), 0.0
    if mode == "augmented":
        sigma = problem.augmented(t, y)
        if len(u):
            best = problem.augmented(u, y)
            charge = float(problem.loss(best, y) - (correct - problem.represent(best)) @ u)
    step = problem.represent(sigma) - correct
    if mode != "augmented" and len(u):
        charge = scale * max(0.0, 1 + float(step @ u))
    direction[:] = scale * step
    return loss, charge


def _blocks(order: Ints, data: PredtronData) -> Iterator[list[int]]:
    """Cut the rounds into runs of about BLOCK rows."""
    sizes = np.ones(len(order)) if data.groups is None else data.groups.sizes[order]
    ends = np.cumsum(sizes) // BLOCK
    for part in np.split(order, np.flatnonzero(np.diff(ends)) + 1):
        yield part.tolist()
