"""Vespa: trees as a model that it imports, weighted sums as an expression of a rank profile.

A sum of both is a rank profile, too, whose trees are a function of their own, in the form that the
importer gives them: a sum of ``if(x < t, left, right)``, or ``if(!(x >= t), left, right)`` where
missing values, which are NaN, go left.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from rankwright.data.feature_names import listed
from rankwright.data.validation import Floats
from rankwright.exports.interpreters.vespa_expression import vespa_profile
from rankwright.exports.interpreters.vespa_json import vespa_json
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Labels, Linear, Rules, Trees
from rankwright.exports.targets.query_scores import too_deep
from rankwright.exports.targets.target import (
    Engine,
    Judge,
    Missing,
    Options,
    Target,
    Written,
)

_LEVELS = 500  # of splits: Vespa's parser calls itself for each
_LANES = 8
SCORE, LABEL, TREES = "model_score", "model_label", "model_trees"
"""What a rank profile calls what it computes."""
_WORD = r"[A-Za-z_][A-Za-z0-9_@$]*"
_NUMBER = r"-?[0-9]+(\.[0-9]+)?"
_TEXT = r'"[^"\\\s]*"'
_TOKEN = re.compile(rf"(?P<word>{_WORD})|(?P<value>{_NUMBER}|{_TEXT})|(?P<sign>[(),.])")
# What is a function or a word of expressions, and no feature.
_RESERVED = re.compile(
    "if|in|f|true|false|map|reduce|join|concat|rename|tensor|range|diag|random|argmax|argmin|"
    "cell_cast|expand|avg|count|prod|sum|max|min|median|cos|sin|tan|cosh|sinh|tanh|acos|asin|atan|"
    "exp|log10|log|sqrt|ceil|fabs|abs|floor|isNan|relu|sigmoid|elu|erf|bit|atan2|ldexp|pow|fmod|"
    "hamming"
)


class Vespa(Target):
    """``lightgbm("model.json")`` for trees alone, ``model.profile`` for all else."""

    name = "vespa"
    engine = "Vespa 8"
    holds = "trees, linear, both added, labels: exact for float32"
    number = "float32"
    arithmetic = "lanes"
    gives_labels = True
    judged_by = "Vespa's rules, read from source, not run"

    def refusals(self, rules: Rules, options: Options) -> Iterator[Refusal]:
        """Yield why a model cannot go there."""
        yield from too_deep(rules.trees, _LEVELS, "Vespa reads them by recursion")
        in_profile = rules.linear is not None
        if in_profile and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", options.name):
            yield Refusal(
                "names",
                f"a rank profile cannot be called {options.name!r}",
                "give a name of letters, digits, _ and -",
            )
        taken = [name for name in rules.names if name.startswith((SCORE, LABEL, TREES))]
        if in_profile and taken:
            yield Refusal(
                "names",
                f"{listed(taken)} are what the rank profile itself computes",
                "give other names",
            )
        strange = [name for name in rules.names if not is_rank_feature(name)]
        if strange:
            yield Refusal(
                "names",
                f"{listed(strange)} cannot be read as rank features, and vespa has no quotes for "
                "names",
                "give names such as attribute(price), bm25(title) or those of functions of the "
                "rank profile",
            )

    def missing(self, rules: Rules, options: Options) -> Missing:
        """Return what it does with a missing value, which is NaN there."""
        return "by-node"

    def write(self, rules: Rules, options: Options) -> Written:
        """Return a file for ``models``, or a rank profile."""
        warnings = []
        functions = [name for name in rules.names if re.fullmatch(_WORD, name)]
        if functions:
            warnings.append(f"the rank profile must have functions called {listed(functions)}")
        if rules.linear is None:
            assert rules.trees is not None
            return Written(_imported_model(rules.trees, rules.names), warnings=warnings)
        return Written(_profile(rules, rules.linear, options), warnings=warnings)

    def interpreter(self, content: bytes, rules: Rules, options: Options) -> Judge:
        """Return what scores as Vespa's source says."""
        if content.startswith(b"{"):
            return vespa_json(content, rules.names)
        return vespa_profile(content, rules.names, rules.labels)

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield nothing: its evaluators run in Vespa alone."""
        return iter(())

    def steps(self, path: str, options: Options) -> list[str]:
        """Return how it is deployed and used."""
        file = PurePath(path)
        query = f"use: vespa query 'select * from SCHEMA where true' 'ranking={options.name}'"
        if _is_profile(path):
            return [
                f"upload: cp {shlex.quote(path)} APPLICATION/schemas/SCHEMA/{options.name}.profile"
                " && vespa deploy APPLICATION",
                query,
            ]
        return [
            f"upload: cp {shlex.quote(path)} {shlex.quote(f'APPLICATION/models/{file.name}')}",
            f"in the schema: rank-profile {options.name} inherits default {{ first-phase {{ "
            f'expression: lightgbm("{file.name}") }} }}; then: vespa deploy APPLICATION',
            query,
        ]


def _is_profile(path: str) -> bool:
    """Tell whether a file is a rank profile; by its name, if it is not there."""
    try:
        with open(path, "rb") as file:
            return file.read(1) != b"{"
    except OSError:
        return path.endswith(".profile")


def is_rank_feature(name: str) -> bool:
    """Tell whether Vespa reads a name as one feature.

    A word; in brackets, if there are any, words, numbers, texts in quotes or features; and after a
    point, if there is one, which output is meant.

    >>> is_rank_feature("fieldMatch(title).completeness"), is_rank_feature("title-length")
    (True, False)
    """
    tokens, end = [], 0
    while end < len(name):
        found = _TOKEN.match(name, end)
        if found is None:
            return False
        tokens.append((found.lastgroup, found[0]))
        end = found.end()
    return _after_feature(tokens, 0) == len(tokens)


def _after_feature(tokens: Sequence[tuple[Any, str]], i: int) -> int:
    """Return where a feature that begins at ``i`` ends; -1 if none does."""
    tokens = [*tokens, ("end", "")]
    if tokens[i][0] != "word" or _RESERVED.fullmatch(tokens[i][1]):
        return -1
    i += 1
    if tokens[i][1] == "(":
        while True:
            kind = tokens[i + 1][0] if i + 1 < len(tokens) else None
            i = i + 2 if kind == "value" else _after_feature(tokens[:-1], i + 1)
            if i < 0 or tokens[i][1] not in (",", ")"):
                return -1
            if tokens[i][1] == ")":
                break
        i += 1
    while tokens[i][1] == ".":
        if tokens[i + 1][0] not in ("word", "value"):
            return -1
        i += 2
    return i


def _grown(trees: Trees) -> tuple[list[int], Floats, float]:
    """Return the trees that have splits, the leaves, and the sum of what has no splits.

    A tree of one leaf would be a number among the trees, of which Vespa makes no forest: such
    leaves, and the shift, are added to those of the first tree.
    """
    split = np.diff(trees.forest.node_begin) > 0
    alone = trees.leaf[trees.forest.leaf_begin[:-1][~split]]
    constant = trees.shift + float(alone.sum())  # exact on the grid
    growing = np.flatnonzero(split).tolist()
    values = trees.leaf.copy()
    if growing:
        values[slice(*trees.forest.leaf_begin[growing[0] : growing[0] + 2])] += constant
    return growing, values, constant


def _imported_model(trees: Trees, names: tuple[str, ...]) -> bytes:
    """Return trees as Vespa imports LightGBM's dump; ``<=`` is read as ``<``, hence the borders."""
    border, (growing, values, constant) = trees.borders(), _grown(trees)

    def leaf(i: int) -> str:
        return f'{{"leaf_value":{float(values[i])!r}}}'

    def node(i: int, left: str, right: str) -> str:
        return (
            f'{{"split_feature":{trees.forest.feature[i]},"threshold":{float(border[i])!r},'
            f'"decision_type":"<=","default_left":{"true" if trees.nan_left[i] else "false"},'
            f'"left_child":{left},"right_child":{right}}}'
        )

    roots = [trees.folded(k, leaf, node) for k in growing] or [f'{{"leaf_value":{constant!r}}}']
    info = ",".join(f'{{"tree_structure":{root}}}' for root in roots)
    return (
        f'{{"objective":"lambdarank","feature_names":{json.dumps(names)},"feature_infos":{{}},'
        f'"pandas_categorical":[],"tree_info":[{info}]}}\n'
    ).encode()


