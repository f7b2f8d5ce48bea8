"""Simulated clicks on the lists of a data set.

What happens to a query depends on the seed, its id and the number of the impression only: it is the
same for every model, thread count and order of queries in the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.click_models import Bools, Cascade, ClickModel
from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.data.groups import Groups, Ints
from rankwright.data.kept import take_rows
from rankwright.data.streams import check_seed, shuffled_rows, uniforms
from rankwright.data.validation import Floats, check_count, check_scores
from rankwright.data.writing import write_text
from rankwright.showing import Brief

# Names of the streams of one seed.
_SHUFFLE, _CLICK = 10, 11


@dataclass(frozen=True, eq=False, repr=False)
class ClickLog(Brief):
    """What was shown and what was clicked.

    Attributes
    ----------
    dataset : Dataset
        The documents.
    rows : ndarray of shape (n_shown,)
        Row of each shown document in ``dataset``: one impression after the other, best rank first.
    clicked : ndarray of bool of shape (n_shown,)
        Whether it was clicked.
    propensity : ndarray of shape (n_shown,)
        Probability that it was examined, given the clicks above it in the same impression.
    lists : Groups
        The impressions; all of a query's are adjacent.
    query : ndarray of shape (n_impressions,)
        Position of each impression's query in ``dataset``.
    """

    dataset: Dataset
    rows: Ints
    clicked: Bools
    propensity: Floats
    lists: Groups
    query: Ints

    @property
    def n_impressions(self) -> int:
        """Number of lists shown."""
        return self.lists.n_queries

    @property
    def rank(self) -> Ints:
        """Rank of each shown document, from 1."""
        ranks: Ints = self.lists.positions() + 1
        return ranks

    def impressions(self) -> Dataset:
        """Return a data set with one query for each impression: label 1 for clicks, else 0.

        An impression without a click stays in, with labels 0.
        """
        docs = self.dataset.doc_ids
        return Dataset.from_checked(
            self.dataset.X[self.rows],
            self.clicked.astype(np.float64),
            np.repeat(self.lists.names, self.lists.sizes),
            self.dataset.features,
            None if docs is None else docs[self.rows],
            kept=take_rows(self.dataset.kept, self.rows),
        )

    def inverse_propensities(self, max_weight: float = np.inf) -> Floats:
        """Return the weight of each shown document: of clicks 1 / propensity, of others 1.

        They are the ``sample_weight`` of :meth:`impressions`.
        """
        weights = np.ones(len(self.rows))
        weights[self.clicked] = np.minimum(1 / self.propensity[self.clicked], max_weight)
        return weights

    def click_rates(self, *, weighted: bool = True, max_weight: float = np.inf) -> Floats:
        r"""Return the clicks on each document of the data set over its query's impressions.

        With ``weighted``, a click counts :math:`1 / \text{propensity}` (at most ``max_weight``).
        Then, if every document is shown and could be examined, the mean over many logs is the
        attraction of the document's label, wherever it stood; without, it also depends on where.
        """
        weight = self.clicked.astype(np.float64)
        if weighted:
            weight *= self.inverse_propensities(max_weight)
        clicks = np.bincount(self.rows, weight, minlength=self.dataset.n_docs)
        shown = np.bincount(self.query, minlength=self.dataset.n_queries)
        rates: Floats = clicks / np.repeat(shown, self.dataset.groups.sizes)
        return rates

    def write(self, path: PathLike) -> None:
        """Write one shown document a line: qid, impression, rank, row, clicked, propensity.

        Tab-separated. ``impression`` counts from 0 within the query; ``row`` is the document's
        row in the input of the data set, from 0.
        """
        ids = self.dataset.groups.names
        first = np.searchsorted(self.query, self.query)
        number = np.arange(self.n_impressions) - first
        of_row = np.repeat(np.arange(self.n_impressions), self.lists.sizes)
        columns = [
            ids[self.query[of_row]].tolist(),
            number[of_row].tolist(),
            self.rank.tolist(),
            self.dataset.order[self.rows].tolist(),
            self.clicked.astype(int).tolist(),
            [f"{p:.12g}" for p in self.propensity.tolist()],
        ]
        lines = ["qid\timpression\trank\trow\tclicked\tpropensity\n"]
        lines += ["\t".join(map(str, row)) + "\n" for row in zip(*columns, strict=True)]
        write_text(path, "".join(lines))


def simulate_clicks(
    dataset: Dataset,
    model: ClickModel | None = None,
    *,
    scores: ArrayLike | None = None,
    impressions: int = 10,
    cut: bool | None = None,
    top: int | None = None,
    random_state: int = 0,
) -> ClickLog:
    """Show each query's documents several times and draw the clicks.

    Parameters
    ----------
    dataset : Dataset
        Documents whose labels decide how attractive they are.
    model : ClickModel, optional
        How users click; by default :class:`Cascade` with the XE-NDCG paper's probabilities.
    scores : array-like of shape (n_docs,), optional
        Documents are shown in the order of these, largest first, rows in order where they are
        equal. None shuffles them, afresh in each impression.
    impressions : int, default 10
        Lists shown for each query.
    cut : bool, optional
        End each list at its last click; what is behind is not in the log. A list without a click
        stays whole. By default True for :class:`Cascade`, as in section 5.5 of the XE-NDCG paper,
        and False for the others.
    top : int, optional
        Show so many documents only.
    random_state : int, default 0
        Seed.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> log = simulate_clicks(make_mslr_like(n_queries=20, mean_docs=20))
    >>> log.n_impressions, int(log.clicked.sum())
    (200, 179)
    >>> log.impressions()
    Dataset(978 documents, 200 queries, 136 features, dense float32)
    """
    seed = check_seed(random_state)
    model = Cascade() if model is None else model
    for name, value in (("impressions", impressions), ("top", 1 if top is None else top)):
        check_count(name, value)
    cut = isinstance(model, Cascade) if cut is None else cut
    groups, query = dataset.groups, dataset.groups.query_of_rows()
    attraction = model.attraction(dataset.y)
    ranked = None
    if scores is not None:
        ranked = np.lexsort((-check_scores(scores, dataset.n_docs), query))
    place = groups.positions()
    inside = None if top is None else place < top
    shown = groups if top is None else _with_sizes(np.minimum(groups.sizes, top))

    parts = []
    for number in range(impressions):
        order = shuffled_rows(groups, seed, _SHUFFLE, number) if ranked is None else ranked
        rows = order if inside is None else order[inside]
        uniform = uniforms(groups, seed, _CLICK, number)
        clicked, propensity = model.draw(attraction[rows], uniform[rows], shown)
        sizes = shown.sizes
        if cut:
            kept = _up_to_last_click(clicked, shown)
            rows, clicked, propensity = rows[kept], clicked[kept], propensity[kept]
            sizes = np.bincount(query[rows], minlength=groups.n_queries)
        parts.append((rows, clicked, propensity, sizes))
    return _join_impressions(dataset, parts)


def _up_to_last_click(clicked: Bools, lists: Groups) -> Bools:
    """Say which documents stand at or above the last click of their list, if it has one."""
    total: Ints = np.cumsum(clicked)
    before: Ints = total - clicked
    padded = np.append(before, total[-1:])
    first, last = padded[lists.indptr[:-1]], padded[lists.indptr[1:]]
    in_list: Ints = np.repeat(last - first, lists.sizes)
    done: Ints = before - np.repeat(first, lists.sizes)
    kept: Bools = (in_list == 0) | (done < in_list)
    return kept


def _join_impressions(dataset: Dataset, parts: list[tuple[Ints, Bools, Floats, Ints]]) -> ClickLog:
    """Put the impressions of a query next to each other."""
    n_queries, n = dataset.n_queries, len(parts)
    rows, clicked, propensity = (np.concatenate([part[i] for part in parts]) for i in range(3))
    sizes = np.concatenate([part[3] for part in parts])
    stacked = _with_sizes(sizes)  # impression after impression, each with all queries
    order = np.arange(n * n_queries).reshape(n, n_queries).T.ravel()  # queries first
    taken = stacked.rows_of(order)
    lists = Groups(_with_sizes(sizes[order]).indptr, _impression_ids(dataset.groups, n))
    query = np.repeat(np.arange(n_queries), n)
    return ClickLog(dataset, rows[taken], clicked[taken], propensity[taken], lists, query)


def _with_sizes(sizes: Ints) -> Groups:
    return Groups(np.append(0, np.cumsum(sizes)))


def _impression_ids(groups: Groups, n: int) -> NDArray[Any]:
    """Name the impressions: n * qid, n * qid + 1, ... for integers, else qid.0, qid.1, ..."""
    ids = groups.names
    if ids.dtype.kind in "iu" and max(-int(ids.min()), int(ids.max())) < 2**62 // n:
        numbers: Ints = (ids[:, None] * n + np.arange(n)).ravel()
        return numbers
    return np.array([f"{name}.{number}" for name in ids.tolist() for number in range(n)])
