"""Sums of a linear part and trees: how each target writes them, pipelines, and logs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.exports import Options, Refusal
from rankwright.exports.exporting import prepared
from rankwright.exports.folding import folded
from rankwright.exports.interpreters.onnx import onnx_model
from rankwright.exports.interpreters.tables import by_tables
from rankwright.exports.interpreters.vespa_expression import vespa_profile
from rankwright.exports.rules import rules_of
from rankwright.exports.targets import onnx, sql
from rankwright.exports.targets.registry import target_named
from rankwright.exports.targets.tables import tables_of
from tests.contracts.exported_models import FILLED, LABELS, QID, ROWS
from tests.contracts.exported_sums import added
from tests.reference.forest import NAN, NONE, Split

pytestmark = pytest.mark.usefixtures("quick_engines")
NAMES = ("bm25(title)", "attribute(price)", "age", 'closeness(field,"e")')
STUMP = Split(1, 0.5, NAN, True, 0.25, Split(2, -1.0, NONE, True, 1.0, 2.0))
MODEL = added([STUMP], [2.0, -4.0, 0.0, 0.0], 16.0, [0.5, 32.0, 0.0, 0.0])


def written(target: str, model: Any = MODEL, **options: Any) -> str:
    """Return the file of a model."""
    found, asked = target_named(target), Options(**options)
    names = NAMES if target == "vespa" else None
    rules = prepared(model, found, asked, names, None, frozenset())[0]
    return found.write(rules, asked).content.decode()


# ---- Vespa ----


def test_a_profile_has_the_trees_as_vespa_imports_them() -> None:
    text = written("vespa", name="shop")
    up = float(np.nextafter(np.float32(0.5), np.float32(1)))
    low = float(np.nextafter(np.float32(-1), np.float32(0)))
    assert text.startswith("rank-profile shop inherits default {\n")
    assert "function model_trees() {" in text
    assert (
        f"expression: if(!(attribute(price) >= {up!r}), 0.25, if(age < {low!r}, 1.0, 2.0))\n"
        in text
    )
    assert (
        "expression: model_trees + ((2.0 * if(isNan(bm25(title)), 0.5, bm25(title)) + "
        "-4.0 * if(isNan(attribute(price)), 32.0, attribute(price))) + 16.0)\n" in text
    )
    assert "first-phase {\n        expression: model_score\n" in text
    steps = target_named("vespa").steps("shop.profile", Options(name="shop"))
    assert "APPLICATION/schemas/SCHEMA/shop.profile" in steps[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("model_trees + ((", "model_trees ++ (("),
        ("if(!(attribute(price)", "if(!(attribute(cost)"),
        (", 1.0, 2.0))", ", 1.0, 2.0)"),
        (", 1.0, 2.0))", ", 1.0, 2.0)))"),
        (", 1.0, 2.0))", ", 1.0))"),
        (", 1.0, 2.0))", ", , 2.0))"),
        ("if(age < ", "if(age > "),
        (", 1.0, 2.0))", ", 1.0, 2.0)) + "),
        (", 1.0, 2.0))", ", 1.0, 2.0)) + one"),
        ("expression: model_score", "expression: model_trees"),
        ("function model_trees", "function other_trees"),
    ],
)
def test_what_vespa_would_not_read_is_an_error(old: str, new: str) -> None:
    text = written("vespa")
    assert old in text
    vespa_profile(text.encode(), NAMES, None)
    with pytest.raises(DataError):
        vespa_profile(text.replace(old, new, 1).encode(), NAMES, None)


def test_where_vespas_evaluators_differ_there_is_no_score() -> None:
    """A leaf that is no float32 is another number in a forest than in a compiled expression."""
    text = written("vespa")
    X = np.array([[0.0, 0.0, 0.0, 0.0]], dtype=np.float32)
    judge = vespa_profile(text.encode(), NAMES, None)
    assert np.asarray(judge(X).scores).tolist() == [16.25]
    judge = vespa_profile(text.replace("0.25", "0.1").encode(), NAMES, None)
    assert np.isnan(np.asarray(judge(X).scores)).all()


@pytest.mark.parametrize("name", ["model_trees", "model_score", "model_trees_2"])
def test_names_that_a_profile_has_itself(name: str) -> None:
    rules = rules_of(MODEL).named((name, *NAMES[1:]))
    codes = [one.code for one in target_named("vespa").refusals(rules, Options())]
    assert codes == ["names"]


def test_vespa_reads_deep_trees() -> None:
    deep: Any = 0.5
    for i in range(499):
        deep = Split(i % 4, -1.0 - i, NAN, i % 2 == 0, deep, float(i % 7))
    model = added([deep], [1.0, 0.0, 0.0, 0.0], 0.0, [0.0] * 4)
    text = written("vespa", model)
    X = np.array([[-1000.0] * 4, [0.0] * 4, [np.nan] * 4], dtype=np.float32)
    found = vespa_profile(text.encode(), NAMES, None)(X).scores
    assert np.asarray(found).tolist() == model.predict(X).tolist()


# ---- SQL ----


def test_a_sum_is_one_column() -> None:
    text = written("sql", dialect="sqlite", name="m")
    assert text.count("CREATE VIEW") == 1
    assert re.search(r"SELECT \*, \(CAST\(CASE .* AS REAL\) \+ \(\(.*\) AS `score` FROM", text)


def test_many_trees_are_summed_before_the_linear_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Trees in views of their own: the weighted sum is added once, in the last view."""
    trees = [Split(k % 4, k / 7 - 2, NAN, k % 2 == 0, k / 8, -k / 4) for k in range(20)]
    model = added(trees, [1.5, -2.5, 0.25, 0.0], 3.0, [1.0, 2.0, 3.0, 4.0])
    X = np.random.default_rng(0).normal(size=(50, 4))
    X[::7, 1] = np.nan
    for block, n_views in ((150_000, 1), (600, 2), (200, 2)):
        monkeypatch.setattr(sql, "_BLOCK", block)
        text = written("sql", model)
        views = text.strip().split(";\n")
        assert (len(views) == 1) == (n_views == 1)
        assert [view.count("3.0e0)") for view in views] == [0] * (len(views) - 1) + [1]
        judge = target_named("sql").interpreter(text.encode(), rules_of(model), Options())
        np.testing.assert_array_equal(judge(X).scores, model.predict(X))


