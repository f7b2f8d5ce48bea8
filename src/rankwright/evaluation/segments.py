"""Queries of a kind: one country, short lists, what is asked often. A mean hides who pays for it.

A way to cut the queries is a text:

``COLUMN``
    A column that the data keep (:mod:`rankwright.data.kept`), with one value a query. Numbers of
    which there are many become four parts of about equal size; of many names the rarest are one.
``list-length``
    How many documents a query has, in four parts.
``head:COLUMN``
    By a column with the traffic of a query: the head is the most frequent queries that make half
    of the traffic together, the tail the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.feature_names import listed
from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.showing import Brief
from rankwright.suggestions import meant

LIST_LENGTH = "list-length"
HEAD = "head:"
MISSING, OTHERS = "(missing)", "(others)"
_MOST_VALUES = 20  # of a column; the rarest are taken together
_MOST_NUMBERS = 12  # above it numbers are cut into parts
_PARTS = 4


@dataclass(frozen=True, eq=False, repr=False)
class Part(Brief):
    """The queries of one kind.

    Attributes
    ----------
    column, value : str
        By what the queries were cut, and what these have in common.
    queries : ndarray of bool of shape (n_queries,)
        Which they are.
    """

    column: str
    value: str
    queries: NDArray[np.bool_]

    @property
    def n_queries(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(self.queries))


def column_of_segment(text: str) -> str | None:
    """Return the column that a way to cut queries needs, if any.

    Examples
    --------
    >>> column_of_segment("country"), column_of_segment("head:searches")
    ('country', 'searches')
    >>> column_of_segment("list-length") is None
    True
    """
    if text == LIST_LENGTH:
        return None
    column = text[len(HEAD) :] if text.startswith(HEAD) else text
    if not column:
        raise ValueError(
            f"a segment must be a column, {LIST_LENGTH} or {HEAD}COLUMN, but is {text!r}."
        )
    return column


def parts_of_queries(text: str, datasets: Sequence[Dataset]) -> list[Part]:
    """Cut the queries of some data sets, one after the other.

    Parameters
    ----------
    text : str
        How; see :mod:`rankwright.evaluation.segments`.
    datasets : sequence of Dataset
        The queries, which keep the column.

    Examples
    --------
    >>> ds = Dataset([[1.0], [2.0], [3.0]], [0, 1, 0], ["a", "a", "b"], kept={"land": [1, 1, 2]})
    >>> [(part.value, part.queries.tolist()) for part in parts_of_queries("land", [ds])]
    [('1', [True, False]), ('2', [False, True])]
    """
    column = column_of_segment(text)
    if column is None:
        sizes = np.concatenate([dataset.groups.sizes for dataset in datasets]).astype(np.float64)
        return _ranges(text, sizes)
    values = np.concatenate([_by_query(dataset, column) for dataset in datasets])
    if text.startswith(HEAD):
        return _head_and_tail(text, values, column)
    numbers = _as_numbers(values)
    if numbers is not None and len(np.unique(numbers[~np.isnan(numbers)])) > _MOST_NUMBERS:
        return _ranges(text, numbers)
    return _by_level(text, values)


def parts_by_each(texts: str | Sequence[str], datasets: Sequence[Dataset]) -> list[Part]:
    """Cut the queries of some data sets in one way or several, each of them once."""
    ways = [texts] if isinstance(texts, str) else dict.fromkeys(texts)
    return [part for text in ways for part in parts_of_queries(text, datasets)]


def _by_query(dataset: Dataset, column: str) -> NDArray[Any]:
    """Return the value of each query, which all its documents must share."""
    values = _kept(dataset, column).astype(object)
    first = values[dataset.groups.indptr[:-1]]
    differs = np.flatnonzero(values != np.repeat(first, dataset.groups.sizes))
    if len(differs):
        row = int(differs[0])
        query = int(np.searchsorted(dataset.groups.indptr, row, "right")) - 1
        raise DataError(
            f"{column!r} must have one value a query to cut queries by, but query "
            f"{dataset.groups.names.tolist()[query]!r} has {first[query]!r} and {values[row]!r}."
        )
    return first


def _kept(dataset: Dataset, column: str) -> NDArray[Any]:
    if column in dataset.kept:
        return dataset.kept[column]
    there = listed(list(dataset.kept)) if dataset.kept else "none"
    raise DataError(
        f"the data must keep the column {column!r} to be cut by it (keep=), but they keep {there}."
        f"{meant(column, dataset.kept)}"
    )


def _as_numbers(values: NDArray[Any]) -> Floats | None:
    """Return texts as numbers, NaN where there is none, if all of them are."""
    try:
        numbers = np.array([float(text) if text else math.nan for text in values.tolist()])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).any() else None


def _ranges(text: str, numbers: Floats) -> list[Part]:
    """Cut numbers into parts of about equal size, which are called by their ends."""
    known = numbers[~np.isnan(numbers)]
    edges = np.unique(np.quantile(known, np.arange(1, _PARTS) / _PARTS, method="lower"))
    place = np.searchsorted(edges, numbers, "left")
    parts = []
    for i in range(len(edges) + 1):
        inside = (place == i) & ~np.isnan(numbers)
        if inside.any():
            low, high = numbers[inside].min(), numbers[inside].max()
            name = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            parts.append(Part(text, name, inside))
    if np.isnan(numbers).any():
        parts.append(Part(text, MISSING, np.isnan(numbers)))
    return parts


def _by_level(text: str, values: NDArray[Any]) -> list[Part]:
    """Cut by value, the most frequent first; what is missing and what is rare come last."""
    found, codes, counts = np.unique(values.astype(str), return_inverse=True, return_counts=True)
    order = [i for i in np.argsort(-counts, kind="stable").tolist() if found[i]]
    shown = order if len(order) <= _MOST_VALUES else order[: _MOST_VALUES - 1]
    parts = [Part(text, str(found[i]), codes == i) for i in shown]
    if len(shown) < len(order):
        parts.append(Part(text, OTHERS, np.isin(codes, order[len(shown) :])))
    if not all(found):
        parts.append(Part(text, MISSING, found[codes] == ""))
    return parts


def _head_and_tail(text: str, values: NDArray[Any], column: str) -> list[Part]:
    traffic = _as_numbers(values)
    if traffic is None or np.isnan(traffic).any() or traffic.min() < 0 or traffic.sum() <= 0:
        raise DataError(
            f"{column!r} must be the traffic of each query, a number of at least 0 that is never "
            "missing and not always 0, to tell head and tail."
        )
    order = np.argsort(-traffic, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(traffic[order])[:-1]])
    head = np.zeros(len(traffic), dtype=bool)
    head[order[before < traffic.sum() / 2]] = True
    return [
        part for part in (Part(text, "head", head), Part(text, "tail", ~head)) if part.n_queries
    ]
