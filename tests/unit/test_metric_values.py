"""Metrics by hand: each value is spelled out as arithmetic."""

from __future__ import annotations

import re
import warnings
from itertools import permutations
from math import isnan, log2, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

from rankwright.data import Groups
from rankwright.exceptions import DataWarning
from rankwright.metrics import (
    AP,
    DCG,
    ERR,
    NDCG,
    RBP,
    RR,
    DominatedError,
    DominationError,
    HitRate,
    KendallTau,
    Metric,
    PairwiseError,
    Precision,
    RankAccuracy,
    RankedLabels,
    RankLoss,
    Recall,
    mean_of_queries,
    parse,
    per_query_of_all,
)

# Labels in the order of the scores: 3, 0, 2, 0, 1.
Y = [0.0, 3.0, 1.0, 2.0, 0.0]
SCORES = [4.0, 5.0, 1.0, 3.0, 2.0]
# Ranks 2 and 3 tied (labels 0 and 2), so the order of rows is 3, 0, 2, 0, 1 again.
TIED = [3.0, 5.0, 1.0, 3.0, 2.0]

L2, L3, L4, L5, L6 = (log2(r) for r in (2, 3, 4, 5, 6))
G1, G2, G3 = 2**1 - 1, 2**2 - 1, 2**3 - 1  # exponential gains
BEST = G3 / L2 + G2 / L3 + G1 / L4


def value(metric: Metric | str, y: Any, scores: Any) -> float:
    result = parse(metric).per_query(y, scores)
    assert result.shape == (1,)
    assert result.dtype == np.float64
    return float(result[0])


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (DCG(), G3 / L2 + G2 / L4 + G1 / L6),
        (DCG(k=3), G3 / L2 + G2 / L4),
        (DCG(k=99), G3 / L2 + G2 / L4 + G1 / L6),
        (DCG(gain="linear"), 3 / L2 + 2 / L4 + 1 / L6),
        (DCG(discount="letor"), G3 + G2 / L3 + G1 / L5),
        (DCG(k=2, gain="linear", discount="letor"), 3.0),
        (NDCG(), (G3 / L2 + G2 / L4 + G1 / L6) / BEST),
        (NDCG(k=2), (G3 / L2) / (G3 / L2 + G2 / L3)),
        (NDCG(k=1), 1.0),
        (NDCG(gain="linear"), (3 / L2 + 2 / L4 + 1 / L6) / (3 / L2 + 2 / L3 + 1 / L4)),
        (NDCG(discount="letor"), (G3 + G2 / L3 + G1 / L5) / (G3 + G2 + G1 / L3)),
        (NDCG(k=5, short="zero"), (G3 / L2 + G2 / L4 + G1 / L6) / BEST),
        (NDCG(k=6, short="zero"), 0.0),
        (NDCG(k=6, short="keep"), (G3 / L2 + G2 / L4 + G1 / L6) / BEST),
        (NDCG(short="zero"), (G3 / L2 + G2 / L4 + G1 / L6) / BEST),
        (AP(), (1 / 1 + 2 / 3 + 3 / 5) / 3),
        (AP(k=3), (1 / 1 + 2 / 3) / 3),
        (AP(k=2, denominator="cutoff"), (1 / 1) / 2),
        (AP(k=4, denominator="cutoff"), (1 / 1 + 2 / 3) / 3),
        (AP(threshold=2), (1 / 1 + 2 / 3) / 2),
        (AP(threshold=2.5), 1.0),
        (AP(threshold=0), 1.0),
        (RR(), 1.0),
        (RR(threshold=4, empty=0.25), 0.25),
        (Precision(), 3 / 5),
        (Precision(k=2), 1 / 2),
        (Precision(k=10), 3 / 10),
        (Precision(k=10, denominator="documents"), 3 / 5),
        (Precision(k=2, denominator="documents"), 1 / 2),
        (Precision(k=3, threshold=2), 2 / 3),
        (Recall(), 1.0),
        (Recall(k=3), 2 / 3),
        (Recall(k=3, threshold=2), 2 / 2),
        (HitRate(k=1), 1.0),
        (RBP(), 0.2 * (1 + 0.8**2 + 0.8**4)),
        (RBP(p=0.5), 0.5 * (1 + 0.5**2 + 0.5**4)),
        (RBP(p=0.5, k=3), 0.5 * (1 + 0.5**2)),
        (RBP(p=0.5, threshold=3), 0.5),
        (
            ERR(),
            G3 / 16 + (1 - G3 / 16) * (G2 / 16) / 3 + (1 - G3 / 16) * (1 - G2 / 16) * (G1 / 16) / 5,
        ),
        (ERR(k=3), G3 / 16 + (1 - G3 / 16) * (G2 / 16) / 3),
        (
            ERR(max_grade=3),
            G3 / 8 + (1 - G3 / 8) * (G2 / 8) / 3 + (1 - G3 / 8) * (1 - G2 / 8) * (G1 / 8) / 5,
        ),
        # Pairs of different labels: 10 - 1. Wrong: (2, 0) once, (1, 0) twice.
        (PairwiseError(), 3 / 9),
        (KendallTau(variant="a"), (6 - 3) / 10),
        (KendallTau(), (6 - 3) / sqrt(9 * 10)),
        # Dominating: 3, 2, 1; outscored: 2 (by 0) and 1 (by both).
        (DominationError(), 2 / 3),
        # Dominated: 0, 2, 0, 1; outscoring a dominator: both 0.
        (DominatedError(), 2 / 4),
    ],
)
def test_value_without_ties(metric: Metric, expected: float) -> None:
    assert value(metric, Y, SCORES) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("k", [None, 1, 2, 3])
