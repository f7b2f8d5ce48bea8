"""Rankers that every other one should beat."""

from __future__ import annotations

__all__ = ["BestFeature", "RandomRanker"]

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from rankwright.data.missing import Missing
from rankwright.data.validation import Floats
from rankwright.estimator import Ranker, check_fitted_array
from rankwright.inputs import check_features, check_ranking_data
from rankwright.metrics import parse
from rankwright.score import mean_weights
from rankwright.scoring.topics import hashed_scores


class BestFeature(Ranker):
    """The single feature, rising or falling, that ranks the training queries best.

    Parameters
    ----------
    metric : str, default "ndcg@10"
        What is best; see :func:`rankwright.metrics.parse`.
    missing : {"error", "median", "zero"}, default "error"
        What stands for a missing value (NaN), as for :class:`rankwright.linear.LinearRanker`.
    n_jobs : int, optional
        Threads.

    Attributes
    ----------
    feature_ : int
        Column of the feature.
    coef_ : ndarray of shape (n_features,)
        1 or -1 for that feature, 0 for all others.
    train_metric_ : float
        Mean of the metric on the training queries.

    Examples
    --------
    >>> ranker = BestFeature().fit([[1.0, 5.0], [2.0, 4.0], [0.0, 3.0]], [0, 1, 2])
    >>> ranker.feature_, ranker.coef_
    (1, array([ 0., -1.]))
    """

    def __init__(
        self,
        metric: str = "ndcg@10",
        *,
        missing: Missing = "error",
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.missing = missing
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
    ) -> BestFeature:
        """Find the feature.

        Parameters
        ----------
        X, y, qid
            Features, labels and query ids of documents, as for
            :meth:`rankwright.linear.LinearRanker.fit`.
        sample_weight, query_weight : array-like of shape (n_docs,), optional
            Weights of documents and queries: a query counts by the mean weight of its documents
            times its own. One number per row; that of a query is the same in all its rows.
        """
        self.check_params()
        data = check_ranking_data(self, X, y, qid, sample_weight, query_weight)
        counts = np.ones(data.groups.n_queries)
        if data.weights is not None:
            counts = mean_weights(data.weights, data.groups)
        metric = parse(self.metric)
        columns = sp.csc_array(data.X) if sp.issparse(data.X) else data.X
        better = 1.0 if metric.higher_is_better else -1.0
        best, self.feature_, sign = -np.inf, 0, 1.0
        for j in range(columns.shape[1]):
            column = columns[:, [j]].toarray()[:, 0] if sp.issparse(columns) else columns[:, j]
            scores = np.ascontiguousarray(column, dtype=np.float64)
            for direction in (1.0, -1.0):
                values = metric.per_query(
                    data.y, direction * scores, data.groups, n_jobs=self.n_jobs
                )
                value = better * float(np.nansum(counts * values))
                if value > best:  # of equal ones, the first
                    best, self.feature_, sign = value, j, direction
        self.coef_ = np.zeros(columns.shape[1])
        self.coef_[self.feature_] = sign
        defined = float(counts[~np.isnan(values)].sum())
        self.train_metric_ = better * best / defined if defined else float("nan")
        return self

    def check_params(self) -> None:
        """Raise for parameters that cannot be, and unless there is such a metric."""
        super().check_params()
        parse(self.metric)

    def check_state(self) -> None:
        """Raise unless there is a weight for each feature."""
        super().check_state()
        check_fitted_array(self, "coef_", (self.n_features_in_,))


class RandomRanker(Ranker):
    """Scores that mean nothing: a hash of the document's features and a seed.

    A document has the same score wherever it stands, and equal documents have equal scores.

    Parameters
    ----------
    random_state : int, default 0
        Seed.

    Examples
    --------
    >>> ranker = RandomRanker().fit([[1.0], [2.0]], [0, 1])
    >>> bool(ranker.predict([[7.0]])[0] == ranker.predict([[3.0], [7.0]])[1])
    True
    """

    TAGS: ClassVar[dict[str, bool]] = {"input_tags.allow_nan": True}

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
    ) -> RandomRanker:
        """Learn nothing but the number of features; weights are checked, and change nothing."""
        self.check_params()
        check_ranking_data(self, X, y, qid, sample_weight, query_weight, allow_nan=True)
        return self

    def predict(self, X: Any) -> Floats:
        """Return scores between 0 and 1."""
        return hashed_scores(check_features(self, X, allow_nan=True), self.random_state)
