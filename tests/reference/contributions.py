"""A plain twin of SHAP values: what is expected of a tree by those who know some features alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.reference.forest import Split, text_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Counted:
    """A tree with the training documents of its nodes and leaves, both breadth first."""

    nodes: list[Split]
    kids: list[list[int]]  # a node, or ~leaf
    leaves: list[float]
    node_count: list[int]
    leaf_count: list[int]

    def count(self, kid: int) -> int:
        return self.node_count[kid] if kid >= 0 else self.leaf_count[~kid]

    def expected(self, x: Any, known: Any, kid: int | None = None) -> float:
        """Follow the known features, and take both ways at the others."""
        kid = (0 if self.nodes else -1) if kid is None else kid
        if kid < 0:
            return self.leaves[~kid]
        node, (left, right) = self.nodes[kid], self.kids[kid]
        if node.feature in known:
            return self.expected(x, known, left if _left(node, x) else right)
        a, b = (self.count(way) * self.expected(x, known, way) for way in (left, right))
        return (a + b) / self.count(kid)

    def paths(self) -> list[tuple[float, list[tuple[int, int]]]]:
        """Return each leaf's value and its path: nodes with the side taken, 0 for left."""
        found: list[tuple[float, list[tuple[int, int]]]] = []
        stack: list[tuple[int, list[tuple[int, int]]]] = [(0 if self.nodes else -1, [])]
        while stack:
            kid, path = stack.pop()
            if kid < 0:
                found.append((self.leaves[~kid], path))
            else:
                stack += [(way, [*path, (kid, side)]) for side, way in enumerate(self.kids[kid])]
        return found


def counted(tree: Any, draw: Callable[[], int]) -> Counted:
    """Give the leaves of a tree counts, and the nodes their sums."""
    nodes: list[Split] = [tree] if isinstance(tree, Split) else []
    leaves: list[float] = [] if nodes else [tree]
    kids = []
    for node in nodes:  # grows
        for kid in (node.left, node.right):
            (nodes if isinstance(kid, Split) else leaves).append(kid)
            kids.append(len(nodes) - 1 if isinstance(kid, Split) else -len(leaves))
    pairs = [kids[i : i + 2] for i in range(0, len(kids), 2)]
    found = Counted(nodes, pairs, leaves, [0] * len(nodes), [draw() for _ in leaves])
    for i in reversed(range(len(nodes))):
        found.node_count[i] = sum(found.count(kid) for kid in pairs[i])
    return found


def counted_text(trees: list[Any], counts: list[Counted], n_features: int) -> str:
    """Write LightGBM's text form with these counts."""
    head, *blocks = text_of(trees, n_features).replace("end of trees\n", "").split("Tree=")
    for i, each in enumerate(counts):
        lines = blocks[i].split("\n")
        of = {"leaf_count": each.leaf_count, "internal_count": each.node_count}
        for k, line in enumerate(lines):
            name = line.partition("=")[0]
            if name in of:
                lines[k] = f"{name}={' '.join(map(str, of[name]))}"
        blocks[i] = "Tree=" + "\n".join(lines)
    sizes = " ".join(str(len(block)) for block in blocks)
    kept = [line for line in head.split("\n") if not line.startswith("tree_sizes=")]
    kept.insert(-2, f"tree_sizes={sizes}")
    return "\n".join(kept) + "".join(blocks) + "end of trees\n"


def by_definition(trees: list[Counted], x: Any) -> tuple[Floats, float]:
    """Sum over all sets of features."""
    n = len(x)
    found = np.zeros(n)
    for j in range(n):
        others = [i for i in range(n) if i != j]
        for size in range(n):
            weight = math.factorial(size) * math.factorial(n - 1 - size) / math.factorial(n)
            for known in itertools.combinations(others, size):
                found[j] += weight * sum(
                    tree.expected(x, {*known, j}) - tree.expected(x, known) for tree in trees
                )
    return found, sum(tree.expected(x, ()) for tree in trees)


def exactly(tree: Counted, x: Any) -> Floats:
    """Sum over the numbers of known features, leaf by leaf, in whole numbers: for deep trees."""
    found = [Fraction(0)] * len(x)
    for value, path in tree.paths():
        took: dict[int, int] = {}  # of each feature; its share is took / came
        came: dict[int, int] = {}
        obeys: dict[int, bool] = {}
        for at, side in path:
            feature = tree.nodes[at].feature
            took[feature] = took.get(feature, 1) * tree.count(tree.kids[at][side])
            came[feature] = came.get(feature, 1) * tree.node_count[at]
            obeys[feature] = obeys.get(feature, True) and _left(tree.nodes[at], x) == (side == 0)
        for j in took if value else ():
            sums = [1]  # over the sets of each size of the other features, times what came
            for i in took.keys() - {j}:
                unknown = [took[i] * each for each in sums] + [0]
                known = [0, *(came[i] * obeys[i] * each for each in sums)]
                sums = [a + b for a, b in zip(unknown, known, strict=True)]
            ways = [
                math.factorial(size) * math.factorial(len(took) - 1 - size)
                for size in range(len(took))
            ]
            total = sum(way * each for way, each in zip(ways, sums, strict=True))
            parts = math.factorial(len(took)) * math.prod(came.values())
            found[j] += Fraction(value) * Fraction((came[j] * obeys[j] - took[j]) * total, parts)
    return np.array([float(each) for each in found])


def _left(node: Split, x: Any) -> bool:
    return node.goes_left(float(x[node.feature]))
