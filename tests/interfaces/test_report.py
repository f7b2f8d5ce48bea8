"""The report without a browser: what is in the page, and what is not."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from rankwright.comparison import Comparison, Entry, compare
from rankwright.comparison.trial import Outcome
from rankwright.evaluation import Fold
from rankwright.report.report import payload, report_html, write_report
from tests.comparison_sample import HOSTILE, make_comparison

pytest.importorskip("jinja2", reason="needs the extra report")


@pytest.fixture(scope="module")
def result() -> Comparison:
    return make_comparison()


@pytest.fixture(scope="module")
def page_file(result: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(result, path, title="Demo <b>&</b>")
    return path


def test_the_page_is_alone(page_file: Path) -> None:
    text = page_file.read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=[\"']?(https?:|//)", text)
    assert "@import" not in text
    assert "url(" not in text
    assert HOSTILE not in text
    assert "Demo &lt;b&gt;&amp;&lt;/b&gt;" in text


def test_the_lists_are_the_rankings(result: Comparison) -> None:
    data = payload(result)
    names = [s.name for s in result.standings]
    position = 0
    for fold in result.folds:
        for q, rows in enumerate(fold.test.groups):
            found = data["lists"][position + q]
            labels = fold.test.y[rows]
            for k, name in enumerate(names):
                scores = result.outcomes[name, fold.name].scores[rows]
                order = np.argsort(-scores, kind="stable")
                assert [found["y"][d] for d in found["o"][k]] == labels[order].tolist()
                assert fold.test.doc_ids is not None
                shown = [found["d"][d] for d in found["o"][k]]
                assert shown == [n[:48] for n in fold.test.doc_ids[rows][order].tolist()]
        position += fold.test.n_queries
    assert data["guarantees"]["smooth-slam-linear"]["holds"]
    assert data["paths"]["sparse"][0]["n_features"] == 0
    assert "valid ndcg@10" in data["curves"]["xendcg-trees"]


def synthetic(n_queries: int, n_docs: int, n_models: int, name: str) -> Comparison:
    rng = np.random.default_rng(0)
    rows = n_queries * n_docs
    y = rng.integers(0, 5, rows).astype(float)
    ids = np.array([f"{name}{rng.integers(10**8):08d}" for _ in range(rows)])
    qid = np.repeat(np.arange(10_000, 10_000 + n_queries), n_docs)
    data = rw.Dataset(rng.random((rows, 2)), y, qid, doc_ids=ids)
    few = data.select(np.arange(5))
    curve = {"valid ndcg@10": np.linspace(0.2, 0.6, 300).tolist()}
    values = rng.random(1000).tolist()
    guarantee = {
        "promise": "1 - ndcg",
        "mean_loss": 1.0,
        "mean_bound": 0.5,
        "holds": True,
        "loss": values,
        "bound": values,
        "queries": [str(i) for i in range(1000)],
    }
    facts = {
        "train_seconds": 1.0,
        "search_seconds": 1.0,
        "score_us": 1.0,
        "model_bytes": 1000,
        "features_used": 2,
        "params": {"alpha": 0.1},
        "curves": curve,
        "guarantee": guarantee,
    }
    entries = [Entry(f"model-{i}", rw.LinearRanker(), {}, "linear") for i in range(n_models)]
    outcomes = {
        (entry.name, "split"): Outcome(facts, y + rng.normal(size=rows) * (1 + i))
        for i, entry in enumerate(entries)
    }
    return Comparison.build(
        entries,
        [Fold("split", few, few, data)],
        ["ndcg@10", "ndcg@5", "ap", "rr"],
        outcomes,
        [],
        settings={"trials": 8, "random_state": 0, "processes": 1},
        seconds=1.0,
    )


def test_a_large_comparison_stays_below_5_mb() -> None:
    result = synthetic(1000, 100, 10, "GX001-02-")
    assert len(report_html(result)) < 5e6
    assert all(payload(result)["lists"])


def test_of_a_larger_one_the_most_different_queries_are_kept() -> None:
    result = synthetic(3000, 40, 2, "a-very-long-name-of-a-document-in-a-collection-")
    text = report_html(result)
    assert len(text) < 5e6
    lists = payload(result)["lists"]
    kept = np.array([found is not None for found in lists])
    assert 0 < kept.sum() < 3000
    a, b = (s.per_query["ndcg@10"] for s in result.standings)
    assert np.abs(a - b)[kept].min() >= np.abs(a - b)[~kept].max()
    assert f"of {kept.sum():,} of 3,000 queries" in text


def test_one_model_and_none() -> None:
    data = rw.data.make_mslr_like(n_queries=15, n_features=4, mean_docs=8)
    assert "there is nothing to compare it with" in report_html(compare(data, ["random"]))
    broken = Entry("broken", rw.LinearRanker("no loss"))
    assert "Every model failed." in report_html(compare(data, [broken]))


def test_without_jinja_it_is_named(result: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"needs the package jinja2.*rankwright\[report\]"):
        report_html(result)
