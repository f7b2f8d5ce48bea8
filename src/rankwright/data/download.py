"""Fetching benchmarks: downloads that resume, checksums, unpacking."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import stat
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from rankwright.data.archives import unpack_archive
from rankwright.data.benchmarks import find_benchmark
from rankwright.data.catalogue import Archive, Benchmark
from rankwright.data.files import PathLike
from rankwright.exceptions import DataError
from rankwright.extras import load_extra

Progress = Callable[[str, int, int | None], None]  # file, bytes so far, bytes in all if known

_MAGIC = {".zip": b"PK", ".gz": b"\x1f\x8b", ".bz2": b"BZh", ".rar": b"Rar!"}
_BLOCK = 1 << 16
_TIMEOUT = 30.0  # seconds without a byte


def fetch(
    benchmark: str | Benchmark,
    folder: PathLike | None = None,
    *,
    accept_terms: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Bring a benchmark into its folder; do nothing if it is there.

    What may be downloaded is downloaded (an interrupted download resumes), checked and unpacked.
    Of the others, archives that a person has put into the folder are checked and unpacked. Needs
    ``rankwright[data]``.

    Parameters
    ----------
    benchmark : str or Benchmark
        Its name in the catalogue.
    folder : str or path-like, optional
        Folder of all benchmarks; see :func:`data_folder`.
    accept_terms : bool, default False
        Say that you accept the terms, where a person has to.
    progress : callable, optional
        Called with a file's name, its bytes so far and its bytes in all (None if unknown).

    Returns
    -------
    Path
        The folder of the benchmark.

    Raises
    ------
    DataError
        A file must be fetched by hand, or has a wrong checksum.
    ConnectionError
        The server cannot be reached, or the connection was cut.
    """
    entry = find_benchmark(benchmark) if isinstance(benchmark, str) else benchmark
    place = entry.folder(folder)
    if entry.is_present(folder):
        return place
    for archive in entry.archives:
        path = place / archive.name
        if archive.url is None:
            if not path.is_file():
                raise DataError(
                    "must be fetched by hand.\n" + entry.instructions(folder), path=path
                )
            _check_digest(path, archive)
        else:
            if entry.must_accept and not accept_terms:
                raise DataError(
                    f"{entry.title} has terms that you must accept: {entry.terms}. Read them at "
                    f"{entry.page}, then pass --accept-terms (accept_terms=True)."
                )
            _download(archive, place, progress)
        unpack_archive(path, place)
    if missing := entry.missing(folder):
        raise DataError(
            f"must hold {missing[0]} (and {len(missing) - 1} more) once the archives are unpacked, "
            f"but does not.\n{entry.instructions(folder)}",
            path=place,
        )
    return place


def _download(archive: Archive, folder: Path, progress: Progress | None) -> None:
    """Download one file by pooch, which checks it and moves it to its place."""
    pooch = load_extra("pooch", "data", "downloads need")
    pooch.get_logger().setLevel("WARNING")
    part = folder / f"{archive.name}.part"
    try:
        pooch.retrieve(
            archive.url,
            known_hash=None if archive.sha256 is None else f"sha256:{archive.sha256}",
            fname=archive.name,
            path=folder,
            downloader=partial(_resume, part=part, archive=archive, progress=progress),
        )
    except ValueError as error:
        if "hash" not in str(error):
            raise
        raise _mismatch(
            folder / archive.name, archive, "The download was removed; try again."
        ) from None


