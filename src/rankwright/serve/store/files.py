"""The file of a store in SQLite: what it is known by, and how it comes into being."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from contextlib import closing

from rankwright.serve.store.interface import StoreError

APPLICATION = 0x726B7772  # "rkwr": in the header of the file
_PAGE = 16384  # bytes
_MAGIC = b"SQLite format 3\0"
_NUMBER = APPLICATION.to_bytes(4, "big")


def identify(path: str, name: str) -> os.stat_result | None:
    """Return which file a store is; None if there is none or an empty one.

    StoreError if it is something else, which is left alone.
    """
    try:
        with open(path, "rb") as file:
            header = file.read(100)
            found = os.fstat(file.fileno())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{name}: cannot be opened as a store: {error.strerror}.") from error
    if not header:
        return None
    if not (header.startswith(_MAGIC) and header[68:72] == _NUMBER):
        raise StoreError(f"{name}: is not a rankwright store; name another file with --store.")
    return found


def make_empty_store(path: str) -> None:
    """Make a file without tables, all at once: whoever looks sees no half of it.

    Only its owner reads it; the WAL and the rest get its permissions. No one else may do the same
    meanwhile.
    """
    new = f"{path}.new"
    for left in (new, f"{new}-journal", f"{new}-wal", f"{new}-shm"):  # of one who was killed
        with contextlib.suppress(FileNotFoundError):
            os.unlink(left)
    os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        # Before the first table or never: features of a ranking fill dozens of small pages, and
        # take twice as long to write; pages that became free can be given back.
        connection.execute(f"PRAGMA page_size = {_PAGE}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        # It stays in this mode: of several who change it at once, some are told it is locked.
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
    os.rename(new, path)
