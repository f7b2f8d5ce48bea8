"""A rank profile of Vespa: functions of rank features, in doubles, each operation rounded.

Of the language of expressions there is what linear and ordinal models need: numbers, features,
``+``, ``-``, ``*``, ``<``, ``>=``, ``if``, ``isNan`` and ``max``, where ``*`` goes before ``+`` and
``-``, these before comparisons, and equal ones from the left. The function ``model_trees`` is a
sum of trees, which Vespa evaluates as it does those that it imports (see ``vespa_json``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.exceptions import DataError
from rankwright.exports.interpreters.reading import reading
from rankwright.exports.interpreters.vespa_json import three_ways
from rankwright.exports.interpreters.walking import ReadTree
from rankwright.exports.rules import Labels
from rankwright.exports.targets.target import Judge, Verdicts

Value = Callable[[NDArray[Any]], Any]
"""What an expression gives for the columns of features."""

_FUNCTION = re.compile(r"function (\w+)\(\) \{\s+expression: ([^\n]*)\n\s*\}\s+")
_PROFILE = re.compile(
    rf"rank-profile [\w-]+ inherits default \{{\s+(?P<functions>({_FUNCTION.pattern})+)"
    r"first-phase \{\s+expression: (?P<first>\w+)\s+\}\s+(match-features: [\w ]+\s+)?\}\s*"
)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_CALL = re.compile(r"(if|isNan|max)\(")
_TREES = "model_trees"
_LEAF = re.compile(rf"-?{_NUMBER.pattern}")
_SPLIT = re.compile(
    rf"if\((?:!\((?P<missing_left>\S+) >= (?P<t>{_LEAF.pattern})\)"
    rf"|(?P<missing_right>\S+) < (?P<border>{_LEAF.pattern})), "
)
_ARGUMENTS = {"if": 3, "isNan": 1, "max": 2}
_FUNCTIONS: dict[str, Any] = {"if": np.where, "isNan": np.isnan, "max": np.maximum}
_OPERATORS: list[dict[str, Any]] = [
    {"<": np.less, ">=": np.greater_equal},
    {"+": np.add, "-": np.subtract},
    {"*": np.multiply},
]


def vespa_profile(content: bytes, names: Sequence[str], labels: Labels | None) -> Judge:
    """Return the scores of a rank profile, and its labels if it gives any."""
    with reading("a rank profile"):
        return _profile_scores(content.decode(), names, labels)


def _profile_scores(text: str, names: Sequence[str], labels: Labels | None) -> Judge:
    profile = _PROFILE.fullmatch(text)
    if profile is None:
        raise DataError("a rank profile must have functions and a first-phase, as it was exported.")
    functions: dict[str, Value] = {}
    for name, expression in _FUNCTION.findall(profile["functions"]):
        if name == _TREES:
            functions[name] = three_ways(_read_forest(expression, names))
        else:
            functions[name] = _Parser(expression, names, functions).whole()
    scores = [name for name in functions if name.startswith("model_score")]
    expected = {*scores, "model_label"} if labels is not None else {*scores}
    of_models = functions.keys() - {_TREES}
    if not scores or of_models != expected or profile["first"] not in of_models:
        raise DataError("functions must be model_score and, of ordinal models, model_label.")

    def judge(X: NDArray[Any]) -> Verdicts:
        columns = X.astype(np.float64).T

        def of(name: str) -> NDArray[Any]:
            return np.asarray(np.broadcast_to(functions[name](columns), len(X)), dtype=np.float64)

        with np.errstate(over="ignore", invalid="ignore"):
            found = np.stack([of(name) for name in scores], axis=1)
            label = None if labels is None else _places(of("model_label"), labels)
        return Verdicts(found[:, 0] if len(scores) == 1 else found, label)

    return judge


def _places(values: NDArray[Any], labels: Labels) -> NDArray[np.int64]:
    """Return the places of labels, given by their numbers, or by their places."""
    numbers = all(isinstance(one, int | float) for one in labels.classes)
    classes = np.array(labels.classes if numbers else range(len(labels.classes)), np.float64)
    order = np.argsort(classes)
    at = order[np.minimum(classes[order].searchsorted(values), len(classes) - 1)]
    if (classes[at] != values).any():
        raise DataError("the label that a rank profile gives must be one of the model's.")
    return np.asarray(at, dtype=np.int64)


def _read_forest(text: str, names: Sequence[str]) -> list[ReadTree]:
    """Return the trees of a sum."""
    places = {name: j for j, name in enumerate(names)}
    tree, at = _read_tree(text, 0, places)
    trees = [tree]
    while text.startswith(" + ", at):
        tree, at = _read_tree(text, at + len(" + "), places)
        trees.append(tree)
    if at != len(text):
        raise _unread(text, at)
    return trees


def _read_tree(text: str, at: int, places: dict[str, int]) -> tuple[ReadTree, int]:
    """Return a tree, and where it ends; nested as it is, a stack has what must still come."""
    tree = ReadTree()
    waiting: list[Any] = [([0], 0)]
    while waiting:
        wanted = waiting.pop()
        if isinstance(wanted, str):
            if not text.startswith(wanted, at):
                raise _unread(text, at)
            at += len(wanted)
            continue
        siblings, place = wanted
        found = _SPLIT.match(text, at) or _LEAF.match(text, at)
        if found is None:
            raise _unread(text, at)
        at = found.end()
        if found.re is _LEAF:
            siblings[place] = tree.add_leaf(float(found[0]))
            continue
        goes_left = found["missing_left"] is not None
        x, t = found.group(*(("missing_left", "t") if goes_left else ("missing_right", "border")))
        node = siblings[place] = tree.add_node(places[x], (float(t), goes_left))
        waiting += [")", (tree.right, node), ", ", (tree.left, node)]
    return tree, at


def _unread(text: str, at: int) -> DataError:
    return DataError(f"an expression cannot be read from {text[at:]!r:.60} on.")


class _Parser:
    """An expression, read from the left, each operator by its precedence."""

    def __init__(self, text: str, names: Sequence[str], functions: dict[str, Value]) -> None:
        self.text, self.at, self.functions = text, 0, functions
        self.places = {name: j for j, name in enumerate(names)}

    def whole(self) -> Value:
        found = self.binary(0)
        if self.at != len(self.text):
            raise self.error()
        return found

    def error(self) -> DataError:
        return _unread(self.text, self.at)

    def take(self, sign: str) -> bool:
        """Tell whether a sign is next, and pass it and spaces around it."""
        end = self.at
        while self.text[end : end + 1] == " ":
            end += 1
        if not self.text.startswith(sign, end):
            return False
        end += len(sign)
        while self.text[end : end + 1] == " ":
            end += 1
        self.at = end
        return True

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise self.error()

    def binary(self, level: int) -> Value:
        """Return operands with operators of a precedence between them, from the left."""
        if level == len(_OPERATORS):
            return self.operand()
        parts: list[tuple[Any, Value]] = [(None, self.binary(level + 1))]
        while True:
            sign = next((sign for sign in _OPERATORS[level] if self.take(sign)), None)
            if sign is None:
                break
            parts.append((_OPERATORS[level][sign], self.binary(level + 1)))
        if len(parts) == 1:
            return parts[0][1]

        def value(columns: NDArray[Any]) -> Any:
            found = parts[0][1](columns)
            for operator, part in parts[1:]:
                found = operator(found, part(columns))
            return found

        return value

    def operand(self) -> Value:
        if self.take("-"):
            inner = self.operand()
            return lambda columns: np.negative(inner(columns))
        if self.take("("):
            found = self.binary(0)
            self.need(")")
            return found
        if call := _CALL.match(self.text, self.at):
            self.at = call.end()
            return self.call(call[1])
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            constant = np.float64(number[0])
            return lambda columns: constant
        return self.feature()

    def call(self, name: str) -> Value:
        arguments = [self.binary(0)]
        while self.take(","):
            arguments.append(self.binary(0))
        self.need(")")
        if len(arguments) != _ARGUMENTS[name]:
            raise self.error()
        apply = _FUNCTIONS[name]
        return lambda columns: apply(*(argument(columns) for argument in arguments))

    def feature(self) -> Value:
        """Return a feature, or a function of the profile; of several that fit the longest."""
        end = self.end_of_name()
        name = self.text[self.at : end]
        if name in self.places:
            self.at, place = end, self.places[name]
            return lambda columns: columns[place]
        if name in self.functions:
            self.at = end
            return self.functions[name]
        raise self.error()

    def end_of_name(self) -> int:
        """Return where a name ends, brackets and all that is in them included."""
        depth, end = 0, self.at
        while end < len(self.text):
            sign = self.text[end]
            if depth == 0 and not re.match(r"[A-Za-z0-9_@$.(]", sign):
                break
            depth += (sign == "(") - (sign == ")")
            end += 1
        return end
