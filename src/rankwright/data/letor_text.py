"""Blocks of LETOR text to arrays: the Python side of the native parser.

Pass one surveys every block; then the arrays are allocated once, and pass two parses each block
into its own rows of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwright import _kernels
from rankwright.data.files import Bytes
from rankwright.data.validation import Floats, Matrix
from rankwright.exceptions import DataError
from rankwright.threads import n_threads

# A dense cell costs 4 bytes and a sparse entry 8, so from this density on the dense matrix is at
# most twice the size of the sparse one, and everything is faster and simpler with it.
DENSE_FROM = 0.25

Fault: TypeAlias = tuple[str, int, int, bytes]  # kind, line, feature index, offending text


@dataclass(frozen=True)
class LetorFormat:
    """How to read LETOR text; None is decided by the data."""

    path: str
    dense: bool | None = None
    dtype: Any = np.float32
    zero_based: bool | None = None
    n_features: int | None = None
    allow_nan: bool = False
    doc_ids: bool = False
    n_jobs: int | None = None
    chunk_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        if np.dtype(self.dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, but is {self.dtype!r}.")
        n = self.n_features
        if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1):
            raise ValueError(f"n_features must be a positive integer or None, but is {n!r}.")


class Block:
    """A piece of text that ends with a line, after pass one."""

    def __init__(self, data: Bytes, how: LetorFormat) -> None:
        self.data = data
        self.text = _kernels.LetorText(data, n_threads(how.n_jobs), how.chunk_bytes)

    def n_lines(self) -> int:
        """Count the lines."""
        return int(np.count_nonzero(self.data == ord("\n")))

    def cut_out(self, spans: NDArray[np.int64]) -> NDArray[Any]:
        r"""Return the texts at (begin, end, begin, end, ...).

        Bytes that are not UTF-8 become ``\xNN``, so that different ids stay different.
        """
        view = self.data.data
        pairs = zip(spans[::2].tolist(), spans[1::2].tolist(), strict=True)
        texts = [str(view[begin:end], "utf-8", "backslashreplace") for begin, end in pairs]
        return np.array(texts, dtype=str)

    def first_row_line(self) -> int:
        """Return the line of the first document, from 1."""
        lines = bytes(self.data).split(b"\n")
        return 1 + next(i for i, line in enumerate(lines) if line.split(b"#")[0].strip())


@dataclass
class Survey:
    """What pass one has found in some blocks."""

    n_rows: int = 0
    n_entries: int = 0
    min_index: int = 1
    max_index: int = -1
    text_qids: bool = False  # some qid is no integer; known where every token has been looked at
    final: bool = False  # every index has been looked at, or no more can be done about it

    def add(self, block: Block, *, every_index: bool = False) -> None:
        """Count another block; ``every_index`` also where indices do not increase along a line."""
        text = block.text
        if every_index:
            text.scan_all_indices()
        self.n_rows += text.n_rows
        self.n_entries += text.n_entries
        self.min_index = min(self.min_index, text.min_index)
        self.max_index = max(self.max_index, text.max_index)
        self.text_qids = self.text_qids or not text.qid_is_integer

    @classmethod
    def of(cls, blocks: Sequence[Block], *, every_index: bool = False) -> Survey:
        """Survey blocks."""
        survey = cls(final=every_index)
        for block in blocks:
            survey.add(block, every_index=every_index)
        return survey

    def first_index(self, how: LetorFormat) -> int:
        """Index of the first feature: 0 if the file has it, else 1."""
        zero_based = self.min_index == 0 if how.zero_based is None else how.zero_based
        return 0 if zero_based else 1

    def n_features(self, how: LetorFormat) -> int:
        """Return the width of the matrix."""
        if how.n_features is not None:
            return how.n_features
        return max(self.max_index + 1 - self.first_index(how), 0)

    def is_dense(self, how: LetorFormat) -> bool:
        """Decide between a dense and a sparse matrix."""
        if how.dense is not None:
            return how.dense
        return self.n_entries >= DENSE_FROM * self.n_rows * self.n_features(how)


@dataclass
class Rows:
    """Parsed documents, in file order."""

    X: Matrix
    y: Floats
    qid: NDArray[Any]
    has_qid: bool
    doc_ids: NDArray[Any] | None


def parse(blocks: Sequence[Block], how: LetorFormat, survey: Survey, first_line: int = 0) -> Rows:
    """Parse blocks that a survey has measured; ``first_line`` lines come before them.

    Raises
    ------
    DataError
        At the first fault in file order.
    """
    try:
        return _parse(blocks, how, survey, first_line)
    except _IndicesLeaveSurvey:
        return _parse(blocks, how, Survey.of(blocks, every_index=True), first_line)


class _IndicesLeaveSurvey(Exception):  # noqa: N818 (a signal, not an error)
    """Indices do not increase along a line, so pass one did not see their range."""


def _parse(blocks: Sequence[Block], how: LetorFormat, survey: Survey, first_line: int) -> Rows:
    n_rows = sum(block.text.n_rows for block in blocks)
    y, qid = np.empty(n_rows), np.empty(n_rows, dtype=np.int64)
    width, first = survey.n_features(how), survey.first_index(how)
    dense = survey.is_dense(how)
    X = _Dense(n_rows, width, how) if dense else _Sparse(blocks, n_rows, width, how)
    row = 0
    for i, block in enumerate(blocks):
        rows = slice(row, row + block.text.n_rows)
        row = rows.stop
        fault = X.parse(block, rows, y[rows], qid[rows], first, survey.final)
        if fault is not None:
            if fault[0] == "rescan":
                raise _IndicesLeaveSurvey
            before = first_line + sum(earlier.n_lines() for earlier in blocks[:i])
            raise _error(fault, how, survey, before)
    has_qid = _check_all_have_qid(blocks, how, survey, first_line)
    ids: NDArray[Any] = qid
    integers = all(block.text.qid_is_integer for block in blocks if block.text.n_rows)
    if has_qid and (survey.text_qids or not integers):
        ids = np.concatenate([block.cut_out(block.text.qid_spans()) for block in blocks])
    docs = None
    if how.doc_ids:
        docs = np.concatenate([block.cut_out(block.text.doc_id_spans()) for block in blocks])
    return Rows(X.matrix(), y, ids, has_qid, docs)


class _Dense:
    def __init__(self, n_rows: int, width: int, how: LetorFormat) -> None:
        self.allow_nan = how.allow_nan
        try:
            self.X = np.empty((n_rows, width), dtype=how.dtype)
        except MemoryError:
            size = n_rows * width * np.dtype(how.dtype).itemsize / 2**30
            raise DataError(
                f"a dense matrix of {n_rows} x {width} needs {size:.0f} GiB, more than there is. "
                "Pass dense=False.",
                path=how.path,
            ) from None

    def parse(
        self,
        block: Block,
        rows: slice,
        y: Floats,
        qid: NDArray[np.int64],
        first_index: int,
        fixed: bool,
    ) -> Fault | None:
        return block.text.parse_dense(self.X[rows], y, qid, first_index, fixed, self.allow_nan)

    def matrix(self) -> Matrix:
        return self.X


class _Sparse:
    def __init__(self, blocks: Sequence[Block], n_rows: int, width: int, how: LetorFormat) -> None:
        n_entries = sum(block.text.n_entries for block in blocks)
        index = np.int32 if max(n_entries, width) < 2**31 else np.int64
        self.width, self.allow_nan = width, how.allow_nan
        self.data = np.empty(n_entries, dtype=how.dtype)
        self.indices: Any = np.empty(n_entries, dtype=index)
        self.indptr: Any = np.zeros(n_rows + 1, dtype=index)
        self.entry = 0

    def parse(
        self,
        block: Block,
        rows: slice,
        y: Floats,
        qid: NDArray[np.int64],
        first_index: int,
        fixed: bool,
    ) -> Fault | None:
        entries = slice(self.entry, self.entry + block.text.n_entries)
        self.entry = entries.stop
        indptr = np.empty(len(y) + 1, dtype=self.indptr.dtype)
        fault = block.text.parse_sparse(
            self.data[entries],
            self.indices[entries],
            indptr,
            y,
            qid,
            self.width,
            first_index,
            fixed,
            self.allow_nan,
        )
        self.indptr[rows.start + 1 : rows.stop + 1] = indptr[1:] + entries.start
        return fault

    def matrix(self) -> Matrix:
        shape = (len(self.indptr) - 1, self.width)
        return sp.csr_array((self.data, self.indices, self.indptr), shape=shape)


def _check_all_have_qid(
    blocks: Sequence[Block], how: LetorFormat, survey: Survey, first_line: int
) -> bool:
    """Each block is consistent in itself; see that they agree."""
    with_rows = [block for block in blocks if block.text.n_rows]
    has_qid = any(block.text.has_qid for block in with_rows)
    for block in with_rows:
        if has_qid and not block.text.has_qid:
            before = first_line + sum(b.n_lines() for b in blocks[: blocks.index(block)])
            raise _error(("qid_missing", block.first_row_line(), -1, b""), how, survey, before)
    return has_qid


def _error(fault: Fault, how: LetorFormat, survey: Survey, lines_before: int) -> DataError:
    kind, line, index, raw = fault
    text = repr(raw.decode("utf-8", "replace"))
    feature = "feature" if index < 0 else f"feature {index}"
    last = min(survey.n_features(how) - 1 + survey.first_index(how), 2**31 - 2)
    remedy = "Fix the line, or pass a larger n_features."
    if index > 2**31 - 2:
        last, remedy = 2**31 - 2, "Fix the line."
    scale = "Scale it" if np.dtype(how.dtype) == np.float64 else "Scale it, or pass dtype='float64'"
    if kind == "entry" and raw.startswith(b"qid:"):
        kind = "qid"
    messages = {
        "label": ("label", f"must be a number, but is {text}."),
        "label_finite": ("label", f"must be finite, but is {text}."),
        "qid": ("qid", f"must be qid:ID, once, behind the label, but is {text}."),
        "entry": ("feature", f"must be index:value, but is {text}."),
        "index_large": (
            "feature",
            f"indices must be at most {last}, but the line has {text}. {remedy}",
        ),
        "index_zero": (
            "feature",
            f"indices must start at 1, but the line has {text}. Pass zero_based=True if the file "
            "counts from 0.",
        ),
        "value": (feature, f"must have a number as its value, but is {text}."),
        "value_finite": (
            feature,
            f"must be finite, but is {text}. Fix the line, or pass allow_nan=True.",
        ),
        "value_overflow": (
            feature,
            f"must fit {np.dtype(how.dtype)}, but is {text}. {scale}.",
        ),
        "duplicate": (feature, "must occur once in a line, but occurs twice."),
        "qid_missing": (
            "qid",
            "every line must have qid:ID behind the label, or none; other lines have it, this one "
            "has not.",
        ),
    }
    where, message = messages[kind]
    return DataError(message, path=how.path, line=lines_before + line, field=where)
