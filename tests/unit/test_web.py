"""Generated web search: like MSLR-WEB in its statistics, and out of a linear model's reach."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from rankwright import BoostedRanker, LinearRanker
from rankwright.data import Dataset, make_web_like
from rankwright.data.web_pages import STRAIGHT
from rankwright.data.web_text import MEAN_LENGTHS, NAMES, STREAMS, text_statistics
from rankwright.metrics import NDCG
from tests.reference import web as reference


def column(ds: Dataset, name: str) -> Any:
    return ds.X[:, NAMES.index(name)]


def test_more_queries_keep_the_first_ones() -> None:
    few, many = (make_web_like(n, mean_docs=20, random_state=3) for n in (15, 60))
    np.testing.assert_array_equal(few.X, many.X[: few.n_docs])
    np.testing.assert_array_equal(few.y, many.y[: few.n_docs])
    np.testing.assert_array_equal(few.qid, many.qid[: few.n_docs])
    other = make_web_like(15, mean_docs=20, random_state=4)
    assert other.n_docs != few.n_docs or not np.array_equal(other.X, few.X)


def test_noise_and_nonlinearity_change_labels_alone() -> None:
    usual, clean, straight = (
        make_web_like(30, mean_docs=20, nonlinearity=nonlinearity, noise=noise)
        for nonlinearity, noise in ((1.0, 1.0), (1.0, 0.0), (0.0, 1.0))
    )
    np.testing.assert_array_equal(usual.X, clean.X)
    np.testing.assert_array_equal(usual.X, straight.X)
    assert (usual.y != clean.y).mean() > 0.2
    assert (usual.y != straight.y).mean() > 0.2


def test_the_form_is_that_of_mslr() -> None:
    ds = make_web_like(400)
    assert (ds.n_queries, ds.n_features, ds.X.dtype) == (400, 136, np.float32)
    assert np.isfinite(ds.X).all()
    assert ds.feature_names == list(NAMES)
    assert len(set(NAMES)) == 136
    assert ds.doc_ids is not None
    assert ds.doc_ids[:2].tolist() == ["q1-d1", "q1-d2"]
    sizes = ds.groups.sizes
    assert 105 < sizes.mean() < 135
    assert sizes.min() >= 1
    assert sizes.max() <= 1250
    assert np.median(sizes) < sizes.mean()
    shares = [float((ds.y == label).mean()) for label in range(5)]
    # Queries differ in hardness: their labels are no independent draws.
    assert shares == pytest.approx([0.51, 0.32, 0.13, 0.02, 0.02], abs=0.03)


def test_words_are_counted_by_the_definitions() -> None:
    rng = np.random.default_rng(0)
    for n_terms in (1, 3):
        tf = rng.poisson(1.0, (5, n_terms, 6)).astype(np.float32)
        length = tf.sum(axis=1) + rng.integers(0, 4, (5, 6)).astype(np.float32)
        idf = rng.uniform(1, 8, (5, n_terms, 6)).astype(np.float32)
        found = text_statistics(tf, length, idf).reshape(25, 5, 6)
        for s, d in np.ndindex(5, 6):
            expected = reference.statistics(
                tf[s, :, d].tolist(), float(length[s, d]), idf[s, :, d].tolist(), MEAN_LENGTHS[s, 0]
            )
            assert found[:, s, d].tolist() == pytest.approx(expected, rel=2e-5, abs=1e-6)


def test_the_whole_document_is_the_sum_of_its_streams() -> None:
    ds = make_web_like(20, mean_docs=20)
    for name in ("sum_tf", "length"):
        parts = [column(ds, f"{stream}_{name}") for stream in STREAMS]
        np.testing.assert_array_equal(sum(parts[:4]), parts[4])


def test_features_of_one_kind_go_together() -> None:
    ds = make_web_like(150, mean_docs=40)
    c = np.corrcoef([column(ds, n) for n in ("body_bm25", "whole_bm25", "title_bm25", "pagerank")])
    assert c[0, 1] > 0.9  # the body is most of the document
    assert 0.3 < c[0, 2] < 0.9
    assert abs(c[0, 3]) < 0.2  # words know nothing of links
    assert np.corrcoef(column(ds, "pagerank"), column(ds, "siterank"))[0, 1] > 0.4
    constant = [np.ptp(ds.X[rows, NAMES.index("body_idf")]) for rows in ds.groups]
    assert max(constant) == 0


def test_without_noise_and_curves_labels_follow_a_weighted_sum() -> None:
    ds = make_web_like(60, mean_docs=30, nonlinearity=0.0, noise=0.0)
    worth = sum(weight * column(ds, name).astype(float) for name, weight in STRAIGHT.items())
    order = np.argsort(worth, kind="stable")
    assert (np.diff(ds.y[order]) >= 0).all()


def gain_of_trees(nonlinearity: float) -> float:
    data = make_web_like(260, mean_docs=40, nonlinearity=nonlinearity, noise=0.0, random_state=1)
    train, test = data.split((0.6, 0.4), random_state=0)
    size: dict[str, Any] = {
        "n_estimators": 40,
        "learning_rate": 0.2,
        "num_leaves": 15,
        "min_child_samples": 50,
    }
    trees = BoostedRanker("xendcg", n_jobs=1, **size)
    linear = LinearRanker("xendcg", alpha=0.01, standardize=True, n_jobs=1)
    values = [
        NDCG(k=10).mean(test.y, model.fit_dataset(train).predict(test.X), test.groups)
        for model in (trees, linear)
    ]
    return float(values[0] - values[1])


def test_trees_win_where_relevance_is_not_linear() -> None:
    assert gain_of_trees(1.0) > 0.02  # of 0.032 to 0.044 in four draws of this size


def test_linear_rankers_win_where_it_is() -> None:
    assert gain_of_trees(0.0) < -0.01


def test_the_smallest_sizes_work() -> None:
    ds = make_web_like(1, mean_docs=1)
    assert (ds.n_queries, ds.n_features) == (1, 136)
    assert make_web_like(3, mean_docs=1).n_queries == 3


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("n_queries", 0, "a positive integer"),
        ("mean_docs", -1, "a positive integer"),
        ("nonlinearity", 1.5, "a number from 0 to 1"),
        ("nonlinearity", float("nan"), "a number from 0 to 1"),
        ("noise", -0.1, "a number of at least 0"),
        ("noise", float("inf"), "a number of at least 0"),
    ],
)
def test_parameters_are_checked(name: str, value: Any, rule: str) -> None:
    message = f"{name} must be {rule}, but is {value!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        make_web_like(**{"n_queries": 2, name: value})
