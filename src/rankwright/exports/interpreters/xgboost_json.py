r"""The trees of the Elasticsearch and OpenSearch plugins, ``model/xgboost+json``.

Of a float32 :math:`v`, which is NaN where the feature's query did not match,

.. math:: \text{left} \iff t > v,

and a missing value goes to the child that ``missing`` names, unless the version takes it for 0, or
sends it right (``missing`` of the options). The score begins at 0 and takes a leaf of each tree in
turn, all in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.exceptions import DataError
from rankwright.exports.interpreters.reading import read_json, reading
from rankwright.exports.interpreters.walking import ReadTree, in_blocks
from rankwright.exports.targets.target import Judge, Verdicts

_SPLIT = {"nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "children"}
_LEAF = {"nodeid", "leaf"}


def xgboost_json(definition: str, names: Sequence[str], missing: str) -> Judge:
    """Return the scores of a definition, by the plugins' rule."""
    places = {name: j for j, name in enumerate(names)}
    with reading("trees as the plugins take them"):
        trees = [_dumped_tree(root, places) for root in read_json(definition)]

    def block(columns: NDArray[Any]) -> NDArray[Any]:
        score = np.zeros(columns.shape[1], dtype=np.float32)
        for tree in trees:

            def goes_left(v: NDArray[Any], node: int, tree: ReadTree = tree) -> NDArray[np.bool_]:
                t, missing_left = tree.says[node]
                if missing == "zero":
                    v = np.where(np.isnan(v), np.float32(0), v)
                is_left: NDArray[np.bool_] = t > v
                return is_left | np.isnan(v) if missing == "by-node" and missing_left else is_left

            leaf = np.array(tree.leaf, dtype=np.float32)
            score = score + leaf[tree.leaves_of(columns, goes_left)]
        return score

    def judge(X: NDArray[Any]) -> Verdicts:
        return Verdicts(in_blocks(X.astype(np.float32), block).astype(np.float64))

    return judge


def _dumped_tree(root: Any, places: dict[str, int]) -> ReadTree:
    tree = ReadTree()
    rest: list[tuple[Any, list[int], int]] = [(root, [0], 0)]
    while rest:
        node, children, place = rest.pop()
        if node.keys() == _LEAF:
            children[place] = tree.add_leaf(_float32(node["leaf"]))
            continue
        if node.keys() != _SPLIT:
            raise DataError(f"a node must have the keys {', '.join(sorted(_SPLIT))}.")
        yes, no = node["children"]
        if (yes["nodeid"], no["nodeid"]) != (node["yes"], node["no"]):
            raise DataError(f"node {node['nodeid']} must have its children in the order yes, no.")
        says = _float32(node["split_condition"]), node["missing"] == node["yes"]
        children[place] = here = tree.add_node(places[node["split"]], says)
        rest += [(no, tree.right, here), (yes, tree.left, here)]
    return tree


def _float32(number: float) -> Any:
    with np.errstate(over="ignore"):
        return np.float32(number)
