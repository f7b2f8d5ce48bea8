"""The store in PostgreSQL does what every store does, and lives with its server."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rankwright.serve.records import Fate
from rankwright.serve.settings import Limits
from rankwright.serve.store import open_store
from rankwright.serve.store.interface import Store, StoreError, StoreUnavailableError
from rankwright.serve.store.postgresql import PostgreSQLBackend
from rankwright.serve.store.writer import Writer
from tests.postgresql import PostgreSQLServer, find_postgresql
from tests.serve_sample import sample_event, sample_ranking
from tests.store_contract import SetMeta, StoreContract, check_log
from tests.systems.conftest import missing


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


@pytest.fixture
def store(postgresql_url: str) -> Iterator[Store]:
    store = open_store(postgresql_url)
    yield store
    store.close()


@pytest.fixture
def own_server() -> Iterator[PostgreSQLServer]:
    """Start a server that a test may stop and kill."""
    programs = find_postgresql()
    if programs is None:
        missing("PostgreSQL")
    server = PostgreSQLServer(programs)
    yield server
    server.close()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


# ---- the server goes and comes ----


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_server_that_is_started_again(own_server: PostgreSQLServer, how: signal.Signals) -> None:
    store = open_store(own_server.new_url())
    writer = Writer(store, Limits())
    election = store.election()
    assert election.held()
    assert writer.append([sample_event("e1")]).result(30) == [Fate.accepted]
    own_server.stop(how)
    assert not election.held()
    with pytest.raises(StoreUnavailableError, match=r"postgresql://tester@/.*: the ") as refusal:
        store.events(0, 9)
    assert "\n" not in str(refusal.value)
    assert isinstance(writer.append([sample_event("e2")]).exception(30), StoreUnavailableError)
    assert not writer.healthy
    assert writer.log(sample_ranking("r"))
    own_server.start()
    until(lambda: writer.healthy)
    assert store.write([], [sample_event("e1"), sample_event("e2")]) == [
        Fate.duplicate,
        Fate.accepted,
    ]
    writer.close()
    assert store.ranking("r") is not None
    assert election.held()
    election.close()
    store.close()


def test_pooled_connections_of_a_server_that_was_restarted(own_server: PostgreSQLServer) -> None:
    store = open_store(own_server.new_url())
    store.write([], [sample_event("e1")])
    own_server.stop()
    own_server.start()
    assert store.write([], [sample_event("e2")]) == [Fate.accepted]
    assert check_log(store) == ["e1", "e2"]
    store.close()


def test_an_elected_one_whose_connection_is_cut(store: Store, postgresql: PostgreSQLServer) -> None:
    one, other = store.election(), store.election()
    assert one.held()
    assert not other.held()
    postgresql.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
    assert not one.held()
    assert other.held() or one.held()
    assert one.held() != other.held()
    one.close()
    other.close()


# ---- what is refused ----


def test_lost_connections_leave_no_traceback(
    own_server: PostgreSQLServer, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(own_server.new_url())
    store.write([], [sample_event("e")])
    own_server.stop()
    with pytest.raises(StoreUnavailableError, match="lost or refused"):
        store.events(0, 9)
    own_server.start()
    assert len(store.events(0, 9)) == 1
    store.close()
    assert not [record for record in caplog.records if record.exc_info]


def test_a_server_that_would_lose_what_it_answered(own_server: PostgreSQLServer) -> None:
    url = own_server.new_url()
    own_server.stop()
    own_server.start("fsync=off")
    with pytest.raises(StoreError, match="the server must run with fsync = on, not off"):
        open_store(url)
    own_server.stop()
    own_server.start("synchronous_commit=off")  # a session may ask for more
    backend = PostgreSQLBackend(url)
    with backend.reading() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    backend.close()
    own_server.stop()
    own_server.start("synchronous_commit=remote_apply")
    backend = PostgreSQLBackend(url)
    with backend.reading() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "remote_apply"
    backend.close()


def test_a_database_that_is_only_read(postgresql: PostgreSQLServer, postgresql_url: str) -> None:
    store = open_store(postgresql_url)
    name = postgresql_url.partition("@/")[2].partition("?")[0]
    postgresql.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    store.close()
    store = open_store(postgresql_url)
    assert store.events(0, 9) == []
    with pytest.raises(StoreUnavailableError, match="it is read-only"):
        store.write([], [sample_event("e")])
    store.close()


def test_addresses_that_lead_nowhere(postgresql: PostgreSQLServer, postgresql_url: str) -> None:
    folder = postgresql.folder
    with pytest.raises(StoreError, match='database "nowhere" does not exist') as refusal:
        open_store(f"postgresql://tester:hidden@/nowhere?host={folder}")
    assert "hidden" not in repr(refusal.value)
    with pytest.raises(StoreError, match='role "stranger" does not exist') as refusal:
        open_store(f"postgresql://stranger:hidden@/postgres?host={folder}")
    assert "hidden" not in repr(refusal.value)
    with pytest.raises(StoreUnavailableError, match="lost or refused") as unavailable:
        open_store("postgresql://tester:hidden@127.0.0.1:1/ranking")
    assert "hidden" not in repr(unavailable.value)
    with pytest.raises(StoreUnavailableError, match="lost or refused"):
        open_store(f"postgresql://tester@/ranking?host={folder}/nowhere")
    with pytest.raises(StoreError, match="has no rankwright store in it"):
        open_store(postgresql_url, create=False)


# ---- how it writes ----


def test_many_rows_are_one_statement(own_server: PostgreSQLServer) -> None:
    own_server.stop()
    own_server.start("log_statement=all")
    store = open_store(own_server.new_url())
    rankings = [sample_ranking(f"r{i}") for i in range(200)]
    store.write(rankings, [sample_event(f"e{i}", i) for i in range(200)])
    store.close()
    log = Path(f"{own_server.folder}/log").read_text()
    assert log.count("INSERT INTO rankwright_events") == 1
    assert log.count("INSERT INTO rankwright_rankings") == 1


def test_two_stores_in_two_schemas(postgresql: PostgreSQLServer, postgresql_url: str) -> None:
    name = postgresql_url.partition("@/")[2].partition("?")[0]
    postgresql.execute("CREATE SCHEMA other", database=name)
    one = open_store(postgresql_url)
    postgresql.execute(
        "CREATE ROLE guest LOGIN SUPERUSER", "ALTER ROLE guest SET search_path = other"
    )
    two = open_store(postgresql_url.replace("tester", "guest"))
    first, second = one.election(), two.election()
    assert first.held()
    assert second.held()
    one.write([], [sample_event("e")])
    assert two.events(0, 9) == []
    for each in (first, second, one, two):
        each.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_has_connections_of_its_own(store: Store) -> None:
    store.write([], [sample_event("e1")])
    child = multiprocessing.get_context("fork").Process(
        target=lambda: store.write([], [sample_event("e2")])
    )
    child.start()
    child.join()
    assert child.exitcode == 0
    store.write([], [sample_event("e3")])
    assert check_log(store) == ["e1", "e2", "e3"]
