"""Bootstrap intervals over queries."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def bootstrap_interval(
    values: ArrayLike, *, level: float = 0.95, n_resamples: int = 2000, random_state: int = 0
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean; NaN are left out.

    The interval does not depend on the order of the values.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        One value a query.
    level : float, default 0.95
        Share of resampled means inside.
    n_resamples : int, default 2000
        Resamples.
    random_state : int, default 0
        Seed.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, but is {level!r}.")
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be a positive integer, but is {n_resamples!r}.")
    given = np.asarray(values, dtype=np.float64)
    kept = np.sort(given[~np.isnan(given)])
    if len(kept) == 0:
        return math.nan, math.nan
    rng = np.random.default_rng(random_state)
    means = np.empty(n_resamples)
    # Resamples in blocks, so that memory stays small for many queries.
    block = max(1, (1 << 20) // len(kept))
    for begin in range(0, n_resamples, block):
        n = min(block, n_resamples - begin)
        draws = rng.integers(0, len(kept), size=(n, len(kept)), dtype=np.int32)
        means[begin : begin + n] = kept[draws].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