def test_first_relevant_document_at_rank_two(k: int | None) -> None:
    y, scores = [0, 1, 1], [3.0, 2.0, 1.0]
    assert value(RR(k=k), y, scores) == (0.0 if k == 1 else 1 / 2)
    assert value(HitRate(k=k), y, scores) == (0.0 if k == 1 else 1.0)


# ---- ties ----

TOP = G3 / L2


def mean(*values: float) -> float:
    return sum(values) / len(values)


@pytest.mark.parametrize(
    ("name", "options", "best", "worst"),
    [
        ("dcg", "", TOP + G2 / L3 + G1 / L6, TOP + G2 / L4 + G1 / L6),
        ("dcg@2", "", TOP + G2 / L3, TOP),
        ("ndcg", "", (TOP + G2 / L3 + G1 / L6) / BEST, (TOP + G2 / L4 + G1 / L6) / BEST),
        ("ndcg@2", "", 1.0, TOP / (TOP + G2 / L3)),
        ("ap", "", (1 + 2 / 2 + 3 / 5) / 3, (1 + 2 / 3 + 3 / 5) / 3),
        ("ap@2", "", (1 + 2 / 2) / 3, 1 / 3),
        ("precision@2", "", 2 / 2, 1 / 2),
        ("recall@2", "", 2 / 3, 1 / 3),
        ("rbp", "p=0.5", 0.5 * (1 + 0.5 + 0.5**4), 0.5 * (1 + 0.5**2 + 0.5**4)),
        ("rbp@2", "p=0.5", 0.5 * (1 + 0.5), 0.5 * 1),
        (
            "err@3",
            "",
            G3 / 16 + (1 - G3 / 16) * (G2 / 16) / 2,
            G3 / 16 + (1 - G3 / 16) * (G2 / 16) / 3,
        ),
        ("rr", "threshold=1", 1.0, 1.0),
        # 1 is outscored by 0 either way, 2 only if it loses the tie.
        ("domination_error", "", 1 / 3, 2 / 3),
        # 0 at the end outscores 1 either way; the tied 0 outscores 1 as well.
        ("dominated_error", "", 2 / 4, 2 / 4),
    ],
)
def test_value_of_ties(name: str, options: str, best: float, worst: float) -> None:
    def of(ties: str) -> float:
        return value(f"{name}({options + ',' if options else ''}ties={ties})", Y, TIED)

    assert of("best") == pytest.approx(best, abs=1e-14)
    assert of("worst") == pytest.approx(worst, abs=1e-14)
    assert of("average") == pytest.approx(mean(best, worst), abs=1e-14)
    assert of("order") == pytest.approx(worst, abs=1e-14)  # the 0 comes first in the file


