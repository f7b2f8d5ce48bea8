"""``rankwright replay``."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

import rankwright as rw
from rankwright.serve.store import open_store
from tests.interfaces.conftest import Cli
from tests.serve_logs import feedback, fitted, learn_all, other_model, record_of, served


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store with a few learned events."""
    opened = served(tmp_path, fitted(), other_model(), name="s.db")
    opened.write([], [feedback(number, "one" if number == 4 else "good") for number in range(10)])
    learn_all(opened)
    opened.close()
    return tmp_path / "s.db"


def test_the_same_bits(run: Cli, store: Path, tmp_path: Path) -> None:
    code, out, err = run("replay", store, "-o", "again.rw")
    assert (code, out, err) == (0, "the same bits: 9 events, version 1+9\n", "")
    opened = open_store(str(store))
    assert (tmp_path / "again.rw").read_bytes() == record_of(opened).content
    opened.close()
    assert rw.load(tmp_path / "again.rw").n_rounds_ == fitted().n_rounds_ + 9


def test_while_the_service_runs(run: Cli, store: Path) -> None:
    opened = open_store(str(store))
    opened.write([], [feedback(number) for number in range(20, 25)])
    assert run("replay", f"sqlite:///{store}", "-o", "again.rw")[1].startswith("the same bits: 9 ")
    learn_all(opened)
    assert run("replay", store, "-o", "again.rw")[1].startswith("the same bits: 14 events")
    opened.close()


def test_for_machines(run: Cli, store: Path) -> None:
    code, out, _ = run("replay", store, "-o", "again.rw", "--until", 6, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["same"]
    assert (found["events"], found["learned"], found["skipped"]) == (6, 4, 1)
    assert found["version"] == "1+4"


def test_a_log_that_was_changed_is_found(run: Cli, store: Path, tmp_path: Path) -> None:
    with sqlite3.connect(store) as raw:
        (labels,) = raw.execute("select labels from rankwright_events where seq = 5").fetchone()
        other = labels[8:] + labels[:8]
        raw.execute("update rankwright_events set labels = ? where seq = 5", (other,))
    raw.close()
    code, out, _ = run("replay", store, "-o", "again.rw")
    assert code == 1
    assert out.startswith("they part at event 5 (")
    assert "live" in out
    assert (tmp_path / "again.rw").exists()  # to look at what is different
    code, out, _ = run("replay", store, "-o", "again.rw", "--json")
    assert code == 1
    assert json.loads(out)["parting"]["event"] == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.db", "-o", "a.rw"], "none.db"),
        (["s.db", "-o", "s.db"], "is what is read"),
        (["s.db", "-o", "no.gz"], "not compressed"),
        (["s.db", "-o", "a.rw", "--model", "2"], "a LinearRanker, which has not learned"),
        (["s.db", "-o", "a.rw", "--model", "9"], "no model of the store"),
        (["s.db", "-o", "a.rw", "--until", "99"], "--until must be an event"),
        (["s.db", "-o", "a.rw", "--until", "-1"], "--until must be an event"),
        (["mysql://x/y", "-o", "a.rw"], "mysql"),
        (["s.db"], "--out"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], said: str, run: Cli, store: Path, tmp_path: Path
) -> None:
    before = store.read_bytes()
    code, out, err = run("replay", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "a.rw").exists()
    assert not (tmp_path / "none.db").exists()
    assert store.read_bytes() == before


def test_a_file_that_is_no_store(run: Cli, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database, and longer than a page header " * 40)
    code, _, err = run("replay", "text.db", "-o", "a.rw")
    assert code == 2
    assert err.count("\n") == 1
