"""Elasticsearch's own learning to rank: doubles, and scores that the engine makes positive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.exports import Options
from rankwright.exports.interpreters.elastic import elastic
from rankwright.exports.targets.registry import target_named
from tests.contracts.test_export_bits import ranker
from tests.reference.forest import NAN, NONE, Split
from tests.unit.test_export_plugins import refused

NAMES = ["f1", "f2", "f3", "f4"]


def definition(*trees: list[dict[str, Any]]) -> str:
    """Return trees as the engine takes them."""
    about = {"feature_names": NAMES, "target_type": "regression"}
    models = [{"tree": {**about, "tree_structure": nodes}} for nodes in trees]
    ensemble = {**about, "aggregate_output": {"weighted_sum": {}}, "trained_models": models}
    return json.dumps({"trained_model": {"ensemble": ensemble}})


def leaf(value: float, index: int = 0) -> dict[str, Any]:
    return {"node_index": index, "leaf_value": value, "number_samples": 1}


def stump(threshold: float, left: float, right: float, **more: Any) -> list[dict[str, Any]]:
    root = {
        "node_index": 0,
        "decision_type": "lte",
        "split_feature": 1,
        "threshold": threshold,
        "default_left": False,
        "left_child": 1,
        "right_child": 2,
        "number_samples": 2,
    }
    return [{**root, **more}, leaf(left, 1), leaf(right, 2)]


def scores(text: str, *values: float) -> list[float]:
    """Return the scores of values of the second feature."""
    X = np.zeros((len(values), 4))
    X[:, 1] = values
    found = elastic(text, NAMES)(X).scores
    assert found is not None
    return [float(score) for score in found]


def test_nodes_stand_by_their_numbers(tmp_path: Path) -> None:
    model = ranker([Split(1, 0.1, NAN, True, 0.25, Split(0, np.inf, NONE, False, 1.0, 2.0)), 3.0])
    rw.export(model, "elastic", tmp_path / "m.json")
    ensemble = json.loads((tmp_path / "m.json").read_text())["trained_model"]["ensemble"]
    nodes = ensemble["trained_models"][0]["tree"]["tree_structure"]
    assert [node["node_index"] for node in nodes] == [0, 1, 2, 3, 4]
    assert nodes[0]["threshold"] == 0.1  # doubles stay as they are
    assert nodes[1]["threshold"] == np.finfo(np.float64).max
    assert (nodes[0]["default_left"], nodes[1]["default_left"]) == (True, True)
    assert ensemble["trained_models"][1]["tree"]["tree_structure"][0]["leaf_value"] == 3.0


def test_doubles_between_float32_are_told_apart(tmp_path: Path) -> None:
    t = 0.1
    model = ranker([Split(1, t, NAN, True, 0.25, 0.5)])
    X = np.zeros((3, 4))
    X[:, 1] = t, np.nextafter(t, 1), np.float32(t)
    certificate = rw.export(model, "elastic", tmp_path / "m.json", data=X)
    assert (certificate.number, certificate.outcome) == ("float64", "exact")
    assert scores((tmp_path / "m.json").read_text(), *X[:, 1]) == [0.25, 0.5, 0.5]


def test_the_engine_adds_the_shift_and_it_is_certified(tmp_path: Path) -> None:
    model = ranker([Split(1, 0.5, NAN, True, 0.25, -0.5), Split(1, 1.0, NAN, True, -1.0, 2.0)])
    certificate = rw.export(model, "elastic", tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    assert len(json.loads(text)["trained_model"]["ensemble"]["trained_models"]) == 2
    assert certificate.shift == 1.5
    assert scores(text, 0.0, 0.7, 9.0) == [0.75, 0.0, 3.0]
    grid = rw.load(tmp_path / "m.grid.rw").predict(np.array([[0, 0.7, 0, 0]]))
    assert grid.tolist() == [0.0]
    above = ranker([Split(1, 0.5, NAN, True, 0.25, 0.5)])
    assert rw.export(above, "elastic", tmp_path / "n.json").shift == 0


def test_comparison_is_that_of_java() -> None:
    at_zero = definition(stump(0.0, 1.0, 2.0))
    assert scores(at_zero, -0.0, 0.0, 1e-300) == [1.0, 1.0, 2.0]
    below_zero = definition(stump(-0.0, 1.0, 2.0))
    assert scores(below_zero, -0.0, 0.0) == [1.0, 2.0]


def test_infinite_values_are_missing() -> None:
    values = (np.nan, np.inf, -np.inf)
    assert scores(definition(stump(0.0, 1.0, 2.0, default_left=True)), *values) == [1.0] * 3
    assert scores(definition(stump(0.0, 1.0, 2.0)), *values) == [2.0] * 3


def test_sums_are_those_of_java() -> None:
    # Arrays.stream(values).sum() of OpenJDK 17 is 9007199254740998; one after the other, ...996.
    values = [1e16, 1.0, -1e16, 3.0, 0.001, 2.0**53, 1.0, 1.0]
    text = definition(*([leaf(value)] for value in [*values, -(2.0**53)]))
    assert scores(text, 0.0) == [float(np.float32(6.0))]
    total = 0.0
    for value in [*values, -(2.0**53)]:
        total += value
    assert total != 6.0


def test_what_it_cannot_hold_is_refused() -> None:
    model = ranker([Split(1, 0.5, NAN, True, 0.25, 0.5)])
    assert refused(model, "elastic") == ""
    assert refused(model, "elastic", missing="zero") == "missing"
    for name in ("My model", "_m", "m" * 65, ""):
        assert refused(model, "elastic", name=name) == "names"
    for name in ("m", "m.1-a_b", "m" * 64):
        assert refused(model, "elastic", name=name) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "a definition of Elasticsearch"),
        (definition([leaf(1.0, 1)]), "in the order of node_index"),
        (definition(stump(0.0, 1.0, 2.0, left_child=0)), "the child of one node"),
        (definition(stump(0.0, 1.0, 2.0, decision_type="lt")), "must be lte"),
        (definition(stump(0.0, 1.0, 2.0, split_gain=1.0)), "split_gain"),
        (definition([leaf(1.0)]).replace("{}", '{"weights": [2.0]}'), "without weights"),
        (definition([leaf(1.0)]).replace("f2", "f5"), "the features of the model"),
    ],
)
def test_other_definitions_are_told(text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        elastic(text, NAMES)


def test_steps_name_the_model_and_the_extractors() -> None:
    first, upload, use = target_named("elastic").steps("m.json", Options(name="m1"))
    assert "query_extractor" in first
    assert "_ml/trained_models/m1" in upload
    assert '"learning_to_rank": {"model_id": "m1"' in use
