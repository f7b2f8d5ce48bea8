"""Search over query folds, and studies on disk."""

from __future__ import annotations

import contextlib
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import rankwright as rw
from rankwright.comparison import Choice, Range, Trial, tune
from rankwright.comparison.space import Space, draw_parameters
from rankwright.exceptions import DataError, DataWarning

SPACE: Space = {"alpha": Range(1e-3, 10.0, log=True), "loss": Choice(("listnet", "xendcg"))}
RANKER = rw.LinearRanker("listnet", alpha=0.1, standardize=True)


@pytest.fixture(scope="module")
def data() -> rw.Dataset:
    return rw.data.make_mslr_like(n_queries=24, n_features=6, mean_docs=10)


def note(expected: bool, text: str) -> Any:
    return pytest.warns(DataWarning, match=text) if expected else contextlib.nullcontext()


def values(trials: list[Trial]) -> list[Any]:
    return [(t.number, t.params, t.value, t.folds) for t in trials]


def test_trials_are_what_the_folds_say(data: rw.Dataset) -> None:
    study = tune(RANKER, data, SPACE, n_trials=3, n_folds=2)
    assert [t.params for t in study.trials] == [
        {"alpha": 0.1, "loss": "listnet"},
        draw_parameters(SPACE, 0),
        draw_parameters(SPACE, 1),
    ]
    for trial in study.trials:
        pooled = []
        for train, left_out in data.folds(2, 0):
            model = clone(RANKER).set_params(**trial.params).fit(train.X, train.y, train.qid)
            metric = rw.metrics.NDCG(k=10)
            pooled.append(metric.per_query(left_out.y, model.predict(left_out.X), left_out.groups))
        assert trial.folds == pytest.approx([np.nanmean(v) for v in pooled])
        assert trial.value == pytest.approx(np.nanmean(np.concatenate(pooled)))
    assert study.best.value == max(t.value for t in study.trials)
    assert study.to_dict()["best"]["number"] == study.best.number


def test_lower_may_be_better(data: rw.Dataset) -> None:
    study = tune(RANKER, data, SPACE, n_trials=3, metric="pairwise_error")
    assert study.best.value == min(t.value for t in study.trials)


def test_trees_watch_queries_of_their_own(data: rw.Dataset) -> None:
    trees = rw.BoostedRanker(n_estimators=5, early_stopping_rounds=2, min_child_samples=2)
    study = tune(trees, data, {"num_leaves": Choice((3, 5))}, n_trials=2)
    assert all(not t.error for t in study.trials)
    assert not math.isnan(study.best.value)


def test_a_trial_that_fails_is_told_and_the_rest_go_on(data: rw.Dataset) -> None:
    seen: list[Trial] = []
    study = tune(RANKER, data, {"loss": Choice(("no\nloss",))}, n_trials=2, callback=seen.append)
    assert seen == study.trials
    assert study.trials[1].error.startswith("ValueError: loss must be one of ")
    assert math.isnan(study.trials[1].value)
    assert study.best.number == 0
    failing = tune(rw.LinearRanker("nope"), data, {"alpha": Choice((1.0,))}, n_trials=1)
    with pytest.raises(ValueError, match="no trial succeeded: ValueError: loss must be one of"):
        failing.best  # noqa: B018


@pytest.mark.parametrize("sampler", ["random", "optuna"])
@pytest.mark.parametrize("cut", [0, 7])
def test_a_study_goes_on_where_it_stopped(
    sampler: Any, cut: int, data: rw.Dataset, tmp_path: Path
) -> None:
    if sampler == "optuna":
        pytest.importorskip("optuna", reason="needs the extra tune")
    path = tmp_path / "study.jsonl"
    options: Any = {"n_folds": 2, "sampler": sampler, "random_state": 3}
    whole = tune(RANKER, data, SPACE, n_trials=5, **options)
    tune(RANKER, data, SPACE, n_trials=3, path=path, **options)
    # Killed while it wrote the last line.
    path.write_bytes(path.read_bytes()[: -cut or None])
    done: list[int] = []
    with note(cut > 0, r"study\.jsonl: 1 line is damaged: what was there is done again\."):
        again = tune(
            RANKER, data, SPACE, n_trials=5, path=path, callback=lambda t: done.append(t.number),
            **options,
        )  # fmt: skip
    assert done == ([3, 4] if cut == 0 else [2, 3, 4])
    assert values(again.trials) == values(whole.trials)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 6
    # All there: nothing is fitted.
    third = tune(
        RANKER, data, SPACE, n_trials=2, path=path, callback=lambda t: done.append(t.number),
        **options,
    )  # fmt: skip
    assert done[-1] == 4
    assert values(third.trials) == values(whole.trials[:2])