def forest_sum(trees: Trees, names: tuple[str, ...]) -> str:
    """Return trees as an expression, which Vespa takes for the forest that it is."""
    border, (growing, values, constant) = trees.borders(), _grown(trees)

    def leaf(i: int) -> str:
        return repr(float(values[i]))

    def node(i: int, left: str, right: str) -> str:
        x, t = names[trees.forest.feature[i]], repr(float(border[i]))
        test = f"!({x} >= {t})" if trees.nan_left[i] else f"{x} < {t}"
        return f"if({test}, {left}, {right})"

    return " + ".join([trees.folded(k, leaf, node) for k in growing] or [repr(constant)])


def _profile(rules: Rules, linear: Linear, options: Options) -> bytes:
    """Return a rank profile with functions for trees, for each score, and for the label."""
    labels, names = rules.labels, rules.names
    scores = (
        [SCORE]
        if len(linear.weights) == 1
        else [f"{SCORE}_{k}" for k in range(len(linear.weights))]
    )
    functions = {
        score: weighted_sum(linear.weights[k], float(linear.bias[k]), linear.fill, names)
        for k, score in enumerate(scores)
    }
    if rules.trees is not None:
        total = f"{TREES} + {functions[SCORE]}"  # a sum in brackets, hence added once
        functions = {TREES: forest_sum(rules.trees, names), SCORE: total}
    if labels is not None:
        functions[LABEL] = _label(labels, scores)
    lines = [f"rank-profile {options.name} inherits default {{"]
    for name, expression in functions.items():
        lines += [f"    function {name}() {{", f"        expression: {expression}", "    }"]
    first = SCORE if len(scores) == 1 else LABEL
    lines += ["    first-phase {", f"        expression: {first}", "    }"]
    if labels is not None:
        lines.append(f"    match-features: {' '.join(functions)}")
    return "\n".join([*lines, "}", ""]).encode()