def test_rows_decide_ties_by_order() -> None:
    assert value("rr(ties=order)", [0, 1, 1], [1.0, 1.0, 1.0]) == 1 / 2
    assert value("rr(ties=order)", [1, 0, 0], [1.0, 1.0, 1.0]) == 1.0
    assert value("rr(ties=average)", [1, 0, 0], [1.0, 1.0, 1.0]) == pytest.approx(
        mean(1 / 1, 1 / 2, 1 / 3), abs=1e-15
    )


def test_minus_zero_ties_with_zero() -> None:
    assert value("rr", [0, 1], [0.0, -0.0]) == mean(1 / 1, 1 / 2)
    assert value("rr(ties=order)", [0, 1], [-0.0, 0.0]) == 1 / 2


@pytest.mark.parametrize(
    "text",
    ["ndcg@2", "ap", "ap@2(denominator=cutoff)", "rr@2", "err", "err@2", "hit_rate@2", "rbp@3"],
)
def test_average_is_the_mean_over_all_orders(text: str) -> None:
    # Scores 2, 1, 1, 1, 0: the three in the middle in all their orders.
    y = np.array([1.0, 3.0, 0.0, 2.0, 0.0])
    orders = [
        value(text, y[[0, *middle, 4]], [5.0, 4.0, 3.0, 2.0, 1.0])
        for middle in permutations((1, 2, 3))
    ]
    assert value(text, y, [2.0, 1.0, 1.0, 1.0, 0.0]) == pytest.approx(mean(*orders), abs=1e-14)


def test_tied_pairs_cost_one_half() -> None:
    assert value(PairwiseError(), [1, 0], [2.0, 2.0]) == 1 / 2
    # Pairs: (2, 1) tied, (2, 0) right, (1, 0) right.
    assert value(PairwiseError(), [2, 1, 0], [1.0, 1.0, 0.0]) == (1 / 2) / 3
    # One of three pairs is tied in the score, none in the label.
    assert value(KendallTau(), [2, 1, 0], [1.0, 1.0, 0.0]) == pytest.approx(2 / sqrt(3 * 2))
    assert value(KendallTau(variant="a"), [2, 1, 0], [1.0, 1.0, 0.0]) == pytest.approx(2 / 3)


def test_domination_takes_ties_as_right_by_default() -> None:
    assert value(DominationError(), [1, 0], [2.0, 2.0]) == 0.0
    assert value(DominatedError(), [1, 0], [2.0, 2.0]) == 0.0
    assert value(DominationError(ties="average"), [1, 0], [2.0, 2.0]) == 1 / 2
    assert value(DominatedError(ties="worst"), [1, 0], [2.0, 2.0]) == 1.0


def test_domination_counts_documents_and_not_pairs() -> None:
    # One irrelevant document above three relevant ones, and the other way round.
    assert value(DominationError(), [0, 1, 1, 1], [4.0, 3.0, 2.0, 1.0]) == 3 / 3
    assert value(DominatedError(), [0, 1, 1, 1], [4.0, 3.0, 2.0, 1.0]) == 1 / 1
    assert value(DominationError(), [0, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]) == 1 / 1
    assert value(DominatedError(), [0, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]) == 2 / 3


# ---- ordinal ----


def test_predicted_labels_are_compared_document_by_document() -> None:
    y, predicted = [0, 1, 2, 3], [0, 3, 2, 2.5]
    assert value(RankLoss(), y, predicted) == (0 + 2 + 0 + 0.5) / 4
    assert value(RankAccuracy(), y, predicted) == 2 / 4
    groups = Groups(np.array([0, 1, 1, 4]))
    np.testing.assert_array_equal(
        RankLoss().per_query(y, predicted, groups), [0, np.nan, (2 + 0 + 0.5) / 3]
    )


def test_predicted_labels_need_no_ranking() -> None:
    ranking = RankedLabels([1.0], [1.0])
    with pytest.raises(TypeError, match=r"^rank_loss compares labels; call per_query"):
        RankLoss().from_ranking(ranking)
    mixed = per_query_of_all([NDCG(), RankLoss()], [1, 0], [1.0, 0.5])
    assert [array.tolist() for array in mixed] == [[1.0], [(0 + 0.5) / 2]]
    assert [a.tolist() for a in per_query_of_all([RankLoss()], [1, 0], [1.0, 0.5])] == [[0.25]]
    assert per_query_of_all([], [1], [1.0]) == []


