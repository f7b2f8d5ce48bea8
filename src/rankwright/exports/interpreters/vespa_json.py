r"""The trees that Vespa imports from LightGBM's dump, as it evaluates them.

The importer writes :math:`x < t`, or :math:`\neg(x \ge t)` where ``default_left`` is true, for what
the dump calls ``<=``: missing values, which are NaN, go right or left. Then one of three evaluators
takes them, by the size of the model and a property of the rank profile:

.. math::
    \begin{array}{lcccl}
    & x & t & \text{leaf} & \text{sum of doubles, from 0} \\
    \text{LLVM} & \text{double} & \text{double} & \text{double} & 0, 1, 2, \dots \\
    \text{VM forest} & \text{double} & \text{float} & \text{float} & n-1, \dots, 2, 0, 1 \\
    \text{fast forest} & \text{float} & \text{float} & \text{float}
      & (0, 2, \dots) + (1, 3, \dots)
    \end{array}

where the fast forest takes the last :math:`n \bmod 4` trees with the even ones, and all in order if
a tree has more than 64 leaves. All three are computed; where they differ, the score would change
with the size of the model, and is NaN here, which no model gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.groups import Ints
from rankwright.exceptions import DataError
from rankwright.exports.interpreters.reading import read_json, reading
from rankwright.exports.interpreters.walking import ReadTree, in_blocks
from rankwright.exports.targets.target import Judge, Verdicts

_NEEDED = ("objective", "feature_names", "pandas_categorical", "tree_info")
_TRANSFORMED = ("cross_entropy", "poisson", "gamma", "tweedie")
_FIXED = 64  # leaves up to which a fast forest has two sums


def vespa_json(content: bytes, names: Sequence[str]) -> Judge:
    """Return the scores of trees, by Vespa's rules."""
    with reading("a model that Vespa imports"):
        return _forest_scores(read_json(content.decode()), list(names))


def _forest_scores(model: dict[str, Any], names: list[str]) -> Judge:
    if not model.keys() >= set(_NEEDED):
        raise DataError(f"the model must have {', '.join(_NEEDED)}.")
    objective = model["objective"]
    if objective.startswith("binary") or objective in _TRANSFORMED:
        raise DataError(f"objective must not transform scores, but is {objective!r:.100}.")
    places = [names.index(name) for name in model["feature_names"]]
    block = three_ways(
        [_imported_tree(one["tree_structure"], places) for one in model["tree_info"]]
    )

    def judge(X: NDArray[Any]) -> Verdicts:
        return Verdicts(in_blocks(X, block))

    return judge


def three_ways(trees: list[ReadTree]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return what scores columns of features by all three evaluators; NaN where they differ.

    What a node says is its border, and whether missing values go left.
    """
    exact = [_is_float32([t for t, _ in tree.says]) for tree in trees]
    largest = max(len(tree.leaf) for tree in trees)

    def block(columns: NDArray[Any]) -> NDArray[Any]:
        compiled = np.zeros(columns.shape[1])
        virtual, fast = [], []
        narrow = _is_float32(columns[~np.isnan(columns)])
        for tree, same in zip(trees, exact, strict=True):
            # Numbers that both types have are compared alike, and need no second walk.
            place = _chosen_leaves(tree, columns, np.float64, np.float64)
            compiled = compiled + np.array(tree.leaf)[place]
            place = place if same else _chosen_leaves(tree, columns, np.float64, np.float32)
            leaf = np.array(tree.leaf).astype(np.float32)
            virtual.append(leaf[place])
            if not narrow:
                place = _chosen_leaves(tree, columns, np.float32, np.float32)
            fast.append(virtual[-1] if narrow else leaf[place])
        agreed = compiled == _sum(virtual[:1:-1] + virtual[:2])
        agreed &= compiled == _fast_sum(fast, largest)
        return np.where(agreed, compiled, np.nan)

    return block


def _sum(leaves: list[NDArray[Any]]) -> NDArray[Any]:
    total = np.zeros(len(leaves[0]))
    for leaf in leaves:
        total += leaf  # as doubles
    return total


def _fast_sum(leaves: list[NDArray[Any]], largest: int) -> NDArray[Any]:
    """Return the sum as a fast forest takes it, by the leaves of its largest tree."""
    paired = len(leaves) // 4 * 4
    if largest > _FIXED or paired == 0:
        return _sum(leaves)
    even, odd = leaves[:paired:2] + leaves[paired:], leaves[1:paired:2]
    return np.asarray(_sum(even) + _sum(odd))


def _is_float32(numbers: Any) -> bool:
    with np.errstate(over="ignore"):
        return bool((np.asarray(numbers).astype(np.float32) == numbers).all())


def _chosen_leaves(tree: ReadTree, columns: NDArray[Any], x: Any, t: Any) -> Ints:
    """Return the leaf of each document, with features and thresholds in these types."""

    def goes_left(v: NDArray[Any], node: int) -> NDArray[np.bool_]:
        threshold, default_left = tree.says[node]
        with np.errstate(over="ignore"):
            v, border = v.astype(x), t(threshold)
        return np.asarray(~(v >= border) if default_left else v < border)

    return tree.leaves_of(columns, goes_left)


def _imported_tree(root: dict[str, Any], places: list[int]) -> ReadTree:
    """Return a tree; nested as it is, it is read without functions that call themselves."""
    tree, holder = ReadTree(), [0]
    rest: list[tuple[Any, list[int], int]] = [(root, holder, 0)]
    while rest:
        node, siblings, at = rest.pop()
        if "leaf_value" in node:
            siblings[at] = tree.add_leaf(float(node["leaf_value"]))
            continue
        if node["decision_type"] != "<=":
            raise DataError(f"decision_type must be '<=', but is {node['decision_type']!r:.100}.")
        if not isinstance(node["default_left"], bool):
            raise DataError("default_left must be true or false.")
        says = float(node["threshold"]), node["default_left"]
        i = siblings[at] = tree.add_node(places[node["split_feature"]], says)
        rest.append((node["right_child"], tree.right, i))
        rest.append((node["left_child"], tree.left, i))
    return tree
