"""Predtron for documents of queries: subset ranking."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from rankwright.data.validation import Floats
from rankwright.online.base import Given, check_given
from rankwright.online.parameters import parametrized
from rankwright.online.rankers import RankerByRounds
from rankwright.predtron.rankings import PredtronOfRankings
from rankwright.predtron.rounds import Mode, PredtronData
from rankwright.problems.ranking import Representation
from rankwright.scaling import Kind
from rankwright.scoring.sums import check_weights_of
from rankwright.theory.links import NormName


@parametrized
class PredtronRanker(RankerByRounds, PredtronOfRankings):
    r"""A ranker of documents that moves scores to the ranks they should have.

    .. math::
        w \leftarrow w - \eta\, s\, X_q^\top
        \frac{f(\tilde\sigma) - f(\sigma_y)}{Z_f}
        \quad\text{when } L(\text{order of } X_q w,\; y_q) > 0

    where :math:`\sigma_y` is the correct ranking that agrees best with the scores, and
    :math:`\tilde\sigma, s` are chosen by ``mode`` as in :class:`~rankwright.predtron.Predtron`.
    In a round documents with equal scores are ranked in the worst order. The loss is one of whole
    rankings, without terms of documents: a weight of document i multiplies its entry of the
    direction, one of the query the loss and all entries.

    Parameters
    ----------
    loss : {"ndcg", "precision@K"}, default "ndcg"
        See :class:`~rankwright.problems.Ranking`.
    representation : {"-i", "-i^1.1", "-i^2", "1/i", "dcg"} or callable, default "-i^1.1"
        f: how ranks become vectors. The faster it falls at some rank, the smaller a difference of
        scores is a margin there.
    @mode predicted
    norm : {"l2", "l1", "group", "trace"}, default "l2"
        The norm of margins; with one weight for each feature ``"group"`` is ``"l1"``, and
        ``"trace"`` is ``"l2"``.
    @variant
    eta : float, "auto" or "theory", optional
        Step of ``"augmented"``. ``"auto"``, the default of ``fit``, mends the smallest mistake
        on an average document (:mod:`rankwright.predtron.steps`); ``"theory"``, that of
        ``partial_fit``, is :math:`c_L/(4 R^2)` as in Theorem 1, which is much smaller.
    radius, smallest_loss : float, optional
        Largest operator norm of a query's matrix (largest column with ``"l1"``), and smallest loss
        above 0, for ``"theory"``; ``fit`` measures what is None, ``partial_fit`` needs both, or a
        number for ``eta``.
    @kernel documents
    @rounds queries

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights; absent with a kernel.
    n_rounds_, n_updates_ : int
        Queries so far, and those that led to an update.
    cumulative_loss_ : float
        Sum of the losses of the queries, each before its update.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> train, test = make_mslr_like(n_queries=100, mean_docs=30).split((0.7, 0.3))
    >>> ranker = PredtronRanker().fit(train.X, train.y, train.qid)
    >>> ranker.score(test.X, test.y, test.qid) > 0.7
    True
    """

    loss: str = "ndcg"
    representation: Representation = "-i^1.1"
    mode: Mode = "predicted"
    norm: NormName = "l2"
    _: KW_ONLY
    takes_weights: ClassVar[bool] = True
    smallest_loss: float | None = None

    def predict(self, X: Any) -> Floats:
        """Return scores; a larger one ranks higher."""
        return self._decision(X)[:, 0]

    def _kind_of_scale(self) -> Kind:
        return "spread"

    def _check_data(self, given: Given) -> PredtronData:
        data = check_given(self, given)
        gains = np.ascontiguousarray(self._problem().encode(data.y)[:, None])
        weights = data.weights, data.weight_of_queries
        return PredtronData(data.X, gains, data.groups, data.order, *weights)

    def _publish(self, weights: Floats) -> None:
        self.coef_ = self._out_of_scale(weights[:, 0])

    def _n_fitted_scores(self) -> int:
        self._check_problem()
        return 1

    def _check_published(self, n_scores: int) -> None:
        check_weights_of(vars(self))
