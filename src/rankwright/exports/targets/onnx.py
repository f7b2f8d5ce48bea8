"""ONNX: trees as a TreeEnsembleRegressor, weighted sums of doubles in the library's own order.

A sum of both is added in doubles: leaves are on a grid, on which the float32 sum of trees is exact.
The file is written by hand: of the format, an ONNX model needs a dozen fields.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.exports.interpreters.onnx import onnx_model
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Labels, Linear, Rules, Trees
from rankwright.exports.targets.target import (
    Engine,
    Judge,
    Options,
    Rows,
    Target,
    Verdicts,
    Written,
)
from rankwright.threads import n_threads

_DEEPEST = 1000  # ONNX Runtime refuses deeper trees
_LANES = 8
_FLOAT, _INT64, _STRING, _DOUBLE = 1, 7, 8, 11  # types of tensors
_OPSETS = (("", 17), ("ai.onnx.ml", 3))
_IR_VERSION = 8


class ONNX(Target):
    """A model file."""

    name = "onnx"
    engine = "ONNX, opset 17 and ai.onnx.ml 3"
    suffix = ".onnx"
    holds = "trees, linear, both added, labels: exact for float32"
    number = "float32"
    arithmetic = "lanes"
    gives_labels = True
    judged_by = "the operators' definitions"

    def refusals(self, rules: Rules, options: Options) -> Iterator[Refusal]:
        """Yield why a model cannot go there."""
        if rules.trees is not None and len(rules.trees.nan_left):
            deepest = int(rules.trees.depths().max()) + 1
            if deepest > _DEEPEST:
                yield Refusal(
                    "deep",
                    f"a tree is {deepest:,} splits deep, and ONNX Runtime takes {_DEEPEST:,}",
                    "train with max_depth, or export it to c, java, lightgbm or xgboost",
                )

    def write(self, rules: Rules, options: Options) -> Written:
        """Return the model."""
        graph = _Graph(rules, options.name)
        if rules.linear is None:
            assert rules.trees is not None
            graph.add_trees(rules.trees)
        else:
            graph.add_sums(rules.linear, rules.trees)
        if rules.labels is not None:
            graph.add_labels(rules.labels)
        return Written(graph.model())

    def interpreter(self, content: bytes, rules: Rules, options: Options) -> Judge:
        """Return what computes the operators as they are defined."""
        return onnx_model(content, rules)

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield ONNX Runtime, if it is here; it gets what the interpreter has read."""
        if find_spec("onnxruntime") is None:
            return
        onnx_model(content, rules)
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = n_threads(None)
        session = onnxruntime.InferenceSession(content, settings, ["CPUExecutionProvider"])

        def judge(X: Rows) -> Verdicts:
            scores, *more = session.run(None, {"features": X.astype(np.float32)})
            scores = scores[:, 0] if scores.shape[1] == 1 else scores
            if rules.labels is None:
                return Verdicts(scores.astype(np.float64))
            places = [rules.labels.classes.index(label) for label in more[0].tolist()]
            return Verdicts(scores, np.array(places, dtype=np.int64))

        yield Engine(f"ONNX Runtime {onnxruntime.__version__}", judge)

    def steps(self, path: str, options: Options) -> list[str]:
        """Return how it is run."""
        return [
            f"use: onnxruntime.InferenceSession({path!r}).run(None, {{'features': X}}), X float32"
        ]