def test_one_tree_and_many_weights_are_two_views(monkeypatch: pytest.MonkeyPatch) -> None:
    one = len(written("sql", added([STUMP], [0.0] * 4, 0.0, None)))
    monkeypatch.setattr(sql, "_BLOCK", one + 20)
    text = written("sql")
    assert text.count("CREATE VIEW") == 2
    judge = target_named("sql").interpreter(text.encode(), rules_of(MODEL), Options())
    X = np.array([[0.0, 0.0, 0.0, 0.0], [np.nan, np.nan, np.nan, np.nan]])
    assert np.asarray(judge(X).scores).tolist() == MODEL.predict(X).tolist()


# ---- ONNX ----


def test_operands_of_two_types_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of the trees is a float32 and the linear part a double: one must be cast."""
    add = onnx._Graph.add

    def without_cast(self: Any, op: str, *inputs: str, **more: Any) -> Any:
        if op == "Cast" and inputs != ("features",):
            return inputs[0]
        return add(self, op, *inputs, **more)

    onnx_model(target_named("onnx").write(rules_of(MODEL), Options()).content, rules_of(MODEL))
    monkeypatch.setattr(onnx._Graph, "add", without_cast)
    content = target_named("onnx").write(rules_of(MODEL), Options()).content
    judge = onnx_model(content, rules_of(MODEL))
    with pytest.raises(DataError, match="must be of one type, but are float32 and float64"):
        judge(np.zeros((1, 4), dtype=np.float32))


# ---- programs ----


@pytest.mark.parametrize("missing", ["weight", "bias", "root", "cut"])
def test_tables_that_do_not_fit_together(missing: str) -> None:
    tables = dict(tables_of(rules_of(MODEL)))
    by_tables(tables, 4, None)
    del tables[missing]
    with pytest.raises(DataError, match="do not fit together"):
        by_tables(tables, 4, None)


def test_tables_of_several_scores_are_no_sum() -> None:
    tables = dict(tables_of(rules_of(MODEL)))
    tables["bias"], tables["weight"] = [1.0, 2.0], [1.0] * 8
    with pytest.raises(DataError, match="do not fit together"):
        by_tables(tables, 4, None)


def test_programs_of_trees_or_weights_alone_are_what_they_were() -> None:
    """Exports of earlier versions are verified by their code."""
    trees = added([STUMP], [0.0] * 4, 0.0, None)
    for name in ("linear_coef_", "linear_intercept_", "linear_spread_"):
        delattr(trees, name)
    assert "model_as_given" not in written("c", trees)
    assert "asGiven" not in written("java", trees)
    assert "model_as_given" in written("c")
    assert "asGiven" in written("java")


# ---- pipelines ----


def grafted(X: Any, **params: Any) -> rw.BoostedRanker:
    """Return trees on a linear base."""
    base = rw.LinearRanker("listnet", missing="median")
    model = rw.BoostedRanker(n_estimators=10, n_jobs=1, random_state=0, base=base, **params)
    return model.fit(X, LABELS, QID)


@pytest.mark.parametrize("kind", [StandardScaler, MaxAbsScaler, RobustScaler, MinMaxScaler])
def test_scalers_fold_into_both_parts(kind: Any) -> None:
    X, scaler = ROWS.astype(np.float64), kind()
    model = grafted(scaler.fit_transform(X))
    assert model.n_iter_ > 0
    pipeline = make_pipeline(scaler, model)
    alone = folded(pipeline, "float64")
    np.testing.assert_allclose(alone.predict(X), pipeline.predict(X), rtol=1e-9, atol=1e-9)
    # What a feature moves is what it was.
    before = np.abs(model.linear_coef_) * model.linear_spread_
    np.testing.assert_allclose(np.abs(alone.linear_coef_) * alone.linear_spread_, before)
    np.testing.assert_array_equal(model.predict(ROWS), make_pipeline(model).predict(ROWS))


@pytest.mark.parametrize("first", [True, False])
def test_an_imputer_folds_into_both_parts(first: bool) -> None:
    X = ROWS.astype(np.float64)
    steps = [SimpleImputer(strategy="median"), StandardScaler()]
    steps = steps if first else steps[::-1]
    model = grafted(steps[1].fit_transform(steps[0].fit_transform(X)))
    pipeline = make_pipeline(*steps, model)
    found = folded(pipeline, "float64").predict(X)
    np.testing.assert_allclose(found, pipeline.predict(X), rtol=1e-9, atol=1e-9)


def test_a_pipeline_of_a_sum_is_exported(tmp_path: Path) -> None:
    scaler = StandardScaler()
    pipeline = make_pipeline(scaler, grafted(scaler.fit_transform(ROWS)))
    certificate = rw.export(pipeline, "onnx", tmp_path / "m.onnx", data=ROWS, probes=500)
    assert certificate.exact
    assert any("the scalers are in the weights" in one for one in certificate.warnings)
    assert certificate.data["largest_change"] < 1e-4
    assert rw.verify(tmp_path / "m.cert.json", data=ROWS).passed


def test_what_folds_into_trees_alone_is_refused() -> None:
    scaler = QuantileTransformer(n_quantiles=50, random_state=0)
    pipeline = make_pipeline(scaler, grafted(scaler.fit_transform(ROWS)))
    with pytest.raises(Refusal, match="QuantileTransformer cannot be folded into weights"):
        folded(pipeline, "float64")


# ---- logs ----


def test_a_log_of_a_sum_is_compared_bit_for_bit(tmp_path: Path) -> None:
    model = grafted(FILLED)
    rw.export(model, "vespa", tmp_path / "m.profile", probes=200)
    grid = rw.load(tmp_path / "m.grid.rw")
    names = [f"f{j + 1}" for j in range(FILLED.shape[1])]

    def logged(scores: Any) -> Path:
        lines = ["\t".join(["query", "doc", "score", *names])]
        for i, (score, row) in enumerate(zip(scores.tolist(), FILLED.tolist(), strict=True)):
            lines.append("\t".join(map(repr, [i // 10, i, score, *row])).replace("'", ""))
        path = tmp_path / "log.tsv"
        path.write_text("\n".join(lines) + "\n")
        return path

    found = rw.verify(tmp_path / "m.cert.json", log=logged(grid.predict(FILLED)))
    assert found.passed
    swapped = FILLED.copy()
    swapped[:, [0, 2]] = swapped[:, [2, 0]]
    found = rw.verify(tmp_path / "m.cert.json", log=logged(grid.predict(swapped)))
    assert not found.passed
    assert "why: columns are in another order: f1 has the values of f3" in repr(found)
    # What trees see scaled is no weighted sum of the features.
    scaled = FILLED.astype(np.float64)
    scaled[:, 1] = (scaled[:, 1] - scaled[:, 1].mean()) / scaled[:, 1].std()
    found = rw.verify(tmp_path / "m.cert.json", log=logged(grid.predict(scaled)))
    assert "why: f2: values were scaled once more\nthat gives " in repr(found)
