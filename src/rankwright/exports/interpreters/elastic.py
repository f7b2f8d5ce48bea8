r"""Elasticsearch's own ensembles of trees (``TreeInferenceModel``, ``WeightedSum``).

Of a double :math:`x`,

.. math:: \text{left} \iff \texttt{Double.compare}(x, t) \le 0,

which has :math:`-0.0` below :math:`0.0`; a missing or infinite value goes left iff
``default_left``. Leaves are added by ``DoubleStream.sum``: with the lost part :math:`c` of each
addition,

.. math:: y = v - c, \qquad s' = s + y, \qquad c' = (s' - s) - y,

and :math:`s - c` in the end. To this the engine adds :math:`\max(0, -\sum_k \min \text{leaf}_k)`,
added in the same way, and rounds to float32.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.exceptions import DataError
from rankwright.exports.interpreters.reading import reading
from rankwright.exports.interpreters.walking import ReadTree, in_blocks
from rankwright.exports.targets.target import Judge, Verdicts

_ENSEMBLE = {"feature_names", "target_type", "aggregate_output", "trained_models"}
_TREE = {"feature_names", "target_type", "tree_structure"}
_LEAF = {"node_index", "leaf_value", "number_samples"}
_SPLIT = {
    "node_index",
    "decision_type",
    "split_feature",
    "threshold",
    "default_left",
    "left_child",
    "right_child",
    "number_samples",
}


def elastic(definition: str, names: Sequence[str]) -> Judge:
    """Return the scores of a definition, by the engine's rule."""
    with reading("a definition of Elasticsearch's trained models"):
        ensemble = json.loads(definition)["trained_model"]["ensemble"]
        _require(ensemble, _ENSEMBLE)
        if ensemble["aggregate_output"] != {"weighted_sum": {}}:
            raise DataError("aggregate_output must be a weighted sum without weights.")
        trees = [_flat_tree(one["tree"], names) for one in ensemble["trained_models"]]
    low = float(java_sum(np.array([min(tree.leaf)]) for tree in trees)[0])
    shift = -low if low < 0 else 0.0

    def block(columns: NDArray[Any]) -> NDArray[Any]:
        total = java_sum(_leaves(tree, columns) for tree in trees) + shift
        with np.errstate(over="ignore"):
            return total.astype(np.float32)

    def judge(X: NDArray[Any]) -> Verdicts:
        return Verdicts(in_blocks(X.astype(np.float64), block).astype(np.float64))

    return judge


def _leaves(tree: ReadTree, columns: NDArray[Any]) -> NDArray[Any]:
    def goes_left(x: NDArray[Any], node: int) -> NDArray[np.bool_]:
        t, default_left = tree.says[node]
        same = (x == t) & (np.signbit(x) >= np.signbit(t))
        return np.asarray(np.where(np.isfinite(x), (x < t) | same, default_left), dtype=bool)

    return np.array(tree.leaf, dtype=np.float64)[tree.leaves_of(columns, goes_left)]


def java_sum(terms: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Return sums as ``DoubleStream.sum`` takes them, one term after the other."""
    total = lost = np.zeros(1)
    for term in terms:
        kept = term - lost
        longer = total + kept
        lost = (longer - total) - kept
        total = longer
    return np.asarray(total - lost)


def _flat_tree(node: Any, names: Sequence[str]) -> ReadTree:
    _require(node, _TREE)
    if node["feature_names"] != list(names) or node["target_type"] != "regression":
        raise DataError("a tree must be a regression on the features of the model.")
    tree, structure = ReadTree(), node["tree_structure"]
    places = [_added(tree, one, index) for index, one in enumerate(structure)]
    children: list[int] = []
    for one in structure:
        if "left_child" in one:
            place = places[one["node_index"]]
            tree.left[place], tree.right[place] = (
                places[one["left_child"]],
                places[one["right_child"]],
            )
            children += [one["left_child"], one["right_child"]]
    if sorted(children) != list(range(1, len(structure))):
        raise DataError("every node but the first must be the child of one node.")
    return tree


def _added(tree: ReadTree, one: Any, index: int) -> int:
    if one["node_index"] != index:
        raise DataError("nodes must be in the order of node_index.")
    if "leaf_value" in one:
        _require(one, _LEAF)
        return tree.add_leaf(one["leaf_value"])
    _require(one, _SPLIT)
    if one["decision_type"] != "lte":
        raise DataError("decision_type must be lte.")
    return tree.add_node(one["split_feature"], (one["threshold"], one["default_left"]))


def _require(found: Any, keys: set[str]) -> None:
    if set(found) != keys:
        raise DataError(f"{sorted(found)} must be {sorted(keys)}.")
