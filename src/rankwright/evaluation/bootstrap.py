"""Bootstrap intervals over queries."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.validation import Floats


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
    (interval,) = bootstrap_intervals(
        [values], level=level, n_resamples=n_resamples, random_state=random_state
    )
    return interval


def bootstrap_intervals(
    columns: Sequence[ArrayLike],
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    random_state: int = 0,
) -> list[tuple[float, float]]:
    """Return the interval of each column; see :func:`bootstrap_interval`.

    Columns with as many values share their draws: many cost little more than one.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, but is {level!r}.")
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be a positive integer, but is {n_resamples!r}.")
    given = [np.asarray(values, dtype=np.float64) for values in columns]
    kept = [np.sort(values[~np.isnan(values)]) for values in given]
    intervals = [(math.nan, math.nan)] * len(kept)
    for size in {len(values) for values in kept} - {0}:
        chosen = [i for i, values in enumerate(kept) if len(values) == size]
        means = _resampled_means([kept[i] for i in chosen], n_resamples, random_state)
        for i, row in zip(chosen, means, strict=True):
            low, high = np.quantile(row, [(1 - level) / 2, (1 + level) / 2])
            intervals[i] = float(low), float(high)
    return intervals


def _resampled_means(columns: list[Floats], n_resamples: int, random_state: int) -> Floats:
    rng = np.random.default_rng(random_state)
    values = np.column_stack(columns)
    size = len(values)
    means = np.empty((n_resamples, len(columns)))
    # Resamples in blocks, so that memory stays small for many queries.
    block = max(1, (1 << 20) // size)
    for begin in range(0, n_resamples, block):
        n = min(block, n_resamples - begin)
        draws = rng.integers(0, size, size=(n, size), dtype=np.int32)
        # How often each value was drawn serves all columns.
        places = draws + np.arange(0, n * size, size)[:, None]
        counts = np.bincount(places.ravel(), minlength=n * size).reshape(n, size)
        means[begin : begin + n] = counts.astype(np.float64) @ values / size
    return np.asarray(means.T)
