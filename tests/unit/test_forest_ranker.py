"""Rankers that are forests: scores of some trees, of the best documents, importances."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data import Dataset, make_mslr_like
from rankwright.trees import BoostedRanker


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_mslr_like(n_queries=50, n_features=8, mean_docs=20, random_state=1)


def test_scores_are_lightgbms(data: Dataset) -> None:
    X = np.where(np.random.default_rng(0).random(data.X.shape) < 0.1, np.nan, data.X)
    ranker = BoostedRanker(n_estimators=30).fit(X, data.y, data.qid)
    booster = lightgbm.Booster(model_str=ranker.model_text_)
    for matrix in (X.astype(np.float32), X.astype(np.float64)):
        scores = booster.predict(matrix, raw_score=True)
        np.testing.assert_array_equal(ranker.predict(matrix), scores)
        np.testing.assert_array_equal(
            ranker.predict(sp.csr_array(np.nan_to_num(matrix))),
            booster.predict(np.nan_to_num(matrix), raw_score=True),
        )
    for n in (1, 7, 30):
        expected = booster.predict(X, raw_score=True, num_iteration=n)
        np.testing.assert_array_equal(ranker.predict(X, n_trees=n), expected)
    for kind in ("gain", "split"):
        np.testing.assert_array_equal(ranker.importance(kind), booster.feature_importance(kind))


def test_the_best_documents_alone(data: Dataset) -> None:
    ranker = BoostedRanker(n_estimators=30).fit(data.X, data.y, data.qid)
    scores = ranker.predict(data.X)
    best = ranker.predict(data.X, top_k=5, qid=data.qid)
    rows = rw.top_k(scores, data.qid, 5)
    assert np.flatnonzero(np.isfinite(best)).tolist() == sorted(rows.tolist())
    np.testing.assert_array_equal(best[rows], scores[rows])
    assert (best[np.isinf(best)] == -np.inf).all()
    shuffled = np.random.default_rng(1).permutation(data.n_docs)
    again = ranker.predict(data.X[shuffled], top_k=5, qid=data.qid[shuffled])
    expected = np.full(data.n_docs, -np.inf)
    rows = rw.top_k(scores[shuffled], data.qid[shuffled], 5)
    expected[rows] = scores[shuffled][rows]
    np.testing.assert_array_equal(again, expected)
    first = ranker.predict(data.X, top_k=3, n_trees=4)
    assert np.isfinite(first).sum() == 3
    np.testing.assert_array_equal(ranker.predict(data.X, top_k=1 << 70), scores)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_k": 0}, "top_k must be"),
        ({"top_k": 2.5}, "top_k must be"),
        ({"qid": [1, 1]}, "qid is for top_k"),
        ({"top_k": 1, "qid": [1]}, "qid"),
        ({"n_trees": 99}, "n_trees must be from 0 to 3"),
        ({"n_trees": -1, "top_k": 1}, "n_trees must be from 0 to 3"),
    ],
)
def test_bad_requests(options: dict[str, Any], message: str, data: Dataset) -> None:
    ranker = BoostedRanker(n_estimators=3).fit(data.X, data.y, data.qid)
    with pytest.raises((ValueError, TypeError), match=message):
        ranker.predict(data.X[:2], **options)


def test_another_text_is_another_model(data: Dataset) -> None:
    one, other = (
        BoostedRanker(n_estimators=5, num_leaves=n).fit(data.X, data.y, data.qid) for n in (4, 8)
    )
    scores = other.predict(data.X)
    assert (one.predict(data.X) != scores).any()
    one.model_text_ = other.model_text_
    np.testing.assert_array_equal(one.predict(data.X), scores)
    np.testing.assert_array_equal(rw.Scorer.from_model(one).predict(data.X), scores)
