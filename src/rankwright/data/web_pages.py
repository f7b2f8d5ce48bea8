"""Hidden pages of a web: what they show of themselves, and what they are worth to a query.

The coefficients here mean nothing by themselves: they were set so that features have about the
quantiles, zeros and spread within queries that MSLR-WEB's have, column by column.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, auto

import numpy as np

from rankwright.data.groups import Groups, Ints
from rankwright.data.streams import query_uniforms, uniforms
from rankwright.data.validation import Floats
from rankwright.data.web_text import NAMES, STREAMS, Values, text_statistics

# Shares of queries of 1, 2, ... terms, as MSLR-WEB's counts of covered terms suggest.
TERM_SHARES = (0.17, 0.31, 0.26, 0.15, 0.06, 0.03, 0.015, 0.005)


class Draw(IntEnum):
    """Names of the streams of random numbers."""

    LIST = auto()
    SHORT = auto()
    TERMS = auto()
    IDF = auto()
    INTENT = auto()
    HARDNESS = auto()
    TALK = auto()
    FIT = auto()
    AUTHORITY = auto()
    SITE = auto()
    SPAM = auto()
    HOME = auto()
    LENGTH = auto()
    COUNT = auto()
    WORDS = auto()
    ANCHORED = auto()
    PAGE = auto()
    JUDGE = auto()
    PANEL = auto()
    BIAS = auto()
    INACCURACY = auto()
    SLIPS = auto()
    SEEN = auto()
    SLIP = auto()
    SLIP_TO = auto()


@dataclass(frozen=True)
class Numbers:
    """Random numbers of some queries: functions of the seed, a query's id and a row's place."""

    groups: Groups
    seed: int

    def uniform(self, *path: int) -> Floats:
        """Return a number between 0 and 1 for each document, 0 and 1 themselves left out."""
        return np.maximum(uniforms(self.groups, self.seed, *path), 2.0**-54)

    def of_query(self, *path: int) -> Floats:
        """Return one for each query."""
        return np.maximum(query_uniforms(self.groups, self.seed, *path), 2.0**-54)

    def normal(self, *path: int) -> Floats:
        """Return a standard normal number for each document."""
        return normal(self.uniform(*path))

    def on_rows(self, values: Floats) -> Floats:
        """Return values of queries for each of their documents."""
        return np.repeat(values, self.groups.sizes)


def normal(uniform: Floats) -> Floats:
    """Turn uniform into standard normal numbers."""
    from scipy.special import ndtri

    found: Floats = ndtri(uniform)
    return found


def logistic(x: Floats) -> Floats:
    """Return the logistic function."""
    found: Floats = 1 / (1 + np.exp(-x))
    return found


def n_terms_of(numbers: Numbers) -> Ints:
    """Return the number of terms of each query."""
    longer = np.searchsorted(np.cumsum(TERM_SHARES)[:-1], numbers.of_query(Draw.TERMS))
    return 1 + longer.astype(np.int64)


@dataclass(frozen=True)
class Pages:
    """Documents of queries that have the same number of terms, as nobody sees them.

    Attributes
    ----------
    navigational : ndarray, 0 or 1
        Whether the query asks for one site: likelier for few and rare terms.
    fit, authority, length : ndarray
        How well the page fits the topic, its standing, and its logarithmic length, all standard
        normal.
    spam, home : ndarray, 0 or 1
        Whether it repeats words to deceive, and whether it is the front page of a site.
    idf : ndarray of shape (n_terms, n_docs)
        Of the query's terms, in the body.
    talk : ndarray
        How much is written about the query's topic: it raises all counts of all its pages.
    hardness : ndarray
        How much less all pages are worth to this query.
    """

    numbers: Numbers
    navigational: Floats
    fit: Floats
    authority: Floats
    length: Floats
    spam: Floats
    home: Floats
    idf: Floats
    talk: Floats
    hardness: Floats

    @classmethod
    def draw(cls, numbers: Numbers, n_terms: int) -> Pages:
        """Draw the pages of some queries."""
        of_terms = np.array([1 + 5.6 * numbers.of_query(Draw.IDF, t) for t in range(n_terms)])
        rarity = of_terms.mean(axis=0) - 3.8
        chance = logistic(2.5 * (rarity - 0.7 * (n_terms - 2)))
        navigational = (numbers.of_query(Draw.INTENT) < chance).astype(np.float64)
        hardness = normal(numbers.of_query(Draw.HARDNESS))
        authority = numbers.normal(Draw.AUTHORITY)
        return cls(
            numbers,
            numbers.on_rows(navigational),
            numbers.normal(Draw.FIT),
            authority,
            numbers.normal(Draw.LENGTH),
            (numbers.uniform(Draw.SPAM) < 0.15).astype(np.float64),
            (numbers.uniform(Draw.HOME) < logistic(1.2 * authority - 2)).astype(np.float64),
            np.repeat(of_terms, numbers.groups.sizes, axis=1),
            numbers.on_rows(0.6 * normal(numbers.of_query(Draw.TALK))),
            numbers.on_rows(hardness),
        )

    def counts(self) -> tuple[Values, Values]:
        """Return how often each term is in each stream, and the streams' lengths.

        Counts are geometric (Poisson with an exponential rate: words come in bursts). Their means
        rise with fit, and in spam without it; those of the body also with length, those of URLs
        and anchors on front pages. Titles and URLs are short: of a count c, log2(1 + c) is left.
        """
        draw, rare = self.numbers, 0.15 * (self.idf - 3.8) - self.talk
        n_terms, n_docs = self.idf.shape
        anchored = draw.uniform(Draw.ANCHORED) < logistic(1.2 * self.authority - 1.3)
        fit, spam, front = self.fit, self.spam, self.home * self.fit
        means = (
            np.exp(1.4 + 0.6 * self.length + 0.8 * fit + 1.5 * spam - rare),
            np.exp(-0.4 + 0.9 * fit + 0.5 * front - rare) * anchored,
            np.exp(-0.2 + 1.1 * fit + 1.5 * spam - rare),
            np.exp(-1.3 + 0.8 * fit + 0.8 * front + 1.0 * spam - rare),
        )
        tf = np.empty((len(STREAMS), n_terms, n_docs), dtype=np.float32)
        for s, mean in enumerate(means):
            for t in range(n_terms):
                # P(count >= n) = (mean / (1 + mean))^n; the logarithm of 0 is that of nearly 0.
                odds = np.maximum(mean[t] / (1 + mean[t]), 1e-300)
                count = np.floor(np.log(draw.uniform(Draw.COUNT, s, t)) / np.log(odds))
                tf[s, t] = count if s < 2 else np.floor(np.log2(1 + count))
        tf[4] = tf[:4].sum(axis=0)
        other = (
            np.exp(6.0 + self.length),
            np.exp(0.3 + 1.2 * draw.normal(Draw.WORDS, 1)) * anchored,
            np.exp(1.6 + 0.6 * draw.normal(Draw.WORDS, 2)),
            2 + np.exp(1.5 - 0.7 * self.home + 0.5 * draw.normal(Draw.WORDS, 3)),
        )
        length = np.empty((len(STREAMS), n_docs), dtype=np.float32)
        length[:4] = np.floor(np.array(other)) + tf[:4].sum(axis=1)
        length[4] = length[:4].sum(axis=0)
        return tf, length

    def stream_idf(self) -> Values:
        """Return the terms' idf in each stream: terms are rarer in short ones."""
        rarer = [0.0, 4.0, 3.4, 4.1, 0.0]
        found: Values = (self.idf + np.array(rarer)[:, None, None]).astype(np.float32)
        return found

    def page_features(self, url_words: Values) -> Values:
        """Return the eleven features that know nothing of words."""
        n = self.numbers
        noise = [n.normal(Draw.PAGE, j) for j in range(11)]
        a, site = self.authority, 0.7 * self.authority + 0.7 * n.normal(Draw.SITE)
        worth = self.fit + 0.5 * a - 2 * self.spam
        clicked = a + noise[9] > 1.1
        found = [
            1 + np.floor(np.exp(1.0 - 1.2 * self.home + 0.4 * noise[0])),
            np.floor(5 * url_words * np.exp(0.2 * noise[1])) + 5,
            np.floor(np.exp(1.6 * a + 2.2 * noise[2] + 1.2)),
            np.floor(np.exp(1.5 * noise[3] + 0.3 * self.length)),
            np.floor(65535 * logistic(1.7 * (1.3 * a + 0.6 * noise[4] - 1.2))),
            np.floor(65535 * logistic(1.7 * (site + 0.3 * noise[5]) + 0.4)),
            1 + np.floor(250 * logistic(1.2 * noise[6] + 1.5 * self.spam - 3.7)),
            1 + np.floor(250 * logistic(1.5 * noise[7] + 0.8 * self.spam - 0.3 * a - 3.4)),
            np.floor(np.exp(worth + noise[8] - 1)) * (worth + noise[8] > 3.2),
            np.floor(np.exp(2 + a + 1.2 * noise[9])) * clicked,
            np.exp(2 + 0.3 * worth + noise[10]) * clicked,
        ]
        return np.array(found, dtype=np.float32)

    def features(self) -> Values:
        """Return all features, of shape (136, n_docs)."""
        tf, length = self.counts()
        text = text_statistics(tf, length, self.stream_idf())
        return np.concatenate([text, self.page_features(length[3])])

    def curved_worth(self, X: Values) -> Floats:
        """Return what the page is worth where nothing is linear.

        The two formulas are those of `make_web_like`: who wants to know reads what fits and has
        authority; who wants to get somewhere wants its front page.
        """
        title, anchor = (X[_PLACE[name]] for name in ("title_boolean", "anchor_sum_tf"))
        off = np.minimum((self.length - 0.5) ** 2, 4)
        read = 2.4 + 2.0 * np.minimum(self.fit, self.authority + 0.3) + 0.4 * title - 0.9 * off
        read -= 2.0 * self.home
        reached = 4.0 * self.home * logistic(2 * self.fit) + 0.8 * (self.authority > 0.5)
        reached += 0.8 * anchor / (1 + anchor) - self.length
        worth: Floats = np.where(self.navigational > 0, reached, read) - 1.5 * self.spam
        return worth - self.hardness


_PLACE = {name: j for j, name in enumerate(NAMES)}
# A worth that is linear in what everyone sees: weights of features.
STRAIGHT = {
    "body_covered_share": 1.0,
    "title_covered_share": 1.0,
    "url_covered_share": 0.7,
    "whole_cosine": 0.8,
    "body_bm25": 0.04,
    "title_bm25": 0.03,
    "anchor_bm25": 0.02,
    "url_slashes": -0.1,
    "pagerank": 1.5 / 65535,
    "siterank": 0.7 / 65535,
    "quality": -0.01,
}


def straight_worth(X: Values) -> Floats:
    """Return what the page is worth where all is linear."""
    worth = np.zeros(X.shape[1])
    for name, weight in STRAIGHT.items():
        worth += weight * X[_PLACE[name]].astype(np.float64)
    return worth
