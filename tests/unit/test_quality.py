"""The laboratory of benchmarks: blind searches, figures, tables."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.quality import __main__ as program
from benchmarks.quality import laboratory
from benchmarks.quality.blind import Sealed, without_labels
from benchmarks.quality.contenders import OURS, PATIENCE, TREES, contenders, is_ours, library
from benchmarks.quality.laboratory import (
    CHOICE,
    LETOR,
    OutOfTimeError,
    chosen_on_validation,
    ranks,
    run_set,
)
from benchmarks.quality.peers import PEERS, installed
from benchmarks.quality.sets import GENERATED, sets
from benchmarks.quality.table import PUBLISHED, markdown

import rankwright as rw
from rankwright.comparison import Choice, Entry
from rankwright.evaluation import Fold, rotate
from rankwright.metrics import parse

ALPHAS = {"alpha": Choice((0.01, 3.0))}


@pytest.fixture(scope="module")
def folds() -> list[Fold]:
    return rotate(rw.data.make_mslr_like(n_queries=60, n_features=6, mean_docs=8), 3)


def entries() -> list[Entry]:
    """Two of ours, and one under a peer's name, which nobody needs to install."""
    linear = rw.LinearRanker("listnet", alpha=0.1, standardize=True)
    names = ("listnet", "xendcg", "LightGBM-lambdarank")
    return [
        Entry(name, linear.__class__(**linear.get_params() | {"alpha": 10.0**-i}), ALPHAS)
        for i, name in enumerate(names)
    ]


def run(sealed: Sealed, folder: Path, **options: Any) -> dict[str, Any]:
    told: list[str] = options.pop("told", [])
    few: Any = {"n_trials": 2, "n_jobs": 1, "told": told.append}
    return run_set(sealed, entries(), folder, **few | options)


