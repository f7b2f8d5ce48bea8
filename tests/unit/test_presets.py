"""The presets give the values that the real tools gave (``tests/golden``) or define (LETOR)."""

from __future__ import annotations

import json
import re
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwright.data import Groups
from rankwright.metrics import AP, DCG, NDCG, PRESETS, Precision, parse

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "peers.json").read_text(encoding="utf-8")
)
CASES = [(kind, text) for kind, data in GOLDEN["samples"].items() for text in data["values"]]


def entry(text: str) -> tuple[str, str]:
    match = re.fullmatch(r"(\w+):(\w+)(?:@\d+)?(-?)(?:\(.*\))?", text)
    assert match is not None
    return match[1], match[2] + match[3]


@pytest.mark.parametrize(("kind", "text"), CASES)
def test_preset_gives_the_tools_values(kind: str, text: str) -> None:
    data = GOLDEN["samples"][kind]
    groups = Groups(np.array(data["indptr"]))
    ours = parse(text).per_query(data["y"], data["scores"], groups)
    theirs = np.array(data["values"][text], dtype=np.float64)
    refused = np.isnan(theirs)  # scikit-learn refuses queries of one document
    assert (groups.sizes[refused] == 1).all()
    assert not refused.all()
    np.testing.assert_allclose(ours[~refused], theirs[~refused], rtol=0, atol=1e-9)


def test_every_entry_of_every_preset_was_compared_with_its_tool() -> None:
    compared = {entry(text) for _, text in CASES}
    entries = {(tool, name) for tool, names in PRESETS.items() for name in names}
    # ndeval's are about subtopics, of which the stored sample has none: make test-peers runs it.
    assert compared == {pair for pair in entries if pair[0] not in ("letor", "ndeval")}


def test_the_stored_sample_has_ties_short_queries_and_empty_queries() -> None:
    for data in GOLDEN["samples"].values():
        y, scores = np.array(data["y"]), np.array(data["scores"])
        parts = list(Groups(np.array(data["indptr"])))
        assert any(len(np.unique(scores[q])) < len(scores[q]) for q in parts)
        assert any(len(y[q]) < 5 for q in parts)
        assert any((y[q] == 0).all() for q in parts)


def test_the_stored_values_name_the_versions_of_the_tools() -> None:
    tools = {"catboost", "lightgbm", "pytrec-eval-terrier", "ranx", "scikit-learn", "xgboost-cpu"}
    assert tools <= set(GOLDEN["versions"])


# ---- options of presets ----


def test_xgboost_without_a_cutoff_takes_32() -> None:
    assert parse("xgboost:ndcg") == NDCG(k=32, ties="order", empty=1.0)
    assert parse("xgboost:map-") == AP(k=32, denominator="cutoff", ties="order", empty=0.0)
    assert parse("xgboost:ndcg@5-") == NDCG(k=5, ties="order", empty=0.0)


def test_an_option_overrides_a_preset() -> None:
    assert parse("lightgbm:ndcg@5(empty=skip)") == NDCG(k=5, ties="order", empty="skip")
    assert parse("catboost:dcg(gain=exp2)") == DCG(gain="exp2", ties="worst")


@pytest.mark.parametrize("text", ["lightgbm:map", "catboost:map", "catboost:mrr"])
def test_a_label_of_one_half_is_not_yet_relevant(text: str) -> None:
    metric = parse(text)
    assert metric.per_query([0.5, 1.0], [2.0, 1.0])[0] == 1 / 2
    assert metric.per_query([np.nextafter(0.5, 1.0), 0.0], [2.0, 1.0])[0] == 1.0


# ---- LETOR: no tool to run, so the rules of Microsoft's script by hand ----


def letor(text: str, y: list[float], scores: list[float]) -> float:
    return float(parse(f"letor:{text}").per_query(y, scores)[0])


def test_letor_discounts_from_rank_three_on() -> None:
    # Labels in the order of the scores: 1, 2, 0, 3, 1.
    y, scores = [1.0, 2.0, 0.0, 3.0, 1.0], [5.0, 4.0, 3.0, 2.0, 1.0]
    gained = (2**1 - 1) + (2**2 - 1) + 0 / log2(3) + (2**3 - 1) / log2(4)
    best = (2**3 - 1) + (2**2 - 1) + (2**1 - 1) / log2(3) + (2**1 - 1) / log2(4)
    assert letor("ndcg@4", y, scores) == pytest.approx(gained / best, abs=1e-15)
    gained_5, best_5 = gained + (2**1 - 1) / log2(5), best + 0 / log2(5)
    assert letor("ndcg@5", y, scores) == pytest.approx(gained_5 / best_5, abs=1e-15)


def test_letor_does_not_discount_rank_two() -> None:
    y, scores = [0.0, 2.0, 0.0], [3.0, 2.0, 1.0]
    assert letor("ndcg@2", y, scores) == 1.0
    assert letor("ndcg@3", y, scores) == 1.0
    assert letor("ndcg@1", y, scores) == 0.0


def test_letor_breaks_ties_by_file_order() -> None:
    assert letor("ndcg@1", [0.0, 1.0], [7.0, 7.0]) == 0.0
    assert letor("ndcg@1", [1.0, 0.0], [7.0, 7.0]) == 1.0
    assert letor("map", [0.0, 1.0], [7.0, 7.0]) == 1 / 2
    assert letor("p@1", [1.0, 0.0], [7.0, 7.0]) == 1.0


@pytest.mark.parametrize("text", ["ndcg@1", "ndcg", "map", "p@2"])
def test_letor_counts_a_query_without_relevant_documents_as_zero(text: str) -> None:
    assert letor(text, [0.0, 0.0, 0.0], [3.0, 2.0, 1.0]) == 0.0
    groups = Groups(np.array([0, 2, 4]))
    values = parse(f"letor:{text}").mean([1.0, 1.0, 0.0, 0.0], [4.0, 3.0, 2.0, 1.0], groups)
    assert values == (1 + 0) / 2


def test_letor_counts_ndcg_beyond_the_last_document_as_zero() -> None:
    y, scores = [2.0, 1.0], [2.0, 1.0]
    assert letor("ndcg@2", y, scores) == 1.0
    assert letor("ndcg@3", y, scores) == 0.0
    assert letor("ndcg", y, scores) == 1.0


def test_letor_fills_missing_ranks_of_precision_with_irrelevant_documents() -> None:
    assert letor("p@5", [2.0, 1.0, 0.0], [3.0, 2.0, 1.0]) == 2 / 5
    assert letor("p@2", [2.0, 0.0, 1.0], [3.0, 2.0, 1.0]) == 1 / 2


def test_letor_takes_labels_from_one_on_as_relevant() -> None:
    # Relevant at ranks 2 and 3 of 3.
    y, scores = [0.0, 1.0, 2.0], [3.0, 2.0, 1.0]
    assert letor("map", y, scores) == pytest.approx((1 / 2 + 2 / 3) / 2, abs=1e-15)
    assert parse("letor:map") == AP(threshold=1.0, ties="order", empty=0.0)
    assert parse("letor:p@10") == Precision(k=10, threshold=1.0, ties="order", empty=0.0)
