"""Predtron for the labels of a row: which come first."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.validation import Floats, check_weights
from rankwright.metrics.metric import mean_of_queries
from rankwright.online.base import Given
from rankwright.online.parameters import parametrized
from rankwright.predtron.label_matrix import PredtronOfLabels, dense
from rankwright.predtron.rankings import PredtronOfRankings
from rankwright.predtron.rounds import Mode
from rankwright.problems.ranking import Representation
from rankwright.score import SCORE_METRIC
from rankwright.theory.links import NormName


@parametrized
class PredtronLabelRanker(PredtronOfRankings, PredtronOfLabels):
    r"""A ranker of labels: for each row, the labels that it probably has come first.

    .. math::
        \mathrm{pred}(x) = \text{labels by decreasing } (W x)_j

    Parameters
    ----------
    loss : {"ndcg", "precision@K"}, default "ndcg"
        See :class:`~rankwright.problems.Ranking`.
    representation : {"-i", "-i^1.1", "-i^2", "1/i", "dcg"} or callable, default "-i"
        f: how ranks become vectors.
    @mode predicted
    smallest_loss : float, optional
        :math:`c_L` of ``"augmented"``: ``fit`` measures it, ``partial_fit`` needs it or ``eta``.
    @norm
    @variant
    @rows

    Attributes
    ----------
    n_labels_ : int
        Labels.
    @weights

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> y = [[1, 0, 0], [0, 1, 0], [1, 1, 0]]
    >>> PredtronLabelRanker(n_epochs=10).fit(X, y).rank(X)[2, 2]  # the label nobody has
    np.int64(3)
    """

    TAGS: ClassVar[dict[str, bool]] = {"target_tags.single_output": False}

    loss: str = "ndcg"
    representation: Representation = "-i"
    mode: Mode = "predicted"
    norm: NormName = "l2"
    _: KW_ONLY
    smallest_loss: float | None = None
    fit_intercept: bool = True

    def predict(self, X: Any) -> Floats:
        """Return the scores of the labels; a larger one ranks higher."""
        return self._decision(X)

    def rank(self, X: Any) -> NDArray[np.int64]:
        """Return the rank of each label, from 1, equal scores in the order of the columns."""
        scores = np.ascontiguousarray(self._decision(X))
        # A ranking's codes are ranks from 0.
        codes = np.empty(scores.shape, dtype=np.int32)
        _kernels.predict_all(self._problem().kernel(self.n_labels_), scores, codes)
        return codes.astype(np.int64) + 1

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return mean NDCG@10 over the rows, a weighted mean with weights of the rows.

        ``qid`` is not looked at: each row is a query.
        """
        scores = self.predict(X)
        labels = np.asarray(dense(y), dtype=np.float64).reshape(len(scores), -1)
        # A row is a query whose documents are the labels.
        groups = Groups(np.arange(len(scores) + 1) * labels.shape[1])
        values = SCORE_METRIC.per_query(labels.ravel(), scores.ravel(), groups)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, "sample_weight", len(scores))
        return mean_of_queries(values, str(SCORE_METRIC), weights)

    def _columns(self, labels: NDArray[Any], given: Given) -> NDArray[Any]:
        if labels.ndim == 1:
            raise ValueError("y must be a matrix with a column for each label, but is a vector.")
        return labels

    def _encode(self, labels: NDArray[Any]) -> Floats:
        flat = self._problem().encode(labels.astype(np.float64).ravel())
        return flat.reshape(labels.shape)