@pytest.fixture(scope="module")
def record(folds: list[Fold], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("quality")
    found = {name: run(Sealed.of(name, folds), folder) for name in ("ohsumed", "other")}
    return {"versions": {"Python": "3"}, "sets": found}


# ---- nobody sees the test labels ----


def test_labels_are_taken_out(folds: list[Fold]) -> None:
    hidden = without_labels(folds[0].test)
    assert hidden.X is folds[0].test.X
    firsts = folds[0].test.groups.indptr[:-1]
    assert np.flatnonzero(hidden.y).tolist() == firsts.tolist()


class Answers(dict[str, Any]):
    """Test queries that may be read only when every choice is on the disk."""

    def __init__(self, answers: Any, expected: list[Path]) -> None:
        super().__init__(answers)
        self.expected, self.read = expected, 0

    def __getitem__(self, fold: str) -> Any:
        missing = [path for path in self.expected if not path.exists()]
        assert not missing, f"test labels are read before {missing} is written"
        self.read += 1
        return super().__getitem__(fold)


def test_labels_are_read_when_all_choices_are_written(folds: list[Fold], tmp_path: Path) -> None:
    sealed = Sealed.of("set", folds)
    expected = [
        tmp_path / "set" / "models" / entry.name / fold.name / "result.json"
        for entry in entries()
        for fold in folds
    ]
    answers = Answers(sealed._answers, expected)
    run(replace(sealed, _answers=answers), tmp_path)
    assert answers.read == len(expected)


def test_what_is_searched_holds_no_test_label(
    folds: list[Fold], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the folds nor the entries, which are all that a search is given."""
    given: list[Any] = []

    def spy(*args: Any, **options: Any) -> Any:
        given.append((args, options))
        raise OutOfTimeError

    monkeypatch.setattr(laboratory, "compare", spy)
    with pytest.raises(OutOfTimeError):
        run(Sealed.of("set", folds), tmp_path)
    [(args, options)] = given
    assert len(args) == 2
    assert set(options) == {"metrics", "n_trials", "n_jobs", "folder", "callback"}
    for seen, fold in zip(args[0], folds, strict=True):
        assert set(np.unique(seen.test.y)) == {0.0, 1.0}
        assert not np.shares_memory(seen.test.y, fold.test.y)
        assert not any(value is fold.test for value in vars(seen).values())


def test_other_test_labels_change_nothing_but_the_figures(
    folds: list[Fold], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    others = [
        replace(fold, test=fold.test.with_labels(rng.permutation(fold.test.y))) for fold in folds
    ]
    first = run(Sealed.of("set", folds), tmp_path)
    told: list[str] = []
    second = run(Sealed.of("set", others), tmp_path, told=told)
    assert len(told) == 9
    assert all(": kept, " in line for line in told)  # not even done again
    for name, found in first["contenders"].items():
        for fact in ("params", "trial", "valid"):
            assert second["contenders"][name][fact] == found[fact]
        assert second["contenders"][name][CHOICE] != found[CHOICE]
    assert {name: c["picks"] for name, c in first["chosen"].items()} == {
        name: c["picks"] for name, c in second["chosen"].items()
    }


def test_no_figure_before_all_are_finished(folds: list[Fold], tmp_path: Path) -> None:
    sealed = Sealed.of("set", folds)
    kept = rw.compare(list(sealed.folds), entries()[:1], n_trials=1, folder=tmp_path / "kept")
    message = "set: xendcg must have written its choice on Fold1 before any test label is read."
    with pytest.raises(RuntimeError, match=f"^{re.escape(message)}"):
        sealed.judge(kept, ["listnet", "xendcg"], [CHOICE])
    in_memory = rw.compare(list(sealed.folds), entries()[:1], n_trials=1)
    with pytest.raises(RuntimeError, match=r"^set: listnet must have written"):
        sealed.judge(in_memory, ["listnet"], [CHOICE])


# ---- runs ----


def test_a_run_that_was_stopped_does_the_rest(folds: list[Fold], tmp_path: Path) -> None:
    sealed = Sealed.of("set", folds)
    with pytest.raises(OutOfTimeError):
        run(sealed, tmp_path, deadline=time.monotonic() - 1)
    told: list[str] = []
    stopped = run(sealed, tmp_path, told=told)
    assert len(told) == 9
    assert sum(": kept, " in line for line in told) == 1
    # What is kept takes no time: the figures come, however late it is.
    late = run(sealed, tmp_path, deadline=time.monotonic() - 1)
    assert late["contenders"].keys() == stopped["contenders"].keys()
    whole = run(sealed, tmp_path / "again")
    for found in (stopped, whole):
        for contender in found["contenders"].values():
            del contender["seconds"]
    assert stopped == whole


def test_one_that_fails_is_told_and_left_out(folds: list[Fold], tmp_path: Path) -> None:
    broken = Entry("broken", rw.LinearRanker("no-loss"))
    few: Any = {"n_trials": 1, "n_jobs": 1, "told": str}
    found = run_set(Sealed.of("set", folds), [*entries(), broken], tmp_path, **few)
    assert "broken" not in found["contenders"]
    assert found["failures"][0].startswith("broken failed on Fold1, Fold2, Fold3: ValueError: loss")


# ---- figures ----


def test_figures_are_what_the_pieces_say(
    record: dict[str, Any], folds: list[Fold], tmp_path: Path
) -> None:
    found = record["sets"]["other"]
    assert found["n_queries"] == 60
    means = {name: one[CHOICE]["mean"] for name, one in found["contenders"].items()}
    assert found["order"] == sorted(means, key=lambda name: -means[name])
    # By hand: fit what was chosen on each fold, and measure.
    ndcg = parse(CHOICE)
    for entry in entries():
        facts = found["contenders"][entry.name]
        pooled = []
        for fold, params, valid in zip(folds, facts["params"], facts["valid"], strict=True):
            model = rw.LinearRanker(**entry.estimator.get_params() | params)
            scores = model.fit(fold.train.X, fold.train.y, fold.train.qid).predict(fold.test.X)
            pooled.append(ndcg.per_query(fold.test.y, scores, fold.test.groups))
            watched = model.predict(fold.valid.X)
            assert valid == pytest.approx(ndcg.mean(fold.valid.y, watched, fold.valid.groups))
        assert facts[CHOICE]["mean"] == pytest.approx(np.nanmean(np.concatenate(pooled)))
        assert facts[CHOICE]["low"] < facts[CHOICE]["mean"] < facts[CHOICE]["high"]
        by_fold = [np.nanmean(values) for values in pooled]
        assert facts[CHOICE]["mean_of_folds"] == pytest.approx(np.mean(by_fold))
    assert {p["b"] for p in found["pairs"]} == set(found["order"][1:])


def test_a_library_takes_what_is_best_on_validation(record: dict[str, Any]) -> None:
    found = record["sets"]["other"]
    valid = {name: one["valid"] for name, one in found["contenders"].items()}
    assert set(found["chosen"]) == {"rankwright", "LightGBM"}
    assert found["chosen"]["LightGBM"]["picks"] == ["LightGBM-lambdarank"] * 3
    # Of a library with one contender, that one, on all folds.
    assert found["chosen"]["LightGBM"][CHOICE] == found["contenders"]["LightGBM-lambdarank"][CHOICE]
    for fold, pick in enumerate(found["chosen"]["rankwright"]["picks"]):
        assert valid[pick][fold] == max(valid[name][fold] for name in ("listnet", "xendcg"))
    tested = [(p["a"], p["b"]) for p in found["ours_against_peers"]]
    ours = "rankwright-chosen"
    assert tested == [(ours, "LightGBM-lambdarank"), (ours, "LightGBM-chosen")]


def test_test_figures_have_no_part_in_the_choice() -> None:
    # Whoever is best on the test queries of a fold is worst on its validation queries.
    names, valid = (
        ("listnet", "xendcg", "LightGBM-lambdarank"),
        ([0.9, 0.2], [0.3, 0.8], [1.0, 1.0]),
    )
    folds = [SimpleNamespace(name=name) for name in ("Fold1", "Fold2")]
    outcomes = {
        (name, fold.name): SimpleNamespace(valid=value)
        for name, row in zip(names, valid, strict=True)
        for fold, value in zip(folds, row, strict=True)
    }
    values = {
        name: [{CHOICE: np.array([1.0 - value])} for value in row]
        for name, row in zip(names, valid, strict=True)
    }
    comparison: Any = SimpleNamespace(outcomes=outcomes)
    sealed: Any = SimpleNamespace(folds=folds)
    parts, picks = chosen_on_validation("rankwright", values, comparison, sealed)
    assert picks == ["listnet", "xendcg"]
    assert [part[CHOICE].tolist() for part in parts] == [[1 - 0.9], [1 - 0.8]]


def test_ranks_over_sets(record: dict[str, Any]) -> None:
    places = ranks(record)
    order = record["sets"]["other"]["order"]
    assert [places[name]["rank"] for name in order] == [1.0, 2.0, 3.0]  # both sets are the same
    # Who is not in all sets has no rank, and does not count in that of others.
    cut = json.loads(json.dumps(record))
    del cut["sets"]["ohsumed"]["contenders"][order[0]]
    cut["sets"]["ohsumed"]["order"].remove(order[0])
    assert [ranks(cut)[name]["rank"] for name in order[1:]] == [1.0, 2.0]
    assert order[0] not in ranks(cut)


def test_tables_tell_the_figures(record: dict[str, Any]) -> None:
    text = markdown(record)
    found = record["sets"]["ohsumed"]
    best = found["order"][0]
    row = next(line for line in text.splitlines() if line.startswith(f"| {best} |"))
    assert row.split("|")[2].strip() == f"**{found['contenders'][best][CHOICE]['mean']:.4f}**"
    for name in found["order"]:
        assert f"| {name} |" in text
    value = found["chosen"]["rankwright"]["letor:ndcg@5"]
    published = PUBLISHED["ohsumed"]["letor:ndcg@5"]
    row = next(line for line in text.splitlines() if line.startswith("| ohsumed, `letor:ndcg@5`"))
    assert f"| {published:.4f} | {value['mean_of_folds']:.4f} [" in row
    said = {
        (0.7, 0.6, 0.8): ", at or above",
        (0.4, 0.3, 0.5): ", cannot tell",
        (0.4, 0.39, 0.41): ", below",
    }
    for (mean, low, high), words in said.items():
        value.update(mean_of_folds=mean, low=low, high=high)
        assert f"{mean:.4f} [{low:.4f}, {high:.4f}]{words} |" in markdown(record)
    assert all(f"`{metric}`" in text for metric in LETOR)
    assert "2 trials on all training queries" in text
    assert markdown({"sets": {}}) == "No set is finished yet.\n"


# ---- who and what ----


def test_contenders_have_the_same_limits() -> None:
    found = contenders()
    assert {"xendcg-trees", "lambdarank-trees", "xendcg-linear", "domination-rank"} <= {
        entry.name for entry in found
    }
    for entry in found:
        params = entry.estimator.get_params()
        if entry.family in ("trees", "graft"):
            assert params["n_estimators"] == TREES
            assert params["early_stopping_rounds"] == PATIENCE
            assert len(entry.space) >= 4
        assert entry.space


def test_what_is_not_there_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.quality.contenders.installed", lambda package: None)
    assert [entry.name for entry in contenders(["xendcg-linear", "CatBoost-YetiRank", "hope"])] == [
        "xendcg-linear"
    ]
    said = capsys.readouterr().out
    assert said == (
        "CatBoost-YetiRank: left out, catboost is not installed.\n"
        "hope: left out, there is no model of this name.\n"
    )


def test_names_tell_whose_they_are() -> None:
    assert {library(name) for name in OURS} == {"rankwright"}
    assert {library(name) for name in PEERS} == {"LightGBM", "XGBoost", "CatBoost"}
    assert not any(map(is_ours, PEERS))


@pytest.mark.parametrize("name", PEERS)
def test_peers_stop_on_validation_queries(name: str, folds: list[Fold]) -> None:
    kind, objective, known = PEERS[name]
    if installed(kind.package) is None:
        pytest.skip(f"needs {kind.package}")
    fold = folds[0]
    peer = kind(objective, n_estimators=12, early_stopping_rounds=3, **known | {"least": 1})
    peer.fit(fold.train.X, fold.train.y, fold.train.qid, valid=fold.valid)
    scores = peer.predict(fold.test.X)
    assert scores.shape == (fold.test.n_docs,)
    assert np.unique(scores).size > 2
    again = kind(objective, n_estimators=12, early_stopping_rounds=3, **known | {"least": 1})
    again.fit(fold.train.X, fold.train.y, fold.train.qid, valid=fold.valid)
    assert np.array_equal(again.predict(fold.test.X), scores)


def test_sets_are_found(
    tmp_path: Path, folds: list[Fold], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for i, fold in enumerate(folds, 1):
        for part, name in (("train", "train"), ("valid", "vali"), ("test", "test")):
            place = tmp_path / "letor" / "small" / f"Fold{i}" / f"{name}.txt"
            place.parent.mkdir(parents=True, exist_ok=True)
            rw.write_letor(fold.parts()[part], place)
    rw.write_letor(
        rw.data.make_mslr_like(n_queries=20, n_features=3, mean_docs=6), tmp_path / "f.txt"
    )
    sizes = {"n_queries": 30, "n_features": 4, "mean_docs": 8}
    monkeypatch.setitem(GENERATED, "mslr-like", ("make_mslr_like", sizes))
    monkeypatch.setitem(GENERATED, "web-like", ("make_nothing", {}))
    found = {sealed.name: sealed for sealed in sets([tmp_path, tmp_path / "f.txt"])}
    assert list(found) == ["small", "f", "mslr-like"]
    assert [fold.name for fold in found["small"].folds] == ["Fold1", "Fold2", "Fold3"]
    assert [fold.name for fold in found["mslr-like"].folds] == [f"draw{i}" for i in range(1, 8)]
    assert sum(fold.test.n_queries for fold in found["f"].folds) == 20
    assert "web-like: left out, there is no make_nothing." in capsys.readouterr().out
    assert [sealed.name for sealed in sets([tmp_path], ["small"])] == ["small"]


def test_the_program_writes_the_tables_and_goes_on(
    tmp_path: Path, folds: list[Fold], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(program, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(program, "sets", lambda *_: iter([Sealed.of("set", folds)]))
    monkeypatch.setattr(program, "contenders", lambda _: entries())
    monkeypatch.setattr(
        program, "run_set", lambda *a, **o: run_set(*a, **o | {"n_trials": 1, "n_jobs": 1})
    )
    out = tmp_path / "quality.json"
    monkeypatch.setattr("sys.argv", ["quality", "--out", str(out), "--minutes", "0"])
    program.main()
    assert "The time is over." in capsys.readouterr().out
    assert json.loads(out.read_text())["sets"] == {}
    monkeypatch.setattr("sys.argv", ["quality", "--out", str(out)])
    program.main()
    assert list(json.loads(out.read_text())["sets"]) == ["set"]
    assert f"Python {program.versions()['Python']}" in out.with_suffix(".md").read_text()
    out.with_suffix(".md").unlink()
    monkeypatch.setattr("sys.argv", ["quality", "--out", str(out), "--table"])
    program.main()
    assert "| listnet |" in out.with_suffix(".md").read_text()
