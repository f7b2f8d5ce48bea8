"""Successive halving: who sees how much, in comparisons and searches alike."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw
from rankwright.comparison import Choice, Entry, Range, Trial, tune
from rankwright.comparison import trial as searching
from rankwright.comparison.halving import HALVE_ABOVE, Rung, budget_text, rungs, survivors
from rankwright.comparison.space import Space, draw_parameters
from rankwright.comparison.trial import chosen_model
from rankwright.evaluation.folds import Fold, split
from rankwright.metrics import parse

SPACE: Space = {"alpha": Range(1e-3, 10.0, log=True)}
RANKER = rw.LinearRanker("listnet", alpha=0.1, standardize=True, missing="median")
LIMIT = 150  # documents; the data below have about four times as many to train on


@pytest.fixture(scope="module")
def data() -> rw.Dataset:
    return rw.data.make_mslr_like(n_queries=90, n_features=5, mean_docs=10)


@pytest.fixture(scope="module")
def fold(data: rw.Dataset) -> Fold:
    return split(data)[0]


# ---- the rule ----


@given(st.integers(1, 10**8), st.integers(1, 100), st.integers(1, 10**6))
def test_rungs_are_what_the_rule_says(n_docs: int, n_trials: int, limit: int) -> None:
    plan = rungs(n_docs, n_trials, limit)
    last = len(plan) - 1
    assert plan[0].n_trials == n_trials
    for r, rung in enumerate(plan):
        assert rung.share == Fraction(3) ** (r - last)
        assert r == 0 or rung.n_trials == ceil(plan[r - 1].n_trials / 3)
    # The least number of rungs: the one before would not do.
    assert n_docs * plan[0].share <= limit or plan[-1].n_trials == 1
    if last:
        assert n_docs * plan[1].share > limit
        assert plan[-2].n_trials > 1


def test_few_documents_few_trials_or_no_limit_are_one_rung() -> None:
    whole = [Rung(8, Fraction(1))]
    assert rungs(HALVE_ABOVE, 8, HALVE_ABOVE) == rungs(10**9, 8, None) == whole
    assert rungs(10**9, 1, HALVE_ABOVE) == [Rung(1, Fraction(1))]
    assert budget_text(whole) == "8 trials on all training queries"
    assert budget_text(rungs(10**6, 20, 10**6 - 1)) == (
        "20 trials on 1/3 of the training queries, the best 7 on all"
    )


def test_the_first_of_equal_trials_goes_on_and_failures_last() -> None:
    nan = float("nan")
    values = {0: 0.1, 1: nan, 2: 0.3, 3: 0.3, 4: 0.2}
    assert survivors(values, 1, parse("ndcg")) == [2]
    assert survivors(values, 3, parse("ndcg")) == [2, 3, 4]
    assert survivors(values, 2, parse("pairwise_error")) == [0, 4]
    assert survivors(values, 5, parse("ndcg")) == [0, 1, 2, 3, 4]


def test_samples_are_whole_queries_each_in_the_next(fold: Fold) -> None:
    parts = [Rung(1, Fraction(1, d)).part_of(fold, 3) for d in (9, 3, 1)]
    seen = [set(part.train.groups.names.tolist()) for part in parts]
    assert seen[0] < seen[1] < seen[2]
    assert [len(ids) for ids in seen] == [6, 18, 54]
    sizes = dict(zip(fold.train.groups.names.tolist(), fold.train.groups.sizes, strict=True))
    for part in parts:
        assert part.valid is fold.valid
        assert part.test is fold.test
        for query, size in zip(
            part.train.groups.names.tolist(), part.train.groups.sizes, strict=True
        ):
            assert size == sizes[query]


# ---- a comparison ----


class Counting(rw.LinearRanker):
    """A ranker that keeps how many documents it was shown."""

    shown: list[int] = []  # noqa: RUF012

    def fit_dataset(self, dataset: rw.Dataset, *more: Any, **options: Any) -> Any:
        Counting.shown.append(dataset.n_docs)
        return super().fit_dataset(dataset, *more, **options)


def test_thirds_go_on_to_more_queries_and_the_best_has_seen_all(fold: Fold) -> None:
    entry = Entry("counting", Counting("listnet", alpha=0.1, standardize=True), SPACE)
    Counting.shown.clear()
    result = rw.compare([fold], [entry], n_trials=5, halve_above=LIMIT)
    plan = rungs(fold.train.n_docs, 5, LIMIT)
    assert [rung.n_trials for rung in plan] == [5, 2, 1]
    docs = [rung.part_of(fold, 0).train.n_docs for rung in plan]
    assert Counting.shown == [docs[0]] * 5 + [docs[1]] * 2 + [docs[2]]
    facts = result.outcomes["counting", "split"].facts
    shares = [trial["share"] for trial in facts["trials"]]
    assert sorted(shares) == pytest.approx([1 / 9] * 3 + [1 / 3, 1])
    assert shares[facts["trial"]] == 1
    assert facts["valid"] == facts["trials"][facts["trial"]]["valid"]
    assert facts["params"] == facts["trials"][facts["trial"]]["params"]
    assert result.card["budget"] == budget_text(plan)
    assert result.card["halve_above"] == LIMIT


def searched(
    fold: Fold, values: Any, monkeypatch: Any, name: str = "ndcg@10", **options: Any
) -> Any:
    """Return the facts of a search whose trials come to these values, by their training data."""
    real = searching.run_trial

    def told(entry: Any, params: Any, part: Fold, metric: Any) -> Any:
        return replace(real(entry, params, part, metric), value=values(part.train.n_docs))

    with monkeypatch.context() as patch:
        patch.setattr(searching, "run_trial", told)
        entry = Entry("linear", RANKER, SPACE)
        return searching.run_search(entry, fold, parse(name), random_state=1, **options).facts


def test_the_best_is_the_first_of_those_that_saw_all(fold: Fold, monkeypatch: Any) -> None:
    # Samples look better than all queries do; in a rung all trials are equal.
    facts = searched(fold, lambda n: 1 - n / 1e6, monkeypatch, n_trials=5, halve_above=LIMIT)
    assert facts["valid"] == 1 - fold.train.n_docs / 1e6
    assert facts["trials"][facts["trial"]]["share"] == 1
    assert searched(fold, lambda n: 0.5, monkeypatch, n_trials=3)["trial"] == 0


@pytest.mark.parametrize(("name", "best"), [("ndcg@10", 2), ("pairwise_error", 1)])
def test_the_best_is_what_the_metric_says(
    name: str, best: int, fold: Fold, monkeypatch: Any
) -> None:
    values = iter([0.3, 0.1, 0.4])
    facts = searched(fold, lambda n: next(values), monkeypatch, name, n_trials=3)
    assert facts["trial"] == best
    drawn = [one["params"] for one in facts["trials"][1:]]
    assert drawn == [draw_parameters(SPACE, t, 1) for t in range(2)]
    assert drawn != [draw_parameters(SPACE, t, 0) for t in range(2)]


def test_the_same_parameters_are_not_fitted_twice(fold: Fold) -> None:
    few: Space = {"loss": Choice(("listnet", "xendcg"))}
    entry = Entry("counting", Counting("listnet", alpha=0.1, standardize=True), few)
    Counting.shown.clear()
    result = rw.compare([fold], [entry], n_trials=6)
    assert len(Counting.shown) == 2
    trials = result.outcomes["counting", "split"].facts["trials"]
    assert len(trials) == 6
    drawn = [draw_parameters(few, number) for number in range(5)]
    assert [trial["params"] for trial in trials] == [{"loss": "listnet"}, *drawn]
    for trial in trials:
        assert trial == next(t for t in trials if t["params"] == trial["params"])
    # Two go on, and both settings are among them.
    halved = rw.compare([fold], [entry], n_trials=6, halve_above=fold.train.n_docs - 1)
    shares = {
        (t["params"]["loss"], t["share"])
        for t in halved.outcomes["counting", "split"].facts["trials"]
    }
    assert {("listnet", 1.0), ("xendcg", 1.0)} <= shares


def test_one_that_is_not_searched_sees_all_at_once(fold: Fold) -> None:
    Counting.shown.clear()
    rw.compare([fold], [Entry("counting", Counting("listnet", alpha=0.1))], halve_above=LIMIT)
    assert Counting.shown == [fold.train.n_docs]


def test_the_same_on_two_processes(fold: Fold) -> None:
    entry = Entry("linear", RANKER, SPACE)
    options: Any = {"n_trials": 3, "halve_above": LIMIT, "metrics": ["ndcg@10"]}
    one = rw.compare([fold], [entry], **options)
    two = rw.compare([fold], [entry], n_jobs=2, **options)
    assert one.models_csv() == two.models_csv()
    assert one.metrics_csv() == two.metrics_csv()


def test_what_is_refitted_is_of_trials_that_saw_all() -> None:
    def trial(alpha: float, valid: float, share: float) -> dict[str, Any]:
        return {"params": {"alpha": alpha}, "valid": valid, "share": share, "grown": {}}

    entry = Entry("linear", RANKER, SPACE)
    folds = [
        [trial(0.1, 0.9, 1 / 3), trial(0.2, 0.6, 1.0), trial(0.3, 0.5, 1.0)],
        [trial(0.1, 0.9, 1 / 3), trial(0.2, 0.6, 1.0), trial(0.3, 0.8, 1.0)],
    ]
    assert chosen_model(entry, folds, parse("ndcg")).alpha == 0.3
    # What one fold dropped early is behind what all of them kept.
    folds[1][2] = trial(0.3, 0.99, 1 / 3)
    assert chosen_model(entry, folds, parse("ndcg")).alpha == 0.2
    # Less may be better; and a trial without a value is never the best.
    whole = [[trial(0.1, 0.5, 1.0), trial(0.2, 0.3, 1.0), trial(0.3, math.nan, 1.0)]]
    assert chosen_model(entry, whole, parse("pairwise_error")).alpha == 0.2
    assert chosen_model(entry, whole, parse("ndcg")).alpha == 0.1


def test_what_was_grown_is_told_by_the_folds_that_saw_most() -> None:
    def grown(n: int, share: float) -> list[dict[str, Any]]:
        return [{"params": {}, "valid": 0.5, "share": share, "grown": {"n_estimators": n}}]

    entry = Entry("trees", rw.BoostedRanker(), {})
    folds = [grown(10, 1 / 3), grown(70, 1.0), grown(11, 1 / 3), grown(90, 1.0)]
    assert chosen_model(entry, folds, parse("ndcg")).n_estimators == 80


@pytest.mark.parametrize("value", [0, 1.5, True, "all"])
def test_a_limit_must_be_a_number_of_documents(value: Any, data: rw.Dataset) -> None:
    message = f"halve_above must be a positive integer or None, but is {value!r}."
    with pytest.raises(ValueError, match=message):
        rw.compare(data, ["random"], halve_above=value)
    with pytest.raises(ValueError, match=message):
        tune(RANKER, data, SPACE, halve_above=value)


# ---- a search ----


def told(trials: list[Trial]) -> list[Any]:
    return [(t.number, t.params, t.value, t.folds, t.share) for t in trials]


@pytest.mark.parametrize("sampler", ["random", "optuna"])
def test_a_search_goes_by_the_same_rungs_and_resumes(
    sampler: Any, data: rw.Dataset, tmp_path: Path
) -> None:
    if sampler == "optuna":
        pytest.importorskip("optuna", reason="needs the extra tune")
    options: Any = {"n_trials": 4, "n_folds": 2, "halve_above": LIMIT, "sampler": sampler}
    fits: list[Trial] = []
    path = tmp_path / "study.jsonl"
    study = tune(RANKER, data, SPACE, path=path, callback=fits.append, **options)
    assert [t.share for t in fits] == pytest.approx([1 / 9] * 4 + [1 / 3] * 2 + [1])
    assert [t.number for t in study.trials] == [0, 1, 2, 3]
    first, second = fits[:4], fits[4:6]
    by_value = sorted(first, key=lambda t: (-t.value, t.number))
    assert {t.number for t in second} == {t.number for t in by_value[:2]}
    assert study.best is study.trials[max(second, key=lambda t: t.value).number]
    assert study.best.share == 1
    assert study.best_first()[0] is study.best
    assert [t.params for t in fits[4:]] == [first[t.number].params for t in fits[4:]]
    # Killed in the middle of the second rung.
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:6]))
    again: list[Trial] = []
    resumed = tune(RANKER, data, SPACE, path=path, callback=again.append, **options)
    assert told(again) == told(fits[5:])
    assert told(resumed.trials) == told(study.trials)


def test_a_study_shows_who_saw_how_much(data: rw.Dataset) -> None:
    study = tune(RANKER, data, {"alpha": Choice((1e-3, 9.0))}, n_trials=2, halve_above=400)
    assert str(study).splitlines()[0].split() == [
        "trial",
        "ndcg@10",
        "alpha",
        "of",
        "the",
        "queries",
    ]
    assert [line.split()[-1] for line in str(study).splitlines()[1:]] == ["all", "1/3"]
    whole = tune(RANKER, data, SPACE, n_trials=2, n_folds=2)
    assert "queries" not in str(whole)
