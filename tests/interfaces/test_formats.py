"""Files as they come: other delimiters, JSON lines, parts, TREC's; new documents without labels."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from tests.interfaces.conftest import Cli


def shop(n: int = 90, seed: int = 0) -> pd.DataFrame:
    """Return judged offers: queries in no order, texts, ids with zeros in front."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 4, n)
    return pd.DataFrame(
        {
            "qid": rng.permutation([f"0{i % 9}" for i in range(n)]),
            "doc_id": [f"sku-{i:04}" for i in range(n)],
            "label": label,
            "bm25": label + rng.normal(size=n),
            "clicks": rng.integers(0, 50, n),
            "country": rng.choice(["de", "fr"], n),
        }
    )


@pytest.fixture
def trained(run: Cli) -> pd.DataFrame:
    frame = shop()
    frame.to_csv("train.csv", index=False)
    assert run("train", "train.csv", "-o", "model.rw", "--ignore", "country")[0] == 0
    return shop(60, seed=1)


def typed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))


WRITERS: dict[str, Callable[[pd.DataFrame, str], Any]] = {
    "a.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "a.csv": lambda frame, path: frame.to_csv(path, index=False, sep=";", decimal=","),
    "b.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "a.tsv.zst": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "a.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "a.ndjson.gz": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "a.parquet": lambda frame, path: frame.to_parquet(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_says_the_same(name: str, run: Cli) -> None:
    frame = shop().round(3)
    frame.to_csv("plain.csv", index=False)
    WRITERS[name](frame, name)
    expected = run("info", "plain.csv", "--ignore", "country")
    assert expected[0] == 0
    assert run("info", name, "--ignore", "country") == expected


def test_a_folder_of_parts_for_every_command(run: Cli) -> None:
    frame = shop()
    Path("table").mkdir()
    frame[:50].to_parquet("table/part-0.parquet")
    frame[50:][frame.columns[::-1]].to_parquet("table/part-1.parquet")
    frame.to_parquet("whole.parquet")
    for words in (
        ("info", "table"),
        ("train", "table", "-o", "model.rw"),
        ("predict", "model.rw", "table"),
        ("convert", "table", "out.txt"),
        ("compare", "table", "--models", "random", "-j", 1, "-o", "result"),
    ):
        code, out, err = run(*words, "--ignore", "country")
        assert code == 0, err
        if words[0] in ("info", "predict"):
            other = [word if word != "table" else "whole.parquet" for word in words]
            assert run(*other, "--ignore", "country")[1] == out


def test_predict_without_labels(trained: pd.DataFrame, run: Cli) -> None:
    ranker = rw.load("model.rw")
    expected = ranker.predict(trained[["bm25", "clicks"]].to_numpy(float))
    trained["rank"] = rw.rank(expected, trained["qid"])
    bare = trained.drop(columns=["label", "country", "rank"])
    bare.to_csv("new.csv", index=False)
    code, out, err = run("predict", "model.rw", "new.csv")
    assert (code, err) == (0, "")
    np.testing.assert_array_equal(np.array(out.split(), dtype=float), expected)
    # Labels that are there, but missing or no numbers, are not looked at.
    bare.assign(label=[None, "?"] * 30).to_csv("odd.csv", index=False)
    assert run("predict", "model.rw", "odd.csv") == (code, out, err)
    readers = {
        "s.csv": lambda p: pd.read_csv(p, dtype={"qid": str}),
        "s.tsv": lambda p: pd.read_csv(p, sep="\t", dtype={"qid": str}),
        "s.parquet": pd.read_parquet,
        "s.jsonl": lambda p: pd.read_json(p, lines=True, dtype={"qid": str}),
        "s.csv.gz": lambda p: pd.read_csv(p, dtype={"qid": str}),
    }
    for name, reader in readers.items():
        assert run("predict", "model.rw", "new.csv", "-o", name) == (0, "", "")
        found = reader(name)
        assert list(found.columns) == ["qid", "doc_id", "score", "rank"]
        assert found["qid"].tolist() == trained["qid"].tolist()
        assert found["doc_id"].tolist() == trained["doc_id"].tolist()
        np.testing.assert_allclose(found["score"], expected, rtol=1e-12)
        assert found["rank"].tolist() == trained["rank"].tolist()


def test_predict_the_first_documents(trained: pd.DataFrame, run: Cli) -> None:
    trained.drop(columns=["label", "country"]).to_json("new.jsonl", orient="records", lines=True)
    assert run("predict", "model.rw", "new.jsonl", "-o", "top.csv", "--top", 2) == (0, "", "")
    found = pd.read_csv("top.csv", dtype={"qid": str})
    queries = list(dict.fromkeys(trained["qid"]))
    assert found["qid"].tolist() == [query for query in queries for _ in range(2)]
    assert found["rank"].tolist() == [1, 2] * len(queries)
    assert run("predict", "model.rw", "new.jsonl", "-o", "top.run", "--top", 2)[0] == 0
    rows = [line.split() for line in Path("top.run").read_text().splitlines()]
    assert [[row[0], row[2], int(row[3])] for row in rows] == (
        found[["qid", "doc_id", "rank"]].to_numpy().tolist()
    )
    for words, message in (
        (["--top", 2], "the first documents of each query need a file with ids: name it .csv, "),
        (["--top", 0, "-o", "x.csv"], "top must be a positive integer, but is 0."),
        (["-o", "x.qrels"], "x.qrels: a qrels file has labels, not scores."),
        (["-o", "x.xlsx"], "x.xlsx: the ending '.xlsx' tells no format that is known: name it "),
        (["--out-format", "cvs"], "there is no format 'cvs'. Did you mean 'csv'?"),
    ):
        code, out, err = run("predict", "model.rw", "new.jsonl", *words)
        assert (code, out) == (2, "")
        assert err.startswith(f"rankwright: {message}")
        assert err.count("\n") == 1
    assert not list(Path().glob("x.*"))


def test_predict_from_standard_input_to_output(
    trained: pd.DataFrame, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = trained.drop(columns=["label", "country"]).round(6)
    bare.to_csv("new.csv", index=False)
    plain = run("predict", "model.rw", "new.csv")[1]
    texts = {
        "csv": bare.to_csv(index=False),
        "tsv": bare.to_csv(index=False, sep="\t"),
        "jsonl": bare.to_json(orient="records", lines=True, double_precision=15),
    }
    for kind, text in texts.items():
        typed(monkeypatch, text.encode())
        assert run("predict", "model.rw", "-", "--format", kind) == (0, plain, "")
    bare.to_parquet("new.parquet")
    typed(monkeypatch, Path("new.parquet").read_bytes())
    code, out, _ = run("predict", "model.rw", "-", "--format", "parquet", "--out-format", "csv")
    assert code == 0
    assert pd.read_csv(io.StringIO(out))["score"].tolist() == [float(s) for s in plain.split()]
    typed(monkeypatch, texts["csv"].encode())
    code, out, _ = run(
        "predict", "model.rw", "-", "--format", "csv", "--out-format", "jsonl", "--top", 1
    )
    assert (code, {json.loads(line)["rank"] for line in out.splitlines()}) == (0, {1})


def test_letor_documents_without_names(run: Cli) -> None:
    ds = rw.Dataset(np.eye(4), [1, 0, 2, 0], [5, 3, 5, 3])
    rw.write(ds, "data.txt")
    Path("some.txt").write_text("1 qid:5 1:1 4:0 # docid = x9\n0 qid:5 2:1\n")
    assert run("train", "data.txt", "-o", "model.rw")[0] == 0
    assert run("predict", "model.rw", "data.txt", "-o", "s.csv")[0] == 0
    assert pd.read_csv("s.csv")["doc_id"].tolist() == [1, 2, 3, 4]
    assert run("evaluate", "data.txt", "s.csv")[0] == 0
    assert run("predict", "model.rw", "some.txt", "-o", "s.run")[0] == 0
    assert sorted(Path("s.run").read_text().split()[2::6]) == ["2", "x9"]
    assert run("evaluate", "some.txt", "s.run")[0] == 0


def test_scores_are_joined_by_ids(trained: pd.DataFrame, run: Cli) -> None:
    """Scores of another system, in any order, count as if they stood in the order of the data."""
    trained.drop(columns="country").to_csv("test.csv", index=False)
    for name in ("s.txt", "s.csv", "s.run", "s.parquet"):
        assert run("predict", "model.rw", "test.csv", "-o", name)[0] == 0
    expected = run("evaluate", "test.csv", "s.txt")
    assert expected[0] == 0
    shuffled = pd.read_csv("s.csv", dtype=str).sample(frac=1, random_state=0)
    shuffled[["doc_id", "score", "qid"]].to_csv("prod.csv", index=False)
    for name in ("s.csv", "s.run", "s.parquet", "prod.csv"):
        assert run("evaluate", "test.csv", name) == expected
    Path("prod.bm25").write_bytes(Path("s.run").read_bytes())
    assert run("evaluate", "test.csv", "prod.bm25", "--scores-format", "run") == expected
    code, _, err = run("evaluate", "test.csv", "prod.bm25")
    assert code == 2
    assert err.startswith("rankwright: prod.bm25: the ending '.bm25' tells no format that is known")
    shuffled[1:].to_csv("less.csv", index=False)
    row = shuffled.iloc[0]
    assert run("evaluate", "test.csv", "less.csv") == (
        2,
        "",
        "rankwright: less.csv: there must be a score for each of the 60 documents, but 1 have "
        f"none; the first is document {row['doc_id']!r} of query {row['qid']!r}. Rank them last "
        "(--unscored last) if the system did not show them.\n",
    )
    pd.concat([shuffled, shuffled[:1]]).to_csv("more.csv", index=False)
    assert run("evaluate", "test.csv", "more.csv") == (
        2,
        "",
        f"rankwright: more.csv: a document must occur once in a query, but {row['doc_id']!r} of "
        f"query {row['qid']!r} is there twice.\n",
    )


def test_qrels_and_runs(trained: pd.DataFrame, run: Cli) -> None:
    trained.drop(columns="country").to_csv("test.csv", index=False)
    code, _, err = run("convert", "test.csv", "test.qrels")
    assert (code, err) == (
        0,
        "test.qrels: Dataset(60 documents, 9 queries, 2 features, dense float64), without its "
        "features\n",
    )
    for name in ("s.txt", "s.run", "s.csv"):
        assert run("predict", "model.rw", "test.csv", "-o", name)[0] == 0
    expected = run("evaluate", "test.csv", "s.txt")
    assert run("evaluate", "test.qrels", "s.run") == expected
    assert run("evaluate", "test.qrels", "s.csv") == expected
    Path("qrels.txt").write_bytes(Path("test.qrels").read_bytes())
    assert run("evaluate", "qrels.txt", "s.run", "--format", "qrels") == expected
    for command in (["info", "qrels.txt"], ["train", "qrels.txt", "-o", "x.rw"],
                    ["evaluate", "qrels.txt", "s.run"], ["compare", "test.qrels"],
                    ["predict", "model.rw", "s.run"]):  # fmt: skip
        code, out, err = run(*command)
        kind = "run" if command[0] == "predict" else "qrels"
        assert (code, out) == (2, "")
        assert f"is a TREC {kind} file (query " in err
        assert err.count("\n") == 1
    # Documents that were not found gain nothing.
    assert run("predict", "model.rw", "test.csv", "-o", "top.run", "--top", 1)[0] == 0
    facts = json.loads(run("evaluate", "test.qrels", "top.run", "-m", "recall@5", "--json")[1])
    assert facts["metrics"]["recall@5"]["mean"] < 0.4


def test_convert_between_all_formats(run: Cli) -> None:
    frame = shop()[["label", "qid", "doc_id", "bm25", "clicks"]]
    frame.to_csv("a.csv", index=False)
    names = ["b.tsv", "c.jsonl", "d.parquet", "e.csv.gz", "f.ndjson.zst", "g.csv"]
    for source, target in zip(["a.csv", *names], names, strict=False):
        assert run("convert", source, target)[0] == 0
    back = pd.read_csv("g.csv", dtype={"qid": str})
    pd.testing.assert_frame_equal(back, frame.astype({"label": np.int64}), check_dtype=False)
    assert run("convert", "g.csv", "h.txt", "--doc-ids")[0] == 0
    assert run("convert", "h.txt", "i.qrels", "--doc-ids")[0] == 0
    assert run("convert", "a.csv", "j.qrels")[0] == 0
    assert Path("i.qrels").read_text() == Path("j.qrels").read_text()
    assert run("convert", "j.qrels", "k.csv")[0] == 0
    assert pd.read_csv("k.csv", dtype={"qid": str})["doc_id"].tolist() == frame["doc_id"].tolist()
    code, out, _ = run("convert", "a.csv", "-", "--out-format", "qrels")
    assert (code, out) == (0, Path("j.qrels").read_text())


def test_convert_runs(run: Cli) -> None:
    Path("a.run").write_text("q1 Q0 d7 1 0.5 x\nq1 Q0 d3 2 0.25 x\nq2 Q0 d7 1 4 x\n")
    assert run("convert", "a.run", "a.csv") == (0, "", "")
    assert pd.read_csv("a.csv").to_numpy().tolist() == [
        ["q1", "d7", 0.5, 1], ["q1", "d3", 0.25, 2], ["q2", "d7", 4.0, 1]
    ]  # fmt: skip
    assert run("convert", "a.csv", "b.run") == (0, "", "")
    assert Path("b.run").read_text() == "".join(
        f"{line} rankwright\n" for line in ("q1 Q0 d7 1 0.5", "q1 Q0 d3 2 0.25", "q2 Q0 d7 1 4.0")
    )
    assert run("convert", "a.run", "a.txt") == (
        2,
        "",
        "rankwright: a.txt: a run has no features and no labels: it can become a table of scores "
        "(.csv, .tsv, .jsonl, .parquet).\n",
    )
    assert not Path("a.txt").exists()


BAD: dict[str, tuple[bytes, str]] = {
    "u.csv": ("qid,label,f\n1,2,3\n".encode("utf-16"), "u.csv: is UTF-16 text. Convert it to UTF-"),
    "z.csv": (b"PK\x03\x04", "z.csv: is a zip archive or a workbook. Unpack it, or save it as CSV"),
    "p.csv": (b"PAR1", "p.csv: is a Parquet file. Name it *.parquet."),
    "x.xlsx": (b"PK\x03\x04", "x.xlsx: the ending '.xlsx' tells no format that is known: name it"),
    "x.json": (b"[]", "x.json: the ending '.json' tells no format that is known: name it .txt"),
    "b.jsonl": (b'{"qid": 1,\n', "b.jsonl: is not a readable jsonl file: "),
    "m.csv": (b"qid;label;a;b\n1;2;0,5;0.5\n", "m.csv: numbers must have decimal points, or all"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_end_in_one_line(name: str, run: Cli) -> None:
    content, message = BAD[name]
    Path(name).write_bytes(content)
    code, out, err = run("info", name)
    assert (code, out) == (2, "")
    assert err.startswith(f"rankwright: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["convert", "simulate"])
def test_unknown_endings_are_not_written(command: str, run: Cli) -> None:
    shop().to_csv("a.csv", index=False)
    more = ["--noise", "labels", "--level", 0.1] if command == "simulate" else []
    code, _, err = run(command, "a.csv", "out.xlsx", *more)
    assert code == 2
    assert err.startswith("rankwright: out.xlsx: the ending '.xlsx' tells no format that is known")
    assert not Path("out.xlsx").exists()
