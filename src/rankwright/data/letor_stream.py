"""LETOR text to data sets of whole queries, in bounded memory.

A file is read twice: a survey tells the features and the form of all pieces, then they are parsed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.data.groups import run_starts
from rankwright.data.letor_faults import warn_without_qid
from rankwright.data.letor_rows import GrowingRows, LetorRows, QidRule
from rankwright.data.letor_text import LetorFormat, Survey, scan
from rankwright.data.lines import LineBlocks, changed_error, open_lines
from rankwright.data.texts import join_ids, join_texts
from rankwright.data.validation import require_rows
from rankwright.exceptions import DataError


def stream_pieces(
    path: PathLike,
    n_queries: int,
    how: LetorFormat,
    block_bytes: int,
    on_count: Callable[[int], None] | None,
    on_digest: Callable[[str], None] | None,
) -> Iterator[Dataset]:
    """Yield data sets of ``n_queries`` queries; the last may have fewer."""
    seen = _SeenQueries(how.path)
    pending: list[LetorRows] = []  # neighbours; their last query may continue
    with open_lines(path, block_bytes, how.n_jobs) as blocks:
        for rows in _parsed_blocks(blocks, how, on_count, on_digest):
            if not pending and not rows.has_qid:
                warn_without_qid(how.path, stacklevel=2)
            same = pending and len(run_starts(rows.qid)) == 1 and _ends_with(pending, rows.qid[0])
            pending.append(rows)
            if same:
                continue
            joined = _join_rows(pending)
            starts = run_starts(joined.qid)
            n_ready = (len(starts) - 1) // n_queries * n_queries
            for first in range(0, n_ready, n_queries):
                begin, end = int(starts[first]), int(starts[first + n_queries])
                seen.add(joined.qid[starts[first : first + n_queries]])
                yield _dataset(_cut(joined, begin, end))
            pending = [_cut(joined, int(starts[n_ready]), len(joined.y))]
    require_rows(len(pending), how.path)
    joined = _join_rows(pending)
    starts = np.append(run_starts(joined.qid), len(joined.y))
    for first in range(0, len(starts) - 1, n_queries):
        last = min(first + n_queries, len(starts) - 1)
        seen.add(joined.qid[starts[first:last]])
        yield _dataset(_cut(joined, int(starts[first]), int(starts[last])))


def _parsed_blocks(
    blocks: LineBlocks,
    how: LetorFormat,
    on_count: Callable[[int], None] | None,
    on_digest: Callable[[str], None] | None,
) -> Iterator[LetorRows]:
    survey = Survey(final=True)
    sums: list[int] = []  # of the blocks, by which a change between the passes is noticed
    if blocks.seekable:
        survey = _survey(blocks, how, sums, on_digest)
        if on_count is not None and survey.n_rows:
            on_count(survey.n_rows)
    rule = QidRule(how)
    expected = iter(sums)
    for lines in blocks:
        text = scan(lines, how)
        if blocks.seekable and text.checksum() != next(expected, None):
            raise changed_error(how.path)
        if survey.n_rows == 0:  # the first block decides
            text.scan_all_indices()
            survey.add(text)
            survey.require_plausible(how)
        rows = GrowingRows(how, survey, text.n_entries, rule)
        rows.add(text, blocks.n_lines)
        blocks.n_lines += text.n_lines
        if text.n_rows:
            yield rows.finish()
    if next(expected, None) is not None:
        raise changed_error(how.path)


def _survey(
    blocks: LineBlocks,
    how: LetorFormat,
    sums: list[int],
    on_digest: Callable[[str], None] | None,
) -> Survey:
    """Look at every index, and add up the blocks."""
    survey = Survey(final=True)
    digest = hashlib.blake2b(digest_size=16)
    for lines in blocks:
        text = scan(lines, how)
        text.scan_all_indices()
        survey.add(text)
        sums.append(text.checksum())
        blocks.n_lines += text.n_lines
        if on_digest is not None:
            digest.update(lines.text.data)
    survey.require_plausible(how)
    if on_digest is not None and survey.n_rows:
        on_digest(digest.hexdigest())
    return survey


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


def _ends_with(parts: list[LetorRows], qid: Any) -> bool:
    return str(parts[-1].qid[-1]) == str(qid)


def _cut(rows: LetorRows, begin: int, end: int) -> LetorRows:
    docs = None if rows.doc_ids is None else rows.doc_ids[begin:end]
    part = slice(begin, end)
    return replace(rows, X=rows.X[part], y=rows.y[part], qid=rows.qid[part], doc_ids=docs)


def _join_rows(parts: list[LetorRows]) -> LetorRows:
    first = parts[0]
    if len(parts) == 1:
        return first
    matrices = [rows.X for rows in parts]
    X = sp.vstack(matrices, format="csr") if sp.issparse(first.X) else np.concatenate(matrices)
    qid = join_ids([rows.qid for rows in parts])
    docs = [rows.doc_ids for rows in parts if rows.doc_ids is not None]
    y = np.concatenate([rows.y for rows in parts])
    return replace(first, X=X, y=y, qid=qid, doc_ids=join_texts(docs) if docs else None)


def _dataset(rows: LetorRows) -> Dataset:
    # A copy, because a slice would keep the whole block alive.
    docs = None if rows.doc_ids is None else rows.doc_ids.copy()
    X, y, qid = rows.X.copy(), rows.y.copy(), rows.qid.copy()
    return Dataset.from_checked(X, y, qid, rows.features, docs)
