"""The archive of a model file: entries that are looked at before they are believed.

Every size is compared with that of the file before anything of that size is made.
"""

from __future__ import annotations

import io
import math
import reprlib
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rankwright.exceptions import DataError

_MAX_NPY_HEADER = 256
_MAX_DIRECTORY = 1 << 16
_UTF8 = 0x800  # the one flag of an entry that may be set
_END = struct.Struct("<4s4H2LH")  # end of the archive: magic, ..., size and offset of the directory
_END64 = 20  # bytes of what precedes it in archives of more than 4 GiB
_BROKEN = (zipfile.BadZipFile, RuntimeError, ValueError, EOFError, OverflowError, struct.error)
short = reprlib.aRepr.repr  # for what comes from a file: one line, however long or deep


@contextmanager
def open_archive(stream: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Yield an archive whose entries lie inside of it, uncompressed."""
    size = stream.seek(0, io.SEEK_END)
    _check_ends(stream, size)
    try:
        archive = zipfile.ZipFile(stream)
    except _BROKEN:
        raise DataError("is damaged or cut short.") from None
    with archive:
        _check_entries(archive.infolist(), size)
        yield archive


def _check_ends(stream: IO[bytes], size: int) -> None:
    """Raise unless the file begins and ends as our archives do, with a directory that is small."""
    stream.seek(0)
    if stream.read(4) != b"PK\x03\x04":
        raise DataError("is not a rankwright model.")
    stream.seek(max(size - _END64 - _END.size, 0))
    before, end = stream.read(_END64), stream.read(_END.size)
    if len(end) < _END.size or not end.startswith(b"PK\x05\x06"):
        raise DataError("is damaged or cut short.")
    n_bytes, offset, _ = _END.unpack(end)[-3:]
    # A second, 64-bit end would win over this one.
    if offset + n_bytes + _END.size != size or before.startswith(b"PK\x06\x07"):
        raise DataError("is damaged or cut short.")
    if n_bytes > _MAX_DIRECTORY:
        raise DataError("is not a rankwright model: it holds too many entries.")


def _check_entries(entries: list[zipfile.ZipInfo], size: int) -> None:
    for entry in entries:
        packed = entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size
        if packed or entry.flag_bits & ~_UTF8:
            raise DataError(
                f"is not a rankwright model: {short(entry.filename)} is compressed or encrypted."
            )
    if sum(entry.file_size for entry in entries) > size:
        raise DataError("is damaged: its entries are larger than the file.")


def read_bytes(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the content of an entry."""
    try:
        return archive.read(name)
    except _BROKEN:
        raise DataError(f"is damaged: {short(name)} cannot be read.") from None


def read_text(archive: zipfile.ZipFile, name: str) -> str:
    """Return the content of an entry as text."""
    try:
        return read_bytes(archive, name).decode()
    except UnicodeDecodeError:
        raise DataError(f"{short(name)} is not UTF-8 text.") from None


def read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Return an array; its size is known to be right before it is made."""
    content = read_bytes(archive, name)
    stream = io.BytesIO(content)
    try:
        if npy.read_magic(stream) != (1, 0):
            raise ValueError
        shape, fortran, dtype = npy.read_array_header_1_0(stream, max_header_size=_MAX_NPY_HEADER)
    except Exception:  # a header is a Python literal, and can fail in more ways than numpy names
        raise DataError(f"{name} is not an array in NumPy's format 1.0.") from None
    if dtype.kind not in "fiu" or dtype.itemsize > 8:
        raise DataError(f"{name} must hold numbers, but its type is {short(dtype.str)}.")
    n_bytes = len(content) - stream.tell()
    possible = not fortran and len(shape) <= 32
    possible = possible and all(type(n) is int and 0 <= n < 1 << 48 for n in shape)
    if not possible or math.prod(shape) * dtype.itemsize != n_bytes:
        raise DataError(
            f"{name} holds {n_bytes} bytes, which is not {dtype} of shape {short(shape)}."
        )
    array: NDArray[Any] = np.ndarray(shape, dtype, content, stream.tell())
    return array.astype(dtype.newbyteorder("="))
