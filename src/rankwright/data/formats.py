"""Which format a file has: its name tells, unless the caller does."""

from __future__ import annotations

import os

from rankwright.data.feature_names import listed
from rankwright.data.files import STANDARD, PathLike, display_name, suffix
from rankwright.data.manifest import has_manifest, read_manifest
from rankwright.exceptions import DataError
from rankwright.suggestions import meant

LETOR = "letor"
ENDINGS = {
    "": LETOR,
    ".txt": LETOR,
    ".svm": LETOR,
    ".letor": LETOR,
    ".dat": LETOR,
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".qrels": "qrels",
    ".run": "run",
}
TABLES = ("parquet", "csv", "tsv", "jsonl")
TREC = ("qrels", "run")
FORMATS = (LETOR, *TABLES, *TREC)


def check_format(name: str) -> str:
    """Raise unless there is a format of this name."""
    if name not in FORMATS:
        raise ValueError(
            f"there is no format {name!r}.{meant(name, FORMATS)} There are {', '.join(FORMATS)}."
        )
    return name


def format_of(path: PathLike, given: str | None = None) -> str:
    """Return the format of a file: the one that is given, or the one that its ending tells.

    A folder has the format of its parts. Of names that tell nothing, only those without an ending
    are LETOR text; ``.gz`` and ``.zst`` do not count.

    Examples
    --------
    >>> format_of("a.csv.gz"), format_of("MQ2008.txt"), format_of("-", "jsonl")
    ('csv', 'letor', 'jsonl')
    """
    if given is not None:
        return check_format(given)
    return _format_of_folder(path) if os.path.isdir(path) else _told(path, "--format")


def format_to_write(path: PathLike, given: str | None = None) -> str:
    """Return the format of a file that is to be written; see :func:`format_of`."""
    return _told(path, "--out-format") if given is None else check_format(given)


def require_table(kind: str, path: PathLike) -> None:
    """Raise unless a format is one of tables."""
    if kind not in TABLES:
        raise DataError(
            "must be a table: name it .csv, .tsv, .jsonl or .parquet, or say which it is with "
            "format=...",
            path=display_name(path),
        )


def _told(path: PathLike, option: str) -> str:
    """Return the format that the ending of a name tells, if it tells one."""
    ending = suffix(path)
    if os.fspath(path) == STANDARD or ending in ENDINGS:
        return ENDINGS.get(ending, LETOR)
    known = [name for name in ENDINGS if name]
    raise DataError(
        f"the ending {ending!r} tells no format that is known: name it {', '.join(known[:-1])} or "
        f"{known[-1]} (.gz and .zst may follow), or say which it is: format=... ({option} on the "
        "command line).",
        path=display_name(path),
    )


def parts_of(folder: PathLike) -> list[str]:
    """Return the files of a folder that holds a table in parts, by name.

    Names that begin with a dot or an underscore are notes of whoever wrote the parts.
    """
    names = sorted(name for name in os.listdir(folder) if not name.startswith((".", "_")))
    paths = [os.path.join(folder, name) for name in names]
    if not paths:
        raise DataError("must hold the parts of a table, but is an empty folder.", path=folder)
    for path in paths:
        if os.path.isdir(path):
            raise DataError(
                f"must hold the parts of a table, but {os.path.basename(path)!r} is a folder.",
                path=folder,
            )
    return paths


def _format_of_folder(folder: PathLike) -> str:
    if has_manifest(folder):
        return check_format(read_manifest(folder).format)
    paths = parts_of(folder)
    found = {ENDINGS.get(suffix(path)) for path in paths}
    if len(found) == 1 and (kind := found.pop()) in TABLES:
        return str(kind)
    names = listed([os.path.basename(path) for path in paths], 4)
    raise DataError(
        "a folder must hold the parts of one table, all .parquet, or all .csv, .tsv or .jsonl, but "
        f"has {names}.",
        path=folder,
    )
