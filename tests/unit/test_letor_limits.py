"""What LETOR text may ask for: ids, indices and lines have limits, and so has memory."""

from __future__ import annotations

import gc
import gzip
import inspect
import io
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from rankwright.data import lines as blocks_of_lines
from rankwright.data import texts
from rankwright.data.letor import read_letor, stream, write_letor
from rankwright.data.zstd import ZstdFile
from rankwright.exceptions import DataError

Store = Callable[..., Path]
Pack = Callable[[bytes], bytes]
zstd: Pack = zstandard.ZstdCompressor().compress
packed = pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gz", "zst"])
# Both ways to read, as a list of data sets.
WAYS: dict[str, Callable[..., list[Any]]] = {
    "read": lambda path, **options: [read_letor(path, **options)],
    "stream": lambda path, **options: list(stream(path, **options)),
}
both = pytest.mark.parametrize("read", WAYS.values(), ids=WAYS)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Write text to a file."""

    def write(text: str | bytes, name: str = "data.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def fault(read: Callable[..., list[Any]], path: Path, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        read(path, **options)
    return str(caught.value)


# ---- ids ----


@both
@pytest.mark.parametrize("letter", ["a", "é", "語"])
def test_ids_have_at_most_a_thousand_characters(read: Any, store: Store, letter: str) -> None:
    row = "1 qid:{} 1:1 # {}\n"
    longest = letter * 1000
    (ds,) = read(store("0 qid:1 1:1\n" + row.format(longest, longest)), doc_ids=True)
    assert ds.qid.tolist() == ["1", longest]
    assert ds.doc_ids.tolist() == ["", longest]

    shown = (letter.encode() * 1001)[:60].decode(errors="replace")
    path = store("0 qid:1 1:1\n" + row.format(longest + letter, "d"))
    limit = f"must have at most 1000 characters, but has more, and begins {shown!r}."
    assert fault(read, path) == f"{path}, line 2, qid: {limit}"

    path = store("0 qid:1 1:1\n" + row.format("q", longest + letter))
    message = f"{limit} Shorten the comment, or read without document ids."
    assert fault(read, path, doc_ids=True) == f"{path}, line 2, doc_id: {message}"
    assert read(path)[0].n_docs == 2  # as a comment it may be of any length


def test_the_first_fault_is_reported_also_beside_long_ids(store: Store) -> None:
    path = store(f"0 qid:1 1:1\n0 qid:1 1:x\n0 qid:{'q' * 2000} 1:1\n")
    assert ", line 2, feature 1: " in fault(WAYS["read"], path)
    path = store(f"0 qid:1 1:1\n0 qid:{'q' * 2000} 1:1\n0 qid:1 1:x\n")
    assert ", line 2, qid: " in fault(WAYS["read"], path)


def test_a_document_id_counts_without_the_words_behind_it(store: Store) -> None:
    path = store(f"0 qid:1 1:1 # docid = D7 {'inc ' * 1000}\n")
    (ds,) = WAYS["read"](path, doc_ids=True)
    assert ds.doc_ids.tolist() == ["D7"]


@both
@pytest.mark.parametrize("what", ["qid", "doc_id"])
def test_one_long_id_does_not_make_all_of_them_long(
    read: Any, store: Store, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(texts, "_SMALL", 100_000)
    long = "x" * 1000
    names = [f"n{i // 7}" for i in range(1000)] + [long]
    row = "1 qid:{} 1:1\n" if what == "qid" else "1 qid:1 1:1 # {}\n"
    path = store("".join(row.format(name) for name in names))
    pieces = read(path, doc_ids=True, n_features=1)
    ids = [piece.qid if what == "qid" else piece.doc_ids for piece in pieces]
    assert [name for part in ids for name in part.tolist()] == names
    assert all(part.dtype == object for part in ids)
    assert sum(part.nbytes for part in ids) < 10_000  # 4,004,000 as strings of one width
    write_letor(pieces[0], path)
    again = read_letor(path, doc_ids=True)
    assert ((again.qid if what == "qid" else again.doc_ids) == ids[0]).all()


def test_qid_bytes_that_are_not_utf8_are_never_another_id(store: Store) -> None:
    apart = read_letor(store(b"1 qid:\xff\xfe 1:1\n1 qid:\xff 1:1\n1 qid:\\xfg 1:1\n"))
    assert apart.qid.tolist() == [r"\xff\xfe", r"\xff", r"\xfg"]
    for text in (b"1 qid:\xff 1:1\n1 qid:\\xff 1:1\n", b"1 qid:\\xff 1:1\n1 qid:\xff 1:1\n"):
        path = store(text)
        message = (
            "ids of different bytes must stay different, but one is not UTF-8 and would read as "
            r"the other, '\\xff'. Convert the file to UTF-8."
        )
        for read in WAYS.values():
            for block_bytes in (1, 1000):
                options = {"block_bytes": block_bytes} if read is WAYS["stream"] else {}
                assert fault(read, path, **options) == f"{path}, qid: {message}"


@both
def test_ids_that_end_with_nul_are_refused(read: Any, store: Store) -> None:
    path = store(b"1 qid:a 1:1\n1 qid:a\0 1:1\n")
    message = r"must not end with a NUL character, but is 'a\x00'."
    assert fault(read, path) == f"{path}, line 2, qid: {message}"
    path = store(b"1 qid:1 1:1 # a b\0\n")
    message = "must not end with a NUL character, but begins 'a'."
    assert fault(read, path, doc_ids=True) == f"{path}, line 1, doc_id: {message}"


# ---- indices ----


@both
def test_an_index_far_beyond_the_entries_is_refused(read: Any, store: Store) -> None:
    path = store("1 qid:1 2147483646:1\n")
    message = (
        "the largest index is 2147483646, but the file has 1 entry in all, which looks like a "
        "mistake. Fix the line, or pass n_features=2147483646."
    )
    assert fault(read, path) == f"{path}, feature: {message}"
    assert read(path, n_features=2147483646)[0].n_features == 2147483646


@both
@pytest.mark.parametrize("index", [47_236, 10_000_000, 1 << 24])
def test_few_rows_of_wide_data_are_read(read: Any, store: Store, index: int) -> None:
    assert read(store(f"1 qid:1 {index}:1\n"))[0].X.shape == (1, index)


@both
def test_more_features_need_an_entry_for_a_thousand_of_them(read: Any, store: Store) -> None:
    width = (1 << 24) + 1
    entries = " ".join(f"{i}:1" for i in range(1, 16778))
    assert read(store(f"1 qid:1 {entries} {width}:1\n"))[0].n_features == width
    entries = entries.rpartition(" ")[0]
    path = store(f"1 qid:1 {entries} {width}:1\n")
    assert "but the file has 16777 entries in all" in fault(read, path)


def test_an_index_in_the_middle_of_a_line_counts_as_well(store: Store) -> None:
    assert "the largest index is 99999999, " in fault(
        WAYS["read"], store("1 qid:1 2:1 99999999:1 3:1\n")
    )


# ---- lines ----


@both
@packed
def test_a_line_has_a_greatest_length(
    read: Any, store: Store, pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks_of_lines, "LONGEST_LINE", 1000)
    monkeypatch.setattr(blocks_of_lines, "BLOCK_BYTES", 64)
    options = {"block_bytes": 64} if read is WAYS["stream"] else {}
    head = "1 qid:1 1:1\n" * 50
    path = store(pack((head + "1 qid:1 1:1".ljust(1000)).encode()))
    assert sum(ds.n_docs for ds in read(path, **options)) == 51
    path = store(pack((head + "1 qid:1 1:1".ljust(1001) + "\n" + head).encode()))
    message = f"{path}, line 51: a line must have at most 1000 bytes, but this one has more."
    assert fault(read, path, **options) == message


@both
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1 qid:1 1:1 # a\r0 qid:1 1:2 # b\r", 1),
        ("1 qid:1 1:1\r0 qid:1 1:2\r", 1),
        ("# head\r1 qid:1 1:1\r", 1),
        ("\r1 qid:1 1:1\r", 1),
        ("1 qid:1 1:1\n1 qid:1 \r 1:1\n", 2),
        ("1 qid:1 1:1\r\n1 qid:1 1:1\r\r\n", 2),
        ("1 qid:1 1:1\n\n# a\rb\n1 qid:1 1:1\n", 3),
        ("1\rqid:1 1:1\n", 1),
    ],
)
def test_carriage_returns_alone_end_no_line(read: Any, store: Store, text: str, line: int) -> None:
    path = store(text)
    message = r"lines must end with \n or \r\n, but here is a \r without \n. Convert the line ends."
    assert fault(read, path) == f"{path}, line {line}: {message}"


def test_a_long_file_of_carriage_returns_is_called_that(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks_of_lines, "LONGEST_LINE", 1000)
    monkeypatch.setattr(blocks_of_lines, "BLOCK_BYTES", 64)
    path = store("1 qid:1 1:1\r" * 1000)
    assert r"here is a \r without \n" in fault(WAYS["read"], path)


@both
@packed
def test_a_byte_order_mark_is_no_label(read: Any, store: Store, pack: Pack) -> None:
    (ds,) = read(store(pack(b"\xef\xbb\xbf1 qid:1 1:2\n0 qid:1 1:3\n")))
    assert ds.y.tolist() == [1, 0]
    path = store(pack(b"\xef\xbb\xbf"))
    assert fault(read, path).endswith("there must be at least one document, but there is none.")
    path = store(pack(b"1 qid:1 1:2\n\xef\xbb\xbf1 qid:1 1:2\n"))
    assert ", line 2, label: must be a number" in fault(read, path)


# ---- zstd ----


def skippable(content: bytes, kind: int = 0) -> bytes:
    return struct.pack("<II", 0x184D2A50 + kind, len(content)) + content


@both
@pytest.mark.parametrize("kind", [0, 15])
def test_frames_to_be_skipped_are_skipped(read: Any, store: Store, kind: int) -> None:
    row = b"1 qid:1 1:1\n"
    skip = skippable(b"x" * 100_000, kind)
    (ds,) = read(store(skip + zstd(row) + skippable(b"") + zstd(row) + skip))
    assert ds.n_docs == 2
    path = store(skip[:-1])
    assert fault(read, path).startswith(f"{path}: is damaged or cut short (Compressed file ended")


@pytest.mark.parametrize("level", [-5, 3, 19])
@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("sized", [True, False])
def test_every_kind_of_zstd_frame_is_read_and_its_end_is_missed(
    store: Store, level: int, checked: bool, sized: bool
) -> None:
    rng = np.random.default_rng(0)
    text = "".join(f"1 qid:1 1:{v}\n" for v in rng.random(20_000)) + "1 qid:1 1:0\n" * 50_000
    compressor = zstandard.ZstdCompressor(
        level=level, write_checksum=checked, write_content_size=sized
    )
    if sized:
        data = compressor.compress(text.encode())
    else:
        parts = compressor.compressobj()
        data = parts.compress(text.encode()) + parts.flush()
    assert read_letor(store(data)).n_docs == 70_000
    for size in (5, 6, 9, len(data) // 2, len(data) - 5, len(data) - 1):
        path = store(data[:size])
        assert fault(WAYS["read"], path).startswith(f"{path}: is damaged or cut short (")


def test_a_refused_zstd_file_is_let_go_of_at_once(store: Store) -> None:
    gc.disable()
    try:
        fault(WAYS["stream"], store(zstd(b"no\n" * 100_000)), block_bytes=64)
        files = [o for o in gc.get_objects() if isinstance(o, ZstdFile)]
        assert all(inspect.getgeneratorstate(file._pieces) == "GEN_CLOSED" for file in files)
    finally:
        gc.enable()


def test_a_damaged_zstd_block_is_refused(store: Store) -> None:
    rng = np.random.default_rng(0)
    text = "".join(f"1 qid:1 1:{v}\n" for v in rng.random(2000))
    data = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(text.encode()))
    for place in (4, 6, 9, 100, len(data) // 2):
        broken = data.copy()
        broken[place] ^= 0x55
        with pytest.raises(DataError):
            read_letor(store(bytes(broken)))


# ---- memory ----

GROWTH = """
import re, sys
from rankwright.data import lines
from rankwright.data.letor import read_letor, stream
from rankwright.exceptions import DataError

