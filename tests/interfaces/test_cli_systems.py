"""``rankwright evaluate`` with several systems: what is new against what runs today."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from tests.interfaces.conftest import Cli


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ds = rw.data.make_mslr_like(n_queries=80, n_features=6, mean_docs=10)
    frame = pd.DataFrame(ds.X, columns=[f"f_{j}" for j in range(6)])
    frame.insert(0, "label", ds.y)
    frame.insert(0, "doc_id", [f"d{i}" for i in range(len(frame))])
    frame.insert(0, "qid", [f"q{q:03}" for q in ds.qid])
    frame["country"] = np.array(["de", "us"])[ds.qid % 2]
    queries = frame.qid.unique()
    test = frame[frame.qid.isin(queries[40:])]
    frame[frame.qid.isin(queries[:40])].drop(columns="country").to_csv("train.csv", index=False)
    test.to_csv("test.csv", index=False)
    scores = test[["qid", "doc_id"]].assign(score=test["f_1"])
    scores.sample(frac=1, random_state=0).to_csv("prod_scores.csv", index=False)
    return tmp_path


def test_production_against_a_new_model(shop: Path, run: Cli) -> None:
    assert run("train", "train.csv", "-o", "model.rw")[0] == 0
    words = ["evaluate", "test.csv", "prod=prod_scores.csv", "new=model.rw", "-m", "ndcg@10"]
    code, out, err = run(*words, "--segment", "country", "--json", "--report", "out/page.html")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert [s["system"] for s in facts["systems"]] == ["new", "prod"]
    assert {s["value"] for s in facts["segments"]} == {"de", "us"}
    assert (shop / "out" / "page.html").exists()
    test = rw.read("test.csv", keep=["country"])
    model = rw.load("model.rw")
    prod = pd.read_csv("prod_scores.csv")
    here = rw.evaluate({"prod": prod, "new": model}, test, "ndcg@10")
    assert facts["pairs"] == [pair.to_dict() for pair in here.pairs]
    code, out, _ = run(*words, "--segment", "country")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == [
        "system",
        "ndcg@10",
        "95",
        "%",
        "interval",
        "vs",
        "prod",
        "95",
        "%",
        "interval",
        "p",
    ]
    assert out.endswith(f"{here.verdict}\n{here.advice}\n")


def test_a_nightly_job_fails_if_the_new_one_is_worse(shop: Path, run: Cli) -> None:
    run("train", "train.csv", "-o", "model.rw")
    better = ["evaluate", "test.csv", "prod_scores.csv", "model.rw", "--segment", "country"]
    assert run(*better, "--fail-if-worse", 0.005)[0] == 0
    code, out, err = run(*better, "--reference", "model", "--fail-if-worse", 0.005)
    assert code == 1
    assert "Keep model." in out
    assert "rankwright: prod_scores is worse than model: ndcg@10 differs by -0." in err
    assert run(*better, "--reference", "model", "--fail-if-worse", 1)[0] == 0
    # Of errors, more is worse.
    errors = [*better, "-m", "pairwise_error", "--fail-if-worse", 0]
    assert run(*errors)[0] == 0
    assert run(*errors, "--reference", "model")[0] == 1


def test_the_table_has_the_numbers_of_each_system(shop: Path, run: Cli) -> None:
    test = rw.read("test.csv", keep=["country"], ignore=["country"])
    table = pd.read_csv("test.csv")
    files = {"prod": "prod_scores.csv"}
    for j in (2, 3, 4):
        files[f"s{j}"] = f"with={j}.csv"  # a name with =, which is a file
        scores = table[["qid", "doc_id"]].assign(score=table[f"f_{j}"])
        scores.to_csv(files[f"s{j}"], index=False)
    words = ["-m", "ndcg@10", "-m", "ap", "--segment", "country", "--ignore", "country"]
    named = [f"{name}={path}" for name, path in files.items()]
    systems = {name: pd.read_csv(path) for name, path in files.items()}
    for n in (3, 4):
        code, out, _ = run("evaluate", "test.csv", *named[:n], *words, "--seed", 5)
        assert code == 0
        some = dict(list(systems.items())[:n])
        here = rw.evaluate(some, test, ["ndcg@10", "ap"], segments=["country"], random_state=5)
        for line, s in zip(out.splitlines()[1:], here.standings, strict=False):
            pair = here.pair(s.name)
            tested = [] if pair is None else [f"{pair.difference:+.4f}", f"[{pair.low:+.4f},"]
            mean, low = s.means["ndcg@10"], s.low["ndcg@10"]
            assert line.split()[:3] == [s.name, f"{mean:.4f}", f"[{low:.4f},"]
            assert line.split()[-1] == f"{s.means['ap']:.4f}"
            assert all(text in line for text in tested)
        de = here.segments[0]
        difference = f"{de.differences['s2'][0]:+.4f} ["
        assert (difference in out) == (n == 3)  # of many systems the means alone
        assert ("de (20)" in out) == (n == 4)
    code, out, _ = run("evaluate", "test.csv", "prod_scores.csv", "with=2.csv", "-m", "ap")
    assert code == 0
    assert out.splitlines()[0].count("vs prod_scores") == 1


def test_as_much_worse_as_allowed_is_allowed(shop: Path, run: Cli) -> None:
    words = ["evaluate", "test.csv", "a=prod_scores.csv", "b=prod_scores.csv", "--ignore"]
    assert run(*words, "country", "--fail-if-worse", 0)[0] == 0


def test_a_model_alone(shop: Path, run: Cli) -> None:
    run("train", "train.csv", "-o", "model.rw")
    run("predict", "model.rw", "test.csv", "-o", "scores.csv", "--ignore", "country")
    words = ["-m", "ndcg@10", "--segment", "country"]
    one = run("evaluate", "test.csv", "model.rw", *words)
    assert one[0] == 0
    assert one == run("evaluate", "test.csv", "new=scores.csv", *words)
    assert one[1].splitlines()[3].split()[:2] == ["country", "queries"]


def test_values_by_query_of_all(shop: Path, run: Cli) -> None:
    run("train", "train.csv", "-o", "model.rw")
    words = ["evaluate", "test.csv", "prod_scores.csv", "model.rw", "-m", "rr", "--segment"]
    assert run(*words, "country", "--per-query", "values.tsv")[0] == 0
    table = pd.read_csv("values.tsv", sep="\t")
    assert list(table) == ["qid", "rr model", "rr prod_scores"]
    assert len(table) == 40


def test_documents_that_were_not_shown(shop: Path, run: Cli) -> None:
    run("train", "train.csv", "-o", "model.rw")
    pd.read_csv("prod_scores.csv").iloc[5:].to_csv("less.csv", index=False)
    words = ["evaluate", "test.csv", "less.csv", "model.rw", "--segment", "country"]
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "but 5 have none; the first is document 'd" in err
    code, out, err = run(*words, "--unscored", "last")
    assert code == 0
    assert "less.csv: 5 of " in err
    assert "documents have no score and are ranked last." in err


def test_compare_measures_segments(shop: Path, run: Cli) -> None:
    words = ["compare", "test.csv", "--models", "xendcg-linear,random", "--trials", 1, "-j", 1]
    code, out, err = run(*words, "--segment", "country", "--segment", "list-length", "-o", "out")
    assert code == 0, err
    assert "country  queries  xendcg-linear" in out
    assert "list-length  queries" in out
    facts = json.loads((shop / "out" / "comparison.json").read_text())
    assert {s["column"] for s in facts["segments"]} == {"country", "list-length"}
    assert run(*words, "--segment", "doc_id", "-o", "other")[0] == 2
    assert not (shop / "other").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["prod_scores.csv", "--report", "a.html"], "--report is for two systems or more"),
        (["prod_scores.csv", "--fail-if-worse", "0.1"], "--fail-if-worse is for two systems"),
        (["a=prod_scores.csv", "a=test.csv"], "two are called 'a'. Name them: NAME=FILE."),
        (["=prod_scores.csv"], "a system must be a file, or NAME=FILE, but is '=prod_scores.csv'"),
        (["a=prod_scores.csv", "b="], "a system must be a file, or NAME=FILE, but is 'b='"),
        (["a=prod_scores.csv", "b=none.rw"], "none.rw: cannot be read: No such file"),
        (
            ["a=prod_scores.csv", "b=prod_scores.csv", "--reference", "c"],
            "--reference must be one of a, b, but is 'c'",
        ),
        (["prod_scores.csv", "--unscored", "first"], "unscored must be one of error, last"),
        (["a=prod_scores.csv", "b=prod_scores.csv", "--report", "test.csv"], "test.csv"),
        (["prod_scores.csv", "--segment", "countri"], "Did you mean 'country'?"),
        (["prod_scores.csv", "--segment", "doc_id"], "'doc_id' must have one value a query"),
        (["a=prod_scores.csv", "b=test.csv", "--report", "-"], "--report must be a file: the"),
        (["a=-", "b=-"], "cannot both come from standard input"),
    ],
)
def test_what_cannot_be(shop: Path, run: Cli, words: list[str], message: str) -> None:
    before = {path: path.read_bytes() for path in shop.iterdir()}
    code, out, err = run("evaluate", "test.csv", *words)
    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert {path: path.read_bytes() for path in shop.iterdir()} == before


def test_letor_text_has_no_columns_but_lengths(shop: Path, run: Cli) -> None:
    rw.write_letor(rw.data.make_mslr_like(n_queries=20, n_features=3), "test.txt")
    Path("s.txt").write_text("\n".join(map(str, range(rw.read("test.txt").n_docs))))
    assert run("evaluate", "test.txt", "s.txt", "--segment", "list-length")[0] == 0
    code, _, err = run("evaluate", "test.txt", "s.txt", "--segment", "country")
    assert code == 2
    assert "--segment country needs a table with that column, and test.txt is none." in err


def test_a_job_that_checked_nothing_says_so(shop: Path, run: Cli) -> None:
    words = ["evaluate", "test.csv", "a=prod_scores.csv", "b=prod_scores.csv"]
    code, _, err = run(*words, "--ignore", "country", "-m", "ap(threshold=9)", "--fail-if-worse", 0)
    assert code == 1
    assert err.splitlines()[-1] == (
        "rankwright: ap(threshold=9) of both b and a is defined on no query: nothing was checked."
    )


def test_what_becomes_of_the_unjudged_is_checked_without_a_run(shop: Path, run: Cli) -> None:
    code, _, err = run("evaluate", "test.csv", "prod_scores.csv", "--unjudged", "drop")
    assert (code, err) == (
        2,
        "rankwright: unjudged must be 'irrelevant' or 'remove', but is 'drop'.\n",
    )
