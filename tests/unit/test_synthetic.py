"""Generated data looks like a web search benchmark."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rankwright.data import make_mslr_like, make_shop
from rankwright.metrics import NDCG


def test_equal_seeds_give_equal_data() -> None:
    a, b, c = (make_mslr_like(20, 9, 30, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.y, b.y)
    np.testing.assert_array_equal(a.qid, b.qid)
    assert a.n_docs != c.n_docs or not np.array_equal(a.X, c.X)


def test_the_form_is_as_promised() -> None:
    ds = make_mslr_like(n_queries=200, n_features=17, mean_docs=40)
    assert (ds.n_queries, ds.n_features) == (200, 17)
    assert ds.X.dtype == np.float32
    assert np.isfinite(ds.X).all()
    assert np.unique(ds.qid).tolist() == list(range(1, 201))
    assert ds.doc_ids is not None
    assert len(set(ds.doc_ids.tolist())) == ds.n_docs
    assert ds.doc_ids[:2].tolist() == ["q1-d1", "q1-d2"]
    assert ds.feature_names is None
    assert 30 < ds.n_docs / ds.n_queries < 50
    assert 1 <= ds.groups.sizes.min() < ds.groups.sizes.max() <= 10 * 40


def test_labels_have_the_shares_of_mslr() -> None:
    ds = make_mslr_like(n_queries=100)
    shares = [float((ds.y == label).mean()) for label in range(5)]
    assert shares == pytest.approx([0.52, 0.32, 0.13, 0.02, 0.01], abs=1e-3)


def test_there_is_something_to_learn() -> None:
    ds = make_mslr_like(n_queries=100, n_features=16)
    rng = np.random.default_rng(0)
    chance = NDCG(k=10).mean(ds.y, rng.normal(size=ds.n_docs), ds.groups)
    varying = ds.X[:, [j for j in range(16) if j % 8 not in (3, 7)]]
    together = (varying / varying.std(axis=0)).sum(axis=1)
    assert NDCG(k=10).mean(ds.y, together, ds.groups) > chance + 0.1


def test_some_features_belong_to_the_query() -> None:
    ds = make_mslr_like(n_queries=30, n_features=8)
    assert all(len(np.unique(ds.X[rows, 7])) == 1 for rows in ds.groups)
    assert len(np.unique(ds.X[:, 7])) > 1


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 8, 1), (3, 1, 2), (2, 136, 1)])
def test_the_smallest_sizes_work(sizes: tuple[int, int, int]) -> None:
    n_queries, n_features, mean_docs = sizes
    ds = make_mslr_like(n_queries, n_features, mean_docs)
    assert (ds.n_queries, ds.n_features) == (n_queries, n_features)


@pytest.mark.parametrize("name", ["n_queries", "n_features", "mean_docs"])
@pytest.mark.parametrize("value", [0, -1])
def test_sizes_must_be_positive(name: str, value: int) -> None:
    sizes = {"n_queries": 2, "n_features": 2, "mean_docs": 2, name: value}
    message = f"{name} must be a positive integer, but is {value}."
    with pytest.raises(ValueError, match=re.escape(message)):
        make_mslr_like(**sizes)


def test_the_shop_has_what_tables_have() -> None:
    table = make_shop(n_queries=250, random_state=3)
    assert table == make_shop(n_queries=250, random_state=3)
    assert table != make_shop(n_queries=250, random_state=4)
    n_rows = len(table["query"])
    assert {len(column) for column in table.values()} == {n_rows}
    assert len(set(table["query"])) == 250
    assert len(set(table["product"])) == n_rows
    assert len(set(zip(table["query"], table["market"], strict=True))) == 250
    assert 0.15 < sum(rating is None for rating in table["rating"]) / n_rows < 0.25
    shares = [table["relevance"].count(grade) / n_rows for grade in range(4)]
    assert shares == pytest.approx([0.55, 0.25, 0.15, 0.05], abs=1e-3)
    with pytest.raises(ValueError, match="n_queries must be a positive integer, but is 0"):
        make_shop(0)
