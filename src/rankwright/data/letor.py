"""LETOR (SVMlight with query ids) files: read, stream, write.

One document a line::

    label qid:ID index:value index:value ... # comment

Indices count from 1 (or from 0 if one of them is 0), need not be complete, and usually increase.
Lines that are blank or a comment are skipped. ``.gz`` and ``.zst`` are recognised by content; ``-``
is standard input or output.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright import _kernels
from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike, display_name
from rankwright.data.groups import Ints
from rankwright.data.letor_faults import warn_without_qid
from rankwright.data.letor_rows import read_rows
from rankwright.data.letor_stream import stream_pieces
from rankwright.data.letor_text import LetorFormat
from rankwright.data.lines import BLOCK_BYTES, open_lines
from rankwright.data.writing import write_atomically
from rankwright.exceptions import DataError
from rankwright.threads import n_threads

_DOC_ID_MARK = re.compile(r"docid[ \t\r]*=")  # of a comment whose next word is the document id


def read_letor(
    path: PathLike,
    *,
    dense: bool | None = None,
    dtype: Any = np.float32,
    zero_based: bool | None = None,
    n_features: int | None = None,
    allow_nan: bool = False,
    doc_ids: bool = False,
    n_jobs: int | None = None,
) -> Dataset:
    """Read a LETOR file.

    Parameters
    ----------
    path : str or path-like
        The file, or ``"-"`` for standard input.
    dense : bool, optional
        Whether ``X`` is a dense array or a CSR array. By default dense if at least a quarter of the
        cells are in the file.
    dtype : {"float32", "float64"}
        Type of the features; each is the number nearest to its text.
    zero_based : bool, optional
        Whether indices count from 0. By default they do if an index 0 occurs.
    n_features : int, optional
        Number of features; by default the largest index decides. Give it when a test file may lack
        the last ones.
    allow_nan : bool, default False
        Accept NaN and infinite features.
    doc_ids : bool, default False
        Keep document ids: the ``X`` of a comment ``# docid = X ...``, else the whole comment.
    n_jobs : int, optional
        Threads; see :func:`rankwright.threads.n_threads`.

    Raises
    ------
    DataError
        At the first line that cannot be read, with path, line and field.
    """
    name = display_name(path)
    how = LetorFormat(name, dense, dtype, zero_based, n_features, allow_nan, doc_ids, n_jobs)
    with open_lines(path, n_jobs=n_jobs) as blocks:
        rows = read_rows(blocks, how)
    if not rows.has_qid:
        warn_without_qid(name)
    return Dataset.from_checked(rows.X, rows.y, rows.qid, rows.features, rows.doc_ids)


def stream(
    path: PathLike,
    n_queries: int = 1000,
    *,
    dense: bool | None = None,
    dtype: Any = np.float32,
    zero_based: bool | None = None,
    n_features: int | None = None,
    allow_nan: bool = False,
    doc_ids: bool = False,
    n_jobs: int | None = None,
    block_bytes: int = BLOCK_BYTES,
    on_count: Callable[[int], None] | None = None,
    on_digest: Callable[[str], None] | None = None,
) -> Iterator[Dataset]:
    """Read a LETOR file piece by piece, in bounded memory.

    The rows of each query must be adjacent in the file. All pieces have the same features and form:
    a file is looked through once before the first piece; of standard input and pipes, the first
    block decides, so give
    ``n_features`` if it may lack features that come later.

    Parameters
    ----------
    path : str or path-like
        The file, or ``"-"`` for standard input.
    n_queries : int, default 1000
        Whole queries in each piece; the last may have fewer.
    block_bytes : int
        Bytes of text to read at a time. Memory holds about one block, its arrays and one piece.
    on_count : callable, optional
        Called with the number of documents before the first piece; not for standard input and
        pipes.
    on_digest : callable, optional
        Called likewise, with a hash of all of the text: other data have another one.
    dense, dtype, zero_based, n_features, allow_nan, doc_ids, n_jobs
        As for :func:`read_letor`.

    Yields
    ------
    Dataset
        The next ``n_queries`` queries.
    """
    if isinstance(n_queries, bool) or n_queries < 1:
        raise ValueError(f"n_queries must be a positive integer, but is {n_queries!r}.")
    name = display_name(path)
    how = LetorFormat(name, dense, dtype, zero_based, n_features, allow_nan, doc_ids, n_jobs)
    return stream_pieces(path, n_queries, how, block_bytes, on_count, on_digest)


def write_letor(
    dataset: Dataset, path: PathLike, *, zero_based: bool | None = None, n_jobs: int | None = None
) -> None:
    """Write a data set as LETOR text, rows in the order of the input.

    Numbers take the fewest digits that read back to the same float, so that reading the file with
    the same ``dtype`` gives the same data set, bit for bit. Dense rows are written in full, sparse
    rows as they are stored. The file appears only when it is complete.

    Parameters
    ----------
    dataset : Dataset
        What to write.
    path : str or path-like
        The file; ``.gz`` and ``.zst`` are compressed, ``"-"`` is standard output.
    zero_based : bool, optional
        Count features from 0 instead of 1; by default if the data come from such a file.
    n_jobs : int, optional
        Threads.
    """
    if zero_based is None:
        zero_based = dataset.features.keys()[:1] == [0]
    if dataset.features.categories:
        raise DataError(
            f"LETOR text has no categories, such as {min(dataset.features.categories)!r}. Leave "
            "them out, or write a table.",
            path=path,
        )
    _check_writable(dataset, display_name(path))
    rows = np.empty(dataset.n_docs, dtype=np.int64)
    rows[dataset.order] = np.arange(dataset.n_docs)
    ids = dataset.groups.ids
    qid_text, qid_offsets = _pieces([] if ids is None else ids.tolist())
    comment_text: bytes | None = None
    comment_offsets = np.zeros(1, dtype=np.int64)
    if dataset.doc_ids is not None:
        comment_text, comment_offsets = _pieces(dataset.doc_ids.tolist())
    query = dataset.groups.query_of_rows()
    threads = n_threads(n_jobs)
    X = _with_entry_in(dataset.X, -1)
    if zero_based:
        X = _with_entry_in(X, 0)
    with write_atomically(path) as out:
        rows_per_write = max(1, (32 << 20) // (16 * max(1, X.shape[1])))
        if sp.issparse(X):
            rows_per_write = 65536
        for begin in range(0, dataset.n_docs, rows_per_write):
            lines = rows[begin : begin + rows_per_write]
            columns = (
                lines,
                dataset.y,
                query,
                qid_text,
                qid_offsets,
                comment_text,
                comment_offsets,
                0 if zero_based else 1,
                threads,
            )
            if sp.issparse(X):
                out.write(_kernels.format_sparse(X.data, X.indices, X.indptr, *columns))
            else:
                out.write(_kernels.format_dense(X, *columns))


def _pieces(texts: list[Any]) -> tuple[bytes, Ints]:
    """Join texts; return the bytes and the offsets of each."""
    encoded = [str(text).encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return b"".join(encoded), offsets


def _with_entry_in(X: Any, column: int) -> Any:
    """Add an explicit zero to a sparse matrix whose first or last column is empty.

    Without an entry in the last column its width, without one in column 0 its first index is not
    read back.
    """
    column %= max(1, X.shape[1])
    if not sp.issparse(X) or X.shape[1] == 0 or (X.indices == column).any():
        return X
    indptr = X.indptr + 1
    indptr[0] = 0
    place = 0 if column == 0 else X.indptr[1]
    data, indices = np.insert(X.data, place, 0), np.insert(X.indices, place, column)
    return sp.csr_array((data, indices, indptr), shape=X.shape)


def _check_writable(dataset: Dataset, name: str) -> None:
    ids = dataset.groups.ids
    for qid in [] if ids is None or ids.dtype.kind == "i" else ids.tolist():
        if not qid or any(mark in qid for mark in " \t\r\n#"):
            raise DataError(
                f"query ids must have neither blanks nor '#' in LETOR text, but one is {qid!r}.",
                path=name,
                field="qid",
            )
    for doc in [] if dataset.doc_ids is None else dataset.doc_ids.tolist():
        if "\n" in doc or "\r" in doc or doc != doc.strip(" \t") or _DOC_ID_MARK.match(doc):
            raise DataError(
                "document ids must be one line without outer blanks or 'docid =' in LETOR text, "
                f"but one is {doc!r}.",
                path=name,
                field="doc_id",
            )
