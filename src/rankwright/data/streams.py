"""Random numbers as a pure function of seeds, query id and position.

No stream depends on threads, on the order of calls or on the order of queries in a file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.groups import Groups, Ints
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
    return as_uniform(_row_bits(groups, *path))


def shuffled_rows(groups: Groups, *path: int) -> Ints:
    """Return the rows of each query in random order, query after query.

    A document's place is decided by 32 bits that are a function of path, query id and position;
    the few ties keep the order of the rows.
    """
    bits = _row_bits(groups, *path) >> np.uint64(32)
    # One number for query and draw: a stable sort is fast on keys that rise from block to block.
    blocks = groups.query_of_rows().astype(np.uint64) << np.uint64(32)
    return np.argsort(blocks | bits, kind="stable")


def query_uniforms(groups: Groups, *path: int) -> Floats:
    """Return a number in [0, 1) for each query: a function of path and query id."""
    return as_uniform(stream_keys(groups, *path))


def _row_bits(groups: Groups, *path: int) -> Keys:
    position = groups.positions()
    return mix(np.repeat(stream_keys(groups, *path), groups.sizes) + position.astype(np.uint64))


def as_uniform(bits: Keys) -> Floats:
    """Turn 64 random bits into a number in [0, 1), a multiple of 2^-53."""
    numbers: Floats = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return numbers
