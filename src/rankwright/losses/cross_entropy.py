"""Cross entropy with given targets: its value, Hessian, conjugate, and terms for descent."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.products import gram, group_sums
from rankwright.data.validation import Floats, Matrix
from rankwright.losses.blocks import blocks
from rankwright.losses.loss import sum_by_query

Newton = Literal["plain", "exact", "neumann"]


class PreparedSoftmax:
    r"""Cross entropy with given targets, :math:`\log(\epsilon + \sum_i e^{s_i}) - \phi \cdot s`."""

    hessian_of_sparse = True

    def __init__(
        self,
        phi: Floats,
        groups: Groups,
        weights: Floats,
        eps: float,
        newton: Newton,
        threads: int,
    ) -> None:
        self.phi, self.groups, self.weights = phi, groups, weights
        self.eps, self.newton, self.threads = eps, newton, threads

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the value of each query and the gradient."""
        return _kernels.softmax_cross_entropy(
            scores, self.phi, self.weights, self.eps, self.groups.indptr, self.threads
        )

    def weighted(self, weights: Floats | None) -> PreparedSoftmax:
        r"""Return :math:`-\sum_i a_i \phi_i \log \rho_i`, given a weight :math:`a_i` for each row.

        With :math:`A = \sum_i a_i \phi_i` that is A times the cross entropy of the targets
        :math:`a_i \phi_i / A`.
        """
        if weights is None:
            return self
        raw = weights * self.phi
        total = sum_by_query(raw, self.groups)
        of_row = np.repeat(total, self.groups.sizes)
        phi = np.divide(raw, of_row, out=np.zeros_like(raw), where=of_row > 0)
        return cross_entropy(
            phi, self.groups, self.weights * total, self.eps, self.newton, self.threads
        )

    def by_query(self) -> _kernels.QueryLoss:
        """Return the loss for learners that meet one query at a time."""
        no_keys, no_weights = np.empty(0, dtype=np.uint64), np.empty(0)
        indptr = self.groups.indptr
        return _kernels.cross_entropies(
            indptr, self.phi, self.weights, self.eps, no_keys, 0, no_weights
        )

    def probabilities(self, scores: Floats) -> Floats:
        r"""Return :math:`\rho`."""
        return _kernels.softmax(scores, self.eps, self.groups.indptr, self.threads)

    def grad_and_hess(self, scores: Floats, draw: int = 0) -> tuple[Floats, Floats]:
        """Return the pair that a tree learner fits, by the ``newton`` rule; targets stay."""
        return _kernels.softmax_terms(
            scores,
            self.phi,
            self.weights,
            self.eps,
            self.newton,
            self.groups.indptr,
            self.threads,
        )

    def curvatures(self, scores: Floats) -> Floats:
        r"""Return :math:`\rho` times the weight of the query, 0 for one without a target."""
        has_target = sum_by_query(self.phi, self.groups) > 0
        weights = np.where(has_target, self.weights, 0.0)
        return np.repeat(weights, self.groups.sizes) * self.probabilities(scores)

    def hessian(self, X: Matrix, scores: Floats) -> Floats:
        r"""Sum :math:`X_q^\top (\mathrm{diag}\,\rho - \rho \rho^\top) X_q`, weighted.

        That is the weighted covariance of the documents of each query; taken of centred features,
        it loses no digits to large means. (With eps, :math:`\rho` adds up to less than 1, and what
        is missing stands for a document without features.)
        """
        has_rows = self.groups.sizes > 0
        indptr = np.append(self.groups.indptr[:-1][has_rows], self.groups.n_rows)
        sizes_of = self.groups.sizes[has_rows]
        # A query without a target has loss 0, whatever its scores.
        without_target = np.add.reduceat(self.phi, indptr[:-1]) == 0
        weights = np.where(without_target, 0.0, self.weights[has_rows])
        rho = self.probabilities(scores)
        diagonal = np.repeat(weights, sizes_of) * rho
        if sp.issparse(X):  # in float64, so that means may be taken away afterwards
            means = group_sums(X, np.arange(len(rho)), indptr, rho, self.threads)
            return gram(X, diagonal, self.threads) - means.T @ (means * weights[:, None])
        total = np.zeros((X.shape[1], X.shape[1]))
        for rows, queries, starts in blocks(indptr):
            block = X[rows]
            # All in the type of X: a product of float32 takes half the time.
            means = np.add.reduceat(block * rho[rows, None].astype(X.dtype), starts, axis=0)
            if self.eps > 0:
                mass = np.add.reduceat(rho[rows], starts)
                missing = (weights[queries] * (1 - mass))[:, None].astype(X.dtype)
                total += means.T @ (means * missing)
            block = block - np.repeat(means, sizes_of[queries], axis=0)
            total += block.T @ (block * diagonal[rows, None].astype(X.dtype))
        return total


class LogSumExp(PreparedSoftmax):
    """The same without eps: a log-sum-exp term for each query, of which more is known."""

    def conjugate(self, scores: Floats, grad: Floats, c: float) -> float:
        r"""Return the sum of the queries' conjugates at c times the gradient.

        With p the softmax, :math:`c (p - \phi) = p' - \phi` for :math:`p' = c p + (1 - c) \phi`,
        where the conjugate is the negative entropy of :math:`p'`.
        """
        weight = np.repeat(self.weights, self.groups.sizes)
        # 0 log 0 is 0, and rounding may leave a p' just below 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            mixed = np.where(weight > 0, self.phi + c * grad / weight, 0.0)
            terms = np.where(mixed > 0, mixed * np.log(mixed), 0.0)
        return float((weight * terms).sum())

    def descent_spec(self, n_queries: int) -> _kernels.SoftmaxSpec:
        """Return targets and weights for coordinate descent; one without a target has loss 0."""
        target = sum_by_query(self.phi, self.groups)
        weights = np.where(target > 0, self.weights, 0.0) / n_queries
        return _kernels.SoftmaxSpec(self.groups.indptr, self.phi, weights)


def cross_entropy(
    phi: Floats, groups: Groups, weights: Floats, eps: float, newton: Newton, threads: int
) -> PreparedSoftmax:
    """Return the cross entropy with given targets, each query times its weight."""
    kind = PreparedSoftmax if eps > 0 else LogSumExp
    return kind(phi, groups, weights, eps, newton, threads)
