"""Predtron for documents of queries: subset ranking."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.validation import Floats
from rankwright.estimator import Ranker, check_fitted_array, check_ranking_data
from rankwright.exceptions import DataError
from rankwright.online.dual import KernelLike
from rankwright.online.linear import Variant
from rankwright.online.predtron_learner import Mode, PredtronData, PredtronLearner
from rankwright.problems.native import Native
from rankwright.problems.ranking import Ranking, Representation
from rankwright.theory.links import NormName


class PredtronRanker(PredtronLearner, Ranker):
    r"""A ranker of documents that moves scores to the ranks they should have.

    .. math::
        w \leftarrow w - \eta\, s\, X_q^\top
        \frac{f(\tilde\sigma) - f(\sigma_y)}{Z_f}
        \quad\text{when } L(\text{order of } X_q w,\; y_q) > 0

    where :math:`\sigma_y` is the correct ranking that agrees best with the scores, and
    :math:`\tilde\sigma, s` are chosen by ``mode`` as in :class:`~rankwright.online.Predtron`.
    In a round documents with equal scores are ranked in the worst order.

    Parameters
    ----------
    loss : {"ndcg", "precision@K"}, default "ndcg"
        See :class:`~rankwright.problems.Ranking`.
    representation : {"-i", "-i^1.1", "-i^2", "1/i", "dcg"} or callable, default "-i^1.1"
        f: how ranks become vectors. The faster it falls at some rank, the smaller a difference of
        scores is a margin there.
    mode : {"augmented", "predicted", "loss_driven"}, default "predicted"
        The update.
    norm : {"l2", "l1", "group", "trace"}, default "l2"
        The norm of margins; with one weight for each feature ``"group"`` is ``"l1"``, and
        ``"trace"`` is ``"l2"``.
    variant : {"last", "averaged", "voted"}, default "last"
        Which weights predict.
    eta, radius, smallest_loss : float, optional
        Step, largest operator norm of a query's matrix (largest column with ``"l1"``), and smallest
        loss above 0, for ``"augmented"``; ``fit`` measures what is None, ``partial_fit`` needs
        ``eta`` or the other two.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, optional
        Kernel form.
    gamma, degree, coef0
        Of the kernel.
    n_epochs : int, default 1
        Passes over the data in ``fit``.
    shuffle : bool, default False
        Take the queries in a random order, another in each pass.
    random_state : int, optional
        Seed of that order.

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
    >>> scale = train.X.std(axis=0)
    >>> ranker = PredtronRanker(variant="averaged", n_epochs=5)
    >>> ranker = ranker.fit(train.X / scale, train.y, train.qid)
    >>> ranker.score(test.X / scale, test.y, test.qid) > 0.7
    True
    """

    def __init__(
        self,
        loss: str = "ndcg",
        representation: Representation = "-i^1.1",
        mode: Mode = "predicted",
        norm: NormName = "l2",
        *,
        variant: Variant = "last",
        eta: float | None = None,
        radius: float | None = None,
        smallest_loss: float | None = None,
        kernel: KernelLike | None = None,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        n_epochs: int = 1,
        shuffle: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.loss = loss
        self.representation = representation
        self.mode = mode
        self.norm = norm
        self.variant = variant
        self.eta = eta
        self.radius = radius
        self.smallest_loss = smallest_loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def predict(self, X: Any) -> Floats:
        """Return scores; a larger one ranks higher."""
        return self._decision(X)[:, 0]

    def _problem(self) -> Native:
        return Ranking(self.loss, self.representation)

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        self._problem()
        super().check_params()

    def _check_data(self, X: Any, y: ArrayLike, qid: ArrayLike | None, first: bool) -> PredtronData:
        data = check_ranking_data(self, X, y, qid, reset=first)
        gains = self._problem().encode(data.y)[:, None]
        return PredtronData(data.X, np.ascontiguousarray(gains), data.groups, data.order)

    def _show(self, W: Floats) -> None:
        self.coef_ = W[:, 0]

    def _n_fitted_scores(self) -> int:
        try:
            self._problem()
        except (TypeError, ValueError) as error:
            raise DataError(str(error)) from None
        return 1

    def _check_shown(self, n_scores: int) -> None:
        check_fitted_array(self, "coef_", (self.n_features_in_,))
