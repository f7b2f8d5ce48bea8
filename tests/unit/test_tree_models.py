"""Trees in model files: nothing that is not a set of trees reaches LightGBM."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright import _kernels
from rankwright.data import make_mslr_like
from rankwright.exceptions import DataError
from rankwright.losses import LambdaRank, StochasticLambdaRank
from rankwright.metrics import ERR
from rankwright.trees import BoostedRanker, model_text

TRAIN = make_mslr_like(n_queries=20, n_features=6, mean_docs=15)


@pytest.fixture(scope="module")
def ranker() -> BoostedRanker:
    few = BoostedRanker(n_estimators=3, num_leaves=5, min_child_samples=5)
    return few.fit(TRAIN.X, TRAIN.y, TRAIN.qid)


def test_the_text_is_lightgbms_without_the_machine(ranker: BoostedRanker) -> None:
    text = ranker.model_text_
    assert text.startswith("tree\nversion=v4\n")
    assert text.endswith("end of trees\n")
    assert "num_threads" not in text
    assert len(model_text.read_trees(text, 6)) == 3


def test_a_model_of_one_leaf() -> None:
    text = model_text.one_leaf(3)
    assert len(model_text.read_trees(text, 3)) == 1
    import lightgbm

    booster = lightgbm.Booster(model_str=text)
    np.testing.assert_array_equal(booster.predict(np.ones((2, 3))), [0.0, 0.0])


def change(old: str, new: str) -> Callable[[str], str]:
    def changed(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return changed


def change_field(name: str, value: str) -> Callable[[str], str]:
    """Change a field of the first tree, and the sizes with it."""

    def changed(text: str) -> str:
        begin = text.index(f"\n{name}=") + 1
        end = text.index("\n", begin)
        longer = len(f"{name}={value}") - (end - begin)
        text = f"{text[:begin]}{name}={value}{text[end:]}"
        sizes = text[text.index("tree_sizes=") + 11 :].partition("\n")[0]
        first, _, others = sizes.partition(" ")
        return text.replace(sizes, f"{int(first) + longer} {others}", 1)

    return changed


HOSTILE: dict[str, Callable[[str], Any]] = {
    "nothing": lambda text: "",
    "not a text": lambda text: 3,
    "not ascii": lambda text: text + "é",
    "cut short": lambda text: text[:-1],
    "half": lambda text: text[: len(text) // 2],
    "more behind": lambda text: text + "x",
    "another version": change("version=v4", "version=v3"),
    "classes": change("num_class=1", "num_class=9"),
    "more features": change("max_feature_idx=5", "max_feature_idx=500000"),
    "fewer names": change("Column_0 ", ""),
    "another range": change("feature_infos=[", "feature_infos=="),
    "fewer ranges": change("feature_infos=", "feature_infos=none "),
    "an objective": change("label_index=0\n", "label_index=0\nobjective=lambdarank\n"),
    "sizes that lie": change("tree_sizes=", "tree_sizes=9"),
    "negative sizes": change("tree_sizes=", "tree_sizes=-"),
    "a tree twice": change("Tree=1\n", "Tree=0\n"),
    "huge tree": change_field("num_leaves", "1000000000"),
    "no leaf": change_field("num_leaves", "0"),
    "leaves that lie": change_field("num_leaves", "4"),
    "leaves that LightGBM counts otherwise": change_field("num_leaves", "50e-1"),
    "leaves with a sign": change_field("num_leaves", "+5"),
    "categories": change_field("num_cat", "1"),
    "categories that LightGBM counts otherwise": change_field("num_cat", "1e-400"),
    "linear leaves to LightGBM": change_field("is_linear", "1e-400"),
    "a line that ends for Python alone": change("\nsplit_gain=", "\x0bsplit_gain="),
    "a count that overflows": change_field("leaf_count", "1 2 3 4 2147483648"),
    "a negative count": change_field("leaf_count", "1 2 3 4 -1"),
    "linear leaves": change_field("is_linear", "1"),
    "a feature that does not exist": change_field("split_feature", "0 1 2 6"),
    "a negative feature": change_field("split_feature", "0 1 2 -1"),
    "a fraction of a feature": change_field("split_feature", "0 1 2 0.5"),
    "a circle": change_field("left_child", "1 0 3 -1"),
    "a circle that nothing leads to": lambda text: change_field("right_child", "-2 -3 -4 -5")(
        change_field("left_child", "-1 2 3 1")(text)
    ),
    "a child far away": change_field("left_child", "1 2 3 99999"),
    "a leaf far away": change_field("left_child", "1 2 3 -99999"),
    "not a number": change_field("threshold", "1 2 3 nan"),
    "infinite": change_field("leaf_value", "1 2 3 4 inf"),
    "an infinite gain": change_field("split_gain", "1 2 3 inf"),
    "an infinite value": change_field("internal_value", "1 2 3 inf"),
    "an infinite feature": change_field("split_feature", "0 1 2 inf"),
    "a negative infinite threshold": change_field("threshold", "1 2 3 -inf"),
    "a threshold that overflows": change_field("threshold", "1 2 3 1e999"),
    "a threshold with a long name": change_field("threshold", "1 2 3 infinity"),
    "thresholds without a space": change_field("threshold", "1 2 infinf"),
    "thresholds of nothing": change_field("threshold", ""),
    "overflow": change_field("leaf_value", "1 2 3 4 1e999"),
    "scores that overflow": change_field("leaf_value", "1 2 3 4 -1e301"),
    "too few leaves": change_field("leaf_value", "1 2 3 4"),
    "code": change_field("leaf_value", "__import__('os')"),
    "a long integer": change_field("split_feature", "0 1 2 99999999999999999999"),
    "a categorical decision": change_field("decision_type", "1 2 2 2"),
    "an unknown decision": change_field("decision_type", "2 2 2 255"),
    "an unknown field": change("is_linear=0\n", "is_linear=0\nleaf_coeff=1\n"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_refused(name: str, ranker: BoostedRanker) -> None:
    text = HOSTILE[name](ranker.model_text_)
    with pytest.raises(DataError, match=r"^model_text_ is not a model of LightGBM: [^\n]*\.$"):
        model_text.read_trees(text, 6)


def test_a_missing_value_that_tells_survives_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    X[rng.random(2000) < 0.4, 1] = np.nan
    y, qid = np.isnan(X[:, 1]).astype(int), np.arange(2000) // 20
    fitted = BoostedRanker(n_estimators=5, num_leaves=4).fit(X, y, qid)
    thresholds = [t for t in fitted.model_text_.splitlines() if t.startswith("threshold=")]
    assert any("inf" in line for line in thresholds)  # LightGBM's "not missing"
    rw.save(fitted, tmp_path / "model.rw")
    again = rw.load(tmp_path / "model.rw")
    assert again.predict(X).tobytes() == fitted.predict(X).tobytes()
    assert again.contributions(X)[0].tobytes() == fitted.contributions(X)[0].tobytes()
    far = np.array([[0.0, 1e308, 0.0], [0.0, -1e308, 0.0], [0.0, np.nan, 0.0]])
    assert again.predict(far).tobytes() == fitted.predict(far).tobytes()


@pytest.mark.parametrize("n_features", [0, -3, 5, 7, 10**12])
def test_another_number_of_features_is_refused(n_features: int, ranker: BoostedRanker) -> None:
    with pytest.raises(DataError, match="is not a model of LightGBM"):
        model_text.read_trees(ranker.model_text_, n_features)


def test_whatever_passes_the_check_does_not_crash(ranker: BoostedRanker, tmp_path: Path) -> None:
    """Garbled texts, each loaded and used by a process of its own, survive or are refused."""
    text, rng = ranker.model_text_, random.Random(0)
    texts = []
    for _ in range(3000):
        garbled = list(text)
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            place = rng.randrange(len(garbled))
            garbled[place] = rng.choice([*"0123456789-. =\neT", "inf"])
        texts.append("".join(garbled))
    texts += [text[: rng.randrange(len(text))] for _ in range(200)]
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    script = f"""
import json, sys
import lightgbm
import numpy as np
from rankwright.exceptions import DataError
from rankwright.trees.forest import Forest, ForestScorer
used = 0
for text in json.load(open({str(tmp_path / "texts.json")!r})):
    try:
        forest = Forest.from_text(text, 6)
    except DataError:
        continue
    booster = lightgbm.Booster(model_str=text)
    X = np.random.default_rng(0).normal(size=(20, 6)) * 100
    assert np.isfinite(booster.predict(X, num_threads=1)).all()
    if forest.node_count.all():
        found, start = ForestScorer(forest).contributions(X, threads=1)
        assert np.isfinite(found).all() and np.isfinite(start)
    used += 1