class _Graph:
    """A graph that grows from its input to its outputs."""

    def __init__(self, rules: Rules, name: str) -> None:
        self.rules, self.name = rules, name
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []
        self.outputs: list[bytes] = []

    def add(self, op: str, *inputs: str, to: str | None = None, n: int = 1, **more: Any) -> Any:
        """Add a node; return the name of its output, or the names of several."""
        own = [f"v{len(self.nodes)}_{i}" for i in range(n)] if to is None else [to]
        domain = "ai.onnx.ml" if op == "TreeEnsembleRegressor" else ""
        attributes = [_attribute_of(key, value) for key, value in more.items()]
        self.nodes.append(
            _message((1, list(inputs)), (2, own), (4, op), (5, attributes), (7, domain))
        )
        return own[0] if n == 1 else own

    def constant(self, value: NDArray[Any]) -> str:
        """Add a constant; return its name."""
        name = f"c{len(self.constants)}"
        kind = {"f": _DOUBLE, "i": _INT64}.get(value.dtype.kind, _STRING)
        # Field 9 are the bytes of numbers, field 6 are texts.
        data = (6, value.tolist()) if kind == _STRING else (9, value.tobytes())
        self.constants.append(_message((1, list(value.shape)), (2, kind), data, (8, name)))
        return name

    def add_trees(self, trees: Trees) -> None:
        """Add a sum of trees."""
        self.forest(trees, to="score")
        self.outputs.append(_value_info("score", _FLOAT, 1))

    def forest(self, trees: Trees, to: str | None = None) -> Any:
        """Add the trees; return the name of their sum, which is a float32."""
        return self.add("TreeEnsembleRegressor", "features", to=to, **_tree_attributes(trees))

    def add_sums(self, linear: Linear, trees: Trees | None = None) -> None:
        """Add weighted sums, of doubles; a missing value is what stands for it, but to trees."""
        x = self.add("Cast", "features", to_type=_DOUBLE)
        if linear.fill is not None:
            # Among float32 rows, what stands for a missing value is a float32 too.
            fill = self.constant(linear.fill.astype(np.float32).astype(np.float64)[None, :])
            x = self.add("Where", self.add("IsNaN", x), fill, x)
        scores = []
        for weights, bias in zip(linear.weights, linear.bias, strict=True):
            products = self.add("Mul", x, self.constant(weights[None, :]))
            total = self.lane_sum(products, len(weights))
            scores.append(self.add("Add", total, self.constant(np.array([[bias]]))))
        if trees is not None:
            forest = self.add("Cast", self.forest(trees), to_type=_DOUBLE)
            scores = [self.add("Add", forest, scores[0])]
        self.add("Concat", *scores, to="score", axis=1)
        self.outputs.append(_value_info("score", _DOUBLE, len(scores)))

    def lane_sum(self, products: str, n: int) -> str:
        """Add the sum over n columns in the order of the library (see ``interpreters.tables``)."""
        whole, rest = n // _LANES, n % _LANES
        parts = self.split(products, [_LANES] * whole + [1] * rest)
        lanes, found = parts[:whole], []
        if lanes:
            half = self.split(self.chain(lanes), [4, 4])
            quarter = self.split(self.chain(half), [1] * 4)
            found.append(self.chain([self.chain(quarter[:2]), self.chain(quarter[2:])]))
        if rest:
            found.append(self.chain(parts[whole:]))
        return self.chain(found)

    def split(self, value: str, sizes: list[int]) -> list[str]:
        """Add a split into so many columns each."""
        if len(sizes) == 1:
            return [value]
        widths = self.constant(np.array(sizes, dtype=np.int64))
        found: list[str] = self.add("Split", value, widths, n=len(sizes), axis=1)
        return found

    def chain(self, values: list[str]) -> str:
        """Add the sum of values, from the left to the right."""
        total = values[0]
        for value in values[1:]:
            total = self.add("Add", total, value)
        return total

    def add_labels(self, labels: Labels) -> None:
        """Add the label that scores decide."""
        if labels.thresholds is None:
            place = self.add("ArgMax", "score", axis=1, keepdims=0)
        else:
            reached = self.add("GreaterOrEqual", "score", self.constant(labels.thresholds[None, :]))
            one = self.add("Cast", reached, to_type=_INT64)
            place = self.add("ReduceSum", one, self.constant(np.array([1])), keepdims=0)
        classes = np.array(labels.classes)
        kind = {"f": _DOUBLE, "i": _INT64}.get(classes.dtype.kind, _STRING)
        self.add("Gather", self.constant(classes), place, to="label", axis=0)
        self.outputs.append(_value_info("label", kind))

    def model(self) -> bytes:
        """Return the file."""
        given = _value_info("features", _FLOAT, self.rules.n_features)
        graph = _message(
            (1, self.nodes), (2, self.name), (5, self.constants), (11, given), (12, self.outputs)
        )
        names = json.dumps(self.rules.names)
        return _message(
            (1, _IR_VERSION),
            (2, "rankwright"),
            (7, graph),
            (8, [_message((1, domain), (2, version)) for domain, version in _OPSETS]),
            (14, _message((1, "features"), (2, names))),
        )


