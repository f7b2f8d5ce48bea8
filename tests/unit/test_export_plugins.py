"""The plugins of Elasticsearch and OpenSearch: their formats, missing values and limits."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.exports import Options, Refusal, missing_probe
from rankwright.exports.exporting import prepared
from rankwright.exports.interpreters.xgboost_json import xgboost_json
from rankwright.exports.targets import ltr_plugin, query_scores
from rankwright.exports.targets.registry import target_named
from rankwright.exports.targets.target import Engine, Verdicts
from tests.contracts.exported_models import FILLED, LABELS, QID, ROWS
from tests.contracts.test_export_bits import ranker
from tests.reference.forest import NAN, NONE, Split

PLUGINS = ("elasticsearch", "opensearch")
POLICIES = ("by-node", "zero", "right")


def body(path: Path) -> Any:
    """Return what is sent, and the definition in it."""
    model = json.loads(path.read_text())["model"]
    return model["name"], model["model"]["type"], model["model"]["definition"]


def refused(model: Any, target: str, **options: Any) -> str:
    """Return the code of the refusal; nothing if there is none."""
    try:
        prepared(model, target_named(target), Options(**options), None, None, frozenset())
    except Refusal as refusal:
        return refusal.code
    return ""


@pytest.mark.parametrize("target", PLUGINS)
def test_trees_are_as_the_strict_parser_wants_them(target: str, tmp_path: Path) -> None:
    model = ranker([Split(1, 0.5, NAN, True, 0.25, -0.5), Split(0, np.inf, NAN, False, 1.0, 2.0)])
    path = tmp_path / "m.json"
    rw.export(model, target, path, names=["a", 'b"\\é', "c", "d"], name="shop")
    name, kind, definition = body(path)
    assert (name, kind) == ("shop", "model/xgboost+json")
    first, second = json.loads(definition)
    assert first.pop("children") == [{"nodeid": 2, "leaf": 0.25}, {"nodeid": 3, "leaf": -0.5}]
    assert first == {
        "nodeid": 0,
        "depth": 0,
        "split": 'b"\\é',
        "split_condition": 0.5000000596046448,
        "yes": 2,
        "no": 3,
        "missing": 2,
    }
    assert second["split_condition"] == 1e39
    assert second["missing"] == second["no"]


def test_scores_begin_at_zero_by_a_tree_of_one_leaf(tmp_path: Path) -> None:
    model = ranker([Split(1, 0.5, NAN, True, 0.25, -0.5), Split(0, 1.0, NAN, True, -1.0, 2.0)])
    certificate = rw.export(model, "opensearch", tmp_path / "m.json")
    assert json.loads(body(tmp_path / "m.json")[2])[0] == {"nodeid": 0, "leaf": 1.5}
    assert certificate.shift == 1.5
    above = ranker([Split(1, 0.5, NAN, True, 0.25, 0.5)])
    assert rw.export(above, "opensearch", tmp_path / "n.json").shift == 0
    assert len(json.loads(body(tmp_path / "n.json")[2])) == 1


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("threshold", [-1.5, -1e-36, 0.0, 1.0, np.inf])
@pytest.mark.parametrize(("missing", "left"), [(NONE, True), (NAN, True), (NAN, False)])
def test_splits_are_refused_where_the_version_sends_missing_values_elsewhere(
    policy: Any, threshold: float, missing: int, left: bool
) -> None:
    split = Split(0, threshold, missing, left, 0.25, 0.5)
    model, target = ranker([split]), target_named("opensearch")
    rules = prepared(model, target, Options(), None, None, frozenset())[0]
    content = target.write(rules, Options()).content
    engine = target.interpreter(content, rules, Options(missing=policy))
    nothing = np.full((1, 4), np.nan, dtype=np.float32)
    differs = engine(nothing).scores != (0.25 if split.goes_left(np.nan) else 0.5)
    assert refused(model, "opensearch", missing=policy) == ("missing" if differs else "")
    assert refused(model, "opensearch", missing=policy, present={"f1"}) == ""
    assert (refused(model, "opensearch", missing=policy, present={"f2"}) == "") == (not differs)


def test_the_certificate_names_the_versions(tmp_path: Path) -> None:
    model = ranker([Split(0, -1.5, NONE, True, 0.25, 0.5)])
    said = {}
    for policy in POLICIES:
        certificate = rw.export(model, "opensearch", tmp_path / policy, missing=policy)
        said[policy] = certificate.engine
        assert certificate.missing == policy
    assert said == {
        "by-node": "OpenSearch LTR >= 3.8.0",
        "zero": "OpenSearch LTR <= 3.1",
        "right": "OpenSearch LTR 3.2.0 to 3.7.0 as released",
    }
    assert refused(model, "elasticsearch", missing="zero") == ""
    assert refused(model, "elasticsearch", missing="right") == "missing"
    with pytest.raises(DataError, match="missing must be one of by-node, zero, right"):
        rw.export(model, "opensearch", tmp_path / "m", missing="left")


def test_features_that_are_present_are_so_in_the_data(tmp_path: Path) -> None:
    model = rw.BoostedRanker("xendcg", n_estimators=5, n_jobs=1).fit(ROWS, LABELS, QID)
    assert refused(model, "elasticsearch", missing="zero") == "missing"
    present = ["f4", "f5"]
    options: dict[str, Any] = {"missing": "zero", "present": present}
    with pytest.raises(DataError, match="every document has f4, but"):
        rw.export(model, "elasticsearch", tmp_path / "m", data=ROWS, **options)
    certificate = rw.export(model, "elasticsearch", tmp_path / "m", data=FILLED, **options)
    assert certificate.options["present"] == present
    with pytest.raises(DataError, match=r"not 'f44'\. Did you mean 'f4'"):
        rw.export(model, "elasticsearch", tmp_path / "n", present=["f44"])


@pytest.mark.parametrize("policy", POLICIES)
def test_the_missing_probe_tells_policies_apart(policy: Any) -> None:
    probe = missing_probe("b")
    definition = json.loads(probe.body)["model"]["model"]["definition"]
    judge = xgboost_json(definition, ["a", "b"], policy)
    scores = judge(np.array([[0.0, np.nan]], dtype=np.float32)).scores
    assert scores is not None
    assert probe.means[float(scores[0])] == policy


def test_linear_models_are_regressions_with_a_bias(tmp_path: Path) -> None:
    model = rw.WidrowHoff(fit_intercept=True).fit(FILLED, LABELS)
    certificate = rw.export(model, "elasticsearch", tmp_path / "m.json", data=FILLED)
    _, kind, definition = body(tmp_path / "m.json")
    head, line, end = definition.split("\n")
    assert (kind, head, end) == ("model/ranklib", "## Linear Regression", "")
    numbers = [float(pair.split(":")[1]) for pair in line.split()]
    assert [pair.split(":")[0] for pair in line.split()] == [str(j) for j in range(9)]
    np.testing.assert_array_equal(numbers, [model.intercept_, *model.coef_])
    assert (certificate.engine, certificate.missing) == ("o19s LTR", "zero")
    assert certificate.data["changed_rankings"] == 0
    assert any("below 0" in warning for warning in certificate.warnings)


@pytest.mark.parametrize("target", [*PLUGINS, "ranklib"])
def test_imputed_values_must_be_zero_or_never_needed(target: str, tmp_path: Path) -> None:
    model = rw.LinearRanker("listnet", missing="median").fit(ROWS, LABELS, QID)
    assert refused(model, target) == "imputation"
    with_medians = [f"f{j + 1}" for j in np.flatnonzero(model.fill_)]
    rw.export(model, target, tmp_path / "m", data=FILLED, present=with_medians)
    zeros = rw.LinearRanker("listnet", missing="zero").fit(ROWS, LABELS, QID)
    certificate = rw.export(zeros, target, tmp_path / "n", data=ROWS)
    assert certificate.outcome == "bounded"


@pytest.mark.parametrize("target", [*PLUGINS, "ranklib"])
def test_the_largest_of_several_scores_is_refused(target: str) -> None:
    model = rw.PredtronOrdinal().fit(FILLED, LABELS)
    assert refused(model, target) == "labels"


@pytest.mark.parametrize("levels", [499, 500])
def test_trees_may_be_as_deep_as_the_parser_nests(levels: int) -> None:
    node: Any = 0.0
    for i in range(levels):
        node = Split(i % 4, float(i), NAN, True, node, i + 1.0)
    model, target = ranker([node]), target_named("opensearch")
    if levels == 500:
        assert refused(model, "opensearch") == "deep"
        return
    rules = prepared(model, target, Options(), None, None, frozenset())[0]
    content = target.write(rules, Options()).content
    deepest = depth = 0
    for character in json.loads(content)["model"]["model"]["definition"]:
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
    assert deepest == 1000
    X = np.random.default_rng(0).integers(-3, 600, (200, 4)).astype(np.float32)
    scores = target.interpreter(content, rules, Options())(X).scores
    np.testing.assert_array_equal(scores, model.predict(X))


def test_sizes_beyond_the_limits_are_told(tmp_path: Path, monkeypatch: Any) -> None:
    model = ranker([Split(0, 1.0, NAN, True, 0.25, 0.5)])
    assert rw.export(model, "opensearch", tmp_path / "a").warnings == ()
    monkeypatch.setattr(ltr_plugin, "_CACHED", 2)
    monkeypatch.setattr(query_scores, "CONTENT", 100)
    monkeypatch.setattr(type(target_named("opensearch")), "text_limit", 99)
    said = rw.export(model, "opensearch", tmp_path / "b").warnings
    n = len(body(tmp_path / "b")[2])
    assert [warning.split(":")[-1].strip() for warning in said] == [
        "raise ltr.caches.max_mem",
        f"the definition has {n} characters, but a text may have 99",
        "raise http.max_content_length from 0 MB",
    ]
    monkeypatch.setattr(ltr_plugin, "_FEATURES", 0)
    assert refused(model, "opensearch") == "features"


def test_features_that_no_score_can_be_are_told(tmp_path: Path) -> None:
    model = ranker([Split(0, -1.5, NAN, True, 0.25, 0.5), Split(1, 3e7, NAN, True, 0.25, 0.5)])
    said = rw.export(model, "elasticsearch", tmp_path / "a").warnings
    assert [warning.split(":")[0] for warning in said] == [
        "values below 0 of 'f1'",
        "values above 16,777,216 of 'f2'",
    ]
    plain = ranker([Split(0, 1.5, NAN, True, 0.25, 0.5)])
    rows = np.array([[0, -1, 1.7e9, np.nan], [2, 0, 0, np.nan]])
    said = rw.export(plain, "elasticsearch", tmp_path / "b", data=rows).warnings
    assert [warning.split(":")[0] for warning in said] == [
        "values below 0 of 'f2'",
        "values above 16,777,216 of 'f3'",
    ]


@pytest.mark.parametrize(("apart", "is_told"), [(2.0**-13, True), (2.0**-15, True), (0.5, False)])
def test_a_grid_that_is_coarse_for_the_data_is_told(
    apart: float, is_told: bool, tmp_path: Path
) -> None:
    """Its step is about 2^-22: above a thousandth of 2^-13, but far below one of 0.5."""
    leaves = [Split(0, 1.0, NAN, True, 1.0, 1.0 + apart), Split(1, 1.0, NAN, True, -1.0, -1.0)]
    rows = np.array([[0, 0, 0, 0], [2, 0, 0, 0]], dtype=np.float32)
    certificate = rw.export(ranker(leaves), "elasticsearch", tmp_path / "m.json", data=rows)
    g = certificate.g
    assert g is not None
    assert (g > 1e-3 * apart) == is_told
    assert any("is coarse for these scores" in one for one in certificate.warnings) == is_told


@pytest.mark.parametrize("wrong", ["scores", "one score"])
def test_nothing_is_written_where_a_judge_differs(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one bit of one score, whoever of the judges it is."""
    model, target = ranker([Split(0, 0.5, NAN, True, 0.25, 0.5)]), target_named("elasticsearch")

    def engines(content: bytes, rules: Any, options: Options) -> Any:
        right = target.interpreter(content, rules, options)

        def judge(X: Any) -> Verdicts:
            scores = np.array(right(X).scores)
            scores[0 if wrong == "one score" else slice(None)] += 2.0**-40
            return Verdicts(scores)

        yield Engine("an engine", judge)

    monkeypatch.setattr(type(target), "engines", staticmethod(engines))
    with pytest.raises(DataError, match=r"probe 1: an engine gives .*: nothing was written"):
        rw.export(model, "elasticsearch", tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("target", "roundings"), [("solr", 8), ("elasticsearch", 0)])
