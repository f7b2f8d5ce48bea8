"""What texts mean, whoever wrote them: formats typed from the engines' sources, scores by hand.

A writer and an interpreter that err alike agree with each other; with these they do not. All texts
are of two trees,

    price <= 0.5, or missing: 0.25, else -0.5        bm25 <= -3: 1, else, or missing: 4
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwright.exports.interpreters.tables import by_tables
from rankwright.exports.rules import Rules
from rankwright.exports.targets.registry import target_named
from rankwright.exports.targets.target import Options

GOLDEN = Path(__file__).parents[1] / "golden" / "exports"
NAN = float("nan")
# The float32 after 0.5 and after -3: an engine that asks x < t must be given these.
AFTER_HALF, AFTER_MINUS_3 = 0.5000000596046448, -2.999999761581421
# bm25, price, and the score.
ROWS = [
    (-3.0, 0.5, 1.25),
    (-3.0, AFTER_HALF, 0.5),
    (AFTER_MINUS_3, 0.5, 4.25),
    (AFTER_MINUS_3, AFTER_HALF, 3.5),
    (-3.0000002384185791, 0.4999999701976776, 1.25),  # the float32 before them
    (NAN, NAN, 4.25),
    (-9.0, NAN, 1.25),
    (NAN, 9.0, 3.5),
    (0.0, -0.0, 4.25),
    (3.4028234663852886e38, -3.4028234663852886e38, 4.25),
]

PLUGIN = """[{"nodeid":0,"leaf":2.0},
{"nodeid":0,"depth":0,"split":"price","split_condition":0.5000000596046448,"yes":1,"no":2,
 "missing":1,"children":[{"nodeid":1,"leaf":0.25},{"nodeid":2,"leaf":-0.5}]},
{"nodeid":0,"depth":0,"split":"bm25","split_condition":-2.999999761581421,"yes":1,"no":2,
 "missing":2,"children":[{"nodeid":1,"leaf":1},{"nodeid":2,"leaf":4}]}]"""
# 0.49999899 and -3.000001 become 0.5 and -3 when 1e-6 is added in float32.
SOLR = """{"class":"org.apache.solr.ltr.model.MultipleAdditiveTreesModel","name":"m1",
"store":"shop","features":[{"name":"price"},{"name":"bm25"}],
"params":{"isNullSameAsZero":false,"trees":[{"weight":"1","root":
 {"feature":"price","threshold":"0.4999989867210388","missing":"left","left":{"value":"0.25"},
  "right":{"value":"-0.5"}}},{"weight":"1","root":
 {"feature":"bm25","threshold":"-3.000001","missing":"right","left":{"value":"1"},
  "right":{"value":"4"}}},{"weight":"1","root":{"value":"2"}}]}}"""
VESPA = """{"objective":"lambdarank","feature_names":["price","bm25"],"feature_infos":{},
"pandas_categorical":[],"tree_info":[
{"tree_structure":{"split_feature":0,"threshold":0.5000000596046448,"decision_type":"<=",
 "default_left":true,"left_child":{"leaf_value":0.25},"right_child":{"leaf_value":-0.5}}},
{"tree_structure":{"split_feature":1,"threshold":-2.999999761581421,"decision_type":"<=",
 "default_left":false,"left_child":{"leaf_value":1},"right_child":{"leaf_value":4}}}]}"""
ELASTIC = """{"trained_model":{"ensemble":{"feature_names":["bm25","price"],
"target_type":"regression","aggregate_output":{"weighted_sum":{}},"trained_models":[
{"tree":{"feature_names":["bm25","price"],"target_type":"regression","tree_structure":[
 {"node_index":0,"decision_type":"lte","split_feature":1,"threshold":0.5,"default_left":true,
  "left_child":1,"right_child":2,"number_samples":9},
 {"node_index":1,"leaf_value":0.25,"number_samples":5},
 {"node_index":2,"leaf_value":-0.5,"number_samples":4}]}},
{"tree":{"feature_names":["bm25","price"],"target_type":"regression","tree_structure":[
 {"node_index":0,"decision_type":"lte","split_feature":0,"threshold":-3.0,"default_left":false,
  "left_child":1,"right_child":2,"number_samples":9},
 {"node_index":1,"leaf_value":1,"number_samples":5},
 {"node_index":2,"leaf_value":4,"number_samples":4}]}}]}}}"""
RANKLIB = """## LambdaMART

<ensemble>
<tree id="1" weight="1.0">
<split><feature> 2 </feature><threshold> 0.5 </threshold><split pos="left"><output> 0.25 </output>\
</split><split pos="right"><output> -0.5 </output></split></split>
</tree>
<tree id="2" weight="1.0">
<split><feature> 1 </feature><threshold> -3.0 </threshold><split pos="left"><output> 1 </output>\
</split><split pos="right"><output> 4 </output></split></split>
</tree>
</ensemble>
"""
LIGHTGBM = """tree
version=v4
feature_names=bm25 price
tree_sizes=1 1

Tree=0
split_feature=1
threshold=0.5
decision_type=10
left_child=-1
right_child=-2
leaf_value=0.25 -0.5


