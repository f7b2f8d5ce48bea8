"""Writing that is all or nothing, and that lasts.

========================== =======================================================================
:func:`write_atomically`   a file that appears under its name when it is complete
:func:`write_text`         the same for a text
:func:`replace_folder`     the same for a folder
:func:`make_folder`        a folder, with those above it
:func:`check_writable`     raise now what writing would raise at its end; also `..._folder`
========================== =======================================================================

What is written goes to a hidden ``.NAME.HEX.part`` beside its destination, then to the disk itself
(fsync), then under its name; then the folder goes to the disk. So after a crash or a power cut
there is the old or the new under the name, nothing else, and what returned is there for good. A
writer holds a lock (flock) on its part; parts without one are of runs that were killed, and the
next to write to the same destination removes them.

Lines that are added one by one are in :mod:`rankwright.data.journal`; what several processes must
not do at a time is in :mod:`rankwright.data.lock`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import fnmatch
import glob
import gzip
import io
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import zstandard

from rankwright.data import disk
from rankwright.data.files import STANDARD, PathLike
from rankwright.data.remote import refuse_remote
from rankwright.exceptions import DataError

_MOST_LINKS = 40  # as the kernel


def check_writable(path: PathLike) -> None:
    """Raise a DataError if a file cannot be written: before the work, not after it."""
    if os.fspath(path) == STANDARD:
        _standard_output()
        return
    refuse_remote(path)
    target = _follow_links(path)
    folder = os.path.dirname(target)
    if not os.path.lexists(folder):
        check_writable_folder(folder)
        return
    with _naming(path):
        if _is_replaced(target):
            _probe(target)
        elif not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


MANIFEST = "_manifest.json"  # of a folder of parts


def check_not_read(path: PathLike, *inputs: PathLike | None) -> None:
    """Raise if a file that is to be written is read, or lies where it would be read."""
    for given in inputs:
        if given is None or os.fspath(path) == STANDARD:
            continue
        read = 0 if os.fspath(given) == STANDARD else given  # a file may be standard input
        if isinstance(read, str) and glob.has_magic(read) and not os.path.exists(read):
            if fnmatch.fnmatch(os.path.abspath(path), os.path.abspath(read)):
                raise DataError(f"fits the pattern {read!r}: write to another place.", path=path)
            read = os.path.dirname(read) or "."
            if not os.path.exists(os.path.join(read, MANIFEST)):  # which knows all files beside it
                continue
        folder = os.path.dirname(os.path.abspath(path))
        within = os.path.isdir(read) and os.path.exists(folder) and os.path.samefile(folder, read)
        same = os.path.isfile(path) and os.path.exists(read) and os.path.samefile(path, read)
        if within or same:
            what = "lies in the folder that is read" if within else "is what is read"
            raise DataError(f"{what}: write to another place.", path=path)


def check_writable_folder(path: PathLike) -> None:
    """Raise a DataError if a folder cannot be made or written to; make nothing."""
    refuse_remote(path)
    place = os.path.abspath(path)
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        raise DataError("must be a folder, but is a file.", path=place)
    with _naming(path):
        _probe(os.path.join(place, "rankwright"))


@contextlib.contextmanager
def write_atomically(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a file (or ``-``) for writing; it appears under its name only when it is complete.

    Folders above it that are not there are made. A file that is there keeps its mode, and a
    symbolic link still points to it. ``.gz`` and ``.zst`` names are compressed, without a time
    stamp, so that equal data gives equal files. What is no file, such as ``/dev/null`` or a pipe,
    is written to as it is. Whatever the system says is a DataError that names the file.
    """
    if os.fspath(path) == STANDARD:
        out = _standard_output()
        with _naming("standard output"):
            yield out
            out.flush()
        return
    refuse_remote(path)
    target = _follow_links(path)
    if not os.path.lexists(os.path.dirname(target)):
        make_folder(os.path.dirname(target))
    with _naming(path, os.path.dirname(target)), contextlib.ExitStack() as stack:
        if _is_replaced(target):
            file = stack.enter_context(_replacing(target))
        else:
            file = stack.enter_context(disk.open_file(target, os.O_WRONLY | os.O_APPEND))
        yield _compressed(file, Path(path).suffix.lower(), stack)


def write_text(path: PathLike, text: str) -> None:
    r"""Write text as UTF-8, whatever the locale; of a name that is no text, show the bytes.

    The name of a file may be any bytes; Python has ``\udcff`` for a byte 0xff that is no text.
    """
    with write_atomically(path) as out:
        out.write(text.encode("utf-8", "backslashreplace"))


def make_folder(path: PathLike) -> None:
    """Make a folder and those above it, if they are not there, for good."""
    missing = []
    place = os.path.abspath(path)
    while not os.path.isdir(place):
        missing.append(place)
        place = os.path.dirname(place)
    with _naming(path):
        for folder in reversed(missing):
            try:
                disk.make_one_folder(folder)
            except FileExistsError:
                if not os.path.isdir(folder):  # another process may have made it
                    raise
            disk.sync_folder(os.path.dirname(folder))


@contextlib.contextmanager
def replace_folder(path: PathLike) -> Iterator[Path]:
    """Yield an empty folder; it appears under its name only when it is complete.

    Files may be written to it in any way while the block lasts. A folder that has the name is moved
    aside before and removed after: a crash between the two leaves nothing under the name.
    """
    refuse_remote(path)
    target = os.path.abspath(path)
    parent, name = os.path.split(target)
    make_folder(parent)
    with _naming(path, parent):
        remove_leftovers(parent, name)
        part, held = make_held_folder(target)
        try:
            yield Path(part)
            _sync_tree(part)
            _exchange(part, target)
            disk.sync_folder(parent)
        except BaseException:
            disk.remove_folder(part)
            raise
        finally:
            os.close(held)
        remove_leftovers(parent, name)


