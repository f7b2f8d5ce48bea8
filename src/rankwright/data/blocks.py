"""Files of any size, a block of their rows at a time: which can be read so, and which cannot."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rankwright.data.columns import Columns
from rankwright.data.dataset import Dataset
from rankwright.data.files import STANDARD, PathLike, display_name
from rankwright.data.formats import LETOR, format_of
from rankwright.data.frames import read_blocks_of_table
from rankwright.data.letor_stream import stream_blocks
from rankwright.data.letor_text import LetorFormat
from rankwright.data.lines import BLOCK_BYTES
from rankwright.data.trec import telling_trec

WHOLE_BYTES = BLOCK_BYTES  # a file of fewer is one block anyway


def comes_in_blocks(path: PathLike, format: str | None = None) -> bool:
    """Tell whether a file can be read in blocks of rows, and is large enough to be.

    LETOR text of any origin, CSV and TSV files and Parquet files can. JSON lines, tables in folders
    and tables from standard input are read as a whole.
    """
    kind = format_of(path, format)
    if os.fspath(path) == STANDARD:
        return kind == LETOR
    if not os.path.isfile(path):  # a pipe, a folder, or nothing
        return kind == LETOR and os.path.exists(path) and not os.path.isdir(path)
    if os.fspath(path).lower().endswith((".gz", ".zst")):
        return kind in (LETOR, "csv", "tsv")  # and nobody knows how large it is
    return kind in (LETOR, "csv", "tsv", "parquet") and os.path.getsize(path) > WHOLE_BYTES


def read_blocks(
    path: PathLike,
    columns: Columns,
    *,
    allow_nan: bool = False,
    doc_ids: bool = False,
    n_jobs: int | None = None,
) -> Iterator[Dataset]:
    """Yield the rows of a file, in its order, in data sets of bounded size.

    Queries may be cut. Where the rows turn out to be others than those of the file as a whole, such
    as those of a column that becomes text in its middle, that is CannotStream.
    """
    kind = format_of(path, columns.format)
    if kind == LETOR:
        how = LetorFormat(display_name(path), allow_nan=allow_nan, doc_ids=doc_ids, n_jobs=n_jobs)
        with telling_trec(path):
            yield from stream_blocks(path, how, BLOCK_BYTES)
    else:
        yield from read_blocks_of_table(path, columns, allow_nan=allow_nan)
