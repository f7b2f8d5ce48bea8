"""Files whose columns are not those that a model was fitted to, for every model and command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from rankwright.data import write_frame, write_letor
from tests.contracts.test_feature_names import every_model, fitted, make_data, moved
from tests.interfaces.conftest import Cli


@every_model
def test_tables_with_other_columns(name: str, run: Cli) -> None:
    model, data = fitted(name), make_data()
    rw.save(model, "model.rw")
    expected = model.predict(data.X)

    def scores(path: str) -> tuple[Any, str]:
        code, out, err = run("predict", "model.rw", path)
        assert code == 0
        return np.array(out.split(), dtype=float), err

    write_frame(moved(data, [3, 2, 1, 0]), "reversed.csv")
    found, err = scores("reversed.csv")
    assert np.array_equal(found, expected)
    assert err == ""
    write_frame(moved(data, [1, 0, 3, 2], extra="price"), "extra.parquet")
    found, err = scores("extra.parquet")
    assert np.array_equal(found, expected)
    assert err == (
        "rankwright: warning: extra.parquet: 'price' is not looked at: model.rw has no such "
        "feature.\n"
    )
    for path in ("unlabelled.csv", "unlabelled.jsonl"):
        write_frame(moved(data, [2, 0, 3, 1]), path, label="not_needed")
        found, err = scores(path)
        assert np.array_equal(found, expected)
        assert err == (
            f"rankwright: warning: {path}: 'not_needed' is not looked at: model.rw has no such "
            "feature.\n"
        )
    unlabelled = moved(data, [3, 0, 1, 2])
    pd.DataFrame(unlabelled.X, columns=unlabelled.feature_names).assign(
        qid=unlabelled.qid
    ).to_parquet("unlabelled.parquet")
    found, err = scores("unlabelled.parquet")
    assert np.array_equal(found, expected)
    assert err == ""
    write_frame(moved(data, [0, 1, 2]), "less.csv")
    assert run("predict", "model.rw", "less.csv") == (
        2,
        "",
        "rankwright: less.csv: there must be all 4 features of model.rw, but 'clicks' is "
        "missing.\n",
    )


@every_model
def test_short_letor_files(name: str, run: Cli) -> None:
    model, data = fitted(name, None), make_data(None)
    rw.save(model, "model.rw")
    X = data.X.copy()
    X[:, 3] = 0
    write_letor(rw.Dataset(X[:, :3], data.y, data.qid), "short.txt")
    code, out, err = run("predict", "model.rw", "short.txt")
    assert (code, err) == (
        0,
        "rankwright: warning: short.txt: 3 of the 4 features of model.rw; the others count 0.\n",
    )
    if name != "random":  # it draws by the last bit, and the file has float32
        assert np.allclose(np.array(out.split(), dtype=float), model.predict(X), 1e-4, 1e-5)


def test_the_review_s_reversed_columns(run: Cli, tmp_path: Path) -> None:
    """A model of named columns ranks the same whatever their order in the file."""
    train, test = rw.data.make_mslr_like(n_queries=60, mean_docs=10).split((0.7, 0.3))
    names = [f"signal_{j}" for j in range(train.n_features)]
    train = rw.Dataset(train.X, train.y, train.qid, feature_names=names)
    test = rw.Dataset(test.X, test.y, test.qid, feature_names=names)
    write_frame(train, "train.csv")
    write_frame(test, "test.csv")
    write_frame(moved(test, [*reversed(range(test.n_features))]), "reversed.csv")
    values = []
    assert run("train", "train.csv", "-o", "model.rw")[0] == 0
    for name in ("test.csv", "reversed.csv"):
        assert run("predict", "model.rw", name, "-o", "scores.txt")[0] == 0
        values.append(run("evaluate", name, "scores.txt", "-m", "ndcg@10")[1])
        assert run("bounds", "model.rw", name)[0] == 0
    assert values[0] == values[1]
    tables = [run("compare", "train.csv", "--test", name, "--models", "xendcg-linear,random",
                  "--trials", 1, "-j", 1, "-o", name[:-4], "--csv")[1]
              for name in ("test.csv", "reversed.csv")]  # fmt: skip
    assert tables[0] == tables[1]
    for command in (["train", "-o", "trees.rw", "--model", "boosted", "-p", "n_estimators=5"],
                    ["path", "--n-alphas", 3]):  # fmt: skip
        texts = [
            run(command[0], "train.csv", *command[1:], "--valid", name, "--json")
            for name in ("test.csv", "reversed.csv")
        ]
        assert [code for code, *_ in texts] == [0, 0]
        assert texts[0][1].split("seconds")[0] == texts[1][1].split("seconds")[0]


@pytest.mark.parametrize("command", ["predict", "bounds"])
def test_features_without_names_on_one_side(command: str, run: Cli) -> None:
    data = make_data()
    rw.save(fitted("linear"), "model.rw")
    write_letor(data, "data.txt")
    code, _, err = run(command, "model.rw", "data.txt")
    assert code == 0
    assert err == (
        "rankwright: warning: data.txt: columns are taken by position, since only model.rw has "
        "names for them: feature 1 is 'title', and so on.\n"
    )


@pytest.mark.parametrize("stream", [False, True])
def test_features_may_count_from_0(stream: bool, run: Cli, tmp_path: Path) -> None:
    """A file without its feature 0 is read as one that counts from 1: numbers mean the same."""
    rng = np.random.default_rng(0)

    def lines(first: int) -> str:
        X = rng.normal(size=(120, 3))
        X[:, :first] = 0
        rows = enumerate(zip(X, X[:, 1] - X[:, 2] > 0, strict=True))
        return "".join(
            f"{int(good)} qid:{i // 12} "
            + " ".join(f"{j}:{x[j]:g}" for j in range(first, 3))
            + "\n"
            for i, (x, good) in rows
        )

    Path("train.txt").write_text(lines(0))
    Path("test.txt").write_text(lines(1))
    words = ["--stream", "--model", "slam-perceptron"] if stream else []
    assert run("train", "train.txt", *words, "-o", "m.rw")[0] == 0
    code, _, err = run("predict", "m.rw", "test.txt", "-o", "s.txt")
    assert (code, err) == (
        0,
        "rankwright: warning: test.txt: 2 of the 3 features of m.rw; the others count 0.\n",
    )
    test = rw.read("test.txt")
    assert rw.evaluate(rw.data.read_scores("s.txt", test), test, ["ndcg@5"])["ndcg@5"] > 0.9
    assert "feature 1" in run("formula", "m.rw")[1]
    assert rw.load("m.rw").feature_names() == ["feature 0", "feature 1", "feature 2"]
    assert run("convert", "train.txt", "again.txt")[0] == 0
    assert Path("again.txt").read_text().startswith(Path("train.txt").read_text()[:8])
    np.testing.assert_allclose(rw.read("again.txt").X, rw.read("train.txt").X)
    assert rw.read("again.txt").feature_names == rw.read("train.txt").feature_names
