"""The files that hold data in parts: which they are, and one of them read."""

from __future__ import annotations

import contextlib
import glob
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.files import STANDARD, PathLike, display_name
from rankwright.data.formats import format_of, parts_of
from rankwright.data.letor_text import LetorFormat, Survey
from rankwright.data.lines import changed_error, open_lines
from rankwright.data.manifest import check_listed, check_unchanged, has_manifest, read_manifest
from rankwright.data.remote import is_remote, is_remote_folder, remote_files, remote_stamp
from rankwright.data.validation import NoDocuments
from rankwright.exceptions import DataError, DataWarning

Reader: TypeAlias = Callable[..., Dataset]  # of a path and options of the format


def part_paths(given: PathLike | Iterable[PathLike]) -> list[str]:
    """Return the files that hold the parts: of a folder or a pattern by name, of a list as given.

    Names that begin with a dot or an underscore are notes of whoever wrote the parts.
    """
    many = [given] if isinstance(given, str | os.PathLike) else list(given)
    if not many:
        raise ValueError("there must be at least one part, but the list of files is empty.")
    paths = [path for one in many for path in _expanded(os.fspath(one))]
    _check_different(paths)
    return paths


def _expanded(path: str) -> list[str]:
    if path == STANDARD:
        raise DataError("parts are files, and cannot come from standard input.", path="-")
    if is_remote(path):
        return _expanded_url(path)
    if os.path.isdir(path):
        paths = parts_of(path)
        if has_manifest(path):
            check_listed(path, paths)
        return paths
    if os.path.exists(path) or not glob.has_magic(path):
        return [path]
    found = sorted(name for name in glob.glob(path, recursive=True) if not os.path.isdir(name))
    if not found:
        raise DataError("there is no file of such a name.", path=path)
    return found


def _expanded_url(path: str) -> list[str]:
    if not (glob.has_magic(path) or is_remote_folder(path)):
        return [path]
    found = remote_files(path)
    if not found:
        raise DataError("there is no file of such a name.", path=path)
    return found


def _check_different(paths: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for path in paths:
        place = path if is_remote(path) else os.path.realpath(path)
        if place in seen:
            raise DataError(f"is the same file as {seen[place]}: name each part once.", path=path)
        seen[place] = path


def same_format(paths: Sequence[str], given: str | None = None) -> str:
    """Return the format of all parts; they must be of one."""
    first = format_of(paths[0], given)
    for path in paths[1:]:
        if (kind := format_of(path, given)) != first:
            raise DataError(
                f"parts must be of one format, but {display_name(paths[0])} is {first}, and this "
                f"one {kind}.",
                path=path,
            )
    return first


def read_part(path: str, reader: Reader, **options: Any) -> Dataset | None:
    """Read one part; None, and a warning, if it has no documents. Raise if it changes meanwhile."""
    before = _stamp(path)
    check_unchanged(path)
    try:
        part = reader(path, **options)
    except NoDocuments:
        warnings.warn(f"{path}: has no documents, and is left out.", DataWarning, stacklevel=3)
        return None
    if _stamp(path) != before:
        raise changed_error(path)
    return part


@contextlib.contextmanager
def telling_once(told: set[str], path: str) -> Iterator[None]:
    """Let warnings pass that no part before had: what parts have in common is told of the first."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        text = str(warning.message).replace(path, "")
        if text not in told:
            told.add(text)
            warnings.warn(warning.message, stacklevel=4)


def _stamp(path: str) -> tuple[int | str, ...]:
    if is_remote(path):
        return (remote_stamp(path),)
    try:
        found = os.stat(path)
    except OSError:  # the reader will say so, or knows another way
        return ()
    return found.st_size, found.st_mtime_ns, found.st_ino


def check_there(paths: Sequence[str]) -> None:
    """Raise for a file of this machine that is not there."""
    for path in paths:
        if not is_remote(path) and not os.path.exists(path):
            raise DataError("there is no such file.", path=path)


def known_form(paths: Sequence[str], format: str | None = None) -> dict[str, Any]:
    """Return what a manifest tells of how to read all parts; nothing without one of them all.

    Raises DataError if the parts are of another format than the one that is given.
    """
    folders = {os.path.dirname(path) for path in paths}
    if len(folders) != 1 or not has_manifest(folder := folders.pop()):
        return {}
    manifest = read_manifest(folder)
    if format not in (None, manifest.format):
        raise DataError(
            f"the parts are {manifest.format}, as their manifest says, and not {format}. Leave "
            "the format out.",
            path=folder,
        )
    return manifest.letor if len(manifest.parts) == len(paths) else {}


def letor_form(paths: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with which all parts are read as one text of them all would be."""
    known = ("dense", "dtype", "zero_based", "n_features", "n_jobs")
    how = LetorFormat(paths[0], **{key: options[key] for key in known if key in options})
    total = Survey(final=True)
    for path in paths:
        with open_lines(path, n_jobs=how.n_jobs) as blocks:
            found = Survey.of_all(blocks, replace(how, path=path))
        found.require_plausible(replace(how, path=path))
        total.n_rows += found.n_rows
        total.n_entries += found.n_entries
        total.min_index = min(total.min_index, found.min_index)
        total.max_index = max(total.max_index, found.max_index)
    return {
        "n_features": total.n_features(how) or None,
        "zero_based": total.first_index(how) == 0,
        "dense": total.is_dense(how),
        "dtype": np.dtype(how.dtype),
    }
