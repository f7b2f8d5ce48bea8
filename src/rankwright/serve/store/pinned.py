"""One moment of a database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Table

from rankwright.serve.store.backend import Backend
from rankwright.serve.store.interface import Election, StoreError


class Pinned:
    """A backend within one transaction that only reads: threads take turns."""

    def __init__(self, backend: Backend, connection: Connection) -> None:
        self.name = backend.name
        self._backend, self._connection = backend, connection
        self._turn = threading.RLock()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give the connection."""
        with self._turn:
            yield self._connection

    @contextmanager
    def writing(self, *, append: bool) -> Iterator[Connection]:
        """Refuse to write."""
        raise StoreError(f"{self.name}: a snapshot is only read; write to the store itself.")
        yield self._connection

    def insert_new(self, connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
        """Leave everything as it is: nobody has a connection to write with."""

    @contextmanager
    def pinned(self) -> Iterator[Pinned]:
        """Give itself: it sees one moment already."""
        yield self

    def n_bytes(self, connection: Connection) -> int:
        """Return how much disk is used."""
        return self._backend.n_bytes(connection)

    def shrink(self) -> None:
        """Leave everything as it is."""

    def election(self) -> Election:
        """Return a candidate."""
        return self._backend.election()

    def close(self) -> None:
        """Leave it to the one who opened the store."""
