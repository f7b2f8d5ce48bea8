"""The guarantees of Predtron, with weights and with kernels."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np

from rankwright.data.groups import Ints
from rankwright.data.products import linear_scores
from rankwright.data.validation import Floats, Matrix
from rankwright.online.base import Rounds
from rankwright.online.comparator import Dual
from rankwright.online.kernel_bounds import KernelBounds
from rankwright.online.ledger import Ledger
from rankwright.predtron.rounds import PredtronData, loss_range
from rankwright.problems.problem import Problem
from rankwright.theory.budget import budget_bound
from rankwright.theory.guarantee import Guarantee
from rankwright.theory.links import (
    NormName,
    link_constant,
    link_exponent,
    link_norm,
    link_radius,
    link_size,
    weight_norm,
)
from rankwright.theory.predtron import predtron_bound
from rankwright.theory.predtron_warm import predtron_warm_bound
from rankwright.theory.warm import WarmStart

_ROUNDING: Final = 1e-14


class PredtronGuarantees(KernelBounds):
    """Mixin of the Predtron learners: what the bounds need, and the bounds."""

    norm: NormName
    fit_intercept: bool
    eta_: float
    weights_: Floats
    coef_: Floats
    intercept_: Floats

    def _problem(self) -> Problem:
        raise NotImplementedError

    def _mode(self) -> str:
        raise NotImplementedError

    def _radius(self, data: PredtronData) -> float:
        """Return R of the inputs, in the space of the weights."""
        if self.kernel is None:
            return link_radius(data.X, self.norm, data.groups, intercept=self.fit_intercept)
        # In the kernel's space |X_q|^2 is the largest eigenvalue of a query's Gram matrix; for a
        # single row that is K(x, x).
        kernel, largest = self._kernel(), 0.0
        for at in range(data.n_rounds):
            rows = np.arange(data.X.shape[0])[data.rows_of(at)]
            gram = kernel(data.X[rows], kernel.points(data.X, rows, data.order))
            if gram.size:
                largest = max(largest, float(np.linalg.eigvalsh(gram)[-1]))
        return math.sqrt(largest)

    def _link_size(self) -> int:
        return link_size(self.norm, *self.weights_.shape)

    def _exponent(self) -> float:
        """Return q of the link; 2 is none."""
        return link_exponent(self._link_size()) if self.norm != "l2" else 2.0

    def _charge(self, task: PredtronData, order: Ints, rounds: Rounds, ledger: Ledger) -> None:
        problem = self._problem()
        for at in order.tolist():
            # Of the labels that came: the bound need not pay for losses that could not happen.
            smallest, largest = loss_range(problem, task.label_of(at))
            ledger.keep_min("c_L", smallest)
            ledger.keep_max("C_L", largest)
        ledger.add("charge", rounds.terms["charge"])
        ledger.add("mistakes", np.count_nonzero(rounds.losses))
        ledger.keep_max("R", self._radius(task))

    def guarantee(self, ledger: Ledger) -> Guarantee:
        """Return the bound of the rounds so far."""
        t, mode, u = ledger.totals, self._mode(), ledger.comparator
        dual = isinstance(u, Dual)
        start = ledger.start
        length = u.length if dual else weight_norm(np.atleast_2d(u), self.norm)
        facts = t.get("R", 0.0), t.get("c_L", 1.0), t.get("C_L", 0.0), t["charge"]
        link = 1.0 if dual else link_constant(self.norm, self._link_size())
        if start.is_cold:
            eta = self.eta_ if mode == "augmented" else None
            bound = predtron_bound(mode, length, *facts, link=link, eta=eta)
        else:
            length = u.length if dual else self._primal_norm(u)
            bound = predtron_warm_bound(mode, length, *facts, start, self.eta_, link=link)
        if self.budget is not None:
            G = 4 * t.get("R", 0.0) ** 2 * (t.get("C_L", 0.0) if mode == "loss_driven" else 1.0)
            bound = budget_bound(length, G, float(self.forgotten_[-1]), t["charge"])
        # Updates by the plain prediction have a bound on their number, the others on the losses.
        happened = t["mistakes"] if mode == "predicted" else t["loss"]
        return replace(bound, terms={**bound.terms, "loss": happened})

    def _primal_norm(self, u: Any) -> float:
        q = self._exponent()
        return link_norm(u, self.norm, q / (q - 1))

    def _start_of_weights(self, u: Any) -> WarmStart:
        own, other = self.weights_.T, self._padded(u)
        q = self._exponent()
        if q == 2:
            return WarmStart.between(own, other)
        length, most = link_norm(own, self.norm, q), self._primal_norm(other)
        gap = length * most - float((own * other).sum())
        # Powers and sums round: what that can take from the gap is added to it.
        return WarmStart(length, max(0.0, gap) + _ROUNDING * length * most)

    def _padded(self, u: Any) -> Floats:
        """Return a comparator of the form of the weights: one without an intercept has one of 0."""
        U = np.atleast_2d(np.asarray(u, dtype=np.float64))
        n, d = self.weights_.shape
        if self.fit_intercept and U.shape[1] == n - 1:
            U = np.hstack([U, np.zeros((len(U), 1))])
        if U.shape != (d, n):
            raise ValueError(
                f"the comparator must have {n - self.fit_intercept} weights for each of {d} scores "
                f"(one more with an intercept), but has shape {np.shape(u)}."
            )
        return U

    def _published_vector(self) -> Floats:
        if not self.fit_intercept:
            return np.array(self.coef_)
        return np.hstack([self.coef_, np.asarray(self.intercept_)[:, None]])

    def _comparator_scores(self, X: Matrix, comparator: Any) -> Floats:
        """Return the scores of a comparator, weights by score and feature, one more for a bias."""
        if isinstance(comparator, Dual):
            return comparator.scores(X)
        U = np.atleast_2d(np.asarray(comparator, dtype=np.float64))
        n_features = X.shape[1]
        if U.shape[1] not in (n_features, n_features + 1):
            raise ValueError(
                f"the comparator must have {n_features} weights for each score (one more with an "
                f"intercept), but has shape {U.shape}."
            )
        # Each by its own row: the bits of a bound do not depend on how a stream is cut.
        scores = linear_scores(X, np.ascontiguousarray(U[:, :n_features]))[0]
        return scores + (U[:, n_features] if U.shape[1] > n_features else 0.0)
