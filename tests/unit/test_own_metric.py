"""Metrics of one's own: a plain function, wherever a metric is good."""

from __future__ import annotations

import functools
import json
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import rankwright as rw
from rankwright.comparison import Choice, Entry, Range, noise_study, tune
from rankwright.comparison.keys import described
from rankwright.data import Dataset, Groups
from rankwright.evaluation import permutation_importance
from rankwright.linear import choose_alpha
from rankwright.metrics import NDCG, FunctionMetric, named_metrics, parse
from tests import own_metrics
from tests.own_metrics import Floats, first_relevant_place, top_label_sum


@pytest.fixture(scope="module")
def data() -> Dataset:
    return rw.data.make_mslr_like(n_queries=40, n_features=8, mean_docs=12, random_state=4)


def ndcg_by_hand(labels: Floats, scores: Floats) -> float:
    return float(NDCG(k=5).per_query(labels, scores)[0])


# ---- the metric itself ----


def test_a_function_is_called_query_by_query_in_the_order_of_the_rows() -> None:
    seen = []

    def watch(labels: Floats, scores: Floats) -> float:
        seen.append((labels.tolist(), scores.tolist()))
        return len(labels)

    values = parse(watch).per_query([0, 1, 2], [0.5, 0.25, 0.75], Groups(np.array([0, 1, 1, 3])))
    assert seen == [([0.0], [0.5]), ([1.0, 2.0], [0.25, 0.75])]
    np.testing.assert_array_equal(values, [1, np.nan, 2])  # a query without documents is skipped


def test_a_function_that_is_ndcg_gives_ndcg(data: Dataset) -> None:
    scores = data.X[:, 4]
    result = rw.evaluate(scores, data, ["ndcg@5", ndcg_by_hand])
    assert list(result) == ["ndcg@5", "ndcg_by_hand"]
    assert result["ndcg_by_hand"] == result["ndcg@5"]
    assert rw.evaluate(scores, data, ndcg_by_hand)["ndcg_by_hand"] == result["ndcg@5"]
    assert json.loads(json.dumps(result.to_dict()))["ndcg_by_hand"]["metric"] == "ndcg_by_hand"


def test_nan_is_a_query_that_does_not_count() -> None:
    groups = Groups(np.array([0, 1, 2]))
    assert FunctionMetric(top_label_sum).mean([0, 2], [1.0, 1.0], groups) == 2
    assert FunctionMetric(top_label_sum, empty=0.0).mean([0, 2], [1.0, 1.0], groups) == 1


@pytest.mark.parametrize("value", [True, np.float32(0.5), np.int8(3), np.bool_(True), 2])
def test_any_number_will_do(value: Any) -> None:
    metric = FunctionMetric(lambda labels, scores: value, name="any")
    assert metric.per_query([1], [1.0]).tolist() == [float(value)]


def _write(labels: Floats, scores: Floats) -> float:
    labels[0] = 7
    return 1.0


def _sort(labels: Floats, scores: Floats) -> float:
    scores.sort()
    return 1.0


def _raise(labels: Floats, scores: Floats) -> float:
    raise KeyError("a\nb")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda y, s: None, r"odd must return a finite number.* but returned None for query b\."),
        (lambda y, s: "0.5", r"returned '0.5' for query b\."),
        (lambda y, s: y, r"returned array of shape \(1,\) for query b\."),
        (lambda y, s: np.inf, r"returned inf for query b\."),
        (lambda y, s: 1j, r"returned 1j for query b\."),
        (_raise, r"odd failed on query b: KeyError: 'a\\nb'\.$"),
        (_write, r"odd failed on query b: ValueError: .*read-only.* not to be changed: copy them"),
        (_sort, r"odd failed on query b: ValueError: .*read-only.* not to be changed: copy them"),
    ],
)
def test_what_is_no_metric_is_told_with_the_query(function: Any, message: str) -> None:
    metric = FunctionMetric(function, name="odd")
    y, scores = np.array([1.0]), np.array([0.5])
    with pytest.raises(ValueError, match=message) as caught:
        rw.evaluate(scores, Dataset([[1.0]], y, ["b"]), metric)
    assert "\n" not in str(caught.value)
    assert (y[0], scores[0]) == (1, 0.5)