def test_predicted_labels_must_be_finite_and_fit() -> None:
    with pytest.raises(ValueError, match=r"^scores must be finite, but row 1 is nan\.$"):
        RankLoss().per_query([1, 0], [1, np.nan])
    with pytest.raises(ValueError, match=r"^groups must cover the 2 rows of y, but cover 3\.$"):
        RankAccuracy().per_query([1, 0], [1, 0], Groups.one_query(3))


# ---- undefined queries ----

NO_RELEVANT: list[Metric] = [
    NDCG(),
    AP(),
    RR(),
    ERR(),
    Precision(),
    Recall(),
    HitRate(),
    RBP(),
]
NO_PAIR: list[Metric] = [PairwiseError(), KendallTau(), DominationError(), DominatedError()]


@pytest.mark.parametrize("metric", [*NO_RELEVANT, *NO_PAIR], ids=str)
def test_undefined_queries_are_skipped_or_counted(metric: Metric) -> None:
    y, scores = [0.0, 0.0, 0.0, 1.0], [1.0, 2.0, 1.0, 2.0]
    groups = Groups(np.array([0, 2, 4]))
    values = metric.per_query(y, scores, groups)
    assert isnan(values[0])
    perfect = 1.0 if metric.higher_is_better else 0.0
    if metric.name not in ("precision", "rbp", "err"):
        assert values[1] == perfect
    assert metric.mean(y, scores, groups) == values[1]
    for empty in (0.0, 1.0, 0.25):
        counted = parse(f"{metric.name}(empty={empty})")
        assert counted.per_query(y, scores, groups).tolist() == [empty, values[1]]
        assert counted.mean(y, scores, groups) == (empty + values[1]) / 2


@pytest.mark.parametrize("metric", NO_PAIR, ids=str)
def test_equal_positive_labels_have_no_pairs(metric: Metric) -> None:
    assert isnan(value(metric, [2, 2], [1.0, 2.0]))
    assert isnan(value(metric, [2], [1.0]))


def test_kendalls_tau_b_is_undefined_for_equal_scores() -> None:
    assert isnan(value(KendallTau(), [2, 1], [1.0, 1.0]))
    assert value(KendallTau(variant="a"), [2, 1], [1.0, 1.0]) == 0.0


def test_dcg_of_nothing_is_zero() -> None:
    assert value(DCG(), [0, 0], [1.0, 2.0]) == 0.0
    with pytest.raises(ValueError, match=r"^dcg has no option 'empty'\."):
        parse("dcg(empty=1)")


def test_the_mean_of_skipped_queries_only_is_nan_with_a_warning() -> None:
    message = (
        "ndcg@5 is undefined on every query, so its mean is NaN. Pass empty=0.0 or 1.0 to count "
        "such queries."
    )
    with pytest.warns(DataWarning, match=f"^{re.escape(message)}$") as caught:
        assert isnan(NDCG(k=5).mean([0, 0], [1.0, 2.0]))
    assert caught[0].filename == __file__
    with pytest.warns(DataWarning, match=r"^mine is undefined on every query"):
        assert isnan(mean_of_queries(np.array([np.nan, np.nan]), "mine"))
    with pytest.warns(DataWarning):
        assert isnan(NDCG().mean([], [], Groups(np.array([0]))))


