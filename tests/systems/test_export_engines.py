"""Exports in the engines themselves: those that must be installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.exports.rules import rules_of
from rankwright.exports.targets.registry import target_named
from rankwright.exports.targets.target import Options
from tests.contracts.exported_engines import (
    disagreement,
    random_forests,
    random_linear,
    random_sums,
)
from tests.contracts.exported_models import MODELS, ROWS
from tests.contracts.test_export_bits import ranker
from tests.reference.forest import NAN, Split
from tests.systems.conftest import missing

ODD = ["a b", "?\x3f=", 'c"d', "\\u0022", "g'h", "NAME_n", "ä*/", "😀"]
# What must be here: target and dialect.
ENGINES = {
    "onnxruntime": ("onnx", "duckdb"),
    "xgboost": ("xgboost", "duckdb"),
    "java": ("java", "duckdb"),
    "duckdb": ("sql", "duckdb"),
    "chdb": ("sql", "clickhouse"),
    "PostgreSQL": ("sql", "postgresql"),
}


@pytest.fixture(params=sorted(ENGINES))
def place(request: Any) -> tuple[str, Options]:
    """Return a target and options, if its engine is here."""
    target, dialect = ENGINES[request.param]
    options, found = Options(dialect=dialect), target_named(target)
    _, rules, _ = random_forests(target, 0)
    content = found.write(rules, options).content
    if not list(found.engines(content, rules, options)):
        if request.param == "java":  # which pip does not install
            pytest.skip("needs javac and java")
        missing(request.param)
    return target, options


@pytest.mark.parametrize("seed", range(3))
def test_forests_have_the_same_bits(place: tuple[str, Options], seed: int) -> None:
    assert disagreement(*place, random_forests(place[0], seed)) is None


def test_linear_models_have_the_same_bits(place: tuple[str, Options]) -> None:
    if place[0] == "xgboost":
        return  # which has none
    for i, case in enumerate(random_linear(place[0], 2, place[1])):
        if place[0] == "onnx" or i % 5 == 0:  # others are slow to begin
            assert disagreement(*place, case) is None


@pytest.mark.parametrize("seed", range(3))
def test_sums_have_the_same_bits(place: tuple[str, Options], seed: int) -> None:
    if place[0] == "xgboost":
        return  # which refuses them
    for case in random_sums(place[0], seed, place[1]):
        assert disagreement(*place, case) is None


def test_many_trees(place: tuple[str, Options], tmp_path: Path) -> None:
    certificate = rw.export(
        MODELS["trees"](),
        place[0],
        tmp_path / "model.out",
        data=ROWS,
        probes=3000,
        dialect=place[1].dialect,
    )
    assert certificate.exact
    assert any(one.ran for one in certificate.judgements)


@pytest.mark.parametrize("model", ["one tree", "linear with imputation", "prank"])
def test_any_name_is_quoted(place: tuple[str, Options], model: str, tmp_path: Path) -> None:
    if place[0] == "xgboost" and model != "one tree":
        return  # which has none
    names = [name.replace("[", "(").replace("]", ")") for name in ODD]  # XGBoost has no brackets
    path, data = tmp_path / "model.out", np.nan_to_num(ROWS) if model == "prank" else ROWS
    options: Any = {"data": data, "names": names, "dialect": place[1].dialect, "probes": 300}
    certificate = rw.export(MODELS[model](), place[0], path, **options)
    assert certificate.exact
    assert any(one.ran for one in certificate.judgements)


def test_a_tree_that_is_a_chain(place: tuple[str, Options], tmp_path: Path) -> None:
    tree: Any = 0.5
    for i in range(900):
        leaf = float(i % 7) - 3
        sides = (tree, leaf) if i % 2 else (leaf, tree)
        tree = Split(i % 4, float(i % 2) + i / 1000, NAN, bool(i % 3), *sides)
    path = tmp_path / "model.out"
    certificate = rw.export(ranker([tree]), place[0], path, dialect=place[1].dialect, probes=2000)
    assert certificate.exact


OF_FLOATS = """
import java.io.*;

final class Floats {
    public static void main(String[] none) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        float[] x = new float[8];
        while (in.available() > 0) {
            for (int j = 0; j < 8; ++j) {
                x[j] = in.readFloat();
            }
            System.out.println(model.score(x));
        }
    }
}
"""


@pytest.mark.parametrize("name", ["linear with imputation", "sum with imputation"])
def test_floats_that_are_missing_in_java(name: str, tmp_path: Path) -> None:
    """A float that is missing is filled in by a float, and for the linear part alone."""
    if shutil.which("javac") is None:
        pytest.skip("needs javac and java")
    model = MODELS[name]()
    rules = rules_of(model)
    (tmp_path / "model.java").write_bytes(target_named("java").write(rules, Options()).content)
    (tmp_path / "Floats.java").write_text(OF_FLOATS)
    subprocess.run(["javac", "model.java", "Floats.java"], cwd=tmp_path, check=True)
    given = ROWS[:200].astype(">f4").tobytes()
    run = ["java", "-cp", str(tmp_path), "Floats"]
    said = subprocess.run(run, input=given, check=True, capture_output=True).stdout.split()
    assert [float(score) for score in said] == model.predict(ROWS[:200]).tolist()


def test_the_file_is_valid_onnx(tmp_path: Path) -> None:
    try:
        import onnx
    except ImportError:
        missing("onnx")
    for name in ("trees", "prank", "linear with imputation", "sum with imputation"):
        rw.export(MODELS[name](), "onnx", tmp_path / f"{name}.onnx")
        model = onnx.load(tmp_path / f"{name}.onnx")
        onnx.checker.check_model(model, full_check=True)
        assert model.producer_name == "rankwright"
        assert np.array(model.graph.input[0].type.tensor_type.shape.dim[1].dim_value) == 8
