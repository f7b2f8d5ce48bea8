"""From the schema of a store to ours: in one transaction, by one process at a time.

A new store gets the tables of schema.py. An older one is brought along step by step; what a step
does is written out in it and never changes again, whatever the tables of schema.py become.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, inspect, select

from rankwright.serve.store import schema
from rankwright.serve.store.backend import Backend
from rankwright.serve.store.interface import StoreError

Step = Callable[[Connection], None]

# By the version that a step makes: STEPS[2] makes 2 of 1.
STEPS: Mapping[int, Step] = {}


def migrate(
    backend: Backend,
    *,
    create: bool = True,
    version: int = schema.VERSION,
    steps: Mapping[int, Step] = STEPS,
) -> None:
    """Bring a store to a version of the schema, or refuse it.

    Raises
    ------
    StoreError
        If there is no store and none may be made, or if it is newer than we are.
    """
    with backend.reading() as connection:
        if _check_version(backend, connection, version, create) == version:
            return
    with backend.writing(append=True) as connection:
        found = _check_version(backend, connection, version, create)  # another may have been here
        if found is None:
            schema.metadata.create_all(connection)
            connection.execute(schema.meta.insert(), {"name": "schema", "value": str(version)})
            return
        for number in range(found + 1, version + 1):
            steps[number](connection)
        connection.execute(
            schema.meta.update().where(schema.meta.c.name == "schema").values(value=str(version))
        )


def _check_version(
    backend: Backend, connection: Connection, version: int, create: bool
) -> int | None:
    """Return the version of a store; None if there is none yet."""
    if not inspect(connection).has_table(schema.meta.name):
        if not create:
            raise StoreError(f"{backend.name}: has no rankwright store in it.")
        return None
    wanted = select(schema.meta.c.value).where(schema.meta.c.name == "schema")
    value = connection.execute(wanted).scalar() or ""
    if not value.isdecimal():
        raise StoreError(f"{backend.name}: must say the version of its schema, not {value!r:.50}.")
    if int(value) > version:
        raise StoreError(
            f"{backend.name}: is a store of schema {value}, newer than this rankwright's "
            f"{version}; upgrade rankwright."
        )
    return int(value)
