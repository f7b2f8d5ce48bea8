"""Data in parts as a stream of a few queries at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.parts import LocalParts


def pieces_of_parts(
    parts: LocalParts,
    n_queries: int,
    *,
    on_count: Callable[[int], None] | None = None,
    on_digest: Callable[[str], None] | None = None,
) -> Iterator[Dataset]:
    """Yield ``n_queries`` queries at a time, in the order of the parts.

    A piece never has queries of two parts, so the last of each may have fewer. ``on_count`` and
    ``on_digest`` are called as by :func:`rankwright.stream`.
    """
    if on_count is not None:
        on_count(parts.facts.n_docs)
    if on_digest is not None:
        texts = "".join(part.fingerprint for part in parts.facts.parts)
        on_digest(hashlib.blake2b(texts.encode(), digest_size=16).hexdigest())
    for spooled in parts.spooled:
        part = spooled.open()
        for first in range(0, part.n_queries, n_queries):
            yield part.select(np.arange(first, min(first + n_queries, part.n_queries)))
