"""``rankwright tune``."""

from __future__ import annotations

import json
import subprocess
import sys
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
    options = f"-p alpha={rows[1][2]} -p loss=listnet"
    assert line == f"rankwright train data.txt --model linear {options} -o model.rw"
    assert err.count("trial ") == 3
    model = rw.load(tmp_path / "model.rw")
    assert f"{model.alpha:.4g}" == rows[1][2]
    assert model.loss == "listnet"
    code, out, err = run(*words, "--trials", 4, "--json")
    assert code == 0
    assert err.count("trial ") == 1
    facts = json.loads(out)
    assert [t["number"] for t in facts["trials"]] == [0, 1, 2, 3]


def test_large_data_is_sampled(run: Cli) -> None:
    words = ["tune", "data.txt", "--model", "xendcg-linear", "--trials", 3, "--halve-above", 80]
    code, out, err = run(*words, "-j", 1)
    assert code == 0
    rows = [line.split() for line in out.splitlines()[:4]]
    assert rows[0][-3:] == ["of", "the", "queries"]
    assert [row[-1] for row in rows[1:]] == ["all", "1/3", "1/3"]
    assert err.count(" on 1/3 of the queries: alpha=") == 3


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
        (["data.txt", "--model", "x"], "model must be one of linear, "),
        (["data.txt", "--model", "prank"], "prank needs --search: there is nothing that it"),
        (["data.txt", "-s", "alpha"], "what to search must be NAME=LOW..HIGH"),
        (["data.txt", "-s", "beta=1,2"], "xendcg-linear has no parameter 'beta' to search"),
        (["data.txt", "-p", "beta=1"], "xendcg-linear has no parameter 'beta'; it has"),
        (["data.txt", "-m", "nope"], "there is no metric 'nope'."),
        (["data.txt", "--sampler", "x"], "--sampler must be random or optuna, but is 'x'."),
        (["data.txt", "--trials", "0"], "Invalid value for '--trials': "),
        (["none.txt", "--parallel", "2"], "--parallel is for --sampler optuna: random has as many"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words: list[str], message: str, run: Cli) -> None:
    code, out, err = run("tune", *words)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("rankwright: ")
    assert message in err


def test_two_searches_cannot_use_one_study(run: Cli, tmp_path: Path) -> None:
    words = ["tune", "data.txt", "--model", "linear", "-s", "alpha=0.001..1.0:log", "-j", "1"]
    words += ["--study", "s.jsonl", "--trials"]
    first = subprocess.Popen(
        [sys.executable, "-m", "rankwright", *words, "100000"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert first.stderr is not None
        assert "trial 0" in first.stderr.readline()
        before = len((tmp_path / "s.jsonl").read_text(encoding="utf-8").splitlines())
        code, out, err = run(*words, "3")
    finally:
        first.kill()
        first.communicate()
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    who = f"rankwright: s.jsonl: another rankwright (pid {first.pid} on "
    assert err.startswith(who)
    assert "`__main__.py tune data.txt --model linear" in err
    assert "is using this study. Wait for it, or stop it." in err
    # It was not harmed, and the lock ended with the process: what was printed is there.
    assert len((tmp_path / "s.jsonl").read_text(encoding="utf-8").splitlines()) >= before >= 2
    code, _, err = run(*words, "2", "--json")
    assert code == 0
    assert "trial 0" not in err


def test_damaged_lines_are_told_in_one_line(run: Cli, tmp_path: Path) -> None:
    words = ["tune", "data.txt", "--study", "s.jsonl", "--trials", 3, "-j", 1, "--json"]
    code, first, _ = run(*words)
    assert code == 0
    lines = (tmp_path / "s.jsonl").read_bytes().splitlines()
    (tmp_path / "s.jsonl").write_bytes(b"\n".join([*lines[:2], b"{", lines[3][:30]]))
    code, second, err = run(*words)
    assert code == 0
    note = "rankwright: warning: s.jsonl: 2 lines are damaged: what was there is done again."
    assert err.splitlines()[0] == note
    assert [line[:7] for line in err.splitlines()[1:]] == ["trial 1", "trial 2"]
    values = [[t["value"] for t in json.loads(text)["trials"]] for text in (first, second)]
    assert values[0] == values[1]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_search_is_the_same_on_any_number_of_processes(jobs: int, run: Cli) -> None:
    code, out, _ = run("tune", "data.txt", "--trials", 4, "-j", jobs, "--json")
    assert code == 0
    study = rw.comparison.tune(
        rw.comparison.lineup(["xendcg-linear"])[0].estimator,
        rw.read("data.txt"),
        rw.comparison.lineup(["xendcg-linear"])[0].space,
        n_trials=4,
    )
    found = [(t["number"], t["value"], t["folds"]) for t in json.loads(out)["trials"]]
    assert found == [(t.number, t.value, t.folds) for t in study.trials]


def test_optuna_has_trials_under_way(run: Cli, tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="needs the extra tune")
    words = ["tune", "data.txt", "--sampler", "optuna", "--study", "s.jsonl", "--trials", 2]
    assert run(*words, "--parallel", 2)[0] == 0
    head = json.loads((tmp_path / "s.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert head["n_parallel"] == 2
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err == (
        "rankwright: s.jsonl: is a study of another search: n_parallel (there 2) differ. Choose "
        "another file.\n"
    )
