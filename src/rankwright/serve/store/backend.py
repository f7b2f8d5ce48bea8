"""What the two databases do differently, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from sqlalchemy import Connection, Table
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from rankwright.serve.store.interface import Election, StoreError, StoreUnavailableError


class Backend(Protocol):
    """A database that is open."""

    name: str  # as messages name it: never with a password

    def reading(self) -> AbstractContextManager[Connection]:
        """Give a connection for one transaction that only reads."""
        ...

    def writing(self, *, append: bool) -> AbstractContextManager[Connection]:
        """Give a connection for one transaction, which is durable at the end.

        With ``append`` no other one appends to the log meanwhile, in any process.
        """
        ...

    def insert_new(self, connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
        """Insert rows but those that are there already, in one statement or as fast."""
        ...

    def pinned(self) -> AbstractContextManager[Backend]:
        """Give a backend that sees one moment."""
        ...

    def n_bytes(self, connection: Connection) -> int:
        """Return how much disk is used."""
        ...

    def shrink(self) -> None:
        """Give disk back after rows were removed, where that can be done in between."""
        ...

    def election(self) -> Election:
        """Return a candidate."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


@contextmanager
def translated(name: str, judge: Callable[[BaseException], str | None]) -> Iterator[None]:
    """Say in one line what a database did not do.

    Parameters
    ----------
    name : str
        Of the store.
    judge : callable
        Returns why the store does not answer now; None if the error is of another kind.
    """
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        if isinstance(error, StoreUnavailableError):
            raise
        cause: BaseException = error
        if isinstance(error, DBAPIError) and error.orig is not None:
            cause = last_words(error.orig)
        reason = judge(cause)
        if reason is not None:
            raise StoreUnavailableError(f"{name}: {reason}.") from error
        # Never str(error): it has the statement and the values in it.
        raise StoreError(f"{name}: {first_words(cause)}.") from error


def last_words(error: BaseException) -> BaseException:
    """Return what a server said before it hung up: what follows is only that it did."""
    before: BaseException | None = error
    while before is not None:
        if before.args and isinstance(before.args[0], dict):
            return before
        before = before.__cause__ or before.__context__
    return error


def first_words(error: BaseException) -> str:
    """Return what an error says, in one line."""
    what: Any = error.args[0] if error.args else ""
    if isinstance(error, OSError) and error.strerror:
        what = error.strerror
    if isinstance(what, dict):  # of PostgreSQL: the message by its code
        what = what.get("M", type(error).__name__)
    return " ".join(str(what).split())[:300].rstrip(".") or type(error).__name__
