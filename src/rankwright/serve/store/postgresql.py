"""The store in PostgreSQL, for several hosts."""

from __future__ import annotations

import logging
import os
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, literal, make_url, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import QueuePool

from rankwright.extras import load_extra
from rankwright.serve.store.backend import first_words, translated
from rankwright.serve.store.interface import StoreError
from rankwright.serve.store.pinned import Pinned

_PATIENCE = 15  # seconds for an answer of the server
_APPEND, _LEARN = 0x726B7701, 0x726B7702  # what the advisory locks are about
# Two stores in two schemas of one database have locks of their own.
# One who was cut off while it held the lock must not keep the others from writing.
_LOCK = text(
    "SELECT set_config('idle_in_transaction_session_timeout', '15s', true), "
    "pg_advisory_xact_lock(:what, hashtext(current_schema()))"
)
_TRY = text("SELECT pg_try_advisory_lock(:what, hashtext(current_schema()))")
_UNAVAILABLE = {  # by class of SQLSTATE, or all of it
    "08": "the connection was lost",
    "25P03": "the connection was lost",
    "25006": "it is read-only",
    "40": "the server gave the transaction up",
    "53100": "the disk is full",
    "53": "the server has no resources left",
    "55P03": "another process has kept it locked",
    "57": "the server is being stopped or started",
    "58": "the server's disk reports an error",
}
_NEEDED = {
    "synchronous_commit": ("on", "remote_apply"),
    "fsync": ("on",),
    "server_encoding": ("UTF8",),
}
_LOST = ("08", "57", "25P03")


class PostgreSQLBackend:
    """A database of a server."""

    def __init__(self, url: str) -> None:
        load_extra("pg8000", "serve", "PostgreSQL needs")
        self._url, options = _parse(url)
        self.name = _name(self._url, options)
        self._pid = os.getpid()
        self._engine = self._open(options)
        try:
            with self.reading() as connection:
                self._check(connection)
        except BaseException:
            self.close()
            raise

    def _open(self, options: dict[str, Any]) -> Engine:
        engine = create_engine(
            self._url,
            connect_args=options,
            pool_size=4,
            max_overflow=28,
            pool_timeout=_PATIENCE,
            pool_pre_ping=True,  # after a restart of the server, nobody notices
            pool_logging_name="rankwright",
        )
        # It logs each lost connection that it cannot close; that one was lost is said elsewhere.
        pool = f"{QueuePool.__module__}.{QueuePool.__qualname__}.rankwright"
        logging.getLogger(pool).setLevel(logging.CRITICAL)
        # One statement for many rows: pg8000 would send each for itself.
        engine.dialect.use_insertmanyvalues_wo_returning = True
        event.listen(engine, "connect", _set_up)
        event.listen(engine, "handle_error", _note_loss)
        return engine

    def _check(self, connection: Connection) -> None:
        """Refuse a server that would lose what was answered, or cannot hold our texts."""
        for name, good in _NEEDED.items():
            found = connection.exec_driver_sql(f"SHOW {name}").scalar()
            if found not in good:
                must = f"the server must run with {name} = {good[0]}, not {found}"
                raise StoreError(f"{self.name}: {must}.")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection for one transaction that only reads."""
        self._check_process()
        with translated(self.name, why_postgresql), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self, *, append: bool) -> Iterator[Connection]:
        """Give a connection for one transaction; who appends takes a lock until its end.

        Numbers of a sequence would become visible out of order, and a reader would skip some.
        """
        with self.reading() as connection:
            if append:
                connection.execute(_LOCK, {"what": _APPEND})
            yield connection

    def insert_new(self, connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
        """Insert rows but those that are there already."""
        statement = insert(table).on_conflict_do_nothing()
        # Without something to return, SQLAlchemy would send each row for itself.
        connection.execute(statement.returning(literal(1)), rows)

    @contextmanager
    def pinned(self) -> Iterator[Pinned]:
        """Give a backend that sees one moment."""
        self._check_process()
        engine = self._engine.execution_options(isolation_level="REPEATABLE READ")
        with translated(self.name, why_postgresql), engine.begin() as connection:
            connection.exec_driver_sql("SELECT 1")  # the moment is that of the first statement
            yield Pinned(self, connection)

    def _check_process(self) -> None:
        if os.getpid() != self._pid:  # connections of the parent are left to it
            self._engine.dispose(close=False)
            self._pid = os.getpid()

    def n_bytes(self, connection: Connection) -> int:
        """Return the size of the database."""
        wanted = text("SELECT pg_database_size(current_database())")
        found: int = connection.execute(wanted).scalar_one()
        return found

    def shrink(self) -> None:
        """Leave it to the server's autovacuum."""

    def election(self) -> AdvisoryElection:
        """Return a candidate."""
        return AdvisoryElection(self._engine)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose(close=os.getpid() == self._pid)


