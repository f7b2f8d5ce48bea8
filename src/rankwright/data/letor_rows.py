"""Blocks of LETOR text to arrays: the Python side of the native parser.

The arrays grow with the text, so that it is looked at once and no block of it is kept. What must be
known before (the number of features, whether they count from 0, the form of the matrix) is guessed
from the first block. If the text proves the guess wrong, it is surveyed and read again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwright import _kernels
from rankwright.data.alignment import Features
from rankwright.data.groups import Ints
from rankwright.data.letor_faults import Fault, fault_error, qid_missing
from rankwright.data.letor_text import LetorFormat, Survey, scan
from rankwright.data.lines import LineBlocks, changed_error
from rankwright.data.texts import LONGEST_ID, QidTexts, join_texts, split_texts, text_array
from rankwright.data.validation import Floats, Matrix, require_rows
from rankwright.exceptions import DataError

_SPARE = 1.02  # times the rows expected by those so far
_WIDEST = 2**31 - 1  # features; any index fits


@dataclass
class LetorRows:
    """Parsed documents, in file order."""

    X: Matrix
    y: Floats
    qid: NDArray[Any]
    has_qid: bool
    doc_ids: NDArray[Any] | None
    first_index: int = 1  # of the features

    @property
    def features(self) -> Features:
        """The features; where they count from 0 they have names, since unnamed ones do from 1."""
        n = int(self.X.shape[1])
        names = [f"feature {j}" for j in range(n)] if self.first_index == 0 else None
        return Features(n, names, open_ended=True)


class WrongGuess(Exception):  # noqa: N818 (a signal, not an error)
    """The text is not what its first block looked like."""


def read_rows(blocks: LineBlocks, how: LetorFormat) -> LetorRows:
    """Parse a text.

    Raises
    ------
    DataError
        At the first fault in file order.
    """
    try:
        return _parse_block(blocks, how).finish()
    except WrongGuess:
        survey = Survey.of_all(blocks, how)
        survey.require_plausible(how)
    rows = _parse_block(blocks, how, survey)
    if (rows.n_rows, rows.n_entries) != (survey.n_rows, survey.n_entries):
        raise changed_error(how.path)
    return rows.finish()


def _parse_block(blocks: LineBlocks, how: LetorFormat, survey: Survey | None = None) -> GrowingRows:
    rows: GrowingRows | None = None
    for lines in blocks:
        text = scan(lines, how)
        if rows is None or rows.n_rows == 0:
            rows = GrowingRows(how, survey or Survey.of(text), text.n_entries / blocks.share)
        rows.add(text, blocks.n_lines, blocks.share)
        blocks.n_lines += text.n_lines
    require_rows(0 if rows is None else rows.n_rows, how.path)
    return cast(GrowingRows, rows)


class QidRule:
    """What holds for the query ids of all blocks: every line has one, or none has."""

    def __init__(self, how: LetorFormat) -> None:
        self.texts = QidTexts(how.path)
        self.has_qid = False
        self._how = how
        self._without = 0  # the first line without one

    def require(self, text: _kernels.LetorText, lines_before: int) -> None:
        """Raise if a block that was parsed breaks it."""
        self.has_qid = self.has_qid or text.has_qid
        if text.first_without_qid and not self._without:
            self._without = lines_before + text.first_without_qid
        if self.has_qid and self._without:
            raise qid_missing(self._how, self._without)


class GrowingRows:
    """Documents in file order, block after block.

    Parameters
    ----------
    how : LetorFormat
        How to read them.
    survey : Survey
        What they are, for certain or by a guess.
    n_entries : float
        How many entries of a sparse matrix are expected.
    rule : QidRule, optional
        What earlier documents say of the query ids.
    """

    def __init__(
        self, how: LetorFormat, survey: Survey, n_entries: float, rule: QidRule | None = None
    ) -> None:
        self.how, self.survey = how, survey
        self.n_rows = self.n_entries = 0
        dense = survey.is_dense(how)
        self._X = _Dense(how, survey) if dense else _Sparse(how, survey, n_entries)
        self._y, self._numbers = _Growing(np.float64), _Growing(np.int64)
        self._rule = rule or QidRule(how)
        self._qids: list[tuple[int, NDArray[Any]]] = []  # first row and ids, where some are texts
        self._doc_ids: list[NDArray[Any]] = []

    def add(self, text: _kernels.LetorText, lines_before: int = 0, share: float = 1.0) -> None:
        """Parse a block; ``share`` of the text ends with it."""
        n = text.n_rows
        fault = self._X.parse(text, self._y.room(n, share), self._numbers.room(n, share), share)
        self._rule.require(text, lines_before)
        if fault is not None:
            if fault[0] == "rescan":
                raise WrongGuess
            raise fault_error(fault, self.how, self.survey, lines_before)
        if text.has_qid and not text.qid_is_integer:
            names, starts = text.qids()
            self._qids.append((self.n_rows, _ids(self._rule.texts.split(names), starts, n)))
        if self.how.doc_ids:
            names, starts = text.doc_ids()
            self._doc_ids.append(_ids(split_texts(names), starts, n))
        self.n_rows += n
        self.n_entries += text.n_entries

    def finish(self) -> LetorRows:
        """Return all documents."""
        X = self._X.finish()
        first = self.survey.first_index(self.how)
        found = Survey(self.n_rows, self.n_entries, first, X.shape[1] - 1 + first)
        if not self.survey.final:
            if found.is_dense(self.how) == sp.issparse(X):
                raise WrongGuess
            found.require_plausible(self.how)
        docs = join_texts(self._doc_ids) if self.how.doc_ids else None
        first = self.survey.first_index(self.how)
        return LetorRows(X, self._y.finish(), self._query_ids(), self._rule.has_qid, docs, first)

    def _query_ids(self) -> NDArray[Any]:
        numbers = self._numbers.finish()
        if not (self._qids or (self.survey.text_qids and self._rule.has_qid)):
            return numbers
        parts, row = [], 0
        for first, names in self._qids:
            parts += [numbers[row:first], names]
            row = first + len(names)
        return join_texts([*parts, numbers[row:]])


def _ids(texts: list[str], starts: Ints, n_rows: int) -> NDArray[Any]:
    """Return the ids of a block's rows, given where those that differ start."""
    return text_array(texts, np.diff(np.append(starts, n_rows)))


