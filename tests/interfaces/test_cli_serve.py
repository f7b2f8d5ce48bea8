"""``rankwright serve`` as a process: it answers, keeps its limits, and ends as it should."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rankwright.serve.store import open_store
from tests.serving import features, small_model

DOCUMENTS = [{"id": f"d{i}", "features": features(i)} for i in range(4)]
RANK = {"query": "q", "documents": DOCUMENTS}
PATIENCE = 60.0


class Started:
    """A service that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        assert process.stdout is not None
        while not self.lines or not self.lines[-1].startswith("serving"):
            line = process.stdout.readline()
            assert line, process.communicate()
            self.lines.append(line.rstrip("\n"))
        found = re.search(r"http://([\d.]+):(\d+)", self.lines[-1])
        assert found is not None
        self.url, self.address = found[0], (found[1], int(found[2]))

    def children(self, name: str) -> list[int]:
        pid = self.process.pid
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        return [
            int(child)
            for child in found
            if f".{name}\0".encode() in Path(f"/proc/{child}/cmdline").read_bytes()
        ]

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self.process.communicate()
        return code


def command(folder: Path, *more: str) -> list[str]:
    python = [sys.executable, "-m", "rankwright", "serve", str(folder / "model.rw")]
    return [*python, "--store", str(folder / "log.db"), "--port", "0", *more]


@contextlib.contextmanager
def started(folder: Path, *more: str, **env: str) -> Iterator[Started]:
    if not (folder / "model.rw").exists():
        (folder / "model.rw").write_bytes(small_model())
    process = subprocess.Popen(
        command(folder, *more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )
    try:
        yield Started(process)
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=PATIENCE)


def gone(pid: int) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError):
            if ") Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii"):
                time.sleep(0.05)
                continue
        return True
    return False


def asked(address: tuple[str, int], content: bytes) -> bytes:
    """Send bytes, and return all that comes until the other side closes."""
    with socket.create_connection(address, PATIENCE) as sock:
        sock.sendall(content)
        found = b""
        while piece := sock.recv(65536):
            found += piece
        return found


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    folder = tmp_path_factory.mktemp("serve")
    limits = ("--max-seconds", "1", "--max-connections", "20", "--max-body", "1")
    with started(folder, *limits, "--workers", "2") as found:
        yield found


def test_it_says_what_it_serves(service: Started) -> None:
    line = service.lines[-1]
    assert re.fullmatch(
        r"serving .*model\.rw as version 1 at http://127\.0\.0\.1:\d+ "
        r"\(store .*log\.db, log features\)",
        line,
    )
    answer = httpx.post(f"{service.url}/v1/rank", json=RANK)
    assert answer.status_code == 200
    assert "server" not in answer.headers
    assert len(service.children("worker")) == 2
    assert len(service.children("learner")) == 1


def test_slow_callers_are_ended_and_keep_nobody_waiting(service: Started) -> None:
    """Nothing, half a head, half a body: closed, with 408 where something had begun."""
    head = b"POST /v1/rank HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    half = {
        "nothing": b"",
        "head": head,
        "body": head + b'content-length: 500\r\n\r\n{"query"',
        "chunks": head + b"transfer-encoding: chunked\r\n\r\n5\r\n12345\r\n",
    }
    sockets = {name: socket.create_connection(service.address) for name in half}
    for name, content in half.items():
        sockets[name].sendall(content)
    for _ in range(5):
        assert httpx.post(f"{service.url}/v1/rank", json=RANK).status_code == 200
    for name, sock in sockets.items():
        sock.settimeout(PATIENCE)
        found = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := sock.recv(65536):
                found += piece
        sock.close()
        if name == "nothing":
            assert found == b""
        else:
            assert found.startswith(b"HTTP/1.1 408 "), (name, found)
            assert b"1 seconds" in found


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"\x00\x01\x02\r\n\r\n", 400),
        (b"GET /healthz HTTP/9.9\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 100_000, 431),
        (b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 100_000 + b"\r\n\r\n", 431),
        (
            b"POST /v1/rank HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n"
            b"connection: close\r\n\r\n",
            413,
        ),
        (b"POST /v1/rank HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", 200),
        (b"GET /healthz HTTP/1.0\r\n\r\n", 200),
    ],
)
def test_what_is_hardly_http(content: bytes, status: int, service: Started) -> None:
    found = asked(service.address, content)
    assert found.startswith(b"HTTP/1.1 %d " % status), found
    head, _, body = found.partition(b"\r\n\r\n")
    assert b"nosniff" in head
    json.loads(body)


