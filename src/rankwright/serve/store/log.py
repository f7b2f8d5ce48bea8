"""The log in tables: rankings and events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select

from rankwright.serve.records import EventRecord, ExperimentRecord, Fate, NewEvent, RankingRecord
from rankwright.serve.store import schema
from rankwright.serve.store.backend import Backend
from rankwright.serve.store.rows import (
    event_row,
    is_plain,
    plain_text,
    ranking_row,
    row_event,
    row_ranking,
)

_AT_A_TIME = 500  # values in one statement: databases have limits
_events, _rankings = schema.events, schema.rankings

_INSERT_EVENTS = insert(_events)
_LAST = select(func.coalesce(func.max(_events.c.seq), 0))
_KNOWN = select(_events.c.event_id, _events.c.digest).where(
    _events.c.event_id.in_(bindparam("ids", expanding=True))
)
_BEHIND = (
    select(_events)
    .where(_events.c.seq > bindparam("after"))
    .order_by(_events.c.seq)
    .limit(bindparam("most"))
)
_ONE_RANKING = select(_rankings).where(_rankings.c.ranking_id == bindparam("ranking_id"))
_THESE_RANKINGS = select(_rankings).where(
    _rankings.c.ranking_id.in_(bindparam("ids", expanding=True))
)
_NEWEST = select(_rankings).order_by(_rankings.c.number.desc()).limit(bindparam("most"))
_N_CONTROL = select(func.count()).where(_events.c.kind != "feedback")
_RANGE = select(func.min(_rankings.c.number), func.max(_rankings.c.number))


def write_rankings(
    backend: Backend, connection: Connection, rankings: Sequence[RankingRecord]
) -> None:
    """Write rankings; one that is there already stays as it is."""
    if rankings:
        rows = [ranking_row(ranking) for ranking in rankings]
        backend.insert_new(connection, _rankings, rows)


def append(connection: Connection, events: Sequence[NewEvent]) -> list[tuple[int, Fate]]:
    """Append events under the lock for that; return place and outcome of each.

    The place of a duplicate or a conflict is 0.
    """
    known = digests_of(connection, [new.event_id for new in events])
    seq: int = connection.execute(_LAST).scalar_one()
    rows: list[dict[str, Any]] = []
    outcomes = []
    for new in events:
        digest = known.get(new.event_id)
        if digest is None:
            seq += 1
            rows.append(event_row(seq, new))
            known[new.event_id] = new.digest
            outcomes.append((seq, Fate.accepted))
        elif digest == new.digest:
            outcomes.append((0, Fate.duplicate))
        else:
            outcomes.append((0, Fate.conflict))
    if rows:
        connection.execute(_INSERT_EVENTS, rows)
    return outcomes


def digests_of(connection: Connection, event_ids: Sequence[str]) -> dict[str, bytes]:
    """Return the digests of those of these events that the log has."""
    known: dict[str, bytes] = {}
    for i in range(0, len(event_ids), _AT_A_TIME):
        ids = [plain_text("event_id", name) for name in event_ids[i : i + _AT_A_TIME]]
        known.update((row.event_id, row.digest) for row in connection.execute(_KNOWN, {"ids": ids}))
    return known


def find_rankings(connection: Connection, ranking_ids: Sequence[str]) -> dict[str, RankingRecord]:
    """Return those of these rankings that are there."""
    found: dict[str, RankingRecord] = {}
    for i in range(0, len(ranking_ids), _AT_A_TIME):
        ids = [name for name in ranking_ids[i : i + _AT_A_TIME] if "\0" not in name]
        rows = connection.execute(_THESE_RANKINGS, {"ids": ids})
        found.update((row.ranking_id, row_ranking(row)) for row in rows)
    return found


def find_ranking(connection: Connection, ranking_id: str) -> RankingRecord | None:
    """Return a ranking; None if it is not there."""
    if not is_plain(ranking_id):
        return None
    row = connection.execute(_ONE_RANKING, {"ranking_id": ranking_id}).first()
    return None if row is None else row_ranking(row)


def newest_rankings(connection: Connection, count: int) -> list[RankingRecord]:
    """Return the newest rankings, newest first."""
    return [row_ranking(row) for row in connection.execute(_NEWEST, {"most": count})]


def read_events(connection: Connection, after: int, limit: int) -> list[EventRecord]:
    """Return the events behind a place, in order."""
    rows = connection.execute(_BEHIND, {"after": int(after), "most": limit}).all()
    return [row_event(row) for row in rows]


def last_place(connection: Connection) -> int:
    """Return the place of the last event; 0 without any."""
    found: int = connection.execute(_LAST).scalar_one()
    return found


def count_feedback(connection: Connection) -> int:
    """Return how many events are feedback: places have no gaps, and few events are none."""
    n_control: int = connection.execute(_N_CONTROL).scalar_one()
    return last_place(connection) - n_control


def count_rankings(connection: Connection) -> int:
    """Return how many rankings there are, from their numbers: the oldest go first.

    Exact with SQLite. With PostgreSQL numbers of writes that failed are counted as well.
    """
    first, last = connection.execute(_RANGE).one()
    return 0 if first is None else last - first + 1


def judged_values(
    connection: Connection, experiment: ExperimentRecord
) -> dict[str, list[tuple[str, float]]]:
    """Return query and value of the judged_values rankings of each arm, in the order of the log.

    What another model ranked is left out: feedback for an earlier experiment that came late.
    """
    columns = _events.c
    wanted = (
        select(columns.arm, columns.version, columns.query, columns.value)
        .where(columns.arm.is_not(None), columns.seq > experiment.begun)
        .order_by(columns.seq)
    )
    if experiment.ended is not None:
        wanted = wanted.where(columns.seq < experiment.ended)
    found: dict[str, list[tuple[str, float]]] = {"a": [], "b": []}
    ranks = {"a": str(experiment.a), "b": str(experiment.b)}
    for arm, version, query, value in connection.execute(wanted):
        model = (version or "").partition("+")[0]
        if value is not None and query is not None and ranks.get(arm) == model:
            found[arm].append((query, value))
    return found
