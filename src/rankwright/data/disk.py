"""The few operations by which anything comes to be on disk.

All that must survive a crash goes through these functions, and is called as ``disk.rename(...)``:
tests put recording ones in their place and play power cuts. Until :func:`sync` the content of a
file, and until :func:`sync_folder` the names in a folder, may be lost with the power.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import shutil
from typing import Any

_NOT_SYNCED = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # by file systems that cannot


class File(io.FileIO):
    """A file without a buffer, whose ``write`` writes all that it is given."""

    def write(self, data: Any) -> int:
        """Write all of the bytes."""
        rest = memoryview(data)
        size = rest.nbytes
        rest = rest.cast("B") if size else rest
        while size and rest:
            rest = rest[super().write(rest) :]
        return size


def open_file(path: str, flags: int, mode: int = 0o666) -> File:
    """Open a file as :func:`os.open` does."""
    modes = {os.O_RDONLY: "rb", os.O_WRONLY: "wb", os.O_RDWR: "r+b"}
    return File(os.open(path, flags, mode), modes[flags & os.O_ACCMODE])


def truncate(file: File, size: int) -> None:
    """Cut a file to its first bytes."""
    file.truncate(size)


def sync(file: File) -> None:
    """Return when the content of a file is on the disk itself."""
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync stops at the cache of the disk
        fcntl.fcntl(file.fileno(), fcntl.F_FULLFSYNC)
    else:
        os.fsync(file.fileno())


def sync_folder(path: str) -> None:
    """Return when the names in a folder are on the disk itself."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # it may be written to, but not read
        os.sync()
        return
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in _NOT_SYNCED:
            raise
    finally:
        os.close(folder)


def rename(old: str, new: str) -> None:
    """Give a file or folder another name, in place of the file that has it."""
    os.replace(old, new)


def make_one_folder(path: str) -> None:
    """Make one folder."""
    os.mkdir(path)


def remove(path: str) -> None:
    """Remove a file."""
    os.unlink(path)


def remove_folder(path: str) -> None:
    """Remove a folder with all that is in it, if it is there."""
    shutil.rmtree(path, ignore_errors=True)