class _Growing:
    """An array that gets longer, in place where the system can do that."""

    def __init__(self, dtype: Any, *width: int) -> None:
        self._array = np.empty((0, *width), dtype=dtype)
        self._n = 0

    def room(self, n: int, share: float) -> NDArray[Any]:
        """Return the next ``n`` rows, to be filled before more are asked for.

        With them there is a ``share`` of all, so that the rest is made room for as well.
        """
        begin, self._n = self._n, self._n + n
        if self._n > len(self._array):
            try:
                self._resize(self._n if share == 1 else int(_SPARE * self._n / share))
            except MemoryError:
                self._resize(self._n)
        return self._array[begin : self._n]

    def finish(self) -> NDArray[Any]:
        """Return the rows."""
        self._resize(self._n)
        return self._array

    def _resize(self, n: int) -> None:
        shape = (n, *self._array.shape[1:])
        if len(self._array) == 0:
            self._array = np.empty(shape, dtype=self._array.dtype)  # resizing would write zeros
        elif len(self._array) != n:
            self._array.resize(shape, refcheck=False)


class _Dense:
    def __init__(self, how: LetorFormat, survey: Survey) -> None:
        self._how = how
        self._width = survey.n_features(how)
        self._options = _options(how, survey, self._width)
        self._X = _Growing(how.dtype, self._width)

    def parse(self, text: _kernels.LetorText, y: Floats, qid: Ints, share: float) -> Fault | None:
        try:
            X = self._X.room(text.n_rows, share)
        except MemoryError:
            size = text.n_rows * self._width * np.dtype(self._how.dtype).itemsize / 2**30
            raise DataError(
                f"a dense matrix of {text.n_rows} x {self._width} needs {size:.0f} GiB, more than "
                "there is. Pass dense=False.",
                path=self._how.path,
            ) from None
        return text.parse_dense(X, y, qid, self._options)

    def finish(self) -> Matrix:
        return self._X.finish()


class _Sparse:
    def __init__(self, how: LetorFormat, survey: Survey, n_entries: float) -> None:
        # Where the width is a guess it is left open; the largest column tells.
        known = survey.final or how.n_features is not None
        self._width = survey.n_features(how) if known else 0
        self._options = _options(how, survey, self._width if known else _WIDEST)
        index = np.int32 if max(n_entries, self._width) < 2**31 else np.int64
        self._data, self._indices = _Growing(how.dtype), _Growing(index)
        self._indptr = _Growing(index)
        self._indptr.room(1, 1.0)[:] = 0
        self._entry = 0

    def parse(self, text: _kernels.LetorText, y: Floats, qid: Ints, share: float) -> Fault | None:
        n, n_entries = text.n_rows, text.n_entries
        indices = self._indices.room(n_entries, share)
        if indices.dtype == np.int32 and self._entry + n_entries >= 2**31:
            raise WrongGuess
        indptr = np.empty(n + 1, dtype=indices.dtype)
        data = self._data.room(n_entries, share)
        fault = text.parse_sparse(data, indices, indptr, y, qid, self._options)
        if fault is None:
            np.add(indptr[1:], self._entry, out=self._indptr.room(n, share))
            self._entry += n_entries
            self._width = max(self._width, int(indices.max(initial=-1)) + 1)
        return fault

    def finish(self) -> Matrix:
        indptr = self._indptr.finish()
        shape = (len(indptr) - 1, self._width)
        return sp.csr_array((self._data.finish(), self._indices.finish(), indptr), shape=shape)


def _options(how: LetorFormat, survey: Survey, width: int) -> _kernels.LetorOptions:
    first = survey.first_index(how)
    return _kernels.LetorOptions(
        first, width, survey.final, how.allow_nan, how.doc_ids, LONGEST_ID, how.instructions
    )