Tree=1
split_feature=0
threshold=-3
decision_type=8
left_child=-1
right_child=-2
leaf_value=1 4


end of trees
"""
SQL = """CREATE VIEW "model" AS SELECT *, (CAST(CASE WHEN "price" > 5e-1 AND "price" <= \
1.7976931348623157e+308 THEN -5e-1 ELSE 2.5e-1 END AS DOUBLE) + CAST(CASE WHEN "bm25" <= -3e0 \
THEN 1e0 ELSE 4e0 END AS DOUBLE)) AS "score" FROM "features";
"""


def plugin_body() -> str:
    model = {"type": "model/xgboost+json", "definition": PLUGIN}
    return json.dumps({"model": {"name": "m1", "model": model}})


def xgboost_model() -> str:
    """Return a model as ``Booster.save_model`` writes it, of what is read."""

    def stump(feature: int, t: float, left: int, leaves: tuple[float, float]) -> dict[str, Any]:
        return {
            "left_children": [1, -1, -1],
            "right_children": [2, -1, -1],
            "split_indices": [feature, 0, 0],
            "split_conditions": [t, *leaves],
            "split_type": [0, 0, 0],
            "default_left": [left, 0, 0],
            "tree_param": {"num_nodes": "3"},
        }

    trees = [stump(1, AFTER_HALF, 1, (0.25, -0.5)), stump(0, AFTER_MINUS_3, 0, (1, 4))]
    booster = {
        "gbtree_model_param": {"num_trees": "2", "num_parallel_tree": "1"},
        "tree_info": [0, 0],
        "iteration_indptr": [0, 1, 2],
        "trees": trees,
    }
    learner = {
        "feature_names": ["bm25", "price"],
        "learner_model_param": {
            "base_score": "0E0",
            "num_feature": "2",
            "num_class": "0",
            "num_target": "1",
        },
        "objective": {"name": "reg:squarederror"},
        "gradient_booster": {"model": booster},
    }
    return json.dumps({"learner": learner})


# The text, and what it adds to every score.
TEXTS: dict[str, tuple[str, float]] = {
    "elasticsearch": (plugin_body(), 2.0),
    "opensearch": (plugin_body(), 2.0),
    "solr": (SOLR, 2.0),
    "vespa": (VESPA, 0.0),
    "elastic": (ELASTIC, 0.0),
    "ranklib": (RANKLIB, 0.0),
    "lightgbm": (LIGHTGBM, 0.0),
    "xgboost": (xgboost_model(), 0.0),
    "sql": (SQL, 0.0),
}


@pytest.mark.parametrize("name", TEXTS)
def test_scores_are_those_computed_by_hand(name: str) -> None:
    target, (text, constant) = target_named(name), TEXTS[name]
    judge = target.interpreter(text.encode(), Rules("", ("bm25", "price")), Options())
    *features, expected = np.array(ROWS).T
    found = judge(np.stack(features, axis=1).astype(target.number)).scores
    np.testing.assert_array_equal(found, expected + constant)


def test_tables_of_programs_are_read_by_the_same_rule() -> None:
    tables: dict[str, list[Any]] = {
        "feature": [1, 0],
        "cut": [0.5, -3.0],
        "missing_left": [1, 0],
        "left": [-1, -3],
        "right": [-2, -4],
        "root": [0, 1],
        "leaf": [0.25, -0.5, 1.0, 4.0],
    }
    *features, expected = np.array(ROWS).T
    found = by_tables(tables, 2, None)(np.stack(features, axis=1)).scores
    np.testing.assert_array_equal(found, expected)


def test_a_model_of_onnx_by_its_leaves() -> None:
    """Of the trees in ``tiny-trees.lightgbm``, by eye: bytes cannot be typed."""
    judge = target_named("onnx").interpreter(
        (GOLDEN / "tiny-trees.onnx").read_bytes(), Rules("", ("bm25", "price", "age")), Options()
    )
    cut = -1.059741973876953
    rows = [
        (0.0, 2.0, 0.0934356389 + 0.0679900130),
        (cut, 2.0, -0.0051971659 + 0.0581777413),
        (float(np.nextafter(np.float32(cut), np.float32(0))), 2.0, 0.0934356389 + 0.0581777413),
        (cut, 1.5, -0.0051971659 - 0.0423380313),
        (cut, float(np.nextafter(np.float32(1.5), np.float32(2))), -0.0051971659 + 0.0581777413),
        (0.0, 1e-35, -0.0071334698 + 0.0679900130),  # read as 0, which goes left
        (0.0, -1e-35, -0.0071334698 + 0.0679900130),  # read as 0, which is not below -1e-35
        (0.0, -1.1e-35, -0.0718603390 - 0.0699092888),
        (NAN, NAN, -0.0071334698 + 0.0679900130),
    ]
    X = np.array([(bm25, price, 0.0) for bm25, price, _ in rows], dtype=np.float32)
    off = np.asarray(judge(X).scores) - [score for *_, score in rows]
    assert np.abs(off).max() < 1e-7
