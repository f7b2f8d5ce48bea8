"""Logs as they come: texts among numbers, empty columns, several causes at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.exceptions import DataError

ROWS = np.random.default_rng(3).normal(size=(300, 3)).astype(np.float32)
ROWS[::3, 2] = np.nan
NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def model() -> Any:
    filled = np.nan_to_num(ROWS)
    y = np.digitize(filled[:, 0] + filled[:, 1] + 2 * np.isnan(ROWS[:, 2]), [0, 1])
    ranker = rw.BoostedRanker("xendcg", n_estimators=8, num_leaves=8, random_state=0)
    return ranker.fit(ROWS, y, np.arange(300) // 15)


@pytest.fixture
def grid(model: Any, tmp_path: Path) -> Any:
    rw.export(model, "xgboost", tmp_path / "m.json", names=NAMES)
    return rw.load(tmp_path / "m.grid.rw")


def logged(path: Path, scores: Any, X: Any = ROWS, missing: str = "") -> Path:
    lines = ["\t".join(["query", "doc", "score", *NAMES])]
    for i, row in enumerate(X):
        values = [missing if value != value else str(value) for value in row]
        lines.append("\t".join(["1", str(i), str(scores[i]), *values]))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("text", ["None", "-", "unknown"])
def test_a_feature_of_texts_is_not_taken_for_one_that_is_not_there(
    text: str, grid: Any, tmp_path: Path
) -> None:
    log = logged(tmp_path / "log.tsv", np.float32(grid.predict(ROWS)), missing=text)
    with pytest.raises(DataError, match=rf"log.tsv, c: features must be numbers.*'{text}'"):
        rw.verify(tmp_path / "m.cert.json", log=log)


@pytest.mark.parametrize("text", ["", "NaN", "null", "NA"])
def test_a_feature_that_no_document_has_is_there(text: str, grid: Any, tmp_path: Path) -> None:
    X = ROWS.copy()
    X[:, 2] = np.nan
    log = logged(tmp_path / "log.tsv", np.float32(grid.predict(X)), X, missing=text)
    said = rw.verify(tmp_path / "m.cert.json", log=log)
    assert said.passed, str(said)
    assert said.facts["absent"] == []


def test_what_is_wrong_with_a_log_is_said_in_its_words(grid: Any, tmp_path: Path) -> None:
    scores: Any = np.float32(grid.predict(ROWS)).tolist()
    certificate = tmp_path / "m.cert.json"
    with pytest.raises(DataError, match=r"name it \.tsv, \.csv"):
        rw.verify(certificate, log=logged(tmp_path / "log.txt", scores))
    with pytest.raises(DataError, match="score must be numbers"):
        rw.verify(certificate, log=logged(tmp_path / "log.tsv", ["high", *scores[1:]]))
    X = ROWS.copy()
    X[4, 1] = np.inf
    with pytest.raises(DataError, match=r"log\.tsv, line 6, b: features must be finite"):
        rw.verify(certificate, log=logged(tmp_path / "log.tsv", scores, X))


def test_one_score_for_all_has_no_other_cause(grid: Any, tmp_path: Path) -> None:
    linear = rw.LinearRanker("listnet").fit(
        np.nan_to_num(ROWS), np.arange(300) % 3, np.arange(300) // 15
    )
    linear.feature_names_in_ = np.array(NAMES, dtype=object)
    log = logged(tmp_path / "log.tsv", np.ones(300), np.nan_to_num(ROWS))
    for what in (tmp_path / "m.cert.json", linear):
        said = rw.verify(what, log=log)
        assert said.lines[-1] == "why: the engine gives every document the same score, 1"
        assert said.facts["causes"] == []


def test_a_constant_is_told_once_beside_another_cause(grid: Any, tmp_path: Path) -> None:
    scores = np.float32(grid.predict(np.nan_to_num(ROWS)) + 0.3)
    said = rw.verify(tmp_path / "m.cert.json", log=logged(tmp_path / "log.tsv", scores))
    kinds = [one["kind"] for one in said.facts["causes"]]
    assert kinds == ["missing as 0", "off by a constant"]
    assert "why: off by a constant: the engine's scores are the model's +0.3" in str(said)
