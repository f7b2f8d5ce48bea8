"""Generated web search: like MSLR-WEB in its statistics, and out of a linear model's reach."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rankwright import BoostedRanker, LinearRanker
from rankwright.data import Dataset, Groups, make_web_like
from rankwright.data.web import _Scale
from rankwright.data.web_pages import STRAIGHT, Numbers, Pages
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


def numbers_of(n_queries: int, n_docs: int, seed: int = 3) -> Numbers:
    indptr = np.arange(0, n_queries * n_docs + 1, n_docs)
    return Numbers(Groups(indptr, np.arange(1, n_queries + 1)), seed)


def test_worth_is_that_of_the_formulas() -> None:
    pages = Pages.draw(numbers_of(30, 20), 2)
    X = pages.features()
    found = pages.curved_worth(X)
    title, anchors = (X[NAMES.index(name)] for name in ("title_boolean", "anchor_sum_tf"))
    assert 0 < pages.navigational.mean() < 1
    for i in range(600):
        f, a, h = float(pages.fit[i]), float(pages.authority[i]), float(pages.home[i])
        length, z, n = float(pages.length[i]), float(pages.spam[i]), float(anchors[i])
        if pages.navigational[i]:
            worth = 4 * h / (1 + math.exp(-2 * f)) + 0.8 * (a > 0.5) + 0.8 * n / (1 + n) - length
        else:
            worth = 2.4 + 2 * min(f, a + 0.3) + 0.4 * float(title[i]) - 2 * h
            worth -= 0.9 * min((length - 0.5) ** 2, 4)
        assert found[i] == pytest.approx(worth - 1.5 * z - float(pages.hardness[i]), rel=1e-5)


def test_intents_are_those_of_few_and_rare_words() -> None:
    one, four = (Pages.draw(numbers_of(400, 1), n) for n in (1, 4))
    assert one.navigational.mean() > 0.5 > 0.2 > four.navigational.mean()
    rarity = one.idf.mean(axis=0)
    assert rarity[one.navigational > 0].mean() > rarity[one.navigational == 0].mean() + 1


def test_judges_err_as_much_as_they_are_told() -> None:
    numbers, utility = numbers_of(200, 30), np.zeros(6000)
    scale = _Scale(1.0, 0.0, (0.0, 1.0), (0.0, 1.0), np.array([0.0]))
    seen, slips = scale.seen(numbers, utility)
    assert not seen.any()
    assert not slips.any()
    once, twice = (replace(scale, noise=noise).seen(numbers, utility) for noise in (1.0, 2.0))
    np.testing.assert_allclose(twice, 2 * np.array(once), rtol=1e-12)
    # Each query has three judges of fifty, who slip on 0 to 15 % of the documents.
    by_query = [len(set(part)) for part in np.split(once[1], 200)]
    assert max(by_query) == 3
    assert np.mean(by_query) > 2.5
    assert 30 < len(set(once[1])) <= 50
    assert 0.1 < once[1].max() < 0.15
    # Inaccuracies from 0.4 to 1, and no bias in the mean over the judges.
    judges = [once[0][once[1] == slip] for slip in set(once[1])]
    deviations = [errors.std() for errors in judges if len(errors) > 50]
    assert min(deviations) < 0.6 < 0.8 < max(deviations) < 1.2
    assert np.std([errors.mean() for errors in judges if len(errors) > 50]) > 0.15


def test_who_slips_gives_the_label_of_another_of_the_query() -> None:
    numbers = numbers_of(200, 30)
    scale = _Scale(1.0, 1.0, (0.0, 1.0), (0.0, 1.0), np.array([0.0]))
    by_query = np.repeat(np.arange(200) % 2, 30).astype(np.float64)
    labels = scale.labels(numbers, 2000.0 * by_query - 1000.0)
    np.testing.assert_array_equal(labels, by_query)  # all others are the same
    by_row = (np.arange(6000) % 2).astype(np.float64)
    changed = scale.labels(numbers, 2000.0 * by_row - 1000.0) != by_row
    assert 0.02 < changed.mean() < 0.06  # half of 7.5 %: the other half has the same label


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
