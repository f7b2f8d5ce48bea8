"""Opening files: compression by content, standard input, and URLs."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

import zstandard

from rankwright.data.remote import is_remote, open_remote
from rankwright.data.zstd import MAGIC, SKIPPABLE, ZstdFile
from rankwright.exceptions import DataError

PathLike: TypeAlias = str | os.PathLike[str]

STANDARD = "-"  # standard input or output
_MAGIC = {
    b"\x1f\x8b": "gzip",
    **dict.fromkeys((MAGIC, *SKIPPABLE), "zstd"),
}
# What is no text, though its name may say so, and what to do about it.
_REFUSED = {
    b"PAR1": "is a Parquet file. Name it *.parquet.",
    b"PK\x03\x04": "is a zip archive or a workbook. Unpack it, or save it as CSV (UTF-8).",
    b"\xff\xfe": "is UTF-16 text. Convert it to UTF-8 (iconv -f UTF-16 -t UTF-8).",
    b"\xfe\xff": "is UTF-16 text. Convert it to UTF-8 (iconv -f UTF-16 -t UTF-8).",
    b"BZh": "is compressed with bzip2. Unpack it, or use gzip or zstd.",
    b"\xfd7zX": "is compressed with xz. Unpack it, or use gzip or zstd.",
}
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


def is_device(path: PathLike) -> bool:
    """Tell whether a path is there and is no file: what is written to it cannot be read again."""
    return os.path.exists(path) and not os.path.isfile(path)


def can_be_read_again(path: PathLike) -> bool:
    """Tell whether data are in a file, and not in a pipe."""
    return path != STANDARD and os.path.isfile(path)


def open_raw(path: PathLike) -> BinaryIO:
    """Open a file of this machine or behind a URL for reading, as it is."""
    if is_remote(path):
        return open_remote(os.fspath(path))
    try:
        return open(path, "rb")
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


@contextlib.contextmanager
def open_binary(path: PathLike, *, text: bool = True) -> Iterator[tuple[BinaryIO, bool]]:
    """Open a file or standard input for reading; yield it, decompressed, and if it was compressed.

    Damage that shows while it is read is a DataError, and so is, with ``text``, what is none.
    """
    name = display_name(path)
    with contextlib.ExitStack() as stack:
        raw: Any
        if os.fspath(path) == STANDARD:
            if sys.stdin is None:
                raise DataError("cannot be read: it is closed.", path=name)
            raw = sys.stdin.buffer
        else:
            raw = stack.enter_context(open_raw(path))
        try:
            head = raw.peek(4)[:4]
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}.", path=name) from None
        kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "plain")
        for magic, message in _REFUSED.items():
            if text and head.startswith(magic):
                raise DataError(message, path=name)
        stream = raw
        if kind == "gzip":
            stream = stack.enter_context(gzip.open(raw))
        elif kind == "zstd":
            stream = stack.enter_context(io.BufferedReader(ZstdFile(raw)))
        try:
            yield cast(BinaryIO, stream), kind != "plain"
        except _BROKEN as error:
            raise DataError(f"is damaged or cut short ({error}).", path=name) from None
