"""Queries that are in two parts of the data: what was learned would be measured.

Two queries are the same if they have the same id, or if they have the same documents: the same
rows of features and labels, in any order. Documents that are all alike tell nothing, so queries
without two different rows are looked at by their ids only.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.hashing import Keys, hash_ids, mix, row_keys
from rankwright.evaluation.folds import Fold
from rankwright.exceptions import DataError


def check_overlap(folds: Iterable[Fold]) -> None:
    """Raise if a query of one part is in another part of the same fold."""
    for fold in folds:
        for (name, part), (other_name, other) in combinations(fold.parts().items(), 2):
            where = f"the {name} and the {other_name} queries of {fold.name}"
            check_apart(part, other, where)


def check_apart(a: Dataset, b: Dataset, where: str) -> None:
    """Raise if two data sets have a query in common; ``where`` names them, for the message."""
    same_id = np.isin(hash_ids(b.groups.names), hash_ids(a.groups.names))
    if same_id.any():
        found = f"{_example(b, same_id)} in both"
    else:
        same = _in(_documents_of(b, a.X.dtype), _documents_of(a, b.X.dtype))
        if not same.any():
            return
        found = f"the documents of {_example(b, same)} in both, under other ids"
    raise DataError(
        f"{where} must be different, but {found}: the measurement would be of what was learned. "
        "Remove them, or allow it: allow_overlap=True (--allow-overlap on the command line)."
    )


def _documents_of(dataset: Dataset, other: Any) -> Keys:
    """Return a key for the documents of each query; 0 for those without two different ones."""
    X = dataset.X if dataset.X.dtype == other else dataset.X.astype(np.float64)
    rows = mix(row_keys(X) + mix(dataset.y.view(np.uint64)))
    starts = dataset.groups.indptr[:-1]
    alike = np.minimum.reduceat(rows, starts) == np.maximum.reduceat(rows, starts)
    return np.where(alike, np.uint64(0), np.add.reduceat(rows, starts))


def _in(keys: Keys, others: Keys) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.isin(keys, others) & (keys != 0)
    return found


def _example(dataset: Dataset, chosen: NDArray[np.bool_]) -> str:
    first = repr(dataset.groups.names[chosen].tolist()[0])
    more = int(chosen.sum()) - 1
    return f"query {first} is" if more == 0 else f"query {first} and {more} more are"