def _tree_attributes(trees: Trees) -> dict[str, Any]:
    """Return the attributes of TreeEnsembleRegressor: of each tree its splits, then its leaves."""
    forest = trees.forest
    of_tree: list[NDArray[Any]] = []
    for k in range(trees.n_trees):
        nodes, leaves = trees.nodes(k), np.diff(forest.leaf_begin)[k]
        n, here = len(nodes), slice(nodes.start, nodes.stop)
        table = np.zeros((n + leaves, 7))
        table[:, 0], table[:, 1] = k, np.arange(n + leaves)
        for column, child in ((2, forest.left[here]), (3, forest.right[here])):
            table[:n, column] = np.where(child >= 0, child, n + ~child)
        table[:n, 4], table[:n, 5] = forest.feature[here], trees.nan_left[here]
        table[n:, 6] = 1
        of_tree.append(table)
    tree, node, left, right, feature, missing, is_leaf = np.concatenate(of_tree).astype(np.int64).T
    values = np.zeros(len(tree))
    values[is_leaf == 0] = trees.cuts["float32"]
    modes = np.where(is_leaf, "LEAF", "BRANCH_LEQ")
    return {
        "n_targets": 1,
        "nodes_falsenodeids": right.tolist(),
        "nodes_featureids": feature.tolist(),
        "nodes_missing_value_tracks_true": missing.tolist(),
        "nodes_modes": modes.tolist(),
        "nodes_nodeids": node.tolist(),
        "nodes_treeids": tree.tolist(),
        "nodes_truenodeids": left.tolist(),
        "nodes_values": values.tolist(),
        "target_ids": [0] * len(trees.leaf),
        "target_nodeids": node[is_leaf == 1].tolist(),
        "target_treeids": tree[is_leaf == 1].tolist(),
        "target_weights": trees.leaf.tolist(),
    }


def _attribute_of(name: str, value: Any) -> bytes:
    """Return an attribute; of a list, that of its first."""
    name = name.removesuffix("_type")  # ``to`` is the output here
    if not isinstance(value, list):
        return _message((1, name), (3, value), (20, 2))
    field, kind = {int: (8, 7), float: (7, 6), str: (9, 8)}[type(value[0])]
    return _message((1, name), (field, value), (20, kind))


def _value_info(name: str, kind: int, *columns: int) -> bytes:
    """Return an input or output: a row for each document, with so many columns."""
    rows = _message((2, "documents"))
    shape = _message((1, [rows, *(_message((1, n)) for n in columns)]))
    return _message((1, name), (2, _message((1, _message((1, kind), (2, shape))))))


def _message(*fields: tuple[int, Any]) -> bytes:
    """Return fields by number, as Protocol Buffers have them; of a list, each one."""
    found = []
    for number, value in fields:
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, int):
                found += [_varint(number << 3), _varint(one)]
            elif isinstance(one, float):
                found += [_varint(number << 3 | 5), struct.pack("<f", one)]
            else:
                data = one.encode() if isinstance(one, str) else one
                found += [_varint(number << 3 | 2), _varint(len(data)), data]
    return b"".join(found)


def _varint(number: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])
