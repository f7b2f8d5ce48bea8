"""The store in PostgreSQL does what every store does, and lives with its server."""

from __future__ import annotations

import pytest

from tests.postgresql import PostgreSQLServer
from tests.store_contract import SetMeta, StoreContract


class TestPostgreSQLStore(StoreContract):
    @pytest.fixture
    def url(self, postgresql_url: str) -> str:
        return postgresql_url

    @pytest.fixture
    def set_meta(self, url: str, postgresql: PostgreSQLServer) -> SetMeta:
        database = url.partition("/ranking")[2].partition("?")[0]

        def change(name: str, value: str) -> None:
            statement = f"UPDATE rankwright_meta SET value = '{value}' WHERE name = '{name}'"
            postgresql.execute(statement, database=f"ranking{database}")

        return change
