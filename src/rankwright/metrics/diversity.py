"""Metrics of lists that should cover several subtopics, and not one of them again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankwright import _kernels
from rankwright.data.groups import Groups, Ints
from rankwright.data.validation import Floats
from rankwright.metrics.dcg import discounts
from rankwright.metrics.metric import Columns, Empty, RowMetric, Ties
from rankwright.metrics.on_data import column
from rankwright.metrics.order import rows_by_rank, sums_at, text_codes

# Ranks of a full list that are added up: k may be 2^31 - 1, and 1/r is then next to nothing.
_FAR = 100_000


@dataclass(frozen=True)
class _Novelty(RowMetric):
    """What fades with repetition: gains of subtopics, by rank."""

    k: int | None = None
    alpha: float = 0.5
    subtopics: str = "subtopics"
    threshold: float = 1.0
    ties: Ties = "average"
    empty: Empty = "skip"

    # Which order is the worst for one subtopic may be the best for another.
    tie_rules: ClassVar[tuple[str, ...]] = ("average", "order")

    def of_rows(self, y: Floats, scores: Floats, groups: Groups, columns: Columns) -> Floats:
        """Return the metric of each query."""
        texts = column(self, columns, self.subtopics, len(y))
        covers = _covers(texts, y >= self.threshold, groups)
        longest = int(groups.sizes.max(initial=0))
        weights = self._weights(min(self.k or longest, longest))
        gained = self._gained(covers, scores, groups, weights)
        # A subtopic that no relevant document covers cannot be found: it does not count.
        found = self._normalised(gained, covers, weights, groups)
        known = np.isin(np.arange(groups.n_queries), covers.query)
        return np.where(known, found, self.undefined)

    def _gained(self, covers: _Covers, scores: Floats, groups: Groups, weights: Floats) -> Floats:
        ranked = rows_by_rank(scores, groups, self.ties)
        block = ranked.block[covers.row]
        # One entry for each subtopic and block: how many of its documents cover the subtopic.
        n_blocks = len(ranked.begin)
        entry, covering = np.unique(covers.subtopic * n_blocks + block, return_counts=True)
        subtopic, block = np.divmod(entry, n_blocks)
        seen = np.cumsum(covering) - covering
        first = np.searchsorted(subtopic, subtopic)
        gains = _kernels.novelty_gains(
            ranked.begin[block],
            ranked.size[block],
            covering,
            seen - seen[first],
            weights,
            self.alpha,
        )
        query = covers.query[np.searchsorted(covers.subtopic, subtopic)]
        return sums_at(query, gains, groups.n_queries)

    def _weights(self, n_ranks: int) -> Floats:
        raise NotImplementedError

    def _normalised(
        self, gained: Floats, covers: _Covers, weights: Floats, groups: Groups
    ) -> Floats:
        raise NotImplementedError


@dataclass(frozen=True)
class AlphaNDCG(_Novelty):
    r"""Gain that fades with each document about the same subtopic, over that of a good order.

    .. math::
        \alpha\text{-NDCG@}k = \frac{1}{Z} \sum_{r=1}^{k} \frac{1}{\log_2(1 + r)}
        \sum_{t} [t \in T_{(r)}]\,(1 - \alpha)^{c_t(r - 1)}

    where :math:`T_{(r)}` are the subtopics of the document at rank :math:`r`, if it is relevant,
    and :math:`c_t(r)` is the number of relevant documents up to rank :math:`r` that cover
    :math:`t`. :math:`Z` is the sum for the order that always takes the document that adds most: the
    best order of all is NP-hard to find. Of documents that add the same it takes the first row with
    ``ties="order"``, else the first by the names of its subtopics.

    Parameters
    ----------
    k : int, optional
        Ranks that count; all by default.
    alpha : float, default 0.5
        How much a repeated subtopic loses; with 0 it loses nothing.
    subtopics : str, default "subtopics"
        The column with the subtopics of each document: a text such as ``"1 3 7"`` or
        ``"red shoes, boots"``; empty for none.
    threshold : float, default 1.0
        A document is relevant from this label on; others cover nothing.
    ties : {"average", "order"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query without a relevant document that has a subtopic.

    References
    ----------
    .. [1] Clarke et al., "Novelty and diversity in information retrieval evaluation", SIGIR 2008.

    Examples
    --------
    >>> topics = {"subtopics": ["a", "a", "b"]}
    >>> AlphaNDCG().per_query([1, 1, 1], [3.0, 2.0, 1.0], columns=topics).round(4)
    array([0.9652])
    >>> AlphaNDCG().per_query([1, 1, 1], [3.0, 1.0, 2.0], columns=topics)
    array([1.])
    """

    name: ClassVar[str] = "alpha_ndcg"

    def _weights(self, n_ranks: int) -> Floats:
        return discounts(n_ranks, "log2")

    def _normalised(
        self, gained: Floats, covers: _Covers, weights: Floats, groups: Groups
    ) -> Floats:
        _, first = np.unique(covers.by_row.row, return_index=True)
        query = covers.by_row.query[first]
        offsets = np.append(first, len(covers.by_row.row))
        indptr = np.append(0, np.cumsum(np.bincount(query, minlength=groups.n_queries)))
        subtopics = covers.by_row.subtopic
        by_row = self.ties == "order"
        best = _kernels.greedy_gains(offsets, subtopics, indptr, weights, self.alpha, by_row)
        return np.divide(gained, best, out=np.zeros_like(gained), where=best > 0)


@dataclass(frozen=True)
class ERRIA(_Novelty):
    r"""Intent-aware expected reciprocal rank: that of each subtopic, on average.

    .. math::
        \text{ERR-IA@}k = \frac{1}{|T|} \sum_{t \in T} \sum_{r=1}^{k} \frac{1}{r}\,
        [t \in T_{(r)}]\;\alpha\,(1 - \alpha)^{c_t(r - 1)}

    A user who cares for subtopic :math:`t` is content with each document about it with probability
    :math:`\alpha`, and goes on otherwise. :math:`T` are the subtopics that the relevant documents
    of the query cover, all equally likely; the other symbols are those of :class:`AlphaNDCG`.

    With ``denominator="full"`` the sum is divided by that of a list of :math:`k` documents which
    all cover everything, as by NIST's ndeval: 1 can be reached.

    Parameters
    ----------
    k : int, optional
        Ranks that count; all by default.
    alpha : float, default 0.5
        Probability that a document about the subtopic is enough.
    subtopics : str, default "subtopics"
        The column with the subtopics of each document; see :class:`AlphaNDCG`.
    threshold : float, default 1.0
        A document is relevant from this label on; others cover nothing.
    ties : {"average", "order"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query without a relevant document that has a subtopic.
    denominator : {"subtopics", "full"}, default "subtopics"
        Divide by the number of subtopics, or by what a full list of the same length has.

    References
    ----------
    .. [1] Chapelle et al., "Intent-based diversification of web search results: metrics and
       algorithms", Information Retrieval 2011.

    Examples
    --------
    >>> topics = {"subtopics": ["a", "a b", ""]}
    >>> ERRIA().per_query([1, 1, 1], [3.0, 2.0, 1.0], columns=topics)  # (1/2 + 1/8 + 1/4) / 2
    array([0.4375])
    """

    denominator: Literal["subtopics", "full"] = "subtopics"

    name: ClassVar[str] = "err_ia"
    denominators: ClassVar[tuple[str, ...]] = ("subtopics", "full")

    def _weights(self, n_ranks: int) -> Floats:
        return 1 / np.arange(1, n_ranks + 1, dtype=np.float64)

    def _normalised(
        self, gained: Floats, covers: _Covers, weights: Floats, groups: Groups
    ) -> Floats:
        own = np.bincount(covers.query_of_subtopic, minlength=groups.n_queries)
        mean = gained / np.maximum(own, 1)
        return mean * self.alpha if self.denominator == "subtopics" else mean / self._full(groups)

    def _full(self, groups: Groups) -> Floats:
        """Return what lists of k documents gain that are all about a subtopic."""
        length = groups.sizes if self.k is None else np.full(groups.n_queries, self.k)
        ranks = np.arange(min(int(length.max(initial=1)), _FAR), dtype=np.float64)
        up_to: Floats = np.cumsum((1 - self.alpha) ** ranks / (ranks + 1))
        return up_to[np.clip(length, 1, len(up_to)) - 1]


# ---- which document covers what ----


@dataclass(frozen=True)
class _Pairs:
    row: Ints
    subtopic: Ints  # numbered query after query, by their texts
    query: Ints


@dataclass(frozen=True)
class _Covers(_Pairs):
    """Documents and their subtopics: by subtopic, and by row."""

    by_row: _Pairs
    query_of_subtopic: Ints


def split_subtopics(text: str) -> list[str]:
    """Return the subtopics in a text: separated by commas or, without any, by spaces.

    >>> split_subtopics("1 3 7"), split_subtopics("red shoes, boots")
    (['1', '3', '7'], ['boots', 'red shoes'])
    """
    parts = text.split(",") if "," in text else text.split()
    return sorted({part.strip() for part in parts} - {""})


def _covers(texts: NDArray[Any], relevant: NDArray[np.bool_], groups: Groups) -> _Covers:
    distinct, code = text_codes(texts)
    named = [split_subtopics(text) for text in distinct.tolist()]
    number = {name: i for i, name in enumerate(sorted({n for names in named for n in names}))}
    sizes = np.array([len(names) for names in named], dtype=np.int64)
    offsets = np.append(0, np.cumsum(sizes))
    every = np.array([number[n] for names in named for n in names], dtype=np.int64)
    # Each row gets the subtopics of its text, if it is relevant.
    own = np.where(relevant, sizes[code], 0)
    row = np.repeat(np.arange(len(texts)), own)
    inside = np.arange(len(row)) - np.repeat(np.cumsum(own) - own, own)
    subtopic = every[offsets[code[row]] + inside]
    query = groups.query_of_rows()[row]
    ids, subtopic = np.unique(query * (len(number) + 1) + subtopic, return_inverse=True)
    by_row = _Pairs(row, subtopic, query)
    order = np.argsort(subtopic, kind="stable")
    return _Covers(row[order], subtopic[order], query[order], by_row, ids // (len(number) + 1))
