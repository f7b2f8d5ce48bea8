"""The store in a file does what every store does."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.store_contract import SetMeta, StoreContract


class TestSQLiteStore(StoreContract):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return str(tmp_path / "rankwright.db")

    @pytest.fixture
    def set_meta(self, url: str) -> SetMeta:
        def change(name: str, value: str) -> None:
            with closing(sqlite3.connect(url)) as connection, connection:
                statement = "UPDATE rankwright_meta SET value = ? WHERE name = ?"
                connection.execute(statement, (value, name))

        return change
