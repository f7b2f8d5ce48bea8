"""The guarantees of Predtron, with weights and with kernels."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats, Matrix
from rankwright.online.base import Ledger, Rounds
from rankwright.online.comparator import Dual
from rankwright.online.kernel_bounds import KernelBounds
from rankwright.predtron.rounds import PredtronData, loss_range
from rankwright.problems.problem import Problem
from rankwright.theory.budget import budget_bound
from rankwright.theory.guarantee import Guarantee
from rankwright.theory.links import (
    NormName,
    link_constant,
    link_exponent,
    link_radius,
    link_size,
    weight_norm,
)
from rankwright.theory.predtron import predtron_bound


class PredtronGuarantees(KernelBounds):
    """Mixin of the Predtron learners: what the bounds need, and the bounds."""

    norm: NormName
    fit_intercept: bool
    eta_: float
    weights_: Floats

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
        length = u.length if dual else weight_norm(np.atleast_2d(u), self.norm)
        bound = predtron_bound(
            mode,
            length,
            t.get("R", 0.0),
            t.get("c_L", 1.0),
            t.get("C_L", 0.0),
            comparator_loss=t["charge"],
            link=1.0 if dual else link_constant(self.norm, self._link_size()),
            eta=self.eta_ if mode == "augmented" else None,
        )
        if self.budget is not None:
            G = 4 * t.get("R", 0.0) ** 2 * (t.get("C_L", 0.0) if mode == "loss_driven" else 1.0)
            bound = budget_bound(length, G, float(self.forgotten_[-1]), t["charge"])
        # Updates by the plain prediction have a bound on their number, the others on the losses.
        happened = t["mistakes"] if mode == "predicted" else t["loss"]
        return replace(bound, terms={**bound.terms, "loss": happened})

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
        scores = np.asarray(X @ U[:, :n_features].T, dtype=np.float64)
        return scores + (U[:, n_features] if U.shape[1] > n_features else 0.0)