def test_the_mean_ignores_nan_and_sums_exactly() -> None:
    values = np.array([1e16, 1.0, np.nan, -1e16, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mean_of_queries(values, "x") == 2 / 4


def test_queries_without_documents_are_undefined() -> None:
    groups = Groups(np.array([0, 0, 2, 2]))
    for metric in (*NO_RELEVANT, *NO_PAIR):
        values = metric.per_query([0.0, 1.0], [1.0, 2.0], groups)
        assert np.isnan(values[[0, 2]]).all()
        assert not isnan(values[1])


# ---- labels ----


@pytest.mark.parametrize(
    "metric", [NDCG(), DCG(), NDCG(gain="linear"), DCG(gain="linear")], ids=str
)
def test_negative_labels_have_no_gain(metric: Metric) -> None:
    highest = 1000 if getattr(metric, "gain", "") == "exp2" else "1e+300"
    message = f"{metric.name} needs labels from 0 to {highest}, but row 1 has -1. Shift or scale"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        metric.per_query([0, -1, 2], [1.0, 2.0, 3.0])


def test_labels_too_large_for_their_gain_are_refused() -> None:
    message = (
        "ndcg needs labels from 0 to 1000, but row 2 has 1001. Shift or scale the labels, or pass "
        "gain='linear'."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        NDCG().per_query([0, 1, 1001], [1.0, 2.0, 3.0])
    message = "dcg needs labels from 0 to 1e+300, but row 0 has 1e+301. Shift or scale the labels."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        DCG(gain="linear").per_query([1e301], [1.0])
    assert value(NDCG(gain="linear"), [1e300] * 3, [1.0, 2.0, 3.0]) == 1.0
    assert value(NDCG(), [1000.0] * 3, [1.0, 2.0, 3.0]) == 1.0


def test_err_refuses_labels_outside_its_grades() -> None:
    message = (
        "err with max_grade=4 needs labels from 0 to 4, but row 1 has 5. Pass max_grade, the "
        "highest label possible."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        ERR().per_query([0, 5], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"^err with max_grade=1\.5 needs labels from 0 to 1\.5"):
        ERR(max_grade=1.5).per_query([0, 2], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"^err with max_grade=4 needs .* but row 0 has -0.5"):
        ERR().per_query([-0.5, 0], [1.0, 2.0])
    assert value(ERR(max_grade=5), [0, 5], [1.0, 2.0]) == 31 / 32


def test_binary_and_pairwise_metrics_take_negative_labels() -> None:
    y, scores = [-1, 1, -2], [3.0, 2.0, 1.0]
    assert value(AP(), y, scores) == 1 / 2
    assert value(AP(threshold=-1), y, scores) == 1.0
    assert value(PairwiseError(), y, scores) == 1 / 3
    assert value(DominationError(), y, scores) == 1 / 2


def test_fractional_labels_have_fractional_gains() -> None:
    best = (2**1.5 - 1) / L2 + (2**0.5 - 1) / L3
    gained = (2**0.5 - 1) / L2 + (2**1.5 - 1) / L3
    assert value(NDCG(), [0.5, 1.5], [2.0, 1.0]) == pytest.approx(gained / best, abs=1e-15)


# ---- constructors and text ----


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            NDCG,
            {"k": 0},
            "k of NDCG must be a positive integer below 2^31 or None, but is 0.",
        ),
        (
            AP,
            {"k": 2**31},
            "k of AP must be a positive integer below 2^31 or None, but is 2147483648.",
        ),
        (
            RR,
            {"k": 1.5},
            "k of RR must be a positive integer below 2^31 or None, but is 1.5.",
        ),
        (
            RR,
            {"k": True},
            "k of RR must be a positive integer below 2^31 or None, but is True.",
        ),
        (
            NDCG,
            {"gain": "exp"},
            "gain of NDCG must be one of 'exp2', 'linear', but is 'exp'.",
        ),
        (
            DCG,
            {"discount": "log"},
            "discount of DCG must be one of 'log2', 'letor', but is 'log'.",
        ),
        (
            NDCG,
            {"short": "skip"},
            "short of NDCG must be one of 'keep', 'zero', but is 'skip'.",
        ),
        (
            ERR,
            {"ties": "random"},
            "ties of ERR must be one of 'average', 'order', 'worst', 'best', but is 'random'.",
        ),
        (
            AP,
            {"denominator": "documents"},
            "denominator of AP must be one of 'relevant', 'cutoff', but is 'documents'.",
        ),
        (
            Precision,
            {"denominator": "relevant"},
            "denominator of Precision must be one of 'cutoff', 'documents', but is 'relevant'.",
        ),
        (
            KendallTau,
            {"variant": "c"},
            "variant of KendallTau must be one of 'a', 'b', but is 'c'.",
        ),
        (
            AP,
            {"empty": "zero"},
            "empty of AP must be 'skip' or a number, but is 'zero'.",
        ),
        (
            AP,
            {"empty": float("nan")},
            "empty of AP must be 'skip' or a number, but is nan.",
        ),
        (AP, {"empty": True}, "empty of AP must be 'skip' or a number, but is True."),
        (RBP, {"p": 1.0}, "p of RBP must lie between 0 and 1, but is 1.0."),
        (RBP, {"p": 0}, "p of RBP must lie between 0 and 1, but is 0."),
        (
            AP,
            {"threshold": float("inf")},
            "threshold of AP must be a number, but is inf.",
        ),
        (
            ERR,
            {"max_grade": "4"},
            "max_grade of ERR must be a number, but is '4'.",
        ),
    ],
)
def test_wrong_conventions_are_refused(
    kind: type[Metric], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        kind(**options)


NAMES = (
    "alpha_ndcg, ap, bpref, dcg, dominated_error, domination_error, err, err_ia, "
    "exposure_disparity, f1, hit_rate, judged, kendall_tau, ndcg, pairwise_error, precision, "
    "r_precision, rank_accuracy, rank_loss, rbp, recall, rr, unique_ndcg"
)
FORM = "a metric must look like 'ndcg@10', 'ap(threshold=2)' or 'lightgbm:ndcg@5', but is "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope", f"there is no metric 'nope'. There are {NAMES}."),
        ("ndcg@5-", f"there is no metric 'ndcg-'. There are {NAMES}. Did you mean 'ndcg'?"),
        ("", f"{FORM}''."),
        ("ndcg@", f"{FORM}'ndcg@'."),
        ("ndcg@five", f"{FORM}'ndcg@five'."),
        ("ndcg(k=5", f"{FORM}'ndcg(k=5'."),
        ("ndcg@5 @6", f"{FORM}'ndcg@5 @6'."),
        ("a:b:c", f"{FORM}'a:b:c'."),
        ("ndcg@0", "k of NDCG must be a positive integer below 2^31 or None, but is 0."),
        ("ndcg@-3", "k of NDCG must be a positive integer below 2^31 or None, but is -3."),
        (
            "ndcg@99999999999999999999",
            "k of NDCG must be a positive integer below 2^31 or None, but is 99999999999999999999.",
        ),
        (
            "ndcg(cut=5)",
            "ndcg has no option 'cut'. It has k, gain, discount, ties, empty, short.",
        ),
        ("pairwise_error@5", "pairwise_error has no option 'k'. It has empty."),
        ("rank_loss(k=5)", "rank_loss has no option 'k'. It has none."),
        ("ndcg(k)", "options must look like name=value, but 'ndcg(k)' has 'k'."),
        ("ndcg@5(k=3)", "k must be given once, but 'ndcg@5(k=3)' has it twice."),
        (
            "ap(threshold=2,threshold=3)",
            "threshold must be given once, but 'ap(threshold=2,threshold=3)' has it twice.",
        ),
        ("ap(threshold=x)", "threshold of AP must be a number, but is 'x'."),
        ("ap(threshold=1e999)", "threshold of AP must be a number, but is inf."),
        (
            "ranklib:ndcg",
            "there is no preset 'ranklib'. There are catboost, letor, lightgbm, ndeval, ranx, "
            "sklearn, trec, xgboost.",
        ),
        ("lightgbm:rr", "preset 'lightgbm' has no 'rr'. It has ndcg, map."),
    ],
)
def test_text_that_is_no_metric_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse(text)


