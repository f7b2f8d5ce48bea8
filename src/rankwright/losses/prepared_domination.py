"""Domination on given labels: its value, Hessian, conjugate, and terms for coordinate descent."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.validation import Floats, Matrix
from rankwright.losses.blocks import weighted_sums
from rankwright.losses.layer_sums import LayerMargins, LayerSums

# The Hessian's sums over pairs of layers are taken one pair of depths at a time.
_MANY_LAYERS = 32

Margin = float | Callable[[Floats], Floats] | Floats | None


class PreparedDomination:
    """Domination on given labels.

    It is a function of :math:`m = s - t`, where t, the ``shift``, holds separable margins.
    """

    hessian_of_sparse = True

    def __init__(
        self,
        y: Floats,
        layer: Floats,
        groups: Groups,
        margin: Margin,
        threads: int,
        weights: Floats | None = None,
    ) -> None:
        self.layers = _kernels.Layers(layer, groups.indptr, threads)
        self.threads = threads
        self.weights = np.empty(0) if weights is None else weights  # none, or one of each row
        self.shift: Floats | None = None
        self.between = LayerMargins()
        if margin is None:
            return
        if callable(margin):
            self.shift = np.asarray(margin(y), dtype=np.float64)
            if self.shift.shape != y.shape or not np.isfinite(self.shift).all():
                raise ValueError("margin must return one finite number for each label.")
            return
        if np.ndim(margin) == 0:
            self.between = LayerMargins(float(margin))
            return
        array = np.ascontiguousarray(margin, dtype=np.float64)
        highest = len(array) - (array.ndim == 2)
        if ((layer != np.floor(layer)) | (layer < 0) | (layer > highest)).any():
            raise ValueError(
                f"margins by layer need labels 0 to {highest}, but there are labels "
                f"from {layer.min():g} to {layer.max():g}."
            )
        if array.ndim == 1:
            # Boundaries that add up are a separable margin.
            self.shift = np.append(0.0, np.cumsum(array))[layer.astype(np.int64)]
            return
        self.between = LayerMargins(matrix=array, level=self.layers.labels.astype(np.int64))

    def margins(self, scores: Floats) -> Floats:
        """Return :math:`m = s - t(y)`."""
        return scores if self.shift is None else scores - self.shift

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the value of each query and the gradient."""
        return self._evaluate(scores, np.empty(0))

    def grad_and_hess(self, scores: Floats, draw: int = 0) -> tuple[Floats, Floats]:
        """Return the gradient, and as curvature the sum of all pushes on a document and its own.

        A push p has a second derivative of p (1 - p), which is no more; nothing is drawn.
        """
        hess = np.empty(len(scores))
        return self._evaluate(scores, hess)[1], hess

    def curvatures(self, scores: Floats) -> Floats:
        r"""Return :math:`e^{m_i} \sum_k P_k / Z_k + a_i \sigma_i (1 - \sigma_i)`.

        The first is the sum of all pushes on a document, the second the curvature of its own term;
        the Hessian has nothing else but for a matrix of rank two for each layer.
        """
        grad, hess = self.grad_and_hess(scores)  # pushes less, and plus, the own slope
        pushes, own = 0.5 * (hess + grad), 0.5 * (hess - grad)
        share = own
        if self.weights.size:
            share = np.divide(own, self.weights, out=np.zeros_like(own), where=self.weights > 0)
        return np.maximum(pushes + own * (1 - share), 0.0)

    def _evaluate(self, scores: Floats, hess: Floats) -> tuple[Floats, Floats]:
        between = self.between
        return self.layers.domination(
            self.margins(scores),
            between.constant,
            between.matrix,
            between.level,
            self.weights,
            self.threads,
            hess,
        )

    @property
    def slow_hessian(self) -> bool:
        """Whether a query has many layers."""
        return int(np.diff(self.layers.first_layer).max(initial=0)) > _MANY_LAYERS

    def hessian(self, X: Matrix, scores: Floats) -> Floats:
        r"""Sum over queries and layers k of the covariances of their terms.

        With :math:`q` the softmax over the layers below k, :math:`\mu_k` its mean of x, and for a
        document i of layer k :math:`\pi_i = \sigma(\log Z_k - m_i)`, the variance of i's term is
        :math:`\pi_i \mathrm{Cov}_q + \pi_i (1 - \pi_i)(x_i - \mu_k)(x_i - \mu_k)^\top`. Summed over
        i, times its weight, this is a weighted product of all documents plus matrices of rank two,
        one for each layer.
        """
        rows, begin = self.layers.rows, self.layers.begin
        first = np.unique(self.layers.first_layer)  # of the queries that have documents
        sums = LayerSums(self.layers, self.margins(scores), self.between)
        layer = sums.layer
        pi = _sigmoid(sums.log_z[layer] - sums.m)
        pi[sums.is_lowest[layer]] = 0
        spread = pi * (1 - pi)
        if self.weights.size:
            spread, pi = self.weights[rows] * spread, self.weights[rows] * pi
        pushes = sums.over_layers(pi)
        with np.errstate(divide="ignore"):
            log_a = sums.push_down(np.log(pushes))
        diagonal = np.exp(sums.m + log_a[layer]) + spread
        within = np.exp(sums.m - sums.log_sum[layer])  # the softmax inside each layer

        total, (means, pulled) = weighted_sums(
            X, rows, begin, diagonal, (within, spread), begin[first], self.threads
        )
        upper = np.flatnonzero(~sums.is_lowest)
        mu, pulled = sums.mean_below(means)[upper], pulled[upper]
        excess = (sums.over_layers(spread) - pushes)[upper, None].astype(mu.dtype)
        cross = mu.T @ (0.5 * excess * mu - pulled)
        return np.asarray(total + cross + cross.T, dtype=np.float64)

    def conjugate(self, scores: Floats, grad: Floats, c: float) -> float:
        r"""Return the sum of the terms' conjugates at c times the gradient by m.

        For document i of layer k, with :math:`\sigma_i = Z_k / (Z_k + e^{m_i})`, :math:`q = c
        \sigma_i` and :math:`M_k` the mean of m below layer k under weights :math:`e^{m + \Delta}`,
        it is :math:`(1 - q) \log(1 - q) + q (\log q + M_k - \log Z_k)`, times the weight of i.
        """
        sums = LayerSums(self.layers, self.margins(scores), self.between)
        log_z, mean = sums.mean_margin_below()
        dominating = np.isfinite(log_z[sums.layer])
        layer = sums.layer[dominating]
        lead = log_z[layer] - sums.m[dominating]
        log_q = math.log(c) - np.logaddexp(0.0, -lead) if c > 0 else np.full(len(lead), -np.inf)
        q = np.exp(log_q)
        # 1 - q = (1 - c) + c / (1 + e^lead), which keeps its digits when q is near 1.
        rest = (1 - c) + c * np.exp(-np.logaddexp(0.0, lead))
        some = rest > 0
        entropy = rest[some] * np.log(rest[some])
        # q log q is 0 at 0; the floor is a number that 0 can be multiplied by.
        inner = np.where(q > 0, q * (np.maximum(log_q, -1e308) + mean[layer] - log_z[layer]), 0.0)
        if self.weights.size:
            own = self.weights[self.layers.rows][dominating]
            entropy, inner = own[some] * entropy, own * inner
        return float(entropy.sum() + inner.sum())

    def descent_spec(self, n_queries: int) -> _kernels.DominationSpec:
        """Return layers and margins for coordinate descent."""
        between = self.between
        weights = np.full(len(self.layers.first_layer) - 1, 1 / n_queries)
        return _kernels.DominationSpec(
            self.layers, weights, between.constant, between.matrix, between.level, self.weights
        )


def _sigmoid(x: Floats) -> Floats:
    e = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, e) / (1 + e), dtype=np.float64)