def weighted_sum(weights: Floats, bias: float, fill: Floats | None, names: tuple[str, ...]) -> str:
    r"""Return an expression that rounds as the library does.

    With :math:`p_j = w_j x_j` and :math:`m` the largest multiple of 8 up to the number of features,

    .. math::
        \ell_i = p_i + p_{i+8} + \dots, \qquad
        s = ((\ell_0 + \ell_4) + (\ell_1 + \ell_5)) + ((\ell_2 + \ell_6) + (\ell_3 + \ell_7))
        + (p_m + p_{m+1} + \dots) + b.

    What is 0 is left out, which changes no sum.
    """
    blocks = len(weights) // _LANES * _LANES

    def total(parts: Sequence[str]) -> str:
        """Return a sum of what is there, from the left."""
        there = [part for part in parts if part]
        return there[0] if len(there) == 1 else f"({' + '.join(there)})" if there else ""

    def product(j: int) -> str:
        if weights[j] == 0:
            return ""
        x = names[j]
        if fill is not None:  # rows of float32 are filled with float32
            x = f"if(isNan({x}), {float(np.float32(fill[j]))!r}, {x})"
        return f"{float(weights[j])!r} * {x}"

    lane = [total([product(j) for j in range(i, blocks, _LANES)]) for i in range(_LANES)]
    pairs = [total([lane[i], lane[i + 4]]) for i in range(4)]
    full = total([total(pairs[:2]), total(pairs[2:])])
    rest = total([product(j) for j in range(blocks, len(weights))])
    return total([total([full, rest]), repr(bias) if bias != 0 else ""]) or "0.0"


def _label(labels: Labels, scores: list[str]) -> str:
    """Return an expression of the label: its number, or its place where labels are no numbers."""
    numbers = all(isinstance(one, int | float) for one in labels.classes)
    texts = [repr(one) for one in (labels.classes if numbers else range(len(labels.classes)))]
    found = texts[-1]
    if labels.thresholds is not None:
        for border, text in zip(labels.thresholds[::-1], texts[-2::-1], strict=True):
            if border == np.inf:
                found = text
            elif border != -np.inf:
                found = f"if({scores[0]} < {float(border)!r}, {text}, {found})"
        return found
    most = scores[-1]
    for score, text in zip(scores[-2::-1], texts[-2::-1], strict=True):
        found = f"if({score} >= {most}, {text}, {found})"
        most = f"max({score}, {most})"
    return found
