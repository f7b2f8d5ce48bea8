"""Metrics that look at columns: wherever there is a data set, and never without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.comparison import Entry, Range, noise_study, tune
from rankwright.data import Dataset
from rankwright.linear import choose_alpha
from rankwright.metrics import AlphaNDCG, ExposureDisparity, UniqueNDCG, mean_on, parse
from rankwright.metrics.diversity import split_subtopics

TOPICS = "alpha_ndcg@5(subtopics=about)"


def with_columns(seed: int = 0, **other: Any) -> Dataset:
    plain = rw.data.make_mslr_like(n_queries=30, n_features=5, mean_docs=9, random_state=4)
    rng = np.random.default_rng(seed)
    n = plain.n_docs
    about = [" ".join(str(t) for t in range(4) if rng.random() < 0.4) for _ in range(n)]
    maker = rng.choice(["big", "small", "other"], n)
    docs = [f"d{i}" for i in rng.integers(0, 6, n)]
    kept = {"about": about, "maker": maker, **other}
    return Dataset(plain.X, plain.y, plain.qid, doc_ids=docs, kept=kept)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return with_columns()


def test_evaluate_looks_at_the_columns_that_are_kept(data: Dataset) -> None:
    scores = data.X[:, 0].astype(np.float64)
    names = [TOPICS, "unique_ndcg@5", "exposure_disparity@5(group=maker)", "ndcg@5"]
    result = rw.evaluate(scores, data, names)
    columns: dict[str, Any] = {**data.kept, "doc_id": data.doc_ids}
    for name in names:
        expected = parse(name).per_query(data.y, scores, data.groups, columns=columns)
        np.testing.assert_array_equal(result.results[name].per_query, expected)
    assert result["unique_ndcg@5"] != result["ndcg@5"]
    both = rw.evaluate({"a": scores, "b": -scores}, data, names[2:3] + names[:2])
    best = min(both.standings, key=lambda s: s.means[names[2]])
    assert both.best == best.name  # less disparity is better


def test_a_column_that_is_not_kept_is_named(data: Dataset) -> None:
    scores = data.X[:, 0]
    message = r"alpha_ndcg needs a column 'subtopics', but the data keeps 'about', 'maker': read it"
    with pytest.raises(ValueError, match=message):
        rw.evaluate(scores, data, "alpha_ndcg")
    plain = Dataset(data.X, data.y, data.qid)
    with pytest.raises(ValueError, match=r"unique_ndcg needs a column 'doc_id', but .* keeps none"):
        rw.evaluate(scores, plain, "unique_ndcg")
    with pytest.raises(ValueError, match="needs a column 'subtopics'"):
        rw.compare(data, ["random"], metrics=["ndcg@10", "alpha_ndcg"])
    ranker = rw.BoostedRanker(n_estimators=2, eval_metric="alpha_ndcg")
    with pytest.raises(ValueError, match="needs a column 'subtopics'"):
        ranker.fit(data.X, data.y, data.qid, valid=data)


def test_trees_watch_it(data: Dataset) -> None:
    train, valid = data.split((0.6, 0.4))
    ranker = rw.BoostedRanker(
        n_estimators=5, eval_metric=TOPICS, eval_train=True, min_child_samples=3
    )
    ranker.fit_dataset(train, valid=valid)
    for name, part in (("train", train), ("valid", valid)):
        last = ranker.evals_result_[name][TOPICS][ranker.n_iter_ - 1]
        found = mean_on(parse(TOPICS), part, ranker.predict(part.X))
        assert last == pytest.approx(found, abs=1e-12)


def test_everything_that_measures_finds_it(data: Dataset) -> None:
    ranker = rw.LinearRanker("listnet", standardize=True)
    choice = choose_alpha(ranker, data, alphas=[1.0, 0.01], metric=TOPICS)
    assert ((choice.quality > 0) & (choice.quality < 1)).all()
    study = tune(ranker, data, {"alpha": Range(0.01, 1.0)}, metric=TOPICS, n_trials=2, n_folds=2)
    assert 0 < study.best.value < 1
    noise = noise_study(data, "labels", {"a": ranker}, metric=TOPICS, levels=[0], n_trials=2)
    assert ((noise.values > 0) & (noise.values < 1)).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_compare_measures_with_columns_and_ids(data: Dataset, n_jobs: int) -> None:
    entries = [Entry("linear", rw.LinearRanker(), {"alpha": Range(0.01, 1.0)})]
    metrics: list[Any] = ["unique_ndcg@5", AlphaNDCG(k=5, subtopics="about")]
    result = rw.compare(data, entries, metrics=metrics, n_trials=2, n_jobs=n_jobs)
    assert not result.failures
    again = rw.evaluate(result.model("linear"), result.folds[0].test, metrics)
    assert dict(again) == result.standings[0].means


def test_results_are_done_again_if_the_column_of_the_first_metric_changes(tmp_path: Path) -> None:
    kinds: list[str] = []

    def run(data: Dataset, *metrics: str) -> list[str]:
        kinds.clear()
        entries = [Entry("linear", rw.LinearRanker())]
        options: dict[str, Any] = {"folder": tmp_path, "n_trials": 1}
        options["callback"] = lambda event: kinds.append(event.kind)
        rw.compare(data, entries, metrics=metrics, **options)
        return kinds

    assert run(with_columns(), TOPICS, "ndcg@10") == ["trial", "done"]
    assert run(with_columns(), TOPICS, "ndcg@10") == ["kept"]
    maker = ["x"] * with_columns().n_docs  # which nobody looks at
    assert run(with_columns(maker=maker), TOPICS) == ["kept"]
    assert run(with_columns(1), TOPICS, "ndcg@10") == ["trial", "done"]


def test_subtopics_are_told_apart_by_commas_or_spaces() -> None:
    assert split_subtopics(" 3 1  7 ") == ["1", "3", "7"]
    assert split_subtopics("red shoes,boots, ,boots") == ["boots", "red shoes"]
    assert split_subtopics("") == split_subtopics(" , ") == []
    lists: list[Any] = [["a", "b"], ["b"], []]
    data = Dataset([[3.0], [2.0], [1.0]], [1, 1, 1], kept={"subtopics": np.array(lists, object)})
    texts = {"subtopics": ["b a", "b", ""]}
    expected = AlphaNDCG().per_query([1, 1, 1], [3.0, 2.0, 1.0], columns=texts)
    assert rw.evaluate([3.0, 2.0, 1.0], data, "alpha_ndcg")["alpha_ndcg"] == expected[0]


def test_a_thousand_tied_documents_about_one_thing() -> None:
    # By hand: of n documents that are all about one subtopic, any order gains the same.
    n = 1000
    columns = {"subtopics": np.full(n, "a", dtype=object)}
    tied = AlphaNDCG(alpha=0.3).per_query(np.ones(n), np.zeros(n), columns=columns)
    np.testing.assert_allclose(tied, 1, atol=1e-12)
    # And of which one half is: the mean over orders, by drawing them.
    columns = {"subtopics": np.where(np.arange(n) % 2, "a", "").astype(object)}
    rng = np.random.default_rng(0)
    for alpha in (0.01, 0.3, 0.9):
        metric = AlphaNDCG(alpha=alpha)
        drawn = [
            metric.per_query(np.ones(n), rng.permutation(n).astype(float), columns=columns)[0]
            for _ in range(300)
        ]
        (value,) = metric.per_query(np.ones(n), np.zeros(n), columns=columns)
        assert abs(value - np.mean(drawn)) < 5 * np.std(drawn) / np.sqrt(300)


def test_duplicates_neither_gain_nor_take_a_rank() -> None:
    y, scores = [3.0, 3.0, 0.0, 1.0], [4.0, 3.0, 2.0, 1.0]
    metric = UniqueNDCG()
    once = metric.per_query([3.0, 0.0, 1.0], [4.0, 2.0, 1.0], columns={"doc_id": ["a", "b", "c"]})
    twice = metric.per_query(y, scores, columns={"doc_id": ["a", "a", "b", "c"]})
    np.testing.assert_allclose(twice, once, atol=1e-15)
    # Without a key a document is like no other; the same key in another query is another document.
    plain = parse("ndcg").per_query(y, scores)
    empty = np.array(["", "", "", ""], dtype=object)
    np.testing.assert_allclose(metric.per_query(y, scores, columns={"doc_id": empty}), plain)
    # The ideal list has the better label of a key.
    low = metric.per_query([0.0, 3.0], [2.0, 1.0], columns={"doc_id": ["a", "a"]})
    assert low == [0.0]
    for text in ("unique_ndcg", "unique_ndcg(gain=linear)"):
        with pytest.raises(ValueError, match=r"unique_ndcg needs labels from 0 to .* row 1 has -1"):
            parse(text).per_query([0, -1], [1.0, 2.0], columns={"doc_id": ["a", "b"]})


def test_of_documents_that_add_the_same_the_best_order_takes_the_first() -> None:
    about = {"subtopics": ["b c", "a b", "c d"]}
    second = 1 / np.log2(3)
    by_name = 2 + 2 * second + 1 / 2  # a b, c d, b c
    by_row = 2 + 1.5 * second + 1.5 / 2
    for ties, best in (("average", by_name), ("order", by_row)):
        metric = parse(f"alpha_ndcg(ties={ties})")
        found = metric.per_query([1, 1, 1], [1.0, 3.0, 2.0], columns=about)
        assert found == pytest.approx([by_name / best])


def test_a_column_has_a_value_for_each_row() -> None:
    with pytest.raises(ValueError, match="must have one value per row, 2 in all, but has 3"):
        UniqueNDCG().per_query([0, 1], [1.0, 2.0], columns={"doc_id": ["a", "b", "c"]})


def test_a_full_list_is_as_long_as_the_cutoff() -> None:
    metric = parse("err_ia@2(denominator=full)")
    found = metric.per_query([1], [1.0], columns={"subtopics": ["a"]})
    assert found == pytest.approx([1 / (1 + 0.5 / 2)])


@pytest.mark.parametrize(
    ("ties", "gain", "of_both"),
    [
        ("average", "exp2", 1.5),
        ("average", "linear", 1.0),
        ("worst", "exp2", 0.0),
        ("best", "exp2", 3.0),
        ("order", "exp2", 3.0),
    ],
)
def test_of_duplicates_with_one_score_one_stays(ties: Any, gain: Any, of_both: float) -> None:
    second = 1 / np.log2(3)
    ideal = (3.0 if gain == "exp2" else 2.0) + second
    metric = UniqueNDCG(ties=ties, gain=gain)
    found = metric.per_query([2, 0, 1], [1.0, 1.0, 0.0], columns={"doc_id": ["a", "a", "b"]})
    assert found == pytest.approx([(of_both + second) / ideal])


def test_a_list_is_short_by_its_different_documents() -> None:
    docs = {"doc_id": ["a", "a", "b"]}
    for k, expected in ((2, 1.0), (3, 0.0)):
        metric = UniqueNDCG(k=k, short="zero")
        assert metric.per_query([2, 2, 1], [3.0, 2.0, 1.0], columns=docs) == [expected]


def test_shares_of_groups(data: Dataset) -> None:
    scores = data.X[:, 0].astype(np.float64)
    lines = ExposureDisparity(k=5, group="maker").by_group(data, scores)
    assert [line["group"] for line in lines] == ["big", "other", "small"]
    for name in ("documents", "relevance", "exposure"):
        assert sum(line[name] for line in lines) == pytest.approx(1)
    rows = {name: (data.kept["maker"] == name) for name in ("big", "other", "small")}
    for line in lines:
        shares = [rows[line["group"]][q].mean() for q in data.groups]
        assert line["documents"] == pytest.approx(np.mean(shares))
    with pytest.raises(ValueError, match=r"exposure_disparity.* needs labels from 0 to 1000"):
        ExposureDisparity(target="relevance").per_query(
            [-1, 0], [1.0, 0.0], columns={"group": ["a", "b"]}
        )
