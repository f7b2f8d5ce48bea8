"""Solr: what its setters take, its slack, gaps, and models that it cannot hold."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.exports import Gap, Options, Refusal
from rankwright.exports.interpreters.reading import float32_of
from rankwright.exports.interpreters.solr_json import solr_json
from rankwright.exports.rules import Linear, Rules, rules_of
from rankwright.exports.slack import SLACK, slackened
from rankwright.exports.targets.solr import Solr
from tests.reference.forest import NAN, NONE, K, Split, text_of

F32 = np.float32
MOST = float(np.finfo(F32).max)
STEP = 2.0**-43  # of float32 around 1e-6


def ranker(*trees: Any, n_features: int = 2) -> rw.BoostedRanker:
    """Return a model of these trees."""
    model = rw.BoostedRanker(n_jobs=1)
    fitted = {"model_text_": text_of(list(trees), n_features), "n_iter_": len(trees)}
    model.__dict__.update(fitted, n_features_in_=n_features, best_score_=None)
    model.__dict__.update(evals_result_={}, stop_="")
    return model


def stump(threshold: float, missing: int = NONE, default_left: bool = True) -> Split:
    return Split(0, threshold, missing, default_left, 0.25, -0.5)


def exported(model: Any, folder: Path, **options: Any) -> tuple[dict[str, Any], Any]:
    certificate = rw.export(model, "solr", folder / "m.json", overwrite=True, **options)
    return json.loads((folder / "m.json").read_text()), certificate


def nodes_of(model: dict[str, Any]) -> list[dict[str, Any]]:
    found = [tree["root"] for tree in model["params"]["trees"]]
    for node in found:
        found += [node[side] for side in ("left", "right") if side in node]
    return found


# ---- texts ----


def test_numbers_are_texts_and_the_flag_is_a_boolean(tmp_path: Path) -> None:
    trees = stump(0.5, NAN, False), Split(1, 2.0, NONE, False, stump(3.0), 2.0), 1.5
    model, _ = exported(ranker(*trees), tmp_path, name="m1", store="shop", names=["bm25", "price"])
    assert model["class"] == "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
    assert (model["name"], model["store"]) == ("m1", "shop")
    assert model["features"] == [{"name": "bm25"}, {"name": "price"}]
    assert model["params"]["isNullSameAsZero"] is False
    assert all(tree["weight"] == "1" for tree in model["params"]["trees"])
    for node in nodes_of(model):
        keys = {"feature", "threshold", "missing", "left", "right"}
        assert node.keys() == (keys if "feature" in node else {"value"})
        assert isinstance(node.get("threshold", node.get("value")), str)
    # The others had no NaN in training: missing is 0 there, which goes left.
    sides = [node["missing"] for node in nodes_of(model) if "missing" in node]
    assert sides == ["right", "left", "left"]
    assert float(nodes_of(model)[2]["value"]) == 1.5


def test_without_nan_splits_missing_is_zero_by_default(tmp_path: Path) -> None:
    model, certificate = exported(ranker(stump(0.5), stump(-0.5)), tmp_path)
    assert model["params"].keys() == {"trees"}
    assert model["features"] == [{"name": "f1"}]  # the other is not used
    assert not any("missing" in node for node in nodes_of(model))
    assert (certificate.missing, certificate.engine) == ("zero", "Solr LTR >= 9.0")
    _, by_node = exported(ranker(stump(0.5, NAN, False)), tmp_path)
    assert (by_node.missing, by_node.engine) == ("by-node", "Solr LTR >= 9.2")


@pytest.mark.parametrize(("t", "text"), [(np.inf, "Infinity"), (-1e300, "-Infinity")])
def test_infinite_thresholds_are_javas(t: float, text: str) -> None:
    rules = rules_of(ranker(stump(t, NAN)))
    content = Solr().write(rules, Options()).content
    assert json.loads(content)["params"]["trees"][0]["root"]["threshold"] == text


def test_names_are_escaped(tmp_path: Path) -> None:
    names = ['say "cheap"', "größe\\"]
    model, certificate = exported(
        ranker(stump(0.5), Split(1, 1.0, NONE, True, 1.0, 2.0)), tmp_path, names=names
    )
    assert [one["name"] for one in model["features"]] == names
    assert certificate.exact


# ---- slack ----


def many_floats() -> Any:
    rng = np.random.default_rng(0)
    powers = (F32(2) ** np.arange(-40, 40).astype(F32))[:, None]
    near = powers * (1 + np.arange(-40, 40) * 2.0**-24)
    drawn = rng.integers(0, 2**32, 200_000, dtype=np.uint32).view(F32)
    tiny = rng.normal(size=100_000) * 10.0 ** rng.integers(-14, -4, 100_000)
    found = np.concatenate([drawn[np.isfinite(drawn)], near.ravel(), -near.ravel(), tiny])
    return found[np.abs(found) > K].astype(F32)


def test_the_nearest_thresholds_that_can_be_reached_are_taken() -> None:
    c = many_floats()
    with np.errstate(over="ignore"):
        found = slackened(c, np.zeros(len(c), dtype=int), None)
    np.testing.assert_array_equal(found.text + SLACK, found.threshold)
    np.testing.assert_array_equal(found.threshold >= 0, c >= 0)  # the side of 0
    missed = found.threshold != c
    assert 0.1 < missed.mean() < 0.9
    # No neighbour is nearer, among many more than were looked at; on its side of 0.
    for i in np.flatnonzero(missed)[:3000]:
        tried = [found.text[i]]
        for end in (F32(np.inf), F32(-np.inf)):
            text = found.text[i]
            for _ in range(40):
                text = np.nextafter(text, end)
                tried.append(text)
        reached = np.array(tried) + SLACK
        apart = np.abs(reached.astype(float) - float(c[i]))[(reached >= 0) == (c[i] >= 0)]
        assert abs(float(found.threshold[i]) - float(c[i])) == apart.min()


@pytest.mark.parametrize(
    ("t", "threshold", "gap"),
    [
        (0.0, 0.0, (0.0, K)),
        (-K, -STEP, (-STEP, float(np.nextafter(F32(-K), F32(-1))))),
        (1e-13, STEP, (float(F32(1e-13)), STEP)),
        (float(F32(-1.4520346e-05)), None, None),  # just above -2^-16
    ],
)
def test_near_zero_there_are_gaps(
    t: float, threshold: float | None, gap: Any, tmp_path: Path
) -> None:
    model, certificate = exported(ranker(stump(t)), tmp_path)
    text = model["params"]["trees"][0]["root"]["threshold"]
    has = F32(float(text)) + SLACK
    assert certificate.outcome == "exact outside gaps"
    (found,) = certificate.gaps
    if gap is not None:
        assert float(has) == threshold
        assert (found.above, found.up_to) == gap
    # What is in the gap goes the other way, and its neighbours do not.
    judge = solr_json((tmp_path / "m.json").read_bytes(), ["f1", "f2"])
    up, own = F32(np.inf), ranker(stump(t))
    edges = [
        F32(found.above),
        np.nextafter(F32(found.above), up),
        F32(found.up_to),
        np.nextafter(F32(found.up_to), up),
    ]
    X = np.array([[x, 0] for x in edges], dtype=F32)
    same = np.asarray(judge(X).scores) == own.predict(X)
    assert same.tolist() == [True, False, False, True]


def test_data_decide_which_neighbour_is_taken(tmp_path: Path) -> None:
    def gap_for(*values: float) -> Gap:
        rows = np.zeros((len(values), 2), dtype=F32)
        rows[:, 0] = values
        certificate = exported(ranker(stump(1e-13)), tmp_path, data=rows)[1]
        gap: Gap = certificate.gaps[0]
        return gap

    c = float(F32(1e-13))
    assert gap_for(0.0, 1.0) == Gap("f1", c, STEP)
    assert gap_for(1.1e-13) == Gap("f1", 0.0, c)  # it would have gone left
    with pytest.raises(Refusal, match="1 of f1") as refused:
        gap_for(1.1e-13, 1e-14)
    assert refused.value.code == "gaps"


def test_data_at_the_ends_of_a_gap_count() -> None:
    """Of the two thresholds 0 and 2^-43 the nearer is taken, unless a value would change sides."""
    for c, at, chosen in [
        (3e-14, None, 0.0),
        (3e-14, 3e-14, STEP),  # goes left, and 0 would send it right
        (3e-14, 4e-14, 0.0),
        (9e-14, None, STEP),
        (9e-14, STEP, 0.0),  # goes right, and 2^-43 would send it left
        (9e-14, 2 * STEP, STEP),
    ]:
        data = None if at is None else np.array([[at]], dtype=F32)
        found = slackened(np.array([c], dtype=F32), np.array([0]), data)
        assert found.threshold.tolist() == [chosen], (c, at)


def test_allowed_gaps_are_the_grid_models_too(tmp_path: Path) -> None:
    values = np.array([1.1e-13, 1e-14, 0, 1, np.nan], dtype=F32)
    rows = np.stack([values, values], axis=1)
    model = ranker(stump(1e-13), Split(1, -K, NAN, True, 1.0, 2.0))
    _, certificate = exported(model, tmp_path, data=rows, allow=["gaps"])
    assert certificate.refusals == ("gaps",)
    grid = rw.load(tmp_path / "m.grid.rw")
    judge = solr_json((tmp_path / "m.json").read_bytes(), certificate.names)
    np.testing.assert_array_equal(grid.predict(rows), judge(rows).scores)
    assert (grid.predict(rows) != model.predict(rows)).any()
    assert certificate.data["largest_change"] == 0.75


def test_gaps_are_verified(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    X = np.rint(rng.normal(size=(300, 2)) * 2).astype(F32)
    model = rw.BoostedRanker("xendcg", n_estimators=10, num_leaves=7, n_jobs=1)
    model.fit(X, (X.sum(axis=1) > 0).astype(int), np.arange(300) // 10)
    _, certificate = exported(model, tmp_path, data=X)
    assert {gap.feature for gap in certificate.gaps} == {"f1", "f2"}
    assert rw.verify(tmp_path / "m.cert.json", data=X).passed
    grid = rw.load(tmp_path / "m.grid.rw")
    np.testing.assert_allclose(grid.predict(X), model.predict(X), atol=certificate.bound)


def test_gaps_that_touch_are_one(tmp_path: Path) -> None:
    _, certificate = exported(ranker(stump(0.0), stump(4e-14), stump(0.0)), tmp_path)
    assert certificate.gaps == (Gap("f1", 0.0, float(F32(4e-14))),)


# ---- by another reader ----


def plain_score(model: dict[str, Any], row: dict[str, Any]) -> Any:
    """Score one document as the Java code would, a node after the other."""
    flag = model["params"].get("isNullSameAsZero", True)
    score = F32(0)
    for tree in model["params"]["trees"]:
        node = tree["root"]
        while "feature" in node:
            v = row[node["feature"]]
            v = F32(0) if flag and np.isnan(v) else v
            if np.isnan(v):
                node = node[node["missing"]]
            else:
                side = "left" if v <= F32(float(node["threshold"])) + F32(1e-6) else "right"
                node = node[side]
        score = score + F32(float(tree["weight"])) * F32(float(node["value"]))
    return score


def test_a_larger_model_read_by_other_code(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 3)).astype(F32)
    X[:, 1] = np.rint(X[:, 1])
    X[rng.random(600) < 0.3, 2] = np.nan
    y = (np.nan_to_num(X).sum(axis=1) + np.isnan(X[:, 2]) > 0).astype(int)
    ranked = rw.BoostedRanker("xendcg", n_estimators=30, num_leaves=15, n_jobs=1)
    ranked.fit(X, y, np.arange(600) // 10)
    model, certificate = exported(ranked, tmp_path, data=X)
    grid = rw.load(tmp_path / "m.grid.rw").predict(X[:100])
    for row, expected in zip(X[:100], grid, strict=True):
        assert float(plain_score(model, dict(zip(certificate.names, row, strict=True)))) == expected


# ---- weights ----


def rules_with(weights: Any, bias: float = 0.0, fill: Any = None) -> Rules:
    w = np.atleast_2d(np.asarray(weights, dtype=float))
    fill = None if fill is None else np.asarray(fill, dtype=float)
    names = tuple("abcdefgh"[: w.shape[1]])
    return Rules("LinearRanker", names, linear=Linear(w, np.full(len(w), bias), fill))


def written(rules: Rules) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(Solr().write(rules, Options()).content)
    return model


def test_weights_are_numbers_and_a_bias_makes_a_network() -> None:
    model = written(rules_with([0.1, 0.0, -2]))
    assert model["class"].endswith(".LinearModel")
    assert model["features"] == [{"name": "a"}, {"name": "c"}]
    assert model["params"] == {"weights": {"a": 0.1, "c": -2.0}}
    model = written(rules_with([0.1, 0.0, -2], bias=3))
    assert model["class"].endswith(".NeuralNetworkModel")
    layer = {"matrix": [[0.1, -2.0]], "bias": [3.0], "activation": "identity"}
    assert model["params"] == {"layers": [layer]}
    assert '"bias": [3.0]' in json.dumps(model)
    assert written(rules_with([0.0, 0.0]))["features"] == [{"name": "a"}, {"name": "b"}]


def test_weighted_sums_are_float32_in_order() -> None:
    rules = rules_with([0.1, 1e8, -1e8, 0.3], bias=0.7)
    judge = solr_json(Solr().write(rules, Options()).content, rules.names)
    row = np.array([[0.2, 1, 1, np.nan]], dtype=F32)
    expected = F32(0.7) + F32(0.1) * F32(0.2)
    expected = (expected + F32(1e8)) + F32(-1e8)
    assert judge(row).scores == [float(expected)]


def refused(rules: Rules, **options: Any) -> list[str]:
    return [refusal.code for refusal in Solr().refusals(rules, Options(**options))]


def test_what_is_filled_in_is_the_stores_to_say() -> None:
    filled = rules_with([1.0, 2.0, 0.0], fill=[0.0, 0.1, 5.0])
    (refusal,) = Solr().refusals(filled, Options())
    assert refusal.code == "imputation"
    assert f"b {float(F32(0.1))!r}" in refusal.remedy
    assert "defaultValue" in refusal.remedy
    assert refused(filled, present=["b"]) == []
    assert refused(rules_with([1.0, 2.0], fill=[0.0, 0.0])) == []


def test_imputed_features_that_are_always_present(tmp_path: Path) -> None:
    X = np.array([[1.0, np.nan], [2, 3], [0, 4], [4, 5]] * 5, dtype=F32)
    model = rw.LinearRanker("listnet", missing="median")
    model.fit(X, np.arange(20) % 3, np.arange(20) // 4)
    with pytest.raises(Refusal, match="defaultValue"):
        exported(model, tmp_path)
    _, certificate = exported(model, tmp_path, present=["f1", "f2"])
    assert certificate.outcome == "bounded"


def test_what_solr_cannot_hold() -> None:
    assert refused(rules_with([1e39, 1.0])) == ["linear"]
    assert refused(rules_with([[1.0, 2.0], [3.0, 4.0]])) == ["labels"]
    deep: Any = 0.0
    for i in range(501):
        deep = Split(0, -1.0 - i, NONE, False, deep, 1.0)
    deep_rules = rules_of(ranker(deep))
    assert refused(deep_rules) == ["deep"]
    both = Rules("both", ("a", "b"), trees=deep_rules.trees, linear=rules_with([1.0, 2.0]).linear)
    assert "mixture" in refused(both)


def test_deep_trees_are_read(tmp_path: Path) -> None:
    deep: Any = 0.0
    for i in range(500):
        deep = Split(0, -1.0 - i, NONE, False, deep, float(i % 7))
    assert exported(ranker(deep), tmp_path)[1].outcome == "exact outside gaps"  # -1, -2, -4, ...


# ---- what Solr would refuse, or get wrong ----


def edited(change: Any) -> bytes:
    rules = rules_of(ranker(stump(0.5, NAN, False), stump(1.0)))
    model = json.loads(Solr().write(rules, Options()).content)
    change(model)
    return json.dumps(model).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: root(m).update(threshold=0.5), "must be texts"),
        (lambda m: root(m)["left"].update(value=1), "must be texts"),
        (lambda m: root(m).update(threshold="inf"), "one that Java reads"),
        (lambda m: root(m).update(threshold="1_0"), "one that Java reads"),
        (lambda m: root(m).update(gain="1"), "must have the keys"),
        (lambda m: root(m)["left"].update(left={}), "a value alone"),
        (lambda m: root(m).pop("missing"), "where missing values go"),
        (lambda m: root(m).pop("left"), "must have the keys"),
        (lambda m: m["params"].update(isNullSameAsZero="false"), "true or false"),
        (lambda m: m["params"].update(more=1), "isNullSameAsZero and trees"),
        (lambda m: m["params"].pop("trees"), "Solr's model store"),
        (lambda m: m["features"].append({"name": "f1"}), "different ones"),
        (lambda m: m["features"].append({"name": "f9"}), "of the feature store"),
        (lambda m: m.update({"class": "org.apache.solr.ltr.model.Other"}), "class must be"),
        (lambda m: m.clear(), "Solr's model store"),
    ],
)
def test_files_that_solr_would_not_take(change: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        solr_json(edited(change), ["f1", "f2"])


def root(model: dict[str, Any]) -> Any:
    return model["params"]["trees"][0]["root"]


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"matrix": [[1, 2.0]], "bias": [1.0]}, "must have a point"),
        ({"matrix": [[1.0]], "bias": [1.0]}, "a weight for each"),
        ({"matrix": [[1.0, 2.0]], "bias": [1.0], "activation": "relu"}, "identity"),
    ],
)
def test_layers_that_solr_would_not_take(layer: Any, message: str) -> None:
    model = written(rules_with([1.0, 2.0], bias=1.0))
    model["params"]["layers"] = [{"activation": "identity", **layer}]
    with pytest.raises(DataError, match=message):
        solr_json(json.dumps(model).encode(), ["a", "b"])


def test_weights_that_solr_would_not_take() -> None:
    model = written(rules_with([1.0, 2.0]))
    for weights, message in (({"a": 1.0}, "one for each"), ({"a": "1", "b": 2}, "be a number")):
        model["params"]["weights"] = weights
        with pytest.raises(DataError, match=message):
            solr_json(json.dumps(model).encode(), ["a", "b"])


def test_a_tree_of_an_unlisted_feature_is_zero() -> None:
    content = edited(lambda m: root(m).update(feature="f2"))
    row = np.array([[5.0, 0.0]], dtype=F32)
    assert solr_json(content, ["f1", "f2"])(row).scores == [-0.5]


def test_numbers_are_rounded_once() -> None:
    half = 1 + 2.0**-24  # half way between 1 and the next float32, which is odd
    assert float32_of(f"{half:.30f}") == 1
    assert float32_of(f"{half:.30f}1") == np.nextafter(F32(1), F32(2))
    top = 2**128 - 2**103  # half way between the largest number and infinity
    assert float32_of(str(top)) == np.inf
    assert float32_of(str(top - 1)) == MOST
    assert float32_of(str(-top + 1)) == -MOST
    judge = solr_json(
        edited(lambda m: root(m)["left"].update(value=f" {half:.30f}1f ")), ["f1", "f2"]
    )
    assert judge(np.zeros((1, 2), F32)).scores == [float(np.nextafter(F32(1), F32(2))) + 0.25]


# ---- upload ----


def test_steps_offer_a_feature_store(tmp_path: Path) -> None:
    exported(ranker(stump(0.5, NAN, False)), tmp_path, names=["it's", "b"])
    features, upload, use, again = Solr().steps(str(tmp_path / "m.json"), Options(name="m 1"))
    (feature,) = json.loads(shlex.split(features)[-1])
    assert feature["params"] == {"field": "it's", "defaultValue": "NaN"}
    assert feature["store"] == "features"
    assert shlex.split(upload)[-1] == f"@{tmp_path / 'm.json'}"
    assert "rq=%7B%21ltr%20model%3D%27m%201%27%20reRankDocs%3D100%7D" in use
    assert again.endswith("model-store/m%201")
    exported(ranker(stump(0.5)), tmp_path)
    features = Solr().steps(str(tmp_path / "m.json"), Options())[0]
    assert json.loads(shlex.split(features)[-1])[0]["params"] == {"field": "f1"}
    assert "@features.json" in Solr().steps("not there", Options())[0]


def test_many_features_are_not_all_shown(tmp_path: Path) -> None:
    trees = [Split(j, 1.0, NONE, True, 1.0, 2.0) for j in range(30)]
    exported(ranker(*trees, n_features=30), tmp_path)
    features = Solr().steps(str(tmp_path / "m.json"), Options())[0]
    assert "... 10 more like these]" in features
    assert features.count("FieldValueFeature") == 20


def test_models_beyond_a_znode_are_warned_of(tmp_path: Path) -> None:
    rules = rules_of(ranker(*[stump(i / 7, NAN) for i in range(5000)]))
    (warning,) = Solr().write(rules, Options()).warnings
    assert "0.6 MB" in warning
    assert "DefaultWrapperModel" in warning
