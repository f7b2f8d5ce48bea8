"""The command line on data in parts: partition, then train, evaluate and predict."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from rankwright.cli import app
from rankwright.cli.parts import names_parts, size_of
from tests.interfaces.conftest import Runner

runner = Runner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with data in one file, in parts of text and of Parquet, and a model."""
    folder = tmp_path_factory.mktemp("parts")
    data = rw.data.make_mslr_like(n_queries=60, n_features=6, mean_docs=7)
    train, test = data.split((0.7, 0.3))
    for name, one in {"all": data, "train": train, "test": test}.items():
        rw.write(one, folder / f"{name}.txt")
        rw.write(one, folder / f"{name}.parquet")
        rw.data.partition(folder / f"{name}.txt", folder / f"{name}-text", 4)
        rw.data.partition(folder / f"{name}.parquet", folder / f"{name}-table", 4)
    rw.save(rw.LinearRanker().fit_dataset(rw.read(folder / "train.txt")), folder / "model.rw")
    return folder


def run(*words: Any) -> Any:
    return runner.invoke(app, list(map(str, words)))


def refused(*words: Any) -> str:
    """Return the one line of a command that ends with 2."""
    result = run(*words)
    assert result.exception is not None
    assert isinstance(result.exception, ValueError | TypeError), result.exception
    return str(result.exception)


def test_partition_says_what_it_wrote(tmp_path: Path, folder: Path) -> None:
    result = run("partition", folder / "all.txt", "-o", tmp_path / "parts", "--parts", 3)
    assert result.exit_code == 0, result.exception
    manifest = rw.data.manifest.read_manifest(tmp_path / "parts")
    n_docs = sum(part.n_docs for part in manifest.parts)
    largest = max(part.n_docs for part in manifest.parts)
    assert result.stderr.endswith(
        f"parts: 3 parts, {n_docs} documents, 60 queries; the largest has {largest} documents\n"
    )
    again = ("partition", folder / "all.txt", "-o", tmp_path / "parts", "--parts", 2)
    assert "holds parts already" in refused(*again)
    assert run(*again, "--overwrite").exit_code == 0
    assert len(rw.data.manifest.read_manifest(tmp_path / "parts").parts) == 2


@pytest.mark.parametrize("kind", ["text", "table"])
def test_train_from_parts_is_near_training_in_memory(
    tmp_path: Path, folder: Path, kind: str
) -> None:
    out = tmp_path / "model.rw"
    result = run("train", folder / f"train-{kind}", "-o", out, "--no-standardize")
    assert result.exit_code == 0, result.exception
    facts = rw.read_parts(folder / f"train-{kind}").facts
    told = f"4 parts, {facts.n_docs} documents, {facts.n_queries} queries, 6 features\n"
    assert told in result.stderr
    memory, parts = rw.load(folder / "model.rw"), rw.load(out)
    np.testing.assert_allclose(parts.coef_, memory.coef_, rtol=1e-6)
    pattern = folder / f"train-{kind}" / "part-*"
    assert run("train", pattern, "-o", out, "--no-standardize").exit_code == 0
    np.testing.assert_array_equal(rw.load(out).coef_, parts.coef_)


def test_several_folders_of_parts_are_learned_from_together(tmp_path: Path, folder: Path) -> None:
    out = tmp_path / "model.rw"
    data = folder / "train-text", folder / "test-text"
    result = run("train", *data, "-o", out)
    assert result.exit_code == 0, result.exception
    assert "8 parts" in result.stderr
    assert "is in " in refused("train", *data, folder / "all-text", "-o", out)


@pytest.mark.parametrize("kind", ["text", "table"])
def test_parts_are_evaluated_as_a_file(folder: Path, kind: str) -> None:
    words = "evaluate", "{}", folder / "model.rw", "--json", "-m", "ndcg@10", "-m", "err"
    ending = "txt" if kind == "text" else "parquet"
    parts, whole = (
        json.loads(run(words[0], data, *words[2:]).stdout)["metrics"]
        for data in (folder / f"test-{kind}", folder / f"test.{ending}")
    )
    assert parts == whole


@pytest.mark.parametrize("kind", ["text", "table"])
def test_parts_are_described_as_a_file(folder: Path, kind: str) -> None:
    ending = "txt" if kind == "text" else "parquet"
    parts, whole = (
        json.loads(run("info", data, "--json").stdout)
        for data in (folder / f"all-{kind}", folder / f"all.{ending}")
    )
    assert parts.pop("file") != whole.pop("file")
    assert parts == whole


