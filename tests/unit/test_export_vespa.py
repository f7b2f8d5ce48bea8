"""Vespa: names that it reads, its importer and evaluators, expressions and labels."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.exports import Options, Refusal
from rankwright.exports.interpreters.vespa_expression import vespa_profile
from rankwright.exports.interpreters.vespa_json import vespa_json
from rankwright.exports.rules import Labels, Linear, Rules, rules_of
from rankwright.exports.targets.vespa import Vespa, is_rank_feature
from tests.reference.forest import NAN, NONE, Split, text_of

F32 = np.float32


def ranker(*trees: Any, n_features: int = 2) -> rw.BoostedRanker:
    """Return a model of these trees."""
    model = rw.BoostedRanker(n_jobs=1, n_estimators=len(trees))
    state = {"model_text_": text_of(list(trees), n_features), "n_features_in_": n_features}
    model.__dict__.update(state, n_iter_=len(trees), best_score_=None, evals_result_={}, stop_="")
    return model


def stump(t: float, missing: int = NONE, default_left: bool = True, leaf: float = 0.25) -> Split:
    return Split(0, t, missing, default_left, leaf, -0.5)


def written(*trees: Any) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(Vespa().write(rules_of(ranker(*trees)), Options()).content)
    return model


# ---- names ----


@pytest.mark.parametrize(
    "name",
    [
        "f1",
        "price_score",
        "bm25(title)",
        "attribute(price)",
        "query(user_age)",
        "fieldMatch(title).completeness",
        "nativeRank(title,body)",
        "attribute(tags,3)",
        "term(0).significance",
        "attributeMatch(x).y.z",
        'closeness(field,"my-field")',
        "foo(bar(baz(1.5)).out,-2)",
        "matches(title)",
        "in_stock",
        "iffy",
    ],
)
def test_rank_features(name: str) -> None:
    assert is_rank_feature(name)


@pytest.mark.parametrize(
    "name",
    [
        "price-score",
        "a b",
        "1st",
        "if",
        "f",
        "log(price)",
        "isNan(price)",
        "a+b",
        "a(b",
        "a)b",
        "a()",
        "a(,b)",
        "a(b,)",
        "a(b c)",
        "a.",
        ".a",
        "a(b).(c)",
        'a("x)',
        "größe",
        "",
        "(a)",
    ],
)
def test_names_that_are_not_rank_features(name: str) -> None:
    assert not is_rank_feature(name)


def test_names_are_refused_or_asked_for(tmp_path: Path) -> None:
    model = ranker(stump(0.5))
    with pytest.raises(Refusal, match="price-score") as refused:
        rw.export(model, "vespa", tmp_path / "m.json", names=["price-score", "f2"])
    assert refused.value.code == "names"
    certificate = rw.export(model, "vespa", tmp_path / "m.json", names=["bm25(title)", "age"])
    assert certificate.warnings == ("the rank profile must have functions called 'age'",)
    for taken in ("model_score", "model_label"):
        rules = linear([1.0, 2.0], names=("a", taken))
        assert [one.code for one in Vespa().refusals(rules, Options())] == ["names"]
    rules = linear([1.0, 2.0])
    assert [one.code for one in Vespa().refusals(rules, Options(name="my model"))] == ["names"]
    assert not list(Vespa().refusals(rules, Options(name="my-model_2")))


# ---- trees ----


def test_thresholds_are_the_next_float32() -> None:
    model = written(stump(0.5), stump(2.0, NAN, False), stump(np.inf, NAN, False), stump(-1.0))
    roots = [tree["tree_structure"] for tree in model["tree_info"]]
    up = [float(np.nextafter(F32(t), F32(9))) for t in (0.5, 2.0, -1.0)]
    assert [root["threshold"] for root in roots] == [*up[:2], 1e39, up[2]]
    # Where nothing was missing in training, missing is 0: below -1 it is right.
    assert [root["default_left"] for root in roots] == [True, False, False, False]
    assert all(root["decision_type"] == "<=" for root in roots)
    assert model.keys() == {
        "objective",
        "feature_names",
        "feature_infos",
        "pandas_categorical",
        "tree_info",
    }


def test_leaves_alone_go_into_another_tree(tmp_path: Path) -> None:
    model = ranker(1.5, stump(0.5), 0.25, stump(1.0))
    certificate = rw.export(model, "vespa", tmp_path / "m.json")
    assert certificate.exact
    trees = json.loads((tmp_path / "m.json").read_text())["tree_info"]
    assert [tree["tree_structure"]["left_child"]["leaf_value"] for tree in trees] == [2.0, 0.25]
    assert rw.export(ranker(1.5, 0.25), "vespa", tmp_path / "one.json").exact
    (only,) = json.loads((tmp_path / "one.json").read_text())["tree_info"]
    assert only["tree_structure"] == {"leaf_value": 1.75}


def expression_of(node: dict[str, Any]) -> str:
    """Return what the importer makes of a tree, as Python."""
    if "leaf_value" in node:
        return repr(node["leaf_value"])
    x, t = f"x[{node['split_feature']}]", node["threshold"]
    condition = f"not ({x} >= {t})" if node["default_left"] else f"{x} < {t}"
    left, right = (expression_of(node[f"{side}_child"]) for side in ("left", "right"))
    return f"({left} if {condition} else {right})"


def test_a_larger_model_read_by_other_code(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 3)).astype(F32)
    X[:, 1] = np.rint(X[:, 1])
    X[rng.random(600) < 0.3, 2] = np.nan
    y = (np.nan_to_num(X).sum(axis=1) + np.isnan(X[:, 2]) > 0).astype(int)
    model = rw.BoostedRanker("xendcg", n_estimators=30, num_leaves=15, n_jobs=1)
    model.fit(X, y, np.arange(600) // 10)
    assert rw.export(model, "vespa", tmp_path / "m.json", data=X).exact
    trees = json.loads((tmp_path / "m.json").read_text())["tree_info"]
    text = " + ".join(expression_of(tree["tree_structure"]) for tree in trees)
    code = compile(text, "expression", "eval")
    scores = [eval(code, {"x": row}) for row in X[:200].astype(float).tolist()]
    np.testing.assert_array_equal(rw.load(tmp_path / "m.grid.rw").predict(X[:200]), scores)


def scored(model: dict[str, Any], *values: float) -> list[float]:
    X = np.zeros((len(values), 2), dtype=np.float64)
    X[:, 0] = values
    found = vespa_json(json.dumps(model).encode(), ["f1", "f2"])(X).scores
    return [float(score) for score in np.asarray(found)]


def test_where_evaluators_differ_there_is_no_score() -> None:
    model = written(stump(0.5, NAN, False), stump(1.0))
    assert scored(model, 0.5, 0.6, np.nan, 9.0) == [0.5, -0.25, -0.25, -1.0]
    root = model["tree_info"][0]["tree_structure"]
    root["left_child"]["leaf_value"] = 0.1  # no float32: both forests round it
    np.testing.assert_equal(scored(model, 0.0, 9.0), [np.nan, -1.0])
    root["left_child"]["leaf_value"] = 0.25
    root["threshold"] = 0.1  # both compare with a larger one, and one the larger double
    np.testing.assert_equal(scored(model, 0.0999, 0.1, float(F32(0.1))), [0.5, np.nan, -0.25])
    root["threshold"] = float(F32(0.1))
    below = np.nextafter(float(F32(0.1)), 0)  # a double, which the fast forest rounds up
    np.testing.assert_equal(scored(model, 0.0999, below), [0.5, np.nan])


def test_the_fast_forest_has_two_sums_for_small_trees() -> None:
    tiny = 2.0**-53  # 1 + tiny is 1, but 1 + (tiny + tiny) is more
    small = [stump(0.5, leaf=leaf) for leaf in (1.0, tiny, 0.0, tiny)]
    assert np.isnan(scored(written(*small), 0.0))
    large: Any = 0.0
    for i in range(64):
        large = Split(0, -1.0 - i, NONE, False, 0.0, large)
    assert scored(written(*small, large), 0.0) == [1.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop("pandas_categorical"), "must have objective"),
        (lambda m: m.update(objective="binary sigmoid:1"), "must not transform"),
        (lambda m: m.update(objective="poisson"), "must not transform"),
        (lambda m: m["tree_info"][0]["tree_structure"].update(decision_type="=="), "must be '<='"),
        (lambda m: m["tree_info"][0]["tree_structure"].update(default_left="no"), "true or false"),
        (lambda m: m["tree_info"][0]["tree_structure"].pop("left_child"), "that Vespa imports"),
        (lambda m: m.update(feature_names=["other"]), "that Vespa imports"),
    ],
)
def test_files_that_vespa_would_not_take(change: Any, message: str) -> None:
    model = written(stump(0.5))
    change(model)
    with pytest.raises(DataError, match=message):
        scored(model, 0.0)


def test_deep_trees() -> None:
    deep: Any = 0.0
    for i in range(501):
        deep = Split(0, -1.0 - i, NONE, False, deep, 1.0)
    assert [one.code for one in Vespa().refusals(rules_of(ranker(deep)), Options())] == ["deep"]
    rules = rules_of(ranker(deep.left))
    assert not list(Vespa().refusals(rules, Options()))
    judge = Vespa().interpreter(Vespa().write(rules, Options()).content, rules, Options())
    assert judge(np.array([[-1000.0, 0], [0, 0]])).scores is not None


# ---- expressions ----


def linear(
    weights: Any, bias: Any = 0.0, fill: Any = None, labels: Any = None, names: Any = None
) -> Rules:
    w = np.atleast_2d(np.asarray(weights, dtype=float))
    fill = None if fill is None else np.asarray(fill, dtype=float)
    names = names or tuple(f"attribute(x{j})" for j in range(w.shape[1]))
    sums = Linear(w, np.broadcast_to(np.asarray(bias, dtype=float), len(w)), fill)
    return Rules("LinearRanker", names, linear=sums, labels=labels)


def profile(rules: Rules) -> str:
    return Vespa().write(rules, Options(name="m1")).content.decode()


def judge_of(rules: Rules) -> Any:
    return Vespa().interpreter(profile(rules).encode(), rules, Options())


def by_python(text: str, row: list[float], names: tuple[str, ...]) -> dict[str, float]:
    """Return what the functions of a profile give, by Python's own reading of expressions."""
    known: dict[str, Any] = {"isNan": math.isnan, "max": max, "x": row}
    known["when"] = lambda condition, this, that: this if condition else that
    for name, expression in re.findall(r"function (\w+)\(\) \{\s*expression: (.*)\n", text):
        for j, feature in enumerate(names):
            expression = expression.replace(feature, f"x[{j}]")
        known[name] = eval(expression.replace("if(", "when("), dict(known))
    return {name: value for name, value in known.items() if name.startswith("model")}


