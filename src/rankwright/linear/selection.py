"""The penalty weight, chosen by query folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.validation import Floats
from rankwright.linear.linear_ranker import LinearRanker


@dataclass(frozen=True)
class AlphaChoice:
    """Penalty weights and their quality.

    Attributes
    ----------
    alpha : float
        The best.
    alphas : ndarray of shape (n_alphas,)
        All that were tried, largest first.
    ndcg : ndarray of shape (n_alphas,)
        Mean NDCG@10 on the left-out queries.
    """

    alpha: float
    alphas: Floats
    ndcg: Floats


def choose_alpha(
    ranker: LinearRanker,
    dataset: Dataset,
    *,
    alphas: Sequence[float] | None = None,
    n_folds: int = 5,
    random_state: int = 0,
) -> AlphaChoice:
    """Choose the penalty weight whose rankers do best on left-out queries.

    Each fold walks the path of weights from the largest down, with warm starts.

    Parameters
    ----------
    ranker : LinearRanker
        Everything but ``alpha``; it is not changed.
    dataset : Dataset
        Training data.
    alphas : sequence of float, optional
        Weights to try; by default 1, 0.3, 0.1, ..., 1e-5.
    n_folds : int, default 5
        Folds, by query; fewer if there are fewer queries.
    random_state : int, default 0
        Seed of the folds.
    """
    tried = np.sort(np.asarray(10 ** np.arange(0, -5.5, -0.5) if alphas is None else alphas))[::-1]
    n_folds = min(n_folds, dataset.n_queries)
    totals = np.zeros(len(tried))
    for train, valid in dataset.folds(n_folds, random_state):
        path = ranker.path(train.X, train.y, train.qid, alphas=tried.tolist(), valid=valid)
        totals += np.nan_to_num([point.quality for point in path]) / n_folds
    return AlphaChoice(float(tried[int(np.argmax(totals))]), tried, totals)
