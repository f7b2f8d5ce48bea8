"""The row ranges of the queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.hashing import Keys, hash_ids
from rankwright.data.lazy import lazy
from rankwright.data.validation import check_qid
from rankwright.showing import Brief

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Brief):
    """Row ranges of the queries: query ``q`` owns rows ``indptr[q]:indptr[q + 1]``.

    Parameters
    ----------
    indptr : ndarray of shape (n_queries + 1,)
        Offsets, from 0 to the number of rows.
    ids : ndarray of shape (n_queries,), optional
        The queries' ids; their positions by default.

    Examples
    --------
    >>> groups = Groups.from_qid(["a", "a", "b"])
    >>> groups.indptr
    array([0, 2, 3])
    >>> [rows for rows in groups]
    [slice(0, 2, None), slice(2, 3, None)]
    """

    indptr: Ints
    ids: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        given = np.asarray(self.indptr)
        whole = given.dtype.kind in "iu" and given.ndim == 1 and len(given) > 0
        indptr = np.ascontiguousarray(given if whole else [-1], dtype=np.int64)
        if indptr[0] != 0 or (np.diff(indptr) < 0).any():
            raise ValueError(
                "indptr must be a 1-dimensional array of whole offsets that starts with 0 and "
                f"never decreases, but is {self.indptr!r}."
            )
        object.__setattr__(self, "indptr", indptr)
        if self.ids is not None:
            object.__setattr__(self, "ids", check_qid(self.ids))
            if len(self.ids) != self.n_queries:
                raise ValueError(
                    f"ids must name {self.n_queries} queries, but has {len(self.ids)}."
                )

    @classmethod
    def one_query(cls, n_rows: int) -> Groups:
        """All rows belong to one query."""
        return cls(np.array([0, n_rows], dtype=np.int64))

    @classmethod
    def from_qid(cls, qid: ArrayLike) -> Groups:
        """Build from one query id per row; the rows of a query must be adjacent."""
        ids = check_qid(qid)
        starts = run_starts(ids)
        names, counts = np.unique(ids[starts], return_counts=True)
        if (counts > 1).any():
            name = names[counts > 1].tolist()[0]
            rows = starts[ids[starts] == name][:2]
            raise ValueError(
                f"the rows of a query must be adjacent, but query {name!r} starts at row "
                f"{rows[0]} and again at row {rows[1]}. Let rankwright.Dataset gather them."
            )
        return cls(np.append(starts, len(ids)), ids[starts])

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.indptr) - 1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr[-1])

    @property
    def sizes(self) -> Ints:
        """Number of rows of each query."""
        return np.diff(self.indptr)

    @property
    def names(self) -> NDArray[Any]:
        """The ids, or the positions of queries that have none."""
        return np.arange(self.n_queries) if self.ids is None else self.ids

    @lazy
    def keys(self) -> Keys:
        """A stable 64-bit hash of each query's id, for seeding; it does not depend on row order."""
        return hash_ids(self.names)

    def query_of_rows(self) -> Ints:
        """Return the position of each row's query."""
        return np.repeat(np.arange(self.n_queries), self.sizes)

    def has_preferences(self, y: NDArray[Any]) -> bool:
        """Tell whether a query has rows with different labels."""
        query = self.query_of_rows()
        return bool(((y[1:] != y[:-1]) & (query[1:] == query[:-1])).any())

    def positions(self) -> Ints:
        """Return the position of each row within its query, from 0."""
        return np.arange(self.n_rows) - np.repeat(self.indptr[:-1], self.sizes)

    def rows_of(self, queries: Ints) -> Ints:
        """Return the rows of some queries, one query after the other."""
        sizes = self.sizes[queries]
        ends = np.cumsum(sizes)
        total = int(ends[-1]) if len(ends) else 0
        starts = self.indptr[:-1][queries]
        rows: Ints = np.arange(total) + np.repeat(starts - (ends - sizes), sizes)
        return rows

    def only(self, query: int) -> Groups:
        """Return one query by itself, with its id: what is drawn by id is drawn alike."""
        n_rows = int(self.indptr[query + 1] - self.indptr[query])
        return Groups(np.array([0, n_rows]), self.names[query : query + 1])

    def require_rows(self, n_rows: int) -> None:
        """Raise unless the queries own exactly ``n_rows`` rows."""
        if self.n_rows != n_rows:
            raise ValueError(f"groups must cover the {n_rows} rows of y, but cover {self.n_rows}.")

    def __len__(self) -> int:
        return self.n_queries

    def __iter__(self) -> Iterator[slice]:
        return map(slice, self.indptr[:-1].tolist(), self.indptr[1:].tolist())


def run_starts(ids: NDArray[Any]) -> Ints:
    """Return the rows at which a run of equal ids starts."""
    if len(ids) == 0:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))


class Coded(NamedTuple):
    """Ids of rows as positions among distinct ones, which come in the order of their first rows."""

    names: NDArray[Any]
    codes: NDArray[np.signedinteger[Any]]


def gather(ids: NDArray[Any] | Coded) -> tuple[Ints | None, Groups]:
    """Bring the rows of each query together.

    Queries keep the order of their first rows, and rows of a query their order.

    Returns
    -------
    order : ndarray or None
        Input row of each gathered row; None if nothing moves.
    groups : Groups
        Over the gathered rows.
    """
    if isinstance(ids, Coded):
        return _gather_coded(ids)
    starts = run_starts(ids)
    run_ids = ids[starts]
    names, first, inverse = np.unique(run_ids, return_index=True, return_inverse=True)
    if len(names) == len(run_ids):
        return None, Groups(np.append(starts, len(ids)), run_ids)
    # Queries by first appearance, not by sorted id.
    position = np.empty(len(names), dtype=np.int64)
    position[np.argsort(first)] = np.arange(len(names))
    run_sizes = np.diff(np.append(starts, len(ids)))
    return _gather_coded(Coded(run_ids[np.sort(first)], np.repeat(position[inverse], run_sizes)))


def _gather_coded(ids: Coded) -> tuple[Ints | None, Groups]:
    adjacent = (ids.codes[1:] >= ids.codes[:-1]).all()
    order = None if adjacent else np.argsort(ids.codes, kind="stable")
    sizes = np.bincount(ids.codes, minlength=len(ids.names))
    return order, Groups(np.append(0, np.cumsum(sizes)), ids.names)