print(used)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 50  # changed digits of thresholds and values are fine


@pytest.mark.parametrize("loss", [LambdaRank(norm=True, k=5), StochasticLambdaRank(noise=0.5)])
def test_parameters_that_are_objects_are_kept(loss: LambdaRank, tmp_path: Path) -> None:
    few = BoostedRanker(
        loss,
        n_estimators=2,
        eval_metric=ERR(max_grade=5),
        lightgbm_params={"lambda_l1": 1.0, "max_depth": 3},
    ).fit(TRAIN.X, TRAIN.y, TRAIN.qid)
    rw.save(few, tmp_path / "model.rw")
    again = rw.load(tmp_path / "model.rw")
    assert again.get_params() == few.get_params()
    assert "model_text_.txt" in zipfile.ZipFile(tmp_path / "model.rw").namelist()


def rewrite(path: Path, name: str, content: bytes) -> None:
    with zipfile.ZipFile(path) as archive:
        entries = {entry: archive.read(entry) for entry in archive.namelist()}
    entries[name] = content
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for entry, data in entries.items():
            archive.writestr(entry, data)
    path.write_bytes(buffer.getvalue())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"", "is not a model of LightGBM"),
        (model_text.one_leaf(6).encode(), "n_iter_ must be 1, the number of trees"),
    ],
)
def test_hostile_files_are_refused(
    content: bytes, message: str, ranker: BoostedRanker, tmp_path: Path
) -> None:
    rw.save(ranker, tmp_path / "model.rw")
    rewrite(tmp_path / "model.rw", "model_text_.txt", content)
    with pytest.raises(DataError, match=message):
        rw.load(tmp_path / "model.rw")