def test_too_many_connections_are_told_so(service: Started) -> None:
    workers = len(service.children("worker"))
    sockets = [socket.create_connection(service.address) for _ in range(20 * workers + 5)]
    found = b""
    for sock in sockets:
        sock.settimeout(5)
        with contextlib.suppress(OSError):
            found += sock.recv(65536)
    for sock in sockets:
        sock.close()
    assert b"HTTP/1.1 503 " in found
    assert b"at most 20 connections" in found
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{service.url}/healthz").status_code == 200:
                return
    raise AssertionError("nobody is served any more")


def test_a_worker_that_dies_is_replaced(service: Started) -> None:
    (victim, other) = service.children("worker")
    os.kill(victim, signal.SIGKILL)
    assert gone(victim)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and len(service.children("worker")) < 2:
        time.sleep(0.05)
    assert other in service.children("worker")
    assert httpx.post(f"{service.url}/v1/rank", json=RANK, timeout=PATIENCE).status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_and_has_lost_nothing(number: int, tmp_path: Path) -> None:
    with started(tmp_path) as service, httpx.Client(base_url=service.url) as client:
        names = [client.post("/v1/rank", json=RANK).json()["ranking_id"] for _ in range(30)]
        children = service.children("worker") + service.children("learner")
        begin = time.monotonic()
        assert service.end(number) == 0
        assert time.monotonic() - begin < 5
    assert all(map(gone, children))
    store = open_store(str(tmp_path / "log.db"), create=False)
    assert all(store.ranking(name) is not None for name in names)
    store.close()


def test_all_end_with_the_supervisor(tmp_path: Path) -> None:
    with started(tmp_path) as service:
        children = service.children("worker") + service.children("learner")
        assert len(children) == 2
        service.end(signal.SIGKILL)
    assert all(map(gone, children))
    with started(tmp_path) as service:  # and the next one goes on
        assert httpx.post(f"{service.url}/v1/rank", json=RANK).status_code == 200


def refused(folder: Path, *more: str, **env: str) -> str:
    found = subprocess.run(
        command(folder, *more),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **env},
    )
    assert found.returncode == 2, found
    assert found.stdout == ""
    (line,) = found.stderr.splitlines()
    return line


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    model, tokens = tmp_path / "model.rw", tmp_path / "tokens"
    assert "No such file" in refused(tmp_path)
    model.write_bytes(b"no model")
    assert "model.rw" in refused(tmp_path)
    model.write_bytes(small_model())
    assert "without tokens" in refused(tmp_path, "--host", "0.0.0.0")
    for option in ("--max-seconds", "--max-rate", "--retention"):
        assert option in refused(tmp_path, option, "inf")
    assert not (tmp_path / "log.db").exists()
    tokens.write_text("rank weak\n", encoding="utf-8")
    tokens.chmod(0o600)
    assert "16 characters" in refused(tmp_path, "--token-file", str(tokens))
    tokens.chmod(0o644)
    assert "chmod 600" in refused(tmp_path, "--token-file", str(tokens))
    (tmp_path / "log.db").write_bytes(b"no store at all" * 100)
    assert "log.db" in refused(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port}" in refused(tmp_path, "--port", port)


def test_tokens_of_the_environment(tmp_path: Path) -> None:
    token = "t" * 24
    with started(tmp_path, RANKWRIGHT_TOKENS=f"rank {token}") as service:
        send: Any = {"json": RANK}
        assert httpx.post(f"{service.url}/v1/rank", **send).status_code == 401
        send["headers"] = {"authorization": f"Bearer {token}"}
        assert httpx.post(f"{service.url}/v1/rank", **send).status_code == 200
        for pid in [service.process.pid, *service.children("worker")]:
            assert token.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
