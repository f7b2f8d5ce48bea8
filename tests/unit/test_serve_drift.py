"""Drift: the formulas, and a watch over what is served."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.evaluation.drift import bin_counts, decile_edges, mean_shift, stability_index
from rankwright.exceptions import DataError
from rankwright.serve.watching.baseline import N_BINS, Baseline
from rankwright.serve.watching.drift import DriftWatch

RNG = np.random.default_rng(0)


# ---- formulas ----


def test_the_index_is_the_sum_over_bins() -> None:
    first, second = np.array([[10.0, 30.0, 0.0, 0.0]]), np.array([[20.0, 10.0, 5.0, 0.0]])
    q = np.array([10.5, 30.5, 0.5]) / 41.5
    p = np.array([20.5, 10.5, 5.5]) / 36.5  # half a document more in each bin that is used
    wanted = sum((p - q) * np.log(p / q))
    assert stability_index(first, second) == pytest.approx([wanted])


def test_the_shift_is_in_pooled_deviations() -> None:
    first, second = (np.array([1.0]), np.array([3.0])), (np.array([2.0]), np.array([5.0]))
    assert mean_shift(first, second) == pytest.approx([1 / 2])
    constant = (np.array([1.0]), np.array([0.0]))
    assert mean_shift(constant, constant).tolist() == [0.0]


def test_bins_are_tenths_with_room_outside() -> None:
    values = np.arange(1.0, 101.0)
    edges = decile_edges(values)
    counts = bin_counts(values, edges, N_BINS)
    assert counts.tolist() == [0, *[10] * 10, 0, 0]
    outside = bin_counts(np.array([-5.0, 0.99, 1.0, 100.0, 100.1, math.nan]), edges, N_BINS)
    assert outside[[0, 1, 10, 11, 12]].tolist() == [2, 1, 1, 1, 1]


def test_a_feature_of_few_values_has_few_bins() -> None:
    values = np.array([0.0] * 80 + [1.0] * 20)
    edges = decile_edges(values)
    assert bin_counts(values, edges, N_BINS).max() == 80
    constant = decile_edges(np.full(50, 5.0))
    assert len(constant) == 2
    same, less = (bin_counts(np.full(50, v), constant, N_BINS) for v in (5.0, 4.0))
    assert stability_index(same[None], less[None])[0] > 1
    assert len(decile_edges(np.full(3, math.nan))) == 0


def test_both_precisions_fall_into_the_same_bins() -> None:
    values = np.round(RNG.random(1_000), 1)
    edges = decile_edges(values.astype(np.float32))
    double, single = (bin_counts(x, edges, N_BINS) for x in (values, values.astype(np.float32)))
    assert double.tolist() == single.tolist()
    assert double[0] == double[11] == 0


# ---- the watch ----


def documents(n: int, moved: float = 0.0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    X = RNG.normal(size=(n, 3))
    X[:, 1] += moved
    return X


def watch_of(X: object) -> DriftWatch:
    return DriftWatch(Baseline.of(X, "train.txt"), ["title", "age", "price"])


def feed(watch: DriftWatch, X: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    for begin in range(0, len(X), 50):
        watch.observe("1", X[begin : begin + 50])
        watch.tick()


def test_the_feature_that_moved_is_named() -> None:
    watch = watch_of(documents(5_000))
    feed(watch, documents(3_000, moved=1.0))
    found = watch.to_dict()
    first, *others = found["features"]
    assert (first["feature"], first["moved"]) == ("age", "much")
    assert first["stability"] > 0.25
    assert first["shift"] == pytest.approx(1.0, abs=0.1)
    assert all(one["moved"] == "little" for one in others)
    assert found["verdict"].startswith("1 of 3 features have moved much")
    assert (found["reference"], found["reference_documents"]) == ("train.txt", 5_000)
    assert sum(first["before"]) == pytest.approx(1) == sum(first["now"])
    assert len(first["now"]) == len(first["edges"]) + 1


def test_what_stays_is_stable() -> None:
    watch = watch_of(documents(5_000))
    feed(watch, documents(3_000))
    assert watch.to_dict()["verdict"].startswith("No feature has moved much")


def test_values_that_go_missing_are_seen() -> None:
    watch = watch_of(documents(5_000))
    X = documents(2_000)
    X[::2, 2] = math.nan
    feed(watch, X)
    first = watch.to_dict()["features"][0]
    assert (first["feature"], first["moved"]) == ("price", "much")
    assert (first["missing_before"], first["missing"]) == (0.0, pytest.approx(0.5))
    X[:, 2] = math.nan
    for _ in range(40):
        feed(watch, X)
    assert watch.to_dict()["features"][0]["missing"] == pytest.approx(1.0, abs=1e-3)


def test_what_was_long_ago_is_forgotten() -> None:
    watch = watch_of(documents(5_000))
    feed(watch, documents(2_000, moved=3.0))
    assert watch.to_dict()["features"][0]["moved"] == "much"
    feed(watch, documents(60_000))
    assert watch.to_dict()["features"][0]["moved"] == "little"
    assert watch.to_dict()["documents"] <= 10_200


def test_the_first_documents_are_the_reference_without_a_file() -> None:
    watch = DriftWatch()
    feed(watch, documents(600))
    found = watch.to_dict()
    assert (found["reference"], found["verdict"]) == (
        None,
        "Too few documents for a reference: 600 of 1000.",
    )
    feed(watch, documents(500))
    assert watch.to_dict()["reference"] == "the first documents served"
    assert watch.to_dict()["verdict"].startswith("Too few documents to compare with it: ")
    feed(watch, documents(500, moved=2.0))
    assert watch.to_dict()["features"][0]["feature"] == "feature 2"
    feed(watch, np.zeros((1_100, 7)))  # another model is served: a new reference
    feed(watch, np.zeros((300, 7)))
    assert len(watch.to_dict()["features"]) == 7


def test_two_models_at_a_time_do_not_change_the_reference() -> None:
    watch = DriftWatch()
    feed(watch, documents(1_000))  # just enough
    assert watch.to_dict()["reference"] == "the first documents served"
    watch.observe("1", documents(50))
    watch.observe("2", np.zeros((30, 7)))
    watch.tick()
    found = watch.to_dict()
    assert found["reference"] == "the first documents served"
    assert (found["documents"], found["other_documents"]) == (50, 30)


def test_the_fewest_documents_that_are_compared() -> None:
    watch = watch_of(documents(1_000))
    watch.observe("1", documents(99))
    watch.observe("1", documents(100))
    watch.tick()
    assert watch.to_dict()["verdict"] == "Too few documents to compare with it: 199 of 200."
    watch = watch_of(documents(1_000))
    watch.observe("1", documents(100))
    watch.observe("1", documents(100))
    watch.tick()
    assert len(watch.to_dict()["features"]) == 3


def test_other_features_are_left_out_and_counted() -> None:
    watch = watch_of(documents(1_000))
    feed(watch, np.zeros((100, 5)))
    assert (watch.to_dict()["other_documents"], watch.to_dict()["documents"]) == (100, 0)


def test_what_waits_is_bounded() -> None:
    watch = watch_of(documents(1_000))
    large = documents(10_000)
    for _ in range(1_000):
        watch.observe("1", large)
    assert len(watch._waiting) == 16
    assert all(X.base is None and len(X) <= 128 for X in watch._waiting)


def test_leaving_features_behind_takes_no_time() -> None:
    watch, X = watch_of(documents(1_000)), documents(100)
    begin = time.perf_counter()
    for _ in range(10_000):
        watch.observe("1", X)
    assert (time.perf_counter() - begin) / 10_000 < 100e-6


def test_the_thread_counts_by_itself() -> None:
    watch = watch_of(documents(1_000))
    watch.start()
    watch.observe("1", documents(100))
    end = time.monotonic() + 10
    while not watch.to_dict()["documents"] and time.monotonic() < end:
        time.sleep(0.05)
    watch.close()
    assert watch.to_dict()["documents"] == 100


# ---- files ----


@pytest.mark.parametrize("name", ["train.txt", "train.csv"])
def test_a_data_file_is_the_reference(tmp_path: Path, name: str) -> None:
    X = documents(500)
    rw.data.write(rw.Dataset(X, np.zeros(500), np.repeat(np.arange(50), 10)), tmp_path / name)
    baseline = Baseline.of_file(str(tmp_path / name), 3)
    assert baseline.n_docs == 500
    assert baseline.counts == pytest.approx(Baseline.of(X, "x").counts, abs=2)
    with pytest.raises(DataError, match="2"):
        Baseline.of_file(str(tmp_path / name), 2)


def test_a_sparse_reference_is_the_dense_one() -> None:
    X = documents(300)
    X[RNG.random(X.shape) < 0.7] = 0.0
    sparse, dense = Baseline.of(sp.csr_array(X), "x"), Baseline.of(X, "x")
    assert sparse.counts.tolist() == dense.counts.tolist()
