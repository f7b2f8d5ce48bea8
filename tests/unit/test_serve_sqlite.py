"""The store in a file: what it refuses, how it fails, who may use it."""

from __future__ import annotations

import fcntl
import itertools
import multiprocessing
import os
import signal
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from sqlalchemy import Connection as Transaction

from rankwright.serve.records import Fate
from rankwright.serve.store import open_store
from rankwright.serve.store import sqlite as backend_module
from rankwright.serve.store.files import APPLICATION, make_empty_store
from rankwright.serve.store.interface import Store, StoreError, StoreUnavailableError
from rankwright.serve.store.migrations import migrate
from rankwright.serve.store.schema import VERSION
from rankwright.serve.store.sqlite import SQLiteBackend
from rankwright.serve.store.turns import Turns
from tests.serve_sample import sample_event, sample_mark, sample_ranking
from tests.store_contract import add, check_log, start_python


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "rankwright.db")


@pytest.fixture
def store(path: str) -> Iterator[Store]:
    store = open_store(path)
    yield store
    store.close()


def execute(path: str, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


# ---- opening ----


def test_only_the_owner_reads_a_new_store(store: Store, path: str) -> None:
    store.write([sample_ranking("r")], [])
    modes = {
        name: stat.S_IMODE(os.stat(f"{path}{name}").st_mode)
        for name in ("", "-wal", "-shm", ".lock", ".next")
    }
    assert set(modes.values()) == {0o600}


def test_ways_to_name_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url in ("one.db", "sqlite:///two.db", f"sqlite:///{tmp_path}/three.db", "a b%20#?.db"):
        open_store(url).close()
    there = {name for name in os.listdir() if name.endswith(".db")}
    assert there == {"one.db", "two.db", "three.db", "a b%20#?.db"}


@pytest.mark.parametrize("url", ["mysql://u:secret@h/d", "file://x", "http://u:secret@h"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(StoreError, match="must be a path, sqlite:///path or postgresql") as refusal:
        open_store(url)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("name", ["", ".", "no/such/folder.db", "sqlite:///"])
def test_places_where_no_store_can_be(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="cannot be opened as a store") as refusal:
        open_store(name)
    assert "\n" not in str(refusal.value)
    assert os.listdir() == []


def test_a_store_that_is_not_there(path: str) -> None:
    with pytest.raises(StoreError, match="has no rankwright store in it, or is not there"):
        open_store(path, create=False)
    assert not os.path.exists(path)
    Path(path).touch()
    with pytest.raises(StoreError, match="has no rankwright store in it"):
        open_store(path, create=False)


@pytest.mark.parametrize("content", [b"hello", b"SQLite format 3\0", b"SQLite format 3\0" * 999])
def test_a_file_of_something_else(path: str, content: bytes) -> None:
    Path(path).write_bytes(content)
    with pytest.raises(StoreError, match="is not a rankwright store; name another file") as refusal:
        open_store(path)
    assert "\n" not in str(refusal.value)
    assert Path(path).read_bytes() == content
    assert os.listdir(os.path.dirname(path)) == ["rankwright.db"]


def test_a_database_of_something_else_is_left_alone(path: str) -> None:
    execute(path, "CREATE TABLE recipes (name TEXT)")
    before = Path(path).read_bytes()
    with pytest.raises(StoreError, match="is not a rankwright store"):
        open_store(path)
    assert Path(path).read_bytes() == before


def test_an_empty_file_becomes_a_store(path: str) -> None:
    Path(path).touch()
    open_store(path).close()
    open_store(path, create=False).close()


def test_one_who_was_killed_while_making_a_store_is_in_nobodys_way(path: str) -> None:
    for end in ("", "-journal", "-wal", "-shm"):
        Path(f"{path}.new{end}").write_bytes(b"half")
    open_store(path).close()
    assert sorted(os.listdir(os.path.dirname(path))) == [
        "rankwright.db",
        "rankwright.db.lock",
        "rankwright.db.next",
    ]


def test_a_new_file_is_whole_when_it_appears(path: str) -> None:
    make_empty_store(path)
    header = Path(path).read_bytes()[:100]
    assert header[18:20] == b"\2\2"  # WAL: nobody has to change it, beside others
    assert int.from_bytes(header[68:72], "big") == APPLICATION
    assert header[64:68] != bytes(4)  # incremental vacuum
    assert os.listdir(os.path.dirname(path)) == ["rankwright.db"]


OPENER = """
import sys
from rankwright.serve.store import open_store
print("ready", flush=True)
for name in sys.stdin:
    print(len(open_store(name.strip()).models()), flush=True)
"""


def test_processes_that_make_a_store_in_the_same_moment(tmp_path: Path) -> None:
    processes = [start_python(OPENER) for _ in range(4)]

    def answers() -> list[str]:
        return [process.stdout.readline().strip() for process in processes if process.stdout]

    assert answers() == ["ready"] * 4
    for i in range(40):
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(f"{tmp_path}/{i}.db\n")
            process.stdin.flush()
        assert answers() == ["0"] * 4
    for process in processes:
        process.communicate()
        assert process.returncode == 0


def test_the_settings_are_those_of_a_durable_store(path: str) -> None:
    backend = SQLiteBackend(path, create=True)
    with backend.reading() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "auto_vacuum", "trusted_schema")
        }
    backend.close()
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "auto_vacuum": 2,
        "trusted_schema": 0,
    }


