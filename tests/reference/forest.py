"""A plain twin of trees: LightGBM's rule, one document and node at a time; random forests."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

K = float(np.float32(1e-35))
NONE, ZERO, NAN = 0, 1, 2  # LightGBM's missing_type


@dataclass(frozen=True)
class Split:
    """A node: what LightGBM writes of it."""

    feature: int
    threshold: float
    missing_type: int
    default_left: bool
    left: Any  # a Split, or the value of a leaf
    right: Any
    categories: frozenset[int] | None = None

    def goes_left(self, x: float) -> bool:
        """Decide as tree.h does, after the value was read as c_api.cpp does."""
        if abs(x) <= K:
            x = 0.0
        if self.categories is not None:
            return not math.isnan(x) and -1 < x < 2**31 - 1 and int(x) in self.categories
        if math.isnan(x) and self.missing_type != NAN:
            x = 0.0
        if (self.missing_type == ZERO and abs(x) <= K) or math.isnan(x):
            return self.default_left
        return x <= self.threshold


def score(trees: list[Any], x: Any) -> float:
    """Sum the leaves, in doubles, in the order of the trees."""
    total = 0.0
    for tree in trees:
        node = tree
        while isinstance(node, Split):
            node = node.left if node.goes_left(float(x[node.feature])) else node.right
        total += node
    return total


@dataclass
class Shape:
    """How random trees look."""

    n_features: int = 4
    n_leaves: int = 8
    chain: float = 0.0  # the chance that a split hangs at the last one
    values: npt.NDArray[np.float64] = field(
        default_factory=lambda: np.array([-1.5, -K, -K / 2, 0.0, K / 2, K, 0.1, 1.0, 3e30, np.inf])
    )
    n_categories: int = 0  # features from the last on are categories


def random_tree(rng: np.random.Generator, shape: Shape) -> Any:
    """Grow a tree by splitting leaves."""
    root: list[Any] = [float(rng.normal())]
    leaves = [(root, 0)]
    last: list[Any] | None = None
    while len(leaves) < shape.n_leaves:
        at = len(leaves) - 1 if last is not None and rng.random() < shape.chain else None
        place, key = leaves.pop(int(rng.integers(len(leaves))) if at is None else at)
        node = [*_rule(rng, shape), float(rng.normal()), float(rng.normal())]
        place[key] = last = node
        leaves += [(node, 5), (node, 6)]

    return _frozen(root[0])


def _rule(rng: np.random.Generator, shape: Shape) -> list[Any]:
    feature = int(rng.integers(shape.n_features))
    missing, left = int(rng.integers(3)), bool(rng.integers(2))
    if feature >= shape.n_features - shape.n_categories:
        chosen = rng.choice(70, size=int(rng.integers(1, 9)), replace=False)
        return [feature, 0.0, NAN, left, frozenset(chosen.tolist())]
    return [feature, float(rng.choice(shape.values)), missing, left, None]


def _frozen(node: Any) -> Any:
    """Return Splits for lists, without recursion: a chain may be deep."""
    done: dict[int, Any] = {}
    stack = [node]
    while stack:
        top = stack[-1]
        waiting = (
            [c for c in top[5:] if isinstance(c, list) and id(c) not in done]
            if (isinstance(top, list))
            else []
        )
        if waiting:
            stack += waiting
            continue
        stack.pop()
        if isinstance(top, list):
            left, right = (done[id(c)] if isinstance(c, list) else c for c in top[5:])
            feature, threshold, missing_type, default_left, categories = top[:5]
            rule = feature, threshold, missing_type, default_left
            done[id(top)] = Split(*rule, left, right, categories)
    return done[id(node)] if isinstance(node, list) else node


def text_of(trees: list[Any], n_features: int) -> str:
    """Write LightGBM's text form."""
    blocks = [_tree_text(i, tree) for i, tree in enumerate(trees)]
    names = " ".join(f"Column_{j}" for j in range(n_features))
    infos = " ".join(["[0:1]"] * n_features)
    sizes = " ".join(str(len(block)) for block in blocks)
    return (
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
        f"max_feature_idx={n_features - 1}\nfeature_names={names}\nfeature_infos={infos}\n"
        f"tree_sizes={sizes}\n\n{''.join(blocks)}end of trees\n"
    )


def _tree_text(index: int, tree: Any) -> str:
    if not isinstance(tree, Split):
        leaf = f"leaf_value={tree!r}\n"
        return f"Tree={index}\nnum_leaves=1\nnum_cat=0\n{leaf}is_linear=0\nshrinkage=1\n\n\n"
    nodes: list[Split] = [tree]
    leaves: list[float] = []
    children: list[list[int]] = []
    for node in nodes:  # grows: breadth first, so that children come after their parents
        kids = []
        for kid in (node.left, node.right):
            if isinstance(kid, Split):
                nodes.append(kid)
                kids.append(len(nodes) - 1)
            else:
                leaves.append(kid)
                kids.append(-len(leaves))
        children.append(kids)
    sets = [node.categories for node in nodes if node.categories is not None]
    words = [_bits(chosen) for chosen in sets]
    thresholds, n_sets = [], 0
    for node in nodes:
        thresholds.append(str(n_sets) if node.categories is not None else repr(node.threshold))
        n_sets += node.categories is not None
    count = {"split_gain": "1", "internal_value": "0", "internal_weight": "1"}
    fields = {
        "num_leaves": len(leaves),
        "num_cat": len(sets),
        "split_feature": " ".join(str(node.feature) for node in nodes),
        "threshold": " ".join(thresholds),
        "decision_type": " ".join(str(_decision(node)) for node in nodes),
        "left_child": " ".join(str(kids[0]) for kids in children),
        "right_child": " ".join(str(kids[1]) for kids in children),
        "leaf_value": " ".join(repr(value) for value in leaves),
        "leaf_weight": " ".join("1" for _ in leaves),
        "leaf_count": " ".join("1" for _ in leaves),
        "internal_count": " ".join("2" for _ in nodes),
        **{name: " ".join(value for _ in nodes) for name, value in count.items()},
    }
    if sets:
        ends = np.cumsum([0, *map(len, words)]).tolist()
        fields["cat_boundaries"] = " ".join(map(str, ends))
        fields["cat_threshold"] = " ".join(str(word) for part in words for word in part)
    lines = "".join(f"{name}={value}\n" for name, value in fields.items())
    return f"Tree={index}\n{lines}is_linear=0\nshrinkage=1\n\n\n"


def _decision(node: Split) -> int:
    by_category = node.categories is not None
    return by_category | node.default_left << 1 | node.missing_type << 2


def _bits(chosen: frozenset[int]) -> list[int]:
    words = [0] * (max(chosen) // 32 + 1)
    for category in chosen:
        words[category // 32] |= 1 << category % 32
    return words
