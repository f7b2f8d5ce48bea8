"""``rankwright log``: export, info, expire."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import rankwright as rw
from rankwright.serve.learning import following
from rankwright.serve.records import NewEvent
from rankwright.serve.store import open_store
from tests.interfaces.conftest import Cli
from tests.serve_logs import N_FEATURES, feedback, fitted, graded, learn_all, other_model, served

NAMES = ["price", "age", "title match", "clicks"]


def named() -> rw.SLAMPerceptron:
    model: rw.SLAMPerceptron = fitted()
    model.feature_names_in_ = np.array(NAMES, dtype=object)
    return model


def write(path: Path, events: Sequence[NewEvent], name: str = "s.db") -> Path:
    store = served(path, named(), name=name)
    store.write([], list(events))
    learn_all(store)
    store.close()
    return path / name


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "jsonl"])
def test_what_is_exported_is_read_back(ending: str, run: Cli, tmp_path: Path) -> None:
    events = [feedback(number) for number in range(30)]
    write(tmp_path, events)
    code, out, err = run("log", "export", "s.db", "-o", f"log.{ending}")
    assert (code, out) == (0, "")
    n_docs = sum(len(event.lesson.ids) for event in events if event.lesson)
    assert err == f"log.{ending}: 30 events, {n_docs} documents, 4 features\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds = rw.read(tmp_path / f"log.{ending}")
    lessons = [event.lesson for event in events if event.lesson]
    assert ds.feature_names == NAMES
    assert ds.n_queries == 30
    assert ds.qid.tolist() == [2 + n for n, lesson in enumerate(lessons) for _ in lesson.ids]
    assert ds.doc_ids is not None
    assert ds.doc_ids.tolist() == [name for lesson in lessons for name in lesson.ids]
    np.testing.assert_array_equal(ds.X, np.concatenate([lesson.features for lesson in lessons]))
    np.testing.assert_array_equal(ds.y, np.concatenate([lesson.labels for lesson in lessons]))


def test_train_takes_it(run: Cli, tmp_path: Path) -> None:
    write(tmp_path, [feedback(number) for number in range(30)])
    assert run("log", "export", "s.db", "-o", "log.parquet")[0] == 0
    code, _, err = run("train", "log.parquet", "-o", "new.rw", "--model", "slam-perceptron")
    assert code == 0, err
    model = rw.load(tmp_path / "new.rw")
    assert model.feature_names_in_.tolist() == NAMES
    X = np.random.default_rng(7).normal(size=(40, N_FEATURES))
    assert model.score(X, graded(X)) > 0.8


def test_it_comes_in_pieces(run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, [feedback(number) for number in range(40)])
    assert run("log", "export", "s.db", "-o", "whole.parquet")[0] == 0
    monkeypatch.setattr(following, "_EVENTS", 3)
    monkeypatch.setattr("rankwright.serve.learning.log_export._GROUP_CELLS", 7 * 20)
    assert run("log", "export", "s.db", "-o", "pieces.parquet")[0] == 0
    whole, pieces = (pq.ParquetFile(tmp_path / f"{name}.parquet") for name in ("whole", "pieces"))
    assert pieces.num_row_groups > 5
    assert whole.read() == pieces.read()


def test_types_of_numbers_and_missing_values(run: Cli, tmp_path: Path) -> None:
    write(tmp_path, [feedback(1, "single"), feedback(2, "single")])
    assert run("log", "export", "s.db", "-o", "log.parquet")[0] == 0
    assert rw.read(tmp_path / "log.parquet").X.dtype == np.float32
    more = [feedback(1, "single"), feedback(2), feedback(3, "missing")]
    write(tmp_path, more, name="more.db")
    assert run("log", "export", "more.db", "-o", "log.parquet")[0] == 0
    ds = rw.read(tmp_path / "log.parquet", allow_nan=True)
    assert ds.X.dtype == np.float64
    assert np.isnan(ds.X).sum() == 1
    np.testing.assert_array_equal(
        ds.X, np.concatenate([event.lesson.features for event in more if event.lesson])
    )


def test_columns_of_events(run: Cli, tmp_path: Path) -> None:
    event = replace(feedback(5, at=1e9), ranking_id="r5", version="1+3")
    write(tmp_path, [event])
    assert run("log", "export", "s.db", "-o", "log.parquet", "--events")[0] == 0
    row = pq.read_table(tmp_path / "log.parquet").to_pylist()[0]
    assert row["event_id"] == "e5"
    assert row["query"] == "q5"
    assert row["at"].isoformat() == "2001-09-09T01:46:40+00:00"
    assert (row["ranking_id"], row["model"]) == ("r5", "1+3")
    with pytest.warns(UserWarning, match="left out"):
        ds = rw.read(tmp_path / "log.parquet")
    assert ds.feature_names == NAMES


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([], range(10)),
        (["--since", "5"], range(3, 10)),
        (["--until", "5"], range(4)),
        (["--since", "5", "--until", "7"], range(3, 6)),
        (["--since", "2001-09-09T01:46:42"], range(2, 10)),
        (["--since", "2001-09-09T01:46:42Z", "--until", "2001-09-09T03:46:45+02:00"], range(2, 6)),
        (["--until", "2001-09-10"], range(10)),
    ],
)
def test_some_of_the_events(words: list[str], wanted: range, run: Cli, tmp_path: Path) -> None:
    write(tmp_path, [feedback(number, at=1e9 + number) for number in range(10)])
    assert run("log", "export", "s.db", "-o", "log.parquet", *words)[0] == 0
    assert np.unique(rw.read(tmp_path / "log.parquet").qid).tolist() == [2 + n for n in wanted]


def test_events_with_other_features(run: Cli, tmp_path: Path) -> None:
    write(tmp_path, [feedback(1), feedback(2, "wide"), feedback(3), feedback(4, "none")])
    code, _, err = run("log", "export", "s.db", "-o", "log.parquet")
    assert code == 2
    assert "2 with 4, 1 with 5. Choose with --features" in err
    assert not (tmp_path / "log.parquet").exists()
    code, _, err = run("log", "export", "s.db", "-o", "log.parquet", "--features", 4)
    assert code == 0
    assert "1 events with no features were left out." in err
    assert "1 events with another number of features were left out." in err
    assert rw.read(tmp_path / "log.parquet").n_queries == 2
    assert run("log", "export", "s.db", "-o", "log.parquet", "--features", 5)[0] == 0
    assert rw.read(tmp_path / "log.parquet").feature_names == [f"feature {n}" for n in range(1, 6)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.db", "-o", "a.csv"], "none.db"),
        (["s.db", "-o", "a.txt"], "a.txt"),
        (["s.db", "-o", "s.db"], "s.db"),
        (["s.db", "-o", "a.csv", "--since", "soon"], "--since must be the number of an event"),
        (
            ["s.db", "-o", "a.csv", "--features", "9"],
            "events with 9 features, but there are 1 with 4",
        ),
        (["s.db", "-o", "a.csv", "--since", "99"], "there must be events with features"),
        (["s.db", "-o", "no/where\0/a.csv"], ""),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, run: Cli, tmp_path: Path) -> None:
    write(tmp_path, [feedback(1)])
    code, out, err = run("log", "export", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "a.csv").exists()


def test_info(run: Cli, tmp_path: Path) -> None:
    store = served(tmp_path, named(), other_model(), name="s.db")
    store.write([], [feedback(number, "one" if number == 2 else "good") for number in range(5)])
    learn_all(store)
    store.close()
    code, out, _ = run("log", "info", "s.db")
    assert code == 0
    assert out.startswith("5 events, 0 rankings, 0.")
    assert "bytes an event" in out
    assert "1+4      SLAMPerceptron  yes     4        1" in out
    assert "LinearRanker" in out
    found = json.loads(run("log", "info", "s.db", "--json")[1])
    assert found["events"] == 5
    assert found["bytes_per_event"] == found["bytes"] / 5
    assert found["models"][0]["version"] == "1+4"
    assert found["models"][0]["loss"] <= found["models"][0]["bound"]
    assert found["models"][1]["learned"] is None


def test_expire(run: Cli, tmp_path: Path) -> None:
    write(tmp_path, [feedback(number) for number in range(5)])
    code, _, err = run("log", "expire", "s.db", "--days", 30)
    assert (code, err) == (0, "5 events older than 30 days were emptied.\n")
    assert run("log", "expire", "s.db", "--days", 30)[2].startswith("0 events")
    code, _, err = run("log", "export", "s.db", "-o", "a.csv")
    assert code == 2
    assert "5 without any" in err
    assert run("replay", "s.db", "-o", "again.rw")[0] == 0
    assert run("log", "expire", "s.db", "--days", -1)[0] == 2
    assert run("log", "expire", "s.db")[0] == 2
    store = open_store(str(tmp_path / "s.db"))
    assert store.counts().events == 5
    store.close()
