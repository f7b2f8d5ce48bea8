"""A comparison's folder: what is kept, what is done again, who may write to it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.comparison import Entry, Event, Range, compare, place
from rankwright.evaluation import Fold, split
from rankwright.exceptions import DataError, DataWarning


@pytest.fixture(scope="module")
def data() -> rw.Dataset:
    return rw.data.make_mslr_like(n_queries=40, n_features=12, mean_docs=12)


def swapped(data: rw.Dataset) -> rw.Dataset:
    """Return the same queries and features with two labels exchanged."""
    y = data.y.copy()
    first = int(np.flatnonzero(y != y[0])[0])
    y[[0, first]] = y[[first, 0]]
    return data.with_labels(y)


CHANGES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "trials": {"n_trials": 3},
    "seed of the draws": {"random_state": 1},
    "metric": {"metrics": ["ap"]},
    "parameter": {"alpha": 0.02},
    "space": {"high": 0.8},
    "labels": {"labels": "swapped"},
}
OTHER = {
    "trials": "trials (2, not 3)",
    "seed of the draws": "random_state (0, not 1)",
    "metric": "metric ('ndcg@10', not 'ap')",
    "labels": "the data",
}  # another comparison, which needs another folder


@pytest.mark.parametrize("what", CHANGES)
def test_only_what_was_done_in_the_same_way_is_kept(
    what: str, data: rw.Dataset, tmp_path: Path
) -> None:
    (fold,) = split(data)

    def go(folder: Path, *, alpha: float = 0.01, high: float = 0.9, labels: str = "", **options: Any
    ) -> tuple[rw.Comparison, Event]:  # fmt: skip
        ranker = rw.LinearRanker("listnet", "elasticnet", alpha)
        entry = Entry("mine", ranker, {"l1_ratio": Range(0.1, high)})
        train = swapped(fold.train) if labels else fold.train
        events: list[Event] = []
        options = {"n_trials": 2, "metrics": ["ndcg@10"], **options}
        folds = [Fold("split", train, fold.valid, fold.test)]
        result = compare(folds, [entry], folder=folder, callback=events.append, **options)
        return result, events[-1]

    go(tmp_path / "out")
    if what in OTHER:
        message = f"out: holds another comparison: {OTHER[what]} differs. Choose another folder"
        with pytest.raises(DataError, match=re.escape(message)):
            go(tmp_path / "out", **CHANGES[what])
        assert go(tmp_path / "out")[1].kind == "kept"  # nothing was lost
    result, event = go(tmp_path / "out", **CHANGES[what], overwrite=what in OTHER)
    assert event.kind == ("kept" if what == "nothing" else "done")
    fresh, _ = go(tmp_path / "fresh", **CHANGES[what])
    assert result.models_csv() == fresh.models_csv()
    assert result.per_query_csv() == fresh.per_query_csv()


def test_a_folder_is_written_to_by_one_at_a_time(data: rw.Dataset, tmp_path: Path) -> None:
    def second(event: Event) -> None:
        who = rf"another rankwright \(pid {os.getpid()} on .*\) is using this folder\."
        with pytest.raises(DataError, match=rf"^{re.escape(str(tmp_path))}: {who}"):
            compare(data, ["random"], folder=tmp_path)

    compare(data, ["random"], folder=tmp_path, callback=second)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file: must be a folder, but is a file\."):
        compare(data, ["random"], folder=tmp_path / "file")


# ---- damaged folders ----


def _scores(change: Any) -> Any:
    def damage(folder: Path) -> None:
        np.save(folder / "scores.npy", change(np.load(folder / "scores.npy")))

    return damage


def _result(change: Any) -> Any:
    def damage(folder: Path) -> None:
        path = folder / "result.json"
        path.write_text(json.dumps(change(json.loads(path.read_text(encoding="utf-8")))))

    return damage


def _bytes(name: str, content: bytes) -> Any:
    return lambda folder: (folder / name).write_bytes(content)


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def _a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("")


DAMAGES: dict[str, Any] = {
    "empty scores": _bytes("scores.npy", b""),
    "scores are a broken archive": _bytes("scores.npy", b"PK\x03\x04 garbage"),
    "scores of a pickle": _bytes("scores.npy", b"\x80\x04N."),
    "cut scores": lambda folder: os.truncate(folder / "scores.npy", 100),
    "scores of another shape": _scores(lambda scores: scores[:-1]),
    "scores that are not finite": _scores(lambda scores: np.full_like(scores, np.nan)),
    "scores of another type": _scores(lambda scores: scores.astype(np.complex128)),
    "empty result": _bytes("result.json", b""),
    "result is no JSON": _bytes("result.json", b"\xff{"),
    "result is a list": _result(lambda facts: [facts]),
    "the key alone": _result(lambda facts: {"key": facts["key"]}),
    "no values": _result(lambda facts: {k: v for k, v in facts.items() if k != "valid"}),
    "empty model": _bytes("model.rw", b""),
    "no model": lambda folder: (folder / "model.rw").unlink(),
    "an empty folder": _emptied,
    "a file": _a_file,
}


@pytest.fixture(scope="module")
def finished(data: rw.Dataset, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("finished")
    result = compare(data, ["xendcg-linear", "random"], n_trials=1, folder=folder)
    return folder, result.per_query_csv()


@pytest.mark.parametrize("how", DAMAGES)
def test_what_is_damaged_is_done_again(
    how: str, data: rw.Dataset, finished: tuple[Path, str], tmp_path: Path
) -> None:
    folder, expected = finished
    shutil.copytree(folder, tmp_path / "out")
    DAMAGES[how](tmp_path / "out" / "models" / "xendcg-linear" / "split")
    events: list[Event] = []
    note = "results that are damaged are done again: xendcg-linear split."
    for again in (False, True):
        events.clear()
        with contextlib.nullcontext() if again else pytest.warns(DataWarning, match=note):
            result = compare(
                data, ["xendcg-linear", "random"], n_trials=1, folder=tmp_path / "out",
                callback=events.append,
            )  # fmt: skip
        kinds = {e.model: e.kind for e in events if e.kind != "trial"}
        assert kinds == {"xendcg-linear": "kept" if again else "done", "random": "kept"}
        assert result.per_query_csv() == expected
        assert result.model("xendcg-linear").coef_.shape == (12,)


def test_another_version_of_the_library_does_all_again(
    data: rw.Dataset, finished: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, expected = finished
    shutil.copytree(folder, tmp_path / "out")
    monkeypatch.setattr("rankwright.comparison.keys.code_hash", lambda: "0" * 16)
    note = "results that are of another version are done again: xendcg-linear split, random split."
    with pytest.warns(DataWarning, match=note):
        result = compare(data, ["xendcg-linear", "random"], n_trials=1, folder=tmp_path / "out")
    assert result.per_query_csv() == expected


def test_what_was_told_is_on_disk(data: rw.Dataset, tmp_path: Path) -> None:
    def look(event: Event) -> None:
        if event.kind == "done":
            place = tmp_path / "models" / event.model / event.fold
            assert {p.name for p in place.iterdir()} >= {"result.json", "scores.npy", "model.rw"}

    compare(data, ["best-feature", "random"], folder=tmp_path, callback=look)


@pytest.mark.parametrize("about", ["[]", "{}", "3"])
def test_a_damaged_about_is_written_again(about: str, tmp_path: Path) -> None:
    (tmp_path / "about.json").write_text(about)
    with place.comparison_folder(tmp_path, {"seed": 0}, overwrite=False):
        assert "seed" in (tmp_path / "about.json").read_text()


def test_overwrite_removes_what_a_comparison_wrote(tmp_path: Path) -> None:
    for name in ("pairs.csv", "noise-labels.csv"):
        (tmp_path / name).write_text("x")
    place.check_comparison_folder(tmp_path)  # they are names of its own
    with place.comparison_folder(tmp_path, {}, overwrite=True):
        assert (tmp_path / "pairs.csv").exists()  # no about.json: nobody knows whose it is
    with place.comparison_folder(tmp_path, {}, overwrite=True):
        assert not list(tmp_path.glob("*.csv"))
