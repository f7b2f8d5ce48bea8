"""Who is served, in tables: models, promotions, experiments. Changes are events of the log."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import msgspec
from sqlalchemy import Connection, func, insert, select, update

from rankwright.serve.records import (
    ExperimentRecord,
    Fate,
    Kind,
    LearnerRecord,
    ModelRecord,
    NewEvent,
    Serving,
)
from rankwright.serve.store import schema
from rankwright.serve.store.log import append
from rankwright.serve.store.rows import learner_row, plain_text

_models, _experiments, _serving = schema.models, schema.experiments, schema.serving
_RECORD = [column for column in _models.c if column.name != "content"]
_SERVING = select(_serving, _experiments.c.number, *_experiments.c[1:]).select_from(
    _serving.outerjoin(_experiments, _serving.c.experiment == _experiments.c.number)
)


# ---- models ----


def insert_model(connection: Connection, content: bytes, record: ModelRecord) -> ModelRecord:
    """Keep a model under the next number; one that is there already is returned as it is."""
    wanted = select(*_RECORD).where(_models.c.digest == record.digest)
    row = connection.execute(wanted).first()
    if row is not None:
        return ModelRecord(**row._mapping)
    last: int = connection.execute(
        select(func.coalesce(func.max(_models.c.model_id), 0))
    ).scalar_one()
    values: dict[str, Any] = {
        "model_id": last + 1,
        "digest": record.digest,
        "kind": plain_text("kind", record.kind),
        "learns": record.learns,
        "added": record.added,
        "note": plain_text("note", record.note),
    }
    connection.execute(insert(_models), {**values, "content": content})
    return ModelRecord(**values)


def list_models(connection: Connection) -> list[ModelRecord]:
    """Return all models, oldest first."""
    rows = connection.execute(select(*_RECORD).order_by(_models.c.model_id))
    return [ModelRecord(**row._mapping) for row in rows]


def find_model(connection: Connection, model_id: int) -> bytes:
    """Return a model file; KeyError without it."""
    wanted = select(_models.c.content).where(_models.c.model_id == model_id)
    content: bytes | None = connection.execute(wanted).scalar()
    if content is None:
        raise KeyError(f"there is no model {model_id}")
    return content


# ---- who ranks ----


def read_serving(connection: Connection) -> Serving | None:
    """Return who ranks now; None before the first promotion."""
    row = connection.execute(_SERVING).first()
    if row is None:
        return None
    running = None
    if row.number is not None:
        running = ExperimentRecord(
            row.number, row.name, row.a, row.b, row.share, row.begun, row.ended
        )
    return Serving(row.generation, row.promoted, row.previous, running)


def promote(connection: Connection, model_id: int, at: float, event_id: str) -> Serving:
    """Serve a model from here on, and wake its learner. KeyError without the model."""
    content = find_model(connection, model_id)
    now = read_serving(connection)
    if now is not None and now.promoted == model_id and now.experiment is None:
        return now
    if now is not None and now.experiment is not None:
        _end(connection, now.experiment, at, f"{event_id}/end")
    previous = None if now is None else now.promoted
    if previous == model_id and now is not None:  # it was an arm and stays
        previous = now.previous
    details = {"model": model_id, "previous": previous}
    seq = _append_control(connection, event_id, at, Kind.promotion, details)
    _wake(connection, model_id, content, seq, at)
    values = {"promoted": model_id, "previous": previous, "experiment": None}
    return _change(connection, now, values)


def _change(connection: Connection, now: Serving | None, values: dict[str, Any]) -> Serving:
    """Write who ranks now, as a new generation."""
    if now is None:
        connection.execute(insert(_serving), {"one": 1, "generation": 1, **values})
    else:
        connection.execute(update(_serving).values(generation=_serving.c.generation + 1, **values))
    after = read_serving(connection)
    assert after is not None
    return after


def _wake(connection: Connection, model_id: int, content: bytes, seq: int, at: float) -> None:
    """Give a model that learns its learner; one that is there meets the event by itself."""
    learns = select(_models.c.learns).where(_models.c.model_id == model_id)
    has_one = select(schema.learners.c.model_id).where(schema.learners.c.model_id == model_id)
    if connection.execute(learns).scalar() and connection.execute(has_one).first() is None:
        record = LearnerRecord(model_id, seq, True, 0, 0, content, updated=at)
        connection.execute(insert(schema.learners), learner_row(record))


def _append_control(
    connection: Connection, event_id: str, at: float, kind: Kind, details: dict[str, Any]
) -> int:
    digest = hashlib.sha256(msgspec.msgpack.encode(details)).digest()
    new = NewEvent(event_id, at, kind, digest, details=details)
    ((seq, outcome),) = append(connection, [new])
    if outcome is not Fate.accepted:
        raise ValueError(f"event_id must be a new one, but the log has {event_id!r:.100} already.")
    return seq


# ---- experiments ----


def list_experiments(connection: Connection) -> list[ExperimentRecord]:
    """Return all, oldest first."""
    rows = connection.execute(select(_experiments).order_by(_experiments.c.number))
    return [ExperimentRecord(**row._mapping) for row in rows]


def begin(
    connection: Connection, name: str, a: int, b: int, share: float, at: float, event_id: str
) -> ExperimentRecord:
    """Let two models share the queries."""
    if a == b:
        raise ValueError(f"an experiment must have two models, not {a} twice.")
    if not (math.isfinite(share) and 0 < share < 1):
        raise ValueError(f"share must be between 0 and 1, not {share}.")
    contents = {model_id: find_model(connection, model_id) for model_id in (a, b)}
    now = read_serving(connection)
    if now is None:
        raise ValueError("a model must be promoted before an experiment begins.")
    if now.experiment is not None:
        raise ValueError(f"experiment {now.experiment.number} runs; end it first.")
    number = 1 + connection.execute(select(func.count()).select_from(_experiments)).scalar_one()
    values = {"name": plain_text("name", name), "a": a, "b": b, "share": float(share)}
    details = {"experiment": number, "running": True, **values}
    seq = _append_control(connection, event_id, at, Kind.experiment, details)
    for model_id, content in contents.items():
        _wake(connection, model_id, content, seq, at)
    connection.execute(insert(_experiments), {"number": number, "begun": seq, **values})
    _change(connection, now, {"experiment": number})
    return ExperimentRecord(number, name, a, b, float(share), seq)


def end(connection: Connection, at: float, event_id: str) -> ExperimentRecord:
    """End the one that runs."""
    now = read_serving(connection)
    if now is None or now.experiment is None:
        raise ValueError("no experiment runs.")
    ended = _end(connection, now.experiment, at, event_id)
    _change(connection, now, {"experiment": None})
    return ended


def _end(
    connection: Connection, running: ExperimentRecord, at: float, event_id: str
) -> ExperimentRecord:
    details = {
        "experiment": running.number,
        "running": False,
        "name": running.name,
        "a": running.a,
        "b": running.b,
        "share": running.share,
    }
    seq = _append_control(connection, event_id, at, Kind.experiment, details)
    here = _experiments.c.number == running.number
    connection.execute(update(_experiments).where(here).values(ended=seq))
    return ExperimentRecord(
        running.number, running.name, running.a, running.b, running.share, running.begun, seq
    )
