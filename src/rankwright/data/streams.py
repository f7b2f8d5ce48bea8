"""Random numbers as a pure function of seeds, query id and position.

No stream depends on threads, on the order of calls or on the order of queries in a file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.groups import Groups
from rankwright.data.hashing import Keys, combine, mix
from rankwright.data.validation import Floats


def check_seed(random_state: Any) -> int:
    """Return a seed as an int."""
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise TypeError(f"random_state must be an integer, but is {random_state!r}.")
    return int(random_state)


def stream_keys(groups: Groups, *path: int) -> Keys:
    """Return a key of each query for one stream, named by seed, purpose, draw, ..."""
    keys = groups.keys
    for part in reversed(path):
        keys = combine(part, keys)
    return keys


def uniforms(groups: Groups, *path: int) -> Floats:
    """Return a number in [0, 1) for each row: a function of path, query id and position."""
    position = np.arange(groups.n_rows) - np.repeat(groups.indptr[:-1], groups.sizes)
    return as_uniform(
        mix(np.repeat(stream_keys(groups, *path), groups.sizes) + position.astype(np.uint64))
    )


def query_uniforms(groups: Groups, *path: int) -> Floats:
    """Return a number in [0, 1) for each query: a function of path and query id."""
    return as_uniform(stream_keys(groups, *path))


def as_uniform(bits: Keys) -> Floats:
    """Turn 64 random bits into a number in [0, 1), a multiple of 2^-53."""
    numbers: Floats = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return numbers
