"""Trees that are walked by an engine's own comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.groups import Ints
from rankwright.threads import n_threads

_ROWS = 1 << 15  # walked at once: few enough for the caches, many enough for few Python steps

GoesLeft = Callable[[NDArray[Any], int], NDArray[np.bool_]]
"""Of the values of a node's feature and the node: which go left."""


@dataclass
class ReadTree:
    """A tree as it was read from a file, with whatever its nodes say.

    Attributes
    ----------
    feature, left, right : list of int
        Of each node; a child is a node, or ``~leaf``.
    says : list
        What else each node says: its threshold, the side of missing values.
    leaf : list of float
        The leaves.
    """

    feature: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    says: list[Any] = field(default_factory=list)
    leaf: list[Any] = field(default_factory=list)

    def add_leaf(self, value: Any) -> int:
        """Add a leaf; return what names it as a child."""
        self.leaf.append(value)
        return ~(len(self.leaf) - 1)

    def add_node(self, feature: int, says: Any) -> int:
        """Add a node, whose children follow; the first is the root."""
        self.feature.append(feature)
        self.says.append(says)
        self.left.append(0)
        self.right.append(0)
        return len(self.feature) - 1

    def leaves_of(self, columns: NDArray[Any], goes_left: GoesLeft) -> Ints:
        """Return which leaf each document falls into; ``columns`` has a row for each feature."""
        found = np.zeros(columns.shape[1], dtype=np.int64)
        rest = [(0, np.arange(columns.shape[1]))] if self.feature else []
        while rest:
            node, rows = rest.pop()
            left = goes_left(columns[self.feature[node]][rows], node)
            for child, part in ((self.left[node], rows[left]), (self.right[node], rows[~left])):
                if child < 0:
                    found[part] = ~child
                elif len(part) > 0:
                    rest.append((child, part))
        return found


def in_blocks(X: NDArray[Any], score: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
    """Return what ``score`` gives for blocks of documents, each with a row for each feature."""
    with ThreadPoolExecutor(n_threads(None)) as pool:
        found = list(pool.map(lambda part: score(np.ascontiguousarray(part.T)), _row_blocks(X)))
    return np.concatenate(found) if found else np.zeros(0)


def _row_blocks(X: NDArray[Any]) -> Iterator[NDArray[Any]]:
    for begin in range(0, len(X), _ROWS):
        yield X[begin : begin + _ROWS]
