"""LETOR files that others write to while they are read: an error, never a crash or a mixture."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from rankwright import _kernels
from rankwright.data import lines as blocks_of_lines
from rankwright.data.letor import read_letor, stream
from rankwright.data.letor_rows import read_rows
from rankwright.data.letor_text import LetorFormat
from rankwright.data.lines import Lines
from rankwright.exceptions import DataError

CHANGED = "the file changed while it was read. Read it again when it is complete."
ROW = "1 qid:1 1:0.5 2:0.25\n"

# One thread writes to the file in place, again and again; the other reads it.
ATTACK = """
import sys, threading
from rankwright.data.letor import read_letor
from rankwright.exceptions import DataError

path, attack = sys.argv[1:]
with open(path, "rb") as file:
    good = file.read()
bad = {"rows": b"1\\n", "entries": b":", "nothing": b" "}.get(attack, b"") * len(good)
stop = threading.Event()

def write():
    while not stop.is_set():
        for text in (bad[: len(good)], good):
            with open(path, "r+b") as file:
                if attack == "shorter" and text is not good:
                    file.truncate(4096)
                file.write(text)

writer = threading.Thread(target=write)
writer.start()
outcomes = set()
for dense in [True, False] * 15:
    try:
        outcomes.add(read_letor(path, dense=dense, doc_ids=True, n_jobs=2).n_docs > 0)
    except DataError as error:
        outcomes.add(error.message)
stop.set()
writer.join()
print(*outcomes, sep="\\n")
"""


@pytest.mark.parametrize("attack", ["rows", "entries", "nothing", "shorter"])
def test_no_change_of_the_file_crashes_the_reader(tmp_path: Path, attack: str) -> None:
    path = tmp_path / "data.txt"
    path.write_text(ROW * 60_000)
    done = subprocess.run(
        [sys.executable, "-c", ATTACK, path, attack],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert CHANGED in done.stdout.splitlines()


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of a hundred documents, to be read in blocks of three lines."""
    monkeypatch.setattr(blocks_of_lines, "BLOCK_BYTES", 64)
    path = tmp_path / "data.txt"
    path.write_text(ROW * 100)
    return path


def at_block(n: int, change: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Change something when the n-th block is to be read."""
    read_at, calls = _kernels.read_at, iter(range(1, 1000))

    def counting(*args: Any) -> int:
        if next(calls) == n:
            change()
        return read_at(*args)

    monkeypatch.setattr(_kernels, "read_at", counting)


def refusal(read: Callable[[], object]) -> str:
    with pytest.raises(DataError) as caught:
        read()
    return str(caught.value)


CHANGES: dict[str, Callable[[Path], object]] = {
    "longer": lambda path: path.write_text(ROW * 101),
    "shorter": lambda path: os.truncate(path, 300),
    "empty": lambda path: os.truncate(path, 0),
    "wrong": lambda path: path.write_text("x" * 3000),
    "wider": lambda path: path.write_text(ROW * 100 + "1 qid:2 99:1\n"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("dense", [True, False])
def test_a_change_between_two_blocks_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object], dense: bool
) -> None:
    at_block(5, lambda: change(path), monkeypatch)
    assert refusal(lambda: read_letor(path, dense=dense)) == f"{path}: {CHANGED}"


def test_a_change_of_the_same_size_shows_by_its_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(path, ns=(0, 0))
    at_block(5, lambda: path.write_text(ROW.replace("0.5", "0.7") * 100), monkeypatch)
    assert refusal(lambda: read_letor(path)) == f"{path}: {CHANGED}"


def test_a_file_that_is_replaced_is_read_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("0 qid:9 1:9\n" * 7)
    at_block(5, lambda: os.replace(other, path), monkeypatch)
    assert read_letor(path).n_docs == 100
    assert read_letor(path).n_docs == 7


class Changing:
    """Blocks that are others each time."""

    n_lines, share = 0, 1.0

    def __init__(self, *texts: str) -> None:
        self.texts = iter(texts)

    def __iter__(self) -> Iterator[Lines]:
        yield Lines.of(next(self.texts).encode())


@pytest.mark.parametrize("last", ["1 qid:1 3:3 5:5 4:4\n", "1 qid:1 3:3 5:5\n1 qid:1 1:4\n"])
def test_counts_that_differ_between_survey_and_parsing_are_refused(last: str) -> None:
    # The index that the first look misses makes the text be surveyed, and read again.
    first = "1 qid:1 3:3 5:5 4:4\n1 qid:1 2:2\n"
    blocks: Any = Changing("1 qid:1 3:3 9:5 4:4\n", first, last)
    message = refusal(lambda: read_rows(blocks, LetorFormat("text")))
    assert message == f"text: {CHANGED}"


# ---- streams, which read a file twice ----


def between_passes(path: Path, change: Callable[[], object]) -> list[int]:
    def surveyed(_: int) -> None:
        change()

    return [piece.n_docs for piece in stream(path, 10, block_bytes=64, on_count=surveyed)]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_between_the_passes_of_a_stream_is_refused(
    path: Path, change: Callable[[Path], object]
) -> None:
    assert refusal(lambda: between_passes(path, lambda: change(path))) == f"{path}: {CHANGED}"


@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress], ids=["plain", "gz", "zst"]
)
def test_one_other_digit_between_the_passes_of_a_stream_is_refused(
    path: Path, pack: Callable[[bytes], bytes]
) -> None:
    other = pack((ROW * 99 + ROW.replace("0.5", "0.7")).encode())
    path.write_bytes(pack(ROW.encode() * 100))
    status = os.stat(path)

    def change() -> None:
        with open(path, "r+b") as file:
            file.write(other)
            file.truncate()
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert refusal(lambda: between_passes(path, change)) == f"{path}: {CHANGED}"


def test_a_file_that_is_replaced_is_streamed_as_it_was(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("0 qid:9 1:9\n" * 7)
    assert between_passes(path, lambda: os.replace(other, path)) == [100]


# ---- memory ----


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
@pytest.mark.parametrize("dense", [True, False])
def test_reading_needs_little_more_than_the_arrays(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pack: Callable[[bytes], bytes],
    dense: bool,
) -> None:
    monkeypatch.setattr(blocks_of_lines, "BLOCK_BYTES", 1 << 16)
    values = np.random.default_rng(0).random((20_000, 20), dtype=np.float32)
    rows = (" ".join(f"{i}:{v}" for i, v in enumerate(row, 1)) for row in values)
    path = tmp_path / "data.txt"
    path.write_bytes(pack("".join(f"1 qid:7 {row}\n" for row in rows).encode()))
    read_letor(path, dense=dense)  # warm up
    tracemalloc.start()
    try:
        X = read_letor(path, dense=dense, n_jobs=1).X
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    arrays = sum(part.nbytes for part in ([X] if dense else [X.data, X.indices, X.indptr]))
    arrays += 20_000 * 24  # labels, query ids, order
    assert arrays > 2_000_000
    assert peak < 1.35 * arrays + 500_000  # text would add 4,000,000
