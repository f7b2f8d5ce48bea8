"""Trees as LightGBM's text, from the form in between."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.exports.rules import Trees
from rankwright.trees import model_text

# Bit 1 is the default side, bits 2 and 3 say that NaN is missing.
_NAN, _LEFT = 2 << 2, 1 << 1


def lightgbm_text(trees: Trees, number: str) -> str:
    """Return the trees as LightGBM reads them; a shift is a first tree of one leaf.

    Every split says where missing values go, and its threshold is the largest number of the type
    that goes left, so that the text means the same to whoever compares in that type.
    """
    parts = [] if trees.shift == 0 else [{"leaf_value": _texts(np.array([trees.shift]))}]
    forest = trees.forest
    # Below the least number of the type nothing goes left; LightGBM knows no threshold of -inf.
    thresholds = np.maximum(trees.cuts[number].astype(np.float64), np.finfo(np.float64).min)
    kinds = _NAN | np.where(trees.nan_left, _LEFT, 0)
    for k in range(trees.n_trees):
        node = slice(*forest.node_begin[k : k + 2])
        leaf = slice(*forest.leaf_begin[k : k + 2])
        fields = {"leaf_value": _texts(trees.leaf[leaf])}
        if node.stop > node.start:
            fields = {
                "split_feature": _texts(forest.feature[node]),
                "split_gain": _texts(forest.gain[node].astype(np.float64)),
                "threshold": _texts(thresholds[node]),
                "decision_type": _texts(kinds[node]),
                "left_child": _texts(forest.left[node]),
                "right_child": _texts(forest.right[node]),
                **fields,
                "leaf_weight": _texts(forest.leaf_count[leaf]),
                "leaf_count": _texts(forest.leaf_count[leaf]),
                "internal_value": _texts(np.zeros(node.stop - node.start, np.int64)),
                "internal_weight": _texts(forest.node_count[node]),
                "internal_count": _texts(forest.node_count[node]),
            }
        parts.append(fields)
    return model_text.written(forest.n_features, parts)


def _texts(values: NDArray[Any]) -> str:
    return " ".join(map(repr, values.tolist()))
