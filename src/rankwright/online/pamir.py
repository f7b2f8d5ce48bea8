"""PAMIR: a passive-aggressive ranker on sampled triplets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankwright import _kernels
from rankwright.data.groups import Ints
from rankwright.data.hashing import Keys, combine
from rankwright.data.missing import Missing
from rankwright.data.products import native_rows
from rankwright.data.validation import Floats
from rankwright.inputs import RankingData
from rankwright.online.base import Rounds
from rankwright.online.means import Variant
from rankwright.online.rankers import OnlineLinearRanker

# An epoch in which each document is in about twenty pairs: as winner or as loser.
_TRIPLETS_PER_DOCUMENT = 10


class PAMIR(OnlineLinearRanker):
    r"""Learns from triplets of a query, a document of it, and one that this document dominates.

    .. math::
        l = \max\bigl(0, 1 - w \cdot (x^+ - x^-)\bigr), \qquad
        w \leftarrow w + \min\Bigl(C, \frac{l}{\|x^+ - x^-\|^2}\Bigr) (x^+ - x^-)

    Each round draws a query among those that have documents of different labels, a document above
    the lowest label, and one of lower label, each uniformly. With weights, the hinge is multiplied
    by that of the query times that of :math:`x^+`, and C with it. The draws depend on the seed, the
    round, and the ids of the queries; not on the order of the queries.

    Parameters
    ----------
    C : float, default 1.0
        Largest step; a small one learns slowly and forgets noise.
    n_triplets : int, optional
        Triplets of one pass, that is, of one epoch of ``fit`` or one call of ``partial_fit``; ten
        for each document by default.
    variant : {"last", "averaged", "voted"}, optional
        Which weights predict, as for :class:`SLAMPerceptron`: averaged in ``fit`` by default.
    n_epochs : int, default 1
        Passes in ``fit``.
    random_state : int, default 0
        Seed of the triplets.
    standardize : bool or array-like of shape (n_features,), optional
        As for :class:`SLAMPerceptron`: on in ``fit`` by default.
    missing : {"error", "median", "zero"}, default "error"
        As for :class:`SLAMPerceptron`: what stands for missing values.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights that predict.
    n_rounds_, n_updates_ : int
        Triplets so far, and those with an update.
    cumulative_loss_ : float
        Sum of the hinges :math:`l`, each before its update.

    References
    ----------
    .. [1] Grangier & Bengio, "A discriminative kernel-based approach to rank images from text
       queries", TPAMI 2008.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> train, test = make_mslr_like(n_queries=100, mean_docs=30).split((0.7, 0.3))
    >>> ranker = PAMIR(C=0.001).fit(train.X, train.y, train.qid)
    >>> ranker.score(test.X, test.y, test.qid) > 0.8
    True
    """

    takes_weights = True
    shuffle = False  # triplets are drawn at random

    def __init__(
        self,
        C: float = 1.0,
        *,
        n_triplets: int | None = None,
        variant: Variant | None = None,
        n_epochs: int = 1,
        random_state: int = 0,
        standardize: bool | ArrayLike | None = None,
        missing: Missing = "error",
    ) -> None:
        self.C = C
        self.n_triplets = n_triplets
        self.variant = variant
        self.n_epochs = n_epochs
        self.random_state = random_state
        self.standardize = standardize
        self.missing = missing

    @property
    def cut_free(self) -> bool:
        """False: triplets are drawn from the queries of a call."""
        return False

    def _n_rounds(self, data: RankingData) -> int:
        return self.n_triplets or _TRIPLETS_PER_DOCUMENT * len(data.y)

    def _prepare(self, data: RankingData) -> _TripletTask:
        layers = _kernels.Layers(data.y, data.groups.indptr, 1)
        queries = np.flatnonzero(np.diff(layers.first_layer) > 1)
        keys = data.groups.keys[queries]
        # By key, a function of the id: what is drawn does not depend on the order of the queries.
        by_key = np.argsort(keys, kind="stable")
        seed = int(self.random_state or 0)
        weights = np.empty(0) if data.weights is None else data.weights
        return _TripletTask(data, layers, queries[by_key], combine(seed, keys[by_key]), weights)

    def _learn(self, task: _TripletTask, order: Ints, comparator: Floats | None) -> Rounds:
        losses = np.zeros(len(order))
        if len(task.queries) == 0:  # nothing to compare
            return Rounds(losses, 0)
        seed = int(self.random_state or 0) % 2**64
        rows = native_rows(task.data.X)
        with self._iterate(len(order)) as iterate:
            n_updates = _kernels.pamir(
                rows,
                task.layers,
                task.queries,
                task.keys,
                seed,
                self.C,
                task.weights,
                iterate,
                losses,
            )
        return Rounds(losses, n_updates)


@dataclass(frozen=True)
class _TripletTask:
    data: RankingData
    layers: _kernels.Layers
    queries: Ints  # with documents of different labels, by key
    keys: Keys
    weights: Floats  # of each row, or none
