"""Reading the log in pieces that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator

from rankwright.serve.records import EventRecord
from rankwright.serve.store.interface import Store, StoreError

_BYTES = 32 << 20  # of a piece,
_EVENTS = 1024  # and its events


class Follower:
    """Reads events: few at first, then as many as their size allows.

    Attributes
    ----------
    is_behind : bool
        Whether the last piece was full: there may be more.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._limit = 16
        self.is_behind = False

    def read(self, after: int, end: int | None = None) -> list[EventRecord]:
        """Return the next events behind a place, none behind ``end``."""
        limit = self._limit if end is None else min(self._limit, end - after)
        events = self._store.events(after, limit) if limit > 0 else []
        self.is_behind = len(events) == limit
        if events:
            size = sum(map(_size_of, events)) / len(events)
            self._limit = max(1, min(2 * self._limit, _EVENTS, int(_BYTES / size)))
        return events

    def read_all(self, after: int, end: int | None = None) -> Iterator[list[EventRecord]]:
        """Yield the events behind a place, piece by piece."""
        while events := self.read(after, end):
            yield events
            after = events[-1].seq
        if end is not None and after < end:
            raise StoreError(f"event {after + 1} must be in the log, as others have seen it.")


def _size_of(event: EventRecord) -> int:
    lesson = event.new.lesson
    features = None if lesson is None else lesson.features
    return 500 + (0 if features is None else features.nbytes)
