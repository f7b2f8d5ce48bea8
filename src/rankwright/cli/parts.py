"""Data in parts on the command line: folders with a manifest, and patterns of names."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.cluster import current_client
from rankwright.cli.terminal import read_quietly, telling_warnings

if TYPE_CHECKING:
    from rankwright.data.columns import Columns
    from rankwright.data.parts import Parts

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(i?)B?\s*", re.IGNORECASE)


def _checked_size(text: str | None) -> str | None:
    if text is not None:
        size_of(text)
    return text


MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        callback=_checked_size,
        help="Data in parts: refuse before reading if more memory would be needed, such as 4GB.",
    ),
]


def size_of(text: str) -> int:
    """Return the bytes that a text such as ``4GB``, ``512MiB`` or ``1.5G`` says.

    Examples
    --------
    >>> size_of("4GB"), size_of("512MiB"), size_of("1.5g")
    (4000000000, 536870912, 1500000000)
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"--max-memory must be a size such as 4GB or 512MiB, but is {text!r}.")
    number, unit, binary = match.groups()
    power = list(_UNITS).index(unit.upper())
    return int(float(number) * (1024 if binary else 1000) ** power)


def names_parts(paths: str | Sequence[str]) -> bool:
    """Tell whether data are named that come in parts: a folder with a manifest, or a pattern.

    So does a folder behind a URL. Other folders are one table, read into memory. A cluster takes
    every file for a part.
    """
    from rankwright.data.manifest import has_manifest
    from rankwright.data.remote import is_remote, is_remote_folder

    if current_client() is not None:
        return True
    many = [paths] if isinstance(paths, str) else paths
    return any(
        has_manifest(path)
        or (glob.has_magic(path) and not os.path.exists(path))
        or (is_remote(path) and is_remote_folder(path))
        for path in many
    )


def read_local_parts(
    paths: str | Sequence[str],
    *,
    columns: Columns,
    jobs: int | None,
    max_memory: str | None = None,
    needs: tuple[float, ...] = (),
    valid: Sequence[str] = (),
    **letor: Any,
) -> Parts:
    """Read data in parts of any format; refuse first what would need too much memory.

    ``needs`` are the bytes of the work to come: in any case, and for each document of all parts;
    ``valid`` are files that are worked with as well.
    """
    from rankwright.data.part_files import part_paths
    from rankwright.data.part_memory import check_memory
    from rankwright.data.parts import spool_parts
    from rankwright.progress import display

    if max_memory is not None and current_client() is not None:
        raise ValueError("--max-memory is for this machine, and --dask works on others.")
    given = part_paths(paths)
    if max_memory is not None:
        check_memory(given, size_of(max_memory), *needs, format=columns.format, valid=valid)
    reader = partial(read_quietly, columns=columns, jobs=jobs)
    name = paths if isinstance(paths, str) else ", ".join(paths)
    client = current_client()
    with telling_warnings(once=True), display() as shown:
        bar = shown.bar(f"reading {name}", total=len(given))

        def tell(done: int, total: int) -> None:
            bar.update(f"{done} of {total} parts read", done=done)

        how: Any = {"format": columns.format, "callback": tell}
        if client is None:
            return spool_parts(given, reader, letor, **how)
        from rankwright.dask.parts import DaskParts

        return DaskParts.by_reader(client, given, reader, letor, **how)
