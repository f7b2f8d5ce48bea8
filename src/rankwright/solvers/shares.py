"""Data in shares of whole queries, and a loss on one of them.

Solvers know neither how many shares there are nor where they lie
(:class:`~rankwright.data.each.Each`). What a loss computes of a share is the business of
:class:`ShareLoss`; what is added up, in the order of the shares, that of the objective.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data.groups import Groups, Ints
from rankwright.data.products import moments, multiply, multiply_transposed
from rankwright.data.streams import stream_keys
from rankwright.data.validation import Floats, Matrix
from rankwright.losses.loss import Loss
from rankwright.losses.own import prepare_loss
from rankwright.losses.prepared import (
    OFFERS,
    WithConjugate,
    WithCurvatures,
    WithHessian,
    has_slow_hessian,
    shift_of,
)
from rankwright.showing import Brief
from rankwright.threads import n_threads


@dataclass(frozen=True, eq=False, repr=False)
class Share(Brief):
    """Documents of some whole queries.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_docs, n_features)
        Features.
    y : ndarray of shape (n_docs,)
        Labels.
    groups : Groups
        Row ranges of the queries.
    n_jobs : int, optional
        Threads.
    weights : ndarray of shape (n_docs,), optional
        What the documents' terms in the loss are multiplied by.
    """

    X: Matrix
    y: Floats
    groups: Groups
    n_jobs: int | None = None
    weights: Floats | None = None

    def prepare(self, loss: Loss) -> ShareLoss:
        """Return a loss on these documents."""
        return ShareLoss(self, loss)


def _canonical(X: Matrix) -> Matrix:
    """Return X with one entry for each place, by increasing columns: squares need the sums."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


@dataclass(frozen=True)
class ShareFacts:
    """What is asked of a loss on a share before anything is computed."""

    n_queries: int
    n_features: int
    is_sparse: bool
    offers: frozenset[str]  # names of OFFERS


class ShareLoss:
    """A loss on one share."""

    def __init__(self, share: Share, loss: Loss) -> None:
        self.X, self.y, self.groups, self.loss = _canonical(share.X), share.y, share.groups, loss
        self.threads, self.weights = n_threads(share.n_jobs), share.weights
        self.prepared = prepare_loss(
            loss, share.y, share.groups, share.weights, n_jobs=self.threads
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # What is prepared may hold objects of the kernels: it is prepared again.
        share = Share(self.X, self.y, self.groups, self.threads, self.weights)
        return ShareLoss, (share, self.loss)

    @property
    def is_sparse(self) -> bool:
        """Whether the features are."""
        return bool(sp.issparse(self.X))

    def largest_feature(self) -> float:
        """Return about the largest value of a feature, from a sample of them."""
        # A scale for rounding errors: its digits do not matter, a look at all of X would cost.
        some = self.X.data if self.is_sparse else self.X
        # Some thousand values, evenly spread.
        some = some[:: max(len(some) // 4096, 1)]
        return float(max(some.max(initial=0.0), -some.min(initial=0.0)))

    def facts(self) -> ShareFacts:
        """Return what there is."""
        offers = frozenset(name for name, kind in OFFERS.items() if isinstance(self.prepared, kind))
        return ShareFacts(self.groups.n_queries, int(self.X.shape[1]), self.is_sparse, offers)

    def has_slow_hessian(self) -> bool:
        """Whether the loss says so."""
        return has_slow_hessian(self.prepared)

    def sizes_and_keys(self) -> tuple[Ints, Any]:
        """Return the documents of each query, and what its id is drawn by."""
        return self.groups.sizes, stream_keys(self.groups, 0)

    def some(self, queries: Ints | None) -> SomeQueries:
        """Return the loss on some queries; None is all of them."""
        if queries is None or len(queries) == self.groups.n_queries:
            return SomeQueries(slice(None), self)
        rows = self.groups.rows_of(queries)
        offsets = np.append(0, np.cumsum(self.groups.sizes[queries]))
        # With their ids: what a loss draws by query must be drawn again.
        groups = Groups(offsets, self.groups.names[queries])
        weights = None if self.weights is None else self.weights[rows]
        part = Share(self.X[rows], self.y[rows], groups, self.threads, weights)
        return SomeQueries(rows, part.prepare(self.loss))

    def restricted(self, features: Ints) -> ShareLoss:
        """Return the same loss on the same documents, with some features only."""
        other = copy.copy(self)
        columns = self.X[:, features]
        other.X = columns if self.is_sparse else np.ascontiguousarray(columns)
        return other

    def zeros(self) -> Floats:
        """Return the scores at weights 0."""
        return np.zeros(len(self.y))

    def scores(self, w: Floats) -> Floats:
        """Return :math:`Xw`."""
        return multiply(self.X, w, self.threads)

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the loss of each query, and the gradient of their sum by scores."""
        return self.prepared.values_and_grad(scores)

    def gradient(self, slope: Floats) -> Floats:
        r"""Return :math:`X^\top` times a gradient by scores."""
        return multiply_transposed(self.X, slope, self.threads)

    def moments(self, scores: Floats) -> tuple[float, Floats, Floats]:
        r"""Return :math:`\sum_i h_i`, :math:`\sum_i h_i x_i` and :math:`\sum_i h_i x_i^2`.

        h are the loss's curvatures by scores.
        """
        assert isinstance(self.prepared, WithCurvatures)
        h = self.prepared.curvatures(scores)
        return float(h.sum()), *moments(self.X, h, self.threads)

    def hessian(self, scores: Floats) -> Floats:
        """Return the Hessian of the sum over queries by weights."""
        assert isinstance(self.prepared, WithHessian)
        return self.prepared.hessian(self.X, scores)

    def conjugate(self, scores: Floats, slope: Floats, c: float, n_queries: int) -> float:
        r"""Return :math:`L^*(c \nabla L)` or more; ``slope`` is the gradient over ``n_queries``.

        If L(s) = M(s - t), then :math:`L^*(\theta) = M^*(\theta) + \theta \cdot t`.
        """
        assert isinstance(self.prepared, WithConjugate)
        value = self.prepared.conjugate(scores, slope * n_queries, c)
        shift = shift_of(self.prepared)
        if shift is not None:
            value += n_queries * c * float((slope * shift).sum())
        return value


@dataclass(frozen=True)
class SomeQueries:
    """The loss on some queries of a share, and the rows that they have in it."""

    rows: Any
    loss: ShareLoss

    @property
    def n_queries(self) -> int:
        """How many."""
        return self.loss.groups.n_queries

    def hessian(self, scores: Floats) -> Floats:
        """Return the Hessian of the sum over them by weights, given the scores of all."""
        if self.n_queries == 0:
            return np.zeros((self.loss.X.shape[1],) * 2)
        return self.loss.hessian(scores[self.rows])
