"""Read a data set, whatever its format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike, display_name
from rankwright.data.formats import TABLES, TREC, format_of, format_to_write
from rankwright.data.frames import read_frame, write_frame
from rankwright.data.joining import join_datasets
from rankwright.data.letor import read_letor, write_letor
from rankwright.data.part_files import known_form, part_paths
from rankwright.data.trec import refuse_trec, telling_trec, write_qrels
from rankwright.exceptions import DataError


class ReadOptions(TypedDict, total=False):
    """What the readers of the formats may be told, for type checkers and editors.

    What each means stands with :func:`rankwright.data.read_frame` and
    :func:`rankwright.data.read_letor`.
    """

    # tables
    label: str | None
    qid: str | None
    doc_id: str | None
    features: Sequence[str] | None
    ignore: Sequence[str]
    categorical: Sequence[str]
    keep: Sequence[str]
    # LETOR text
    dense: bool | None
    dtype: Any
    zero_based: bool | None
    n_features: int | None
    doc_ids: bool
    n_jobs: int | None
    # both
    allow_nan: bool


def read(path: PathLike, *, format: str | None = None, **options: Unpack[ReadOptions]) -> Dataset:
    """Read a data set.

    Tables go to :func:`rankwright.data.read_frame`, LETOR text goes to
    :func:`rankwright.data.read_letor`; ``options`` are theirs. ``.gz`` and ``.zst`` may follow the
    ending that tells the format; ``"-"`` is standard input.

    Parameters
    ----------
    path : str or path-like
        The file, a folder with the parts of a table, or one that
        :func:`rankwright.data.partition` wrote.
    format : {"letor", "parquet", "csv", "tsv", "jsonl"}, optional
        The format; by default the name tells: ``.txt``, ``.svm``, ``.letor``, ``.dat`` or no ending
        for LETOR text, ``.parquet``, ``.csv``, ``.tsv``, ``.jsonl`` or ``.ndjson`` for tables.
    **options
        Of the reader, such as ``dtype=`` and ``n_features=`` for LETOR or ``label=`` for tables.

    Examples
    --------
    >>> import rankwright as rw
    >>> ds = rw.read("train.txt")  # doctest: +SKIP
    """
    kind = format_of(path, format)
    given: dict[str, Any] = {**options}
    if kind in TREC:
        refuse_trec(path, kind)
    with telling_trec(path):
        if kind in TABLES:
            return read_frame(path, format=kind, **given)
        if os.path.isdir(path):
            return _read_letor_parts(path, given)
        return read_letor(path, **given)


def _read_letor_parts(folder: PathLike, options: dict[str, Any]) -> Dataset:
    """Read the parts of a folder with a manifest into one data set in memory."""
    paths = part_paths(folder)
    form = {**known_form(paths), **options}
    return join_datasets({path: read_letor(path, **form) for path in paths})


def write(
    dataset: Dataset,
    path: PathLike,
    *,
    format: str | None = None,
    spreadsheet_safe: bool = False,
) -> None:
    """Write a data set in the format that the name tells; see :func:`read`.

    ``.qrels`` is written too: queries, documents and labels, without features.
    ``spreadsheet_safe`` is for ``.csv``: see :func:`rankwright.data.write_frame`.
    """
    kind = format_to_write(path, format)
    if kind in TABLES:
        write_frame(dataset, path, spreadsheet_safe=spreadsheet_safe, format=kind)
    elif kind == "qrels":
        write_qrels(dataset, path)
    elif kind == "run":
        raise DataError(
            "a run has scores, and a data set has none. Write it with rankwright predict, or "
            "rankwright.data.write_run.",
            path=display_name(path),
        )
    else:
        write_letor(dataset, path)
