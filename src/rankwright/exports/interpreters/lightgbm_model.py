r"""LightGBM's text, by its ``Tree::NumericalDecision``.

A value of at most :math:`K = 10^{-35}` (as a float32) in size is 0. Of a double :math:`x`

.. math:: \text{left} \iff x \le t,

and a missing value goes to the default side where bits 2 and 3 of ``decision_type`` are 2; where
they are 0 it is 0; where they are 1, zeros go to the default side as well. The score begins at 0
and takes a leaf of each tree in turn, in doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.exceptions import DataError
from rankwright.exports.interpreters.walking import ReadTree, in_blocks
from rankwright.exports.targets.target import Judge, Verdicts

_K = float(np.float32(1e-35))
_AS_ZERO, _ZERO, _NAN = range(3)


def lightgbm_model(content: bytes, names: Sequence[str]) -> Judge:
    """Return the scores of a text."""
    head, *parts = content.decode().partition("\nend of trees\n")[0].split("\n\nTree=")
    fields = dict(line.partition("=")[::2] for line in head.splitlines())
    if fields.get("feature_names", "").split(" ") != list(names):
        raise DataError("the text must have the features of the model, by their names.")
    if len(parts) != len(fields["tree_sizes"].split(" ")):
        raise DataError("the text must have as many trees as it states.")
    trees = [_lightgbm_nodes(part, len(names)) for part in parts]

    def block(columns: NDArray[Any]) -> NDArray[Any]:
        columns = np.where(np.abs(columns) <= _K, 0.0, columns)
        score = np.zeros(columns.shape[1])
        for tree in trees:
            score += np.array(tree.leaf)[tree.leaves_of(columns, _Rule(tree))]
        return score

    return lambda X: Verdicts(in_blocks(X.astype(np.float64), block))


class _Rule:
    """Which values go left at a node."""

    def __init__(self, tree: ReadTree) -> None:
        self.tree = tree

    def __call__(self, x: NDArray[Any], node: int) -> NDArray[np.bool_]:
        t, kind = self.tree.says[node]
        missing, default_left = kind >> 2 & 3, bool(kind >> 1 & 1)
        away = np.isnan(x)
        if missing != _NAN:
            x = np.where(away, 0.0, x)
            away = (x == 0) & (missing == _ZERO)
        found: NDArray[np.bool_] = np.where(away, default_left, x <= t)
        return found


def _lightgbm_nodes(part: str, n_features: int) -> ReadTree:
    fields = dict(line.partition("=")[::2] for line in part.splitlines())

    def numbers(name: str, kind: Any = int) -> list[Any]:
        return [kind(text) for text in fields.get(name, "").split()]

    kinds = numbers("decision_type")
    tree = ReadTree(
        feature=numbers("split_feature"),
        left=numbers("left_child"),
        right=numbers("right_child"),
        says=list(zip(numbers("threshold", float), kinds, strict=True)),
        leaf=numbers("leaf_value", float),
    )
    n = len(tree.leaf) - 1
    sizes = {len(tree.feature), len(tree.left), len(tree.right), len(tree.says)}
    children = sorted(tree.left + tree.right)
    if sizes != {n} or children != [*range(~n, 0), *range(1, n)] * (n > 0):
        raise DataError("a tree must have each node and each leaf once.")
    if any(kind & 1 or kind >> 2 > _NAN for kind in kinds):
        raise DataError("a tree must have numerical splits alone.")
    if any(not 0 <= j < n_features for j in tree.feature):
        raise DataError("a tree must split features of the model.")
    return tree