def test_values_by_query_and_several_models(tmp_path: Path, folder: Path) -> None:
    out = tmp_path / "values.tsv"
    result = run("evaluate", folder / "test-text", folder / "model.rw", "--per-query", out)
    assert result.exit_code == 0, result.exception
    found = pd.read_csv(out, sep="\t")
    assert set(found.iloc[:, 0]) == set(rw.read(folder / "test.txt").qid.tolist())
    names = f"a={folder / 'model.rw'}", f"b={folder / 'model.rw'}"
    result = run("evaluate", folder / "test-text", *names)
    assert result.exit_code == 0, result.exception
    assert "vs a" in result.stdout
    assert "Keep a." in result.stdout


@pytest.mark.parametrize("kind", ["text", "table"])
@pytest.mark.parametrize("ending", ["txt", "csv", "run"])
def test_scores_come_in_the_order_of_the_parts(
    tmp_path: Path, folder: Path, kind: str, ending: str
) -> None:
    out = tmp_path / f"scores.{ending}"
    result = run("predict", folder / "model.rw", folder / f"test-{kind}", "-o", out)
    assert result.exit_code == 0, result.exception
    one_by_one = []
    for i, path in enumerate(sorted((folder / f"test-{kind}").glob("part-*"))):
        part = tmp_path / f"{i}.{ending}"
        assert run("predict", folder / "model.rw", path, "-o", part).exit_code == 0
        lines = part.read_text().splitlines()
        one_by_one += lines[1:] if ending == "csv" and i else lines
    if ending == "txt":
        assert out.read_text().splitlines() == one_by_one
    else:
        assert len(out.read_text().splitlines()) == len(one_by_one)


def test_missing_values_are_told_and_filled(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"qid": np.repeat(np.arange(40), 5), "label": rng.integers(0, 3, 200)})
    frame["a"], frame["b"] = rng.random(200) + frame["label"], rng.random(200)
    frame.loc[rng.random(200) < 0.3, "b"] = np.nan
    frame.to_parquet(tmp_path / "all.parquet", index=False)
    rw.data.partition(tmp_path / "all.parquet", tmp_path / "parts", 3)
    out = tmp_path / "model.rw"
    result = run("train", tmp_path / "parts", "-o", out, "--missing-indicator")
    assert result.exit_code == 0, result.exception
    assert "b " in result.stderr
    assert "missing: their medians count in linear and online models" in result.stderr
    assert rw.load(out).feature_names_in_.tolist() == ["a", "b", "b is missing"]
    assert "must be a finite number" in refused(
        "train", tmp_path / "parts", "-o", out, "--missing", "error"
    )