@pytest.mark.parametrize("what", [5, None, ["ndcg"]])
def test_what_is_neither_text_nor_metric_is_refused(what: Any) -> None:
    message = (
        "a metric must be text, a Metric, such as NDCG(k=10), or a function of labels and scores, "
        f"but is {what!r}."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        parse(what)


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("ndcg@10", NDCG(k=10)),
        (" NDCG@10 ", NDCG(k=10)),
        ("ndcg(k=10)", NDCG(k=10)),
        ("ndcg(k=None)", NDCG()),
        ("map", AP()),
        ("MRR@10", RR(k=10)),
        ("p@5", Precision(k=5)),
        ("success@1", HitRate(k=1)),
        ("ap( threshold = 2 , ties = worst )", AP(threshold=2, ties="worst")),
        ("ap(threshold=2,)", AP(threshold=2)),
        ("ap(empty=0)", AP(empty=0.0)),
        ("rbp@7(p=0.95)", RBP(p=0.95, k=7)),
        ("err(max_grade=2.5)", ERR(max_grade=2.5)),
        ("LightGBM:NDCG@5", NDCG(k=5, ties="order", empty=1.0)),
    ],
)
def test_text_is_read(text: str, metric: Metric) -> None:
    assert parse(text) == metric
    assert parse(metric) is metric
    assert parse(str(metric)) == metric