def test_settings_that_do_not_hold_are_an_error(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(backend_module._SETTINGS, "journal_mode", "unknown")
    with pytest.raises(StoreError, match="with journal_mode = unknown, but SQLite says wal; keep"):
        open_store(path)


# ---- migrations ----


def test_an_old_store_is_brought_along(path: str) -> None:
    open_store(path).close()
    backend = SQLiteBackend(path, create=False)
    made: list[int] = []

    def step(number: int, connection: Transaction) -> None:
        made.append(number)
        connection.exec_driver_sql(f"CREATE TABLE step{number} (x INTEGER)")

    new = VERSION + 2
    steps = {n: lambda c, n=n: step(n, c) for n in (VERSION + 1, new)}
    migrate(backend, version=new, steps=steps)
    migrate(backend, version=new, steps=steps)
    assert made == [VERSION + 1, new]
    with pytest.raises(StoreError, match=f"is a store of schema {new}, newer than"):
        migrate(backend)
    backend.close()
    with pytest.raises(StoreError, match=f"schema {new}, newer than this rankwright's {VERSION}"):
        open_store(path)


def test_a_step_that_fails_leaves_the_store_as_it_was(path: str) -> None:
    open_store(path).close()
    backend = SQLiteBackend(path, create=False)

    def fail(connection: Transaction) -> None:
        connection.exec_driver_sql("CREATE TABLE half (x INTEGER)")
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        migrate(backend, version=VERSION + 1, steps={VERSION + 1: fail})
    with backend.reading() as connection:
        tables = connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars().all()
    assert "half" not in tables
    migrate(backend)
    backend.close()


def test_processes_that_migrate_at_once_do_it_once(path: str) -> None:
    open_store(path).close()
    backends = [SQLiteBackend(path, create=False) for _ in range(4)]
    made: list[int] = []

    def step(connection: Transaction) -> None:
        made.append(1)
        time.sleep(0.05)

    threads = [
        threading.Thread(
            target=migrate,
            args=(backend,),
            kwargs={"version": VERSION + 1, "steps": {VERSION + 1: step}},
        )
        for backend in backends
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for backend in backends:
        backend.close()
    assert made == [1]


# ---- broken rows ----


@pytest.mark.parametrize(
    "change",
    [
        "features = x'00'",
        "features = substr(features, 9)",
        "n_features = 5",
        "n_features = -1",
        "n_features = NULL",
        "dtype = '|O'",
        "dtype = NULL",
        "labels = x'0000'",
        "labels = NULL",
        "ids = x'c1'",
        "ids = x'93a161a162'",
        "ids = 'text'",
        "kind = 'rumour'",
        "details = x'ff'",
    ],
)
def test_a_broken_event_is_named(store: Store, path: str, change: str) -> None:
    store.write([], [sample_event("e1"), sample_event("e2")])
    execute(path, f"UPDATE rankwright_events SET {change} WHERE seq = 2")
    with pytest.raises(StoreError, match=r"^event 2 of the store is damaged \(.+\); restore") as r:
        store.events(0, 9)
    assert "\n" not in str(r.value)
    assert len(store.events(0, 1)) == 1


def test_a_broken_ranking_or_mark_is_named(store: Store, path: str) -> None:
    store.write([sample_ranking("r")], [])
    execute(path, "UPDATE rankwright_rankings SET scores = x'00'")
    with pytest.raises(StoreError, match=r"^ranking r of the store is damaged"):
        store.ranking("r")
    one = add(store, b"1")
    store.promote(one, 1.0, "p")
    learner = store.learner(one)
    assert learner is not None
    store.advance(1, learner, sample_mark(one, 1))
    execute(path, "UPDATE rankwright_marks SET losses = x'00'")
    with pytest.raises(StoreError, match=r"^mark 1 of model 1 of the store is damaged"):
        store.marks(one)


def test_a_damaged_file_is_said_in_one_line(path: str) -> None:
    store = open_store(path)
    store.write([], [sample_event(f"e{i}", i) for i in range(500)])
    store.close()
    content = bytearray(Path(path).read_bytes())
    content[8192:-4096] = os.urandom(len(content) - 12288)
    Path(path).write_bytes(content)
    with pytest.raises(StoreError) as refusal:
        open_store(path).events(0, 10**6)
    assert "\n" not in str(refusal.value)


# ---- full disks, locks, read-only ----


def test_a_full_disk_leaves_nothing_behind(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(path).close()
    monkeypatch.setitem(backend_module._SETTINGS, "max_page_count", 100)
    store = open_store(path)
    count = itertools.count()

    def write_until_full() -> None:
        for i in count:
            store.write([sample_ranking(f"r{i}")], [sample_event(f"{i} {k}", k) for k in range(20)])

    with pytest.raises(StoreUnavailableError, match=r"rankwright.db: the disk is full\.$"):
        write_until_full()
    written = next(count) - 1
    assert written > 0
    assert len(check_log(store)) == 20 * written
    assert store.ranking(f"r{written}") is None
    assert store.ranking(f"r{written - 1}") is not None
    store.close()
    monkeypatch.setitem(backend_module._SETTINGS, "max_page_count", 10_000)
    store = open_store(path)  # there is room again
    assert store.write([], [sample_event(f"{written} 0")]) == [Fate.accepted]
    assert len(check_log(store)) == 20 * written + 1
    store.close()


def test_one_who_keeps_the_store_locked(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(backend_module._SETTINGS, "busy_timeout", 50)
    store = open_store(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailableError, match="another process has kept it locked"):
            store.write([], [sample_event("e")])
        assert store.events(0, 9) == []  # reading never waits for writing
        other.execute("ROLLBACK")
    assert store.write([], [sample_event("e")]) == [Fate.accepted]
    store.close()


def test_who_writes_has_the_lock_from_the_beginning(path: str) -> None:
    """Whoever reads first and locks later may find that what was read is no longer so."""
    open_store(path).close()
    backend = SQLiteBackend(path, create=False)
    with (
        closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other,
        backend.writing(append=True),
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("BEGIN IMMEDIATE")
    backend.close()


def test_turns_end_with_patience(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    one, other = Turns(path, 5.0), Turns(path, 0.05)
    with one.mine(), pytest.raises(StoreUnavailableError, match="x: another process has kept it"):
        other.mine().__enter__()
    with other.mine():
        pass
    turn = other.mine()
    thread = threading.Thread(target=turn.__enter__)
    thread.start()
    thread.join()
    with pytest.raises(StoreUnavailableError, match="x: another thread has kept it locked"):
        other.mine().__enter__()
    turn.__exit__(None, None, None)
    one.close()
    other.close()
    other.close()


def test_one_who_waits_has_the_next_turn(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    turns = Turns(path, 0.05)
    with open(f"{path}.next", "rb") as waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX)
        with pytest.raises(StoreUnavailableError):  # nobody has the turn, but another is first
            turns.mine().__enter__()
    with turns.mine(), open(f"{path}.next", "rb") as waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX | fcntl.LOCK_NB)
    turns.close()


def test_who_writes_waits_for_the_turn(store: Store, path: str) -> None:
    turns = Turns(path, 5.0)
    with ThreadPoolExecutor(1) as pool:
        with turns.mine():
            write = pool.submit(store.write, [], [sample_event("e")])
            with pytest.raises(TimeoutError):
                write.result(0.2)
        assert write.result(20) == [Fate.accepted]
    turns.close()


FULL = """
import resource, sys
from rankwright.serve.store import open_store
from rankwright.serve.store.interface import StoreUnavailableError
from tests.serve_sample import sample_event
store = open_store(sys.argv[1])
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (800_000, hard))
i = 0
try:
    while True:
        store.write([], [sample_event(f"{i} {k}", k) for k in range(20)])
        i += 1
except StoreUnavailableError as error:
    print(error)
assert len(store.events(0, 10**6)) == 20 * i
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
store.write([], [sample_event(f"{i} {k}", k) for k in range(20)])
print(i + 1)
"""


def test_a_write_that_breaks_off_in_the_middle(path: str) -> None:
    """The system refuses to write on, in the middle of the WAL."""
    with start_python(FULL, path) as process:
        said, number = process.communicate()[0].splitlines()
    assert said == f"{path}: the disk reports an error."
    assert int(number) > 1
    store = open_store(path)
    assert len(check_log(store)) == 20 * int(number)
    store.close()


def test_a_file_that_was_removed_takes_nothing_more(store: Store, path: str) -> None:
    store.write([], [sample_event("e1")])
    os.rename(path, f"{path}.old")
    with pytest.raises(StoreUnavailableError, match="was removed or replaced while it was open"):
        store.write([], [sample_event("e2")])
    Path(path).touch()
    with pytest.raises(StoreUnavailableError, match="was removed or replaced while it was open"):
        store.write([], [sample_event("e2")])
    os.rename(f"{path}.old", path)
    assert store.write([], [sample_event("e2")]) == [Fate.accepted]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_only_be_read(path: str) -> None:
    open_store(path).close()
    os.chmod(path, 0o400)
    with pytest.raises((StoreError, StoreUnavailableError), match=r"read-only|Permission"):
        open_store(path).write([], [sample_event("e")])


# ---- processes ----


def _try_in_child(path: str, store: Store, pipe: Connection) -> None:
    said = []
    for use in (lambda: store.events(0, 1), lambda: open_store(path)):
        try:
            use()
            said.append("used")
        except StoreError as error:
            said.append(str(error))
    store.close()
    pipe.send(said)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_store_is_not_used_across_a_fork(store: Store, path: str) -> None:
    fork = multiprocessing.get_context("fork")
    mine, theirs = fork.Pipe()
    child = fork.Process(target=_try_in_child, args=(path, store, theirs))
    child.start()
    said = mine.recv()
    child.join()
    assert "was opened before a fork; open the store in the new process" in said[0]
    assert "was open before a fork; start processes that use it with spawn" in said[1]
    assert store.write([], [sample_event("e")]) == [Fate.accepted]
    open_store(path).close()  # in the same process, twice is fine


KILLED = """
import sys
from rankwright.serve.store import open_store
from tests.serve_sample import sample_event, sample_ranking
store = open_store(sys.argv[1])
i = int(sys.argv[2])
while True:
    store.write([sample_ranking(f"r{i}")], [sample_event(f"e{i} {k}", k) for k in range(3)])
    print(i, flush=True)
    i += 1
"""


def test_what_was_answered_survives_a_kill(path: str) -> None:
    last = -1
    for round_ in range(2):
        with start_python(KILLED, path, str(last + 1)) as process:
            assert process.stdout is not None
            for _ in range(3 + 9 * round_):
                last = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            for line in process.stdout:
                last = int(line)
        store = open_store(path)
        n_whole, rest = divmod(len(check_log(store)), 3)
        assert rest == 0
        assert n_whole - 1 in (last, last + 1)  # durable, and not yet told
        assert store.ranking(f"r{last}") is not None
        last = n_whole - 1
        store.close()


# ---- size ----


def test_the_wal_stays_short(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_module, "_LONGEST_WAL", 1 << 20)
    monkeypatch.setattr(backend_module, "_LOOK", 0.0)
    store = open_store(path)
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            store.events(0, 10)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(30):
        store.write([], [sample_event(f"{i} {k}", k) for k in range(200)])
    stop.set()
    for reader in readers:
        reader.join()
    assert os.stat(f"{path}-wal").st_size < 8 << 20
    store.close()
    assert not os.path.exists(f"{path}-wal")


def test_disk_is_given_back(path: str) -> None:
    store = open_store(path)
    store.write([], [sample_event(f"{i}", i, at=1.0) for i in range(3000)])
    store.close()
    before = os.stat(path).st_size
    store = open_store(path)
    assert store.expire(2.0) == 3000
    store.close()
    assert os.stat(path).st_size < 0.7 * before
