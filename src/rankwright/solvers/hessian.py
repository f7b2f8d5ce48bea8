"""Second derivatives of log-sum-exp losses by the weights of a linear model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats
from rankwright.losses.domination import PreparedDomination
from rankwright.losses.softmax import PreparedSoftmax

_BLOCK_ROWS = 8192


def hessian(X: NDArray[Any], loss: object, scores: Floats) -> Floats:
    """Return the Hessian by w of the sum over queries of a loss at ``scores = X @ w``.

    Products of features are taken in the type of X: a Newton direction needs few digits.
    """
    if isinstance(loss, PreparedSoftmax):
        return _softmax_hessian(X, loss, scores)
    if isinstance(loss, PreparedDomination):
        return _domination_hessian(X, loss, scores)
    raise TypeError(f"no Hessian is known for {type(loss).__name__}.")


def _softmax_hessian(X: NDArray[Any], loss: PreparedSoftmax, scores: Floats) -> Floats:
    r"""Sum :math:`X_q^\top (\mathrm{diag}\,\rho - \rho \rho^\top) X_q`, weighted.

    That is the weighted covariance of the documents of each query; taken of centred features, it
    loses no digits to large means. (With eps, :math:`\rho` adds up to less than 1, and what is
    missing stands for a document without features.)
    """
    groups = loss.groups
    has_rows = groups.sizes > 0
    indptr = np.append(groups.indptr[:-1][has_rows], groups.n_rows)
    sizes_of = groups.sizes[has_rows]
    without_target = np.add.reduceat(loss.phi, indptr[:-1]) == 0
    weights = np.where(without_target, 0.0, loss.weights[has_rows])
    rho = loss.probabilities(scores)
    diagonal = np.repeat(weights, sizes_of) * rho
    total = np.zeros((X.shape[1], X.shape[1]))
    for rows, queries, starts in _blocks(indptr):
        block = X[rows]
        sizes = sizes_of[queries]
        means = np.add.reduceat(block * rho[rows, None].astype(X.dtype), starts, axis=0)
        if loss.eps > 0:
            mass = np.add.reduceat(rho[rows], starts)
            missing = (weights[queries] * (1 - mass))[:, None].astype(X.dtype)
            total += means.T @ (means * missing)
        block = block - np.repeat(means, sizes, axis=0)
        total += block.T @ (block * diagonal[rows, None].astype(X.dtype))
    return total


def _domination_hessian(X: NDArray[Any], loss: PreparedDomination, scores: Floats) -> Floats:
    r"""Sum over queries and layers k of the covariances of their terms.

    With :math:`q` the softmax over the layers below k, :math:`\mu_k` its mean of x, and for a
    document i of layer k :math:`\pi_i = \sigma(\log Z_k - m_i)`, the variance of i's term is
    :math:`\pi_i \mathrm{Cov}_q + \pi_i (1 - \pi_i)(x_i - \mu_k)(x_i - \mu_k)^\top`. Summed over i
    this is a weighted product of all documents plus matrices of rank two, one for each layer.
    Features are centred by query first, which changes nothing but the rounding.
    """
    layers = loss.layers
    rows, begin = layers.rows, layers.begin
    first = np.unique(layers.first_layer)  # of the queries that have documents
    n_layers = len(begin) - 1
    sizes = np.diff(begin)
    layer = np.repeat(np.arange(n_layers), sizes)
    query = np.repeat(np.arange(len(first) - 1), np.diff(first))[layer]
    m = loss.margins(scores)[rows]  # by layer from here on
    log_sum = _log_sums(m, begin)
    mix = _LayerMix(loss, log_sum)
    pi = _sigmoid(mix.log_z[layer] - m)
    pi[mix.is_lowest[layer]] = 0
    spread = pi * (1 - pi)
    pushes = np.add.reduceat(pi, begin[:-1])
    with np.errstate(divide="ignore"):
        log_a = mix.push_down(np.log(pushes))
    diagonal = np.exp(m + log_a[layer]) + spread

    d = X.shape[1]
    total = np.zeros((d, d))
    centres = _query_means(X, begin[first])
    means, pulled = np.empty((n_layers, d), dtype=X.dtype), np.empty((n_layers, d), dtype=X.dtype)
    within = np.exp(m - log_sum[layer])  # the softmax inside each layer
    for part, these, starts in _blocks(begin):
        block = X[rows[part]] - centres[query[part]]
        total += block.T @ (block * diagonal[part, None].astype(X.dtype))
        means[these] = np.add.reduceat(block * within[part, None].astype(X.dtype), starts, axis=0)
        pulled[these] = np.add.reduceat(block * spread[part, None].astype(X.dtype), starts, axis=0)
    mu = mix.mean_below(means)
    upper = np.flatnonzero(~mix.is_lowest)
    mu, pulled = mu[upper], pulled[upper]
    excess = (np.add.reduceat(spread, begin[:-1]) - pushes)[upper, None].astype(X.dtype)
    cross = mu.T @ (0.5 * excess * mu - pulled)
    return np.asarray(total + cross + cross.T, dtype=np.float64)


def _query_means(X: NDArray[Any], indptr: Ints) -> NDArray[Any]:
    """Return the mean document of each query."""
    means = np.zeros((len(indptr) - 1, X.shape[1]), dtype=X.dtype)
    for rows, queries, starts in _blocks(indptr):
        sizes = np.maximum(np.diff(indptr)[queries], 1)[:, None].astype(X.dtype)
        means[queries] = np.add.reduceat(X[rows], starts, axis=0) / sizes
    return means


class _LayerMix:
    """Sums over the layers below each layer, for all queries at once, one depth at a time."""

    def __init__(self, loss: PreparedDomination, log_sum: Floats) -> None:
        first = loss.layers.first_layer
        depth = np.arange(first[-1]) - np.repeat(first[:-1], np.diff(first))
        self.is_lowest = depth == 0
        self.by_depth = [np.flatnonzero(depth == k) for k in range(int(depth.max(initial=0)) + 1)]
        self.constant, self.between, self.level = loss.constant, loss.between, loss.level
        self.log_sum = log_sum
        self.log_z = np.full(len(log_sum), -np.inf)
        for k in range(1, len(self.by_depth)):
            layers = self.by_depth[k]
            for below in range(1, k + 1):
                term = self._margin(layers, layers - below) + log_sum[layers - below]
                self.log_z[layers] = np.logaddexp(self.log_z[layers], term)

    def _margin(self, upper: Ints, lower: Ints) -> Floats | float:
        if self.between.size == 0:
            return self.constant
        margins: Floats = self.between[self.level[upper], self.level[lower]]
        return margins

    def push_down(self, log_pushes: Floats) -> Floats:
        """Return log A of each layer: what the layers above push it by, relative to e^m."""
        log_a = np.full(len(log_pushes), -np.inf)
        for k in range(1, len(self.by_depth)):
            layers = self.by_depth[k]
            for below in range(1, k + 1):
                term = (
                    self._margin(layers, layers - below) + log_pushes[layers] - self.log_z[layers]
                )
                log_a[layers - below] = np.logaddexp(log_a[layers - below], term)
        return log_a

    def mean_below(self, means: NDArray[Any]) -> NDArray[Any]:
        """Return the mean over the layers below, given that of each layer."""
        mu = np.zeros_like(means)
        for k in range(1, len(self.by_depth)):
            layers = self.by_depth[k]
            for below in range(1, k + 1):
                lower = layers - below
                share = np.exp(
                    self._margin(layers, lower) + self.log_sum[lower] - self.log_z[layers]
                )
                mu[layers] += share[:, None].astype(means.dtype) * means[lower]
        return mu


def _blocks(indptr: Ints) -> Iterator[tuple[slice, slice, Ints]]:
    """Yield runs of whole groups: their rows, their numbers, and their starts within the rows.

    No group may be empty.
    """
    n_groups = len(indptr) - 1
    begin = 0
    while begin < n_groups:
        end = int(np.searchsorted(indptr, indptr[begin] + _BLOCK_ROWS, side="right")) - 1
        end = min(max(end, begin + 1), n_groups)
        rows = slice(int(indptr[begin]), int(indptr[end]))
        if rows.stop > rows.start:
            yield rows, slice(begin, end), indptr[begin:end] - rows.start
        begin = end


def _log_sums(values: Floats, begin: Ints) -> Floats:
    starts = begin[:-1]
    highest = np.maximum.reduceat(values, starts)
    shifted = np.exp(values - np.repeat(highest, np.diff(begin)))
    return np.asarray(highest + np.log(np.add.reduceat(shifted, starts)), dtype=np.float64)


def _sigmoid(x: Floats) -> Floats:
    e = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, e) / (1 + e), dtype=np.float64)
