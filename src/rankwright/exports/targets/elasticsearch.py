"""The learning-to-rank plugin of Elasticsearch (o19s)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from rankwright.exports.interpreters.xgboost_json import xgboost_json
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Rules, Trees
from rankwright.exports.targets.target import Engine, Judge, Options, Target, Written, no_linear

Part: TypeAlias = tuple[int, str]  # a node's number, and its text


class Elasticsearch(Target):
    """``model/xgboost+json``: trees."""

    name = "elasticsearch"
    engine = "o19s LTR >= 1.5.9"
    holds = "trees, exact"
    number = "float32"
    shifted = True
    judged_by = "the plugin's rule"

    def refusals(self, rules: Rules, options: Options) -> Iterator[Refusal]:
        """Yield why a model cannot go there."""
        if rules.trees is None:
            yield no_linear(self.name)

    def write(self, rules: Rules, options: Options) -> Written:
        """Return the body of ``_createmodel``."""
        assert rules.trees is not None
        model = {
            "type": "model/xgboost+json",
            "definition": xgboost_trees(rules.trees, rules.names),
        }
        body = {"model": {"name": options.name, "model": model}}
        return Written(json.dumps(body).encode())

    def interpreter(self, content: bytes, rules: Rules, options: Options) -> Judge:
        """Return what scores as the plugin's source says."""
        definition = json.loads(content)["model"]["model"]["definition"]
        return xgboost_json(definition, rules.names, options.missing)

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield nothing: the plugin runs in Elasticsearch alone."""
        return iter(())

    def steps(self, path: str, options: Options) -> list[str]:
        """Return how it is uploaded and used."""
        return []


def xgboost_trees(trees: Trees, names: tuple[str, ...]) -> str:
    """Return trees as XGBoost's dump has them; a shift is a first tree of one leaf."""
    # x <= c iff x < the next float32; JSON has no infinity, but the engine's float of 1e39 is it
    border = np.nextafter(trees.cuts["float32"], np.float32(np.inf))
    border = np.minimum(border.astype(np.float64), 1e39)
    depth, quoted = trees.depths(), [json.dumps(name) for name in names]
    n_nodes = len(depth)

    def leaf(i: int) -> Part:
        return n_nodes + i, f'{{"nodeid":{n_nodes + i},"leaf":{float(trees.leaf[i])!r}}}'

    def node(i: int, left: Part, right: Part) -> Part:
        missing = left if trees.nan_left[i] else right
        return i, (
            f'{{"nodeid":{i},"depth":{depth[i]},"split":{quoted[trees.forest.feature[i]]},'
            f'"split_condition":{float(border[i])!r},"yes":{left[0]},"no":{right[0]},'
            f'"missing":{missing[0]},"children":[{left[1]},{right[1]}]}}'
        )

    shift = [] if trees.shift == 0 else [f'{{"nodeid":0,"leaf":{trees.shift!r}}}']
    dumped = [trees.folded(k, leaf, node)[1] for k in range(trees.n_trees)]
    return f"[{','.join(shift + dumped)}]"
