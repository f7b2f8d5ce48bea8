"""Data that need trees: web search with hidden pages, words counted in streams, and judges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
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
    r"""Generate web search as MSLR-WEB has it, with relevance that is not linear in the features.

    TODO formulas.
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
    for numbers, n_terms, rows in _blocks(groups, seed):
        pages = Pages.draw(numbers, n_terms)
        features = pages.features()
        X[rows] = features.T
        bent, straight = pages.bent_worth(features), straight_worth(features)
        y[rows] = scale.labels(numbers, scale.worth(bent, straight))
    ids = groups.names
    names = [
        f"q{q}-d{d + 1}" for q, size in zip(ids, groups.sizes, strict=True) for d in range(size)
    ]
    qid = np.repeat(ids, groups.sizes)
    return Dataset.from_checked(X, y, qid, list(NAMES), np.array(names))


def _lists(n_queries: int, mean_docs: int, seed: int) -> Groups:
    """Return lists of documents: log-normal lengths, and one list in fifty is short."""
    ids = np.arange(1, n_queries + 1)
    numbers = Numbers(Groups(np.zeros(n_queries + 1, dtype=np.int64), ids), seed)
    # The mean of a log-normal number is e^(sigma^2 / 2) times its median.
    lengths = mean_docs * np.exp(0.55 * normal(numbers.of_query(Draw.LIST)) - 0.55**2 / 2)
    short = numbers.of_query(Draw.SHORT)
    lengths = np.where(short < 0.02, lengths * short / 0.02, lengths)
    sizes = np.clip(lengths, 1, 1250 / 120 * mean_docs).astype(np.int64)
    return Groups(np.append(0, np.cumsum(sizes)), ids)


def _blocks(groups: Groups, seed: int) -> Iterator[tuple[Numbers, int, Ints]]:
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
    bent: tuple[float, float]  # mean and deviation
    straight: tuple[float, float]
    cuts: Floats

    def worth(self, bent: Floats, straight: Floats) -> Floats:
        """Return the share of each kind of worth, both with mean 0 and deviation 1."""
        b, s = (
            (bent - self.bent[0]) / self.bent[1],
            (straight - self.straight[0]) / self.straight[1],
        )
        return self.nonlinearity * b + (1 - self.nonlinearity) * s

    def seen(self, numbers: Numbers, worth: Floats) -> tuple[Floats, Floats]:
        """Return the worth that judges see, and the chance that they slip."""
        n_rows = numbers.groups.n_rows
        place = np.floor(_JUDGES_A_QUERY * numbers.uniform(Draw.JUDGE)).astype(np.int64)
        panel = np.array(
            [numbers.of_query(Draw.PANEL, p) * _N_JUDGES for p in range(_JUDGES_A_QUERY)]
        ).astype(np.int64)
        judge = panel[place, np.repeat(np.arange(numbers.groups.n_queries), numbers.groups.sizes)]
        pool = Numbers(Groups(np.array([0, _N_JUDGES]), np.array([0])), numbers.seed)
        bias, spread = 0.3 * pool.normal(Draw.JUDGE, 0), 0.4 + 0.6 * pool.uniform(Draw.JUDGE, 1)
        bias -= bias.mean()
        slips = 0.15 * pool.uniform(Draw.JUDGE, 2)
        assert len(judge) == n_rows
        error = bias[judge] + spread[judge] * numbers.normal(Draw.SEEN)
        return worth + self.noise * error, np.minimum(self.noise * slips[judge], 1)

    def labels(self, numbers: Numbers, worth: Floats) -> Floats:
        """Return what the judges say."""
        seen, slips = self.seen(numbers, worth)
        said = np.searchsorted(self.cuts, seen)
        careless = np.searchsorted(np.cumsum(LABEL_SHARES)[:-1], numbers.uniform(Draw.SLIP_LABEL))
        slipped = numbers.uniform(Draw.SLIP) < slips
        return np.where(slipped, careless, said).astype(np.float64)


def _calibrated(nonlinearity: float, noise: float) -> _Scale:
    n_queries, mean_docs, seed = _CALIBRATION
    bent, straight = [], []
    blocks = list(_blocks(_lists(n_queries, mean_docs, seed), seed))
    for numbers, n_terms, _ in blocks:
        pages = Pages.draw(numbers, n_terms)
        features = pages.features()
        bent.append(pages.bent_worth(features))
        straight.append(straight_worth(features))
    moments = [(float(v.mean()), float(v.std())) for v in map(np.concatenate, (bent, straight))]
    raw = _Scale(nonlinearity, noise, moments[0], moments[1], np.empty(0))
    seen = [
        raw.seen(numbers, raw.worth(b, s))[0]
        for (numbers, _, _), b, s in zip(blocks, bent, straight, strict=True)
    ]
    cuts = np.quantile(np.concatenate(seen), np.cumsum(LABEL_SHARES)[:-1])
    return _Scale(nonlinearity, noise, moments[0], moments[1], cuts)
