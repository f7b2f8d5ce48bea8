"""Finished results on disk: found by a key, kept for good, done again if they are damaged.

A result is a JSON object with the key of what it depends on and a checksum of itself. Results
without files are the lines of one file (:class:`TrialStore`), those with files are ``result.json``
in a folder beside them (:func:`write_result`). Keys are those of :mod:`rankwright.comparison.keys`.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankwright.comparison.keys import hashed
from rankwright.data import disk
from rankwright.data.files import PathLike
from rankwright.data.journal import Journal, read_lines
from rankwright.data.lock import Lock
from rankwright.data.writing import make_folder, replace_folder
from rankwright.exceptions import DataError, DataWarning

FORMAT = 2  # 1 was one form for each kind of study, without checksums
RESULT = "result.json"
_FIRST_FORMS = (b'{"study": 1, ', b"noise,level,trial,model,metric,value,seconds,key")


# ---- what JSON can hold ----


def json_value(value: Any) -> Any:
    """Return a value as JSON can hold it; what it cannot hold becomes its text, NaN None."""
    if isinstance(value, Mapping):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _sealed(key: str, result: Mapping[str, Any], **own: Any) -> dict[str, Any]:
    """Return a result with its key and a checksum."""
    content = {**json_value(result), **own}
    return {"key": key, "check": _checksum(content), **content}


def _unsealed(text: bytes) -> dict[str, Any] | None:
    """Return a result, or None if it is damaged."""
    try:
        found = json.loads(text)
        content = {name: item for name, item in found.items() if name not in ("key", "check")}
        whole = isinstance(found["key"], str) and found["check"] == _checksum(content)
    except (ValueError, AttributeError, KeyError, RecursionError):
        return None
    return found if whole else None


def _checksum(content: dict[str, Any]) -> str:
    return hashed(json.dumps(content, sort_keys=True).encode())[:8]


# ---- results without files ----


class TrialStore:
    """Results as the lines of a file, below a first line that says what the file is about.

    Attributes
    ----------
    results : dict of str to dict
        Results by key.
    """

    def __init__(self, path: PathLike | None = None, journal: Journal | None = None) -> None:
        self.path, self._journal = path, journal
        self.results: dict[str, dict[str, Any]] = {}
        self._outdated = False

    def find(self, key: str) -> dict[str, Any] | None:
        """Return a finished result."""
        found = self.results.get(key)
        if found is None and not self._outdated and _is_outdated(key, self.results):
            self._outdated = True
            _note(self.path, "has results of another version of rankwright: they are done again.")
        return found

    def add(self, key: str, result: Mapping[str, Any]) -> None:
        """Keep a finished result; it is on the disk itself when this returns."""
        line = json.dumps(_sealed(key, result), allow_nan=False)
        if self._journal is not None:
            self._journal.add(line.encode())
        self.results[key] = json.loads(line)


def data_beside(path: PathLike | None) -> Path | None:
    """Return where data lies while a study runs elsewhere: beside its file, if it has one."""
    place = None if path is None else Path(os.path.realpath(path))
    return None if place is None else place.with_name(f".{place.name}.data")


@contextlib.contextmanager
def open_trial_store(
    path: PathLike | None, about: Mapping[str, Any] | None = None
) -> Iterator[TrialStore]:
    """Open a file of results, for one process at a time; without a path nothing is kept.

    Parameters
    ----------
    path : str or path-like, optional
        The file; it is made if it is not there. What a crash left at its end, and lines that are
        damaged, count as not done. A file of an earlier version is put aside.
    about : mapping, optional
        What all results have in common; a file about something else is a DataError.
    """
    if path is None:
        yield TrialStore()
        return
    place = Path(os.path.realpath(path))
    head = json.dumps({"rankwright": FORMAT, **json_value(about or {})})
    make_folder(place.parent)
    with Lock(place.with_name(f".{place.name}.lock"), "this study", path):
        put_aside_if_old(path)
        with Journal(path) as journal:
            store = TrialStore(path, journal)
            size = place.stat().st_size
            if not journal.lines:
                if size and not _is_begun(place.read_bytes(), head.encode()):
                    raise DataError("is not a study. Choose another file.", path=path)
                journal.add(head.encode())
            else:
                _check_head(journal.lines[0], json.loads(head), path)
                found = [_unsealed(line) for line in journal.lines[1:]]
                torn = size != sum(len(line) + 1 for line in journal.lines)
                if damaged := found.count(None) + torn:
                    what = "1 line is" if damaged == 1 else f"{damaged} lines are"
                    _note(path, f"{what} damaged: what was there is done again.")
                store.results = {result["key"]: result for result in found if result is not None}
            yield store


def _is_begun(content: bytes, line: bytes) -> bool:
    """Return if a power cut may have left this of a first line: some of it, zeros elsewhere."""
    fits = len(content) <= len(line) + 1
    return fits and all(a in (0, b) for a, b in zip(content, line + b"\n", strict=False))


def _check_head(line: bytes, expected: dict[str, Any], path: PathLike) -> None:
    try:
        head = json.loads(line)
        form = head["rankwright"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataError("is not a study. Choose another file.", path=path) from None
    if form != FORMAT:
        raise DataError(
            f"must be a study of format {FORMAT}, but has {form!r}: it is of a later version of "
            "rankwright.",
            path=path,
        )
    if changed := [name for name, value in expected.items() if head.get(name) != value]:
        names = ", ".join(_with_number(name, head.get(name)) for name in changed)
        raise DataError(
            f"is a study of another search: {names} differ. Choose another file.", path=path
        )


def _with_number(name: str, value: Any) -> str:
    """Return the name of a setting, with its value if that is a number, which is easily given."""
    return f"{name} (there {value})" if isinstance(value, int) else name


def put_aside_if_old(path: PathLike) -> None:
    """Rename a file in a form of the first version, whose results cannot be told to be the same."""
    place = Path(os.path.realpath(path))
    try:
        with open(place, "rb") as file:
            beginning = file.read(64)
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", path=path) from None
    if not beginning.startswith(_FIRST_FORMS):
        return
    aside = place.with_name(f"{place.name}.old")
    while aside.exists():
        aside = aside.with_name(f"{aside.name}.old")
    disk.rename(str(place), str(aside))
    disk.sync_folder(str(place.parent))
    _note(path, f"is of an earlier version: it is now {aside.name}, and all is done again.")


def read_store(path: PathLike) -> list[dict[str, Any]]:
    """Return the results in a file, in their order."""
    found = [_unsealed(line) for line in read_lines(path)[1:]]
    return [result for result in found if result is not None]


def _is_outdated(key: str, keys: Iterable[str]) -> bool:
    """Tell whether the same was done by another version of the library."""
    settings = key.partition("-")[0]
    return any(other.partition("-")[0] == settings for other in keys)


def _note(path: PathLike | None, text: str) -> None:
    warnings.warn(f"{path}: {text}", DataWarning, stacklevel=3)


# ---- results with files ----


def write_result(
    folder: Path, key: str, result: Mapping[str, Any], files: Mapping[str, bytes]
) -> None:
    """Write a result and its files in place of what a folder holds, all or nothing."""
    if folder.is_symlink() or folder.is_file():  # of someone else, under the name of a result
        folder.unlink()
    with replace_folder(folder) as part:
        for name, content in files.items():
            (part / name).write_bytes(content)
        seals = {name: hashed(content) for name, content in files.items()}
        text = json.dumps(_sealed(key, result, files=seals), indent=1, allow_nan=False)
        (part / RESULT).write_text(text, encoding="utf-8")


def read_result(folder: Path, key: str) -> tuple[dict[str, Any] | None, str]:
    """Return the result of this key, or None; and what is to be said about one that is no use."""
    if not os.path.lexists(folder):
        return None, ""
    try:
        content = (folder / RESULT).read_bytes()
    except OSError:
        return None, "damaged"
    found = _unsealed(content)
    if found is None:
        return None, "of an earlier version" if _is_first_form(content) else "damaged"
    if found["key"] != key:
        return None, "of another version" if _is_outdated(key, [found["key"]]) else ""
    return (found, "") if _files_are_whole(folder, found.get("files")) else (None, "damaged")


def _files_are_whole(folder: Path, seals: Any) -> bool:
    """Tell whether files, all of them in the folder, are as they were written."""
    if not isinstance(seals, dict) or any(Path(name).name != name for name in seals):
        return False
    try:
        # A pipe or a device would never end.
        return all(
            (folder / name).is_file() and hashed((folder / name).read_bytes()) == seal
            for name, seal in seals.items()
        )
    except (OSError, ValueError):
        return False


def _is_first_form(content: bytes) -> bool:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return False
    if not isinstance(found, dict) or "check" in found:
        return False
    return {"key", "model", "fold", "model_bytes"} <= set(found)
