r"""The models of Solr's learning-to-rank module.

Of a float32 :math:`v`, which is the feature's default where it is missing, trees go

.. math:: \text{left} \iff v \le \mathrm{f32}(\mathrm{parse}(t) + 10^{-6}),

a missing value to the side that ``missing`` names, if ``isNullSameAsZero`` is false and the default
is NaN; otherwise the default is 0. The score begins at 0 and takes weight times leaf of each tree
in turn. A linear model begins at 0, a network of one layer at its bias, and both take
:math:`v_i w_i` in the order of their features. All is in float32, every product and every sum
rounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.exceptions import DataError
from rankwright.exports.interpreters.reading import float32_of, read_json, reading
from rankwright.exports.interpreters.walking import ReadTree, in_blocks
from rankwright.exports.targets.target import Judge, Verdicts

# What Float.parseFloat takes, but for numbers to the base 16.
_DECIMAL = re.compile(
    r"\s*[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?)\s*", re.ASCII
)
_SPLIT = {"feature", "threshold", "missing", "left", "right"}

Scores = Callable[[NDArray[Any]], NDArray[Any]]


def solr_json(content: bytes, names: Sequence[str]) -> Judge:
    """Return the scores of a model, by Solr's rule."""
    with reading("a model for Solr's model store"):
        return _solr_scores(read_json(content.decode()), list(names))


def _solr_scores(model: dict[str, Any], names: list[str]) -> Judge:
    kind = model["class"].rpartition(".")[2]
    readers = {
        "MultipleAdditiveTreesModel": _additive_trees,
        "LinearModel": _dot_product,
        "NeuralNetworkModel": _network_layer,
    }
    if kind not in readers:
        raise DataError(f"class must be one of {', '.join(readers)}, but is {kind!r:.100}.")
    features = [feature["name"] for feature in model["features"]]
    if len(set(features)) != len(features) or not set(features) <= set(names):
        raise DataError("features must be different ones of the feature store.")
    places = [names.index(name) for name in features]
    scores = readers[kind](model["params"], features)

    def judge(X: NDArray[Any]) -> Verdicts:
        return Verdicts(in_blocks(X.astype(np.float32)[:, places], scores).astype(np.float64))

    return judge


def _float_of_text(value: Any) -> Any:
    """Return the number of a text: Solr's setters take no JSON numbers."""
    if not isinstance(value, str):
        raise DataError(f"threshold, value and weight must be texts, but one is {value!r:.100}.")
    if not _DECIMAL.fullmatch(value):
        raise DataError(f"a number must be one that Java reads, but is {value!r:.100}.")
    return float32_of(value.strip().rstrip("fFdD"))


def _additive_trees(params: dict[str, Any], features: list[str]) -> Scores:
    if not params.keys() <= {"isNullSameAsZero", "trees"}:
        raise DataError("params must be isNullSameAsZero and trees.")
    null_is_zero = params.get("isNullSameAsZero", True)
    if not isinstance(null_is_zero, bool):
        raise DataError(f"isNullSameAsZero must be true or false, but is {null_is_zero!r:.100}.")
    trees = [
        (_float_of_text(tree["weight"]), _solr_tree(tree["root"], features, null_is_zero))
        for tree in params["trees"]
    ]

    def block(columns: NDArray[Any]) -> NDArray[Any]:
        if null_is_zero:
            columns = np.where(np.isnan(columns), np.float32(0), columns)
        score = np.zeros(columns.shape[1], dtype=np.float32)
        for weight, tree in trees:

            def goes_left(v: NDArray[Any], node: int, tree: ReadTree = tree) -> NDArray[np.bool_]:
                threshold, missing_left = tree.says[node]
                is_left: NDArray[np.bool_] = v <= threshold
                return is_left | np.isnan(v) if missing_left else is_left

            leaf = np.array(tree.leaf, dtype=np.float32)
            score = score + weight * leaf[tree.leaves_of(columns, goes_left)]
        return score

    return block


def _solr_tree(root: dict[str, Any], features: list[str], null_is_zero: bool) -> ReadTree:
    """Return a tree; nested as it is, it is read without functions that call themselves."""
    tree, places = ReadTree(), {name: j for j, name in enumerate(features)}
    rest: list[tuple[Any, list[int], int]] = [(root, [0], 0)]
    while rest:
        node, children, place = rest.pop()
        if "feature" not in node:
            if node.keys() != {"value"}:
                raise DataError("a leaf must have a value alone.")
            children[place] = tree.add_leaf(_float_of_text(node["value"]))
            continue
        if not _SPLIT - {"missing"} <= node.keys() <= _SPLIT:
            raise DataError(f"a split must have the keys {', '.join(sorted(_SPLIT))}.")
        if not null_is_zero and "missing" not in node:
            raise DataError("a split must say where missing values go: Solr fails without.")
        if node["feature"] not in places:
            children[place] = tree.add_leaf(np.float32(0))  # as Solr does, without a word
            continue
        threshold = _float_of_text(node["threshold"]) + np.float32(1e-6)
        says = threshold, not null_is_zero and node["missing"] == "left"
        i = tree.add_node(places[node["feature"]], says)
        children[place] = i
        rest += [(node["right"], tree.right, i), (node["left"], tree.left, i)]
    return tree


def _in_order(weights: list[Any], begin: Any) -> Scores:
    def block(columns: NDArray[Any]) -> NDArray[Any]:
        score = np.full(columns.shape[1], begin, dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for w, v in zip(weights, columns, strict=True):
                score = score + w * np.where(np.isnan(v), np.float32(0), v)
        return score

    return block


def _dot_product(params: dict[str, Any], features: list[str]) -> Scores:
    if params.keys() != {"weights"} or not params["weights"].keys() >= set(features):
        raise DataError("params must be weights, one for each feature.")
    return _in_order([_number32(params["weights"][name]) for name in features], 0)


def _network_layer(params: dict[str, Any], features: list[str]) -> Scores:
    layers = params["layers"]
    if len(layers) != 1 or layers[0]["activation"] != "identity" or len(layers[0]["matrix"]) != 1:
        raise DataError("layers must be one, of one row, and of the activation identity.")
    weights, bias = layers[0]["matrix"][0], layers[0]["bias"]
    for number in (*weights, *bias):
        if not isinstance(number, float):
            raise DataError(f"numbers of a layer must have a point, but one is {number!r:.100}.")
    if len(weights) != len(features) or len(bias) != 1:
        raise DataError("the layer must have a weight for each feature, and one bias.")
    return _in_order([_number32(w) for w in weights], _number32(bias[0]))


def _number32(number: Any) -> Any:
    """Return a JSON number as Java's ``floatValue``: of a double if it has a point, else exact."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise DataError(f"a weight must be a number, but is {number!r:.100}.")
    with np.errstate(over="ignore"):
        return np.float32(number) if isinstance(number, float) else float32_of(str(number))
