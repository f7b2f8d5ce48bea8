"""What the judgements of an experiment add up to, in one statement: lessons are not read."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from rankwright.serve.records import ArmSums, ExperimentRecord
from rankwright.serve.store import schema

_columns = schema.events.c


def sums_by_arm(connection: Connection, experiment: ExperimentRecord) -> dict[str, ArmSums]:
    """Return the sums of each arm over its queries, each with the mean of its rankings.

    What another model ranked is left out: feedback for an earlier experiment that came late.
    """
    wanted = [
        _columns.arm.is_not(None),
        _columns.value.is_not(None),
        _columns.query.is_not(None),
        _columns.seq > experiment.begun,
        or_(_ranked_by("a", experiment.a), _ranked_by("b", experiment.b)),
    ]
    if experiment.ended is not None:
        wanted.append(_columns.seq < experiment.ended)
    queries = (
        select(
            _columns.arm,
            func.avg(_columns.value).label("value"),
            func.count().label("rankings"),
        )
        .where(*wanted)
        .group_by(_columns.arm, _columns.query)
        .subquery()
    )
    value = queries.c.value
    sums = select(
        queries.c.arm,
        func.count(),
        func.sum(queries.c.rankings),
        func.sum(value),
        func.sum(value * value),
    ).group_by(queries.c.arm)
    found = {"a": ArmSums(), "b": ArmSums()}
    for arm, n_queries, n_rankings, total, squares in connection.execute(sums):
        found[arm] = ArmSums(n_queries, int(n_rankings), total, squares)
    return found


def _ranked_by(arm: str, model_id: int) -> ColumnElement[bool]:
    """Return that an event is of an arm, and of a version of its model."""
    version = _columns.version
    model = str(model_id)
    return and_(_columns.arm == arm, or_(version == model, version.startswith(f"{model}+")))
