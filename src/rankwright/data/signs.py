"""What can be seen in a data set, to be told by the doctor: of parts, as if they were one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwright.data.alignment import Features
from rankwright.data.groups import Groups, Ints
from rankwright.data.hashing import mix, row_keys
from rankwright.data.kinds import KINDS, feature_kinds
from rankwright.data.missing import count_missing
from rankwright.data.validation import Matrix

if TYPE_CHECKING:
    from rankwright.data.dataset import Dataset

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Signs:
    """What can be seen.

    Attributes
    ----------
    features : Features
        The features.
    form : str
        ``"dense float32"``, ...
    sizes : ndarray
        Documents of each query.
    non_zero : int
        Cells that are not 0.
    labels : Counter
        Documents by label.
    kinds : ndarray of int
        The kind of each feature, a position in ``KINDS``.
    missing : ndarray of int
        How many values each feature lacks.
    conflicts : int
        Documents with the features of another one of their query, but not its label.
    split : int
        Queries whose rows are not adjacent in the input.
    equal, equal_zero, single : int
        Queries with one label on all documents, with label 0, and of one document.
    constant, query_constant : ndarray of bool
        Features that have one value, and those that have one in each query.
    first : ndarray
        Features of the first document.
    """

    features: Features
    form: str
    sizes: Ints
    non_zero: int
    labels: Counter[float]
    kinds: Ints
    missing: Ints
    conflicts: int
    split: int
    equal: int
    equal_zero: int
    single: int
    constant: Bools
    query_constant: Bools
    first: NDArray[np.float64]

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.sizes.sum())

    def joined(self, other: Signs) -> Signs:
        """Return what can be seen in both, of the same features and different queries."""
        return Signs(
            self.features,
            self.form,
            np.append(self.sizes, other.sizes),
            self.non_zero + other.non_zero,
            self.labels + other.labels,
            np.maximum(self.kinds, other.kinds),
            self.missing + other.missing,
            self.conflicts + other.conflicts,
            self.split + other.split,
            self.equal + other.equal,
            self.equal_zero + other.equal_zero,
            self.single + other.single,
            self.constant & other.constant & (self.first == other.first),
            self.query_constant & other.query_constant,
            self.first,
        )


def signs_of(dataset: Dataset) -> Signs:
    """Look at a data set."""
    X, y, groups = dataset.X, dataset.y, dataset.groups
    starts = groups.indptr[:-1]
    lowest, highest = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
    single = groups.sizes == 1
    equal = (lowest == highest) & ~single
    values, counts = np.unique(y, return_counts=True)
    first = X[[0]].toarray()[0] if dataset.is_sparse else X[0]
    return Signs(
        dataset.features,
        f"{'sparse' if dataset.is_sparse else 'dense'} {X.dtype}",
        groups.sizes,
        int(X.count_nonzero()) if dataset.is_sparse else int(np.count_nonzero(X)),
        Counter(dict(zip(values.tolist(), counts.tolist(), strict=True))),
        np.array([KINDS.index(kind) for kind in feature_kinds(X)], dtype=np.int64),
        count_missing(X),
        _conflicting_duplicates(dataset),
        _n_split_queries(dataset),
        int(equal.sum()),
        int((equal & (highest == 0)).sum()),
        int(single.sum()),
        *_constant_features(X, groups),
        np.array(first, dtype=np.float64),
    )


def _n_split_queries(dataset: Dataset) -> int:
    """Count the queries whose rows are not adjacent in the input."""
    if not dataset.gathered:
        return 0
    adjacent = np.diff(dataset.order) == 1
    first = dataset.groups.indptr[1:-1] - 1  # steps from one query to the next do not count
    adjacent[first] = True
    broken = np.flatnonzero(~adjacent)
    return len(np.unique(dataset.groups.query_of_rows()[broken]))


def _constant_features(X: Matrix, groups: Groups) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which features are constant, and which are so within every query."""
    if sp.issparse(X):
        return _constant_sparse_features(X, groups)
    n_features = X.shape[1]
    varies = np.zeros(n_features, dtype=bool)
    # A few queries at a time: one reduceat over everything would leave the cache.
    for begin in range(0, groups.n_queries, 64):
        indptr = groups.indptr[begin : begin + 65]
        rows, offsets = X[indptr[0] : indptr[-1]], indptr[:-1] - indptr[0]
        low = np.minimum.reduceat(rows, offsets, axis=0)
        high = np.maximum.reduceat(rows, offsets, axis=0)
        varies |= (low != high).any(axis=0)
    # A feature that is constant in every query is constant if the queries' first rows agree.
    return ~varies & (X[0] == X[groups.indptr[:-1]]).all(axis=0), ~varies


def _constant_sparse_features(
    X: Matrix, groups: Groups
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    n_features = X.shape[1]
    varies = np.zeros(n_features, dtype=bool)
    lowest, highest = np.zeros(n_features), np.zeros(n_features)
    query = np.repeat(groups.query_of_rows(), np.diff(X.indptr))
    order = np.lexsort((query, X.indices))
    feature, query, data = X.indices[order], query[order], X.data[order]
    if len(data):
        # One run for each feature and query that meet.
        new = (feature[1:] != feature[:-1]) | (query[1:] != query[:-1])
        starts = np.flatnonzero(np.append(True, new))
        low, high = np.minimum.reduceat(data, starts), np.maximum.reduceat(data, starts)
        sizes = np.diff(np.append(starts, len(data)))
        feature, partial = feature[starts], sizes < groups.sizes[query[starts]]
        low = np.where(partial, np.minimum(low, 0), low)  # the other documents have 0
        high = np.where(partial, np.maximum(high, 0), high)
        np.logical_or.at(varies, feature, low != high)
        everywhere = np.bincount(feature, minlength=n_features) == groups.n_queries
        lowest[everywhere], highest[everywhere] = np.inf, -np.inf
        with np.errstate(invalid="ignore"):  # NaN, which varies
            np.minimum.at(lowest, feature, low)
            np.maximum.at(highest, feature, high)
    return lowest == highest, ~varies


def _conflicting_duplicates(dataset: Dataset) -> int:
    """Documents with the same features as another one of their query, but not the same label."""
    keys = mix(row_keys(dataset.X)) ^ mix(dataset.groups.query_of_rows())
    ordered = np.sort(keys)
    if (ordered[1:] != ordered[:-1]).all():
        return 0  # as mostly; what follows takes more time and memory
    order = np.argsort(keys, kind="stable")
    keys, y = keys[order], dataset.y[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    sizes = np.diff(np.append(starts, len(keys)))
    conflict = np.minimum.reduceat(y, starts) != np.maximum.reduceat(y, starts)
    return int(sizes[conflict].sum())