def _resume(
    url: str, out: str, _pooch: Any, *, part: Path, archive: Archive, progress: Progress | None
) -> None:
    """Write a URL to ``out``, continuing after what an earlier try left in ``part``."""
    done = _size(part)
    request = urllib.request.Request(url, headers={"User-Agent": "rankwright"})
    if done:
        request.add_header("Range", f"bytes={done}-")
    try:
        # An opener of our own: the shared one keeps the proxies of its first use for ever.
        with urllib.request.build_opener().open(request, timeout=_TIMEOUT) as reply:
            if reply.status != 206:  # the server sends everything again
                done = 0
            elif not _continues(reply.headers.get("Content-Range"), done):
                part.unlink()
                raise ConnectionError("the server sends another part than the one asked for")
            total = _total(reply.headers.get("Content-Length"), done)
            with _open(part, done) as file:
                while block := reply.read(_BLOCK):
                    file.write(block)
                    done += len(block)
                    if progress is not None:
                        progress(archive.name, done, total)
        if total is not None and done < total:
            raise ConnectionError(f"{done} of {total} bytes came")
    except urllib.error.HTTPError as error:
        if error.code != 416:  # nothing is left to send: the checksum decides
            raise ConnectionError(
                f"{url}: the server answers {error.code} {error.reason}. See the publisher's page."
            ) from None
    except (OSError, http.client.HTTPException) as error:
        raise _no_connection(url, part, error) from None
    _require_kind(part, archive)
    os.replace(part, out)


def _no_connection(url: str, part: Path, error: Exception) -> ConnectionError:
    reason = getattr(error, "reason", None) or error
    if part.is_file() and (size := part.stat().st_size):
        return ConnectionError(
            f"{url}: the connection was cut ({reason}). {size} bytes are kept; run again to resume."
        )
    return ConnectionError(
        f"{url}: {urlsplit(url).hostname} cannot be reached ({reason}). Are you offline? With "
        f"another machine, fetch that file and put it at {part.with_suffix('')}."
    )


def _check_digest(path: Path, archive: Archive) -> None:
    """Raise unless a file that a person has put there is the right one."""
    if archive.sha256 is None:
        return
    with open(path, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != archive.sha256:
            raise _mismatch(path, archive, "Fetch it again.")


def _mismatch(path: Path, archive: Archive, advice: str) -> DataError:
    return DataError(
        f"must have sha256 {archive.sha256}, but has another: it is damaged or another version. "
        f"{advice}",
        path=path,
    )


# ---- what is kept of a download that was cut ----
# Its name is the same in the next try, so that someone else who may write to the folder could have
# put a link there.


def _size(part: Path) -> int:
    try:
        status = os.lstat(part)
    except FileNotFoundError:
        return 0
    _require_own(status, part)
    return status.st_size


def _open(part: Path, done: int) -> IO[bytes]:
    """Open for writing behind the first ``done`` bytes; what lies behind them is dropped."""
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    file = os.fdopen(os.open(part, flags, 0o666), "wb")
    try:
        _require_own(os.fstat(file.fileno()), part)
        file.truncate(done)
        file.seek(done)
    except BaseException:
        file.close()
        raise
    return file


def _require_own(status: os.stat_result, part: Path) -> None:
    mine = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    if not (stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and mine):
        raise DataError("is not a file that an earlier download left here. Remove it.", path=part)


# ---- what servers say ----


def _continues(content_range: str | None, done: int) -> bool:
    """Whether a part of a file begins behind the first ``done`` bytes."""
    found = re.match(r"bytes (\d+)-", content_range or "")
    return found is not None and int(found[1]) == done


def _total(length: str | None, done: int) -> int | None:
    """Return how many bytes there are in all, if the server tells."""
    if length is None:
        return None
    if not (length.isascii() and length.isdigit()):
        raise ConnectionError(f"the server states a length of {length!r:.30}")
    return done + int(length)


def _require_kind(part: Path, archive: Archive) -> None:
    """Raise if what came is a web page, as that of a network one has to log in to."""
    with open(part, "rb") as file:
        head = file.read(256)
    magic = _MAGIC.get(Path(archive.name).suffix) if archive.sha256 is None else None
    page = head.lstrip().lower().startswith((b"<!doctype", b"<html"))
    if page or (magic is not None and not head.startswith(magic)):
        part.unlink()
        raise DataError(
            f"{archive.url} gave {'a web page' if page else 'another kind of file'}. Is there a "
            "page to log in to? Try it in a browser.",
            path=part.with_suffix(""),
        )
