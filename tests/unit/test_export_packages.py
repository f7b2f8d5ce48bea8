"""LightGBM's text, XGBoost's JSON and ONNX: details of the formats, and files that were changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.exports import Options, Refusal
from rankwright.exports.exporting import prepared
from rankwright.exports.targets.registry import target_named
from tests.contracts.exported_models import MODELS, ROWS
from tests.contracts.test_export_bits import ranker
from tests.reference.forest import NAN, Split


def written(target: str, model: Any) -> tuple[bytes, Any]:
    rules = prepared(model, target_named(target), Options(), None, None, frozenset())[0]
    return target_named(target).write(rules, Options()).content, rules


def test_lightgbm_has_the_names_and_our_bits(tmp_path: Path) -> None:
    import lightgbm

    model, names = MODELS["trees"](), [f"price{j}" for j in range(8)]
    options: Any = {"names": names, "data": ROWS, "probes": 3000}
    certificate = rw.export(model, "lightgbm", tmp_path / "m.txt", **options)
    assert certificate.leaves == "own"
    assert certificate.bound == 0
    booster = lightgbm.Booster(model_file=tmp_path / "m.txt")
    assert booster.feature_name() == names
    np.testing.assert_array_equal(booster.predict(ROWS), model.predict(ROWS))


@pytest.mark.parametrize(
    ("target", "name"),
    [("lightgbm", "a b"), ("lightgbm", "a:b"), ("lightgbm", "[a]"), ("xgboost", "a<b")],
)
def test_names_that_they_have_not(target: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refused:
        rw.export(MODELS["stump"](), target, tmp_path / "m", names=[name, *"bcdefgh"])
    assert refused.value.code == "names"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"split_feature=", b"split_feature=9"),
        (b"left_child=1", b"left_child=0"),
        (b"left_child=1", b"left_child=77"),
        (b"feature_names=f1", b"feature_names=g1"),
        (b"decision_type=1", b"decision_type=11"),
        (b"\nTree=1\n", b"\nTree=one\n\nTree=1\n"),
    ],
)
def test_lightgbm_gets_trees_alone(old: bytes, new: bytes) -> None:
    content, rules = written("lightgbm", MODELS["trees"]())
    assert old in content
    found, changed = target_named("lightgbm"), content.replace(old, new, 1)
    with pytest.raises(DataError):
        found.interpreter(changed, rules, Options())
    with pytest.raises(DataError):
        list(found.engines(changed, rules, Options()))


def test_xgboost_looks_for_a_right_child_beside_the_left() -> None:
    content, rules = written("xgboost", MODELS["one tree"]())
    model = json.loads(content)
    tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
    splits = [i for i, child in enumerate(tree["left_children"]) if child != -1]
    assert all(tree["right_children"][i] == tree["left_children"][i] + 1 for i in splits)
    tree["left_children"][0], tree["right_children"][0] = 2, 1
    with pytest.raises(DataError, match="no model of XGBoost"):
        target_named("xgboost").interpreter(json.dumps(model).encode(), rules, Options())


def test_xgboost_has_no_infinities() -> None:
    content, rules = written("xgboost", MODELS["infinite threshold"]())
    assert b"1e+39" in content
    assert b"Infinity" not in content
    json.loads(content, parse_constant=pytest.fail)
    judge = target_named("xgboost").interpreter(content, rules, Options())
    X = np.zeros((2, 8), dtype=np.float32)
    X[0, 4], X[1, 4] = np.finfo(np.float32).max, np.nan
    first, second = np.asarray(judge(X).scores).tolist()
    assert first != second


def changed_values(content: bytes, path: list[Any], value: Any) -> bytes:
    model = json.loads(content)
    inner = model["learner"]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(model).encode()


TREE = ["gradient_booster", "model", "trees", 0]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["learner_model_param", "base_score"], "5E-1"),
        (["objective", "name"], "binary:logistic"),
        (["feature_names", 0], "other"),
        ([*TREE, "split_indices", 0], 99),
        ([*TREE, "split_type", 0], 1),
        ([*TREE, "left_children"], []),
        (["gradient_booster", "model", "tree_info"], [1]),
    ],
)
def test_xgboost_gets_one_sum_of_trees(path: list[Any], value: Any) -> None:
    content, rules = written("xgboost", MODELS["one tree"]())
    changed = changed_values(content, path, value)
    with pytest.raises(DataError):
        target_named("xgboost").interpreter(changed, rules, Options())


def chain(depth: int) -> Any:
    tree: Any = 0.5
    for i in range(depth):
        tree = Split(i % 4, i / 10, NAN, True, tree, -0.5)
    return ranker([tree])


def test_onnx_runtime_takes_trees_of_a_thousand_levels(tmp_path: Path) -> None:
    assert rw.export(chain(1000), "onnx", tmp_path / "m.onnx", probes=500).exact
    with pytest.raises(Refusal) as refused:
        rw.export(chain(1001), "onnx", tmp_path / "n.onnx")
    assert refused.value.code == "deep"


@pytest.mark.parametrize("model", ["one tree", "linear with imputation", "prank"])
def test_changed_bytes_of_onnx_are_refused_or_tell(model: str) -> None:
    content, rules = written("onnx", MODELS[model]())
    target, X = target_named("onnx"), ROWS[:50] if model != "prank" else np.nan_to_num(ROWS[:50])
    assert target.interpreter(content, rules, Options())(X).scores is not None
    rng = np.random.default_rng(0)
    refused = 0
    for at in rng.choice(len(content), 100, replace=False):
        changed = bytearray(content)
        changed[at] ^= 1 << int(rng.integers(8))
        try:
            target.interpreter(bytes(changed), rules, Options())
        except DataError:
            refused += 1
    assert refused > 10


def test_onnx_has_the_names() -> None:
    content, _ = written("onnx", MODELS["stump"]())
    assert b'["f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8"]' in content
