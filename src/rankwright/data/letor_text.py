"""How LETOR text is to be read, and what a first look at it tells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwright import _kernels
from rankwright.data.lines import Lines
from rankwright.exceptions import DataError
from rankwright.threads import n_threads

# A dense cell costs 4 bytes and a sparse entry 8, so from this density on the dense matrix is at
# most twice the size of the sparse one, and everything is faster and simpler with it.
DENSE_FROM = 0.25
# A model has a weight for each feature. Up to this many cost little; beyond, a file with fewer
# entries than this share of them has a wrong index.
WIDE = 1 << 24
ENTRIES_OF_WIDE = 0.001


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
    chunk_bytes: int = _kernels.LetorText.chunk_bytes
    instructions: str = ""  # of the processor; by default the best that it has

    def __post_init__(self) -> None:
        if np.dtype(self.dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, but is {self.dtype!r}.")
        n = self.n_features
        if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1):
            raise ValueError(f"n_features must be a positive integer or None, but is {n!r}.")


def scan(lines: Lines, how: LetorFormat) -> _kernels.LetorText:
    """Count rows and entries of a block, and look at the first and last index of each line."""
    return _kernels.LetorText(lines.padded, lines.n_bytes, n_threads(how.n_jobs), how.chunk_bytes)


@dataclass
class Survey:
    """What is known of a text before it is parsed."""

    n_rows: int = 0
    n_entries: int = 0
    min_index: int = 1
    max_index: int = -1
    text_qids: bool = False  # some qid is no integer; known where every token has been looked at
    final: bool = False  # every index has been looked at, or no more can be done about it

    def add(self, text: _kernels.LetorText) -> None:
        """Count another block."""
        self.n_rows += text.n_rows
        self.n_entries += text.n_entries
        self.min_index = min(self.min_index, text.min_index)
        self.max_index = max(self.max_index, text.max_index)
        self.text_qids = self.text_qids or not text.qid_is_integer

    @classmethod
    def of(cls, text: _kernels.LetorText) -> Survey:
        """Return what a first look at one block tells."""
        survey = cls()
        survey.add(text)
        return survey

    @classmethod
    def of_all(cls, blocks: Iterable[Lines], how: LetorFormat) -> Survey:
        """Look at every index of all blocks: they need not increase along a line."""
        survey = cls(final=True)
        for lines in blocks:
            text = scan(lines, how)
            text.scan_all_indices()
            survey.add(text)
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

    def require_plausible(self, how: LetorFormat) -> None:
        """Raise if the largest index can only be a mistake."""
        width = self.n_features(how)
        if how.n_features is not None or width <= WIDE or self.n_entries >= ENTRIES_OF_WIDE * width:
            return
        entries = "entry" if self.n_entries == 1 else "entries"
        raise DataError(
            f"the largest index is {self.max_index}, but the file has {self.n_entries} {entries} "
            f"in all, which looks like a mistake. Fix the line, or pass n_features={width}.",
            path=how.path,
            field="feature",
        )