def peak():
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\\s+([0-9]+) kB", status.read())[1]) >> 10

lines.LONGEST_LINE = 4 << 20
read = {"read": read_letor, "stream": lambda path: sum(1 for _ in stream(path))}[sys.argv[1]]
before = peak()
try:
    read(sys.argv[2])
    print("no error")
except DataError as error:
    print(error.message)
print(peak() - before)
"""
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")


def growth(way: str, path: Path) -> tuple[str, int]:
    """Return the error, and by how many MiB the process grew."""
    command = [sys.executable, "-c", GROWTH, way, str(path)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=True)
    message, mebibytes = done.stdout.splitlines()
    return message, int(mebibytes)


def pack_repeated(text: bytes, n_mebibytes: int, pack: Pack) -> bytes:
    """Pack n MiB of a text that is repeated, without having it in memory."""
    piece = text * ((1 << 20) // len(text))
    out = io.BytesIO()
    if pack is zstd:
        with zstandard.ZstdCompressor(level=1).stream_writer(out, closefd=False) as writer:
            for _ in range(n_mebibytes):
                writer.write(piece)
    else:
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as writer:
            for _ in range(n_mebibytes):
                writer.write(piece)
    return out.getvalue()


@needs_proc
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gz", "zst"])
def test_a_bomb_of_empty_lines_needs_little_memory(store: Store, way: str, pack: Pack) -> None:
    path = store(pack_repeated(b"\n", 80, pack))
    assert path.stat().st_size < 2_000_000
    message, mebibytes = growth(way, path)
    assert message == "there must be at least one document, but there is none."
    assert mebibytes < 60


@needs_proc
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gz", "zst"])
def test_an_endless_line_needs_little_memory(store: Store, way: str, pack: Pack) -> None:
    message, mebibytes = growth(way, store(pack_repeated(b"1 ", 80, pack)))
    assert message == "a line must have at most 4194304 bytes, but this one has more."
    assert mebibytes < 60


@needs_proc
@pytest.mark.parametrize("way", WAYS)
def test_a_long_id_among_many_rows_needs_little_memory(store: Store, way: str) -> None:
    rows = "".join(f"1 qid:q{i // 10} 1:1\n" for i in range(200_000))
    message, mebibytes = growth(way, store(rows + f"1 qid:{'x' * 1000} 1:1\n"))
    assert message == "no error"
    assert mebibytes < 200  # 800 with strings of one width
