"""TREC qrels and runs: files, joins by ids, and documents that were not found."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.data import (
    Run,
    read_qrels,
    read_run,
    read_scores,
    write_qrels,
    write_run,
    write_scores,
)
from rankwright.data.trec import document_names
from rankwright.exceptions import DataError, DataWarning


def data(**others: Any) -> rw.Dataset:
    given: dict[str, Any] = {
        "X": np.zeros((5, 1)),
        "y": [2, 0, 1, 0, 1],
        "qid": ["b", "a", "b", "a", "b"],
        "doc_ids": ["d1", "d2", "d3", "d4", "d5"],
    }
    return rw.Dataset(**given | others)


SCORES = np.array([0.5, 3.0, 0.5, 1.0, 2.0])  # of b: d1, d3, d5, of a: d2, d4


def test_qrels(tmp_path: Path) -> None:
    path = tmp_path / "a.qrels"
    write_qrels(data(), path)
    assert path.read_text() == "b 0 d1 2\na 0 d2 0\nb 0 d3 1\na 0 d4 0\nb 0 d5 1\n"
    found = read_qrels(path)
    assert found.qid.tolist() == data().qid.tolist()
    assert found.y.tolist() == data().y.tolist()
    assert found.doc_ids is not None
    assert found.doc_ids.tolist() == ["d1", "d3", "d5", "d2", "d4"]
    assert found.n_features == 0
    rw.write(data(), tmp_path / "b.qrels.gz")
    assert read_qrels(tmp_path / "b.qrels.gz").y.tolist() == found.y.tolist()


def test_runs(tmp_path: Path) -> None:
    """Rows by query in the order of first rows, then by rank; ties keep the order of the rows."""
    path = tmp_path / "a.run"
    write_run(SCORES, data(), path, tag="mine")
    assert path.read_text().splitlines() == [
        "b Q0 d3 1 3.0 mine",
        "b Q0 d1 2 0.5 mine",
        "b Q0 d5 3 0.5 mine",
        "a Q0 d4 1 2.0 mine",
        "a Q0 d2 2 1.0 mine",
    ]
    run = read_run(path)
    assert repr(run) == "Run(5 documents, 2 queries)"
    assert run.scores.tolist() == [3, 0.5, 0.5, 2, 1]
    assert read_scores(path, data()).tolist() == SCORES.tolist()
    write_scores(SCORES, data(), path, top=1)
    assert path.read_text().split() == [
        "b",
        "Q0",
        "d3",
        "1",
        "3.0",
        "rankwright",
        "a",
        "Q0",
        "d4",
        "1",
        "2.0",
        "rankwright",
    ]
    with pytest.raises(ValueError, match=r"^tag must be one word, but is 'a b'\.$"):
        write_run(SCORES, data(), path, tag="a b")


def test_documents_without_ids_are_called_by_their_rows(tmp_path: Path) -> None:
    nameless = data(doc_ids=None)
    write_run(SCORES, nameless, tmp_path / "a.run", top=1)
    assert (tmp_path / "a.run").read_text().split()[2::6] == ["3", "4"]
    write_qrels(nameless, tmp_path / "a.qrels")
    assert (tmp_path / "a.qrels").read_text().split()[2::4] == ["1", "2", "3", "4", "5"]
    for name in ("a.run", "a.csv", "a.parquet"):
        write_scores(SCORES, nameless, tmp_path / name)
        assert read_scores(tmp_path / name, nameless).tolist() == SCORES.tolist()


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.csv.gz", "a.txt"])
def test_scores_read_back(name: str, tmp_path: Path) -> None:
    write_scores(SCORES, data(), tmp_path / name)
    assert read_scores(tmp_path / name, data()).tolist() == SCORES.tolist()


def test_tables_of_scores_keep_the_order_of_the_rows_unless_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    write_scores(SCORES, data(), path)
    assert path.read_text().replace('"', "").splitlines() == [
        "qid\tdoc_id\tscore\trank", "b\td1\t0.5\t2", "a\td2\t1\t2", "b\td3\t3\t1",
        "a\td4\t2\t1", "b\td5\t0.5\t3",
    ]  # fmt: skip
    write_scores(SCORES, data(), path, top=2)
    rows = [line.split("\t") for line in path.read_text().replace('"', "").splitlines()[1:]]
    assert [(row[1], row[3]) for row in rows] == [
        ("d3", "1"), ("d1", "2"), ("d4", "1"), ("d2", "2"),
    ]  # fmt: skip
    for top, message in ((0, "top must be a positive integer"), (1, "need a file with ids")):
        with pytest.raises(ValueError, match=message):
            write_scores(SCORES, data(), tmp_path / "a.txt", top=top)


# ---- what is refused ----


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 0 d 1\na 0 d\n", ", line 2: must be 'query 0 document label', but has 3 fields: "),
        ("a 0 d x\n", ", line 1, label: must be a finite number, but is 'x'."),
        ("a 0 d nan\n", ", line 1, label: must be a finite number, but is 'nan'."),
        ("a 0 d 1\nb 0 d 1\n\na 0 d 0\n", ", line 4: a document must occur once in a query, but 'd'"
         " of query 'a' is in line 1 too."),
        ("", ": there must be lines 'query 0 document label', but there is none."),
        ("\udcff 0 d 1\n", ": must be UTF-8 text."),
    ],
)  # fmt: skip
def test_bad_qrels(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.qrels"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}{message}')}"):
        read_qrels(path)


def test_bad_runs(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("a Q0 d 1 0.5 x\na Q0 d 2 0.4 x\n")
    with pytest.raises(
        DataError, match=r"line 2: a document must occur once in a query, but 'd' o"
    ):
        read_run(path)
    path.write_text("a Q0 d 1 inf x\n")
    with pytest.raises(DataError, match=r"line 1, score: must be a finite number, but is 'inf'\.$"):
        read_run(path)


@pytest.mark.parametrize(
    ("others", "field", "text"),
    [
        ({"doc_ids": ["a", "b c", "d", "e", "f"]}, "doc_id", "b c"),
        ({"qid": ["red shoes", "a", "red shoes", "a", "a"]}, "qid", "red shoes"),
    ],
)
def test_ids_with_blanks(others: Any, field: str, text: str, tmp_path: Path) -> None:
    message = f"{field}: ids must be words without blanks in TREC files, but one is {text!r}."
    for write in (write_qrels, lambda ds, path: write_run(SCORES, ds, path)):
        path = tmp_path / "out"
        with pytest.raises(DataError, match=f"^{re.escape(f'{path}, {message}')}$"):
            write(data(**others), path)
        assert not path.exists()


def test_labels_and_documents_that_qrels_cannot_have(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"label: labels must be whole in TREC files, but one is 0.5"
    ):
        write_qrels(data(y=[0.5, 0, 1, 0, 1]), tmp_path / "a.qrels")
    twice = data(doc_ids=["d1", "d2", "d1", "d4", "d5"])
    with pytest.raises(DataError, match="must occur once in a query, but 'd1' of query 'b' is the"):
        write_qrels(twice, tmp_path / "a.qrels")


def test_a_score_that_is_no_number_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("qid,doc_id,score\nb,d1,1\na,d2,high\n")
    message = f"{path}, line 3, score: must be one finite number, but is 'high'."
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        read_scores(path, data())


def test_documents_that_were_not_shown_rank_below_all_others(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("qid,doc_id,score\nb,d1,-1\na,d2,2\nb,d3,3\n")
    with pytest.warns(DataWarning, match="2 of 5 documents have no score and are ranked last"):
        scores = read_scores(path, data(), unscored="last")
    documents = data()
    assert documents.doc_ids is not None
    by_id = dict(zip(documents.doc_ids.tolist(), scores.tolist(), strict=True))
    assert by_id["d4"] == by_id["d5"] < -1  # tied, so that none of them is preferred
    assert (by_id["d1"], by_id["d2"], by_id["d3"]) == (-1, 2, 3)


def test_scores_must_be_there_for_every_document(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("qid,doc_id,score\nb,d1,1\na,d2,2\nb,d3,3\na,d4,4\n")
    message = (
        f"{path}: there must be a score for each of the 5 documents, but 1 have none; the first is "
        "document 'd5' of query 'b'. Rank them last (--unscored last) if the system did not show "
        "them."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        read_scores(path, data())
    with open(path, "a") as file:
        file.write("b,d5,5\nb,d9,5\nc,d1,7\n")
    with pytest.warns(
        DataWarning, match="2 scores are of documents that are not in the data; they"
    ):
        assert read_scores(path, data()).tolist() == [1, 3, 5, 2, 4]
    with pytest.raises(DataError, match="but 'd1' of query 'b' is there twice"):
        read_scores(path, data(doc_ids=["d1", "d2", "d1", "d4", "d5"]))
    with open(path, "a") as file:
        file.write("b,d5,6\n")
    with pytest.raises(
        DataError, match=r"a\.csv: a document must occur once in a query, but 'd5' "
    ):
        read_scores(path, data())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "qid,doc_id,points\na,b,1\n",
            "score: there must be one column 'score', but there are 'qi",
        ),
        ("qid,doc_id,score\na,,1\n", "doc_id: must not be missing, but row 0 has no value."),
        ("qid,doc_id,score\na,b,x\n", "line 2, score: must be one finite number, but is 'x'"),
    ],
)
def test_bad_tables_of_scores(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=re.escape(message)):
        read_run(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["a.txt", "a", "a.tsv", "a.csv", "a.qrels"])
def test_qrels_where_features_are_needed(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("q1\t0\td1\t2\nq1\t0\td2\t0\n")
    message = f"{path}: is a TREC qrels file (query 0 document label), which has no features. Mea"
    with pytest.raises(DataError, match=f"^{re.escape(message)}"):
        rw.read(path)


def test_runs_where_something_else_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "bm25.txt"
    write_run(SCORES, data(), path)
    for read in (rw.read, lambda path: read_scores(path, data())):
        with pytest.raises(DataError, match=r"is a TREC run file \(query Q0 document rank sco"):
            read(path)
    assert read_scores(path, data(), format="run").tolist() == SCORES.tolist()
    with pytest.raises(DataError, match="a run has scores, and a data set has none"):
        rw.write(data(), tmp_path / "a.run")
    with pytest.raises(DataError, match="a qrels file has labels, not scores"):
        write_scores(SCORES, data(), tmp_path / "a.qrels")


# ---- what was not found ----


def trec(metric: str, qrels: dict[str, int], run: dict[str, float], k: int) -> float:
    """Return what trec_eval says of one query, from its definitions."""
    ranked = sorted(run, key=lambda doc: (run[doc], doc), reverse=True)
    gains = [max(qrels.get(doc, 0), 0) for doc in ranked]
    relevant = sum(label >= 1 for label in qrels.values())
    if not relevant:
        return 0.0
    hits = [gain >= 1 for gain in gains]
    if metric == "ndcg":
        ideal = sorted((max(label, 0) for label in qrels.values()), reverse=True)
        dcg, best = (
            sum(gain / math.log2(i + 2) for i, gain in enumerate(values[:k]))
            for values in (gains, ideal)
        )
        return dcg / best
    if metric == "map":
        found = [sum(hits[: i + 1]) / (i + 1) for i in range(min(k, len(hits))) if hits[i]]
        return sum(found) / relevant
    if metric == "rr":
        return next((1 / (i + 1) for i, hit in enumerate(hits) if hit), 0.0)
    if metric == "p":
        return sum(hits[:k]) / k
    if metric == "recall":
        return sum(hits[:k]) / relevant
    assert metric == "success"
    return float(any(hits[:k]))


def sample(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return judgements and a run: ties, unjudged and missing documents, short lists."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for q in range(12):
        judged = rng.choice(30, rng.integers(1, 15), replace=False)
        found = rng.choice(40, rng.integers(1, 20), replace=False)
        high = 0 if q == 3 else 4
        qrels[f"q{q}"] = {f"d{d}": int(rng.integers(-1, high) if high else 0) for d in judged}
        run[f"q{q}"] = {f"d{d}": float(rng.integers(0, 6)) / 2 for d in found}
    return qrels, run


def as_objects(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> tuple[rw.Dataset, Run]:
    judged = [(q, d, y) for q, docs in qrels.items() for d, y in docs.items()]
    found = [(q, d, s) for q, docs in run.items() for d, s in docs.items()]
    qid, docs, y = (list(column) for column in zip(*judged, strict=True))
    dataset = rw.Dataset(np.zeros((len(y), 0)), y, qid, doc_ids=docs)
    return dataset, Run(*(np.array(column) for column in zip(*found, strict=True)))


METRICS = {"ndcg": 100, "ndcg@3": 3, "ndcg@10": 10, "map": 100, "map@4": 4, "rr": 100, "p@5": 5,
           "recall@5": 5, "recall@100": 100, "success@3": 3}  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_a_run_is_measured_as_by_trec_eval(seed: int) -> None:
    qrels, run = sample(seed)
    dataset, found = as_objects(qrels, run)
    result = rw.evaluate(found, dataset, [f"trec:{metric}" for metric in METRICS])
    for metric, k in METRICS.items():
        expected = [trec(metric.partition("@")[0], qrels[q], run[q], k) for q in qrels]
        got = result.results[f"trec:{metric}"].per_query
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12, err_msg=metric)


def test_a_run_that_has_everything_is_measured_as_scores_are() -> None:
    dataset = rw.data.make_mslr_like(n_queries=8, mean_docs=10)
    names = np.array(document_names(dataset))
    run = Run(dataset.qid.astype(str)[::-1], names[::-1], dataset.X[::-1, 4].astype(float))
    metrics = ["ndcg@10", "ndcg", "ap", "ap@3", "rr", "err", "precision@5", "recall@5", "rbp",
               "hit_rate@1", "dcg", "ap(threshold=2,denominator=cutoff)"]  # fmt: skip
    ours, plain = (rw.evaluate(s, dataset, metrics) for s in (run, dataset.X[:, 4]))
    for name in metrics:
        np.testing.assert_allclose(
            ours.results[name].per_query, plain.results[name].per_query, atol=1e-12
        )


def test_queries_on_one_side_only() -> None:
    dataset, run = as_objects(
        {"a": {"x": 1, "y": 0}, "b": {"x": 1}, "c": {"x": 0}}, {"a": {"x": 1.0}, "z": {"x": 1.0}}
    )
    with pytest.warns(DataWarning) as told:
        result = rw.evaluate(run, dataset, ["ndcg", "ndcg(empty=1.0)"])
    assert [str(warning.message) for warning in told] == [
        "1 query of the run is not judged and left out.",
        "2 queries without a document in the run are counted 0.",
    ]
    assert result.results["ndcg"].per_query[:2].tolist() == [1, 0]
    assert np.isnan(result.results["ndcg"].per_query[2])
    assert result.results["ndcg(empty=1.0)"].per_query.tolist() == [1, 0, 1]
    with pytest.raises(DataError, match="the run and the judgements have no query in common"):
        rw.evaluate(Run(np.array(["z"]), np.array(["x"]), np.array([1.0])), dataset)


def test_metrics_that_need_every_document_are_refused() -> None:
    dataset, run = as_objects(*sample(0))
    with pytest.raises(ValueError, match=r"kendall_tau.* needs a score for every judged document"):
        rw.evaluate(run, dataset, "kendall_tau")


def test_a_run_with_queries_in_any_order_becomes_a_table(tmp_path: Path) -> None:
    from rankwright.data.scores import convert_run, read_run

    (tmp_path / "a.run").write_text("a Q0 d1 1 3 t\nb Q0 d1 1 5 t\na Q0 d2 2 1 t\n")
    convert_run(tmp_path / "a.run", tmp_path / "a.csv", None, "csv")
    run = read_run(tmp_path / "a.csv")
    rows = zip(run.qid.tolist(), run.doc_ids.tolist(), run.scores.tolist(), strict=True)
    assert list(rows) == [("a", "d1", 3), ("b", "d1", 5), ("a", "d2", 1)]


def test_a_cutoff_limits_what_could_be_found() -> None:
    dataset, run = as_objects(
        {"a": dict.fromkeys("vwxyz", 1)}, {"a": {"v": 3.0, "w": 2.0, "x": 1.0}}
    )
    name = "ap(k=2,denominator=cutoff)"
    assert rw.evaluate(run, dataset, [name]).results[name].per_query.tolist() == [1]


def test_a_run_without_ranks_is_told_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "bm25.txt").write_text("q1 Q0 d1 - 2.5 bm25\n")
    with pytest.raises(DataError, match="is a TREC run file"):
        rw.read(tmp_path / "bm25.txt")


def test_one_score_more_is_told(tmp_path: Path) -> None:
    from rankwright.data.scores import read_scores

    path = tmp_path / "a.csv"
    path.write_text("qid,doc_id,score\nb,d1,1\na,d2,2\nb,d3,3\na,d4,4\nb,d5,5\nb,d9,5\n")
    with pytest.warns(DataWarning, match="1 scores are of"):
        read_scores(path, data())


def judged_run() -> tuple[rw.Dataset, Run]:
    return as_objects(
        {"q": {"a": 1, "b": 0, "c": 1, "d": 1}}, {"q": {"x": 5.0, "b": 4.0, "a": 3.0, "y": 2.0}}
    )


@pytest.mark.parametrize(
    ("metric", "irrelevant", "removed"),
    [
        ("judged@1", 0.0, 0.0),  # x; of documents that were removed nothing would be left to tell
        ("judged@3", 2 / 3, 2 / 3),
        ("judged@10", 1 / 2, 1 / 2),  # four documents
        ("rr", 1 / 3, 1 / 2),
        ("precision@2", 0.0, 1 / 2),
        ("r_precision", 1 / 3, 1 / 3),  # x, b, a; or b, a and nobody
        ("f1@3", 2 * 1 / (3 + 3), 2 * 1 / (3 + 3)),
        ("f1", 2 * 1 / (4 + 3), 2 * 1 / (2 + 3)),
        ("bpref", 0.0, 0.0),  # of N = 1 irrelevant one above a; c and d were not found
    ],
)
def test_documents_without_a_judgement(metric: str, irrelevant: float, removed: float) -> None:
    dataset, run = judged_run()
    assert rw.evaluate(run, dataset, metric)[metric] == pytest.approx(irrelevant)
    found = rw.evaluate(run, dataset, metric, unjudged="remove")
    assert found[metric] == pytest.approx(removed)


def test_a_rule_for_documents_without_a_judgement() -> None:
    dataset, run = judged_run()
    wrong: Any = "ignore"
    with pytest.raises(ValueError, match="unjudged must be 'irrelevant' or 'remove', but is 'ign"):
        rw.evaluate(run, dataset, unjudged=wrong)
    both = rw.evaluate({"a": run, "b": run}, dataset, "rr", unjudged="remove")
    assert both.standings[0].means["rr"] == 1 / 2
    assert both.scores["a", "split"].tolist() == [3.0, 4.0, -math.inf, -math.inf]


def test_a_query_of_which_nothing_is_left_counts_0() -> None:
    dataset, run = as_objects(
        {"q": {"a": 1}, "r": {"a": 1}, "s": {"a": 0, "b": 1}},
        {"q": {"x": 1.0}, "r": {"a": 1.0}, "s": {"b": 1.0, "a": 2.0}},
    )
    found = rw.evaluate(run, dataset, "rr", unjudged="remove")
    assert found.results["rr"].per_query.tolist() == [0.0, 1.0, 0.5]


def test_bpref_does_not_count_negative_judgements() -> None:
    dataset, run = as_objects(
        {"q": {"a": 1, "e": 1, "c": 0, "b": -1}}, {"q": {"c": 3.0, "a": 2.0, "e": 1.0}}
    )
    # R = 2 and N = 1, not 2: the one irrelevant document above takes all.
    assert rw.evaluate(run, dataset, "bpref")["bpref"] == 0.0


def test_the_best_order_of_what_was_judged_has_the_metrics_discount() -> None:
    dataset, run = as_objects({"q": {"a": 1, "b": 1}}, {"q": {"a": 1.0}})
    # Both first ranks weigh 1.
    assert rw.evaluate(run, dataset, "ndcg(discount=letor)")["ndcg(discount=letor)"] == 0.5
