"""The catalogue, and downloads from a server that cuts, forgets and lies."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rankwright.data import BENCHMARKS, Benchmark, data_folder, fetch, find_benchmark
from rankwright.data.catalogue import Archive
from rankwright.data.download import unpack
from rankwright.exceptions import DataError

pytest.importorskip("pooch")


def zipped(**members: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/"), text)
    return out.getvalue()


CONTENT = zipped(set__ratings="1 2 3\n" * 50_000, set__readme="terms")


@dataclass
class Server:
    """What the server does, and what it was asked."""

    content: bytes = CONTENT
    cut_after: int | None = None  # bytes of a reply, then the connection ends
    ranges: bool = True
    status: int | None = None
    asked: list[str | None] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.asked.append(wanted)
            first = int(wanted[6:-1]) if wanted and state.ranges else 0
            if state.status is not None or first >= len(state.content) > 0:
                self.send_error(state.status or 416)
                return
            rest = state.content[first:]
            self.send_response(206 if first else 200)
            self.send_header("Content-Length", str(len(rest)))
            if first:
                size = len(state.content)
                self.send_header("Content-Range", f"bytes {first}-{size - 1}/{size}")
            self.end_headers()
            self.wfile.write(rest[: state.cut_after])
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{httpd.server_port}/set.zip"
    yield state
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def benchmark(url: str | None, **changes: Any) -> Benchmark:
    entry = {
        "name": "tiny",
        "title": "Tiny",
        "contents": "3 numbers",
        "terms": "none",
        "page": "http://example.org/",
        "files": ("set/ratings",),
        "archives": (Archive("set.zip", hashlib.sha256(CONTENT).hexdigest(), url),),
        "steps": "Put it into {folder} and run {name}.",
    }
    return Benchmark(**(entry | changes))


def files_in(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_a_download_is_checked_and_unpacked(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    entry = benchmark(server.url)
    assert entry.missing(tmp_path) == ["set/ratings"]
    place = fetch(entry, tmp_path, progress=lambda *report: seen.append(report))
    assert place == tmp_path / "tiny"
    assert files_in(place) == ["set.zip", "set/ratings", "set/readme"]
    assert (place / "set/readme").read_text() == "terms"
    assert entry.is_present(tmp_path)
    assert seen[-1] == ("set.zip", len(CONTENT), len(CONTENT))
    assert server.asked == [None]
    # What is there is not fetched again.
    fetch(entry, tmp_path)
    assert server.asked == [None]


def test_a_cut_download_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    entry, half = benchmark(server.url), len(CONTENT) // 2
    server.cut_after = half
    message = (
        f"{server.url}: the connection was cut ({half} of {len(CONTENT)} bytes came). {half} bytes "
        "are kept; run again to resume."
    )
    with pytest.raises(ConnectionError, match=f"^{re.escape(message)}$"):
        fetch(entry, tmp_path)
    assert files_in(tmp_path) == ["tiny/set.zip.part"]
    server.cut_after = 7  # and once more
    with pytest.raises(ConnectionError, match="run again to resume"):
        fetch(entry, tmp_path)
    server.cut_after = None
    fetch(entry, tmp_path)
    assert server.asked == [None, f"bytes={half}-", f"bytes={half + 7}-"]
    assert (tmp_path / "tiny/set.zip").read_bytes() == CONTENT
    assert "tiny/set.zip.part" not in files_in(tmp_path)


def test_a_server_without_ranges_sends_everything_again(server: Server, tmp_path: Path) -> None:
    server.ranges, server.cut_after = False, 100
    with pytest.raises(ConnectionError):
        fetch(benchmark(server.url), tmp_path)
    server.cut_after = None
    fetch(benchmark(server.url), tmp_path)
    assert server.asked == [None, "bytes=100-"]
    assert (tmp_path / "tiny/set.zip").read_bytes() == CONTENT


def test_a_part_that_is_complete_is_used(server: Server, tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/set.zip.part").write_bytes(CONTENT)
    fetch(benchmark(server.url), tmp_path)
    assert server.asked == [f"bytes={len(CONTENT)}-"]


@pytest.mark.parametrize("part", [b"", b"the beginning of another version"])
def test_a_wrong_checksum_is_refused_and_removed(
    part: bytes, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "tiny").mkdir()
    if part:
        (tmp_path / "tiny/set.zip.part").write_bytes(part)
    else:
        server.content = zipped(set__ratings="something else")
    entry = benchmark(server.url)
    message = (
        f"{tmp_path}/tiny/set.zip: must have sha256 {entry.archives[0].sha256}, but has another: "
        "it is damaged or another version. The download was removed; try again."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        fetch(entry, tmp_path)
    assert files_in(tmp_path) == []
    server.content = CONTENT
    fetch(entry, tmp_path)
    assert entry.is_present(tmp_path)


def test_offline_is_said_with_what_to_do(server: Server, tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/set.zip"  # nobody listens there
    with pytest.raises(ConnectionError) as caught:
        fetch(benchmark(url), tmp_path)
    assert re.sub(r"Errno \d+", "Errno N", str(caught.value)) == (
        f"{url}: 127.0.0.1 cannot be reached ([Errno N] Connection refused). Are you offline? "
        f"With another machine, fetch that file and put it at {tmp_path}/tiny/set.zip."
    )
    assert files_in(tmp_path) == []
    # Done as told, it needs no connection.
    (tmp_path / "tiny/set.zip").write_bytes(CONTENT)
    assert fetch(benchmark(url), tmp_path) == tmp_path / "tiny"


def test_an_answer_that_is_no_file_is_said(server: Server, tmp_path: Path) -> None:
    server.status = 404
    message = f"{server.url}: the server answers 404 Not Found. See the publisher's page."
    with pytest.raises(ConnectionError, match=f"^{re.escape(message)}$"):
        fetch(benchmark(server.url), tmp_path)
    assert files_in(tmp_path) == []


def test_terms_must_be_accepted(server: Server, tmp_path: Path) -> None:
    entry = benchmark(server.url, must_accept=True)
    message = (
        "Tiny has terms that you must accept: none. Read them at http://example.org/, then pass "
        "--accept-terms (accept_terms=True)."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        fetch(entry, tmp_path)
    assert server.asked == []
    fetch(entry, tmp_path, accept_terms=True)
    assert entry.is_present(tmp_path)


def test_what_is_fetched_by_hand_is_checked_and_unpacked(tmp_path: Path) -> None:
    entry = benchmark(None)
    with pytest.raises(DataError) as caught:
        fetch(entry, tmp_path)
    assert str(caught.value).splitlines() == [
        f"{tmp_path}/tiny/set.zip: must be fetched by hand.",
        "Tiny: 3 numbers.",
        "Terms: none.",
        "1. Accept the terms at http://example.org/ and fetch set.zip.",
        f"2. Put it into {tmp_path}/tiny and run tiny.",
        f"Then these are in {tmp_path}/tiny: set/ratings",
        f"sha256 {entry.archives[0].sha256}  set.zip",
    ]
    (tmp_path / "tiny").mkdir()
    path = tmp_path / "tiny/set.zip"
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(DataError, match=r"but has another.*Fetch it again\.$"):
        fetch(entry, tmp_path)
    assert path.exists()  # a person put it there
    path.write_bytes(CONTENT)
    fetch(entry, tmp_path)
    assert entry.is_present(tmp_path)


def test_an_archive_without_the_files_is_refused(tmp_path: Path) -> None:
    entry = benchmark(None, files=("a.txt", "b.txt"), archives=(Archive("set.zip"),))
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/set.zip").write_bytes(CONTENT)
    with pytest.raises(DataError, match=r"must hold a\.txt \(and 1 more\)"):
        fetch(entry, tmp_path)


def test_archives_cannot_leave_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    evil = folder / "evil.tar.gz"
    with tarfile.open(evil, "w:gz") as tar:
        member = tarfile.TarInfo("../outside.txt")
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpack(evil, folder)
    (folder / "evil.zip").write_bytes(zipped(**{"..__outside.txt": "x"}))
    unpack(folder / "evil.zip", folder)
    assert not (tmp_path / "outside.txt").exists()
    (folder / "broken.zip").write_bytes(b"no zip at all")
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpack(folder / "broken.zip", folder)
    assert not list(folder.glob(".unpacking-*"))


def test_unpacking_replaces_what_was_there(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.bz2", "w:bz2") as tar:
        member = tarfile.TarInfo("set/new.txt")
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    (tmp_path / "set").mkdir()
    (tmp_path / "set/old.txt").write_text("half")
    unpack(tmp_path / "a.tar.bz2", tmp_path)
    assert files_in(tmp_path) == ["a.tar.bz2", "set/new.txt"]
    (tmp_path / "data.gz").write_bytes(b"left as it is")
    unpack(tmp_path / "data.gz", tmp_path)


def test_compressed_files_count(tmp_path: Path) -> None:
    entry = find_benchmark("mq2008")
    for name in entry.files:
        path = tmp_path / "mq2008" / f"{name}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert entry.is_present(tmp_path)
    assert fetch("mq2008", tmp_path) == tmp_path / "mq2008"


def test_the_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RANKWRIGHT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder() == tmp_path / "cache/rankwright"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder() == tmp_path / ".cache/rankwright"
    monkeypatch.setenv("RANKWRIGHT_DATA", str(tmp_path / "data"))
    assert data_folder() == tmp_path / "data"
    assert data_folder("here") == Path("here")


def test_entries_are_complete() -> None:
    names = [entry.name for entry in BENCHMARKS]
    assert len(set(names)) == len(names)
    asked = {"mq2007", "mq2008", "ohsumed", "mslr-web10k", "mslr-web30k", "yahoo-c14", "rcv1"}
    assert asked | {"istella", "istella-s", "movielens-100k", "movielens-1m"} <= set(names)
    for entry in BENCHMARKS:
        assert entry.page.startswith("http")
        assert all((entry.contents, entry.terms, entry.files))
        assert entry.downloadable or entry.steps
        for archive in entry.archives:
            # What is downloaded by itself is always checked.
            assert archive.url is None or archive.sha256
            assert archive.sha256 is None or re.fullmatch("[0-9a-f]{64}", archive.sha256)
        assert "{" not in entry.instructions("x")
    assert find_benchmark("movielens-100k").size == 4924029
    assert find_benchmark("rcv1").size is None


def test_an_unknown_name_is_said() -> None:
    with pytest.raises(ValueError, match=r"^there is no data set 'nix'\. There are mq2007, mq2008"):
        fetch("nix")
