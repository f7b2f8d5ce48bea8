"""LETOR (SVMlight with query ids) files: read, stream, write.

One document a line::

    label qid:ID index:value index:value ... # comment

Indices count from 1 (or from 0 if one of them is 0), need not be complete, and usually increase.
Lines that are blank or a comment are skipped. ``.gz`` and ``.zst`` are recognised by content; ``-``
is standard input or output.
"""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright import _kernels
from rankwright.data.dataset import Dataset
from rankwright.data.files import (
    BLOCK_BYTES,
    STANDARD,
    PathLike,
    display_name,
    text_blocks,
)
from rankwright.data.groups import Ints, run_starts
from rankwright.data.letor_text import Block, LetorFormat, Rows, Survey, parse
from rankwright.data.validation import require_rows
from rankwright.data.writing import write_atomically
from rankwright.exceptions import DataError, DataWarning
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
    blocks = [Block(data, how) for data in text_blocks(path)]
    survey = Survey.of(blocks)
    require_rows(survey.n_rows, name)
    rows = parse(blocks, how, survey)
    _warn_without_qid(rows, name)
    return Dataset.from_checked(rows.X, rows.y, rows.qid, None, rows.doc_ids)


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
    return _stream(path, n_queries, how, block_bytes, on_count, on_digest)


def _stream(
    path: PathLike,
    n_queries: int,
    how: LetorFormat,
    block_bytes: int,
    on_count: Callable[[int], None] | None,
    on_digest: Callable[[str], None] | None,
) -> Iterator[Dataset]:
    survey = Survey(final=True)
    if os.fspath(path) != STANDARD and os.path.isfile(path):  # a pipe cannot be read twice
        digest = hashlib.blake2b(digest_size=16)
        for data in text_blocks(path, block_bytes):
            survey.add(Block(data, how), every_index=True)
            if on_digest is not None:
                digest.update(data.data)
        require_rows(survey.n_rows, how.path)
        if on_digest is not None:
            on_digest(digest.hexdigest())
        if on_count is not None:
            on_count(survey.n_rows)
    line = 0
    pending: Rows | None = None
    seen = _SeenQueries(how.path)
    has_qid: bool | None = None
    for data in text_blocks(path, block_bytes):
        block = Block(data, how)
        if survey.n_rows == 0:
            survey.add(block, every_index=True)
        if block.text.n_rows:
            rows = parse([block], how, survey, line)
            if has_qid is not None and has_qid != rows.has_qid:
                raise DataError(
                    "every line must have qid:ID behind the label, or none.",
                    path=how.path,
                    line=line + block.first_row_line(),
                    field="qid",
                )
            if has_qid is None:
                _warn_without_qid(rows, how.path)
            has_qid = rows.has_qid
            pending = rows if pending is None else _join(pending, rows)
            starts = run_starts(pending.qid)
            # The last query may continue in the next block.
            n_ready = (len(starts) - 1) // n_queries * n_queries
            for first in range(0, n_ready, n_queries):
                begin, end = int(starts[first]), int(starts[first + n_queries])
                seen.add(pending.qid[starts[first : first + n_queries]])
                yield _dataset(_cut(pending, begin, end))
            pending = _cut(pending, int(starts[n_ready]), len(pending.y))
        line += block.n_lines()
    if pending is None:
        require_rows(0, how.path)
        return
    starts = np.append(run_starts(pending.qid), len(pending.y))
    for first in range(0, len(starts) - 1, n_queries):
        last = min(first + n_queries, len(starts) - 1)
        seen.add(pending.qid[starts[first:last]])
        yield _dataset(_cut(pending, int(starts[first]), int(starts[last])))


class _SeenQueries:
    """Finds queries that come back after others; needs some dozens of bytes a query."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.ids: set[str] = set()

    def add(self, ids: Any) -> None:
        for name in ids.tolist():
            text = str(name)  # integers of one block may be texts in the next
            if text in self.ids:
                raise DataError(
                    f"the rows of a query must be adjacent to be streamed, but query {name!r} "
                    "comes again after others. Sort the file by query, or read it whole.",
                    path=self.path,
                    field="qid",
                )
            self.ids.add(text)


def _cut(rows: Rows, begin: int, end: int) -> Rows:
    docs = None if rows.doc_ids is None else rows.doc_ids[begin:end]
    return Rows(rows.X[begin:end], rows.y[begin:end], rows.qid[begin:end], rows.has_qid, docs)


def _join(a: Rows, b: Rows) -> Rows:
    X = sp.vstack([a.X, b.X], format="csr") if sp.issparse(a.X) else np.concatenate([a.X, b.X])
    text = "U" in (a.qid.dtype.kind, b.qid.dtype.kind)
    qid = np.concatenate([rows.qid.astype(str) if text else rows.qid for rows in (a, b)])
    docs = None
    if a.doc_ids is not None and b.doc_ids is not None:
        docs = np.concatenate([a.doc_ids, b.doc_ids])
    return Rows(X, np.concatenate([a.y, b.y]), qid, a.has_qid, docs)


def _dataset(rows: Rows) -> Dataset:
    # A copy, because a slice would keep the whole block alive.
    docs = None if rows.doc_ids is None else rows.doc_ids.copy()
    return Dataset.from_checked(rows.X.copy(), rows.y.copy(), rows.qid.copy(), None, docs)


def _warn_without_qid(rows: Rows, name: str) -> None:
    if not rows.has_qid:
        warnings.warn(
            f"{name}: no line has a qid, so all documents are taken as one query.",
            DataWarning,
            stacklevel=3,
        )


def write_letor(
    dataset: Dataset, path: PathLike, *, zero_based: bool = False, n_jobs: int | None = None
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
    zero_based : bool, default False
        Count features from 0 instead of 1.
    n_jobs : int, optional
        Threads.
    """
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
    for qid in [] if ids is None or ids.dtype.kind != "U" else ids.tolist():
        if not qid or any(mark in qid for mark in " \t\r\n#"):
            raise DataError(
                f"query ids must have neither blanks nor '#' in LETOR text, but one is {qid!r}.",
                path=name,
                field="qid",
            )
    for doc in [] if dataset.doc_ids is None else dataset.doc_ids.tolist():
        if "\n" in doc or doc != doc.strip(" \t\r") or _DOC_ID_MARK.match(doc):
            raise DataError(
                "document ids must be one line without outer blanks or 'docid =' in LETOR text, "
                f"but one is {doc!r}.",
                path=name,
                field="doc_id",
            )
