"""Exports by someone in a hurry, and certificates by someone who means harm."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.exports import Options, Refusal
from rankwright.exports.certificate import Certificate, _seal
from rankwright.exports.interpreters.tables import by_tables
from rankwright.exports.probes import probe_blocks
from rankwright.exports.rules import Labels, Linear, Rules
from rankwright.exports.targets.registry import target_named
from rankwright.exports.verifying import _rules
from tests.contracts.exported_models import MODELS, ROWS


def resealed(path: Path, **said: Any) -> None:
    """Change what a certificate says, and seal it again, as anyone can."""
    old = json.loads(path.read_text())
    del old["seal"]
    new = {**old, **said}
    path.write_text(json.dumps({**new, "seal": _seal(new)}, indent=1, ensure_ascii=False) + "\n")
    assert Certificate.read(path)[1]


@pytest.mark.parametrize("target", ["c", "java"])
def test_a_name_of_a_certificate_is_no_path_and_no_code(target: str, tmp_path: Path) -> None:
    certificate = rw.export(MODELS["stump"](), target, tmp_path / "m.x")
    found: Any = target_named(target)
    evil = str(tmp_path / "elsewhere" / "evil")
    Path(evil).parent.mkdir()
    tables = found.read((tmp_path / "m.x").read_bytes(), _rules(certificate), Options(name="m"))
    content = found.text(_rules(certificate), evil, tables).encode()
    (tmp_path / "m.x").write_bytes(content)
    files = {**certificate.files, "export": {"name": "m.x", "sha256": _sha256(content)}}
    options = {**certificate.options, "present": [], "name": evil}
    resealed(tmp_path / "m.cert.json", files=files, options=options)
    said = rw.verify(tmp_path / "m.cert.json")
    assert not said.passed
    assert "a model is called by ASCII letters" in str(said)
    assert list(Path(evil).parent.iterdir()) == []


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("key", ["name", "store"])
@pytest.mark.parametrize("text", ["m;\n\nDROP TABLE x", "", 3, "a\x00"])
def test_names_in_statements_end_no_line(key: str, text: Any, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=f"{key} must be a printable text") as refused:
        rw.export(MODELS["stump"](), "sql", tmp_path / "m.sql", **{key: text})
    assert refused.value.code == "names"
    rw.export(MODELS["stump"](), "sql", tmp_path / "m.sql", dialect="sqlite")
    path = tmp_path / "m.cert.json"
    options = {**json.loads(path.read_text())["options"], key: text}
    names = ["a;\n\nDROP TABLE x"]
    old = json.loads(path.read_text())
    path.write_text(json.dumps(old))
    Certificate.read(path)
    for changed in ({"options": options}, {"names": names}):
        path.write_text(json.dumps({**old, **changed}))
        with pytest.raises(DataError, match=r"is not a certificate|must be a printable text"):
            Certificate.read(path)


def test_labels_in_statements_end_no_line(tmp_path: Path) -> None:
    labels = np.array(["bad", "good;\n\nDROP TABLE x"])
    X = np.arange(40.0).reshape(20, 2)
    model = rw.PRank().partial_fit(X, labels[np.arange(20) // 10], classes=labels)
    for dialect in ("sqlite", "postgresql", "clickhouse", "duckdb"):
        with pytest.raises(Refusal, match="labels must be printable in SQL"):
            rw.export(model, "sql", tmp_path / "m.sql", dialect=dialect)
    assert list(tmp_path.iterdir()) == []


def test_tables_that_are_too_short_are_not_read() -> None:
    tables: dict[str, list[Any]] = {"weight": [1.0, 2.0], "bias": [0.0], "threshold": [0.5]}
    classes = Labels((0, 1), np.array([0.5]))
    assert by_tables(tables, 2, classes)(np.ones((1, 2))).scores == [3.0]
    for short in ({"fill": [1.0]}, {"threshold": [0.5, 1.0]}, {"weight": [1.0]}):
        with pytest.raises(DataError, match="do not fit together"):
            by_tables({**tables, **short}, 2, classes)
    largest = {"weight": [1.0, 2.0] * 2, "bias": [0.0, 1.0]}
    with pytest.raises(DataError, match="do not fit together"):
        by_tables(largest, 2, Labels((0, 1, 2)))


def test_sparse_rows_are_rows(tmp_path: Path) -> None:
    rows = np.nan_to_num(ROWS)
    for rest, data in (("dense", rows), ("sparse", sp.csr_matrix(rows))):
        certificate = rw.export(MODELS["stump"](), "ranklib", tmp_path / f"{rest}.txt", data=data)
        assert certificate.data["rows"] == len(rows)
    assert certificate.data["changed_rankings"] == 0


def test_what_is_allowed_must_be_known_and_is_recorded_if_it_was_needed(tmp_path: Path) -> None:
    stump = MODELS["stump"]()
    with pytest.raises(DataError, match=r"allow must be of float64, gaps, not 'gapz'.*'gaps'"):
        rw.export(stump, "c", tmp_path / "m.h", allow=["gapz"])
    assert rw.export(stump, "c", tmp_path / "m.h", allow="gaps").refusals == ()


def test_one_text_is_no_list_of_names(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="names must be a list or a mapping of names"):
        rw.export(MODELS["stump"](), "c", tmp_path / "m.h", names="abcdefgh")


def test_leaves_are_checked_where_there_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="leaves must be one of"):
        rw.export(MODELS["linear"](), "c", tmp_path / "m.h", leaves="nearer")  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_a_file_has_a_name(path: str) -> None:
    with pytest.raises(DataError, match="must have a name"):
        rw.export(MODELS["stump"](), "c", path)


def test_leaves_that_do_not_move_move_no_score(tmp_path: Path) -> None:
    with pytest.warns(rw.DataWarning, match="ranks nothing"):
        model = rw.BoostedRanker("xendcg", n_estimators=3).fit(
            np.ones((40, 2)), np.arange(40) % 3, qid=np.repeat([1, 2], 20)
        )
    certificate = rw.export(model, "xgboost", tmp_path / "m.json")
    assert (certificate.moved, certificate.bound) == (0.0, 0.0)


def test_rows_are_compared_with_the_pipeline_itself(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(loc=1e4, size=(200, 3)).astype(np.float32)
    ranker = rw.LinearRanker("xendcg")
    model = make_pipeline(StandardScaler(), ranker)
    model.fit(X, np.arange(200) % 3, linearranker__qid=np.repeat(np.arange(10), 20))
    certificate = rw.export(model, "c", tmp_path / "m.h", data=X)
    assert any("the scalers are in the weights" in one for one in certificate.warnings)
    grid = rw.load(tmp_path / "m.grid.rw").predict(X)
    off = np.abs(model.predict(X) - grid).max()
    assert off > 0
    assert certificate.data["largest_change"] == off


@pytest.mark.parametrize(
    ("line", "other"),
    [
        (r"tree_sizes=\d+", "tree_sizes=99999999999"),  # each of these ended the process, or wrote
        ("num_cat=0", "num_cat=1"),  # where it must not
        ("num_tree_per_iteration=1", "num_tree_per_iteration=7"),
        ("num_class=1", "num_class=3"),
        (r"num_leaves=\d+", "num_leaves=900000000"),
        ("is_linear=0", "is_linear=1"),
        ("label_index=0", "label_index=0\nobjective=binary sigmoid:1"),
        (r"leaf_value=", "leaf_value=0"),
        (r"left_child=", "left_child=1 2\nleft_child="),
    ],
)
def test_lightgbm_never_gets_a_text_that_it_would_stumble_over(
    line: str, other: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.txt"
    rw.export(MODELS["one tree"](), "lightgbm", path)
    text = path.read_text()
    changed = re.sub(line, other, text, count=1)
    assert changed != text
    path.write_text(changed)
    said = rw.verify(tmp_path / "m.cert.json")
    assert not said.passed
    assert "m.txt: lightgbm cannot read it: " in str(said)


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("model", "iteration_indptr", [-5, 1]),
        ("gbtree_model_param", "num_trees", "9"),
        ("gbtree_model_param", "num_parallel_tree", "9"),
        ("learner_model_param", "num_class", "3"),
        ("learner_model_param", "num_target", "3"),
    ],
)
def test_xgboost_never_gets_counts_that_are_not_those_of_its_trees(
    part: str, key: str, value: Any, tmp_path: Path
) -> None:
    path = tmp_path / "m.json"
    rw.export(MODELS["one tree"](), "xgboost", path)
    said = json.loads(path.read_text())
    learner = said["learner"]
    model = learner["gradient_booster"]["model"]
    places = {"model": model, "gbtree_model_param": model["gbtree_model_param"], **learner}
    places[part][key] = value
    path.write_text(json.dumps(said))
    assert "m.json: xgboost cannot read it: " in str(rw.verify(tmp_path / "m.cert.json"))


def far(X: Any) -> Any:
    """Return trees of doubles whose thresholds are beyond all float32."""
    y = np.digitize(X[:, 0] + X[:, 1], [-1, 1])
    ranker = rw.BoostedRanker("xendcg", n_estimators=4, num_leaves=6, min_child_samples=3)
    return ranker.fit(X * [1e300, 1.0], y, np.arange(len(X)) // 20)


@pytest.mark.parametrize("target", ["elasticsearch", "ranklib", "solr", "vespa", "onnx", "xgboost"])
def test_thresholds_beyond_float32(target: str, tmp_path: Path) -> None:
    model = far(np.random.default_rng(0).normal(size=(400, 2)))
    thresholds = re.findall(r"-?[0-9.]+e\+?[0-9]+", model.model_text_)
    assert {one[0] == "-" for one in thresholds if abs(float(one)) > 1e200} == {True, False}
    assert rw.export(model, target, tmp_path / "m.x").outcome.startswith("exact")


def test_labels_that_differ_are_told(tmp_path: Path) -> None:
    classes = [10**17, 10**17 + 1]  # to a double they are the same
    X = np.arange(40.0).reshape(20, 2)
    model = rw.PRank(classes=classes).fit(X, np.array(classes)[np.arange(20) // 10])
    with pytest.raises(DataError, match=r"gives label \d where the model gives label \d, for"):
        rw.export(model, "sql", tmp_path / "m.sql", dialect="sqlite")


def test_weights_below_the_numbers_of_float32(tmp_path: Path) -> None:
    model = MODELS["linear"]()
    model.coef_ = model.coef_ * 1e-42
    with pytest.raises(Refusal, match="weights are below"):
        rw.export(model, "solr", tmp_path / "m.json")


def test_wide_rows_are_few() -> None:
    linear = Linear(np.ones((1, 10_000)), np.zeros(1))
    rules = Rules("LinearRanker", tuple(f"f{j}" for j in range(10_000)), linear=linear)
    assert sum(map(len, probe_blocks(rules, "float32", None, None))) == 200


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgresql", "clickhouse"])
def test_commands_quote_the_file(dialect: str) -> None:
    create, _ = target_named("sql").steps("my model; ls.sql", Options(dialect=dialect))
    assert create.endswith(" < 'my model; ls.sql'")