def test_bounds_of_weighted_sums_are_near_what_is_rounded(
    target: str, roundings: int, tmp_path: Path
) -> None:
    """A rounding of float32 for each sum, product and weight; or of the result alone."""
    model = rw.LinearRanker("listnet").fit(FILLED, LABELS, QID)
    bound = rw.export(model, target, tmp_path / "m", probes=50).bound
    assert (roundings + 1) * 2.0**-24 <= bound <= (roundings + 2.1) * 2.0**-24


def test_doubles_that_float32_takes_to_the_other_side_are_refused(tmp_path: Path) -> None:
    cut = float(np.float32(0.3))  # above 0.3, which lies between two float32
    below = float(np.nextafter(np.float32(0.3), np.float32(0)))
    model = ranker([Split(0, 0.3, NAN, True, 0.25, 0.5)])
    rows = np.zeros((6, 4))
    rows[:, 0] = below, cut, 0.3, 0.1, 0.5, np.nan
    assert below < 0.3 < cut
    assert model.predict(rows)[:3].tolist() == [0.25, 0.5, 0.25]
    with pytest.raises(Refusal, match=r"^1 values of the data are doubles between") as refused:
        rw.export(model, "elasticsearch", tmp_path / "m.json", data=rows)
    assert (refused.value.code, refused.value.judgement) == ("float64", True)
    assert list(tmp_path.iterdir()) == []
    options: Any = {"data": rows, "allow": ["float64"]}
    certificate = rw.export(model, "elasticsearch", tmp_path / "m.json", **options)
    assert certificate.refusals == ("float64",)
    assert (certificate.data["largest_change"], certificate.data["changed_rankings"]) == (0.25, 1)
    others = np.delete(rows, 2, axis=0)
    assert rw.export(model, "elasticsearch", tmp_path / "n.json", data=others).refusals == ()


