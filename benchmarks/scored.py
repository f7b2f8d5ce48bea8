"""Labelled and scored documents for the metric benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
_LABEL_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)


@dataclass(frozen=True)
class Scored:
    """Documents query by query; every query has a relevant one, so that no tool has to skip any."""

    y: Array
    scores: Array
    indptr: Array

    @property
    def sizes(self) -> Array:
        """Documents of each query."""
        return np.diff(self.indptr)

    @property
    def gains(self) -> Array:
        """The gain of each label, 2^y - 1."""
        return np.exp2(self.y) - 1


@dataclass(frozen=True)
class Shape:
    """Which documents to make."""

    n_queries: int
    ties: bool

    def sizes(self) -> Array:
        """Documents of each query: 120 on average, from 10 to 1200."""
        draws = np.random.default_rng(0).lognormal(np.log(120) - 0.18, 0.6, self.n_queries)
        return np.clip(draws, 10, 1200).astype(np.int64)

    def n_docs(self) -> int:
        """Return the number of documents."""
        return int(self.sizes().sum())

    def make(self) -> Scored:
        """Draw labels and scores that know nothing of each other."""
        rng = np.random.default_rng(1)
        indptr = np.append(0, np.cumsum(self.sizes()))
        n_docs = int(indptr[-1])
        y = rng.choice(5, n_docs, p=_LABEL_SHARES).astype(np.float64)
        y[indptr[:-1]] = np.maximum(y[indptr[:-1]], 1)
        # As float32, so that tools which keep scores in single precision see the same order.
        scores = rng.normal(size=n_docs).astype(np.float32).astype(np.float64)
        if self.ties:
            scores = np.round(scores, 1)
        return Scored(y, scores, indptr)
