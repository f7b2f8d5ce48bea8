"""What the features were like in training: the bins that drift is measured by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rankwright.data.formats import TABLES, format_of
from rankwright.data.letor import stream
from rankwright.data.reading import read
from rankwright.data.validation import Floats
from rankwright.evaluation.drift import Singles, bin_counts, decile_edges, feature_moments
from rankwright.exceptions import DataError
from rankwright.serve.records import Numbers

N_BINS = 13  # below, ten tenths, above, missing
_MOST_READ = 100_000  # documents of a file


@dataclass(frozen=True, eq=False)
class Baseline:
    """What features were like.

    Attributes
    ----------
    source : str
        Where that is known from.
    n_docs : int
        How many documents were looked at.
    edges : list of ndarray
        Of each feature: where its bins end.
    counts : ndarray of shape (n_features, 13)
        Documents by bin.
    moments : pair of ndarray
        Means and variances.
    """

    source: str
    n_docs: int
    edges: list[Singles]
    counts: Floats
    moments: tuple[Floats, Floats]

    @classmethod
    def of(cls, X: Any, source: str) -> Self:
        """Look at these documents."""
        columns = [_column(X, j) for j in range(X.shape[1])]
        edges = [decile_edges(column) for column in columns]
        return cls(source, X.shape[0], edges, count_bins(columns, edges), feature_moments(X))

    @classmethod
    def of_file(cls, path: str, n_features: int) -> Self:
        """Look at the first documents of a data file; DataError if it has other features."""
        table = format_of(path, None) in TABLES
        X: Any = read(path, allow_nan=True).X if table else _rows_to_begin_with(path, n_features)
        if X.shape[1] != n_features:
            raise DataError(
                f"must have the {n_features} features of the model, but has {X.shape[1]}.",
                path=path,
            )
        return cls.of(X[:_MOST_READ], path)


def _rows_to_begin_with(path: str, n_features: int) -> Any:
    pieces: list[Any] = []
    for piece in stream(path, dense=True, allow_nan=True, n_features=n_features):
        pieces.append(piece.X)
        if sum(map(len, pieces)) >= _MOST_READ:
            break
    return np.concatenate(pieces)


def _column(X: Any, j: int) -> Numbers:
    column = X[:, [j]]
    found: Numbers = column.toarray().ravel() if not isinstance(X, np.ndarray) else column.ravel()
    return found


def count_bins(columns: Sequence[Numbers], edges: Sequence[Singles]) -> Floats:
    """Count the documents of each feature by bin."""
    rows = [bin_counts(c, e, N_BINS) for c, e in zip(columns, edges, strict=True)]
    return np.stack(rows) if rows else np.empty((0, N_BINS))