def test_names() -> None:
    make: Any = FunctionMetric
    same: list[Any] = [[top_label_sum, top_label_sum], ["ndcg", "ndcg"], [NDCG(), "ndcg"]]
    assert str(parse(top_label_sum)) == "top_label_sum"
    assert str(FunctionMetric(top_label_sum, name="revenue@10")) == "revenue@10"
    for nameless in (lambda y, s: 1.0, functools.partial(top_label_sum)):
        with pytest.raises(ValueError, match="must be given one: FunctionMetric"):
            parse(nameless)
    with pytest.raises(ValueError, match="'ndcg@10' is a metric of the library"):
        FunctionMetric(top_label_sum, name="ndcg@10")
    for bad in ("", " a", "a\tb", 3):
        with pytest.raises(ValueError, match="must be one line of text"):
            make(top_label_sum, name=bad)
    for twice in same:
        with pytest.raises(ValueError, match="must have different names, but two are called"):
            named_metrics(twice)


def test_what_is_no_function() -> None:
    read: Any = parse
    make: Any = FunctionMetric
    with pytest.raises(TypeError, match=r"is the class NDCG: call it, NDCG\(\)"):
        read(NDCG)
    with pytest.raises(TypeError, match=r"a metric must be text, a Metric, such as .* but is 3"):
        read(3)

    def three(labels: Any, scores: Any, more: Any) -> float:
        return 1.0

    with pytest.raises(TypeError, match=r"must take two arguments.* three\(labels"):
        read(three)
    with pytest.raises(TypeError, match="higher_is_better must be True or False"):
        make(top_label_sum, higher_is_better="no")
    with pytest.raises(ValueError, match="empty of top_label_sum must be 'skip' or a number"):
        make(top_label_sum, empty="zero")


def test_equal_metrics_are_equal_and_can_be_sent() -> None:
    metric = FunctionMetric(first_relevant_place, higher_is_better=False)
    assert pickle.loads(pickle.dumps(metric)) == metric == parse(metric)
    assert hash(metric) == hash(FunctionMetric(first_relevant_place, higher_is_better=False))
    assert metric != FunctionMetric(first_relevant_place)
    assert metric != FunctionMetric(first_relevant_place, name="other", higher_is_better=False)
    assert "first_relevant_place" in repr(metric)


def test_on_a_run_its_documents_are_not_all_there() -> None:
    run = rw.data.Run(np.array(["a"], object), np.array(["x"], object), np.array([1.0]))
    judged = Dataset([[0.0]], [1.0], ["a"], doc_ids=["x"])
    with pytest.raises(ValueError, match="top_label_sum needs a score for every judged document"):
        rw.evaluate(run, judged, top_label_sum)


# ---- everywhere ----


def test_trees_stop_by_it(data: Dataset, tmp_path: Path) -> None:
    train, valid = data.split((0.6, 0.4))
    options: dict[str, Any] = {
        "n_estimators": 30,
        "early_stopping_rounds": 4,
        "min_child_samples": 3,
    }
    by_hand = rw.BoostedRanker(eval_metric=ndcg_by_hand, **options)
    by_name = rw.BoostedRanker(eval_metric="ndcg@5", **options)
    for model in (by_hand, by_name):
        model.fit(train.X, train.y, train.qid, valid=valid)
    assert by_hand.n_iter_ == by_name.n_iter_ < 30
    assert (
        by_hand.evals_result_["valid"]["ndcg_by_hand"] == by_name.evals_result_["valid"]["ndcg@5"]
    )
    assert clone(by_hand).eval_metric is ndcg_by_hand
    less = FunctionMetric(first_relevant_place, higher_is_better=False)
    model = rw.BoostedRanker(eval_metric=less, **options)
    model.fit(train.X, train.y, train.qid, valid=valid)
    assert model.best_score_ == min(model.evals_result_["valid"]["first_relevant_place"])
    # A file holds no code: the name of what it watched, and all that it takes to predict.
    for kept in (model, by_hand):
        rw.save(kept, tmp_path / "model.rw")
        again = rw.load(tmp_path / "model.rw")
        np.testing.assert_array_equal(again.predict(valid.X), kept.predict(valid.X))
    assert str(again.eval_metric) == "ndcg_by_hand"
    with pytest.raises(ValueError, match=r"ndcg_by_hand failed on query .* holds no code"):
        again.fit(train.X, train.y, train.qid, valid=valid)


