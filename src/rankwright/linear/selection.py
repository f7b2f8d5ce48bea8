"""The penalty weight, chosen by query folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.validation import Floats
from rankwright.linear.base import LinearModel
from rankwright.metrics import parse
from rankwright.metrics.parsing import MetricLike
from rankwright.score import SCORE_METRIC
from rankwright.showing import Brief


@dataclass(frozen=True, repr=False)
class AlphaChoice(Brief):
    """Penalty weights and their quality.

    Attributes
    ----------
    alpha : float
        The best.
    alphas : ndarray of shape (n_alphas,)
        All that were tried, largest first.
    quality : ndarray of shape (n_alphas,)
        Mean of the metric on the left-out queries.
    """

    alpha: float
    alphas: Floats
    quality: Floats

    @property
    def ndcg(self) -> Floats:
        """The quality, by the name of the default metric."""
        return self.quality


def usual_tries() -> Floats:
    """Return the weights that are tried if none are given, the largest first."""
    # Half a decade apart: warm starts make the steps cheap, and smaller ones hardly differ.
    return np.asarray(10 ** np.arange(0, -5.5, -0.5))


def choose_alpha(
    ranker: LinearModel,
    dataset: Dataset,
    *,
    alphas: Sequence[float] | None = None,
    n_folds: int = 5,
    random_state: int = 0,
    metric: MetricLike = SCORE_METRIC,
) -> AlphaChoice:
    """Choose the penalty weight whose rankers do best on left-out queries.

    Each fold walks the path of weights from the largest down, with warm starts. Of weights that do
    equally well, the largest is chosen.

    Parameters
    ----------
    ranker : LinearRanker or DominationRank
        Everything but ``alpha``; it is not changed.
    dataset : Dataset
        Training data.
    alphas : sequence of float, optional
        Weights to try; by default 1, 0.3, 0.1, ..., 1e-5.
    n_folds : int, default 5
        Folds, by query; fewer if there are fewer queries.
    random_state : int, default 0
        Seed of the folds.
    metric : str, Metric or function, default NDCG(k=10)
        What to do best by; the smallest mean wins if lower is better.
    """
    tried = usual_tries() if alphas is None else np.sort(np.asarray(alphas))[::-1]
    # Largest first, as paths are walked: argmax then prefers the larger of equals.
    n_folds = min(n_folds, dataset.n_queries)
    totals = np.zeros(len(tried))
    for train, valid in dataset.folds(n_folds, random_state):
        path = ranker.path(
            train.X, train.y, train.qid, alphas=tried.tolist(), valid=valid, metric=metric
        )
        # NaN is a fold without a query that counts: whatever the weight, so it takes no side.
        totals += np.nan_to_num([point.quality for point in path]) / n_folds
    best = np.argmax(totals) if parse(metric).higher_is_better else np.argmin(totals)
    return AlphaChoice(float(tried[best]), tried, totals)
