r"""Models as tables of numbers in the source of a program, as ``c`` and ``java`` have them.

Of a double :math:`x` that is missing if it is not a number,

.. math:: \text{left} \iff x \le \text{cut} \text{, or it is missing and missing\_left,}

and the score is :math:`((0 + \text{leaf}_1) + \text{leaf}_2) + \dots`. Weighted sums are

.. math:: s = (((l_0 + l_4) + (l_1 + l_5)) + ((l_2 + l_6) + (l_3 + l_7))) + r + b,

with lane :math:`l_i = ((0 + w_i x_i) + w_{i+8} x_{i+8}) + \dots` over as many features as eights of
them have, and :math:`r` the sum of the others in turn: products and sums are rounded one by one.
Where there are trees and weights, the score is the sum of the trees plus the weighted sum, in which
alone a missing value is filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.exports.interpreters.walking import ReadTree, in_blocks
from rankwright.exports.rules import Labels
from rankwright.exports.targets.target import Judge, Verdicts

_OF_TREES = {"feature", "cut", "missing_left", "left", "right", "root", "leaf"}
_LANES = 8


def by_tables(tables: dict[str, list[Any]], n_features: int, labels: Labels | None) -> Judge:
    """Return what tables of numbers say of rows; a DataError unless they are those of a model."""
    try:
        score = _table_score(tables, n_features)
    except (KeyError, ValueError, IndexError):
        raise DataError("the tables of the model do not fit together.") from None
    thresholds = tables.get("threshold")
    n_classes = 0 if labels is None else len(labels.classes)
    if n_classes and n_classes != (
        len(tables.get("bias", ())) if thresholds is None else len(thresholds) + 1
    ):
        raise DataError("the tables of the model do not fit together.")

    def judge(X: NDArray[Any]) -> Verdicts:
        scores = in_blocks(X.astype(np.float64), score)
        if labels is None:
            return Verdicts(scores)
        reached = None if thresholds is None else np.array(thresholds)
        return Verdicts(scores, Labels(labels.classes, reached).of(scores))

    return judge


def _table_score(tables: dict[str, list[Any]], n_features: int) -> Callable[[Any], Floats]:
    """Return the score: of trees, of weights, or of both."""
    if tables.keys() == _OF_TREES:
        return _table_trees(tables, n_features)
    if "leaf" not in tables:
        return _table_sums(tables, n_features)
    if tables.keys() - _OF_TREES - {"fill"} != {"weight", "bias"} or len(tables["bias"]) != 1:
        raise KeyError
    trees, sums = _table_trees(tables, n_features), _table_sums(tables, n_features)
    return lambda columns: trees(columns) + sums(columns)


def _table_trees(tables: dict[str, list[Any]], n_features: int) -> Callable[[Any], Floats]:
    trees = [_table_tree(tables, root, n_features) for root in tables["root"]]

    def score(columns: NDArray[Any]) -> Floats:
        found = np.zeros(columns.shape[1])
        for tree in trees:

            def goes_left(x: NDArray[Any], node: int, tree: ReadTree = tree) -> NDArray[np.bool_]:
                cut, missing_left = tree.says[node]
                below: NDArray[np.bool_] = x <= cut
                return below | np.isnan(x) if missing_left else below

            found += np.array(tree.leaf)[tree.leaves_of(columns, goes_left)]
        return found

    return score


def _table_tree(tables: dict[str, list[Any]], root: int, n_features: int) -> ReadTree:
    """Return the tree that begins with a node, or is a leaf."""
    tree = ReadTree()
    waiting: list[tuple[int, int, list[int]]] = [(root, 0, [0])]
    while waiting:
        child, parent, side = waiting.pop()
        if child < 0:
            side[parent] = tree.add_leaf(tables["leaf"][~child])
            continue
        if len(tree.feature) == len(tables["feature"]):
            raise ValueError  # more nodes than there are: in a circle
        if not 0 <= tables["feature"][child] < n_features:
            raise ValueError
        says = tables["cut"][child], bool(tables["missing_left"][child])
        side[parent] = place = tree.add_node(tables["feature"][child], says)
        waiting += [(tables["right"][child], place, tree.right)]
        waiting += [(tables["left"][child], place, tree.left)]
    return tree


def _table_sums(tables: dict[str, list[Any]], n_features: int) -> Callable[[Any], Floats]:
    weights = np.array(tables["weight"]).reshape(len(tables["bias"]), n_features)
    fill = tables.get("fill")
    if fill is not None and len(fill) != n_features:
        raise ValueError

    def score(columns: NDArray[Any]) -> Floats:
        if fill is not None:
            columns = np.where(np.isnan(columns), np.array(fill)[:, None], columns)
        found = [lane_sum(w, columns) + b for w, b in zip(weights, tables["bias"], strict=True)]
        return found[0] if len(found) == 1 else np.stack(found, axis=1)

    return score


def lane_sum(w: Floats, columns: NDArray[Any]) -> Floats:
    """Return weighted sums of columns by lanes, without a bias."""
    lane = [np.zeros(columns.shape[1]) for _ in range(_LANES + 1)]
    whole = len(w) - len(w) % _LANES
    for j, (weight, x) in enumerate(zip(w, columns, strict=True)):
        lane[j % _LANES if j < whole else _LANES] += weight * x
    half = [lane[i] + lane[i + 4] for i in range(4)]
    found: Floats = (half[0] + half[1]) + (half[2] + half[3]) + lane[_LANES]
    return found
