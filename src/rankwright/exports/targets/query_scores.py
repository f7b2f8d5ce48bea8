"""Features that are scores of queries, as in Elasticsearch and OpenSearch."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from rankwright.data.feature_names import listed
from rankwright.exports.grid import UNITS
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Rules, Trees
from rankwright.exports.targets.target import Rows

HOST = "http://localhost:9200"
CONTENT = 100 << 20  # bytes of a request, http.max_content_length


def unlike_scores(rules: Rules, data: Rows | None) -> list[str]:
    """Return warnings of features that no query's score can be.

    Thresholds tell of the training data: they lie between its values.
    """
    low, high = np.zeros(rules.n_features), np.zeros(rules.n_features)
    if rules.trees is not None:
        cuts, feature = rules.trees.cuts["float64"], rules.trees.forest.feature
        finite = np.isfinite(cuts)
        np.minimum.at(low, feature[finite], cuts[finite])
        np.maximum.at(high, feature[finite], np.abs(cuts[finite]))
    if data is not None and len(data):
        low = np.fmin(low, np.fmin.reduce(data, axis=0))
        high = np.fmax(high, np.fmax.reduce(np.abs(data), axis=0))
    return [*_negative(rules.names, low < 0), *_large(rules.names, high > UNITS)]


def _negative(names: tuple[str, ...], found: NDArray[np.bool_]) -> Iterator[str]:
    if found.any():
        yield (
            f"values below 0 of {_of(names, found)}: features are scores of queries, which must "
            "not be negative, so add a constant in training and in the query"
        )


def _large(names: tuple[str, ...], found: NDArray[np.bool_]) -> Iterator[str]:
    if found.any():
        yield (
            f"values above {UNITS:,} of {_of(names, found)}: scores of queries are float32, which "
            "does not have all integers there, so divide them, or count from a later day"
        )


def _of(names: tuple[str, ...], found: NDArray[np.bool_]) -> str:
    return listed([names[j] for j in np.flatnonzero(found)])


def too_deep(trees: Trees | None, most: int, why: str) -> Iterator[Refusal]:
    """Yield the refusal of trees with more levels of splits than an engine reads."""
    depth = 0 if trees is None or not len(trees.nan_left) else int(trees.depths().max()) + 1
    if depth > most:
        yield Refusal(
            "deep",
            f"a tree has {depth:,} levels, but at most {most:,} are read: {why}",
            "train with max_depth",
        )


def too_long(content: bytes) -> Iterator[str]:
    """Yield the warning of a request that is longer than the engine takes."""
    if len(content) > CONTENT:
        yield (
            f"the file has {len(content) / 2**20:.0f} MB, more than a request may have: raise "
            f"http.max_content_length from {CONTENT >> 20} MB"
        )


def curl(method: str, place: str, body: str) -> str:
    """Return the command that sends JSON to an engine; ``body`` is a text, or ``@`` and a file."""
    url = shlex.quote(f"{HOST}/{quote(place)}")
    header = "-H 'Content-Type: application/json'"
    return f"curl -X {method} {url} {header} --data-binary {shlex.quote(body)}"
