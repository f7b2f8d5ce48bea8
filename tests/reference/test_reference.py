"""The reference metrics against hand-computed values, scikit-learn and scipy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import metrics as ref
from tests.strategies import RankingData, ranking_data

log2 = math.log2
approx = pytest.approx

# Labels at ranks 1..4 are 1, 3, 0, 2.
Y = [3.0, 2.0, 1.0, 0.0]
S = [0.7, 0.1, 0.9, 0.4]

# Rows 1 and 2 are tied at the top: the orders are labels (0, 1, 2) and (1, 0, 2).
TIED_Y = [2.0, 0.0, 1.0]
TIED_S = [1.0, 5.0, 5.0]

WITH_TIES: list[tuple[Callable[..., float], dict[str, Any], bool]] = [
    (ref.dcg, {"k": 2}, False),
    (ref.ndcg, {"k": 3, "gain": "linear", "discount": "letor"}, False),
    (ref.err, {"max_grade": 4, "k": 3}, False),
    (ref.ap, {"k": 3, "denominator": "relevant"}, False),
    (ref.ap, {"k": 3, "denominator": "cutoff"}, False),
    (ref.ap, {"k": 3, "denominator": "hits"}, False),
    (ref.rr, {"k": 2}, False),
    (ref.precision, {"k": 2}, False),
    (ref.recall, {"k": 2}, False),
    (ref.hit_rate, {"k": 2}, False),
    (ref.rbp, {"p": 0.8}, False),
    (ref.domination_error, {}, True),
    (ref.dominated_error, {}, True),
]


@pytest.fixture(scope="module")
def sklearn_metrics() -> Any:
    """Metrics of scikit-learn, where installed."""
    return pytest.importorskip("sklearn.metrics")


@pytest.fixture(scope="module")
def scipy_stats() -> Any:
    """Statistics of scipy, where installed."""
    return pytest.importorskip("scipy.stats")


def queries(data: RankingData) -> list[tuple[list[float], list[float]]]:
    """Labels and scores of every query."""
    starts = data.indptr[1:-1]
    ys, ss = np.split(data.y, starts), np.split(data.scores, starts)
    return [(y.tolist(), s.tolist()) for y, s in zip(ys, ss, strict=True)]


# --- orders ------------------------------------------------------------------------------------


def test_stable_order_keeps_rows_of_equal_scores() -> None:
    assert ref.stable_order([1.0, 2.0, 1.0, 2.0, 3.0]) == [4, 1, 3, 0, 2]


def test_signed_zeros_are_tied() -> None:
    assert ref.tied_blocks([-0.0, 0.0, 1.0]) == [[2], [0, 1]]


def test_all_orders_permute_within_blocks() -> None:
    orders = list(ref.all_orders([1.0, 2.0, 1.0, 2.0]))
    assert orders == [[1, 3, 0, 2], [1, 3, 2, 0], [3, 1, 0, 2], [3, 1, 2, 0]]


def test_too_many_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="too many"):
        list(ref.all_orders([0.0] * 9))


# --- hand-computed: graded ---------------------------------------------------------------------


def test_dcg_exp2_log2() -> None:
    assert ref.dcg(Y, S) == approx(1 / 1 + 7 / log2(3) + 0 / 2 + 3 / log2(5))


def test_dcg_linear_letor_cutoff() -> None:
    expected = 1 * 1 + 3 * 1 + 0 / log2(3)
    assert ref.dcg(Y, S, k=3, gain="linear", discount="letor") == approx(expected)
    expected += 2 / log2(4)
    assert ref.dcg(Y, S, k=9, gain="linear", discount="letor") == approx(expected)


def test_ndcg() -> None:
    best = 7 / 1 + 3 / log2(3)
    assert ref.ndcg(Y, S, k=2) == approx((1 / 1 + 7 / log2(3)) / best)


def test_ndcg_ties() -> None:
    best = 3 / 1 + 1 / log2(3)
    worst = (0 / 1 + 1 / log2(3)) / best
    top = (1 / 1 + 0 / log2(3)) / best
    expected: dict[ref.Ties, float] = {
        "order": worst,
        "worst": worst,
        "best": top,
        "average": (worst + top) / 2,
    }
    for ties, value in expected.items():
        assert ref.ndcg(TIED_Y, TIED_S, k=2, ties=ties) == approx(value)


def test_ndcg_three_way_tie() -> None:
    mean_gain = (3 + 1 + 0) / 3
    value = mean_gain * (1 / 1 + 1 / log2(3) + 1 / 2) / (3 / 1 + 1 / log2(3))
    assert ref.ndcg([0.0, 2.0, 1.0], [0.0, 0.0, 0.0], ties="average") == approx(value)


def test_ndcg_empty_and_short() -> None:
    zeros, scores = [0.0, 0.0], [1.0, 2.0]
    assert math.isnan(ref.ndcg(zeros, scores, k=5))
    assert ref.ndcg(zeros, scores, k=5, empty=0.25) == 0.25
    assert ref.ndcg(zeros, scores, k=5, empty=0.25, short="zero") == 0.0
    assert ref.ndcg(zeros, scores, k=2, empty=0.25, short="zero") == 0.25
    assert ref.ndcg(zeros, scores, k=None, empty=0.25, short="zero") == 0.25
    assert ref.ndcg([1.0, 2.0], scores, k=3, short="zero") == 0.0
    assert ref.ndcg([1.0, 2.0], scores, k=3, short="keep") == approx(1.0)


def test_err() -> None:
    r1, r2, r3, r4 = 1 / 16, 7 / 16, 0 / 16, 3 / 16
    expected = r1 + (1 - r1) * r2 / 2
    assert ref.err(Y, S, k=2, max_grade=4) == approx(expected)
    expected += (1 - r1) * (1 - r2) * (1 - r3) * r4 / 4
    assert ref.err(Y, S, max_grade=4) == approx(expected)
    assert math.isnan(ref.err([0.0, 0.0], [1.0, 2.0], max_grade=4))


# --- hand-computed: binary ---------------------------------------------------------------------


def test_ap() -> None:
    # Relevant at ranks 2 and 4 of four.
    assert ref.ap(Y, S, threshold=2.0) == approx((1 / 2 + 2 / 4) / 2)


@pytest.mark.parametrize(
    ("k", "denominator", "expected"),
    [
        (1, "relevant", 0 / 2),
        (1, "cutoff", 0 / 1),
        (1, "hits", 0.0),
        (3, "relevant", (1 / 2) / 2),
        (3, "cutoff", (1 / 2) / 2),
        (3, "hits", (1 / 2) / 1),
        (9, "hits", (1 / 2 + 2 / 4) / 2),
        (None, "cutoff", (1 / 2 + 2 / 4) / 2),
    ],
)
def test_ap_denominators(k: int | None, denominator: Any, expected: float) -> None:
    assert ref.ap(Y, S, k=k, threshold=2.0, denominator=denominator) == approx(expected)


def test_ap_cutoff_divides_by_k_where_more_are_relevant() -> None:
    assert ref.ap(Y, S, k=2, denominator="cutoff") == approx((1 / 1 + 2 / 2) / 2)
    assert ref.ap(Y, S, k=2, denominator="relevant") == approx((1 / 1 + 2 / 2) / 3)


def test_ap_hits_average_over_orders_of_the_ratio() -> None:
    # One relevant document, tied at the top with another one: it is within rank 1 half the time.
    value = ref.ap([0.0, 1.0], [1.0, 1.0], k=1, denominator="hits", ties="average")
    assert value == approx((0 + 1) / 2)


def test_rr() -> None:
    assert ref.rr(Y, S, threshold=2.0) == approx(1 / 2)
    assert ref.rr(Y, S, threshold=2.0, k=1) == 0.0
    value = ref.rr([0.0, 0.0, 1.0], [1.0, 1.0, 1.0], ties="average")
    assert value == approx((1 / 1 + 1 / 2 + 1 / 3) / 3)


def test_precision() -> None:
    assert ref.precision(Y, S, k=2, threshold=2.0) == approx(1 / 2)
    assert ref.precision(Y, S, k=8, threshold=2.0) == approx(2 / 8)
    assert ref.precision(Y, S, k=8, threshold=2.0, denominator="documents") == approx(2 / 4)
    assert ref.precision(Y, S, threshold=2.0) == approx(2 / 4)


def test_recall_and_hit_rate() -> None:
    assert ref.recall(Y, S, k=2, threshold=2.0) == approx(1 / 2)
    assert ref.recall(Y, S, threshold=2.0) == approx(2 / 2)
    assert ref.hit_rate(Y, S, k=1, threshold=2.0) == 0.0
    assert ref.hit_rate(Y, S, k=2, threshold=2.0) == 1.0
    assert ref.hit_rate([0.0, 0.0, 1.0], [1.0] * 3, k=1, ties="average") == approx(1 / 3)


def test_rbp() -> None:
    assert ref.rbp(Y, S, p=0.5, threshold=2.0) == approx((1 - 0.5) * (0.5**1 + 0.5**3))
    assert ref.rbp(Y, S, p=0.5, k=3, threshold=2.0) == approx((1 - 0.5) * 0.5**1)


@pytest.mark.parametrize(
    ("fn", "options"),
    [
        (ref.ap, {}),
        (ref.rr, {}),
        (ref.precision, {}),
        (ref.recall, {}),
        (ref.hit_rate, {}),
        (ref.rbp, {"p": 0.8}),
    ],
)
def test_binary_metrics_without_relevant_documents(
    fn: Callable[..., float], options: dict[str, Any]
) -> None:
    y, s = [0.0, 0.5], [1.0, 2.0]
    assert math.isnan(fn(y, s, empty="skip", **options))
    assert fn(y, s, empty=0.25, **options) == 0.25
    assert fn(y, s, threshold=0.5, empty=0.25, **options) != 0.25


# --- hand-computed: pairs and ordinal ----------------------------------------------------------


def test_pairwise_error() -> None:
    # Pairs (3,2) right, (3,1) wrong, (3,0) right, (2,1) wrong, (2,0) wrong, (1,0) right.
    assert ref.pairwise_error(Y, S) == approx(3 / 6)
    # Pairs (2,0) wrong, (2,1) wrong, (1,0) tied.
    assert ref.pairwise_error(TIED_Y, TIED_S) == approx((1 + 1 + 0.5) / 3)
    assert math.isnan(ref.pairwise_error([1.0, 1.0], [1.0, 2.0]))
    assert ref.pairwise_error([1.0], [1.0], empty=0.0) == 0.0


def test_kendall_tau() -> None:
    assert ref.kendall_tau(Y, S, variant="a") == approx((3 - 3) / 6)
    assert ref.kendall_tau(TIED_Y, TIED_S, variant="a") == approx((0 - 2) / 3)
    expected = (0 - 2) / math.sqrt((3 - 0) * (3 - 1))
    assert ref.kendall_tau(TIED_Y, TIED_S, variant="b") == approx(expected)
    assert ref.kendall_tau([1.0, 1.0], [1.0, 2.0], variant="a") == 0.0
    assert math.isnan(ref.kendall_tau([1.0, 1.0], [1.0, 2.0], variant="b"))
    assert math.isnan(ref.kendall_tau([1.0], [1.0], variant="a"))


def test_domination_errors() -> None:
    # Ranked labels 1, 3, 0, 2. Of the dominating 1, 3, 2 the 3 (below 1) and the 2 (below 0) are
    # outscored; of the dominated 1, 0, 2 the 1 (above 3) and the 0 (above 2) are misplaced.
    assert ref.domination_error(Y, S) == approx(2 / 3)
    assert ref.dominated_error(Y, S) == approx(2 / 3)
    # Ranked labels 0, 1, 2: both dominating documents are outscored.
    assert ref.domination_error([2.0, 1.0, 0.0], [1.0, 2.0, 3.0]) == approx(2 / 2)
    # Ranked labels 0, 2, 2, 1: all three dominating documents, but one of two dominated ones.
    y, s = [0.0, 2.0, 2.0, 1.0], [4.0, 3.0, 2.0, 1.0]
    assert ref.domination_error(y, s) == approx(3 / 3)
    assert ref.dominated_error(y, s) == approx(1 / 2)


def test_domination_error_ties() -> None:
    # Orders (0, 1, 2) and (1, 0, 2); the dominating documents are 1 and 2.
    expected: dict[ref.Ties, float] = {
        "order": 2 / 2,
        "worst": 2 / 2,
        "best": 1 / 2,
        "average": (2 / 2 + 1 / 2) / 2,
    }
    for ties, value in expected.items():
        assert ref.domination_error(TIED_Y, TIED_S, ties=ties) == approx(value)


def test_domination_errors_without_domination() -> None:
    assert math.isnan(ref.domination_error([1.0, 1.0], [1.0, 2.0]))
    assert ref.dominated_error([1.0, 1.0], [1.0, 2.0], empty=0.0) == 0.0


def test_ordinal() -> None:
    assert ref.rank_loss([1.0, 2.0, 3.0], [1.0, 4.0, 2.0]) == approx((0 + 2 + 1) / 3)
    assert ref.rank_accuracy([1.0, 2.0, 3.0], [1.0, 4.0, 2.0]) == approx(1 / 3)


def test_per_query() -> None:
    y, s = np.array([0.0, 1.0, 0.0, 2.0]), np.array([3.0, 2.0, 1.0, 4.0])
    values = ref.per_query(ref.rr, y, s, np.array([0, 2, 3, 4]), k=None, empty="skip")
    np.testing.assert_array_equal(values, [1 / 2, math.nan, 1.0])


@pytest.mark.parametrize(
    ("fn", "options"),
    [
        (ref.dcg, {"gain": "?"}),
        (ref.dcg, {"discount": "?"}),
        (ref.dcg, {"ties": "?"}),
        (ref.ndcg, {"short": "?"}),
        (ref.ap, {"denominator": "?"}),
        (ref.precision, {"denominator": "?"}),
        (ref.kendall_tau, {"variant": "?"}),
    ],
)
def test_unknown_options_are_refused(fn: Callable[..., float], options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="unknown"):
        fn(Y, S, **options)


# --- against scikit-learn and scipy ------------------------------------------------------------


@given(data=ranking_data(labels="floats"), k=st.none() | st.integers(1, 7))
def test_dcg_and_ndcg_agree_with_sklearn(
    sklearn_metrics: Any, data: RankingData, k: int | None
) -> None:
    for y, s in queries(data):
        if len(y) > 1:
            theirs = sklearn_metrics.dcg_score([y], [s], k=k)
            assert ref.dcg(y, s, k=k, gain="linear", ties="average") == approx(theirs)
            theirs = sklearn_metrics.ndcg_score([y], [s], k=k)
            ours = ref.ndcg(y, s, k=k, gain="linear", ties="average", empty=0.0)
            assert ours == approx(theirs)


@given(data=ranking_data(), k=st.none() | st.integers(1, 7))
def test_exp2_ndcg_agrees_with_sklearn_on_gains(
    sklearn_metrics: Any, data: RankingData, k: int | None
) -> None:
    for y, s in queries(data):
        if len(y) > 1:
            theirs = sklearn_metrics.ndcg_score([[2**label - 1 for label in y]], [s], k=k)
            assert ref.ndcg(y, s, k=k, ties="average", empty=0.0) == approx(theirs)


@given(data=ranking_data(ties=False))
def test_ap_agrees_with_sklearn_without_ties(sklearn_metrics: Any, data: RankingData) -> None:
    for y, s in queries(data):
        binary = [int(label >= 2) for label in y]
        if any(binary):
            theirs = sklearn_metrics.average_precision_score(binary, s)
            assert ref.ap(y, s, threshold=2.0) == approx(theirs)


@given(data=ranking_data())
def test_pairwise_error_is_one_minus_auc_on_binary_labels(
    sklearn_metrics: Any, data: RankingData
) -> None:
    for y, s in queries(data):
        binary = [float(label >= 2) for label in y]
        if len(set(binary)) == 2:
            theirs = sklearn_metrics.roc_auc_score(binary, s)
            assert ref.pairwise_error(binary, s) == approx(1 - theirs)


@given(data=ranking_data())
def test_tau_b_agrees_with_scipy(scipy_stats: Any, data: RankingData) -> None:
    for y, s in queries(data):
        theirs = scipy_stats.kendalltau(y, s, variant="b").statistic if len(y) > 1 else math.nan
        assert ref.kendall_tau(y, s, variant="b") == approx(theirs, nan_ok=True)


# --- tie rules ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("fn", "options", "lower_is_better"), WITH_TIES)
@given(data=ranking_data(max_queries=2, max_docs=5))
def test_tie_rules_are_ordered(
    fn: Callable[..., float], options: dict[str, Any], *, lower_is_better: bool, data: RankingData
) -> None:
    sign = -1 if lower_is_better else 1
    for y, s in queries(data):
        value = {
            ties: sign * fn(y, s, ties=ties, **options)
            for ties in ("order", "average", "worst", "best")
        }
        if not math.isnan(value["order"]):
            assert value["worst"] <= value["order"] <= value["best"]
            assert value["worst"] - 1e-12 <= value["average"] <= value["best"] + 1e-12
            if len(set(s)) == len(s):
                assert value["worst"] == value["average"] == value["best"]


@given(data=ranking_data(max_docs=5))
def test_ties_do_not_count_in_the_best_domination_error(data: RankingData) -> None:
    for y, s in queries(data):
        docs = range(len(y))
        wrong = [any(y[j] < y[i] and s[j] > s[i] for j in docs) for i in docs if y[i] > min(y)]
        expected = sum(wrong) / len(wrong) if wrong else math.nan
        assert ref.domination_error(y, s, ties="best") == approx(expected, nan_ok=True)
        wrong = [any(y[i] > y[j] and s[i] < s[j] for i in docs) for j in docs if y[j] < max(y)]
        expected = sum(wrong) / len(wrong) if wrong else math.nan
        assert ref.dominated_error(y, s, ties="best") == approx(expected, nan_ok=True)
