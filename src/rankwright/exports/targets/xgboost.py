"""XGBoost's own JSON: for its package, and for whatever reads its models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from rankwright.data.validation import Floats
from rankwright.exports.interpreters.xgboost_model import xgboost_model
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Rules, Trees
from rankwright.exports.targets.target import (
    Engine,
    Judge,
    Options,
    Rows,
    Target,
    Verdicts,
    Written,
    no_linear,
    no_mixture,
    no_names,
)
from rankwright.threads import n_threads

_NO_PARENT = 2147483647
_CATEGORIES = ("categories", "categories_nodes", "categories_segments", "categories_sizes")


class XGBoost(Target):
    """``Booster.save_model("model.json")``: trees."""

    name = "xgboost"
    engine = "XGBoost >= 1.7"
    holds = "trees, exact for float32"
    number = "float32"
    judged_by = "XGBoost's rule"

    def refusals(self, rules: Rules, options: Options) -> Iterator[Refusal]:
        """Yield why a model cannot go there."""
        yield from no_mixture(rules, self.name)
        if rules.trees is None:
            yield no_linear(self.name)
        wrong = [name for name in rules.names if set(name) & set("[]<")]
        yield from no_names(wrong, "XGBoost has no names with [, ] or <")

    def write(self, rules: Rules, options: Options) -> Written:
        """Return the model."""
        assert rules.trees is not None
        model = _xgboost_model(rules.trees, rules.names)
        # XGBoost reads UTF-8, and leaves escapes as they are.
        return Written(json.dumps(model, ensure_ascii=False).encode())

    def interpreter(self, content: bytes, rules: Rules, options: Options) -> Judge:
        """Return what scores as XGBoost's source says."""
        return xgboost_model(content, rules.names)

    def engines(self, content: bytes, rules: Rules, options: Options) -> Iterator[Engine]:
        """Yield XGBoost, if it is here; it gets what the interpreter has read."""
        if find_spec("xgboost") is None:
            return
        xgboost_model(content, rules.names)
        import xgboost

        booster = xgboost.Booster({"nthread": n_threads(None)})
        booster.load_model(bytearray(content))

        def judge(X: Rows) -> Verdicts:
            rows = xgboost.DMatrix(X.astype(np.float32), feature_names=list(rules.names))
            return Verdicts(booster.predict(rows, output_margin=True).astype(np.float64))

        yield Engine(f"XGBoost {xgboost.__version__}", judge)

    def steps(self, path: str, options: Options) -> list[str]:
        """Return how it is loaded."""
        return [f"use: xgboost.Booster(model_file={path!r}).predict(xgboost.DMatrix(X))"]


def _xgboost_model(trees: Trees, names: tuple[str, ...]) -> dict[str, Any]:
    border = trees.borders()
    parts = [_xgboost_tree(trees, k, border, len(names)) for k in range(trees.n_trees)]
    booster = {
        "gbtree_model_param": {"num_trees": str(len(parts)), "num_parallel_tree": "1"},
        "iteration_indptr": list(range(len(parts) + 1)),
        "tree_info": [0] * len(parts),
        "trees": parts,
    }
    learner = {
        "attributes": {},
        "feature_names": list(names),
        "feature_types": ["float"] * len(names),
        "gradient_booster": {"model": booster, "name": "gbtree"},
        "learner_model_param": {
            "base_score": "0E0",
            "boost_from_average": "0",
            "num_class": "0",
            "num_feature": str(len(names)),
            "num_target": "1",
        },
        "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
    }
    return {"learner": learner, "version": [2, 0, 0]}


def _xgboost_tree(trees: Trees, k: int, border: Floats, n_features: int) -> dict[str, Any]:
    """Return a tree. A right child is next to the left one: XGBoost looks for it there."""
    forest = trees.forest
    first_node, first_leaf = int(forest.node_begin[k]), int(forest.leaf_begin[k])
    waiting = [0 if trees.nodes(k) else ~0]  # splits, or ~leaf, in the order of their numbers
    rows, parents = [], [_NO_PARENT]
    for number, node in enumerate(waiting):  # which grows
        if node < 0:
            rows.append((-1, -1, 0, float(trees.leaf[first_leaf + ~node]), 0))
            continue
        i, left = first_node + node, len(waiting)
        condition = float(border[i])
        feature, default_left = int(forest.feature[i]), int(trees.nan_left[i])
        rows.append((left, left + 1, feature, condition, default_left))
        waiting += [int(forest.left[i]), int(forest.right[i])]
        parents += [number, number]
    lefts, rights, features, conditions, defaults = map(list, zip(*rows, strict=True))
    zeros = [0.0] * len(rows)
    return {
        "base_weights": zeros,
        **{key: [] for key in _CATEGORIES},
        "default_left": defaults,
        "id": k,
        "left_children": lefts,
        "loss_changes": zeros,
        "parents": parents,
        "right_children": rights,
        "split_conditions": conditions,
        "split_indices": features,
        "split_type": [0] * len(rows),
        "sum_hessian": zeros,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(n_features),
            "num_nodes": str(len(rows)),
            "size_leaf_vector": "1",
        },
    }
