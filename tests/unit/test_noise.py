"""Corrupted judgements."""

from __future__ import annotations

import re
import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rankwright.data import (
    Dataset,
    UserBrowsing,
    augment,
    make_mslr_like,
    perturb_labels,
    simulate_clicks,
)
from rankwright.data.noise import LABEL_NOISE, label_noise_up_to


def by_query(ds: Dataset) -> dict[Any, tuple[list[float], list[float]]]:
    assert ds.groups.ids is not None
    return {
        name: (ds.y[rows].tolist(), ds.X[rows, 0].tolist())
        for name, rows in zip(ds.groups.ids.tolist(), ds.groups, strict=True)
    }


@pytest.fixture(scope="module")
def ds() -> Dataset:
    return make_mslr_like(n_queries=60, n_features=9, mean_docs=12, random_state=3)


CORRUPTIONS: dict[str, Any] = {
    "labels": lambda ds, seed: perturb_labels(ds, 0.35, random_state=seed),
    "augment": lambda ds, seed: augment(ds, 0.6, random_state=seed),
}


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_it_does_not_depend_on_the_order_of_the_file(corruption: str, ds: Dataset) -> None:
    corrupt = CORRUPTIONS[corruption]
    rng = np.random.default_rng(0)
    other = ds.select(rng.permutation(ds.n_queries))
    # Also with the rows of all queries mixed, each query's in their order.
    order = np.argsort(rng.uniform(size=ds.n_docs))
    place = np.empty(ds.n_docs, dtype=np.int64)
    for rows in ds.groups:
        place[np.sort(order[rows])] = np.arange(rows.start, rows.stop)
    mixed = Dataset(ds.X[place], ds.y[place], ds.qid[place])
    assert mixed.gathered
    expected = by_query(corrupt(ds, 7))
    assert by_query(corrupt(other, 7)) == expected
    assert by_query(corrupt(mixed, 7)) == expected
    assert by_query(corrupt(ds, 8)) != expected
    # An integer id and its text are the same query.
    text = Dataset(ds.X, ds.y, ds.qid.astype(str))
    assert list(by_query(corrupt(text, 7)).values()) == list(expected.values())


def test_labels_of_a_query_do_not_depend_on_other_queries(ds: Dataset) -> None:
    whole = by_query(perturb_labels(ds, 0.5))
    part = by_query(perturb_labels(ds.select(np.arange(0, ds.n_queries, 3)), 0.5))
    assert part.items() <= whole.items()


def test_a_larger_share_contains_a_smaller_one(ds: Dataset) -> None:
    shares = [0, 0.1, 0.35, 0.8, 1.0]
    noise = [perturb_labels(ds, share, [0, 0, 0, 0, 0, 1.0]).y == 5 for share in shares]
    for small, large in pairwise(noise):
        assert (small <= large).all()
    assert not noise[0].any()
    assert noise[-1].all()
    shorter, longer = by_query(augment(ds, 0.4)), by_query(augment(ds, 5.0))
    for name, (y, x) in shorter.items():
        assert longer[name][0][: len(y)] == y
        assert longer[name][1][: len(x)] == x


def test_shares_and_labels_are_those_asked_for() -> None:
    sizes = np.tile([1, 3, 10, 26], 5000)  # 200 000 documents
    qid = np.repeat(np.arange(len(sizes)), sizes)
    data = Dataset(np.zeros((len(qid), 1)), np.full(len(qid), 9.0), qid)
    noisy = perturb_labels(data, 0.3)
    changed = noisy.y != 9
    n = len(qid)
    # Exact up to one document in a query; on average exact, also in lists of one document.
    counts = np.add.reduceat(changed, noisy.groups.indptr[:-1])
    assert (np.abs(counts - 0.3 * sizes) < 1).all()
    for size in (1, 3, 10, 26):
        of_size = counts[sizes == size] / size
        assert abs(of_size.mean() - 0.3) < 5 * 0.5 / size / np.sqrt(5000)
    drawn = noisy.y[changed]
    for label, p in enumerate(LABEL_NOISE):
        assert abs((drawn == label).mean() - p) < 5 * np.sqrt(p * (1 - p) / (0.3 * n))


def test_labels_come_from_any_distribution(ds: Dataset) -> None:
    noisy = perturb_labels(ds, 1.0, [0.0, 0.0, 1.0])
    assert (noisy.y == 2).all()
    np.testing.assert_array_equal(noisy.X, ds.X)
    assert (noisy.order == ds.order).all()
    assert ds.y.max() == 4  # what was given is untouched