def test_what_cannot_be_done_is_refused_before_reading(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("read")

    monkeypatch.setattr("rankwright.data.parts.read_part", never)
    parts, model, out = folder / "train-text", folder / "model.rw", tmp_path / "model.rw"
    assert refused("train", parts, "-o", out, "--model", "random").startswith(
        "random learns from data in memory, not from parts. From parts learn linear, boosted, "
        "ensemble, "
    )
    assert refused("train", parts, "-o", out, "--model", "ensemble") == (
        "early_stopping_rounds of member 'stochastic-lambdarank-trees 1' needs --valid to learn "
        "from parts."
    )
    auto = "--model", "boosted", "--param", "base=auto"
    assert refused("train", parts, "-o", out, *auto) == (
        "base='auto' needs --valid to learn from parts."
    )
    average = "--model", "ensemble", "--param", "n_estimators=3"
    for model_options in (average, auto):
        assert "It is 1.15 GB in any case" in refused(
            *("train", parts, "-o", out, *model_options, "--valid", parts, "--max-memory", "1GB")
        )
    for name in ("none.txt", "none*.txt"):
        words = "train", parts, "-o", out, "--model", "boosted", "--valid", tmp_path / name
        assert f"{name}: there is no " in refused(*words)
    assert refused("train", parts, "-o", out, "--model", "online") == (
        "online learns from parts query by query: give --stream."
    )
    assert "--alpha auto needs data in memory" in refused(
        "train", parts, "-o", out, "--alpha", "auto"
    )
    assert "--max-memory allows 0.10 GB" in refused(
        "train", parts, "-o", out, "--max-memory", "100MB"
    )
    assert "--max-memory is for data in parts" in refused(
        "train", folder / "train.txt", "-o", out, "--max-memory", "4GB"
    )
    assert "measured by models (.rw), not" in refused("evaluate", parts, folder / "all.txt")
    assert "--report shows documents" in refused(
        "evaluate", parts, f"a={model}", f"b={model}", "--report", tmp_path / "r.html"
    )
    assert not os.listdir(tmp_path)
    for data in (parts, parts / "*.txt"):
        assert "lies in the folder that is read" in refused("train", data, "-o", parts / "m.rw")
    shutil.copy(parts / "part-00000.txt", tmp_path / "a.txt")
    pattern = tmp_path / "*.txt"
    assert "fits the pattern" in refused("train", pattern, "-o", tmp_path / "b.txt")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")
@pytest.mark.filterwarnings("ignore:weights='valid' follows the noise")
def test_grafts_and_averages_from_parts(tmp_path: Path, folder: Path) -> None:
    parts, others = folder / "train-text", folder / "test-text"
    few = "--param", "n_estimators=3", "-j", 1
    members = "--param", "members=['linear', 'xendcg-trees']", "--param", "n_models=1"
    for name, more in (("graft", ()), ("ensemble", members)):
        out = tmp_path / f"{name}.rw"
        words = "train", parts, "-o", out, "--model", name, "--valid", others, *few, *more
        result = run(*words, "--max-memory", "2GB")
        assert result.exit_code == 0, result.exception
        assert rw.load(out).best_score_ > 0.5


def test_a_model_beside_the_files_of_a_pattern(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "train-text" / "part-00000.txt", tmp_path / "a.txt")
    assert run("train", tmp_path / "*.txt", "-o", tmp_path / "a.rw").exit_code == 0


def test_other_commands_read_parts_into_memory(folder: Path, tmp_path: Path) -> None:
    for kind in ("text", "table"):
        result = run("path", folder / f"train-{kind}", "--valid", folder / f"test-{kind}")
        assert result.exit_code == 0, result.exception


@pytest.mark.parametrize("kind", ["text", "table"])
def test_online_learners_stream_over_parts(tmp_path: Path, folder: Path, kind: str) -> None:
    out = tmp_path / "model.rw"
    words = "train", folder / f"train-{kind}", "-o", out, "--model", "online", "--stream"
    result = run(*words)
    assert result.exit_code == 0, result.exception
    fitted = rw.load(out)
    assert fitted.n_rounds_ == 10 * rw.read(folder / "train.txt").n_queries
    assert os.listdir(tmp_path) == ["model.rw"]


def test_validation_queries_must_be_others(tmp_path: Path, folder: Path) -> None:
    from rankwright.data.part_values import aligned_parts
    from rankwright.evaluation.overlap import check_parts_apart

    train, test = (rw.read_parts(folder / f"{name}-text") for name in ("train", "test"))
    check_parts_apart(train, test, "the queries of a and b")
    everything = rw.read_parts(folder / "all-text")
    with pytest.raises(rw.DataError, match=r"the queries of a and b must be different, but query"):
        check_parts_apart(train, everything, "the queries of a and b")
    lines = (folder / "test.txt").read_text().replace("qid:", "qid:9")
    (tmp_path / "other.txt").write_text(lines)
    other = aligned_parts(rw.read_parts(tmp_path / "other.txt"), test.facts.features)
    with pytest.raises(rw.DataError, match="under other ids"):
        check_parts_apart(test, other, "the queries of a and b")


def test_names_of_parts(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").write_text("1 qid:1 1:1\n")
    (tmp_path / "table").mkdir()
    assert names_parts(str(folder / "all-text"))
    assert names_parts([str(folder / "all.txt"), str(folder / "*.txt")])
    for path in (folder / "all.txt", folder, tmp_path / "a[1].txt", tmp_path / "table", "-"):
        assert not names_parts(str(path))


@pytest.mark.parametrize("text", ["", "much", "-4GB", "4XB", "GB", "1e9"])
def test_bad_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="--max-memory must be a size such as 4GB"):
        size_of(text)
    assert size_of("100") == 100
    assert size_of(" 2 KiB ") == 2048
