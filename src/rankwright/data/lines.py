"""Text in blocks of whole lines, copied from files that others may change meanwhile.

Native code looks at a block twice, so it must not change under it: a block is a private copy, never
a mapped file. A file that is written to while it is read is an error; its size and time tell.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from rankwright import _kernels
from rankwright.data.files import STANDARD, PathLike, display_name, open_binary
from rankwright.exceptions import DataError
from rankwright.threads import n_threads

Bytes: TypeAlias = NDArray[np.uint8]

BLOCK_BYTES = 16 << 20
LONGEST_LINE = 1 << 28  # bytes; ten million features need fewer
PADDING = 16  # bytes behind a block that native code may look at
_FIRST_BYTES = 1 << 16  # of a stream
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class CannotStream(Exception):  # noqa: N818 (a signal, not an error)
    """What was read in parts so far is not what reading the file as a whole would give."""


class Lines(NamedTuple):
    """Whole lines, each ended by a newline, and ``PADDING`` bytes more."""

    padded: Bytes
    n_bytes: int

    @property
    def text(self) -> Bytes:
        """The lines alone."""
        return self.padded[: self.n_bytes]

    @classmethod
    def of(cls, text: bytes) -> Lines:
        r"""Copy lines; the last may lack its newline.

        >>> Lines.of(b"1 qid:1").text.tobytes()
        b'1 qid:1\n'
        """
        whole = text + b"\n" * (not text.endswith(b"\n"))
        return cls(np.frombuffer(whole + bytes(PADDING), dtype=np.uint8), len(whole))


class LineBlocks:
    """The blocks of a text, as often as they are iterated over.

    A block lives until the next is asked for. A file is read anew each time; of what cannot be read
    twice, such as a pipe, the blocks are kept.

    Attributes
    ----------
    seekable : bool
        Whether the text is read anew.
    n_lines : int
        Lines of the blocks before; whoever takes a block counts its lines here.
    share : float
        About how much of the text there was up to this block; 1 for the last.
    """

    def __init__(
        self, path: PathLike, stream: BinaryIO, compressed: bool, block_bytes: int, n_threads: int
    ) -> None:
        self.n_lines = 0
        self.share = 0.0
        self._name = display_name(path)
        self._stream = stream
        self._n_threads = n_threads
        self._stamp = _Stamp.of(stream)
        self._by_offset = (
            self._stamp is not None and not compressed and hasattr(_kernels, "read_at")
        )
        named = os.fspath(path) != STANDARD
        self.seekable = self._by_offset or (self._stamp is not None and named)
        self._start = self._offset = stream.tell() if self._by_offset else 0
        self._block_bytes = max(block_bytes, 1)
        if self._by_offset and self._stamp is not None:
            self._block_bytes = min(self._block_bytes, self._stamp.size + 1)
        self._kept: list[Lines] = []
        self._rest = self._blocks()

    def __iter__(self) -> Iterator[Lines]:
        self.n_lines = 0
        if self.seekable:
            self._offset = self._start
            if not self._by_offset:
                self._stream.seek(0)
            yield from self._blocks()
            self.require_unchanged()
            return
        yield from self._kept
        for lines in self._rest:
            self._kept.append(Lines.of(lines.text.tobytes()))
            yield lines

    def once(self) -> Iterator[Lines]:
        """Iterate for the only time: nothing is kept."""
        return iter(self) if self.seekable else self._rest

    def require_unchanged(self) -> None:
        """Raise if the file has been written to since it was opened."""
        if self._stamp is not None and _Stamp.of(self._stream) != self._stamp:
            raise changed_error(self._name)

    def _blocks(self) -> Iterator[Lines]:
        # Nobody knows the size of a stream. Most are small, and a whole block takes long to clear.
        first = self._block_bytes if self._by_offset else min(self._block_bytes, _FIRST_BYTES)
        buffer = bytearray(first + PADDING)
        filled = self._fill(buffer, 0)
        if filled == first < self._block_bytes:
            whole = bytearray(self._block_bytes + PADDING)
            whole[:filled] = memoryview(buffer)[:filled]
            buffer, filled = whole, self._fill(whole, filled)
        begin = len(_BYTE_ORDER_MARK) * buffer.startswith(_BYTE_ORDER_MARK)
        while filled > begin:
            end = buffer.rfind(b"\n", begin, filled) + 1
            last = filled < len(buffer) - PADDING
            if last and end < filled:
                buffer[filled] = ord("\n")
                end = filled = filled + 1
            if end == 0:  # a line longer than the buffer
                left = LONGEST_LINE + 1 - (filled - begin)
                if left <= 0:
                    raise self._long_line(buffer)
                longer = bytearray(filled + min(filled, left) + PADDING)
                longer[:filled] = memoryview(buffer)[:filled]
                buffer = longer
            else:
                self.share = 1.0 if last else self.share
                yield Lines(np.frombuffer(buffer, dtype=np.uint8)[begin:], end - begin)
                buffer[: filled - end] = buffer[end:filled]
                filled, begin = filled - end, 0
            if not last:
                filled = self._fill(buffer, filled)

    def _fill(self, buffer: bytearray, filled: int) -> int:
        """Read until the buffer is full or the text ends; return how many bytes it then holds."""
        try:
            return self._read(buffer, filled)
        except OSError as error:
            if error.errno is None:  # of gzip
                raise
            raise DataError(f"cannot be read: {error.strerror}.", path=self._name) from None

    def _read(self, buffer: bytearray, filled: int) -> int:
        room = memoryview(buffer)[filled : len(buffer) - PADDING]
        if self._by_offset and self._stamp is not None:
            out = np.frombuffer(room, dtype=np.uint8)
            n = _kernels.read_at(self._stream.fileno(), self._offset, out, self._n_threads)
            self._offset += n
            self.share = min(self._offset / self._stamp.size, 1.0)
            return filled + n
        self.share = 0.8  # nobody knows
        while room and (n := cast(Any, self._stream).readinto(room)):
            room, filled = room[n:], filled + n
        return filled

    def _long_line(self, buffer: bytearray) -> DataError:
        if b"\r" in buffer:
            return line_end_error(self._name, self.n_lines + 1)
        return DataError(
            f"a line must have at most {LONGEST_LINE} bytes, but this one has more.",
            path=self._name,
            line=self.n_lines + 1,
        )


class _Stamp(NamedTuple):
    """By what a change of a file is noticed."""

    size: int
    time: int

    @classmethod
    def of(cls, stream: BinaryIO) -> _Stamp | None:
        """Return that of a regular file; None for what has no size, such as a pipe."""
        try:
            status = os.fstat(stream.fileno())
        except (OSError, ValueError, io.UnsupportedOperation):
            return None
        if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
            return None
        return cls(status.st_size, status.st_mtime_ns)


@contextlib.contextmanager
def open_lines(
    path: PathLike, block_bytes: int | None = None, n_jobs: int | None = None
) -> Iterator[LineBlocks]:
    """Open a text file, plain or compressed, or standard input.

    If a file has changed at the end, that is the error, whatever else was wrong with it.
    """
    with open_binary(path) as (stream, compressed):
        size = BLOCK_BYTES if block_bytes is None else block_bytes
        blocks = LineBlocks(path, stream, compressed, size, n_threads(n_jobs))
        try:
            yield blocks
        except DataError:
            blocks.require_unchanged()
            raise
        blocks.require_unchanged()


def changed_error(path: str) -> DataError:
    """Return the error for a file that others write to."""
    return DataError(
        "the file changed while it was read. Read it again when it is complete.", path=path
    )


def line_end_error(path: str, line: int) -> DataError:
    """Return the error for a file in which carriage returns end lines."""
    return DataError(
        r"lines must end with \n or \r\n, but here is a \r without \n. Convert the line ends.",
        path=path,
        line=line,
    )
