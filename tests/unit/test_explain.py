"""Why two metrics differ, in words."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from rankwright import Dataset
from rankwright.data import Groups
from rankwright.exceptions import DataWarning
from rankwright.metrics import METRICS, NDCG, explain_difference
from rankwright.metrics.metric import CHOICES

# Query 7: a tie at the top; 8: no relevant document; 9: two documents; 10: clear and perfect.
Y = [0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
SCORES = [3.0, 3.0, 1.0, 2.0, 1.0, 2.0, 1.0, 3.0, 2.0, 1.0]
GROUPS = Groups(np.array([0, 3, 5, 7, 10]), np.array([7, 8, 9, 10]))


def test_equal_metrics_have_the_same_conventions() -> None:
    difference = explain_difference("ndcg@5", NDCG(k=5), Y, SCORES, GROUPS)
    assert difference.conventions == ()
    assert difference.n_moved == 0
    assert str(difference).splitlines()[2] == "- the same conventions"


def test_different_metrics_are_told_apart() -> None:
    assert explain_difference("ndcg", "ap").conventions == ("metric: a is ndcg, b is ap",)
    assert str(explain_difference("ndcg", "ap")) == "a = ndcg\nb = ap\n- metric: a is ndcg, b is ap"


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (
            "ndcg",
            "ndcg(gain=linear)",
            "gain: a: the gain of label y is 2^y - 1; b: the gain of label y is y",
        ),
        (
            "ndcg",
            "ndcg(discount=letor)",
            "discount: a: rank r is discounted by log2(1 + r); b: ranks 1 and 2 are not "
            "discounted, rank r >= 3 by log2(r)",
        ),
        (
            "ap(ties=worst)",
            "ap(ties=best)",
            "ties: a: tied scores put lower labels first; b: tied scores put higher labels first",
        ),
        (
            "ndcg(short=zero)",
            "ndcg",
            "short: a: a query with fewer than k documents counts 0; b: a query with fewer than k "
            "documents counts like any other",
        ),
        (
            "ap",
            "ap(empty=0.5)",
            "empty: a: an undefined query is left out; b: an undefined query counts 0.5",
        ),
        ("ndcg", "ndcg@3", "k: a: all ranks count; b: 3 ranks count"),
        (
            "ap",
            "ap(threshold=2)",
            "threshold: a: relevant from label 1 on; b: relevant from label 2 on",
        ),
        ("rbp", "rbp(p=0.5)", "p: a: p = 0.8; b: p = 0.5"),
        ("err", "err(max_grade=5)", "max_grade: a: max_grade = 4; b: max_grade = 5"),
        (
            "kendall_tau(variant=a)",
            "kendall_tau",
            "variant: a: tau-a: divided by the number of all pairs; b: tau-b: corrected for ties",
        ),
        (
            "precision@5",
            "precision@5(denominator=documents)",
            "denominator: a: divided by k, or by the number of relevant documents for AP if that "
            "is less; b: divided by k, or by the number of documents if that is less",
        ),
    ],
)
def test_each_convention_has_words(a: str, b: str, words: str) -> None:
    assert explain_difference(a, b).conventions == (words,)


def test_every_choice_of_every_metric_has_words() -> None:
    for kind in METRICS.values():
        for field in dataclasses.fields(kind):
            own = {"denominator": kind.denominators, "ties": kind.tie_rules}
            choices = own.get(field.name, CHOICES.get(field.name, ()))
            for choice in choices:
                if choice != field.default:
                    options: dict[str, Any] = {field.name: choice}
                    (words,) = explain_difference(kind(), kind(**options)).conventions
                    assert f"{field.name} = " not in words


def test_queries_that_move_are_listed_with_their_reasons() -> None:
    difference = explain_difference("lightgbm:ndcg@3", "ndcg@3(short=zero)", Y, SCORES, GROUPS)
    assert [(query.query, query.reasons) for query in difference.queries] == [
        (8, ("no relevant document", "only 2 documents")),
        (9, ("only 2 documents",)),
        (7, ("tied scores",)),
    ]
    assert (difference.n_moved, difference.n_queries) == (3, 4)
    text = str(difference)
    assert "3 of 4 queries differ" in text
    assert "  query 9: a = 1.000000, b = 0.000000 (only 2 documents)" in text


def test_means_are_those_of_the_metrics() -> None:
    difference = explain_difference("ndcg@1(empty=0)", "ndcg@1(gain=linear)", Y, SCORES, GROUPS)
    assert difference.mean_a == (1 / 2 + 0 + 1 + 1) / 4
    assert difference.mean_b == (1 / 2 + 1 + 1) / 3


def test_labels_above_one_explain_a_gain() -> None:
    y, scores = [2.0, 1.0, 0.0], [1.0, 2.0, 3.0]
    (query,) = explain_difference("ndcg", "ndcg(gain=linear)", y, scores).queries
    assert query.reasons == ("labels above 1",)
    assert query.query == 0
    binary = explain_difference("ndcg", "ndcg(gain=linear)", [1.0, 0.0], [1.0, 2.0])
    assert binary.n_moved == 0


def test_the_largest_differences_come_first_and_the_rest_is_counted() -> None:
    rng = np.random.default_rng(0)
    ds = Dataset(np.zeros((60, 1)), rng.integers(0, 4, 60), [f"q{i // 6}" for i in range(60)])
    scores = rng.normal(size=60)
    difference = explain_difference("ndcg", "ndcg@1", ds.y, scores, ds.groups, most=2)
    gaps = np.abs(
        NDCG().per_query(ds.y, scores, ds.groups) - NDCG(k=1).per_query(ds.y, scores, ds.groups)
    )
    names = [query.query for query in difference.queries]
    assert names == [f"q{i}" for i in np.argsort(-gaps, kind="stable")[:2]]
    more = int((gaps > 1e-12).sum()) - 2
    assert str(difference).endswith(f"\n  ... and {more} more")


def test_a_query_skipped_by_one_metric_moves() -> None:
    difference = explain_difference("ap", "ap(empty=0)", [0.0, 0.0, 1.0], [1, 2, 3], three())
    assert [query.query for query in difference.queries] == [0, 1]
    assert all(np.isnan(query.a) and query.b == 0 for query in difference.queries)
    skipped_by_both = explain_difference(
        "ap", "ap(ties=worst)", [0.0, 0.0, 1.0], [1, 2, 3], three()
    )
    assert skipped_by_both.n_moved == 0


def three() -> Groups:
    return Groups(np.array([0, 1, 2, 3]))


def test_data_on_which_a_metric_is_undefined_warns() -> None:
    with pytest.warns(DataWarning, match=r"^ap is undefined on every query"):
        difference = explain_difference("ap", "ap(empty=0)", [0.0, 0.0], [1.0, 2.0])
    assert "means: a = nan, b = 0.000000; 1 of 1 queries differ" in str(difference)


def test_metrics_of_different_kinds_are_compared_on_data() -> None:
    difference = explain_difference("rank_loss", "ndcg", [1.0, 0.0], [0.0, 1.0])
    assert difference.mean_a == 1.0
    assert difference.n_moved == 1


def test_labels_between_two_thresholds_explain_the_difference() -> None:
    y, scores = [2.0, 1.0, 0.0], [1.0, 3.0, 2.0]
    (query,) = explain_difference("ap", "ap(threshold=2)", y, scores).queries
    assert query.reasons == ("labels between the thresholds",)
    assert (query.a, query.b) == ((1 / 1 + 2 / 3) / 2, 1 / 3)
