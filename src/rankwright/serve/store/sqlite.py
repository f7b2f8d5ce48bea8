"""The store in a file: SQLite in WAL mode, for all processes of one machine."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from rankwright.data.lock import Lock
from rankwright.exceptions import DataError
from rankwright.serve.store.backend import first_words, translated
from rankwright.serve.store.files import identify, make_empty_store
from rankwright.serve.store.interface import StoreError, StoreUnavailableError
from rankwright.serve.store.pinned import Pinned
from rankwright.serve.store.turns import Turns

_MOST_ROWS = 256  # of a statement, which may have 32,766 values
_PATIENCE = 15_000  # milliseconds that a writer waits for another
_LONGEST_WAL = 64 << 20
_LOOK = 5.0  # seconds between two looks at it
_WRITE = {"rankwright_write": True}
_SETTINGS = {
    "journal_mode": "wal",
    "synchronous": 2,  # FULL: a commit returns after the fsync
    "busy_timeout": _PATIENCE,
    "journal_size_limit": _LONGEST_WAL,
    "trusted_schema": 0,  # a file from a stranger runs nothing
}
_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY: "another process has kept it locked",
    sqlite3.SQLITE_LOCKED: "another process has kept it locked",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_NOMEM: "there is no memory left",
    sqlite3.SQLITE_PROTOCOL: "another process has kept it locked",
}
# Open files, and the process that opened each: what SQLite knows of locks is wrong after a fork.
_owners: dict[str, set[int]] = {}


class SQLiteBackend:
    """A file."""

    def __init__(self, path: str, *, create: bool) -> None:
        self.path = os.path.abspath(path)
        self.name = path
        self._pid = os.getpid()
        self._next_look = 0.0
        _check_owner(self.path, self.name)
        file = identify(self.path, self.name)
        if file is None and not create:
            raise StoreError(f"{self.name}: has no rankwright store in it, or is not there.")
        self._turns = self._open_turns()
        self._file = file or self._make()
        self._engine = self._open()
        _owners.setdefault(self.path, set()).add(self._pid)

    def _open_turns(self) -> Turns:
        try:
            return Turns(self.path, _PATIENCE / 1000)
        except OSError as error:
            raise StoreError(
                f"{self.name}: cannot be opened as a store: {error.strerror}."
            ) from error

    def _make(self) -> os.stat_result:
        """Make the file, unless another process just did."""
        try:
            with translated(self.name, why_sqlite), self._turns.mine():
                if identify(self.path, self.name) is None:
                    make_empty_store(self.path)
            file = identify(self.path, self.name)
        except sqlite3.Error as error:
            self._turns.close()
            reason = why_sqlite(error) or first_words(error)
            raise StoreUnavailableError(f"{self.name}: {reason}.") from error
        except BaseException:
            self._turns.close()
            raise
        assert file is not None
        return file

    def _open(self) -> Engine:
        engine = create_engine(
            URL.create("sqlite", database=self.path),
            connect_args={"timeout": _PATIENCE / 1000, "check_same_thread": False},
            pool_size=4,
            max_overflow=28,
            pool_timeout=_PATIENCE / 1000,
        )
        event.listen(engine, "connect", self._set_up)
        event.listen(engine, "begin", _begin)
        return engine

    def _set_up(self, connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # transactions begin where we say
        for name, wanted in _SETTINGS.items():
            connection.execute(f"PRAGMA {name} = {wanted}").fetchall()
            found = connection.execute(f"PRAGMA {name}").fetchone()
            if found != (wanted,):
                raise StoreError(
                    f"{self.name}: must be used with {name} = {wanted}, but SQLite says "
                    f"{found and found[0]}; keep the store on a local disk."
                )

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise StoreError(
                f"{self.name}: was opened before a fork; open the store in the new process."
            )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection for one transaction that only reads."""
        self._check_process()
        with translated(self.name, why_sqlite), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self, *, append: bool) -> Iterator[Connection]:
        """Give a connection for one transaction: SQLite has one writer at a time anyway."""
        self._check_process()
        with (
            translated(self.name, why_sqlite),
            self._turns.mine(),
            self._engine.connect().execution_options(**_WRITE) as connection,
        ):
            self._check_file()
            with connection.begin():
                yield connection
            self._keep_wal_short(connection)

    def _check_file(self) -> None:
        """Refuse to write into a file that has no name any more: nobody would find it."""
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(self.path), self._file):
                return
        raise StoreUnavailableError(
            f"{self.name}: was removed or replaced while it was open; start the service again."
        )

    def _keep_wal_short(self, connection: Connection) -> None:
        """Begin the WAL anew if readers, one after the other, have kept it from that for long."""
        now = time.monotonic()
        if now < self._next_look or _bytes_of(f"{self.path}-wal") <= _LONGEST_WAL:
            return
        self._next_look = now + _LOOK  # while one reads for long, others are not to wait often
        cursor = connection.connection.cursor()
        with contextlib.suppress(sqlite3.Error):  # what was to be written has been
            cursor.execute("PRAGMA busy_timeout = 200")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE}")

    def insert_new(self, connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
        """Insert rows but those that are there already; all rows have the same columns."""
        # Many rows in a statement: executemany would let the interpreter go for each of them, and
        # wait for it while requests are answered. By powers of two: few statements to prepare.
        columns, begin = list(rows[0]), 0
        while begin < len(rows):
            n = min(_MOST_ROWS, 1 << (len(rows) - begin).bit_length() - 1)
            one = f"({', '.join('?' * len(columns))})"
            text = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES {', '.join([one] * n)}"
            values = tuple(row[name] for row in rows[begin : begin + n] for name in columns)
            connection.exec_driver_sql(f"{text} ON CONFLICT DO NOTHING", values)
            begin += n

    @contextmanager
    def pinned(self) -> Iterator[Pinned]:
        """Give a backend that sees one moment: the WAL grows while it is open."""
        with self.reading() as connection:
            connection.exec_driver_sql("SELECT 1 FROM sqlite_master").first()
            yield Pinned(self, connection)

    def n_bytes(self, connection: Connection) -> int:
        """Return the size of the file and its WAL."""
        return _bytes_of(self.path) + _bytes_of(f"{self.path}-wal")

    def shrink(self) -> None:
        """Give free pages back, some at a time."""
        self._check_process()
        with translated(self.name, why_sqlite):
            free = 1
            while free:
                with self._turns.mine(), self._engine.connect() as connection:
                    cursor = connection.connection.cursor()
                    cursor.execute("PRAGMA incremental_vacuum(1000)").fetchall()
                    (free,) = cursor.execute("PRAGMA freelist_count").fetchone()

    def election(self) -> FileElection:
        """Return a candidate."""
        return FileElection(self.path)

    def close(self) -> None:
        """Close all connections; the last one writes the WAL into the file."""
        if os.getpid() != self._pid:
            return
        self._engine.dispose()
        self._turns.close()
        _owners.get(self.path, set()).discard(self._pid)


class FileElection:
    """A lock on a file beside the store: it ends with the process, however that ends."""

    def __init__(self, path: str) -> None:
        self._lock = Lock(f"{path}.learner", "the learner of this store", path)

    def held(self) -> bool:
        """Try to get it, or tell whether it is still ours."""
        if self._lock.fileno() < 0:
            try:
                self._lock.__enter__()
            except DataError:
                return False
        return True

    def close(self) -> None:
        """Give it up."""
        if self._lock.fileno() >= 0:
            self._lock.__exit__()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("rankwright_write", False)
    # A transaction that reads first and writes later can fail for having read too early.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _check_owner(path: str, name: str) -> None:
    if _owners.get(path, set()) - {os.getpid()}:
        raise StoreError(f"{name}: was open before a fork; start processes that use it with spawn.")


def _bytes_of(path: str) -> int:
    return os.stat(path).st_size if os.path.exists(path) else 0


def why_sqlite(error: BaseException) -> str | None:
    """Return why the store does not answer now; None if the error is of another kind."""
    code: Any = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return _UNAVAILABLE.get(code & 0xFF)
    if isinstance(error, PoolTimeoutError):
        return "too many threads use it"
    return error.strerror if isinstance(error, OSError) else None