@pytest.mark.parametrize("n", [1, 3, 7, 8, 9, 16, 23, 64, 65])
@pytest.mark.parametrize("filled", [False, True])
def test_weighted_sums_are_predicts_bits(n: int, filled: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(n)
    X = (rng.normal(size=(40, n)) * 10.0 ** rng.integers(-3, 4, n)).astype(F32)
    model = rw.WidrowHoff(fit_intercept=True).fit(np.abs(X), np.arange(40) % 3)
    model.coef_ = rng.normal(size=n) * (rng.random(n) < 0.8)
    model.intercept_ = 0.1
    rules = rules_of(model)
    if filled:
        model = rw.LinearRanker("listnet", missing="median")
        X[rng.random(X.shape) < 0.2] = np.nan
        model.fit(X, np.arange(40) % 3, np.arange(40) // 5)
        model.coef_ = rng.normal(size=n)
        rules = rules_of(model)
    names = tuple(f"attribute(x{j:02})" for j in range(n))
    rules = rules.named(names)
    certificate = rw.export(model, "vespa", tmp_path / "m.profile", data=X, names=names)
    assert certificate.exact
    text = (tmp_path / "m.profile").read_text()
    expected = judge_of(rules)(X).scores
    for row, score in zip(X.astype(float).tolist(), expected, strict=True):
        assert by_python(text, row, names)["model_score"] == score
    if filled:
        np.testing.assert_array_equal(model.predict(X), expected)


def test_what_is_zero_is_left_out() -> None:
    assert "expression: 2.0 * attribute(x1)\n" in profile(linear([0.0, 2.0]))
    assert "expression: (2.0 * attribute(x1) + -1.5)\n" in profile(linear([0.0, 2.0], bias=-1.5))
    assert "expression: 0.0\n" in profile(linear([0.0, 0.0]))
    assert np.asarray(judge_of(linear([0.0, 0.0]))(np.ones((3, 2))).scores).tolist() == [0, 0, 0]
    text = profile(linear([1.0, 2.0], fill=[0.1, 0.0]))
    assert f"if(isNan(attribute(x0)), {float(F32(0.1))!r}, attribute(x0))" in text


def test_labels_are_nested() -> None:
    labels = Labels((0, 1, 3), np.array([-0.5, 2.0]))
    rules = linear([1.0], labels=labels)
    text = profile(rules)
    assert "if(model_score < -0.5, 0, if(model_score < 2.0, 1, 3))" in text
    assert "match-features: model_score model_label" in text
    X = np.array([[-0.6], [-0.5], [1.9], [2.0]])
    found = judge_of(rules)(X)
    assert found.labels.tolist() == [0, 1, 1, 2]
    for row, value in zip(X.tolist(), [0, 1, 1, 3], strict=True):
        assert by_python(text, row, rules.names)["model_label"] == value


def test_infinite_borders_are_passed_always_or_never() -> None:
    rules = linear([1.0], labels=Labels((0, 1, 2), np.array([-np.inf, np.inf])))
    assert "function model_label() {\n        expression: 1\n" in profile(rules)
    assert judge_of(rules)(np.array([[-9.0], [9.0]])).labels.tolist() == [1, 1]


def test_labels_that_are_no_numbers_are_places() -> None:
    rules = linear([1.0], labels=Labels(("bad", "good"), np.array([0.0])))
    assert "if(model_score < 0.0, 0, 1)" in profile(rules)
    assert judge_of(rules)(np.array([[-1.0], [0.0]])).labels.tolist() == [0, 1]


def test_the_largest_of_several_scores_decides() -> None:
    rules = linear([[1.0, 0], [0, 1.0], [0.5, 0.5]], bias=[0, 0, 0.25], labels=Labels((1, 2, 5)))
    text = profile(rules)
    X = np.array([[3.0, 1], [1, 3], [0, 0], [0.5, 0.5], [0, 0.5], [0.5, 0]])
    found = judge_of(rules)(X)
    assert found.scores.shape == (6, 3)
    np.testing.assert_array_equal(found.labels, np.argmax(found.scores, axis=1))
    assert len(np.unique(found.labels)) == 3
    for row, place in zip(X.tolist(), found.labels, strict=True):
        assert by_python(text, row, rules.names)["model_label"] == (1, 2, 5)[place]
    assert "first-phase {\n        expression: model_label\n" in text


def test_ordinal_models(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(F32)
    y = np.digitize(X[:, 0] + X[:, 1], [-1, 0, 1])
    for i, model in enumerate([rw.PRank(), rw.WidrowHoff(), rw.PredtronOrdinal()]):
        fitted = model.fit(X, y)
        certificate = rw.export(fitted, "vespa", tmp_path / f"m{i}.profile", data=X)
        assert certificate.exact
        assert certificate.data["changed_labels"] == 0
        rules = rules_of(fitted)
        found = judge_of(rules)(X).labels
        assert rules.labels is not None
        assert [rules.labels.classes[place] for place in found] == fitted.predict(X).tolist()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("first-phase", "second-phase", "functions and a first-phase"),
        ("inherits default", "inherits", "functions and a first-phase"),
        ("expression: model_score", "expression: other", "functions must be"),
        ("function model_score", "function model_label", "functions must be"),
        ("attribute(x0)", "attribute(y)", "cannot be read from"),
        (" + 3.0", " + ", "cannot be read from"),
        ("1.0 * ", "1.0 / ", "cannot be read from"),
        ("isNan(attribute(x0))", "isNan(attribute(x0), 1)", "cannot be read from"),
    ],
)
def test_profiles_that_cannot_be_read(old: str, new: str, message: str) -> None:
    text = profile(linear([1.0, 2.0], bias=3.0, fill=[4.0, 5.0]))
    assert old in text
    with pytest.raises(DataError, match=message):
        vespa_profile(text.replace(old, new).encode(), ("attribute(x0)", "attribute(x1)"), None)


def test_labels_of_other_models_are_found_out() -> None:
    labels = Labels((0, 1), np.array([0.0]))
    text = profile(linear([1.0], labels=labels)).replace("0.0, 0, 1)", "0.0, 0, 7)")
    judge = vespa_profile(text.encode(), ("attribute(x0)",), labels)
    with pytest.raises(DataError, match="must be one of the model's"):
        judge(np.ones((1, 1)))


# ---- deploying ----


def test_steps(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text("{}")
    steps = Vespa().steps(str(path), Options(name="m1"))
    assert (
        'rank-profile m1 inherits default { first-phase { expression: lightgbm("m.json") } }'
        in steps[1]
    )
    path.write_text("rank-profile")
    steps = Vespa().steps(str(path), Options(name="m1"))
    assert "schemas/SCHEMA/m1.profile" in steps[0]
    assert Vespa().steps("gone.profile", Options(name="m1"))[0] == steps[0].replace(
        str(path), "gone.profile"
    )
