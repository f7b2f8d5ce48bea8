"""The tables, one schema for both databases.

Names begin with ``rankwright_``, so that a database may hold other things too. Arrays are
little-endian bytes, lists of ids are msgpack; nothing is pickled.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

VERSION = 1  # of the schema; migrations.py brings older stores to it

metadata = MetaData()

# SQLite numbers rows by itself only if the type is exactly INTEGER.
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")


def _table(name: str, *columns: Column[object] | Index) -> Table:
    return Table(f"rankwright_{name}", metadata, *columns)


meta = _table(
    "meta",
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

rankings = _table(
    "rankings",
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("ranking_id", Text, nullable=False, unique=True),
    Column("at", Double, nullable=False),
    Column("query", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("arm", Text),
    Column("k", Integer),
    Column("ids", LargeBinary, nullable=False),
    Column("scores", LargeBinary, nullable=False),
    Column("dtype", Text),  # of the features: "<f4" or "<f8"
    Column("n_features", Integer),
    Column("features", LargeBinary),
)

events = _table(
    "events",
    Column("seq", _NUMBER, primary_key=True, autoincrement=False),
    Column("event_id", Text, nullable=False, unique=True),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("ranking_id", Text),
    Column("version", Text),
    Column("arm", Text),
    Column("value", Double),
    Column("details", LargeBinary),  # msgpack, of what is no feedback
    Column("query", Text),
    Column("ids", LargeBinary),  # NULL: no lesson, or an emptied one
    Column("labels", LargeBinary),
    Column("dtype", Text),
    Column("n_features", Integer),
    Column("features", LargeBinary),
)
# Few events are no feedback: found without a walk through the log.
_is_control = events.c.kind != "feedback"
Index(
    "rankwright_events_control",
    events.c.seq,
    sqlite_where=_is_control,
    postgresql_where=_is_control,
)
# All that an experiment asks for, without the lessons.
_is_judged = events.c.arm.is_not(None)
Index(
    "rankwright_events_judged",
    events.c.seq,
    events.c.arm,
    events.c.version,
    events.c.value,
    events.c.query,
    sqlite_where=_is_judged,
    postgresql_where=_is_judged,
)

models = _table(
    "models",
    Column("model_id", Integer, primary_key=True, autoincrement=False),
    Column("digest", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("learns", Boolean, nullable=False),
    Column("added", Double, nullable=False),
    Column("note", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
)


def _state(*key: Column[object]) -> list[Column[object]]:
    """Return the columns of a learner's state."""
    return [
        *key,
        Column("position", BigInteger, nullable=False),
        Column("active", Boolean, nullable=False),
        Column("learned", BigInteger, nullable=False),
        Column("skipped", BigInteger, nullable=False),
        Column("ledger", Text, nullable=False),
        Column("loss", Double),  # NULL is NaN: SQLite has none
        Column("bound", Double),
        Column("reason", Text, nullable=False),
        Column("library", Text, nullable=False),
        Column("cpu", Text, nullable=False),
        Column("updated", Double, nullable=False),
        Column("content", LargeBinary, nullable=False),
    ]


learners = _table(
    "learners", *_state(Column("model_id", Integer, primary_key=True, autoincrement=False))
)

# What learners knew when events were emptied: replay begins there.
bases = _table("bases", *_state(Column("model_id", Integer, primary_key=True, autoincrement=False)))

marks = _table(
    "marks",
    Column("model_id", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("learned", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("seqs", LargeBinary, nullable=False),
    Column("losses", LargeBinary, nullable=False),
    Column("loss", Double),
    Column("bound", Double),
)

experiments = _table(
    "experiments",
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("a", Integer, nullable=False),
    Column("b", Integer, nullable=False),
    Column("share", Double, nullable=False),
    Column("begun", BigInteger, nullable=False),
    Column("ended", BigInteger),
)

# One row, once something was promoted.
serving = _table(
    "serving",
    Column("one", Integer, primary_key=True, autoincrement=False),
    Column("generation", BigInteger, nullable=False),
    Column("promoted", Integer, nullable=False),
    Column("previous", Integer),
    Column("experiment", Integer),
)
