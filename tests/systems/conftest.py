"""What the tests of other systems share."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest

import rankwright as rw
from rankwright.data.parts import LocalParts
from tests.part_samples import write_parts
from tests.postgresql import PostgreSQLServer, find_postgresql

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# As root in a container, without a network.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


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
def part_paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return files of whole queries."""
    return write_parts(tmp_path_factory.mktemp("parts"))


@pytest.fixture(scope="session")
def local_parts(part_paths: list[Path]) -> LocalParts:
    """Return them as parts on this machine."""
    return rw.read_parts(part_paths)


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright import sync_api as api

    found = os.environ.get("RANKWRIGHT_BROWSER") or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    if found is None:
        missing(f"a browser: none of {', '.join(BROWSERS)} is installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()