def test_values_that_json_cannot_hold_come_back(data: rw.Dataset, tmp_path: Path) -> None:
    space: Space = {"loss": Choice((rw.losses.ListNet(), rw.losses.XENDCG(gamma=0.5)))}
    options: Any = {"n_trials": 3, "n_folds": 2, "path": tmp_path / "s.jsonl"}
    first = tune(RANKER, data, space, **options)
    again = tune(RANKER, data, space, **options)
    assert [t.params for t in again.trials] == [t.params for t in first.trials]
    assert isinstance(again.trials[1].params["loss"], rw.losses.XENDCG | rw.losses.ListNet)


@pytest.mark.parametrize("sampler", ["random", "optuna"])
def test_the_same_trials_on_any_number_of_processes(
    sampler: Any, data: rw.Dataset, tmp_path: Path
) -> None:
    if sampler == "optuna":
        pytest.importorskip("optuna", reason="needs the extra tune")
    options: Any = {"n_trials": 5, "n_folds": 2, "sampler": sampler}
    here = tune(RANKER, data, SPACE, **options)
    told: list[int] = []
    path = tmp_path / "s.jsonl"
    there = tune(
        RANKER,
        data,
        SPACE,
        n_jobs=2,
        path=path,
        callback=lambda t: told.append(t.number),
        **options,
    )
    assert values(there.trials) == values(here.trials)
    assert told == [0, 1, 2, 3, 4]
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    assert [line["number"] for line in lines] == told


def test_optuna_learns_from_the_trials(data: rw.Dataset) -> None:
    pytest.importorskip("optuna", reason="needs the extra tune")
    space = {**SPACE, "tol": Range(1e-6, 1e-3, log=True), "max_iter": Range(50, 100, integer=True)}
    ranker = clone(RANKER).set_params(tol=1e-4, max_iter=80)
    study = tune(ranker, data, space, n_trials=4, n_folds=2, sampler="optuna")
    assert len({json.dumps(t.params) for t in study.trials}) == 4
    for trial in study.trials:
        assert 50 <= trial.params["max_iter"] <= 100
        assert trial.params["loss"] in ("listnet", "xendcg")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trials": 0}, "n_trials must be a positive integer, but is 0."),
        ({"space": {}}, "space must name at least one parameter to search."),
        ({"space": {"beta": Choice((1,))}}, "tuned has no parameter 'beta' to search;"),
        ({"sampler": "grid"}, "sampler must be 'random' or 'optuna', but is 'grid'."),
        ({"metric": "nope"}, "there is no metric 'nope'."),
        ({"n_folds": 50}, "50 folds need as many queries, but there are 24."),
    ],
)
def test_bad_arguments_are_said(options: Any, message: str, data: rw.Dataset) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        tune(RANKER, data, **{"space": SPACE, **options})


def test_a_study_of_another_search_is_not_mixed_in(data: rw.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    tune(RANKER, data, SPACE, n_trials=1, path=path)
    before = path.read_bytes()
    with pytest.raises(
        DataError, match=r"is a study of another search: random_state \(there 0\) differ"
    ):
        tune(RANKER, data, SPACE, n_trials=2, random_state=1, path=path)
    with pytest.raises(DataError, match="is a study of another search: estimator differ"):
        tune(clone(RANKER).set_params(penalty="l1"), data, SPACE, n_trials=2, path=path)
    assert path.read_bytes() == before
    for text in ("qid,score\n1,2\n", '{"a": 1}\n', "[1]\n", "a list without an end"):
        path.write_text(text)
        with pytest.raises(DataError, match=r"study\.jsonl: is not a study\."):
            tune(RANKER, data, SPACE, n_trials=2, path=path)
        assert path.read_text(encoding="utf-8") == text
    with pytest.raises(DataError, match="cannot be"):
        tune(RANKER, data, SPACE, n_trials=1, path=tmp_path)
    tune(RANKER, data, SPACE, n_trials=1, path=tmp_path / "new" / "study.jsonl")
    assert (tmp_path / "new" / "study.jsonl").exists()
    with pytest.raises(DataError, match="cannot be written"):
        tune(RANKER, data, SPACE, n_trials=1, path=tmp_path / "study.jsonl" / "no" / "a.jsonl")


def test_without_optuna_it_is_named(data: rw.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"needs the package optuna.*rankwright\[tune\]"):
        tune(RANKER, data, SPACE, sampler="optuna")
