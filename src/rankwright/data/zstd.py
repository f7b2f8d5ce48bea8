"""Decompressing zstd, a block at a time.

zstandard's own reader does not tell a file that was cut short from a complete one, and what its
other interfaces make of a piece of input has no bound. The format cuts a frame into blocks that
decompress to 128 KiB at most, so the frames are taken apart here (RFC 8878, section 3.1).
"""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator
from typing import Any, BinaryIO

import zstandard

MAGIC = (0xFD2FB528).to_bytes(4, "little")
SKIPPABLE = tuple((0x184D2A50 + i).to_bytes(4, "little") for i in range(16))
_STEP = 1 << 16  # bytes to skip at a time


class ZstdFile(io.RawIOBase):
    """The text of a file of zstd frames; EOFError if its end is missing."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._pieces = self._frames()
        self._text = memoryview(b"")

    def close(self) -> None:
        """Let go of the decompressor at once.

        It belongs to a circle of references, the file and its pieces, and takes 150 kB: a service
        that is sent many bad files would keep them until Python looks for circles.
        """
        self._pieces.close()
        self._text = memoryview(b"")
        super().close()

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Whether the text can be read again; there is no other place to go to."""
        return self._raw.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go back to the beginning."""
        if (offset, whence) != (0, io.SEEK_SET):
            raise io.UnsupportedOperation("only the beginning can be sought")
        self._raw.seek(0)
        self._pieces, self._text = self._frames(), memoryview(b"")
        return 0

    def fileno(self) -> int:
        """Return the descriptor of the compressed file."""
        return self._raw.fileno()

    def readinto(self, buffer: Any, /) -> int:
        """Read what there is of the next block."""
        while not self._text:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._text = memoryview(piece)
        n = min(len(buffer), len(self._text))
        buffer[:n], self._text = self._text[:n], self._text[n:]
        return n

    def _frames(self) -> Generator[bytes, None, None]:
        while magic := self._raw.read(4):
            if magic in SKIPPABLE:
                self._skip(int.from_bytes(self._take(4), "little"))
            elif magic == MAGIC:
                yield from self._blocks(zstandard.ZstdDecompressor().decompressobj())
            else:
                raise zstandard.ZstdError("there is something else behind a frame")

    def _blocks(self, frame: Any) -> Iterator[bytes]:
        descriptor = self._take(1)
        single, has_sum = descriptor[0] >> 5 & 1, descriptor[0] >> 2 & 1
        size_bytes = (single, 2, 4, 8)[descriptor[0] >> 6]
        dictionary_bytes = (0, 1, 2, 4)[descriptor[0] & 3]
        header = self._take(1 - single + dictionary_bytes + size_bytes)
        yield frame.decompress(MAGIC + descriptor + header)
        last = False
        while not last:
            start = self._take(3)
            fields = int.from_bytes(start, "little")
            last, repeated, size = bool(fields & 1), fields >> 1 & 3 == 1, fields >> 3
            yield frame.decompress(start + self._take(1 if repeated else size))
        if has_sum:
            yield frame.decompress(self._take(4))

    def _take(self, n: int) -> bytes:
        data = self._raw.read(n)
        if len(data) < n:
            raise EOFError("Compressed file ended before the end of a frame")
        return data

    def _skip(self, n: int) -> None:
        while n > 0:
            n -= len(self._take(min(n, _STEP)))
