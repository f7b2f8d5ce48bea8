"""Metrics with intervals."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.evaluation import bootstrap_interval
from rankwright.exceptions import DataError, DataWarning
from rankwright.metrics import AP, NDCG, RankLoss

# ---- the bootstrap ----


def test_the_interval_does_not_depend_on_the_order_of_queries() -> None:
    rng = np.random.default_rng(0)
    values = rng.random(50)
    values[::7] = np.nan
    interval = bootstrap_interval(values)
    assert bootstrap_interval(rng.permutation(values)) == interval
    assert bootstrap_interval(values[~np.isnan(values)]) == interval
    assert bootstrap_interval(values.tolist()) == interval


def test_the_interval_covers_the_mean_and_grows_with_the_level() -> None:
    values = np.random.default_rng(1).random(30)
    low, high = bootstrap_interval(values)
    assert values.min() < low < values.mean() < high < values.max()
    wide_low, wide_high = bootstrap_interval(values, level=0.99)
    assert wide_low < low < high < wide_high


def test_the_interval_equals_a_slow_bootstrap() -> None:
    values = np.random.default_rng(2).random(40)
    rng = np.random.default_rng(3)
    means = sorted(rng.choice(values, 40).mean() for _ in range(4000))
    low, high = bootstrap_interval(values, n_resamples=4000)
    # Quantiles of 4000 means vary by a few hundredths of the interval.
    slack = 0.08 * (high - low)
    assert low == pytest.approx(means[int(0.025 * 4000)], abs=slack)
    assert high == pytest.approx(means[int(0.975 * 4000)], abs=slack)


def test_the_interval_has_the_width_that_theory_says() -> None:
    values = np.random.default_rng(4).normal(size=400)
    low, high = bootstrap_interval(values)
    assert high - low == pytest.approx(2 * 1.96 * values.std() / math.sqrt(400), rel=0.1)


def test_the_interval_contains_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(200):
        low, high = bootstrap_interval(
            rng.random(60), level=0.9, n_resamples=300, random_state=trial
        )
        hits += low <= 0.5 <= high
    # 180 expected, four standard deviations (4.2) either way.
    assert abs(hits - 0.9 * 200) < 4 * math.sqrt(200 * 0.9 * 0.1)


def test_equal_values_have_an_interval_of_one_point() -> None:
    assert bootstrap_interval([0.25] * 9) == (0.25, 0.25)
    assert bootstrap_interval([0.25]) == (0.25, 0.25)


@pytest.mark.parametrize("values", [[], [np.nan, np.nan]])
def test_without_values_there_is_no_interval(values: list[float]) -> None:
    assert all(math.isnan(bound) for bound in bootstrap_interval(values))


def test_the_seed_decides() -> None:
    values = np.random.default_rng(6).random(20)
    assert bootstrap_interval(values, random_state=1) == bootstrap_interval(values, random_state=1)
    assert bootstrap_interval(values, random_state=1) != bootstrap_interval(values, random_state=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "level must lie between 0 and 1, but is 1.0."),
        ({"level": 95}, "level must lie between 0 and 1, but is 95."),
        ({"n_resamples": 0}, "n_resamples must be a positive integer, but is 0."),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        bootstrap_interval([1.0, 2.0], **options)


def test_many_queries_are_resampled_in_blocks() -> None:
    values = np.random.default_rng(7).random(300_000)
    low, high = bootstrap_interval(values, n_resamples=20)
    assert low < values.mean() < high


# ---- evaluate ----


def data(n_queries: int = 12, seed: int = 0) -> tuple[rw.Dataset, Any]:
    rng = np.random.default_rng(seed)
    n = 8 * n_queries
    qid = rng.permutation(np.repeat(np.arange(n_queries), 8))
    ds = rw.Dataset(rng.normal(size=(n, 2)), rng.integers(0, 4, n), qid)
    return ds, np.round(rng.normal(size=n), 1)


def test_an_evaluation_maps_names_to_means() -> None:
    ds, scores = data()
    result = rw.evaluate(scores, ds, ["ndcg@3", "map", NDCG(k=2)])
    assert list(result) == ["ndcg@3", "map", "ndcg@2"]
    assert len(result) == 3
    assert result["ndcg@3"] == NDCG(k=3).mean(ds.y, scores, ds.groups)
    assert result["map"] == AP().mean(ds.y, scores, ds.groups)
    np.testing.assert_array_equal(
        result.results["map"].per_query, AP().per_query(ds.y, scores, ds.groups)
    )
    assert result.query_ids.tolist() == (ds.groups.ids.tolist() if ds.groups.ids is not None else 0)
    with pytest.raises(KeyError):
        result["rr"]


def test_the_interval_is_the_bootstrap_of_the_queries() -> None:
    ds, scores = data()
    found = rw.evaluate(scores, ds, ["ndcg"], random_state=3).results["ndcg"]
    expected = bootstrap_interval(found.per_query, random_state=3)
    assert (found.low, found.high) == expected
    assert found.low < found.mean < found.high


def test_the_default_metrics_are_four() -> None:
    ds, scores = data()
    assert list(rw.evaluate(scores, ds)) == ["ndcg@10", "ndcg@5", "ap", "rr"]


@pytest.mark.parametrize("names", [["ndcg@2", "ndcg@5"], ["precision@1", "ndcg@3", "rr@6"]])
def test_cutoffs_side_by_side_are_what_each_is_alone(names: list[str]) -> None:
    # Documents are sorted once for all: as deep as the deepest cutoff needs.
    ds, scores = data()
    together = rw.evaluate(scores, ds, names)
    alone = [rw.evaluate(scores, ds, name)[name] for name in names]
    assert [together[name] for name in names] == alone
    assert len(set(alone)) == len(alone)


def test_one_metric_may_come_alone() -> None:
    ds, scores = data()
    assert dict(rw.evaluate(scores, ds, "ndcg@5")) == dict(rw.evaluate(scores, ds, ["ndcg@5"]))
    assert list(rw.evaluate(scores, ds, AP(threshold=2))) == ["ap(threshold=2)"]
    assert list(rw.evaluate(scores, ds, [])) == []


class Model:
    def predict(self, X: Any) -> Any:
        return X[:, 0] - X[:, 1]


def test_a_model_predicts_first() -> None:
    ds, _ = data()
    assert rw.evaluate(Model(), ds) == rw.evaluate(ds.X[:, 0] - ds.X[:, 1], ds)


def test_evaluations_are_equal_by_their_means() -> None:
    ds, scores = data()
    assert rw.evaluate(scores, ds) == rw.evaluate(scores.tolist(), ds)
    assert rw.evaluate(scores, ds) != rw.evaluate(-scores, ds)
    assert rw.evaluate(scores, ds, ["ap"]) == {"ap": AP().mean(ds.y, scores, ds.groups)}


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(6)))
def test_the_order_of_queries_does_not_change_a_bit(queries: list[int]) -> None:
    ds, scores = data(6)
    rows = ds.groups.rows_of(np.array(queries))
    shuffled = rw.Dataset(ds.X[rows], ds.y[rows], ds.qid[rows])
    metrics = ["ndcg@3", "rr", "pairwise_error"]
    again, once = rw.evaluate(scores[rows], shuffled, metrics), rw.evaluate(scores, ds, metrics)
    assert again.to_dict() == once.to_dict()


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    ds, scores = data(200)
    assert (
        rw.evaluate(scores, ds, n_jobs=1).to_dict() == rw.evaluate(scores, ds, n_jobs=8).to_dict()
    )


def test_printing_aligns_names() -> None:
    ds = rw.Dataset([[0.0]] * 4, [1, 0, 0, 1], [1, 1, 2, 2])
    text = repr(rw.evaluate([2.0, 1.0, 2.0, 1.0], ds, ["rr", "ndcg@1"]))
    assert text.splitlines() == [
        "rr      0.7500  [0.5000, 1.0000]  2 queries",
        "ndcg@1  0.5000  [0.0000, 1.0000]  2 queries",
    ]


def test_wrong_scores_are_refused() -> None:
    ds, scores = data()
    with pytest.raises(ValueError, match=r"^scores must have 96 values, one per row, but has 95"):
        rw.evaluate(scores[:-1], ds)
    with pytest.raises(ValueError, match=r"^there is no metric 'nope'"):
        rw.evaluate(scores, ds, ["nope"])


def test_label_metrics_stand_next_to_ranking_metrics() -> None:
    ds, _ = data()
    result = rw.evaluate(ds.y, ds, ["rank_loss", "ndcg", "rank_accuracy"])
    assert dict(result) == {"rank_loss": 0.0, "ndcg": 1.0, "rank_accuracy": 1.0}
    assert isinstance(result.results["rank_loss"].metric, RankLoss)


# ---- skipped queries, and files ----


def partly_skipped() -> rw.Evaluation:
    ds = rw.Dataset([[0.0]] * 5, [1, 0, 0, 0, 1], ["a", "a", "b", "b", "c"])
    return rw.evaluate([1.0, 2.0, 1.0, 2.0, 1.0], ds, ["rr", "rr(empty=0)"])


def test_skipped_queries_are_not_counted() -> None:
    result = partly_skipped()
    assert result["rr"] == (1 / 2 + 1) / 2
    assert result["rr(empty=0)"] == (1 / 2 + 0 + 1) / 3
    assert result.results["rr"].n_queries == 2
    assert result.results["rr(empty=0)"].n_queries == 3


def test_values_by_query_are_written_as_a_table(tmp_path: Path) -> None:
    partly_skipped().write_per_query(tmp_path / "x.tsv")
    assert (tmp_path / "x.tsv").read_text(encoding="utf-8") == (
        "qid\trr\trr(empty=0)\na\t0.5\t0.5\nb\tnan\t0.0\nc\t1.0\t1.0\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["x.tsv"]


@pytest.mark.parametrize("name", ["x.json", "x.json.zst"])
def test_values_by_query_are_written_as_json_without_nan(name: str, tmp_path: Path) -> None:
    partly_skipped().write_per_query(tmp_path / name)
    content = (tmp_path / name).read_bytes()
    if name.endswith(".zst"):
        content = zstandard.ZstdDecompressor().decompressobj().decompress(content)

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(content, parse_constant=refuse) == {
        "qid": ["a", "b", "c"],
        "rr": [0.5, None, 1.0],
        "rr(empty=0)": [0.5, 0.0, 1.0],
    }


def test_written_numbers_read_back_to_the_last_bit(tmp_path: Path) -> None:
    ds, scores = data()
    result = rw.evaluate(scores, ds, ["ndcg"])
    result.write_per_query(tmp_path / "x.tsv")
    lines = (tmp_path / "x.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert [float(line.split("\t")[1]) for line in lines] == result.results[
        "ndcg"
    ].per_query.tolist()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no" / "x.tsv"
    path.parent.write_text("a file")
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}: cannot be written: "):
        partly_skipped().write_per_query(path)


def test_undefined_metrics_are_null_in_json() -> None:
    ds = rw.Dataset([[0.0], [1.0]], [0, 0])
    with pytest.warns(DataWarning, match=r"^ap is undefined on every query") as caught:
        result = rw.evaluate([1.0, 2.0], ds, ["ap"])
    assert caught[0].filename == __file__
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == {
        "ap": {"metric": "ap", "mean": None, "low": None, "high": None, "n_queries": 0}
    }
    assert "nan" in repr(result)


def test_json_tells_the_conventions_behind_a_name() -> None:
    ds, scores = data()
    entry = rw.evaluate(scores, ds, ["lightgbm:ndcg@5"]).to_dict()["lightgbm:ndcg@5"]
    assert entry["metric"] == "ndcg@5(ties=order,empty=1.0)"
    assert entry["n_queries"] == 12
