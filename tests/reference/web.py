"""The text statistics of one document in one stream, term by term, from their definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, pvariance


def statistics(
    tf: Sequence[float], length: float, idf: Sequence[float], mean_length: float
) -> list[float]:
    """Return the 25 statistics in the order of MSLR-WEB."""
    m = len(tf)
    n = sum(count > 0 for count in tf)
    words = max(length, 1)
    found = [n, n / m, length, sum(idf)]
    by_length = [count / words for count in tf]
    weighted = [count * rarity for count, rarity in zip(tf, idf, strict=True)]
    for values in (tf, by_length, weighted):
        found += [sum(values), min(values), max(values), fmean(values), pvariance(values)]
    found.append(float(n == m))
    norm = math.hypot(*weighted) * math.hypot(*idf)
    dot = sum(w * rarity for w, rarity in zip(weighted, idf, strict=True))
    found.append(dot / norm if n else 0.0)
    found.append(
        sum(
            rarity * count * 3.5 / (count + 2.5 * (0.2 + 0.8 * length / mean_length))
            for count, rarity in zip(tf, idf, strict=True)
        )
    )
    common = [math.exp(-rarity) / 10 for rarity in idf]
    pairs = list(zip(tf, common, strict=True))
    found.append(sum(math.log((max(t - 0.7, 0) + 0.7 * max(n, 1) * c) / words) for t, c in pairs))
    found.append(sum(math.log((t + 2000 * c) / (length + 2000)) for t, c in pairs))
    found.append(sum(math.log(0.9 * t / words + 0.1 * c) for t, c in pairs))
    return found
