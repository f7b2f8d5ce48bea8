"""``rankwright train`` and ``predict``: the same as Python, and one line for what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from tests.interfaces.conftest import Cli


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rw.write_letor(rw.data.make_mslr_like(n_queries=20, mean_docs=8), tmp_path / "data.txt")
    return tmp_path / "data.txt"


def test_the_same_model_as_python(data: Path, run: Cli) -> None:
    model = data.with_name("model.rw")
    options = ["--loss", "listnet", "--penalty", "l1", "--alpha", "0.02", "-p", "max_iter=500"]
    code, out, _ = run("train", data, "-o", model, *options, "--json")
    assert code == 0
    ds = rw.read(data)
    ranker = rw.LinearRanker("listnet", "l1", 0.02, standardize=True, max_iter=500)
    ranker.fit(ds.X, ds.y, ds.qid)
    np.testing.assert_array_equal(rw.load(model).coef_, ranker.coef_)
    facts = json.loads(out)
    assert facts["features_used"] == np.count_nonzero(ranker.coef_)
    assert facts["objective"] == ranker.objective_[-1]
    code, out, _ = run("predict", model, data)
    assert code == 0
    np.testing.assert_array_equal([float(line) for line in out.split()], ranker.predict(ds.X))


def test_scores_are_in_the_order_of_the_lines(run: Cli, tmp_path: Path) -> None:
    # The documents of a query lie apart: evaluate, too, takes scores in the order of the lines.
    made = rw.data.make_mslr_like(n_queries=12, n_features=5, mean_docs=8)
    rows = np.random.default_rng(0).permutation(made.n_docs)
    whole = rw.Dataset(made.X[rows], made.y[rows], made.qid[rows])
    rw.write_letor(whole, tmp_path / "scattered.txt")
    assert run("train", "scattered.txt", "-o", "model.rw", "--alpha", 0.1)[0] == 0
    code, _, _ = run("predict", "model.rw", "scattered.txt", "-o", "scores.txt")
    assert code == 0
    scores = [float(line) for line in (tmp_path / "scores.txt").read_text(encoding="utf-8").split()]
    ranker = rw.load(tmp_path / "model.rw")
    np.testing.assert_allclose(scores, ranker.predict(made.X[rows]), rtol=1e-6)
    code, out, _ = run("evaluate", "scattered.txt", "scores.txt", "--json")
    assert code == 0
    found = json.loads(out)["metrics"]
    for name, mean in rw.evaluate(ranker, rw.read(tmp_path / "scattered.txt")).items():
        assert found[name]["mean"] == mean


def test_one_line_about_the_fit(data: Path, run: Cli) -> None:
    model = data.with_name("model.rw")
    code, out, _ = run("train", data, "-o", model, "--no-standardize", "--penalty", "none")
    assert code == 0
    assert out.startswith(f"{model}: LinearRanker, xendcg, objective ")
    assert "of 136 features" in out
    loaded = rw.load(model)
    assert (loaded.penalty, loaded.standardize) == (None, False)


def test_alpha_by_folds(data: Path, run: Cli) -> None:
    model = data.with_name("model.rw")
    code, _, err = run("train", data, "-o", model, "--alpha", "auto")
    assert code == 0
    alpha = rw.load(model).alpha
    assert f"alpha {alpha:g}: mean NDCG@10 " in err


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--loss", "xe"], "loss must be one of "),
        (["--alpha", "much"], "--alpha must be a number or 'auto', but is 'much'."),
        (["--alpha", "-1"], "alpha must be "),
        (["-p", "alpha"], "--param must be NAME=VALUE, but is 'alpha'."),
        (["-p", "depth=3"], "linear has no parameter 'depth'; it has alpha, "),
    ],
)
def test_bad_options_are_one_line(options: list[str], line: str, data: Path, run: Cli) -> None:
    code, out, err = run("train", data, "-o", data.with_name("model.rw"), *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"rankwright: {line}")
    assert err.count("\n") == 1
    assert not data.with_name("model.rw").exists()


def test_an_unknown_model_names_those_that_are_known(data: Path, run: Cli) -> None:
    code, _, err = run("train", data, "-o", data.with_name("model.rw"), "--model", "oracle")
    assert code == 2
    assert "linear" in err


def test_values_of_params() -> None:
    from rankwright.cli.train import parse_params

    given = parse_params(["a=1", "b=0.5", "c=True", "d=None", "e=l1", "f=[1, 2]", "g=x=y"])
    wanted = {"a": 1, "b": 0.5, "c": True, "d": None, "e": "l1", "f": [1, 2], "g": "x=y"}
    assert given == wanted
    assert parse_params(["a=true", "b=false"]) == {"a": True, "b": False}


@pytest.mark.parametrize("command", [["info"], ["train", "-o", "m.rw"]], ids=lambda c: c[0])
def test_a_width_that_cannot_be_meant_takes_no_memory(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wide.txt").write_text("1 qid:1 2147483646:1\n")
    name, *more = command
    done = subprocess.run(
        [sys.executable, "-m", "rankwright", name, "wide.txt", *more],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 2
    assert "wide.txt, feature: the largest index is 2147483646, but the file has 1" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "m.rw").exists()


def test_validation_queries_that_were_learned_are_refused(run: Cli, tmp_path: Path) -> None:
    data = rw.data.make_mslr_like(n_queries=30, n_features=5, mean_docs=10)
    rw.write_letor(data, tmp_path / "all.txt")
    words = ["train", "all.txt", "--model", "boosted", "-p", "n_estimators=3", "-o", "m.rw"]
    code, out, err = run(*words, "--valid", "all.txt")
    assert (code, out) == (2, "")
    assert err.startswith("rankwright: the queries of all.txt and all.txt must be different, but ")
    assert err.count("\n") == 1
    assert not (tmp_path / "m.rw").exists()
    assert run(*words, "--valid", "all.txt", "--allow-overlap")[0] == 0
    assert rw.load(tmp_path / "m.rw").n_iter_ > 0
