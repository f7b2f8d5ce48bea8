"""Rankers side by side."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import shutil
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import rankwright as rw
from rankwright.comparison import (
    Choice,
    Entry,
    Event,
    Range,
    compare,
    lineup,
    noise_study,
    read_lineup,
    tune,
)
from rankwright.comparison.space import draw_parameters
from rankwright.comparison.tables import size_text
from rankwright.evaluation import compare_pairs, rotate, split
from rankwright.exceptions import DataError

QUICK = ["xendcg-linear", "slam-perceptron", "best-feature", "random"]


class Broken(BaseEstimator):
    """A model that cannot be fitted."""

    def __init__(self, how: str = "raise") -> None:
        self.how = how

    def fit(self, X: Any, y: Any, qid: Any = None) -> Broken:
        if self.how == "raise":
            raise RuntimeError("cannot be\nfitted")
        if self.how == "die":
            os.kill(os.getpid(), 9)
        self.n_ = X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), np.nan)


@pytest.fixture(scope="module")
def data() -> rw.Dataset:
    return rw.data.make_mslr_like(n_queries=40, n_features=12, mean_docs=12)


@pytest.fixture(scope="module")
def result(data: rw.Dataset) -> rw.Comparison:
    return compare(data, QUICK, n_trials=3)


# ---- the line-up ----


def test_a_line_up_is_read_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "lineup.toml"
    path.write_text(
        '[models.random]\n[models.mine]\nmodel = "linear"\nfamily = "linear"\n'
        'params = { loss = "listnet" }\nsearch = { alpha = { low = 0.1, high = 1.0 } }\n'
    )
    random, mine = read_lineup(path)
    assert random.describe() == lineup(["random"])[0].describe()
    assert (mine.name, mine.family, mine.space) == ("mine", "linear", {"alpha": Range(0.1, 1.0)})
    assert mine.estimator.loss == "listnet"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models", "is not TOML: Expected"),
        ("a = 1", "must have tables [models.NAME], and nothing else."),
        ("[models.x]\nmodel = 'nope'", "model must be one of linear"),
        ("[models.x]\nfit = 1", "models.x may have model, paper, params, search, family only."),
        ("[models.x]\nparams = {}", "models.x must name its model"),
        ("[models.x]", "model must be one of linear"),
        ("[models.x]\nmodel='linear'\nparams={ loss = 'nope' }", "loss must be one of"),
        ("[models.x]\nmodel='linear'\nsearch={ a = [1] }", "x has no parameter 'a' to search;"),
        ("[models.'a/b']\nmodel='linear'", "a model's name must have letters, digits and . _ + -"),
        ("[models.A]\nmodel='random'\n[models.a]\nmodel='random'", "two models have the name 'a'."),
    ],
)
def test_what_is_wrong_with_a_line_up_is_said(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "lineup.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}: {message}')}"):
        read_lineup(path)


def test_every_entry_of_the_line_up_is_fitted(data: rw.Dataset) -> None:
    for entry in lineup():
        model = clone(entry.estimator).set_params(**draw_parameters(entry.space, 0))
        assert model.get_params().keys() >= entry.space.keys()
    # From the simplest on, as the advice has it.
    families = {entry.name: entry.family for entry in lineup()}
    assert families["xendcg-linear"] == families["domination-rank-l1"] == "linear"
    assert families["stochastic-lambdarank-trees"] == "trees"
    assert (families["graft"], families["ensemble"]) == ("graft", "ensemble")
    with pytest.raises(ValueError, match="at least one model"):
        compare(data, [])


@pytest.mark.parametrize("models", ["random", rw.LinearRanker(), [rw.LinearRanker()], 3])
def test_models_are_names_entries_or_rankers_by_name(data: rw.Dataset, models: Any) -> None:
    with pytest.raises(TypeError, match=r"^models must be a sequence of names .*, but there is .*"):
        compare(data, models)


@pytest.mark.parametrize("name", [1, "a b", ""])
def test_names_are_texts_of_letters_and_digits(data: rw.Dataset, name: Any) -> None:
    with pytest.raises(ValueError, match=r"^a model's name must have letters, .*, but is"):
        compare(data, {name: rw.LinearRanker()})


def test_rankers_by_name_are_fitted_as_they_are(data: rw.Dataset) -> None:
    named = {"mine": rw.LinearRanker("listnet", alpha=0.5)}
    by_name, by_entry = compare(data, named), compare(data, [Entry("mine", named["mine"])])
    assert by_name.model("mine").alpha == 0.5
    np.testing.assert_array_equal(by_name.model("mine").coef_, by_entry.model("mine").coef_)


@pytest.mark.parametrize("given", ["train.txt", None, np.zeros((3, 2)), ["Fold1"]])
def test_data_are_a_data_set_or_folds(given: Any, data: rw.Dataset) -> None:
    with pytest.raises(TypeError, match=r"^data must be a Dataset or a sequence of folds, but is"):
        compare(given, ["random"])
    with pytest.raises(TypeError, match=r"^dataset must be a Dataset, but is a"):
        tune(rw.LinearRanker(), given, {"alpha": Choice((0.1, 1.0))})
    with pytest.raises(TypeError, match=r"^dataset must be a Dataset, but is a"):
        noise_study(given, "labels", ["random"])
    wrong_way_round: tuple[Any, Any] = (["random"], data)
    with pytest.raises(TypeError, match=r"but there is <Dataset>\.$"):
        compare(*wrong_way_round)


# ---- comparisons ----


def test_the_leaderboard_is_what_the_pieces_say(data: rw.Dataset, result: rw.Comparison) -> None:
    (fold,) = split(data)
    names = [s.name for s in result.standings]
    assert set(names) == set(QUICK)
    means = [s.means["ndcg@10"] for s in result.standings]
    assert means == sorted(means, reverse=True)
    assert result.best == names[0]
    for standing in result.standings:
        model = result.model(standing.name)
        measured = rw.evaluate(model, fold.test, result.metrics)
        assert dict(measured) == standing.means
        for metric, one in measured.results.items():
            assert (one.low, one.high) == (standing.low[metric], standing.high[metric])
    baselines = {s.name for s in result.standings if s.family == "baseline"}
    others = [(result.best, name) for name in names[1:]]
    families = [[p for p in others if (p[1] in baselines) == which] for which in (False, True)]
    values = {s.name: s.per_query["ndcg@10"] for s in result.standings}
    by_hand = compare_pairs(values, families=families)
    by_hand.sort(key=lambda pair: names.index(pair.b))
    assert result.pairs == by_hand


def test_the_search_takes_the_best_trial(data: rw.Dataset, result: rw.Comparison) -> None:
    (fold,) = split(data)
    (entry,) = lineup(["xendcg-linear"])
    tried: list[dict[str, Any]] = [{}] + [draw_parameters(entry.space, t) for t in range(2)]
    fitted = [
        clone(entry.estimator).set_params(**p).fit(fold.train.X, fold.train.y, fold.train.qid)
        for p in tried
    ]
    values = [rw.evaluate(m, fold.valid, "ndcg@10")["ndcg@10"] for m in fitted]
    facts = result.outcomes["xendcg-linear", "split"].facts
    assert [t["valid"] for t in facts["trials"]] == pytest.approx(values)
    assert facts["trial"] == int(np.argmax(values))
    best = fitted[int(np.argmax(values))]
    np.testing.assert_array_equal(result.model("xendcg-linear").coef_, best.coef_)


def test_scaled_models_take_the_features_as_they_are(data: rw.Dataset) -> None:
    (fold,) = split(data)
    (entry,) = lineup(["slam-perceptron"])
    found = compare([fold], [entry], n_trials=1).model("slam-perceptron")
    alone = clone(entry.estimator).set_params(standardize=False)
    alone.fit(fold.train.X / found.scale_, fold.train.y, fold.train.qid)
    np.testing.assert_array_equal(found.coef_, alone.coef_ / found.scale_)


def test_a_metric_where_lower_is_better(data: rw.Dataset) -> None:
    result = compare(data, ["best-feature", "random"], metrics=["pairwise_error"], n_trials=1)
    first, second = result.standings
    assert first.name == "best-feature"
    assert first.means["pairwise_error"] < second.means["pairwise_error"]
    assert result.pairs[0].wins > result.pairs[0].losses


def test_the_search_takes_the_smallest_error(data: rw.Dataset) -> None:
    entry = Entry("mine", rw.LinearRanker("listnet"), {"alpha": Choice((1e-3, 1.0, 100.0))})
    result = compare(data, [entry], metrics=["pairwise_error"], n_trials=4)
    facts = result.outcomes["mine", "split"].facts
    values = [trial["valid"] for trial in facts["trials"]]
    assert min(values) < max(values)
    assert facts["trial"] == int(np.argmin(values))
    assert facts["valid"] == min(values)


def test_folds_are_pooled(data: rw.Dataset) -> None:
    folds = rotate(data, 3)
    result = compare(folds, ["random", "best-feature"], n_trials=1)
    best = result.standings[0]
    assert len(best.per_query["ndcg@10"]) == data.n_queries
    assert best.means["ndcg@10"] == pytest.approx(np.nanmean(best.per_query["ndcg@10"]))
    rows = list(csv.DictReader(io.StringIO(result.metrics_csv())))
    assert [row["fold"] for row in rows[:4]] == ["all", "Fold1", "Fold2", "Fold3"]
    assert float(rows[1]["mean"]) == best.fold_means["ndcg@10"][0]
    assert len(result.per_query_csv().splitlines()) == 1 + 4 * data.n_queries


def test_the_same_on_any_number_of_processes(
    data: rw.Dataset, result: rw.Comparison, tmp_path: Path
) -> None:
    events: list[Event] = []
    inside = threading.Lock()

    def note(event: Event) -> None:
        assert inside.acquire(blocking=False)  # callbacks do not overlap
        time.sleep(0.01)
        events.append(event)
        inside.release()

    again = compare(data, QUICK, n_trials=3, n_jobs=2, folder=tmp_path / "out", callback=note)
    assert again.metrics_csv() == result.metrics_csv()
    assert again.models_csv() == result.models_csv()
    assert again.pairs_csv() == result.pairs_csv()
    assert sorted(e.model for e in events if e.kind == "done") == sorted(QUICK)
    assert sum(e.kind == "trial" for e in events) == 3 + 3 + 1 + 1
    assert not (tmp_path / "out" / ".data").exists()
    # Finished models are kept; one that is lost or of other data is fitted again.
    lost = tmp_path / "out" / "models" / "random" / "split"
    shutil.rmtree(lost)
    events.clear()
    third = compare(data, QUICK, n_trials=3, folder=tmp_path / "out", callback=events.append)
    assert {e.model: e.kind for e in events if e.kind != "trial"} == {
        name: "done" if name == "random" else "kept" for name in QUICK
    }
    assert third.metrics_csv() == result.metrics_csv()
    events.clear()
    with pytest.raises(DataError, match="out: holds another comparison: "):
        compare(data, ["random"], random_state=1, folder=tmp_path / "out")
    compare(
        data, ["random"], random_state=1, folder=tmp_path / "out", callback=events.append,
        overwrite=True,
    )  # fmt: skip
    assert [e.kind for e in events] == ["trial", "done"]
    assert [path.name for path in (tmp_path / "out" / "models").iterdir()] == ["random"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_that_fails_is_reported_and_the_rest_go_on(data: rw.Dataset, n_jobs: int) -> None:
    entries: list[Any] = [Entry("broken", Broken()), Entry("nan", Broken("nan")), "best-feature"]
    if n_jobs == 2:
        entries.append(Entry("dies", Broken("die")))
    result = compare(data, [*entries, "random"], n_trials=1, n_jobs=n_jobs)
    assert [s.name for s in result.standings] == ["best-feature", "random"]
    reasons = {f.model: f.reason for f in result.failures}
    assert reasons["broken"] == "RuntimeError: cannot be fitted"
    assert "nan" in reasons
    if n_jobs == 2:
        assert reasons["dies"] == "its process was ended by signal 9 (SIGKILL)."
    assert "broken failed on split: RuntimeError: cannot be fitted" in str(result)


def test_nothing_is_left_when_all_fail(data: rw.Dataset) -> None:
    result = compare(data, [Entry("broken", Broken())])
    assert result.verdict == "Every model failed."
    with pytest.raises(ValueError, match="every model failed"):
        result.best  # noqa: B018
    with pytest.raises(KeyError, match="there is no model"):
        result.model("broken")
    assert result.pairs_csv() == ""


def test_the_verdict_says_how_sure_it_is(data: rw.Dataset) -> None:
    one = compare(data, ["best-feature"])
    assert one.verdict.endswith("; there is nothing to compare it with.")
    clear = compare(data, ["xendcg-linear", "random"], n_trials=1)
    assert clear.verdict.startswith("Too few queries to tell: 8 with a defined ndcg@10")
    assert clear.advice.startswith("Do not choose yet")
    twins = [Entry(name, rw.LinearRanker(alpha=0.1)) for name in ("one", "two", "three")]
    tied = compare(data, twins)
    assert tied.verdict.startswith("Too few queries to tell")
    assert tied.as_good == ["two", "three"]


def test_everything_is_written_down(result: rw.Comparison, tmp_path: Path) -> None:
    files = result.write(tmp_path / "out")
    assert [path.name for path in files] == [
        "metrics.csv",
        "models.csv",
        "timings.csv",
        "pairs.csv",
        "per_query.csv",
        "leaderboard.tex",
        "comparison.json",
    ]
    facts = json.loads(files[-1].read_text(encoding="utf-8"))
    assert [m["model"] for m in facts["models"]] == [s.name for s in result.standings]
    assert facts["card"]["data"][0]["fingerprint"] == result.folds[0].fingerprint
    assert math.isfinite(facts["models"][0]["score_us"])
    assert len(files[3].read_text(encoding="utf-8").splitlines()) == 1 + 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": []}, "metrics must name at least one metric."),
        ({"metrics": ["nope"]}, "there is no metric 'nope'."),
        ({"n_trials": 0}, "n_trials must be a positive integer, but is 0."),
        (
            {"metrics": ["ap(threshold=9)"]},
            "ap(threshold=9) is defined on none of the valid queries of split: there must be",
        ),
    ],
)
def test_bad_arguments_are_said_before_the_training(
    options: Any, message: str, data: rw.Dataset
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        compare(data, [Entry("broken", Broken())], **options)


def test_folds_have_their_own_parts(data: rw.Dataset) -> None:
    with pytest.raises(ValueError, match="folds have their own"):
        compare(split(data), test=data)
    with pytest.raises(ValueError, match="folds of different names"):
        compare(split(data) * 2)


def test_parameters_that_json_cannot_hold_become_texts(data: rw.Dataset) -> None:
    entry = Entry(
        "mine", rw.LinearRanker(alpha=0.1), {"loss": Choice((rw.losses.ListNet(), "listnet"))}
    )
    result = compare(data, [entry], n_trials=3)
    trials = result.outcomes["mine", "split"].facts["trials"]
    own = "ListNet(skip_empty=True)"
    assert {t["params"]["loss"] for t in trials} <= {"xendcg", "listnet", own}
    # An entry with the chosen parameters has them as they were given.
    text = result.standings[0].params[0]["loss"]
    assert result.tuned([entry])[0].estimator.loss == (rw.losses.ListNet() if text == own else text)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (None, ""),
        (274.0, "274 B"),
        (999.4, "999 B"),
        (999.5, "1.0 kB"),
        (3381, "3.4 kB"),
        (999_940, "999.9 kB"),
        (999_999, "1.0 MB"),
        (12_345_678, "12.3 MB"),
        (5e12, "5000.0 GB"),
    ],
)
def test_sizes_have_four_digits_at_most_before_gigabytes(n_bytes: float | None, text: str) -> None:
    assert size_text(n_bytes) == text


# ---- executors of others ----


def test_the_same_by_any_executor(data: rw.Dataset, result: rw.Comparison, tmp_path: Path) -> None:
    events: list[Event] = []
    names = ["xendcg-linear", "random"]
    entries: list[Any] = [*names, Entry("dies", Broken("die"))]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        found = compare(
            data, entries, n_trials=3, executor=executor, folder=tmp_path, callback=events.append
        )
        assert executor.submit(len, "alive").result() == 5  # it is the caller's
    for table in ("metrics_csv", "models_csv"):
        expected = getattr(result, table)().splitlines()
        assert getattr(found, table)().splitlines() == [
            line for line in expected if line.split(",")[0] in ("model", *names)
        ]
    assert [(f.model, f.reason) for f in found.failures] == [
        ("dies", "its process was ended by signal 9 (SIGKILL).")
    ]
    assert sorted({e.kind for e in events}) == ["done", "failed"]
    assert not (tmp_path / ".data").exists()
    # A second call does only what is missing.
    events.clear()
    with ThreadPoolExecutor(1) as executor:
        compare(
            data, entries, n_trials=3, executor=executor, folder=tmp_path, callback=events.append
        )
    assert sorted((e.kind, e.model) for e in events) == sorted(
        [("failed", "dies"), *(("kept", name) for name in names)]
    )


def test_any_model_is_refitted_to_all_queries(data: rw.Dataset) -> None:
    from sklearn.linear_model import Ridge

    ridge = Entry("ridge", Ridge(), {"alpha": Choice((1.0, 100.0))})
    result = compare(data, [ridge, "pamir", "xendcg-trees", "random"], n_trials=2)
    refitted = result.refit("ridge")
    assert refitted.alpha == result.outcomes["ridge", "split"].facts["params"]["alpha"]
    expected = Ridge(alpha=refitted.alpha).fit(data.X, data.y)
    np.testing.assert_allclose(refitted.coef_, expected.coef_, atol=1e-6)
    trees = result.refit("xendcg-trees")
    assert trees.n_iter_ == result.model("xendcg-trees").n_iter_
    assert trees.early_stopping_rounds is None
    assert result.refit("pamir").score(data.X, data.y, data.qid) > 0.5
    assert type(result.refit()) is type(result.chosen(result.best))
    half = data.split((0.5, 0.5))[0]
    assert not np.array_equal(result.refit("ridge", half).coef_, refitted.coef_)