class AdvisoryElection:
    """An advisory lock of a connection of its own: the server lets go when either is gone."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._turn = threading.Lock()

    def held(self) -> bool:
        """Try to get it, or ask the server whether it is still ours."""
        with self._turn:
            try:
                if self._connection is not None:
                    self._connection.exec_driver_sql("SELECT 1")
                else:
                    self._try()
            except (SQLAlchemyError, OSError):  # the server let go of it with the connection
                self._drop()
            return self._connection is not None

    def _try(self) -> None:
        with ExitStack() as stack:
            connection = stack.enter_context(self._engine.connect())
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            if connection.execute(_TRY, {"what": _LEARN}).scalar():
                stack.pop_all()
                self._connection = connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()  # its lock must not go back into the pool
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Give it up."""
        with self._turn:
            self._drop()


def _set_up(connection: Any, _: object) -> None:
    """Make a session durable; a server that does more than we ask goes on doing so.

    The server is to notice within half a minute that a host is gone: its locks are then free.
    """
    cursor = connection.cursor()
    cursor.execute("SHOW synchronous_commit")
    if cursor.fetchone()[0] != "remote_apply":
        cursor.execute("SET synchronous_commit = on")
    for setting in ("idle = 10", "interval = 5", "count = 3"):
        cursor.execute(f"SET tcp_keepalives_{setting}")
    cursor.execute(f"SET lock_timeout = '{_PATIENCE - 5}s'")
    connection.commit()


def _note_loss(context: Any) -> None:
    """Tell SQLAlchemy which errors mean that a connection is gone."""
    state = _state_of(context.original_exception)
    if state.startswith(_LOST) or type(context.original_exception).__name__ == "InterfaceError":
        context.is_disconnect = True


def _parse(url: str) -> tuple[URL, dict[str, Any]]:
    """Return an address for SQLAlchemy, and what pg8000 is told beside it."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise StoreError(
            "--store must be postgresql://user[:password]@host[:port]/name, or ?host=/folder for "
            "a socket, not what was given."
        ) from None
    asked: dict[str, Any] = dict(parsed.query)
    options: dict[str, Any] = {"timeout": _PATIENCE, "application_name": "rankwright"}
    folder, port = asked.pop("host", parsed.host or ""), asked.pop("port", parsed.port or 5432)
    mode = asked.pop("sslmode", "prefer")
    if asked or not (isinstance(folder, str) and str(port).isdecimal()):
        raise StoreError("--store may have one host, port and sslmode behind its question mark.")
    if folder.startswith("/"):
        options["unix_sock"] = f"{folder}/.s.PGSQL.{port}"
        parsed = parsed.set(host=None, port=None)
    elif folder:
        parsed = parsed.set(host=folder, port=int(port))
    options |= _encryption(mode)
    if not parsed.database:
        raise StoreError("--store must name a database: postgresql://user@host/name.")
    user = parsed.username or os.environ.get("PGUSER") or os.environ.get("USER") or "postgres"
    password = parsed.password or os.environ.get("PGPASSWORD")
    parsed = parsed.set(drivername="postgresql+pg8000", username=user, password=password, query={})
    return parsed, options


def _encryption(mode: str) -> dict[str, Any]:
    match mode:
        case "prefer":
            return {}
        case "disable":
            return {"ssl_context": False}
        case "require":
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return {"ssl_context": context}
        case "verify-full":
            return {"ssl_context": ssl.create_default_context()}
    raise StoreError("sslmode of --store must be disable, prefer, require or verify-full.")


def _name(url: URL, options: dict[str, Any]) -> str:
    """Return how messages name the store: without password."""
    place = f"{url.host or ''}:{url.port}" if url.port else url.host or ""
    place = os.path.dirname(options.get("unix_sock", "")) or place
    return f"postgresql://{url.username}@{place}/{url.database}"


def _state_of(error: BaseException | None) -> str:
    """Return the SQLSTATE of an error of pg8000; ``""`` without one."""
    what = error.args[0] if error is not None and error.args else None
    return str(what.get("C", "")) if isinstance(what, dict) else ""


def why_postgresql(error: BaseException) -> str | None:
    """Return why the store does not answer now; None if the error is of another kind."""
    if isinstance(error, PoolTimeoutError):
        return "too many threads use it"
    state = _state_of(error)
    if state:
        return _UNAVAILABLE.get(state, _UNAVAILABLE.get(state[:2]))
    if isinstance(error, OSError) or type(error).__name__ == "InterfaceError":
        return f"the connection was lost or refused ({first_words(error)})"
    return None
