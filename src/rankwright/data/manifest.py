"""The list of parts in a folder: what :func:`rankwright.data.partition` wrote there.

A manifest tells whether a folder is still what was written: files that lack, or that others have
changed, are found before anything is learned from them. Its name begins with an underscore, as
notes of whoever wrote the parts do.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from rankwright.data.files import PathLike
from rankwright.data.writing import MANIFEST, write_text
from rankwright.exceptions import DataError
from rankwright.showing import Brief

_BLOCK = 1 << 20


@dataclass(frozen=True)
class PartEntry:
    """One file of a folder of parts."""

    name: str
    n_docs: int
    n_queries: int
    n_bytes: int
    hash: str  # BLAKE2b of its bytes


@dataclass(frozen=True, repr=False)
class Manifest(Brief):
    """What is in a folder of parts.

    Attributes
    ----------
    format : str
        Of all files.
    letor : dict
        Options with which LETOR text is read as one text of all parts would be; empty for tables.
    parts : tuple of PartEntry
        The files.
    """

    format: str
    letor: dict[str, Any]
    parts: tuple[PartEntry, ...]

    def write(self, folder: PathLike) -> None:
        """Write it to a folder."""
        text = json.dumps({"rankwright": "parts", **asdict(self)}, indent=1)
        write_text(os.path.join(folder, MANIFEST), f"{text}\n")


def part_entry(path: str, n_docs: int, n_queries: int) -> PartEntry:
    """Return what a manifest tells of a file."""
    return PartEntry(
        os.path.basename(path), n_docs, n_queries, os.path.getsize(path), hash_file(path)
    )


def hash_file(path: str) -> str:
    """Return a hash of the bytes of a file."""
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def has_manifest(folder: PathLike) -> bool:
    """Tell whether a folder has parts with a manifest."""
    return os.path.isfile(os.path.join(folder, MANIFEST))


def read_manifest(folder: PathLike) -> Manifest:
    """Read the manifest of a folder; raise DataError if it is none."""
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        if found.pop("rankwright") != "parts":
            raise ValueError
        parts = tuple(PartEntry(**part) for part in found.pop("parts"))
        return _plausible(Manifest(parts=parts, **found))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise DataError(
            "is not a manifest of parts. Partition the data again, or remove this file: then the "
            "parts are read without it.",
            path=path,
        ) from None


def _plausible(manifest: Manifest) -> Manifest:
    """Raise ValueError unless what was read can be a manifest."""
    kinds = {"name": str, "n_docs": int, "n_queries": int, "n_bytes": int, "hash": str}
    letor: dict[str, Any] = {"n_features": int | None, "zero_based": bool, "dense": bool}
    fine = isinstance(manifest.format, str) and manifest.letor.keys() in (set(), letor.keys())
    fine &= all(isinstance(value, letor[key]) for key, value in manifest.letor.items())
    for part in manifest.parts:
        fine &= all(type(getattr(part, key)) is kind for key, kind in kinds.items())
    if not (fine and manifest.parts):
        raise ValueError
    return manifest


def check_listed(folder: PathLike, paths: list[str]) -> None:
    """Raise unless the files of a folder are those of its manifest, by name and size."""
    known = {part.name: part for part in read_manifest(folder).parts}
    there = {os.path.basename(path): path for path in paths}
    how = f"Partition the data again, or name the files: '{os.path.join(folder, '*')}'"
    for name in sorted(known.keys() - there.keys()):
        raise DataError(f"{MANIFEST} lists {name!r}, which is not there. {how}.", path=folder)
    for name in sorted(there.keys() - known.keys()):
        raise DataError(f"{MANIFEST} does not list {name!r}. {how}.", path=folder)
    for name, path in there.items():
        if os.path.getsize(path) != known[name].n_bytes:
            raise changed_part(path)


def check_unchanged(path: str) -> None:
    """Raise if a file is another than the manifest beside it says, if there is one."""
    folder, name = os.path.split(path)
    if not has_manifest(folder):
        return
    known = {part.name: part for part in read_manifest(folder).parts}
    if name in known and known[name].hash != hash_file(path):
        raise changed_part(path)


def changed_part(path: str) -> DataError:
    """Return the error for a part that is not what was written."""
    return DataError(
        f"has changed since it was written: {MANIFEST} beside it has another size or hash. "
        "Partition the data again.",
        path=path,
    )
