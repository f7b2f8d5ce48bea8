r"""XGBoost's JSON of trees, by ``RegTree`` and the CPU predictor.

Of a float32 :math:`x`, which is missing if it is NaN,

.. math:: \text{left} \iff x < t,

and a missing value goes to ``default_left``; what goes right goes to the node after the left child,
whatever ``right_children`` says. The score begins at 0 and takes a leaf of each tree in
turn, in float32; what it began with (``base_score``) is added in the end, and is 0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.exceptions import DataError
from rankwright.exports.interpreters.walking import ReadTree, in_blocks
from rankwright.exports.targets.target import Judge, Verdicts


def xgboost_model(content: bytes, names: Sequence[str]) -> Judge:
    """Return the scores of a model; a DataError unless it is of trees whose sum is the score."""
    try:
        learner = json.loads(content)["learner"]
        if learner["feature_names"] != list(names):
            raise DataError("the model must have the features that were exported, by their names.")
        shape = learner["learner_model_param"]
        plain = float(shape["base_score"]) == 0 and learner["objective"]["name"].startswith(
            "reg:sq"
        )
        model = learner["gradient_booster"]["model"]
        info = model["tree_info"]
        outputs = int(shape["num_class"]), int(shape["num_target"])
        if not plain or any(info) or outputs != (0, 1) or int(shape["num_feature"]) != len(names):
            raise DataError("the model must be one sum of trees.")
        stated = model["gbtree_model_param"]
        if (
            len(info) != len(model["trees"])
            or model["iteration_indptr"] != list(range(len(info) + 1))
            or (int(stated["num_trees"]), int(stated["num_parallel_tree"])) != (len(info), 1)
        ):
            raise DataError("the model must have as many trees as it states, one in each turn.")
        trees = [_xgboost_nodes(tree, len(names)) for tree in model["trees"]]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
        raise DataError("this is no model of XGBoost.") from None

    def block(columns: NDArray[Any]) -> NDArray[Any]:
        score = np.zeros(columns.shape[1], dtype=np.float32)
        for tree in trees:

            def goes_left(x: NDArray[Any], node: int, tree: ReadTree = tree) -> NDArray[np.bool_]:
                t, default_left = tree.says[node]
                found: NDArray[np.bool_] = np.where(np.isnan(x), default_left, x < t)
                return found

            leaf = np.array(tree.leaf, dtype=np.float32)
            score = score + leaf[tree.leaves_of(columns, goes_left)]
        return score

    return lambda X: Verdicts(in_blocks(X.astype(np.float32), block).astype(np.float64))


def _xgboost_nodes(said: dict[str, Any], n_features: int) -> ReadTree:
    left, right = said["left_children"], said["right_children"]
    with np.errstate(over="ignore"):
        values = np.array(said["split_conditions"], dtype=np.float64).astype(np.float32)
    n = len(left)
    sizes = {len(right), len(values), len(said["split_indices"]), len(said["default_left"])}
    if sizes != {n} or any(said["split_type"]) or int(said["tree_param"]["num_nodes"]) != n:
        raise ValueError
    is_leaf = [child == -1 for child in left]
    reached = [child for child in [*left, *right] if child != -1]
    if sorted(reached) != list(range(1, n)) or any(
        b != (a if a == -1 else a + 1) for a, b in zip(left, right, strict=True)
    ):
        raise ValueError  # each node must be the child of one
    tree, places = ReadTree(), []
    for i in range(n):
        if is_leaf[i]:
            places.append(tree.add_leaf(values[i]))
        else:
            if not 0 <= said["split_indices"][i] < n_features:
                raise ValueError
            says = values[i], bool(said["default_left"][i])
            places.append(tree.add_node(said["split_indices"][i], says))
    splits = [i for i in range(n) if not is_leaf[i]]
    tree.left = [places[left[i]] for i in splits]
    tree.right = [places[right[i]] for i in splits]
    return tree
