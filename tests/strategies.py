"""Hypothesis strategies for ragged ranking data."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

LabelKind: TypeAlias = Literal["grades", "floats", "large"]
Documents: TypeAlias = list[tuple[float, float]]

MAX_SCORE = 1e6

_LABELS: dict[str, st.SearchStrategy[float]] = {
    "grades": st.integers(0, 4).map(float),
    "floats": st.integers(0, 16).map(lambda quarters: quarters / 4),
    "large": st.integers(0, 40).map(float),
}
_GRID = st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.5])
_FLOATS = st.floats(-MAX_SCORE, MAX_SCORE, allow_nan=False)


@dataclass(frozen=True, eq=False)
class RankingData:
    """Documents of some queries, the rows of a query next to each other.

    Attributes
    ----------
    y : array of float64, shape (n_documents,)
        Labels.
    scores : array of float64, shape (n_documents,)
        Scores.
    indptr : array of int64, shape (n_queries + 1,)
        Query ``q`` is rows ``indptr[q]`` to ``indptr[q + 1]``, the latter exclusive.
    qid : array of int64, shape (n_documents,)
        The query of every row, from 0.
    """

    y: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]
    indptr: npt.NDArray[np.int64]
    qid: npt.NDArray[np.int64]


def _documents(
    label: st.SearchStrategy[float], max_docs: int, *, ties: bool
) -> st.SearchStrategy[Documents]:
    """Return (label, score) pairs of one query, with tied scores or without."""
    if not ties:
        pairs = st.tuples(label, _GRID | _FLOATS)
        return st.lists(pairs, min_size=1, max_size=max_docs, unique_by=lambda pair: pair[1])
    coarse = st.lists(st.tuples(label, _GRID), min_size=1, max_size=max_docs)
    mixed = st.lists(st.tuples(label, _GRID | _FLOATS), min_size=1, max_size=max_docs)
    return coarse | mixed


@st.composite
def _query(draw: st.DrawFn, labels: LabelKind, max_docs: int, *, ties: bool) -> Documents:
    """Draw one query; some have equal labels throughout, some have no gain at all."""
    documents = draw(_documents(_LABELS[labels], max_docs, ties=ties))
    kind = draw(st.sampled_from(["free", "free", "free", "equal", "zero"]))
    if kind == "equal":
        return [(documents[0][0], score) for _, score in documents]
    if kind == "zero":
        return [(0.0, score) for _, score in documents]
    return documents


def _flatten(queries: list[Documents]) -> RankingData:
    sizes = [len(query) for query in queries]
    rows = list(itertools.chain.from_iterable(queries))
    return RankingData(
        y=np.array([label for label, _ in rows], dtype=np.float64),
        scores=np.array([score for _, score in rows], dtype=np.float64),
        indptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        qid=np.repeat(np.arange(len(sizes), dtype=np.int64), sizes),
    )


def ranking_data(
    max_queries: int = 5,
    max_docs: int = 6,
    labels: LabelKind = "grades",
    *,
    ties: bool = True,
) -> st.SearchStrategy[RankingData]:
    """Ragged ranking data: at least one query, every query with at least one document.

    Parameters
    ----------
    max_queries, max_docs : int
        The most queries, and the most documents of a query. With up to 8 documents all orders of
        tied documents can be enumerated.
    labels : {"grades", "floats", "large"}
        Whole grades 0 to 4, quarter steps from 0 to 4, or whole grades 0 to 40.
    ties : bool
        Whether scores of a query may be equal. If so, some queries take all their scores from a
        coarse grid and are full of ties; the others mix the grid with floats within +-1e6.

    Returns
    -------
    strategy
        Of `RankingData`.
    """
    query = _query(labels, max_docs, ties=ties)
    return st.lists(query, min_size=1, max_size=max_queries).map(_flatten)