def test_a_file_without_trees_is_refused(ranker: BoostedRanker, tmp_path: Path) -> None:
    rw.save(ranker, tmp_path / "model.rw")
    with zipfile.ZipFile(tmp_path / "model.rw") as archive:
        header = json.loads(archive.read("header.json"))
    header["arrays"] = []
    with zipfile.ZipFile(tmp_path / "model.rw", "w") as archive:
        archive.writestr("header.json", json.dumps(header))
    with pytest.raises(DataError, match="is not a model of LightGBM"):
        rw.load(tmp_path / "model.rw")


def test_numbers_are_read_as_python_reads_them() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 1 << 64, 3000, dtype=np.uint64).view(np.float64)
    drawn = np.concatenate([drawn[np.isfinite(drawn)], rng.normal(size=3000) * 1e-35])
    for form in ("{!r}", "{:.17g}", "{:.20e}", "{:.6f}", "{:.3g}"):
        words = [form.format(float(value)) for value in drawn]
        expected = np.array([float(word) for word in words])
        assert _kernels.read_numbers(" ".join(words)).tobytes() == expected.tobytes(), form
    edges = "0 -0 1. .5 +3 007 4294967295 5e-324 2e-324 1e-400 1e400 -1e400 inf 9007199254740993"
    found = _kernels.read_numbers(f"  {edges}  ")
    assert found.tobytes() == np.array([float(word) for word in edges.split()]).tobytes()
    assert _kernels.read_numbers("").tolist() == _kernels.read_numbers("   ").tolist() == []


@pytest.mark.parametrize("text", ["1 x", "1e", "1,2", "--1", "+-1", ".", "e5", "1\t2", "1\n", "-"])
def test_what_is_no_number_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"^text must be numbers with blanks between them$"):
        _kernels.read_numbers(text)
