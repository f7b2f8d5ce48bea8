"""The fsync comes before the answer: seen from the system calls."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.postgresql import PostgreSQLServer, find_postgresql
from tests.store_contract import ROOT
from tests.systems.conftest import missing

N_ANSWERS = 12

# Sends events one after the other, each through the writer, and says when each is answered.
CLIENT = """
import os, sys, time
from rankwright.serve.settings import Limits
from rankwright.serve.store import open_store, postgresql, sqlite
from rankwright.serve.store.writer import Writer
from tests.serve_sample import sample_event
url, count, synchronous = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sqlite._SETTINGS["synchronous"] = synchronous
if synchronous < 2:  # to compare: a store that does not wait for the disk
    postgresql._set_up = lambda connection, _: None
    postgresql._NEEDED = {}
store = open_store(url)
writer = Writer(store, Limits())
for i in range(count):
    begun = time.time()
    writer.append([sample_event(f"e{i}")]).result()
    os.write(1, f"answered {i} {begun!r} {time.time()!r}\\n".encode())
writer.close()
store.close()
"""


@pytest.fixture
def strace() -> str:
    found = shutil.which("strace")
    if found is None:
        missing("strace")
    return found


def run_client(url: str, *under: str, synchronous: int = 2) -> list[str]:
    """Return the lines of the client."""
    path = os.pathsep.join([str(ROOT), *sys.path])
    arguments = [sys.executable, "-c", CLIENT, url, str(N_ANSWERS), str(synchronous)]
    done = subprocess.run(
        [*under, *arguments],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def calls(trace: Path) -> Iterator[str]:
    """Yield calls as they come back: those that others interrupted are put together."""
    begun: dict[str, str] = {}
    for line in trace.read_text(errors="replace").splitlines():
        process, _, call = line.partition(" ")
        call = call.lstrip()
        if call.endswith("<unfinished ...>"):
            begun[process] = call.removesuffix("<unfinished ...>")
        elif (again := re.match(r"(?:[\d.]+ )?<\.\.\. \w+ resumed>(.*)", call)) is not None:
            yield begun.pop(process, "") + again[1]
        else:
            yield call


def unsafe_answers(trace: Path) -> list[int]:
    """Return the answers before which the WAL was not written and then synced."""
    unsafe = []
    written = synced = False
    for call in calls(trace):
        if call.startswith("pwrite64(") and "-wal>" in call:
            written, synced = True, False
        elif re.match(r"f(data)?sync\(\d+<[^>]*-wal>\) += 0", call):
            synced = True
        elif (answer := re.match(r'write\(1<[^>]*>, "answered (\d+)', call)) is not None:
            if not (written and synced):
                unsafe.append(int(answer[1]))
            written = synced = False
    return unsafe


@pytest.mark.parametrize(
    ("synchronous", "is_safe"), [(2, True), (1, False)], ids=["FULL", "NORMAL, to compare"]
)
def test_sqlite_syncs_before_the_answer(
    strace: str, tmp_path: Path, synchronous: int, is_safe: bool
) -> None:
    trace = tmp_path / "trace"
    watched = "trace=fsync,fdatasync,write,pwrite64"
    said = run_client(
        str(tmp_path / "a.db"),
        *(strace, "-f", "-y", "-e", watched, "-o", str(trace)),
        synchronous=synchronous,
    )
    assert len(said) == N_ANSWERS
    assert trace.read_text(errors="replace").count('"answered ') == N_ANSWERS
    unsafe = unsafe_answers(trace)
    assert unsafe == [] if is_safe else len(unsafe) >= N_ANSWERS - 1


class Sync(NamedTuple):
    begun: float
    ended: float


def syncs(trace: Path) -> list[Sync]:
    """Return when PostgreSQL synced its WAL."""
    form = re.compile(r"([\d.]+) f(?:data)?sync\(\d+<[^>]*/pg_wal/[^>]*>\) += 0 <([\d.]+)>")
    found = [form.match(call) for call in calls(trace)]
    return [Sync(float(m[1]), float(m[1]) + float(m[2])) for m in found if m is not None]


@pytest.mark.parametrize("is_safe", [True, False], ids=["on", "off, to compare"])
def test_postgresql_syncs_before_the_answer(strace: str, is_safe: bool) -> None:
    programs = find_postgresql()
    if programs is None:
        missing("PostgreSQL")
    server = PostgreSQLServer(programs)
    try:
        url = server.new_url()
        server.stop()
        trace = Path(server.folder) / "trace"
        watched = ("-f", "-y", "-ttt", "-T", "-e", "trace=fsync,fdatasync", "-o", str(trace))
        # The server's own setting is the weaker one: the store asks for more.
        server.start("synchronous_commit=off", under=[strace, "-D", *watched])
        said = run_client(url, synchronous=2 if is_safe else 1)
        server.stop()
        found = syncs(trace)
    finally:
        server.close()
    assert len(said) == N_ANSWERS
    unsafe = []
    for line in said:
        _, number, begun, ended = line.split()
        if not any(float(begun) <= one.begun and one.ended <= float(ended) for one in found):
            unsafe.append(number)
    assert unsafe == [] if is_safe else len(unsafe) >= N_ANSWERS / 2
