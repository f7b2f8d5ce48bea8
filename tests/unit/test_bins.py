"""Bins from a sample of documents, drawn by the ids of their queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data import Dataset, make_mslr_like
from rankwright.trees import BoostedRanker
from rankwright.trees.bins import sample_of_parts, sample_rows

FEW: dict[str, Any] = {"n_estimators": 4, "num_leaves": 6, "min_child_samples": 5, "n_jobs": 1}
SMALL = {"bin_construct_sample_cnt": 100}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_mslr_like(n_queries=40, n_features=6, mean_docs=12, random_state=3)


def in_parts(data: Dataset, queries: list[Any], folder: Path) -> Any:
    for i, own in enumerate(queries):
        rw.write(data.select(own), folder / f"{i}.parquet")
    return rw.read_parts(folder)


def test_the_sample_does_not_hang_on_the_order_of_the_queries(data: Dataset) -> None:
    texts = set()
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(data.n_queries)
        ranker = BoostedRanker(**FEW, lightgbm_params=SMALL).fit_dataset(data.select(order))
        texts.add(ranker.model_text_)
    assert len(texts) == 1
    assert BoostedRanker(**FEW).fit_dataset(data).model_text_ not in texts


def test_a_sample_of_all_documents_is_none(data: Dataset) -> None:
    """Bins of few documents are LightGBM's own."""
    enough = {"bin_construct_sample_cnt": data.n_docs}
    one, two = (BoostedRanker(**FEW, lightgbm_params=more) for more in (enough, None))
    assert one.fit_dataset(data).model_text_ == two.fit_dataset(data).model_text_


def test_every_document_has_the_same_chance(data: Dataset) -> None:
    counts = np.zeros(data.n_docs)
    for seed in range(300):
        rows = sample_rows(data.groups, 120, seed)
        assert len(np.unique(rows)) == 120
        counts[rows] += 1
    share = 120 / data.n_docs
    expected = 300 * share
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected * (1 - share))
    assert abs(np.corrcoef(counts, np.arange(data.n_docs))[0, 1]) < 0.2


def test_parts_have_the_sample_of_all(data: Dataset, tmp_path: Path) -> None:
    queries = np.random.default_rng(0).permutation(data.n_queries)
    parts = in_parts(data, [queries[:5], queries[5:6], queries[6:]], tmp_path)
    for size in (1, 100, data.n_docs, 10 * data.n_docs):
        expected = data.X[sample_rows(data.groups, min(size, data.n_docs), 7)]
        np.testing.assert_array_equal(sample_of_parts(parts, size, 7), expected)


def test_sparse_features_too(data: Dataset) -> None:
    X = np.where(data.X > 1, data.X, 0)
    dense = BoostedRanker(**FEW, lightgbm_params=SMALL).fit(X, data.y, data.qid)
    sparse = BoostedRanker(**FEW, lightgbm_params=SMALL).fit(sp.csr_array(X), data.y, data.qid)
    assert dense.model_text_ == sparse.model_text_