def test_linear_rankers_are_chosen_by_it(data: Dataset) -> None:
    ranker = rw.LinearRanker("listnet", standardize=True)
    alphas = [1.0, 0.01]
    chosen = [choose_alpha(ranker, data, alphas=alphas, metric=m) for m in (ndcg_by_hand, "ndcg@5")]
    np.testing.assert_array_equal(chosen[0].quality, chosen[1].quality)
    less = FunctionMetric(lambda y, s: -ndcg_by_hand(y, s), "loss", higher_is_better=False)
    assert choose_alpha(ranker, data, alphas=alphas, metric=less).alpha == chosen[0].alpha
    paths = [
        ranker.path(data.X, data.y, data.qid, alphas=alphas, valid=data, metric=m)
        for m in (ndcg_by_hand, NDCG(k=5))
    ]
    assert [p.quality for p in paths[0]] == [p.quality for p in paths[1]]


def test_importance_is_measured_by_it(data: Dataset) -> None:
    model = rw.LinearRanker(standardize=True).fit(data.X, data.y, data.qid)
    found = [permutation_importance(model, data, m, n_repeats=1) for m in (ndcg_by_hand, "ndcg@5")]
    np.testing.assert_array_equal(found[0].drops, found[1].drops)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tune_searches_by_it(data: Dataset, n_jobs: int, tmp_path: Path) -> None:
    ranker = rw.LinearRanker("listnet", standardize=True)
    space = {"alpha": Range(1e-4, 1.0, log=True)}
    options: dict[str, Any] = {"n_trials": 3, "n_folds": 2, "n_jobs": n_jobs}
    metric = FunctionMetric(first_relevant_place, name="place", higher_is_better=False)
    study = tune(ranker, data, space, metric=metric, path=tmp_path / "study.jsonl", **options)
    assert study.metric == "place"
    assert study.best.value == min(trial.value for trial in study.trials)
    assert study.to_dict()["metric"] == "place"
    study.fit_best(data)
    calls: list[Any] = []
    options |= {"path": tmp_path / "study.jsonl", "callback": calls.append}
    tune(ranker, data, space, metric=metric, **options | {"n_trials": 4})
    assert [trial.number for trial in calls] == [3]
    # The same name, another function: nothing of it is taken.
    other = FunctionMetric(top_label_sum, name="place", higher_is_better=False)
    calls.clear()
    tune(ranker, data, space, metric=other, **options | {"n_trials": 1})
    assert [trial.number for trial in calls] == [0]


def test_noise_studies_measure_by_it(data: Dataset) -> None:
    rankers = {"listnet": rw.LinearRanker("listnet", standardize=True)}
    options: dict[str, Any] = {"levels": [0], "n_trials": 2}
    found = [
        noise_study(data, "labels", rankers, metric=m, **options) for m in (ndcg_by_hand, "ndcg@5")
    ]
    np.testing.assert_array_equal(found[0].values, found[1].values)


