r"""ONNX models, by the definitions of the few operators that exports have.

A ``TreeEnsembleRegressor`` sends a float32 :math:`x`

.. math:: \text{to the true branch} \iff x \le t,

or if it is missing and ``nodes_missing_value_tracks_true``, and adds float32 leaves: here in the
order of the trees. All other operators are those of NumPy, with each product and sum rounded.
"""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwright.exceptions import DataError
from rankwright.exports.interpreters.walking import ReadTree, in_blocks
from rankwright.exports.rules import Rules
from rankwright.exports.targets.target import Judge, Verdicts

Fields: TypeAlias = dict[int, list[Any]]
"""Of a message: each value of a field, in turn."""

_TYPES: dict[int, Any] = {1: np.float32, 7: np.int64, 11: np.float64}


def onnx_model(content: bytes, rules: Rules) -> Judge:
    """Return what a model says of rows; a DataError if it has anything else."""
    try:
        model = _message_fields(content)
        graph = _message_fields(model[7][0])
        told = {_text(one, 1): _text(one, 2) for one in map(_message_fields, model[14])}
        if json.loads(told["features"]) != list(rules.names):
            raise DataError("the model must have the features that were exported, by their names.")
        constants = {_text(one, 8): _tensor(one) for one in map(_message_fields, graph.get(5, []))}
        nodes = [_Node(_message_fields(one)) for one in graph[1]]
        outputs = [_text(_message_fields(one), 1) for one in graph[12]]
    except (KeyError, IndexError, ValueError, TypeError, struct.error):
        raise DataError("this is no ONNX model of the form that was exported.") from None
    if outputs != ["score"] + ["label"] * (rules.labels is not None):
        raise DataError("the model must have the outputs that were exported.")

    def block(columns: NDArray[Any]) -> NDArray[Any]:
        values = {**constants, "features": columns.T}
        for node in nodes:
            found = node.run(*(values[name] for name in node.inputs))
            values.update(zip(node.outputs, found, strict=True))
        parts = [values["score"].astype(np.float64)]
        if rules.labels is not None:
            places = [rules.labels.classes.index(one) for one in values["label"].tolist()]
            parts.append(np.array(places, dtype=np.float64)[:, None])
        return np.concatenate(parts, axis=1)

    def judge(X: NDArray[Any]) -> Verdicts:
        found = in_blocks(X.astype(np.float32), block)
        n = found.shape[1] - (rules.labels is not None)
        labels = None if rules.labels is None else found[:, -1].astype(np.int64)
        return Verdicts(found[:, 0] if n == 1 else found[:, :n], labels)

    return judge


class _Node:
    """An operator with its inputs and outputs, by name."""

    def __init__(self, said: Fields) -> None:
        self.inputs = [name.decode() for name in said.get(1, [])]
        self.outputs = [name.decode() for name in said[2]]
        self.attributes = {
            _text(one, 1): _attribute_value(one) for one in map(_message_fields, said.get(5, []))
        }
        op = _text(said, 4)
        if op == "TreeEnsembleRegressor":
            self.compute = _ensemble_sum(self.attributes)
        else:
            self.compute = _OPERATORS[op]

    def run(self, *given: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the outputs of inputs."""
        with np.errstate(invalid="ignore"):
            found = self.compute(*given, **self.attributes)
        return found if isinstance(found, list) else [found]


def _of_one_type(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator that, unlike NumPy's, has operands of one type."""

    def strict(a: NDArray[Any], b: NDArray[Any]) -> Any:
        if a.dtype != b.dtype:
            raise DataError(f"operands must be of one type, but are {a.dtype} and {b.dtype}.")
        return compute(a, b)

    return strict


_OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": _of_one_type(np.add),
    "ArgMax": lambda x, axis, keepdims: x.argmax(axis),
    "Cast": lambda x, to: x.astype(_TYPES[to]),
    "Concat": lambda *parts, axis: np.concatenate(parts, axis),
    "Gather": lambda x, places, axis: x.take(places, axis),
    "GreaterOrEqual": _of_one_type(np.greater_equal),
    "IsNaN": np.isnan,
    "Mul": _of_one_type(np.multiply),
    "ReduceSum": lambda x, axes, keepdims: x.sum(tuple(axes)),
    "Split": lambda x, sizes, axis: np.split(x, np.cumsum(sizes)[:-1], axis),
    "Where": np.where,
}


def _ensemble_sum(said: dict[str, Any]) -> Callable[..., NDArray[Any]]:
    """Return the sum of trees."""
    nodes = ["treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids"]
    nodes.append("missing_value_tracks_true")
    leaves = zip(*(said[f"target_{key}"] for key in ("treeids", "nodeids", "weights")), strict=True)
    weight = {(tree, node): np.float32(value) for tree, node, value in leaves}
    trees: dict[int, ReadTree] = defaultdict(ReadTree)
    places: dict[tuple[int, int], int] = {}
    children = []
    for k, i, mode, feature, value, yes, no, missing in zip(
        *(said[f"nodes_{key}"] for key in nodes), strict=True
    ):
        if mode == b"LEAF":
            places[k, i] = trees[k].add_leaf(weight[k, i])
        elif mode == b"BRANCH_LEQ":
            places[k, i] = trees[k].add_node(feature, (np.float32(value), bool(missing)))
            children.append((k, places[k, i], (k, yes), (k, no)))
        else:
            raise ValueError
    for k, place, yes, no in children:
        trees[k].left[place], trees[k].right[place] = places[yes], places[no]
        if 0 <= places[yes] <= place or 0 <= places[no] <= place:
            raise ValueError  # in a circle

    def compute(X: NDArray[Any], **_: Any) -> NDArray[Any]:
        columns, score = np.ascontiguousarray(X.T), np.zeros(len(X), dtype=np.float32)
        for tree in trees.values():

            def to_true(x: NDArray[Any], node: int, tree: ReadTree = tree) -> NDArray[np.bool_]:
                t, tracks_true = tree.says[node]
                found: NDArray[np.bool_] = (x <= t) | (np.isnan(x) & tracks_true)
                return found

            leaf = np.array(tree.leaf, dtype=np.float32)
            score = score + leaf[tree.leaves_of(columns, to_true)]
        return score[:, None]

    return compute


def _attribute_value(said: Fields) -> Any:
    """Return the value of an attribute, by its type."""
    kind = said[20][0]
    return said[3][0] if kind == 2 else said[{6: 7, 7: 8, 8: 9}[kind]]


def _tensor(said: Fields) -> NDArray[Any]:
    shape, kind = said.get(1, []), said[2][0]
    if kind in _TYPES:
        return np.frombuffer(said[9][0], dtype=_TYPES[kind]).reshape(shape)
    return np.array([text.decode() for text in said[6]]).reshape(shape)


def _text(said: Fields, number: int) -> str:
    return str(said[number][0].decode())


def _message_fields(data: bytes) -> Fields:
    """Return the fields of a message of Protocol Buffers."""
    found: Fields = defaultdict(list)
    place = 0

    def varint() -> int:
        nonlocal place
        number = shift = 0
        while True:
            byte = data[place]
            place, number, shift = place + 1, number | (byte & 127) << shift, shift + 7
            if byte < 128:
                return number

    while place < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            found[key >> 3].append(varint())
        elif kind == 5:
            found[key >> 3].append(struct.unpack_from("<f", data, place)[0])
            place += 4
        elif kind == 2:
            size = varint()
            found[key >> 3].append(data[place : place + size])
            place += size
        else:
            raise ValueError
    return dict(found)
