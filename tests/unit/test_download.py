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
from rankwright.data.archives import unpack_archive
from rankwright.data.catalogue import Archive
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
    shift: int = 0  # what a part begins behind the place that was asked for
    headers: dict[str, str] = field(default_factory=dict)  # in place of its own
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
            partial = first > 0
            first += state.shift if partial else 0
            rest, size = state.content[first:], len(state.content)
            headers = {"Content-Length": str(len(rest))}
            if partial:
                headers["Content-Range"] = f"bytes {first}-{size - 1}/{size}"
            self.send_response(206 if partial else 200)
            for name, value in (headers | state.headers).items():
                self.send_header(name, value)
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
    assert (place / "set/readme").read_text(encoding="utf-8") == "terms"
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


@pytest.mark.parametrize(("shift", "header"), [(5, {}), (-5, {}), (0, {"Content-Range": "x"})])
def test_another_part_than_the_one_asked_for_is_not_appended(
    shift: int, header: dict[str, str], server: Server, tmp_path: Path
) -> None:
    # Without a checksum nothing else would notice.
    entry = benchmark(server.url, archives=(Archive("set.zip", None, server.url),))
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/set.zip.part").write_bytes(CONTENT[:100])
    server.shift, server.headers = shift, header
    with pytest.raises(ConnectionError, match="the server sends another part than the one asked"):
        fetch(entry, tmp_path)
    assert files_in(tmp_path) == []
    server.shift, server.headers = 0, {}
    fetch(entry, tmp_path)
    assert (tmp_path / "tiny/set.zip").read_bytes() == CONTENT


@pytest.mark.parametrize("length", ["abc", "-5", "1e3", "٣"])
def test_a_length_that_is_no_number_is_refused(length: str, server: Server, tmp_path: Path) -> None:
    server.headers = {"Content-Length": length.encode().decode("latin-1")}
    with pytest.raises(ConnectionError, match=r"the server states a length of '[^\n]*"):
        fetch(benchmark(server.url), tmp_path)


@pytest.mark.parametrize("link", ["symbolic", "hard"])
def test_a_link_in_the_place_of_a_part_is_not_followed(
    link: str, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "tiny").mkdir()
    victim, part = tmp_path / "victim", tmp_path / "tiny/set.zip.part"
    victim.write_bytes(b"precious")
    part.symlink_to(victim) if link == "symbolic" else part.hardlink_to(victim)
    message = f"{part}: is not a file that an earlier download left here. Remove it."
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        fetch(benchmark(server.url), tmp_path)
    assert victim.read_bytes() == b"precious"
    part.unlink()
    part.symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataError, match="is not a file that an earlier download left"):
        fetch(benchmark(server.url), tmp_path)
    assert not (tmp_path / "nowhere").exists()
    part.unlink()
    fetch(benchmark(server.url), tmp_path)


@pytest.mark.parametrize("content", [b"<!DOCTYPE html><p>log in", b"\n <HTML>", b"please log in"])
@pytest.mark.parametrize("checksum", [None, "0" * 64])
def test_a_page_to_log_in_to_is_not_kept_as_an_archive(
    content: bytes, checksum: str | None, server: Server, tmp_path: Path
) -> None:
    server.content = content
    entry = benchmark(server.url, archives=(Archive("set.zip", checksum, server.url),))
    with pytest.raises(DataError, match=r"log in|must have sha256"):
        fetch(entry, tmp_path)
    assert files_in(tmp_path) == []


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
        unpack_archive(evil, folder)
    (folder / "evil.zip").write_bytes(zipped(**{"..__outside.txt": "x"}))
    unpack_archive(folder / "evil.zip", folder)
    assert not (tmp_path / "outside.txt").exists()
    (folder / "broken.zip").write_bytes(b"no zip at all")
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpack_archive(folder / "broken.zip", folder)
    assert not list(folder.glob(".unpacking-*"))


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.fixture(params=["with a filter", "without"])
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without":  # as in Python 3.11.0 to 3.11.3
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
        plain = tarfile.TarFile.extractall
        monkeypatch.setattr(
            tarfile.TarFile, "extractall", lambda self, path=".": plain(self, path, filter=None)
        )


@pytest.mark.usefixtures("python")
def test_tar_archives_are_unpacked_by_any_python(tmp_path: Path) -> None:
    content = tarred(
        (member("set", tarfile.DIRTYPE), b""),
        (member("set/ratings"), b"1 2 3"),
        (member("deep/er/readme"), b"terms"),
        (member("./plain"), b"here"),
    )
    (tmp_path / "a.tar.gz").write_bytes(content)
    unpack_archive(tmp_path / "a.tar.gz", tmp_path)
    assert files_in(tmp_path) == ["a.tar.gz", "deep/er/readme", "plain", "set/ratings"]
    assert (tmp_path / "set/ratings").read_bytes() == b"1 2 3"


@pytest.mark.usefixtures("python")
@pytest.mark.parametrize(
    "members",
    [
        [(member("../out"), b"x")],
        [(member("a/../../out"), b"x")],
        [(member("a", tarfile.SYMTYPE, "/etc"), b""), (member("a/out"), b"x")],
        [(member("a", tarfile.SYMTYPE, ".."), b""), (member("a/out"), b"x")],
        [(member("a", tarfile.LNKTYPE, "/etc/passwd"), b"")],
        [(member("a", tarfile.CHRTYPE), b"")],
        [(member("a", tarfile.FIFOTYPE), b"")],
    ],
)
def test_tar_archives_cannot_leave_their_folder_in_any_python(
    members: list[tuple[tarfile.TarInfo, bytes]], tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "a.tar.gz").write_bytes(tarred(*members))
    with pytest.raises(DataError, match=r"a\.tar\.gz: cannot be unpacked: "):
        unpack_archive(place / "a.tar.gz", place)
    assert files_in(tmp_path) == ["place/a.tar.gz"]


def test_unpacking_replaces_what_was_there(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.bz2", "w:bz2") as tar:
        member = tarfile.TarInfo("set/new.txt")
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    (tmp_path / "set").mkdir()
    (tmp_path / "set/old.txt").write_text("half")
    unpack_archive(tmp_path / "a.tar.bz2", tmp_path)
    assert files_in(tmp_path) == ["a.tar.bz2", "set/new.txt"]
    (tmp_path / "data.gz").write_bytes(b"left as it is")
    unpack_archive(tmp_path / "data.gz", tmp_path)


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
