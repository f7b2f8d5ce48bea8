"""``rankwright compare``: leaderboard, what is kept after a crash, one line for what is wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from tests.interfaces.conftest import Cli

MODELS = "xendcg-linear,best-feature,random"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    data = rw.data.make_mslr_like(n_queries=30, n_features=10, mean_docs=10)
    train, test = data.split((0.7, 0.3))
    rw.write_letor(train, tmp_path / "train.txt")
    rw.write_letor(test, tmp_path / "test.txt")
    return tmp_path


def test_large_data_is_sampled_and_said(files: Path, run: Cli) -> None:
    words = ["compare", "train.txt", "--test", "test.txt", "--models", "xendcg-linear", "-j", 1]
    code, out, err = run(*words, "--trials", 3, "--halve-above", 50, "-o", "out", "--json")
    assert code == 0
    budget = "3 trials on 1/3 of the training queries, the best on all"
    assert json.loads(out)["card"]["budget"] == budget
    assert f"Each model had {budget}." in err
    code, out, err = run(*words, "--trials", 2, "--halve-above", 0, "-o", "all", "--json")
    assert code == 0
    assert json.loads(out)["card"]["budget"] == "2 trials on all training queries"
    assert "Each model had" not in err


def test_a_leaderboard_and_files(files: Path, run: Cli) -> None:
    words = ["compare", "train.txt", "--test", "test.txt", "--models", MODELS, "--trials", 2]
    code, out, err = run(*words, "-j", 1, "-o", "out", "--title", "Shoes & coats")
    assert code == 0
    page = (files / "out" / "report.html").read_text(encoding="utf-8")
    assert "<h1>Shoes &amp; coats</h1>" in page
    assert '<span class="file">train.txt</span> · <span class="file">test.txt</span>' in page
    table = out.splitlines()
    columns = "model ndcg@10 95 % interval p ndcg@5 ap rr train s µs/doc size features"
    assert " ".join(table[0].split()) == columns
    assert table[1].split()[0] == "xendcg-linear"
    assert {line.split()[0] for line in table[2:4]} == {"best-feature", "random"}
    assert table[-2].startswith("Too few queries to tell: 8 with a defined ndcg@10")
    assert table[-1].startswith("Do not choose yet: label more queries.")
    assert "xendcg-linear split: " in err
    assert "s left" in err
    kept = {path.name for path in (files / "out").iterdir()}
    assert kept >= {"metrics.csv", "models", "pairs.csv", "per_query.csv", "timings.csv"}
    model = rw.load(files / "out" / "models" / "xendcg-linear" / "split" / "model.rw")
    test = rw.read(files / "test.txt", n_features=10)
    mean = rw.evaluate(model, test, "ndcg@10")["ndcg@10"]
    assert table[1].split()[1] == f"{mean:.4f}"
    # Machines read JSON and CSV.
    code, out, err = run(*words, "-o", "out", "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["models"][0]["metrics"]["ndcg@10"]["mean"] == mean
    assert facts["card"]["command"].startswith("rankwright compare train.txt --test test.txt")
    assert err.count("was finished before") == 3
    code, out, err = run(*words, "-o", "out", "--csv", "-m", "rr", "-m", "ndcg@10", "-j", 1)
    assert (code, out) == (2, "")
    assert "out: holds another comparison: metric ('ndcg@10', not 'rr') differs." in err
    words += ["-o", "out", "--csv", "-m", "rr", "-m", "ndcg@10", "-j", 1]
    code, out, _ = run(*words, "--overwrite")
    assert code == 0
    assert out.splitlines()[0] == "model,fold,metric,mean,low,high,queries"
    assert out == (files / "out" / "metrics.csv").read_text(encoding="utf-8")


def test_a_narrow_terminal_shows_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankwright.cli.standings import _fitting

    columns, rows = ["model", "ndcg@10", "ap", "rr", "size"], [["x" * 20, "0.5", "0.5", "0.5", "1"]]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    # Widths 20, 7, 3, 3, 4 and four gaps of 2 are 45.
    for room, expected in ((45, columns), (44, ["model", "ndcg@10", "ap", "size"])):
        monkeypatch.setenv("COLUMNS", str(room))
        assert _fitting(columns, rows, ["rr", "ap", "size"])[0] == expected
    monkeypatch.setenv("COLUMNS", "30")
    assert _fitting(columns, rows, ["rr", "ap", "size"]) == (
        ["model", "ndcg@10"],
        [["x" * 20, "0.5"]],
    )


def test_metrics_that_were_asked_for_come_before_costs(
    files: Path, run: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rankwright.cli.standings import print_leaderboard

    result = rw.compare(
        rw.read(files / "train.txt"), ["best-feature", "random"], metrics=["ndcg@10", "map"]
    )
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    print_leaderboard(result)
    out, err = capsys.readouterr()
    assert "map" in out.splitlines()[0]
    assert "train s" not in out
    assert err == "Not shown, for want of room: µs/doc, train s, size, features.\n"


def test_folds_and_folders(files: Path, run: Cli) -> None:
    models = ["--models", "best-feature,random", "-j", 1]
    code, out, _ = run("compare", "train.txt", "--folds", 3, *models, "--csv")
    assert code == 0
    assert "best-feature,Fold3,ndcg@10," in out
    data = rw.read(files / "train.txt")
    for fold in rw.evaluation.rotate(data, 3):
        folder = files / "letor" / fold.name
        folder.mkdir(parents=True)
        for name, part in zip(("train", "vali", "test"), fold.parts().values(), strict=True):
            rw.write_letor(part, folder / f"{name}.txt.gz")
    code, again, _ = run("compare", "letor", *models, "--csv", "-o", "other")
    assert code == 0
    assert again == out


def test_models_from_a_file_and_a_failure(files: Path, run: Cli) -> None:
    (files / "mine.toml").write_text(
        "[models.good]\nmodel = 'linear'\n"
        "[models.bad]\nmodel = 'linear'\n"
        "params = { loss = 'slam', solver = 'coordinate_descent' }\n"
    )
    words = ["--models", "mine.toml", "--models", "random", "-j", 1, "--trials", 1]
    code, out, err = run("compare", "train.txt", *words)
    assert code == 1
    lines = [line.split()[:2] for line in out.splitlines()[1:4]]
    assert [name for name, _ in lines] == ["good", "random", "bad"]
    assert lines[2][1] == "failed"
    assert "rankwright: bad failed on split: " in err


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "rankwright", "compare", *words]


def test_killed_and_run_again_it_does_only_what_is_missing(files: Path, run: Cli) -> None:
    words = ["train.txt", "--folds", "3", "--models", MODELS + ",slam-linear", "--trials", "3"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command(*words, "-j", "2", "-o", "killed"),
        cwd=files,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=env,
    ) as process:
        assert process.stderr is not None
        finished = [process.stderr.readline() for _ in range(2)]
        process.send_signal(signal.SIGKILL)
        finished += process.stderr.readlines()  # ends when the workers have ended, too
    assert not [line for line in finished if "on validation queries" not in line]
    done = {line.partition(":")[0] for line in finished}
    assert 2 <= len(done) < 12
    results = files / "killed" / "models"
    # What begins with a dot was being written.
    whole = [p for p in results.glob("*/*/result.json") if not p.parent.name.startswith(".")]
    before = {path: path.stat().st_mtime_ns for path in whole}
    assert len(before) >= len(done)
    again = subprocess.run(
        command(*words, "-j", "2", "-o", "killed"),
        cwd=files,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    kept = {line.partition(":")[0] for line in again.stderr.splitlines() if "before" in line}
    assert kept >= done
    assert {path: path.stat().st_mtime_ns for path in before} == before  # not fitted again
    assert not list((files / "killed").rglob(".*"))
    code, _, err = run("compare", *words, "-j", "1", "-o", "once")
    assert code == 0, err
    assert "before" not in err
    for name in ("metrics.csv", "models.csv", "pairs.csv", "per_query.csv"):
        assert (files / "killed" / name).read_bytes() == (files / "once" / name).read_bytes()


def test_a_damaged_folder_is_mended_with_a_note(files: Path, run: Cli) -> None:
    words = [
        "compare",
        "train.txt",
        "--models",
        MODELS,
        "--trials",
        1,
        "-j",
        1,
        "-o",
        "out",
        "--csv",
    ]
    code, first, _ = run(*words)
    assert code == 0
    (files / "out" / "models" / "random" / "split" / "scores.npy").write_bytes(b"")
    (files / "out" / "models" / "best-feature" / "split" / "model.rw").write_bytes(b"")
    code, second, err = run(*words)
    assert code == 0
    assert second == first
    note = "results that are damaged are done again: best-feature split, random split."
    assert f"rankwright: warning: out: {note}" in err.splitlines()
    assert err.count("was finished before") == 1


BAD: dict[str, tuple[str, list[str], str]] = {
    "missing file": ("", ["nothing.txt"], "nothing.txt: there is no such file."),
    "missing test": ("", ["train.txt", "--test", "no.txt"], "no.txt: there is no such file."),
    "one query": (
        "1 qid:1 1:1\n0 qid:1 1:2\n",
        ["bad.txt"],
        "bad.txt: training, validation and test queries need at least 3 queries, but there is 1 "
        "query.",
    ),
    "equal labels": (
        "".join(f"1 qid:{q} 1:{d}\n" for q in range(9) for d in range(3)),
        ["bad.txt"],
        "bad.txt: the train queries of split must have one with different labels, but all labels "
        "are 1 within each of its 5: there is nothing to rank.",
    ),
    "inf": (
        "1 qid:1 1:inf\n",
        ["bad.txt"],
        "bad.txt, feature 1: must be a finite number, but is inf in row 0. Replace it.",
    ),
    "nan": (
        "1 qid:1 1:nan\n",
        ["bad.txt", "--missing", "error"],
        "bad.txt, line 1, feature 1: must be finite, but is '1:nan'.",
    ),
    "no metric": ("", ["train.txt", "-m", "ndgc"], "there is no metric 'ndgc'."),
    "no model": ("", ["train.txt", "--models", "x"], "model must be one of linear, "),
    "no trials": ("", ["train.txt", "--trials", "0"], "Invalid value for '--trials': "),
    "both": ("", ["train.txt", "--json", "--csv"], "--json and --csv exclude each other."),
    "folds and test": (
        "",
        ["train.txt", "--folds", "3", "--test", "test.txt"],
        "--folds cuts DATA into parts: drop --test and --valid.",
    ),
    "folder and test": (
        "",
        [".", "--test", "test.txt"],
        ". is a folder with its own parts: drop --test, --valid, --folds.",
    ),
    "empty folder": ("", ["."], "must have one vali.txt or valid.txt or validation.txt"),
    "negative labels": (
        "".join(f"{d - 1} qid:{q} 1:{d}\n" for q in range(9) for d in range(3)),
        ["bad.txt"],
        "label",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_exit_code_2(name: str, files: Path, run: Cli) -> None:
    content, words, message = BAD[name]
    (files / "bad.txt").write_text(content)
    code, out, err = run("compare", *words, "-o", "out", "-j", 1)
    assert code == 2
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("rankwright: ")
    assert message in lines[0]
    assert not (files / "out").exists()


def test_the_same_features_in_another_file(files: Path, run: Cli) -> None:
    # A test file that lacks the last features is read as wide as the training file.
    test = rw.read(files / "test.txt")
    X = np.array(test.X)
    X[:, -1] = 0
    rw.write_letor(rw.Dataset(X, test.y, test.qid), files / "narrow.txt")
    code, _, _ = run("compare", "train.txt", "--test", "narrow.txt", "--models", "random", "-j", 1)
    assert code == 0


def test_noise_adds_curves_of_the_chosen_models(files: Path, run: Cli) -> None:
    words = ["compare", "train.txt", "--test", "test.txt", "--models", MODELS, "--trials", 2]
    code, out, err = run(*words, "-j", 1, "-o", "out", "--noise", "augment", "--noise", "cascade")
    assert code == 0
    for noise in ("augment", "cascade"):
        rows = (files / f"out/noise-{noise}.csv").read_text(encoding="utf-8").splitlines()
        # Baselines are left out.
        assert {row.split(",")[2] for row in rows[1:]} == {"xendcg-linear"}
        assert len(rows) == 1 + 6
    assert "by extra documents for each document:" in out
    assert "60/60" not in err  # two studies, not one
    assert "30/30 trial 4, level 0.3: xendcg-linear" in err
    facts = json.loads((files / "out/comparison.json").read_text(encoding="utf-8"))
    assert [study["noise"] for study in facts["noise"]] == ["augment", "cascade"]
    # The study has the parameters that the search chose.
    entries = rw.comparison.lineup(["xendcg-linear"])
    result = rw.compare(
        rw.read("train.txt"), entries, test=rw.read("test.txt"), n_trials=2, folder="out"
    )
    tuned = result.tuned(entries)[0].estimator
    assert tuned.alpha == result.model("xendcg-linear").alpha
    again = run(*words, "-j", 1, "-o", "out", "--noise", "cascade")[2]
    assert again.count("(kept)") == 30
    code, _, err = run("compare", "train.txt", "--models", "random", "--noise", "labels", "-o", "r")
    assert code == 2
    assert err.endswith("rankwright: --noise needs a model that is not a baseline.\n")


def test_noise_needs_queries_that_are_in_one_part(files: Path, run: Cli) -> None:
    code, _, err = run(
        *["compare", "train.txt", "--test", "train.txt", "--models", "xendcg-linear"],
        *["--trials", 1, "-j", 1, "-o", "out", "--noise", "labels"],
    )
    assert code == 2
    assert "must be different, but query" in err
    code, _, err = run(
        *["compare", "train.txt", "--test", "train.txt", "--models", "xendcg-linear"],
        *["--trials", 1, "-j", 1, "-o", "out", "--noise", "labels", "--allow-overlap"],
    )
    assert code == 2
    assert "must have different queries, but query" in err


def test_a_terminal_shows_a_bar_for_each_model(
    files: Path, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    (files / "mine.toml").write_text(
        "[models.bad]\nmodel='linear'\nparams={ loss = 'slam', solver = 'coordinate_descent' }\n"
    )
    words = ["compare", "train.txt", "--models", "random,xendcg-linear", "--models", "mine.toml"]
    for notes in (("failed", "bad"), ("was finished before", "xendcg-linear")):
        code, _, err = run(*words, "--trials", 2, "-j", 1)
        assert code == 1
        assert all(note in err for note in (*notes, "random", "2/2"))


def test_names_that_are_no_text_and_locales_without_our_letters(files: Path, run: Cli) -> None:
    name = os.fsdecode(b"d\xff.txt")
    shutil.copy(files / "train.txt", files / name)
    options = ["--models", "random", "--trials", "1"]
    code, _, err = run("compare", name, *options, "-o", name + ".out", "-j", 1)
    assert code == 0, err
    page = (files / (name + ".out") / "report.html").read_text(encoding="utf-8")
    assert "d\\udcff.txt" in page
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "rankwright", "compare", name, *options, "-o", "out", "-j", "2"],
        cwd=files,
        env={**os.environ, **ascii_only},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert (files / "out/report.html").exists()


# ---- its folder ----


def test_a_folder_that_holds_something_else_is_left_alone(files: Path, run: Cli) -> None:
    words = ["compare", "train.txt", "--models", "best-feature,random", "-j", 1, "-o", "home"]
    (files / "home").mkdir()
    (files / "home" / "notes.md").write_text("mine")
    (files / "home" / "metrics.csv").write_text("mine")
    code, _, err = run(*words, "-o", "home")
    assert code == 2
    assert err == (
        "rankwright: home: must be empty or hold a comparison, but holds 'notes.md'. Choose "
        "another folder, or replace its results: overwrite=True (--overwrite).\n"
    )
    assert (files / "home" / "metrics.csv").read_text() == "mine"
    # It is said before anything is read, and what is wrong with the data is said when it is not.
    assert run("compare", "nope.txt", "-o", "home")[2] == err
    assert run("compare", "nope.txt", "-o", "home", "--overwrite")[2].startswith(
        "rankwright: nope.txt: "
    )
    code, _, _ = run(*words, "--overwrite")
    assert code == 0
    assert (files / "home" / "notes.md").read_text() == "mine"
    assert (files / "home" / "metrics.csv").read_text().startswith("model,fold")
    assert run(*words)[0] == 0  # it is a comparison now, with a note of mine


def test_overwriting_leaves_nothing_of_the_other_comparison(files: Path, run: Cli) -> None:
    first = ["compare", "train.txt", "--models", "best-feature,pamir", "--trials", 1, "-j", 1]
    assert run(*first)[0] == 0
    place = files / "comparison"
    (place / "notes.md").write_text("mine")
    (place / "models" / "mine").mkdir()
    other = ["compare", "test.txt", "--models", "best-feature,random", "--trials", 1, "-j", 1]
    before = {p: p.read_bytes() for p in place.rglob("*") if p.is_file()}
    code, _, err = run(*other)
    assert code == 2
    assert "comparison: holds another comparison: the data differs." in err
    assert {p: p.read_bytes() for p in place.rglob("*") if p.is_file()} == before
    code, _, err = run(*other, "--overwrite")
    assert code == 0
    assert "was finished before" not in err
    kept = {path.name for path in (place / "models").iterdir()}
    assert kept == {"best-feature", "random", "mine"}
    assert (place / "notes.md").read_text() == "mine"
    # Models may come and go in one comparison.
    code, _, err = run(*other[:3], "random", *other[4:])
    assert code == 0
    assert err.count("was finished before") == 1


def test_fold_numbers_that_are_missing_are_told(files: Path, run: Cli) -> None:
    for name in ("Fold1", "Fold3"):
        (files / "letor" / name).mkdir(parents=True)
        for part, source in (("train", "train"), ("vali", "test"), ("test", "test")):
            shutil.copy(files / f"{source}.txt", files / "letor" / name / f"{part}.txt")
    words = ["--models", "best-feature,random", "-j", 1, "--allow-overlap"]
    code, _, err = run("compare", "letor", *words)
    assert code == 0
    assert err.splitlines()[0] == (
        "rankwright: warning: letor: Fold2 is missing; there are 2 folds."
    )
