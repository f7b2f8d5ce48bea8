"""Rankers that every other one should beat."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankwright as rw
from rankwright.baselines import BestFeature, RandomRanker
from rankwright.metrics import NDCG


@parametrize_with_checks([BestFeature(), RandomRanker()])
def test_scikit_learn_agrees(estimator: Any, check: Callable[[Any], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.fixture
def data() -> rw.Dataset:
    return rw.data.make_mslr_like(n_queries=30, n_features=12, mean_docs=15)


def test_the_best_feature_is_the_best(data: rw.Dataset) -> None:
    ranker = BestFeature().fit(data.X, data.y, data.qid)
    metric = NDCG(k=10)
    means = [
        [metric.mean(data.y, sign * data.X[:, j], data.groups) for sign in (1, -1)]
        for j in range(data.n_features)
    ]
    j, sign = np.unravel_index(np.argmax(means), (data.n_features, 2))
    assert ranker.feature_ == j
    assert ranker.coef_.tolist() == [(1, -1)[sign] * (i == j) for i in range(12)]
    assert ranker.train_metric_ == pytest.approx(np.max(means))
    assert ranker.score(data.X, data.y, data.qid) == pytest.approx(np.max(means))
    sparse = BestFeature().fit(sp.csr_array(data.X), data.y, data.qid)
    np.testing.assert_array_equal(sparse.coef_, ranker.coef_)


def test_a_metric_where_lower_is_better(data: rw.Dataset) -> None:
    ranker = BestFeature("pairwise_error").fit(data.X, data.y, data.qid)
    best = BestFeature().fit(data.X, data.y, data.qid)
    error = rw.metrics.parse("pairwise_error")
    ours = error.mean(data.y, ranker.predict(data.X), data.groups)
    assert ours == pytest.approx(ranker.train_metric_)
    assert ours <= error.mean(data.y, best.predict(data.X), data.groups)


def test_random_scores_follow_the_document(data: rw.Dataset) -> None:
    ranker = RandomRanker(3).fit(data.X, data.y, data.qid)
    scores = ranker.predict(data.X)
    order = np.random.default_rng(0).permutation(data.n_docs)
    np.testing.assert_array_equal(ranker.predict(data.X[order]), scores[order])
    np.testing.assert_array_equal(ranker.predict(sp.csr_array(data.X)), scores)
    assert (scores >= 0).all()
    assert (scores < 1).all()
    assert abs(scores.mean() - 0.5) < 0.05
    assert (RandomRanker(4).fit(data.X, data.y).predict(data.X) != scores).any()


@pytest.mark.parametrize("ranker", [BestFeature(), RandomRanker(1)])
def test_they_can_be_saved(ranker: Any, data: rw.Dataset, tmp_path: Path) -> None:
    ranker.fit(data.X, data.y, data.qid)
    rw.save(ranker, tmp_path / "model.rw")
    again = rw.load(tmp_path / "model.rw")
    np.testing.assert_array_equal(again.predict(data.X), ranker.predict(data.X))
