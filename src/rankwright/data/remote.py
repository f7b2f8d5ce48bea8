"""Files behind a URL, such as ``s3://bucket/train.parquet``: read through fsspec.

Tested are ``memory://``, ``file://`` and ``s3://``; whatever else fsspec knows should do as well.
Nothing is written there.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from rankwright.exceptions import DataError
from rankwright.extras import load_extra

_MARK = "://"


def is_remote(path: Any) -> bool:
    """Tell whether a path is a URL.

    >>> is_remote("s3://bucket/a.txt"), is_remote("a.txt")
    (True, False)
    """
    return _MARK in os.fspath(path)


def open_remote(path: str) -> BinaryIO:
    """Open a file for reading."""
    with _found(path) as (system, place):
        return cast(BinaryIO, io.BufferedReader(system.open(place, "rb")))


def remote_stamp(path: str) -> str:
    """Return by what a change of a file is noticed."""
    with _found(path) as (system, place):
        system.invalidate_cache()
        return str(system.ukey(place))


def is_remote_folder(path: str) -> bool:
    """Tell whether a URL is that of a folder."""
    with _found(path) as (system, place):
        return bool(system.isdir(place))


def remote_files(path: str) -> list[str]:
    """Return the files of a folder or a pattern, by name, but for those that are notes."""
    with _found(path) as (system, place):
        if system.isdir(place):
            there = [one["name"] for one in system.ls(place, detail=True) if one["type"] == "file"]
            names = [name for name in there if not _is_note(name)]
        else:
            names = [name for name in system.glob(place) if not system.isdir(name)]
        return sorted(system.unstrip_protocol(name) for name in names)


def refuse_remote(path: Any) -> None:
    """Raise for a URL where something is to be written."""
    if is_remote(path):
        raise DataError(
            "files are written to this machine only: write to a path, and copy it.", path=path
        )


def _is_note(name: str) -> bool:
    return name.rsplit("/", 1)[-1].startswith((".", "_"))


@contextlib.contextmanager
def _found(path: str) -> Iterator[tuple[Any, str]]:
    """Yield the file system of a URL, and the name of the file there; errors name the URL."""
    fsspec = load_extra("fsspec", "remote", f"{path.partition(_MARK)[0]}:// needs")
    try:
        yield fsspec.url_to_fs(path)
    except ImportError as error:  # of the package for this protocol
        raise ImportError(f"{path}: {error}") from None
    except Exception as error:  # each system has errors of its own
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: Exception) -> DataError:
    if isinstance(error, FileNotFoundError):
        return DataError("there is no such file.", path=path)
    if isinstance(error, PermissionError):
        return DataError("may not be read: permission denied.", path=path)
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return DataError(f"cannot be read: {text}.", path=path)
