"""``rankwright tune``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankwright as rw
from tests.interfaces.conftest import Cli


@pytest.fixture
def run(run: Cli, tmp_path: Path) -> Cli:
    rw.write_letor(rw.data.make_mslr_like(24, 6, 10), tmp_path / "data.txt")
    return run


def test_the_best_parameters_are_printed_and_fitted(run: Cli, tmp_path: Path) -> None:
    words = ["tune", "data.txt", "--model", "linear", "-s", "alpha=0.001..1.0:log"]
    words += ["-p", "loss=listnet", "-p", "standardize=True", "--study", "s.jsonl"]
    code, out, err = run(*words, "--trials", 3, "-o", "model.rw")
    assert code == 0
    table, _, line = out.rstrip("\n").rpartition("\n\n")
    rows = [row.split() for row in table.splitlines()]
    assert rows[0] == ["trial", "ndcg@10", "alpha"]
    assert [float(row[1]) for row in rows[1:]] == sorted(float(r[1]) for r in rows[1:])[::-1]
    assert line == f"-p alpha={rows[1][2]}"
    assert err.count("trial ") == 3
    model = rw.load(tmp_path / "model.rw")
    assert f"{model.alpha:.4g}" == rows[1][2]
    assert model.loss == "listnet"
    code, out, err = run(*words, "--trials", 4, "--json")
    assert code == 0
    assert err.count("trial ") == 1
    facts = json.loads(out)
    assert [t["number"] for t in facts["trials"]] == [0, 1, 2, 3]


def test_names_of_the_line_up_bring_their_space(run: Cli, tmp_path: Path) -> None:
    code, out, _ = run("tune", "data.txt", "--model", "pamir", "--trials", 2, "-o", "model.rw")
    assert code == 0
    assert out.splitlines()[0].split() == ["trial", "ndcg@10", "C", "n_epochs"]
    data = rw.read(tmp_path / "data.txt")
    assert rw.load(tmp_path / "model.rw").score(data.X, data.y, data.qid) > 0.4
    code, _, err = run("tune", "data.txt", "-p", "loss=listnet", "--trials", 1)
    assert code == 0
    assert "trial 0: alpha=0.01: ndcg@10 " in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.txt"], "nothing.txt: there is no such file."),
        (["data.txt", "--model", "x"], "there is no model 'x'. There are "),
        (["data.txt", "--model", "linear"], "linear needs --search: there is nothing that it"),
        (["data.txt", "-s", "alpha"], "what to search must be NAME=LOW..HIGH"),
        (["data.txt", "-s", "beta=1,2"], "tuned has no parameter 'beta' to search"),
        (["data.txt", "-p", "beta=1"], "xendcg-linear has no parameter 'beta'; it has"),
        (["data.txt", "-m", "nope"], "there is no metric 'nope'."),
        (["data.txt", "--sampler", "x"], "--sampler must be random or optuna, but is 'x'."),
        (["data.txt", "--trials", "0"], "n_trials must be a positive integer, but is 0."),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words: list[str], message: str, run: Cli) -> None:
    code, out, err = run("tune", *words)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("rankwright: ")
    assert message in err
