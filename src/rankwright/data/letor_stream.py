"""LETOR text to data sets, in bounded memory.

:func:`stream_pieces` yields whole queries. It reads a file twice: a survey tells the features and
the form of all pieces, then they are parsed. :func:`stream_blocks` reads it once and yields the
rows as they come; where the rows behind the first block show that the whole file would be read in
another form, it raises :class:`~rankwright.data.lines.CannotStream`.
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
from rankwright.data.letor_rows import GrowingRows, LetorRows, QidRule, WrongGuess
from rankwright.data.letor_text import LetorFormat, Survey, scan
from rankwright.data.lines import CannotStream, LineBlocks, changed_error, open_lines
from rankwright.data.texts import join_ids, join_texts
from rankwright.data.validation import require_rows
from rankwright.exceptions import DataError


def stream_blocks(path: PathLike, how: LetorFormat, block_bytes: int) -> Iterator[Dataset]:
    """Yield the rows of each block; queries may begin in one and end in another.

    Scores of all blocks are those of :func:`read_letor`'s data set, bit for bit: what decides about
    its form (dense or sparse, indices from 0 or 1, query ids numbers or texts) is guessed from the
    first block, and checked for the whole at the end. Sparse blocks get wider as indices come.
    """
    asked, total, rule = how, Survey(), QidRule(how)
    guess: Survey | None = None
    with open_lines(path, block_bytes, how.n_jobs) as blocks:
        for lines in blocks.once():
            text = scan(lines, how)
            if guess is None or guess.n_rows == 0:
                text.scan_all_indices()
                guess = Survey.of(text)
                guess.require_plausible(asked)
                zero_based = guess.first_index(asked) == 0
                how = replace(asked, dense=guess.is_dense(asked), zero_based=zero_based)
            part = _parsed(text, how, guess, rule, blocks.n_lines)
            blocks.n_lines += text.n_lines
            total.n_rows, total.n_entries = (
                total.n_rows + text.n_rows,
                total.n_entries + text.n_entries,
            )
            total.min_index = part.first_index
            total.max_index = max(total.max_index, part.X.shape[1] - 1 + part.first_index)
            if text.n_rows:
                yield _dataset(_widened(part, total.n_features(how)))
    require_rows(total.n_rows, how.path)
    total.require_plausible(asked)
    if total.is_dense(asked) != how.dense:
        raise CannotStream("the whole has another share of zeros than its first lines")
    if not rule.has_qid:
        warn_without_qid(how.path)


def _parsed(
    text: Any, how: LetorFormat, guess: Survey, rule: QidRule, lines_before: int
) -> LetorRows:
    rows = GrowingRows(how, guess, text.n_entries, rule)
    try:
        rows.add(text, lines_before)
    except WrongGuess:
        raise CannotStream("lines have features that the first ones have not") from None
    try:
        return rows.finish()
    except DataError:  # an index that few entries make no sense of, but all of them may
        raise CannotStream("a few lines have far more features than the others") from None


def _widened(rows: LetorRows, n_features: int) -> LetorRows:
    """Give sparse rows the features that came before them."""
    if not sp.issparse(rows.X) or rows.X.shape[1] == n_features:
        return rows
    X = rows.X
    wide = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    return replace(rows, X=wide)


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
                yield _dataset(_copied(_cut(joined, begin, end)))
            pending = [_cut(joined, int(starts[n_ready]), len(joined.y))]
    require_rows(len(pending), how.path)
    joined = _join_rows(pending)
    starts = np.append(run_starts(joined.qid), len(joined.y))
    for first in range(0, len(starts) - 1, n_queries):
        last = min(first + n_queries, len(starts) - 1)
        seen.add(joined.qid[starts[first:last]])
        yield _dataset(_copied(_cut(joined, int(starts[first]), int(starts[last]))))


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


def _copied(rows: LetorRows) -> LetorRows:
    """Return rows of their own: a slice would keep the whole block alive."""
    docs = None if rows.doc_ids is None else rows.doc_ids.copy()
    return replace(rows, X=rows.X.copy(), y=rows.y.copy(), qid=rows.qid.copy(), doc_ids=docs)


def _dataset(rows: LetorRows) -> Dataset:
    return Dataset.from_checked(rows.X, rows.y, rows.qid, rows.features, rows.doc_ids, owned=True)
