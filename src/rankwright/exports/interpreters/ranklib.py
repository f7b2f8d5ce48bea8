r"""RankLib's texts, also ``model/ranklib`` of the Elasticsearch and OpenSearch plugins.

A missing value is 0. Of a tree, with a float32 :math:`x`,

.. math:: \text{left} \iff x \le t, \qquad s \leftarrow \mathrm{f32}(s + \text{leaf} \cdot w),

in doubles within the brackets. A linear regression is a sum of doubles,

.. math:: s_0 = b, \qquad s_j = s_{j-1} + w_j x_j,

in the order of the text, which the plugins round to float32 in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from rankwright.exceptions import DataError
from rankwright.exports.interpreters.reading import float32_of, reading
from rankwright.exports.interpreters.walking import ReadTree, in_blocks
from rankwright.exports.targets.target import Judge, Verdicts

Block = Callable[[NDArray[Any]], NDArray[Any]]


def ranklib(text: str) -> Judge:
    """Return the scores of a text, by RankLib's rule."""
    with reading("a model of RankLib"):
        kind = text.splitlines()[0].removeprefix("##").strip()
        block = {"LambdaMART": _read_ensemble, "Linear Regression": _regression}[kind](text)

    def judge(X: NDArray[Any]) -> Verdicts:
        known = np.nan_to_num(X.astype(np.float32), nan=0.0, posinf=np.inf, neginf=-np.inf)
        return Verdicts(in_blocks(known, block).astype(np.float64))

    return judge


def _read_ensemble(text: str) -> Block:
    # Lines are joined without what is around them, and nodes are found by their places.
    lines = [line.strip() for line in text.splitlines() if not line.startswith("#")]
    root = ElementTree.fromstring("".join(lines))
    trees = [(_split_tree(node), float32_of(node.attrib["weight"])) for node in root.iter("tree")]

    def block(columns: NDArray[Any]) -> NDArray[Any]:
        score = np.zeros(columns.shape[1], dtype=np.float32)
        for tree, weight in trees:

            def goes_left(x: NDArray[Any], node: int, tree: ReadTree = tree) -> NDArray[np.bool_]:
                return np.asarray(x <= tree.says[node])

            leaf = np.array(tree.leaf, dtype=np.float64)[tree.leaves_of(columns, goes_left)]
            score = (score.astype(np.float64) + leaf * np.float64(weight)).astype(np.float32)
        return score

    return block


def _split_tree(root: ElementTree.Element) -> ReadTree:
    tree = ReadTree()
    if root.text or len(root) != 1:
        raise DataError("a tree must have one split, and nothing before it.")
    rest: list[tuple[ElementTree.Element, list[int], int]] = [(root[0], [0], 0)]
    while rest:
        split, children, place = rest.pop()
        tags = [child.tag for child in split]
        if split.text or any(child.tail for child in split):
            raise DataError("a split must have no text between its parts.")
        if tags == ["output"]:
            children[place] = tree.add_leaf(float32_of(split[0].text or ""))
        elif tags == ["feature", "threshold", "split", "split"]:
            feature, threshold = int(split[0].text or ""), float32_of(split[1].text or "")
            children[place] = node = tree.add_node(feature - 1, threshold)
            rest += [(split[3], tree.right, node), (split[2], tree.left, node)]
        else:
            raise DataError("a split must be of feature, threshold, left and right, or of output.")
    return tree


def _regression(text: str) -> Block:
    line = next(line for line in map(str.strip, text.splitlines()) if line and line[0] != "#")
    pairs = [(int(pair.split(":")[0]), float(pair.split(":")[-1])) for pair in line.split()]
    bias = dict(pairs)[0]
    weights = [(place - 1, weight) for place, weight in pairs if place > 0]

    def block(columns: NDArray[Any]) -> NDArray[Any]:
        score = np.full(columns.shape[1], bias)
        for place, weight in weights:
            score = score + weight * columns[place].astype(np.float64)
        with np.errstate(over="ignore"):
            return score.astype(np.float32)

    return block