def test_text_names_what_differs_from_the_defaults() -> None:
    assert str(NDCG()) == "ndcg"
    assert str(NDCG(k=5, gain="linear", empty=0.0)) == "ndcg@5(gain=linear,empty=0.0)"
    assert str(RBP(p=0.5, k=3)) == "rbp@3(p=0.5)"


def test_direction() -> None:
    lower = {PairwiseError, DominationError, DominatedError, RankLoss}
    for metric in (*NO_RELEVANT, *NO_PAIR, DCG(), RankLoss(), RankAccuracy()):
        assert metric.higher_is_better == (type(metric) not in lower)


def test_a_metric_without_a_ranking_rule_is_abstract() -> None:
    with pytest.raises(NotImplementedError):
        Metric().from_ranking(RankedLabels([1.0], [1.0]))


# ---- input ----


def test_groups_must_fit() -> None:
    with pytest.raises(ValueError, match=r"^groups must cover the 2 rows of y, but cover 3\.$"):
        NDCG().per_query([1, 0], [1.0, 2.0], Groups.one_query(3))
    with pytest.raises(ValueError, match=r"^scores must have 2 values, one per row, but has 3\.$"):
        NDCG().per_query([1, 0], [1.0, 2.0, 3.0])


def test_scores_of_any_number_type_rank() -> None:
    for scores in ([3, 2, 1], np.array([3, 2, 1], dtype=np.float32), np.array([3, 2, 1])[::1]):
        assert value(RR(), [0, 1, 0], scores) == 1 / 2
    assert value(RR(), np.array([0, 9, 1, 9, 0])[::2], np.array([3, 9, 2, 9, 1])[::2]) == 1 / 2


def test_numpy_conventions_work() -> None:
    options: dict[str, Any] = {"k": np.int64(2), "empty": np.float64(0.0)}
    metric = NDCG(**options)
    assert metric == NDCG(k=2, empty=0.0)
    assert parse(str(metric)) == metric
    assert value(metric, [1, 0], [1.0, 2.0]) == pytest.approx((G1 / L3) / (G1 / L2))


# ---- other people's code ----


def random_data(seed: int, levels: int = 5) -> tuple[Any, Any, Groups]:
    rng = np.random.default_rng(seed)
    groups = Groups(np.append(0, np.cumsum(rng.integers(2, 40, 60))))
    y = rng.integers(0, levels, groups.n_rows).astype(np.float64)
    return y, np.round(rng.normal(size=groups.n_rows), 1), groups


@pytest.mark.parametrize("k", [None, 1, 5])
def test_ndcg_equals_scikit_learn(k: int | None) -> None:
    y, scores, groups = random_data(0)
    ours = NDCG(k=k, gain="linear", empty=0.0).per_query(y, scores, groups)
    theirs = [ndcg_score([y[q]], [scores[q]], k=k) for q in groups]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)
    ours = DCG(k=k).per_query(y, scores, groups)
    theirs = [dcg_score([2 ** y[q] - 1], [scores[q]], k=k) for q in groups]
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)


@pytest.mark.filterwarnings("ignore:An input array is constant")
@pytest.mark.parametrize("levels", [2, 5])
def test_kendalls_tau_equals_scipy(levels: int) -> None:
    y, scores, groups = random_data(1, levels)
    theirs = [kendalltau(y[q], scores[q]).statistic for q in groups]
    ours = KendallTau().per_query(y, scores, groups)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)


def test_binary_metrics_equal_scikit_learn() -> None:
    y, scores, groups = random_data(2, 2)
    mixed = [q for q in groups if 0 < y[q].sum() < len(y[q])]
    auc = [roc_auc_score(y[q], scores[q]) for q in mixed]
    error = [value(PairwiseError(), y[q], scores[q]) for q in mixed]
    np.testing.assert_allclose(error, 1 - np.array(auc), rtol=0, atol=1e-13)
    # scikit-learn takes ties as one step, so compare without them.
    scores = np.random.default_rng(3).permutation(len(y)) / 7
    theirs = [average_precision_score(y[q], scores[q]) for q in mixed]
    ours = [value(AP(), y[q], scores[q]) for q in mixed]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)
