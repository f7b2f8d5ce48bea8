"""Query-document features with labels, gathered by query."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rankwright.data.alignment import Features, columns_for, move_rows, take_columns
from rankwright.data.categories import (
    MOST,
    check_same_kind,
    column_of,
    derived,
    indicator_of,
    level_counts,
    level_features,
    recoded,
    warn_of_new,
)
from rankwright.data.doctor import Description, describe
from rankwright.data.groups import Coded, Ints, gather
from rankwright.data.kept import Kept, check_kept, take_rows
from rankwright.data.missing import count_missing
from rankwright.data.splits import fold_queries, query_positions, split_queries
from rankwright.data.validation import (
    Floats,
    Matrix,
    check_doc_ids,
    check_names,
    check_qid,
    check_X,
    check_y,
    require_rows,
)
from rankwright.data.views import DatasetViews
from rankwright.exceptions import DataError


class Dataset(DatasetViews):
    """Documents with features, labels and query ids.

    Rows are gathered: queries in the order of their first rows, rows of a query in their order.
    ``X``, ``y``, ``qid``, ``doc_ids`` and ``groups`` share that order, and so must scores that are
    passed with the data set. ``order`` maps it to the input: gathered row ``i`` is input row
    ``order[i]``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_docs, n_features)
        Features. float32 and float64 are kept; a data frame gives its column names.
    y : array-like of shape (n_docs,)
        Labels; larger is more relevant.
    qid : array-like of shape (n_docs,), optional
        Query ids, integers or strings, in any order. None means one query.
    feature_names : sequence of str, optional
        Names of the columns.
    doc_ids : array-like of shape (n_docs,), optional
        Names of the documents.
    kept : mapping of str to array-like of shape (n_docs,), optional
        Columns beside the features, to measure by, such as the country of a query.
    allow_nan : bool, default False
        Accept NaN and infinite features.

    Attributes
    ----------
    X, y, qid, doc_ids, feature_names, kept
        As given, gathered.
    groups : Groups
        Row ranges of the queries.
    order : ndarray of shape (n_docs,)
        Input row of each row.
    features : Features
        How many features there are, their names, and which of them are categories.

    Examples
    --------
    >>> ds = Dataset([[1.0], [2.0], [3.0]], [0, 1, 2], qid=["b", "a", "b"])
    >>> ds
    Dataset(3 documents, 2 queries, 1 feature, dense float64)
    >>> ds.y
    array([0., 2., 1.])
    >>> ds.restore(ds.y)
    array([0., 1., 2.])
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        doc_ids: ArrayLike | None = None,
        *,
        kept: Mapping[str, ArrayLike] | None = None,
        allow_nan: bool = False,
    ) -> None:
        if feature_names is None:
            # A table of Arrow calls its names column_names, its columns are arrays.
            columns = getattr(X, "column_names", getattr(X, "columns", None))
            feature_names = None if columns is None else [str(name) for name in columns]
        matrix = check_X(X, allow_nan=allow_nan)
        n_rows = int(matrix.shape[0])
        require_rows(n_rows)
        labels = check_y(y, n_rows)
        ids = check_qid(qid, n_rows)
        names = check_names(feature_names, int(matrix.shape[1]))
        docs = check_doc_ids(doc_ids, n_rows)
        self._set(matrix, labels, ids, names, docs, check_kept(kept, n_rows))

    @classmethod
    def from_checked(
        cls,
        X: Matrix,
        y: Floats,
        qid: NDArray[Any] | Coded,
        features: Features | list[str] | None = None,
        doc_ids: NDArray[Any] | None = None,
        *,
        kept: Kept | None = None,
        owned: bool = False,
    ) -> Dataset:
        """Build from arrays that ``data.validation`` (or the parser) has checked already.

        ``features`` are those of the data set that the rows are from, or names. ``X`` may be moved
        within its memory if it is ``owned``, that is, nobody else's.
        """
        self = cls.__new__(cls)
        self._set(X, y, qid, features, doc_ids, kept or {}, owned)
        return self

    def _set(
        self,
        X: Matrix,
        y: Floats,
        qid: NDArray[Any] | Coded,
        features: Features | list[str] | None,
        doc_ids: NDArray[Any] | None,
        kept: Kept,
        owned: bool = False,
    ) -> None:
        order, self.groups = gather(qid)
        if not isinstance(features, Features):
            features = Features(int(X.shape[1]), features)
        self.features: Features = features
        self.gathered = order is not None
        if isinstance(qid, Coded):
            self.qid = np.repeat(qid.names, self.groups.sizes)
        else:
            self.qid = qid if order is None else qid[order]
        if order is None:
            self.order: Ints = np.arange(len(y))
            self.X, self.y, self.doc_ids, self.kept = X, y, doc_ids, kept
        else:
            self.order = order
            self.X = move_rows(X, order) if owned and not sp.issparse(X) else X[order]
            self.y = y[order]
            self.doc_ids = None if doc_ids is None else doc_ids[order]
            self.kept = take_rows(kept, order)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.y)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.groups.n_queries

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether ``X`` is a CSR array."""
        return bool(sp.issparse(self.X))

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, if they have any."""
        return None if self.features.names is None else list(self.features.names)

    def aligned(self, wanted: Features, path: str | None = None) -> Dataset:
        """Return the same documents with other features: those that are wanted, in their order.

        See :mod:`rankwright.data.alignment` for how columns are found, and
        :mod:`rankwright.data.categories` for features that are made of others. ``path`` is the
        file, for messages.
        """
        try:
            return self._aligned(wanted, path or "the data")
        except DataError as error:
            raise DataError(error.message, path=path) from None

    def _aligned(self, wanted: Features, owner: str) -> Dataset:
        this = self._with_derived(wanted, tell=True)
        given = replace(this.features, owner=owner)
        columns = columns_for(wanted, given)
        if columns is None and wanted.names is None:
            return this
        X = take_columns(this.X, columns)
        for name in {*wanted.categories, *given.categories} & set(wanted.names or ()):
            check_same_kind(name, wanted.categories, given.categories, wanted.owner)
            levels = given.categories[name], wanted.categories[name]
            if list(levels[0]) != list(levels[1]):
                X = X.copy() if X is this.X else X
                column = list(wanted.names or ()).index(name)
                warn_of_new(name, column_of(X, column), *levels, wanted.owner)
                X[:, column] = recoded(column_of(X, column), *levels)
        return this.with_features(X, wanted.names, wanted.categories)

    def _with_derived(self, wanted: Features, *, tell: bool) -> Dataset:
        """Return the data set with wanted features that are made of others in their place."""
        if wanted.names is None or self.features.names is None:
            return self
        names, categories = list(self.features.names), self.features.categories
        there = set(names)
        found = {
            name: column
            for name in wanted.names
            if name not in there
            and (column := derived(name, self.X, names, categories)) is not None
        }
        if not found:
            return self
        # A category that is told level by level is not looked at itself.
        told = {category for _, category in found.values() if category} - set(wanted.names)
        for category in told if tell else ():
            known = [n[len(category) + 1 :] for n in found if n.startswith(f"{category}=")]
            codes = column_of(self.X, names.index(category))
            warn_of_new(category, codes, categories[category], known, wanted.owner)
        kept = [j for j, name in enumerate(names) if name not in told]
        more = np.column_stack([column for column, _ in found.values()]).astype(self.X.dtype)
        rest = take_columns(self.X, np.array(kept, dtype=np.int64))
        X = sp.csr_array(sp.hstack([rest, more])) if self.is_sparse else np.hstack([rest, more])
        left = {name: levels for name, levels in categories.items() if name not in told}
        return self.with_features(X, [*(names[j] for j in kept), *found], left)

    def with_features(
        self,
        X: Matrix,
        names: Sequence[str] | None = None,
        categories: Mapping[str, Sequence[str]] | None = None,
    ) -> Dataset:
        """Return the same documents with other features, or other values of the same ones."""
        if X is self.X and names in (None, self.feature_names):
            return self
        other = copy.copy(self)
        other.X = X
        if names is not None:
            other.features = Features(len(names), list(names), categories=categories or {})
        return other

    def level_counts(self) -> dict[str, Ints]:
        """Return how many documents have each level of each category."""
        names, categories = list(self.features.names or ()), self.features.categories
        return {
            name: level_counts(column_of(self.X, names.index(name)), levels)
            for name, levels in categories.items()
        }

    def one_hot(self, most: int = MOST, counts: Mapping[str, Ints] | None = None) -> Dataset:
        """Return the data set with a feature 0 or 1 for each level of its categories.

        Parameters
        ----------
        most : int, default 100
            Levels of a column that become features: the most frequent ones. Documents of the others
            have 0 in all of them.
        counts : mapping of str to ndarray, optional
            How frequent levels are, by category; by default what :meth:`level_counts` says.

        Examples
        --------
        >>> import rankwright as rw, polars as pl
        >>> frame = pl.DataFrame({"label": [1, 0], "price": [3.0, 4.0], "country": ["de", "us"]})
        >>> ds = rw.data.from_frame(frame, qid=None, categorical=["country"])
        >>> ds.one_hot().feature_names
        ['price', 'country=de', 'country=us']
        """
        names, categories = self.features.names or (), self.features.categories
        if not categories:
            return self
        wanted = level_features(names, categories, counts or self.level_counts(), most)
        features = Features(len(wanted), wanted)
        return self._with_derived(features, tell=False).aligned(features)

    def with_indicators(self, lacking: Ints | None = None) -> Dataset:
        """Return the data set with a feature more for each that lacks values: 1 where it does.

        A model that was fitted to ``price is missing`` finds it in any data that has ``price``.
        ``lacking`` are the positions of those features, where these documents are not all.

        Examples
        --------
        >>> import numpy as np, rankwright as rw
        >>> ds = rw.Dataset([[1.0], [np.nan]], [0, 1], feature_names=["price"], allow_nan=True)
        >>> ds.with_indicators().X.tolist()
        [[1.0, 0.0], [nan, 1.0]]
        """
        if self.features.names is None:
            raise ValueError("indicators of missing values need features that have names.")
        found = np.flatnonzero(count_missing(self.X)) if lacking is None else lacking
        made = [indicator_of(self.features.names[j]) for j in found.tolist()]
        if taken := set(made) & set(self.features.names):
            raise DataError(f"there is a column {min(taken)!r} already. Rename it.")
        names = [*self.features.names, *made]
        wanted = replace(self.features, n=len(names), names=names)
        return self.aligned(wanted) if made else self

    def restore(self, values: ArrayLike) -> NDArray[Any]:
        """Return values, one per gathered row, in the order of the input rows."""
        given = np.asarray(values)
        if given.shape[:1] != (self.n_docs,):
            raise ValueError(f"values must have {self.n_docs} rows, but have shape {given.shape}.")
        restored = np.empty_like(given)
        restored[self.order] = given
        return restored

    def select(self, queries: ArrayLike) -> Dataset:
        """Return the data set of some queries, given by position or as a mask, in that order."""
        rows = self.groups.rows_of(query_positions(queries, self.n_queries))
        require_rows(len(rows))
        return Dataset.from_checked(
            self.X[rows],
            self.y[rows],
            self.qid[rows],
            self.features,
            None if self.doc_ids is None else self.doc_ids[rows],
            kept=take_rows(self.kept, rows),
        )

    def with_labels(self, y: ArrayLike) -> Dataset:
        """Return the same documents, in the same order, with other labels.

        Examples
        --------
        >>> ds = Dataset([[1.0], [2.0]], [0, 1])
        >>> ds.with_labels([1, 0]).y
        array([1., 0.])
        """
        labels = check_y(y, self.n_docs)
        other = copy.copy(self)
        other.y = labels
        return other

    def split(
        self, shares: Sequence[float] = (0.6, 0.2, 0.2), random_state: int = 0
    ) -> tuple[Dataset, ...]:
        """Cut into parts by query.

        A query's part depends on its id and the seed only, not on the order of the rows.
        """
        parts = split_queries(self.groups, shares, random_state)
        return tuple(self.select(part) for part in parts)

    def folds(self, n_folds: int = 5, random_state: int = 0) -> Iterator[tuple[Dataset, Dataset]]:
        """Yield (train, test) for each of ``n_folds`` folds by query."""
        parts = fold_queries(self.groups, n_folds, random_state)
        everything = np.arange(self.n_queries)
        return ((self.select(np.setdiff1d(everything, part)), self.select(part)) for part in parts)

    def describe(self) -> Description:
        """Return counts, distributions and warnings: the doctor's report."""
        return describe(self)

    def __len__(self) -> int:
        return self.n_docs


def check_is_dataset(value: Any, name: str = "valid") -> None:
    """Raise unless this is a data set; a table or a tuple of arrays is none yet."""
    if not isinstance(value, Dataset):
        raise TypeError(
            f"{name} must be a Dataset, but is a {type(value).__name__}. Make one: Dataset(X, y, "
            "qid), or rankwright.from_frame(table)."
        )