def test_steps_are_commands() -> None:
    options = Options(name="m 1", store="my set")
    upload, use, probe, order = target_named("elasticsearch").steps("it's here.json", options)
    assert shlex.split(upload) == [
        *("upload:", "curl", "-X", "POST"),
        "http://localhost:9200/_ltr/_featureset/my%20set/_createmodel",
        *("-H", "Content-Type: application/json", "--data-binary", "@it's here.json"),
    ]
    search = json.loads(shlex.split(use)[-1])
    rescored = search["rescore"]["query"]
    assert rescored["rescore_query"]["sltr"]["model"] == "m 1"
    assert (rescored["query_weight"], rescored["rescore_query_weight"]) == (0, 1)
    assert "gives a document without FEATURE 21 by-node, 12 zero, 22 right" in probe
    assert "my set" in order


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ('[{"nodeid":0,"leaf":1.0,"cover":2}]', "a node must have the keys"),
        ("[{]", "trees as the plugins take them"),
        ('[{"nodeid":0}]', "a node must have the keys"),
    ],
)
def test_other_definitions_are_told(definition: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        xgboost_json(definition, ["a"], "by-node")


def test_children_in_another_order_and_unknown_features_are_told() -> None:
    definition = json.loads(json.loads(missing_probe("a").body)["model"]["model"]["definition"])
    with pytest.raises(DataError, match="KeyError"):
        xgboost_json(json.dumps(definition), ["b"], "by-node")
    definition[0]["children"].reverse()
    with pytest.raises(DataError, match="in the order yes, no"):
        xgboost_json(json.dumps(definition), ["a"], "by-node")
