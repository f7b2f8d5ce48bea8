"""The ranked lists of the page: of which queries, and which documents of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.groups import Ints
from rankwright.report.content import Content, Examined

MOST_QUERIES = 5000  # points that a browser draws at once
MOST_RANKS = 100  # documents of a list that are kept
BUDGET = 1_900_000  # ranks and half the letters of names: about 2.5 MB of the page
_MOST_NAME = 48  # characters of a document's name


@dataclass(frozen=True, eq=False)
class RankedList:
    """The first documents of a query in the orders of all systems.

    Attributes
    ----------
    query : int
        Number of the query, over all parts.
    part : int
        Its part.
    rows : slice
        Its documents, among those of the part.
    shown : ndarray of int
        Those that any system puts among its first, by their numbers in the query.
    orders : list of ndarray of int
        For each system its first documents, as places in ``shown``.
    """

    query: int
    part: int
    rows: slice
    shown: Ints
    orders: list[Ints]

    def best_ranks(self, systems: list[int]) -> Ints:
        """Return the best rank, from 0, that these systems give to each document shown."""
        best = np.full(len(self.shown), MOST_RANKS, dtype=np.int64)
        for system in systems:
            order = self.orders[system]
            best[order] = np.minimum(best[order], np.arange(len(order)))
        return best


def shown_queries(content: Content) -> Ints:
    """Return the queries of the page: all, or those that differ most and as many of the others."""
    n = content.n_queries
    if n <= MOST_QUERIES or not content.systems:
        return np.arange(n)
    order = by_disagreement(content)
    first, others = order[: MOST_QUERIES // 2], np.sort(order[MOST_QUERIES // 2 :])
    evenly = np.linspace(0, len(others) - 1, MOST_QUERIES - len(first)).astype(np.int64)
    return np.sort(np.concatenate([first, others[evenly]]))


def ranked_lists(content: Content) -> list[RankedList | None]:
    """Return the lists of the queries on which the systems disagree most, None of the others."""
    kept = iter(_inside_the_budget(content).tolist())
    lists: list[RankedList | None] = []
    for number, part in enumerate(content.parts):
        scores = [system.scores[number] for system in content.systems]
        for rows in part.test.groups:
            found = _ranked(len(lists), number, rows, scores) if next(kept) else None
            lists.append(found)
    return lists


def _inside_the_budget(content: Content) -> NDArray[np.bool_]:
    sizes = np.concatenate([part.test.groups.sizes for part in content.parts])
    if not content.systems:
        return np.zeros(len(sizes), dtype=bool)
    named = np.repeat(
        [_name_length(part) for part in content.parts],
        [part.test.n_queries for part in content.parts],
    )
    cost = np.full(len(sizes), np.inf)
    shown = shown_queries(content)
    cost[shown] = (np.minimum(sizes, MOST_RANKS) * (len(content.systems) + named / 2))[shown]
    inside = np.zeros(len(sizes), dtype=bool)
    order = by_disagreement(content)
    order = order[np.isfinite(cost[order])]
    inside[order] = np.cumsum(cost[order]) <= BUDGET
    return inside


def by_disagreement(content: Content) -> Ints:
    """Return the queries, those first on which the systems differ most by the first metric."""
    values = np.vstack([s.per_query[content.main] for s in content.systems])
    spread = np.nan_to_num(values.max(axis=0) - values.min(axis=0))
    return np.argsort(-spread, kind="stable")


def _name_length(part: Examined) -> float:
    """Return how long the names of documents are, roughly."""
    if part.test.doc_ids is None:
        return 0.0
    return float(np.mean([min(len(str(name)), _MOST_NAME) for name in part.test.doc_ids[:1000]]))


def _ranked(query: int, part: int, rows: slice, scores: list[Any]) -> RankedList:
    # Ties in the order of the rows. What no system puts among its first is left out.
    orders = [np.argsort(-s[rows], kind="stable")[:MOST_RANKS] for s in scores]
    shown = np.unique(np.concatenate(orders))
    place = np.full(rows.stop - rows.start, -1)
    place[shown] = np.arange(len(shown))
    return RankedList(query, part, rows, shown, [place[order] for order in orders])


def list_data(content: Content, found: RankedList) -> dict[str, Any]:
    """Return a list ready for JSON: labels and names of its documents, and the orders."""
    test, rows = content.parts[found.part].test, found.rows
    labels = test.y[rows][found.shown]
    data: dict[str, Any] = {
        "y": [int(v) if v == int(v) else v for v in labels.tolist()],
        "o": [order.tolist() for order in found.orders],
    }
    ids = test.doc_ids
    if ids is not None and any(str(name) for name in ids[rows][:1]):
        data["d"] = [str(name)[:_MOST_NAME] for name in ids[rows][found.shown]]
    else:
        data["r"] = (found.shown + 1).tolist()
    return data
