"""Tags for articles: rank all of them, show the first three.

Articles are bags of words with a handful out of fifty tags. A label ranker learns to put the right
tags first; it updates only when it ranks wrongly, and a bound says how often that can happen.
"""

# ruff: noqa: T201 (printing is the point)

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.predtron import PredtronLabelRanker

N_ARTICLES, N_WORDS, N_TAGS = 3000, 1000, 50


def make_articles(seed: int) -> tuple[Any, Any]:
    """Return word counts and tags; each tag has words of its own."""
    rng = np.random.default_rng(seed)
    words = np.random.default_rng(0).dirichlet(np.full(N_WORDS, 0.05), N_TAGS)
    y = rng.random((N_ARTICLES, N_TAGS)) < 0.04
    y[np.arange(N_ARTICLES), rng.integers(0, N_TAGS, N_ARTICLES)] = True
    share = y @ words / y.sum(axis=1, keepdims=True)
    share = 0.7 * share + 0.3 / N_WORDS
    counts = rng.poisson(60 * share)
    return sp.csr_array(counts.astype(np.float64)).log1p(), y.astype(np.int64)


def main() -> None:
    """Learn from a stream of articles, then tag new ones."""
    X, y = make_articles(1)
    X_test, y_test = make_articles(2)
    print(f"{'representation':18}{'first is right':>16}{'right of 3':>12}{'NDCG@10':>10}")
    for representation in ("-i", "1/i", "dcg"):
        model = PredtronLabelRanker(representation=representation).fit(X, y)
        ranks = model.rank(X_test)
        first = y_test[ranks == 1].mean()
        of_three = np.sum(y_test * (ranks <= 3)) / np.minimum(y_test.sum(axis=1), 3).sum()
        score = model.score(X_test, y_test)
        print(f"{representation:18}{first:16.1%}{of_three:12.1%}{score:10.4f}")


if __name__ == "__main__":
    main()
