"""Files with queries in any order to parts of whole queries.

The part of a query is its id's hash modulo the number of parts: it depends on nothing else. Rows
are dealt out to the parts in a first pass, and gathered by query, part by part, in a second: memory
holds one part. Lines of text and all columns of tables stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwright.data import disk
from rankwright.data.columns import Columns
from rankwright.data.dealt_lines import DealtLines
from rankwright.data.dealt_tables import DealtTables
from rankwright.data.files import PathLike
from rankwright.data.formats import LETOR, TABLES
from rankwright.data.manifest import Manifest, PartEntry, has_manifest, part_entry
from rankwright.data.part_files import part_paths, same_format
from rankwright.data.validation import check_count, require_rows
from rankwright.data.writing import check_writable_folder, replace_folder
from rankwright.exceptions import DataError

_MOST = 10_000  # parts, each of which is an open file for a while


@dataclass(frozen=True)
class PartitionProgress:
    """Where a partition is: ``done`` of ``total`` files in the pass ``what``."""

    what: str
    done: int
    total: int


def partition(
    sources: PathLike | Iterable[PathLike],
    folder: PathLike,
    n_parts: int,
    *,
    format: str | None = None,
    out_format: str | None = None,
    qid: str = "qid",
    overwrite: bool = False,
    callback: Callable[[PartitionProgress], Any] | None = None,
) -> Manifest:
    """Write data as parts of whole queries, for :func:`rankwright.read_parts`.

    A part is a file ``part-00000.txt``, or ``.parquet`` of tables, with the rows of some queries,
    gathered. The folder appears when it is complete, with a manifest (:class:`Manifest`).

    Parameters
    ----------
    sources : str, path-like or list of them
        LETOR text or tables: files, folders or patterns. Queries may be in any order, also cut.
    folder : str or path-like
        The folder to write; it must not be there, or be empty.
    n_parts : int
        How many parts; fewer are written if there are not as many queries, or chance has it so.
    format : {"letor", "parquet", "csv", "tsv", "jsonl"}, optional
        The format of the sources, where their names do not tell.
    out_format : {"letor", "parquet", "csv", "tsv", "jsonl"}, optional
        The format of the parts: by default text of text, and Parquet of tables.
    qid : str, default "qid"
        The column of tables with query ids.
    overwrite : bool, default False
        Replace a folder that holds parts with a manifest; any other stays as it is.
    callback : callable, optional
        Called with a :class:`PartitionProgress` after each file of each pass.

    Examples
    --------
    >>> import tempfile, rankwright as rw
    >>> folder = tempfile.mkdtemp()
    >>> rw.write(rw.data.make_mslr_like(n_queries=20), f"{folder}/all.txt")
    >>> manifest = partition(f"{folder}/all.txt", f"{folder}/parts", 4)
    >>> sum(part.n_queries for part in manifest.parts)
    20
    >>> len(rw.read_parts(f"{folder}/parts"))
    4
    """
    check_count("n_parts", n_parts)
    if n_parts > _MOST:
        raise ValueError(f"n_parts must be at most {_MOST}, but is {n_parts}.")
    given = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    paths = part_paths(given)
    kind = same_format(paths, format)
    out_kind = _out_format(kind, out_format)
    _check_destination(folder, [*paths, *given], overwrite)
    told = callback or (lambda progress: None)
    dealt: DealtLines | DealtTables
    if kind == LETOR:
        dealt = DealtLines(paths, n_parts)
    else:
        dealt = DealtTables(paths, n_parts, Columns(qid=qid, format=kind), out_kind)
    with replace_folder(folder) as place:
        waiting = place / ".dealt"
        waiting.mkdir()
        dealt.check()
        for i, path in enumerate(paths):
            dealt.deal(path, waiting)
            told(PartitionProgress("dealing out", i + 1, len(paths)))
        manifest = Manifest(out_kind, dealt.letor, _gathered(dealt, place, waiting, told))
        disk.remove_folder(str(waiting))
        manifest.write(place)
    return manifest


def _gathered(
    dealt: DealtLines | DealtTables, place: Path, waiting: Path, told: Any
) -> tuple[PartEntry, ...]:
    entries = []
    for number in range(dealt.n_parts):
        path = str(place / f"part-{number:05d}{dealt.ending}")
        counts = dealt.gather(number, waiting, path)
        if counts is not None:
            entries.append(part_entry(path, *counts))
        told(PartitionProgress("gathering", number + 1, dealt.n_parts))
    if not entries:
        require_rows(0, dealt.paths[0])
    return tuple(entries)


def _out_format(kind: str, given: str | None) -> str:
    if kind not in (LETOR, *TABLES):
        raise ValueError(f"parts are of LETOR text or tables, not of {kind}.")
    if given is None:
        return LETOR if kind == LETOR else "parquet"
    if (given == LETOR) != (kind == LETOR) or given not in (LETOR, *TABLES):
        what = "LETOR text" if kind == LETOR else "tables"
        raise ValueError(
            f"parts of {what} cannot be {given}. Convert the files first: rankwright convert."
        )
    return given


def _check_destination(folder: PathLike, sources: list[PathLike], overwrite: bool) -> None:
    """Raise now what would be wrong after the long reading."""
    place = os.path.join(os.path.realpath(folder), "")
    for source in sources:
        found = os.path.realpath(source)
        if found.startswith(place):
            raise DataError("is what is read: write to another folder.", path=folder)
        if os.path.isdir(found) and place.startswith(os.path.join(found, "")):
            raise DataError("lies in the folder that is read: write to another.", path=folder)
    check_writable_folder(folder)
    if not os.path.isdir(folder) or not os.listdir(folder):
        return
    if not has_manifest(folder):
        raise DataError(
            "must be empty, or not be there, but holds other files. Choose another folder.",
            path=folder,
        )
    if not overwrite:
        raise DataError(
            "holds parts already. Choose another folder, or replace them: overwrite=True "
            "(--overwrite).",
            path=folder,
        )
