"""Runs that lack judged documents are measured as by trec_eval itself."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import rankwright as rw
from tests.unit.test_trec import as_objects, sample

THEIRS = {
    "ndcg": "ndcg",
    "ndcg@10": "ndcg_cut_10",
    "map": "map",
    "map@5": "map_cut_5",
    "rr": "recip_rank",
    "p@5": "P_5",
    "recall@5": "recall_5",
    "success@5": "success_5",
    "rprec": "Rprec",
    "bpref": "bpref",
}


@pytest.mark.parametrize("seed", range(10))
def test_a_run_is_measured_as_by_trec_eval(seed: int) -> None:
    qrels, run = sample(seed)
    dataset, found = as_objects(qrels, run)
    evaluator = import_module("pytrec_eval").RelevanceEvaluator(qrels, set(THEIRS.values()))
    expected = evaluator.evaluate(run)
    result = rw.evaluate(found, dataset, [f"trec:{metric}" for metric in THEIRS])
    for ours, theirs in THEIRS.items():
        np.testing.assert_allclose(
            result.results[f"trec:{ours}"].per_query,
            [expected[query][theirs] for query in result.query_ids.tolist()],
            rtol=0,
            atol=1e-9,
            err_msg=ours,
        )
