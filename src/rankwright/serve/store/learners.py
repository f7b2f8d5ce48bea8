"""Learners in tables: where they are, their steps, and what is emptied behind them."""

from __future__ import annotations

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from rankwright.serve.records import Kind, LearnerRecord, Mark
from rankwright.serve.store import schema
from rankwright.serve.store.backend import Backend
from rankwright.serve.store.interface import OvertakenError
from rankwright.serve.store.log import last_place
from rankwright.serve.store.rows import learner_row, mark_row, row_learner, row_mark

_events, _rankings = schema.events, schema.rankings
_learners, _marks, _meta = schema.learners, schema.marks, schema.meta
_ALL = select(*[column for column in _learners.c if column.name != "content"]).order_by(
    _learners.c.model_id
)
_EMPTIED = ("ranking_id", "ids", "labels", "dtype", "n_features", "features")
_KEPT = [column for column in _events.c if column.name not in _EMPTIED]
_AT_A_TIME = 1_000  # events emptied in a transaction: feedback comes in between


def list_learners(connection: Connection) -> list[LearnerRecord]:
    """Return all learners, without their contents."""
    return [row_learner(row) for row in connection.execute(_ALL)]


def read_learner(
    connection: Connection, model_id: int, table: Table = _learners
) -> LearnerRecord | None:
    """Return a learner with its content."""
    row = connection.execute(select(table).where(table.c.model_id == model_id)).first()
    return None if row is None else row_learner(row)


def write_learner(
    connection: Connection, since: int, learner: LearnerRecord, mark: Mark | None
) -> None:
    """Write where a learner is; OvertakenError if it was not where it is said to have been."""
    here = (_learners.c.model_id == int(learner.model_id)) & (_learners.c.position == int(since))
    if connection.execute(update(_learners).where(here).values(learner_row(learner))).rowcount != 1:
        raise OvertakenError(
            f"the learner of model {learner.model_id} is not at event {since} any more."
        )
    if mark is not None:
        connection.execute(insert(_marks), mark_row(mark))


def read_marks(connection: Connection, model_id: int, after: int, limit: int) -> list[Mark]:
    """Return the steps of a learner behind a position, in order."""
    wanted = (
        select(_marks)
        .where(_marks.c.model_id == model_id, _marks.c.position > int(after))
        .order_by(_marks.c.position)
        .limit(limit)
    )
    return [row_mark(row) for row in connection.execute(wanted)]


# ---- retention ----


def expire_rankings(backend: Backend, before: float) -> None:
    """Remove rankings that are older than a time, oldest first."""
    with backend.reading() as connection:
        young = select(_rankings.c.number).where(_rankings.c.at >= before)
        end = connection.execute(young.order_by(_rankings.c.number).limit(1)).scalar()
        if end is None:
            end = 1 + (connection.execute(select(func.max(_rankings.c.number))).scalar() or 0)
        first = connection.execute(select(func.min(_rankings.c.number))).scalar() or end
    for low in range(first, end, _AT_A_TIME):
        with backend.writing(append=False) as connection:
            high = min(low + _AT_A_TIME, end)
            connection.execute(delete(_rankings).where(_rankings.c.number < high))


def expire_events(backend: Backend, before: float) -> int:
    """Empty events that are older than a time and that all learners have passed."""
    n_emptied = 0
    safe: int | None = None
    while True:
        with backend.writing(append=True) as connection:
            low, is_first = _emptied(connection), safe is None
            # What learners pass from here on is not in their copies, and must stay.
            safe = _safe(connection) if safe is None else safe
            high = min(low + _AT_A_TIME, safe, _old(connection, low, before))
            if high <= low:
                return n_emptied
            if is_first:
                _copy_learners(connection)
            n_emptied += _empty(connection, low, high)
            _write_emptied(connection, high)


def _emptied(connection: Connection) -> int:
    """Return the last place that was emptied."""
    wanted = select(_meta.c.value).where(_meta.c.name == "emptied")
    return int(connection.execute(wanted).scalar() or 0)


def _write_emptied(connection: Connection, place: int) -> None:
    connection.execute(delete(_meta).where(_meta.c.name == "emptied"))
    connection.execute(insert(_meta), {"name": "emptied", "value": str(place)})


def _safe(connection: Connection) -> int:
    """Return the last place that no learner needs any more.

    One that sleeps needs nothing before the next event that may wake it.
    """
    places: list[int] = [last_place(connection)]
    for row in connection.execute(_ALL):
        if row.active:
            places.append(row.position)
            continue
        wakes = select(func.min(_events.c.seq)).where(
            _events.c.kind != "feedback", _events.c.seq > row.position
        )
        place = connection.execute(wakes).scalar()
        if place is not None:
            places.append(place)
    return min(places)


def _old(connection: Connection, low: int, before: float) -> int:
    """Return the last place, not far behind ``low``, up to which all events are old."""
    here = _events.c.seq.between(low + 1, low + _AT_A_TIME)
    young = select(func.min(_events.c.seq)).where(here, _events.c.at >= before)
    place: int | None = connection.execute(young).scalar()
    return low + _AT_A_TIME if place is None else place - 1


def _copy_learners(connection: Connection) -> None:
    """Keep what learners know now: before here, replay has nothing to learn from."""
    connection.execute(delete(schema.bases))
    names = [column.name for column in schema.bases.c]
    connection.execute(
        insert(schema.bases).from_select(names, select(*[_learners.c[name] for name in names]))
    )


def _empty(connection: Connection, low: int, high: int) -> int:
    """Take the lessons out of events; those of experiments keep query and value.

    The rows are written anew: SQLite joins pages that became nearly empty when rows go, and not
    when they shrink.
    """
    here = _events.c.seq.between(low + 1, high)
    rows = [dict(row._mapping) for row in connection.execute(select(*_KEPT).where(here))]
    for row in rows:
        if row["arm"] is None:
            row["query"] = None
    connection.execute(delete(_events).where(here))
    connection.execute(insert(_events), rows)
    return sum(row["kind"] == Kind.feedback for row in rows)