def test_extra_documents_are_distinct_not_relevant_and_from_other_queries() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 9, 40)
    qid = np.repeat(np.arange(40), sizes)
    X = np.arange(len(qid), dtype=np.float64)[:, None]  # the feature is the row
    data = Dataset(X, rng.integers(1, 3, len(qid)), qid, doc_ids=[f"d{i}" for i in range(len(qid))])
    for share in (0.3, 2.5, 12.0):
        longer = augment(data, share)
        assert longer.doc_ids is not None
        for q, rows in enumerate(longer.groups):
            old, new = longer.X[rows][: sizes[q], 0], longer.X[rows][sizes[q] :, 0].astype(int)
            np.testing.assert_array_equal(old, X[qid == q][:, 0])
            assert len(set(new)) == len(new)
            assert (qid[new] != q).all()
            assert (longer.y[rows][sizes[q] :] == 0).all()
            assert abs(len(new) - share * sizes[q]) < 1
            assert longer.doc_ids[rows][sizes[q] :].tolist() == [f"d{i}" for i in new]


def test_every_other_document_is_drawn_equally_often() -> None:
    data = Dataset(np.arange(12.0)[:, None], np.ones(12), np.repeat([0, 1, 2], [6, 2, 4]))
    counts = np.zeros(12)
    n = 4000
    for seed in range(n):
        longer = augment(data, 0.5, random_state=seed)
        counts += np.bincount(longer.X[6:9, 0].astype(int), minlength=12)
    assert (counts[:6] == 0).all()
    # Each of six documents is among the three with probability 1/2.
    assert (np.abs(counts[6:] / n - 0.5) < 5 * 0.5 / np.sqrt(n)).all()


def test_all_other_documents_can_be_taken() -> None:
    qid = np.repeat([0, 1], 500)
    data = Dataset(np.arange(1000.0)[:, None], np.ones(1000), qid)
    longer = augment(data, 1.0)
    assert sorted(longer.X[:1000, 0].tolist()) == list(range(1000))


def test_sparse_features_stay_sparse(ds: Dataset) -> None:
    sparse = Dataset(sp.csr_array(ds.X), ds.y, ds.qid)
    longer = augment(sparse, 0.5)
    assert longer.is_sparse
    np.testing.assert_array_equal(longer.X.toarray(), augment(ds, 0.5).X)


def test_the_distribution_is_cut_to_the_labels_there_are() -> None:
    assert label_noise_up_to(4) == LABEL_NOISE
    assert label_noise_up_to(31) == LABEL_NOISE
    assert label_noise_up_to(2) == pytest.approx([0.5 / 0.85, 0.2 / 0.85, 0.15 / 0.85])
    assert label_noise_up_to(0) == pytest.approx([5 / 7, 2 / 7])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda ds: perturb_labels(ds, 30),
            "share must be a number from 0 to 1, but is 30.",
        ),
        (
            lambda ds: perturb_labels(ds, float("nan")),
            "share must be a number from 0 to 1, but is nan.",
        ),
        (
            lambda ds: perturb_labels(ds, 0.1, [0.5, 0.6]),
            "probabilities must be numbers >= 0, one for each label 0, 1, ..., that add up to 1, "
            "but are [0.5, 0.6].",
        ),
        (lambda ds: augment(ds, -0.1), "share must be a number >= 0, but is -0.1."),
        (
            lambda ds: augment(ds.select([0]), 1.0),
            "a query of 34 documents (qid 1) needs 34 documents of other queries, but there are 0. "
            "Pass a smaller share or more queries.",
        ),
    ],
)
def test_what_cannot_be_done_is_said(call: Any, message: str, ds: Dataset) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call(ds)


def test_a_seed_is_an_integer(ds: Dataset) -> None:
    message = "random_state must be an integer, but is 0.5."
    for corrupt in CORRUPTIONS.values():
        with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
            corrupt(ds, 0.5)


def test_memory_grows_with_the_documents() -> None:
    def peak(n_queries: int) -> int:
        data = make_mslr_like(n_queries=n_queries, n_features=2, mean_docs=20)
        tracemalloc.start()
        try:
            perturb_labels(data, 0.5)
            augment(data, 0.5)
            simulate_clicks(data, UserBrowsing(), impressions=2)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(50)  # what is loaded or kept at the first call
    small, large = peak(250), peak(1000)
    assert large < 4.5 * small