def remove_leftovers(folder: PathLike, name: str | None = None) -> None:
    """Remove what killed runs left in a folder of the files and folders they wrote to it.

    With ``name``, only what was to get this name. Parts that are being written stay.
    """
    pattern = re.compile(rf"\.{'.+' if name is None else re.escape(name)}\.[0-9a-f]{{8}}\.part")
    try:
        with os.scandir(folder) as entries:
            parts = [entry.path for entry in entries if pattern.fullmatch(entry.name)]
    except OSError:  # it may be written to, but not read
        return
    for part in parts:
        with contextlib.suppress(OSError):  # it went away, is another's, or cannot be locked
            held = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.isdir(part):
                    disk.remove_folder(part)
                else:
                    disk.remove(part)
            finally:
                os.close(held)


# ---- the destination ----


def _follow_links(path: PathLike) -> str:
    """Return where a file is, or is to be. A descriptor (/dev/stdout) is a place of its own."""
    place = os.path.abspath(path)
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(os.path.dirname(place))
        if not os.path.islink(place) or folder.startswith("/proc/"):
            return place
        place = os.path.join(folder, os.readlink(place))
    raise DataError("cannot be written: it is a link that leads back to itself.", path=path)


def _is_replaced(target: str) -> bool:
    """Return if a target is a file or nothing yet, and no device; a folder is an error."""
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return not os.path.exists(target) or (os.path.isfile(target) and not os.path.islink(target))


def _probe(target: str) -> None:
    """Begin to write, and leave nothing."""
    remove_leftovers(*os.path.split(target))
    part, file = _open_part(target, 0o600)
    file.close()
    disk.remove(part)


def _standard_output() -> IO[bytes]:
    if sys.stdout is None:
        raise DataError("cannot be written: it is closed.", path="standard output")
    sys.stdout.flush()
    out = sys.stdout.buffer
    if isinstance(out, io.RawIOBase):  # unbuffered: it might write only a part of what it is given
        return open(out.fileno(), "wb", closefd=False)
    return out


@contextlib.contextmanager
def _naming(path: PathLike, folder: str = "/") -> Iterator[None]:
    """Turn what the system says of a file in the folder into a DataError that names the path."""
    try:
        yield
    except OSError as error:
        named = isinstance(error.filename, str)
        if isinstance(error, BrokenPipeError) or (named and not error.filename.startswith(folder)):
            raise
        raise DataError(f"cannot be written: {error.strerror or error}.", path=path) from error


# ---- parts ----


@contextlib.contextmanager
def _replacing(target: str) -> Iterator[disk.File]:
    """Yield a hidden file that takes the place of the target when it is complete."""
    folder, name = os.path.split(target)
    remove_leftovers(folder, name)
    old = os.stat(target) if os.path.exists(target) else None
    part, file = _open_part(target, 0o666 if old is None else stat.S_IMODE(old.st_mode))
    try:
        with file:
            if old is not None:
                _keep_owner_and_mode(file, old)
            yield file
            disk.sync(file)
            disk.rename(part, target)
        disk.sync_folder(folder)
    except BaseException:
        with contextlib.suppress(OSError):
            disk.remove(part)
        raise


def _open_part(target: str, mode: int) -> tuple[str, disk.File]:
    """Make a hidden file, and hold a lock on it."""
    while True:
        part = _part_of(target)
        file = disk.open_file(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        if _is_held(part, file.fileno()):
            return part, file
        file.close()


def make_held_folder(target: str) -> tuple[str, int]:
    """Make a hidden folder beside a target, and hold a lock on it: its name, and a descriptor.

    It is a leftover for :func:`remove_leftovers` as soon as the descriptor is closed.
    """
    while True:
        part = _part_of(target)
        disk.make_one_folder(part)
        try:
            held = os.open(part, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # it was taken for a leftover
            continue
        if _is_held(part, held):
            return part, held
        os.close(held)


def _part_of(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name}.{secrets.token_hex(4)}.part")


def _is_held(part: str, descriptor: int) -> bool:
    """Lock a new part until the process ends; return False if it was taken for a leftover."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nobody can lock the part to remove it either
        return True
    return os.path.exists(part)


def _keep_owner_and_mode(file: disk.File, old: os.stat_result) -> None:
    with contextlib.suppress(PermissionError):  # only root may give files away
        os.fchown(file.fileno(), old.st_uid, old.st_gid)
    os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))


def _compressed(file: disk.File, suffix: str, stack: contextlib.ExitStack) -> Any:
    if suffix == ".gz":
        return stack.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0))
    if suffix == ".zst":
        compressor = zstandard.ZstdCompressor(level=6)
        return stack.enter_context(compressor.stream_writer(file, closefd=False))
    return file


def _exchange(part: str, target: str) -> None:
    """Give a folder its name; the one that had it is moved aside, and is a leftover then."""
    if not os.path.isdir(target):
        disk.rename(part, target)
        return
    aside = _part_of(target)
    disk.rename(target, aside)
    try:
        disk.rename(part, target)
    except BaseException:
        disk.rename(aside, target)
        raise


def _sync_tree(folder: str) -> None:
    """Bring all files in a folder to the disk, then the folders from within."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            with disk.open_file(os.path.join(place, name), os.O_RDONLY) as file:
                disk.sync(file)
        disk.sync_folder(place)
