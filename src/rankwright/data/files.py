"""Opening files: compression by content, and standard input."""

from __future__ import annotations

import contextlib
import gzip
import io
import mmap
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
import zstandard
from numpy.typing import NDArray

from rankwright.exceptions import DataError

PathLike: TypeAlias = str | os.PathLike[str]
Bytes: TypeAlias = NDArray[np.uint8]

STANDARD = "-"  # standard input or output
BLOCK_BYTES = 32 << 20
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PAR1": "parquet"}
_BROKEN = (gzip.BadGzipFile, EOFError, zlib.error, zstandard.ZstdError)


def suffix(path: PathLike) -> str:
    """Return the suffix that tells the format: ``".txt"`` for ``"a.txt.gz"``.

    >>> suffix("a.txt.gz"), suffix("b.parquet"), suffix("-")
    ('.txt', '.parquet', '')
    """
    name = Path(path)
    if name.suffix.lower() in (".gz", ".zst"):
        name = name.with_suffix("")
    return name.suffix.lower()


def display_name(path: PathLike) -> str:
    """Return the name to use in messages."""
    return "standard input" if os.fspath(path) == STANDARD else os.fspath(path)


def text_blocks(path: PathLike, block_bytes: int | None = None) -> Iterator[Bytes]:
    """Yield the bytes of a text file in blocks that end with a line.

    A plain file comes in one block, mapped into memory, unless ``block_bytes`` is given. Compressed
    files (recognised by content) and standard input come in blocks of about ``block_bytes``.
    """
    with open_binary(path) as (stream, compressed):
        if block_bytes is None and not compressed and (mapping := _map(stream)) is not None:
            yield mapping
            return
        yield from _line_blocks(stream, block_bytes or BLOCK_BYTES)


@contextlib.contextmanager
def open_binary(path: PathLike) -> Iterator[tuple[BinaryIO, bool]]:
    """Open a file or standard input for reading; yield it, decompressed, and if it was compressed.

    Damage that shows while it is read is a DataError.
    """
    name = display_name(path)
    with contextlib.ExitStack() as stack:
        if os.fspath(path) == STANDARD:
            if sys.stdin is None:
                raise DataError("cannot be read: it is closed.", path=name)
            raw = cast(Any, sys.stdin.buffer)
        else:
            try:
                raw = cast(Any, stack.enter_context(open(path, "rb")))
            except FileNotFoundError:
                raise DataError("there is no such file.", path=path) from None
            except IsADirectoryError:
                raise DataError("must be a file, but is a folder.", path=path) from None
            except PermissionError:
                raise DataError("may not be read: permission denied.", path=path) from None
            except OSError as error:
                raise DataError(f"cannot be read: {error.strerror}.", path=path) from None
            except ValueError as error:  # a NUL in the name
                raise DataError(f"cannot be read: {error}.", path=path) from None
        try:
            head = raw.peek(4)[:4]
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}.", path=name) from None
        kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "plain")
        if kind == "parquet":
            raise DataError("is a Parquet file. Name it *.parquet.", path=name)
        stream = raw
        if kind == "gzip":
            stream = stack.enter_context(gzip.open(raw))
        elif kind == "zstd":
            stream = stack.enter_context(io.BufferedReader(_ZstdFile(raw)))
        try:
            yield cast(BinaryIO, stream), kind != "plain"
        except _BROKEN as error:
            raise DataError(f"is damaged or cut short ({error}).", path=name) from None


class _ZstdFile(io.RawIOBase):
    """Decompressed zstd frames. Unlike zstandard's own reader, it notices a missing end."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._frame: Any = None
        self._rest = b""  # of the input, behind a frame
        self._text = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._text:
            data = self._rest or self._raw.read(1 << 16)
            in_frame = self._frame is not None and not self._frame.eof
            if not data:
                if in_frame:
                    raise EOFError("Compressed file ended before the end of a frame")
                return 0
            if not in_frame:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._text = memoryview(self._frame.decompress(data))
            self._rest = self._frame.unused_data if self._frame.eof else b""
        n = min(len(buffer), len(self._text))
        buffer[:n], self._text = self._text[:n], self._text[n:]
        return n


def _map(stream: BinaryIO) -> Bytes | None:
    """Map a regular file into memory; None for pipes and other things that have no size."""
    try:
        size = os.fstat(stream.fileno()).st_size
        if size == 0 or stream.tell() != 0:
            return None
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    if hasattr(mapping, "madvise"):
        mapping.madvise(mmap.MADV_SEQUENTIAL)
    return np.frombuffer(mapping, dtype=np.uint8)


def _line_blocks(stream: BinaryIO, block_bytes: int) -> Iterator[Bytes]:
    rest = b""
    while block := stream.read(block_bytes):
        end = block.rfind(b"\n") + 1
        if end == 0:
            rest += block
            continue
        yield np.frombuffer(rest + block[:end], dtype=np.uint8)
        rest = block[end:]
    if rest:
        yield np.frombuffer(rest, dtype=np.uint8)
