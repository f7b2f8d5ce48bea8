"""Data that need trees: web search with hidden pages, words counted in streams, and judges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Groups, Ints
from rankwright.data.streams import check_seed
from rankwright.data.validation import Floats
from rankwright.data.web_pages import (
    TERM_SHARES,
    Draw,
    Numbers,
    Pages,
    n_terms_of,
    normal,
    straight_worth,
)
from rankwright.data.web_text import NAMES, Values

# Shares of labels 0..4 in MSLR-WEB30K.
LABEL_SHARES = (0.51, 0.32, 0.13, 0.02, 0.02)
_UP_TO = np.cumsum(LABEL_SHARES)[:-1]
_N_JUDGES, _JUDGES_A_QUERY = 50, 3
# A block of documents is made at once, small enough for its arrays to stay in the cache.
_BLOCK = 8192
# The labels' thresholds are taken from other queries: so many that 2 % of their documents are
# hundreds, and the same for every seed and number of queries.
_CALIBRATION = (600, 30, -1)  # queries, documents, seed


def make_web_like(
    n_queries: int = 100,
    *,
    mean_docs: int = 120,
    nonlinearity: float = 1.0,
    noise: float = 1.0,
    random_state: int = 0,
) -> Dataset:
    r"""Generate web search as MSLR-WEB has it, with relevance that no linear model can follow.

    Every query has words and an intent, and every page a fit :math:`f` to the topic, an authority
    :math:`a` and a length :math:`\ell`, all standard normal; it may be a front page :math:`h` and
    spam :math:`z` (0 or 1). The 136 features show these through noise: words are drawn into body,
    anchor, title and URL and counted as MSLR-WEB counts them (25 statistics of each of five
    streams), and eleven features belong to the page. The worth of a page depends on the intent,
    which few and rare words suggest (a condition in brackets is 1 or 0, and
    :math:`\sigma(x) = 1/(1 + e^{-x})`):

    .. math::
        w_\mathrm{informational} = 2.4 + 2 \min(f, a + 0.3) + 0.4\,[\text{title has all words}]
            - 0.9 \min((\ell - 0.5)^2, 4) - 2 h - 1.5\, z - t

    .. math::
        w_\mathrm{navigational} = 4 h\, \sigma(2 f) + 0.8\,[a > 0.5]
            + 0.8 \frac{n}{1 + n} - \ell - 1.5\, z - t

    where :math:`n` counts the words in anchors, and :math:`t`, standard normal, is how hard the
    query is. Spam raises the counts of body, title and URL as much as a fit higher by one or two
    does. Let :math:`v` be a worth that is a weighted sum of eleven features, and both be scaled to
    mean 0 and deviation 1. Then a page has the utility :math:`u = \lambda w + (1 - \lambda) v`,
    where :math:`\lambda` is ``nonlinearity``.

    Each query is judged by three of 50 judges, each document by one of them. Judge :math:`j` sees
    :math:`u + \nu (b_j + s_j \epsilon)`, with ``noise`` :math:`\nu`, a bias :math:`b_j \sim N(0,
    0.3^2)`, an inaccuracy :math:`s_j` from 0.4 to 1 and :math:`\epsilon \sim N(0, 1)`, and cuts it
    into labels 0 to 4 with shares of 51, 32, 13, 2 and 2 %; with a probability of :math:`\nu r_j`,
    :math:`r_j` from 0 to 0.15, the document gets the label of another one of the query instead.

    A query depends on the seed and its number alone: more queries keep the first ones.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    mean_docs : int
        Mean number of documents of a query. Lengths are log-normal, from 1 to ten times the mean.
    nonlinearity : float in [0, 1]
        Share of the utility that is not linear in the features.
    noise : float
        How much judges err, at least 0; 0 makes them infallible.
    random_state : int
        Seed.

    Returns
    -------
    Dataset
        Dense float32, features in the order of MSLR-WEB and with names, query ids 1, 2, ...,
        documents named ``q1-d1``, ...

    Notes
    -----
    The guide shows its statistics beside those of MSLR-WEB, and by how much trees beat linear
    rankers on it.

    Examples
    --------
    >>> web = make_web_like(n_queries=10, random_state=1)
    >>> web
    Dataset(1022 documents, 10 queries, 136 features, dense float32)
    >>> web.feature_names[:2], web.feature_names[-1]
    (['body_covered_terms', 'anchor_covered_terms'], 'url_dwell_time')
    """
    for name, value in (("n_queries", n_queries), ("mean_docs", mean_docs)):
        if value < 1:
            raise ValueError(f"{name} must be a positive integer, but is {value!r}.")
    if not 0 <= nonlinearity <= 1:
        raise ValueError(f"nonlinearity must be a number from 0 to 1, but is {nonlinearity!r}.")
    if not (math.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise must be a number of at least 0, but is {noise!r}.")
    seed = check_seed(random_state)
    scale = _calibrated(nonlinearity, noise)
    groups = _lists(n_queries, mean_docs, seed)
    X = np.empty((groups.n_rows, len(NAMES)), dtype=np.float32)
    y = np.empty(groups.n_rows)
    for numbers, n_terms, rows in _web_blocks(groups, seed):
        features, worths = _made(numbers, n_terms)
        X[rows] = features.T
        y[rows] = scale.labels(numbers, scale.utility(worths))
    qid = np.repeat(groups.names, groups.sizes)
    places = groups.positions() + 1
    docs = [f"q{q}-d{d}" for q, d in zip(qid.tolist(), places.tolist(), strict=True)]
    return Dataset.from_checked(X, y, qid, list(NAMES), np.array(docs))


def _lists(n_queries: int, mean_docs: int, seed: int) -> Groups:
    """Return lists of documents: log-normal lengths, and one list in fifty is short.

    A deviation of 0.55 and at most 1,250 documents for a mean of 120, as MSLR-WEB has them.
    """
    ids = np.arange(1, n_queries + 1)
    numbers = Numbers(Groups(np.zeros(n_queries + 1, dtype=np.int64), ids), seed)
    # The mean of a log-normal number is e^(sigma^2 / 2) times its median.
    lengths = mean_docs * np.exp(0.55 * normal(numbers.of_query(Draw.LIST)) - 0.55**2 / 2)
    short = numbers.of_query(Draw.SHORT)
    lengths = np.where(short < 0.02, lengths * short / 0.02, lengths)
    sizes = np.clip(lengths, 1, 1250 / 120 * mean_docs).astype(np.int64)
    return Groups(np.append(0, np.cumsum(sizes)), ids)


def _web_blocks(groups: Groups, seed: int) -> Iterator[tuple[Numbers, int, Ints]]:
    """Yield queries with the same number of terms, that number, and their rows."""
    n_terms = n_terms_of(Numbers(groups, seed))
    for n in range(1, len(TERM_SHARES) + 1):
        queries = np.flatnonzero(n_terms == n)
        before = np.cumsum(groups.sizes[queries]) - groups.sizes[queries]
        starts = np.unique(np.searchsorted(before, np.arange(0, groups.n_rows, _BLOCK)))
        for begin, end in pairwise([*starts.tolist(), len(queries)]):
            chosen = queries[begin:end]
            if len(chosen):
                indptr = np.append(0, np.cumsum(groups.sizes[chosen]))
                part = Groups(indptr, groups.names[chosen])
                yield Numbers(part, seed), n, groups.rows_of(chosen)


@dataclass(frozen=True)
class _Scale:
    """What turns worth into labels."""

    nonlinearity: float
    noise: float
    curved: tuple[float, float]  # mean and deviation
    straight: tuple[float, float]
    cuts: Floats

    def utility(self, worths: tuple[Floats, Floats]) -> Floats:
        """Return the sum of both kinds of worth, each with mean 0 and deviation 1."""
        w, v = (
            (worth - mean) / deviation
            for worth, (mean, deviation) in zip(worths, (self.curved, self.straight), strict=True)
        )
        return self.nonlinearity * w + (1 - self.nonlinearity) * v

    def seen(self, numbers: Numbers, utility: Floats) -> tuple[Floats, Floats]:
        """Return the utility that judges see, and the chance that they slip."""
        place = (_JUDGES_A_QUERY * numbers.uniform(Draw.JUDGE)).astype(np.int64)
        drawn = [numbers.of_query(Draw.PANEL, p) for p in range(_JUDGES_A_QUERY)]
        panel = (_N_JUDGES * np.array(drawn)).astype(np.int64)
        judge = panel[place, numbers.groups.query_of_rows()]
        # The judges are the documents of a query of their own, number 0.
        judges = Numbers(Groups(np.array([0, _N_JUDGES]), np.array([0])), numbers.seed)
        bias = 0.3 * judges.normal(Draw.BIAS)
        bias -= bias.mean()  # or the shares of labels would differ from seed to seed
        inaccuracy = 0.4 + 0.6 * judges.uniform(Draw.INACCURACY)
        error = bias[judge] + inaccuracy[judge] * numbers.normal(Draw.SEEN)
        slips = self.noise * 0.15 * judges.uniform(Draw.SLIPS)
        return utility + self.noise * error, slips[judge]

    def labels(self, numbers: Numbers, utility: Floats) -> Floats:
        """Return what the judges say."""
        seen, slips = self.seen(numbers, utility)
        said = np.searchsorted(self.cuts, seen).astype(np.float64)
        groups = numbers.groups
        sizes = numbers.on_rows(groups.sizes.astype(np.float64))
        other = np.repeat(groups.indptr[:-1], groups.sizes)
        other += (sizes * numbers.uniform(Draw.SLIP_TO)).astype(np.int64)
        return np.where(numbers.uniform(Draw.SLIP) < slips, said[other], said)


def _calibrated(nonlinearity: float, noise: float) -> _Scale:
    """Return the scale by which queries of no data set have the shares of labels wanted."""
    n_queries, mean_docs, seed = _CALIBRATION
    blocks = list(_web_blocks(_lists(n_queries, mean_docs, seed), seed))
    worths = [_made(numbers, n_terms)[1] for numbers, n_terms, _ in blocks]
    curved, straight = (
        (float(worth.mean()), float(worth.std()))
        for worth in map(np.concatenate, zip(*worths, strict=True))
    )
    scale = _Scale(nonlinearity, noise, curved, straight, np.empty(0))
    seen = [
        scale.seen(numbers, scale.utility(worth))[0]
        for (numbers, _, _), worth in zip(blocks, worths, strict=True)
    ]
    return replace(scale, cuts=np.quantile(np.concatenate(seen), _UP_TO))


def _made(numbers: Numbers, n_terms: int) -> tuple[Values, tuple[Floats, Floats]]:
    """Return features, a column per document, and what the documents are worth both ways."""
    pages = Pages.draw(numbers, n_terms)
    features = pages.features()
    return features, (pages.curved_worth(features), straight_worth(features))
