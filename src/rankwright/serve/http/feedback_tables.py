"""Feedback as a table: an Arrow stream with a row for each document."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.serve.bodies import Feedback, LabelledDocument
from rankwright.serve.http.binary import arrow_table
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.http.service import Service

_TEXTS = ("event_id", "query", "id")


def events_of_table(service: Service, body: bytes) -> list[Feedback]:
    """Return the events of an Arrow stream, in the order of their first rows.

    They are what JSON would have said: the same event has the same digest.
    """
    limits = service.settings.limits
    table = arrow_table(body, limits.documents * limits.queries, _TEXTS)
    lacking = [name for name in (*_TEXTS, "label") if name not in {*table.texts, *table.columns}]
    if lacking:
        raise RefusedError(
            422, f"feedback must have a column {lacking[0]!r}, but has not.", lacking[0]
        )
    labels = _nullable("label", table.columns.pop("label"))
    X = table.matrix(service.board.current)
    rows: list[list[float | None]] = X.tolist()
    for row, column in np.argwhere(np.isnan(X)).tolist():
        rows[row][column] = None
    events: dict[str, Feedback] = {}
    for place, event_id in enumerate(table.texts["event_id"]):
        query = table.texts["query"][place]
        event = events.setdefault(event_id, Feedback(event_id, query=query, documents=[]))
        if event.query != query:
            text = f"an event must have one query, but {event_id!r:.100} has several."
            raise RefusedError(422, text, "query")
        document = LabelledDocument(table.texts["id"][place], rows[place], labels[place])
        assert event.documents is not None
        event.documents.append(document)
    if len(events) > limits.queries:
        text = f"a batch must have at most {limits.queries} events, but has {len(events)}."
        raise RefusedError(422, text, "body")
    return list(events.values())


def _nullable(name: str, column: Any) -> list[float | None]:
    """Return numbers or None; NaN is refused."""
    values = [None if value is None else float(value) for value in column.to_pylist()]
    if any(value is not None and not np.isfinite(value) for value in values):
        raise RefusedError(422, f"{name!r} must be finite numbers or null.", name)
    return values
