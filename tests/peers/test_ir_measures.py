"""Metrics that ir_measures has, on runs and subtopics: its own providers, run here and now."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.data import Groups
from rankwright.metrics import parse
from tests.unit.test_trec import as_objects, sample


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("judged@3(ties=order)", "Judged@3"),
        ("judged@10(ties=order)", "Judged@10"),
        ("trec:rprec", "Rprec"),
        ("trec:bpref", "Bpref"),
        ("trec:success@5", "Success@5"),
    ],
)
def test_runs_with_documents_that_nobody_judged(ours: str, theirs: str, seed: int) -> None:
    qrels, run = sample(seed)
    if theirs.startswith("Judged"):  # which orders ties by rising ids, and we by falling ones
        run = {
            q: {d: s + 1e-9 * i for i, (d, s) in enumerate(sorted(r.items()))}
            for q, r in run.items()
        }
    dataset, found = as_objects(qrels, run)
    values = rw.evaluate(found, dataset, ours).results[ours].per_query
    lib: Any = import_module("ir_measures")
    rows = lib.iter_calc([lib.parse_measure(theirs)], qrels, run)
    expected = {row.query_id: row.value for row in rows}
    known = [expected[query] for query in rw.evaluate(found, dataset, ours).query_ids.tolist()]
    np.testing.assert_allclose(values, known, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("trec:ndcg@5", "nDCG(judged_only=True)@5"), ("trec:map", "AP(judged_only=True)")],
)
def test_condensed_lists(ours: str, theirs: str, seed: int) -> None:
    qrels, run = sample(seed)
    dataset, found = as_objects(qrels, run)
    result = rw.evaluate(found, dataset, ours, unjudged="remove")
    lib: Any = import_module("ir_measures")
    rows = lib.iter_calc([lib.parse_measure(theirs)], qrels, run)
    expected = {row.query_id: row.value for row in rows}
    known = [expected.get(query, 0.0) for query in result.query_ids.tolist()]
    np.testing.assert_allclose(result.results[ours].per_query, known, rtol=0, atol=1e-9)


def diversity(seed: int) -> tuple[Any, Any, Groups, Any]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 15, 20)
    n = int(sizes.sum())
    texts = [" ".join(str(t) for t in range(5) if rng.random() < 0.35) for _ in range(n)]
    y = np.array([float(bool(text)) for text in texts])
    scores = rng.permutation(n).astype(np.float64)
    return y, scores, Groups(np.append(0, np.cumsum(sizes))), np.array(texts, dtype=object)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [2, 5, 10])  # at rank 1, ndeval does not divide ERR-IA
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("ndeval:alpha_ndcg@{k}", "alpha_nDCG@{k}"),
        ("ndeval:alpha_ndcg@{k}(alpha=0.2)", "alpha_nDCG(alpha=0.2)@{k}"),
        ("ndeval:err_ia@{k}", "ERR_IA@{k}"),
    ],
)
def test_subtopics_as_by_ndeval(ours: str, theirs: str, k: int, seed: int) -> None:
    y, scores, groups, texts = diversity(seed)
    lib: Any = import_module("ir_measures")
    qrels, run = [], []
    for q, rows in enumerate(groups):
        for i in range(rows.start, rows.stop):
            name = f"{10**6 - i:07d}"  # the larger id first, as ndeval chooses among equals
            run.append(lib.ScoredDoc(f"q{q:03d}", name, float(scores[i])))
            qrels += [lib.Qrel(f"q{q:03d}", name, 1, topic) for topic in texts[i].split()]
    measure = lib.parse_measure(theirs.format(k=k))
    rows = lib.providers.registry["pyndeval"].iter_calc([measure], qrels, run)
    expected = {row.query_id: row.value for row in rows}
    values = parse(ours.format(k=k)).per_query(y, scores, groups, columns={"subtopics": texts})
    known = [expected.get(f"q{q:03d}", 0.0) for q in range(groups.n_queries)]
    np.testing.assert_allclose(values, known, rtol=0, atol=1e-6)
