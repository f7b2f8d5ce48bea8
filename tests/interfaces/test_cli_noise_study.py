"""``rankwright noise-study``."""

from __future__ import annotations

import csv
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from rankwright.comparison import noise_study
from rankwright.data import make_mslr_like
from tests.interfaces.conftest import Cli

MODELS = "xendcg-linear,smooth-slam-linear"


@pytest.fixture
def run(run: Cli) -> Cli:
    rw.write_letor(make_mslr_like(n_queries=40, n_features=6, mean_docs=10), "data.txt")
    return partial(run, "noise-study", "data.txt")


def test_it_is_the_same_as_python_and_goes_on(run: Cli, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    arguments = ["--models", MODELS, "--levels", "0,.5", "--trials", "2", "-o", "out", "-j", "1"]
    code, out, err = run(*arguments, "--json")
    assert code == 0
    facts = json.loads(out)
    rankers = {
        "one": rw.LinearRanker("xendcg", alpha=1e-2, standardize=True),
        "two": rw.LinearRanker("smooth-slam", alpha=1e-2, standardize=True),
    }
    study = noise_study(rw.read("data.txt"), "labels", rankers, levels=[0, 0.5], n_trials=2)
    means = [facts["models"][name]["mean"] for name in MODELS.split(",")]
    np.testing.assert_allclose(means, study.values.mean(axis=2), rtol=1e-12)
    assert facts["differences"][1]["mean"] == pytest.approx(study.differences()[1].mean)
    lines = err.splitlines()
    assert len(lines) == 9
    assert lines[0].startswith("1/8 trial 0, level 0: xendcg-linear ")
    assert lines[-1] == "out: fits.csv, labels.csv, labels.svg"
    assert (
        len(
            list(
                csv.DictReader(
                    (tmp_path / "out/labels.csv").read_text(encoding="utf-8").splitlines()
                )
            )
        )
        == 4
    )
    assert (tmp_path / "out/labels.svg").stat().st_size > 1000

    code, out, err = run(*arguments)
    assert code == 0
    assert sum(line.endswith("(kept)") for line in err.splitlines()) == 8
    lines = out.splitlines()
    assert lines[0] == "ndcg@5 on test queries, mean of 2 trials"
    assert lines[2].split() == ["model", "0", "0.5"]
    assert lines[3].split() == ["xendcg-linear", *(f"{v:.4f}" for v in study.values[0].mean(1))]
    assert "xendcg-linear minus the others, with 95 % intervals over trials" in lines
    # More noise of another kind goes into the same folder.
    code, _, err = run(*arguments, "--noise", "cascade")
    assert code == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "cascade.csv",
        "cascade.svg",
        "fits.csv",
        "fits.jsonl",
        "labels.csv",
        "labels.svg",
    ]


def test_without_the_packages_for_plots_there_is_a_warning(
    run: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    code, _, err = run("--models", "xendcg-linear", "--levels", "0", "--trials", "2", "-o", "out")
    assert code == 0
    assert "rankwright: warning: no plot: charts need the package altair" in err
    assert not (tmp_path / "out/labels.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "nix"], "model must be one of linear, "),
        (["--models", "nix.toml"], "nix.toml: cannot be read: No such file or directory."),
        (
            ["--levels", "a"],
            "--levels must be numbers from 0 to 1 with commas between, but is 'a'.",
        ),
        (["--metric", "nix"], "there is no metric 'nix'."),
        (["--trials", "1"], "Invalid value for '--trials': "),
        (
            ["--levels", "7"],
            "--levels must be numbers from 0 to 1 with commas between, but is '7'.",
        ),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, run: Cli, tmp_path: Path
) -> None:
    defaults = [] if "--models" in arguments else ["--models", "xendcg-linear"]
    code, out, err = run(*arguments, *defaults)
    assert (code, out) == (2, "")
    assert err.startswith(f"rankwright: {message}")
    assert err.count("\n") == 1
