"""The trees of a model for other engines: ONNX, compiled C, XGBoost."""

from __future__ import annotations

import json
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np


def write_onnx(text: Path, path: Path) -> None:
    """Convert LightGBM's text by onnxmltools."""
    convert = import_module("onnxmltools").convert_lightgbm
    types = import_module("onnxmltools.convert.common.data_types")
    booster = import_module("lightgbm").Booster(model_file=text)
    shape = types.FloatTensorType([None, booster.num_feature()])
    path.write_bytes(convert(booster, initial_types=[("X", shape)]).SerializeToString())


def write_compiled(text: Path, path: Path) -> None:
    """Compile treelite's form of LightGBM's text by tl2cgen; this takes minutes."""
    model = import_module("treelite").frontend.load_lightgbm_model(text)
    import_module("tl2cgen").export_lib(
        model, toolchain="gcc", libpath=str(path), params={"parallel_comp": 8}
    )


def write_xgboost(model: Path, path: Path) -> None:
    """Write a model of rankwright as XGBoost's JSON: its splits go left for x < t, in float32."""
    import rankwright
    from rankwright.trees.forest import Forest

    ranker = rankwright.load(model)
    forest = Forest.from_text(ranker.model_text_, ranker.n_features_in_)
    content = _empty_xgboost(forest.n_features)
    trees = [_xgboost_tree(forest, t) for t in range(forest.n_trees)]
    body = content["learner"]["gradient_booster"]["model"]
    body["trees"] = trees
    body["tree_info"] = [0] * len(trees)
    body["iteration_indptr"] = list(range(len(trees) + 1))
    body["gbtree_model_param"]["num_trees"] = str(len(trees))
    path.write_text(json.dumps(content))


def _empty_xgboost(n_features: int) -> Any:
    """Return the JSON of a model that XGBoost has trained, to put other trees into."""
    xgboost = import_module("xgboost")
    X = np.random.default_rng(0).normal(size=(20, n_features))
    data = xgboost.DMatrix(X, X[:, 0])
    booster = xgboost.train({"max_depth": 1, "base_score": 0.0}, data, 1)
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "model.json"
        booster.save_model(name)
        return json.loads(name.read_text())


def _xgboost_tree(forest: Any, t: int) -> dict[str, Any]:
    """Return a tree; node i stays node i, and leaf j becomes node n_nodes + j."""
    from rankwright.trees.forest import cut

    nodes = slice(*forest.node_begin[t : t + 2])
    leaves = forest.leaf_value[slice(*forest.leaf_begin[t : t + 2])]
    n, size = len(leaves) - 1, 2 * len(leaves) - 1
    children = [np.where(c < 0, n + ~c, c) for c in (forest.left[nodes], forest.right[nodes])]
    parents = np.full(size, 2**31 - 1)
    for child in children:
        parents[child] = np.arange(n)
    above = np.nextafter(cut(forest.threshold[nodes], np.float32), np.float32(np.inf))
    nothing = np.full(len(leaves), -1)

    def both(of_nodes: Any, of_leaves: Any) -> list[Any]:
        return list(np.concatenate([of_nodes, of_leaves]).tolist())

    return {
        "base_weights": [0.0] * size,
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": both((forest.threshold[nodes] >= 0).astype(int), 0 * nothing),
        "id": t,
        "left_children": both(children[0], nothing),
        "loss_changes": [0.0] * size,
        "parents": parents.tolist(),
        "right_children": both(children[1], nothing),
        "split_conditions": both(above.astype(float), leaves),
        "split_indices": both(forest.feature[nodes], 0 * nothing),
        "split_type": [0] * size,
        "sum_hessian": [1.0] * size,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(forest.n_features),
            "num_nodes": str(size),
            "size_leaf_vector": "1",
        },
    }
