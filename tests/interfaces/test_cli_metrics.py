"""Metrics on the command line: functions in files, columns, documents without a judgement."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from rankwright.cli.metrics import read_metrics
from rankwright.metrics import parse
from tests.interfaces.conftest import Cli

OWN = """
import numpy as np
from rankwright.metrics import FunctionMetric

def top_sum(labels, scores):
    return labels[np.argsort(-scores, kind="stable")[:3]].sum()

def minus(labels, scores):
    return -top_sum(labels, scores)

less = FunctionMetric(minus, "less", higher_is_better=False)
number = 3
"""


@pytest.fixture
def run(run: Cli, tmp_path: Path) -> Iterator[Cli]:
    rng = np.random.default_rng(0)
    lines, scores = ["qid,doc_id,label,a,b,topic,seller"], []
    for row in range(240):
        a, b = rng.random(2).round(4)
        label = int(np.clip(np.round(3 * a + rng.normal() / 2), 0, 3))
        topic, seller = rng.integers(0, 3), rng.choice(["big", "small"])
        lines.append(f"q{row // 6},d{rng.integers(5)},{label},{a},{b},{topic},{seller}")
        scores.append(str(a + b))
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "scores.txt").write_text("\n".join(scores) + "\n")
    (tmp_path / "own_cli_metrics.py").write_text(OWN)
    paths = list(sys.path)
    yield run
    sys.path[:] = paths
    sys.modules.pop("own_cli_metrics", None)


def table(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines()]


def test_a_function_in_a_file_is_a_metric(run: Cli, tmp_path: Path) -> None:
    own = ["-m", "own_cli_metrics.py:top_sum", "-m", "own_cli_metrics.py:less"]
    code, out, err = run("evaluate", "data.csv", "scores.txt", *own, "--ignore", "topic,seller")
    assert (code, err) == (0, "")
    data = rw.read(tmp_path / "data.csv", ignore=["topic", "seller"])
    scores = np.loadtxt(tmp_path / "scores.txt")
    tops = [data.y[q][np.argsort(-scores[q], kind="stable")[:3]].sum() for q in data.groups]
    mean = np.mean(tops)
    assert [row[:2] for row in table(out)[1:]] == [
        ["top_sum", f"{mean:.4f}"],
        ["less", f"{-mean:.4f}"],
    ]


def test_compare_and_tune_take_it_to_other_processes(run: Cli) -> None:
    own = ["-m", "own_cli_metrics.py:top_sum", "--ignore", "topic,seller", "-j", 2]
    code, out, _ = run(
        "compare", "data.csv", "--models", "xendcg-linear,random", *own, "--trials", 2
    )
    assert code == 0
    assert table(out)[0][:2] == ["model", "top_sum"]
    assert "with a defined top_sum, where 30 are the least" in out
    code, out, _ = run("tune", "data.csv", "--model", "xendcg-linear", *own, "--trials", 2)
    assert code == 0
    assert table(out)[0][:2] == ["trial", "top_sum"]


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("nothing.py:f", "rankwright: nothing.py: there is no such file.\n"),
        ("own_cli_metrics.py:f", "rankwright: own_cli_metrics.py: defines no 'f'.\n"),
        (
            "broken.py:f",
            "rankwright: broken.py: cannot be run: RuntimeError: no\n",
        ),
        ("json.py:f", "rankwright: json.py: there is another module 'json': rename the file.\n"),
        (
            "own_cli_metrics.py:number",
            "rankwright: a metric must be text, a Metric, such as NDCG(k=10), or a function of "
            "labels and scores, but is 3.\n",
        ),
    ],
)
def test_a_file_that_has_no_metric(run: Cli, tmp_path: Path, metric: str, message: str) -> None:
    (tmp_path / "broken.py").write_text("raise RuntimeError('no')\n")
    (tmp_path / "json.py").write_text("f = 1\n")
    assert run("evaluate", "data.csv", "scores.txt", "-m", metric) == (2, "", message)


def test_columns_are_kept_and_subtopics_are_no_feature(run: Cli, tmp_path: Path) -> None:
    columns = ["--subtopics", "topic", "--group", "seller", "--duplicates", "doc_id"]
    code, out, err = run("evaluate", "data.csv", "scores.txt", "-m", "ndcg@5", *columns, "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert list(facts["metrics"]) == [
        "ndcg@5",
        "alpha_ndcg@10(subtopics=topic)",
        "err_ia@10(subtopics=topic)",
        "exposure_disparity@10(group=seller)",
        "unique_ndcg@10",
    ]
    assert [line["group"] for line in facts["groups"]] == ["big", "small"]
    code, out, _ = run("evaluate", "data.csv", "a=scores.txt", "b=scores.txt", *columns)
    assert code == 0
    assert [row[:2] for row in table(out)[-5:]] == [
        ["system", "group"], ["a", "big"], ["a", "small"], ["b", "big"], ["b", "small"]
    ]  # fmt: skip
    words = ["compare", "data.csv", "--models", "xendcg-linear", "--trials", 1, "-o", "run"]
    code, out, _ = run(*words, "-m", "alpha_ndcg@5(subtopics=topic)")
    assert code == 0
    model = rw.load(next((tmp_path / "run" / "models").rglob("model.rw")))
    assert model.feature_names_in_.tolist() == ["a", "b"]  # the topic is a number, and not there
    code, out, _ = run(
        "tune", "data.csv", "--model", "xendcg-linear", "-m", "err_ia@5(subtopics=topic)",
        "--trials", 1, "--ignore", "seller",
    )  # fmt: skip
    assert code == 0


def test_columns_need_a_table(run: Cli, tmp_path: Path) -> None:
    rw.write_letor(rw.data.make_mslr_like(4, 3, 5), tmp_path / "data.txt")
    code, _, err = run("evaluate", "data.txt", "scores.txt", "--subtopics", "topic")
    message = "alpha_ndcg@10(subtopics=topic) needs a table with that column, and data.txt is none."
    assert (code, err) == (2, f"rankwright: {message}\n")
    code, _, err = run("evaluate", "data.csv", "scores.txt", "--group", "colour")
    assert code == 2
    assert "there must be a column 'colour'" in err


def test_runs_without_what_nobody_judged(run: Cli, tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 b 0\n")
    (tmp_path / "x.run").write_text("q Q0 z 1 3.0 x\nq Q0 a 2 2.0 x\n")
    words = ["evaluate", "qrels.txt", "x.run", "--format", "qrels", "-m", "rr", "-m", "judged@2"]
    code, out, _ = run(*words)
    assert code == 0
    assert [row[:2] for row in table(out)[1:]] == [["rr", "0.5000"], ["judged@2", "0.5000"]]
    code, out, _ = run(*words, "--unjudged", "remove")
    assert [row[:2] for row in table(out)[1:]] == [["rr", "1.0000"], ["judged@2", "0.5000"]]
    assert run(*words, "--unjudged", "drop")[0] == 2


def test_a_model_may_look_at_what_is_measured_by(run: Cli, tmp_path: Path) -> None:
    given = ["--ignore", "seller", "-o", "model.rw"]
    assert run("train", "data.csv", "--features", "a,topic", *given)[0] == 0
    words = ["evaluate", "data.csv", "model.rw", "-m", "alpha_ndcg@5", "--subtopics", "topic"]
    code, out, _ = run(*words, "--features", "a,topic")
    data = rw.read(tmp_path / "data.csv", features=["a", "topic"], keep=["topic"])
    here = rw.evaluate(rw.load(tmp_path / "model.rw"), data, "alpha_ndcg@5(subtopics=topic)")
    assert (code, table(out)[1][1]) == (0, f"{next(iter(here.values())):.4f}")


def test_documents_of_letor_text_are_told_apart_by_their_comments(run: Cli, tmp_path: Path) -> None:
    rows = ["1 qid:1 1:3 #docid = x", "1 qid:1 1:2 #docid = x", "0 qid:1 1:1 #docid = y"]
    (tmp_path / "twice.txt").write_text("\n".join(rows) + "\n")
    (tmp_path / "three.txt").write_text("1\n3\n2\n")
    code, out, err = run("evaluate", "twice.txt", "three.txt", "-m", "unique_ndcg", "-m", "ndcg")
    assert (code, err) == (0, "")
    unique, plain = (row[1] for row in table(out)[1:])
    assert unique == "1.0000" != plain


def test_shares_of_groups_repeat_no_warning_and_name_what_is_missing(
    run: Cli, tmp_path: Path
) -> None:
    text = (tmp_path / "data.csv").read_text().replace(",small", ",")
    (tmp_path / "data.csv").write_text(text)
    assert run("train", "data.csv", "--features", "a", "-o", "model.rw")[0] == 0
    code, out, err = run("evaluate", "data.csv", "model.rw", "--group", "seller")
    assert code == 0
    assert err.count("are not looked at") == 1
    assert {row[0] for row in table(out)[-2:]} == {"(missing)", "big"}


def test_a_named_column_is_for_those_that_name_none() -> None:
    own = "err_ia(subtopics=mine)"
    found = read_metrics(["ndcg@5", "alpha_ndcg@3", own], subtopics="about")
    assert found == ["ndcg@5", parse("alpha_ndcg@3(subtopics=about)"), own]
    both = ["alpha_ndcg@10(subtopics=about)", "err_ia@10(subtopics=about)"]
    assert read_metrics(["ndcg@5"], subtopics="about") == ["ndcg@5", *map(parse, both)]