ENTRIES = [
    Entry("linear", rw.LinearRanker(standardize=True), {"alpha": Range(1e-4, 1.0, log=True)}),
    Entry(
        "trees",
        rw.BoostedRanker(n_estimators=20, early_stopping_rounds=3, min_child_samples=3),
        {"num_leaves": Choice((4, 8))},
        "trees",
    ),
]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_compare_chooses_and_orders_by_it(data: Dataset, n_jobs: int, tmp_path: Path) -> None:
    less = FunctionMetric(first_relevant_place, name="place", higher_is_better=False)
    metrics: list[Any] = [less, "ndcg@10", top_label_sum]
    options: dict[str, Any] = {"n_trials": 2, "n_jobs": n_jobs, "folder": tmp_path / "run"}
    result = rw.compare(data, ENTRIES, metrics=metrics, **options)
    assert not result.failures
    assert result.metrics == ["place", "ndcg@10", "top_label_sum"]
    means = [standing.means["place"] for standing in result.standings]
    assert means == sorted(means)
    for standing in result.standings:
        trials = result.outcomes[standing.name, "split"].facts["trials"]
        assert result.outcomes[standing.name, "split"].valid == min(t["valid"] for t in trials)
        again = rw.evaluate(result.model(standing.name), result.folds[0].test, metrics)
        assert dict(again) == standing.means
    assert "place" in result.metrics_csv()
    assert "top_label_sum" in result.per_query_csv()
    assert "place" in result.verdict
    rw.report.write_report(result, tmp_path / "report.html")
    assert "top_label_sum" in (tmp_path / "report.html").read_text()
    assert result.refit().predict(data.X).shape == (data.n_docs,)
    kinds = []
    rw.compare(data, ENTRIES, metrics=metrics, callback=lambda e: kinds.append(e.kind), **options)
    assert kinds == ["kept", "kept"]


def test_results_of_another_function_of_the_name_are_not_taken(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: list[str] = []

    def run(metric: FunctionMetric) -> None:
        kinds.clear()
        rw.compare(
            data,
            ENTRIES[:1],
            metrics=[metric],
            n_trials=1,
            folder=tmp_path,
            callback=lambda event: kinds.append(event.kind),
        )

    run(FunctionMetric(top_label_sum, name="sum"))
    run(FunctionMetric(top_label_sum, name="sum"))
    assert kinds == ["kept"]
    run(FunctionMetric(first_relevant_place, name="sum"))
    assert kinds == ["trial", "done"]
    run(FunctionMetric(first_relevant_place, name="sum", higher_is_better=False))
    assert kinds == ["trial", "done"]
    run(FunctionMetric(top_label_sum, name="sum"))
    monkeypatch.setattr(own_metrics, "TOP", 2)  # a constant that the function uses
    run(FunctionMetric(top_label_sum, name="sum"))
    assert kinds == ["trial", "done"]


def test_a_description_tells_functions_apart() -> None:
    spaces: list[dict[str, Any]] = []
    for text in (
        "def f(y, s): return 1.0",
        "def f(y, s): return 2.0",
        "def g(y): return 1.0\ndef f(y, s): return g(y)",
        "def g(y): return 2.0\ndef f(y, s): return g(y)",
        "def g(y): return f(y, y)\ndef f(y, s): return g(y)",
        "def f(y, s, k=1): return k",
        "def f(y, s, k=2): return k",
    ):
        space: dict[str, Any] = {"__name__": "typed_in"}
        exec(text, space)
        spaces.append(space)
    texts = [described(space["f"]) for space in spaces]
    assert len(set(texts)) == len(texts)
    assert texts == [described(space["f"]) for space in spaces]


@pytest.mark.parametrize("home", ["typed_in", "__main__"])
def test_a_description_tells_the_modules_beside_a_function(home: str, tmp_path: Path) -> None:
    beside = ModuleType("beside")
    beside.__file__ = str(tmp_path / "beside.py")
    space: dict[str, Any] = {"__name__": home, "beside": beside, "np": np}
    exec("def f(y, s): return beside.top(np.sort(y))", space)
    texts = []
    for body in ("y[0]", "y[1]", "y[0]"):
        (tmp_path / "beside.py").write_text(f"def top(y): return {body}\n")
        texts.append(described(space["f"]))
    assert texts[0] == texts[2] != texts[1]


def test_the_names_of_metrics_in_a_comparison_differ(data: Dataset) -> None:
    with pytest.raises(ValueError, match="two are called 'top_label_sum'"):
        rw.compare(data, ENTRIES, metrics=[top_label_sum, top_label_sum])
