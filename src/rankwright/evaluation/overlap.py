"""Queries that are in two parts of the data: what was learned would be measured.

Two queries are the same if they have the same id, or if they have the same documents: the same
rows of features and labels, in any order. Documents that are all alike tell nothing, so queries
without two different rows are looked at by their ids only.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, combinations
from typing import Any

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.hashing import Keys, mix, row_keys
from rankwright.data.parts import Parts
from rankwright.data.whole_queries import query_keys
from rankwright.evaluation.folds import Fold
from rankwright.exceptions import DataError

_OTHER_IDS = "under other ids"


def check_overlap(folds: Iterable[Fold]) -> None:
    """Raise if a query of one part is in another part of the same fold."""
    for fold in folds:
        for (name, part), (other_name, other) in combinations(fold.parts().items(), 2):
            where = f"the {name} and the {other_name} queries of {fold.name}"
            check_apart(part, other, where)


def check_apart(a: Dataset, b: Dataset, where: str) -> None:
    """Raise if two data sets have a query in common; ``where`` names them, for the message."""
    _refuse_common([_with_ids(b, query_keys(a))], where)
    _refuse_common([_with_documents(b, _documents_of(a, b.X.dtype), a.X.dtype)], where, _OTHER_IDS)


def check_parts_apart(a: Parts, b: Parts, where: str) -> None:
    """Do the same for data in parts."""
    _refuse_common(b.map(_with_ids, np.concatenate(a.map(query_keys))), where)
    types = [np.dtype(parts.facts.dtype) for parts in (a, b)]
    documents = np.concatenate(a.map(_documents_of, types[1]))
    _refuse_common(b.map(_with_documents, documents, types[0]), where, _OTHER_IDS)


def _refuse_common(found: list[list[Any]], where: str, under: str = "") -> None:
    """Raise if there are queries among those that were found, given by their ids."""
    common = list(chain.from_iterable(found))
    if not common:
        return
    more = len(common) - 1
    which = f"query {common[0]!r} {f'and {more} more are' if more else 'is'}"
    told = f"the documents of {which} in both, {under}" if under else f"{which} in both"
    raise DataError(
        f"{where} must be different, but {told}: the measurement would be of what was learned. "
        "Remove them, or allow it: allow_overlap=True (--allow-overlap on the command line)."
    )


def _with_ids(dataset: Dataset, keys: Keys) -> list[Any]:
    """Return the ids of the queries that have one of these keys."""
    found: list[Any] = dataset.groups.names[np.isin(query_keys(dataset), keys)].tolist()
    return found


def _with_documents(dataset: Dataset, keys: Keys, other: Any) -> list[Any]:
    """Return the ids of the queries whose documents have one of these keys."""
    own = _documents_of(dataset, other)
    found: list[Any] = dataset.groups.names[np.isin(own, keys) & (own != 0)].tolist()
    return found


def _documents_of(dataset: Dataset, other: Any) -> Keys:
    """Return a key for the documents of each query; 0 for those without two different ones."""
    X = dataset.X if dataset.X.dtype == other else dataset.X.astype(np.float64)
    rows = mix(row_keys(X) + mix(dataset.y.view(np.uint64)))
    starts = dataset.groups.indptr[:-1]
    alike = np.minimum.reduceat(rows, starts) == np.maximum.reduceat(rows, starts)
    return np.where(alike, np.uint64(0), np.add.reduceat(rows, starts))
