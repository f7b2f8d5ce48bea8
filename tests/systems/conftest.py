"""What the tests of other systems share."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NoReturn

import pytest

from tests.postgresql import PostgreSQLServer, find_postgresql


def package(name: str) -> Any:
    """Return a package, or skip the test as :func:`missing` does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages about others
        try:
            return import_module(name)
        except ModuleNotFoundError:
            missing(name)


def missing(what: str) -> NoReturn:
    """Skip a test whose system is not here; where everything must be tested, fail."""
    if os.environ.get("CI"):
        pytest.fail(f"needs {what}")
    pytest.skip(f"needs {what}")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQLServer]:
    """Start a server of our own."""
    programs = find_postgresql()
    if programs is None:
        missing("PostgreSQL")
    server = PostgreSQLServer(programs)
    yield server
    server.close()


@pytest.fixture
def postgresql_url(postgresql: PostgreSQLServer) -> str:
    """Return where an empty database is."""
    return postgresql.new_url()
