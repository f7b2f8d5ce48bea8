"""Where the service keeps its log: SQLite, or PostgreSQL for several hosts."""

from __future__ import annotations

from rankwright.extras import load_extra
from rankwright.serve.store.interface import Store, StoreError


def open_store(url: str, *, create: bool = True) -> Store:
    """Open a store, and bring it to the schema of this version.

    Parameters
    ----------
    url : str
        A path, ``sqlite:///path``, or ``postgresql://user[:password]@host[:port]/name``; with
        ``?host=/folder`` through the socket in that folder.
    create : bool
        Whether a store that is not there is made.

    Raises
    ------
    StoreError
        If it cannot be used as it is: one line says why.
    StoreUnavailableError
        If it does not answer now.
    """
    load_extra("sqlalchemy", "serve", "the store of the service needs")
    from rankwright.serve.store.backend import Backend
    from rankwright.serve.store.migrations import migrate
    from rankwright.serve.store.sql_store import SQLStore

    backend: Backend
    scheme, separator, rest = url.partition("://")
    if separator and scheme in ("postgresql", "postgres"):
        from rankwright.serve.store.postgresql import PostgreSQLBackend

        backend = PostgreSQLBackend(url)
    elif separator and scheme != "sqlite":
        raise StoreError(
            f"--store must be a path, sqlite:///path or postgresql://..., not {scheme}://..."
        )
    else:
        from rankwright.serve.store.sqlite import SQLiteBackend

        backend = SQLiteBackend(rest.removeprefix("/") if separator else url, create=create)
    try:
        migrate(backend, create=create)
    except BaseException:
        backend.close()
        raise
    return SQLStore(backend)
