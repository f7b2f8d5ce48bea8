"""Parts of a data set by query: a pure function of the seed and the query ids.

A query falls into the same part whatever the order of rows and queries in the file.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.groups import Groups, Ints
from rankwright.data.streams import check_seed, stream_keys
from rankwright.data.validation import check_count


def shuffled_queries(groups: Groups, random_state: int) -> Ints:
    """Return the positions of the queries, ordered by their ids and the seed alone."""
    return np.argsort(stream_keys(groups, check_seed(random_state)), kind="stable")


def query_positions(queries: ArrayLike, n_queries: int) -> Ints:
    """Return distinct positions of queries, given as such or as a mask."""
    chosen = np.asarray(queries)
    if chosen.dtype == bool and chosen.shape == (n_queries,):
        chosen = np.flatnonzero(chosen)
    whole = chosen.ndim == 1 and (chosen.dtype.kind in "iu" or len(chosen) == 0)
    inside = whole and ((chosen >= 0) & (chosen < n_queries)).all()
    if not inside or len(np.unique(chosen)) < len(chosen):
        raise ValueError(
            f"queries must be distinct positions below {n_queries}, or a mask of {n_queries} "
            f"values, but are {queries!r}."
        )
    return chosen.astype(np.int64, copy=False)


def split_queries(groups: Groups, shares: Sequence[float], random_state: int) -> list[Ints]:
    """Cut the queries into parts of the given shares; positions in each part increase."""
    fractions = np.asarray(shares, dtype=np.float64)
    if fractions.ndim != 1 or len(fractions) == 0 or not (fractions > 0).all():
        raise ValueError(
            f"shares must be positive numbers such as (0.6, 0.2, 0.2), but are {shares!r}."
        )
    if abs(fractions.sum() - 1) > 1e-9:
        raise ValueError(f"shares must add up to 1, but {shares!r} add up to {fractions.sum():g}.")
    if groups.n_queries < len(fractions):
        raise ValueError(
            f"{len(fractions)} parts need as many queries, but there are {groups.n_queries}."
        )
    ends = np.rint(np.cumsum(fractions) * groups.n_queries).astype(np.int64)
    # Every part has at least one query, also when rounding says none.
    for part in range(len(ends) - 1):
        low = ends[part - 1] + 1 if part else 1
        ends[part] = np.clip(ends[part], low, groups.n_queries - (len(ends) - 1 - part))
    return [np.sort(part) for part in np.split(shuffled_queries(groups, random_state), ends[:-1])]


def fold_queries(groups: Groups, n_folds: int, random_state: int) -> list[Ints]:
    """Cut the queries into folds whose sizes differ by at most one."""
    check_count("n_folds", n_folds, 2)
    if groups.n_queries < n_folds:
        raise ValueError(f"{n_folds} folds need as many queries, but there are {groups.n_queries}.")
    return [
        np.sort(part) for part in np.array_split(shuffled_queries(groups, random_state), n_folds)
    ]
