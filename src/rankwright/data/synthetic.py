"""Data that looks like a web search benchmark, generated on the spot."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Ints

Values: TypeAlias = NDArray[np.float32]

# Shares of labels 0..4 in MSLR-WEB: about half of the documents are irrelevant.
_LABEL_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)


def make_mslr_like(
    n_queries: int = 100,
    n_features: int = 136,
    mean_docs: int = 120,
    random_state: int = 0,
) -> Dataset:
    """Generate graded query-document features in the manner of MSLR-WEB.

    A hidden utility, linear in some features plus one interaction plus noise, is cut into labels
    0..4. Features come in the kinds that such files have: counts with many zeros, real scores with
    six decimals, log-probabilities below zero, and properties of the query that are the same for
    all its documents. List lengths vary from one to about ten times the mean.

    The utility is nearly linear in the features: linear rankers do as well on it as trees, which
    says nothing of data from the web. See :func:`make_web_like` for data that need trees.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    n_features : int
        Number of features.
    mean_docs : int
        Mean number of documents of a query.
    random_state : int
        Seed.

    Returns
    -------
    Dataset
        Dense float32, query ids 1, 2, ..., documents named ``q1-d1``, ...

    Examples
    --------
    >>> make_mslr_like(n_queries=10, random_state=1)
    Dataset(1214 documents, 10 queries, 136 features, dense float32)
    """
    for name, value in (
        ("n_queries", n_queries),
        ("n_features", n_features),
        ("mean_docs", mean_docs),
    ):
        if value < 1:
            raise ValueError(f"{name} must be a positive integer, but is {value!r}.")
    rng = np.random.default_rng(random_state)
    lengths = rng.lognormal(np.log(mean_docs) - 0.18, 0.6, n_queries)
    sizes = np.clip(lengths, 1, 10 * mean_docs).astype(np.int64)
    n_docs = int(sizes.sum())
    query = np.repeat(np.arange(n_queries), sizes)

    quality = rng.normal(size=n_docs).astype(np.float32)  # what the features see of the utility
    difficulty = rng.normal(0, 0.5, n_queries)
    X = np.empty((n_docs, n_features), dtype=np.float32)
    for j in range(n_features):
        X[:, j] = _feature(j, quality, query, rng)
    interaction = X[:, 1 % n_features] * quality / 10
    utility = quality + interaction + difficulty[query] + rng.normal(0, 0.7, n_docs)
    cuts = np.quantile(utility, np.cumsum(_LABEL_SHARES)[:-1])
    y = np.searchsorted(cuts, utility).astype(np.float64)

    names = [f"q{q + 1}-d{d + 1}" for q, size in enumerate(sizes.tolist()) for d in range(size)]
    return Dataset.from_checked(X, y, query + 1, None, np.array(names))


def _feature(j: int, quality: Values, query: Ints, rng: np.random.Generator) -> Values:
    noise = rng.standard_normal(len(quality), dtype=np.float32)
    seen: Values = np.float32(rng.uniform(0, 0.8)) * quality + noise
    match j % 8:
        case 0 | 1 | 2:  # a count with many zeros
            values: Values = np.floor(np.maximum(seen, 0) * 3)
        case 3:  # a large count
            values = np.floor(np.exp(4 + seen))
        case 4 | 5:  # a score with six decimals
            values = np.round(np.maximum(seen + 1, 0) * 7, 6)
        case 6:  # a log-probability
            values = np.round(-12 + 4 * seen, 6)
        case _:  # a property of the query
            of_query = np.round(rng.gamma(2.0, 3.0, int(query[-1]) + 1), 6)
            values = of_query.astype(np.float32)[query]
    return values
