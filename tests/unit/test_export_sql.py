"""SQL: quotes, digits, nesting, and what is refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.exports import Options, Refusal
from rankwright.exports.exporting import prepared
from rankwright.exports.targets.registry import target_named
from rankwright.exports.targets.sql import DIALECTS
from tests.contracts.exported_models import FILLED, LABELS, MODELS, QID, ROWS
from tests.contracts.test_export_bits import ranker
from tests.reference.forest import NAN, Split

pytestmark = pytest.mark.usefixtures("quick_engines")
ODD = ["a b", "select", 'c"d', "e`f", "g'h", "i\\j", "ä]", "[k"]


def written(model: Any, dialect: str = "sqlite", **options: Any) -> tuple[str, Any, Options]:
    asked = Options(dialect=dialect, **options)
    rules = prepared(model, target_named("sql"), asked, None, None, frozenset())[0]
    return target_named("sql").write(rules, asked).content.decode(), rules, asked


def asked_of_sqlite(text: str, create: str, rows: list[Any], query: str) -> list[Any]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(create)
        connection.executescript(text)
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO features VALUES ({marks})", rows)
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_any_name_is_quoted(dialect: str, tmp_path: Path) -> None:
    path = tmp_path / "odd ` name.sql"
    certificate = rw.export(
        MODELS["one tree"](), "sql", path, names=ODD, dialect=dialect, store="my `table"
    )
    assert certificate.exact
    assert certificate.names == tuple(ODD)


def test_a_column_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    text, _, _ = written(MODELS["stump"]())
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        asked_of_sqlite(text, "CREATE TABLE features (other)", [[1]], "SELECT score FROM model")


def test_integers_are_as_good_as_doubles() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-5, 6, size=(200, 2)).astype(np.float64)
    model = rw.BoostedRanker("xendcg", n_estimators=5, num_leaves=8, n_jobs=1)
    model.fit(X, X[:, 0] > X[:, 1], np.arange(200) // 10)
    text, rules, _ = written(model)
    rows = [[int(value) for value in row] for row in X]
    create = "CREATE TABLE features (f1 INTEGER, f2 INTEGER)"
    found = asked_of_sqlite(text, create, rows, "SELECT score FROM model")
    moved = np.array(found)[:, 0] - model.predict(X)
    assert np.abs(moved).max() < 1e-6
    assert rules.trees is not None


def test_sqlite_reads_the_doubles_that_were_written() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=20_000) * 10.0 ** rng.integers(-30, 30, 20_000)
    number = DIALECTS["sqlite"].number
    with closing(sqlite3.connect(":memory:")) as connection:
        for part in np.split(values, 20):
            query = f"SELECT {', '.join(map(number, part.tolist()))}"
            assert connection.execute(query).fetchone() == tuple(part.tolist())


def test_chains_are_not_nested() -> None:
    tree: Any = 0.5
    for i in range(3000):
        sides = (tree, 1.0 / (i + 1)) if i % 2 else (-1.0 / (i + 1), tree)
        tree = Split(i % 4, float(i % 2) + i / 1000, NAN, bool(i % 3), *sides)
    text, rules, options = written(ranker([tree, 0.25]))
    assert text.count("CASE") == 1
    judge = target_named("sql").interpreter(text.encode(), rules, options)
    X = np.random.default_rng(2).normal(size=(50, 4))
    create = "CREATE TABLE features (f1, f2, f3, f4)"
    found = asked_of_sqlite(text, create, X.tolist(), "SELECT score FROM model")
    np.testing.assert_array_equal(np.array(found)[:, 0], np.asarray(judge(X).scores))


def test_many_trees_are_several_views() -> None:
    text, _, _ = written(MODELS["trees"](), "clickhouse")
    views = text.split(";\n\n")
    assert len(views) > 3
    assert max(map(len, views)) < 256 * 1024
    assert views[-1].startswith('CREATE VIEW "model" AS SELECT *, ((("model_1" + "model_2")')


def test_weights_of_0_are_left_out() -> None:
    model = rw.LinearRanker("listnet").fit(FILLED, LABELS, QID)
    model.coef_[2:] = 0.0
    text, _, _ = written(model, "duckdb")
    assert '"f2"' in text
    assert '"f3"' not in text


@pytest.mark.parametrize(
    ("names", "options", "code"),
    [
        (None, {"dialect": "oracle"}, "dialect"),
        (None, {"name": "t", "store": "T"}, "names"),
        (["score", *"bcdefgh"], {}, "names"),
        (["model_12", *"bcdefgh"], {}, "names"),
        (["a", "A", *"cdefgh"], {"dialect": "duckdb"}, "names"),
        (["ä" * 32, *"bcdefgh"], {"dialect": "postgresql"}, "names"),
    ],
)
def test_refusals(names: Any, options: Any, code: str, tmp_path: Path) -> None:
    given = {"name": "model", **options}
    with pytest.raises(Refusal) as refused:
        rw.export(MODELS["stump"](), "sql", tmp_path / "model.sql", names=names, **given)
    assert refused.value.code == code
    assert list(tmp_path.iterdir()) == []


def test_names_that_differ_in_case_are_columns_of_postgresql(tmp_path: Path) -> None:
    names = ["a", "A", *"cdefgh"]
    path = tmp_path / "model.sql"
    assert rw.export(MODELS["stump"](), "sql", path, names=names, dialect="postgresql").exact


def test_wide_models_are_refused(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(4, 8000))
    model = rw.LinearRanker("listnet").fit(X, [0, 1, 0, 1], [0, 0, 1, 1])
    for dialect, code in (("sqlite", "columns"), ("duckdb", "deep")):
        with pytest.raises(Refusal) as refused:
            rw.export(model, "sql", tmp_path / "model.sql", dialect=dialect)
        assert refused.value.code == code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("CREATE VIEW `model`", "DROP TABLE features; CREATE VIEW `model`"),
        ("FROM `features`", "FROM `other`"),
        ("AS `score`", "AS `other`"),
        ("<=", "<"),
        ("ELSE", "OTHER"),
        (" IS NULL", " IS NOT NULL"),
        ("CAST(", "abs("),
        (";", "; SELECT load_extension('x');"),
        ("END", ""),
    ],
)
def test_other_statements_are_not_run(old: str, new: str) -> None:
    text, rules, options = written(MODELS["one tree"]())
    assert old in text
    changed = text.replace(old, new, 1).encode()
    target = target_named("sql")
    with pytest.raises(DataError):
        target.interpreter(changed, rules, options)
    with pytest.raises(DataError):
        list(target.engines(changed, rules, options))


def test_another_number_is_another_score() -> None:
    text, rules, options = written(MODELS["one tree"]())
    target = target_named("sql")
    before = target.interpreter(text.encode(), rules, options)(ROWS[:100]).scores
    leaf = text.rpartition("ELSE ")[2].partition(" ")[0]
    changed = text.replace(f"ELSE {leaf} ", "ELSE 7e0 ").encode()
    after = target.interpreter(changed, rules, options)(ROWS[:100]).scores
    assert (np.asarray(before) != np.asarray(after)).any()


def test_steps_quote_names() -> None:
    steps = target_named("sql").steps("m.sql", Options(dialect="sqlite", name="my model"))
    assert steps[1] == "use: SELECT * FROM `my model` ORDER BY `score` DESC"
