"""Tests of differences, paired by query."""

from __future__ import annotations

import math
import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rankwright.evaluation import compare_pairs
from rankwright.evaluation.randomization import sign_tests
from rankwright.evaluation.significance import (
    detectable_difference,
    holm,
    holm_levels,
    t_test,
)

differences = st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=1, max_size=10).map(
    np.array
)


def enumerated(d: Any) -> float:
    """Return the p-value by the definition: every sign pattern, one by one."""
    patterns = [abs(sum(s * x for s, x in zip(signs, d, strict=True))) for signs in
                product((1, -1), repeat=len(d))]  # fmt: skip
    return float(np.mean([total >= abs(sum(d)) - 1e-9 for total in patterns]))


@given(differences)
@settings(max_examples=60, deadline=None)
def test_few_queries_are_tested_exactly(d: Any) -> None:
    assert sign_tests([d])[0].p_value == pytest.approx(enumerated(d), abs=1e-12)


def test_many_queries_agree_with_scipy() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random(60), rng.random(60) * 0.93
    theirs = stats.permutation_test(
        (a, b), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples",
        n_resamples=20_000, vectorized=True, rng=np.random.default_rng(0),
    )  # fmt: skip
    ours = sign_tests([a - b], n_resamples=20_000)[0].p_value
    assert ours == pytest.approx(theirs.pvalue, abs=4 * math.sqrt(0.25 / 20_000))
    assert t_test(a - b) == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-10)


@pytest.mark.parametrize("n_resamples", [1, 99, 10_000])
def test_p_is_never_zero(n_resamples: int) -> None:
    # Of 2^40 sign patterns only two are as extreme as the one seen: the sample has none of them.
    (test,) = sign_tests([np.ones(40)], n_resamples=n_resamples)
    assert test.p_value == 1 / (n_resamples + 1)


def test_under_the_null_hypothesis_p_values_are_uniform() -> None:
    rng = np.random.default_rng(0)
    tests = sign_tests([rng.normal(size=40) for _ in range(400)], n_resamples=999)
    p = np.array([test.p_value for test in tests])
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert p.min() >= 1 / 1000


@given(differences, st.sampled_from([0.02, 0.05, 0.2, 0.5]), st.integers(0, 1))
@settings(max_examples=150, deadline=None)
def test_the_interval_holds_what_the_test_does_not_refute(d: Any, alpha: float, few: int) -> None:
    # By the definition: a shift is inside if the test of what is left without it has p >= alpha.
    (test,) = sign_tests([d], n_resamples=100 if few else 10_000)
    low, high = test.interval(alpha)
    assert low <= d.mean() + 1e-12
    assert high >= d.mean() - 1e-12
    assert (low <= 0 <= high) == (test.p_value >= alpha)
    for end, outwards in ((low, -1.0), (high, 1.0)):
        if test.exact and math.isfinite(end):
            inwards = min(1e-6, (high - low) / 2)  # of like differences there is but a point
            assert enumerated(d - end + outwards * inwards) >= alpha
            assert enumerated(d - end - outwards * 1e-6) < alpha


def test_the_interval_of_many_queries_is_that_of_the_normal_law() -> None:
    d = np.random.default_rng(0).normal(0.02, 0.3, 2000)
    low, high = sign_tests([d])[0].interval(0.05)
    half = 1.96 * d.std(ddof=1) / math.sqrt(len(d))
    assert [low, high] == pytest.approx([d.mean() - half, d.mean() + half], abs=0.05 * half)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    tests = sign_tests([rng.normal(0.3, 1, 25) for _ in range(600)], n_resamples=999)
    inside = [low <= 0.3 <= high for low, high in (test.interval(0.1) for test in tests)]
    assert np.mean(inside) == pytest.approx(0.9, abs=4 * math.sqrt(0.09 / 600))


@given(st.lists(st.floats(0, 0.2).map(lambda p: round(p, 3)), min_size=1, max_size=8))
def test_levels_say_what_holm_says(p: list[float]) -> None:
    assert ((holm(p) < 0.05) == (np.array(p) < holm_levels(p))).all()


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_intervals_and_p_values_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = rng.random(40)
    values = {f"m{i}": base + rng.normal(0.03 * i, 0.2, 40) for i in range(5)}
    families = [[("m4", "m0"), ("m4", "m1"), ("m4", "m3")], [("m4", "m2")]]
    pairs = compare_pairs(values, families=families, n_resamples=500)
    assert [(p.a, p.b) for p in pairs] == [pair for family in families for pair in family]
    assert all(p.significant != (p.low <= 0 <= p.high) for p in pairs)
    assert pairs[3].p_holm == pairs[3].p_randomization  # a family of one


@pytest.mark.parametrize(
    ("p", "levels"),
    [
        ([0.025, 0.04], [0.025, 0.025]),  # a p-value at its level is not below it
        ([0.04, 0.03], [0.025, 0.025]),
        ([0.024, 0.04], [0.025, 0.05]),
    ],
)
def test_where_holm_stops_the_level_stays(p: list[float], levels: list[float]) -> None:
    assert holm_levels(p).tolist() == levels


def test_all_patterns_are_tried_if_they_are_as_many_as_asked_for() -> None:
    d = np.arange(1.0, 5.0)
    assert sign_tests([d], n_resamples=16)[0].exact
    assert not sign_tests([d], n_resamples=15)[0].exact


def test_what_a_pair_of_a_family_could_show() -> None:
    rng = np.random.default_rng(2)
    values = {"a": rng.random(50), "b": rng.random(50), "c": rng.random(50)}
    pairs = compare_pairs(values, families=[[("a", "b"), ("a", "c")], [("b", "c")]])
    for pair, level in zip(pairs, (0.025, 0.025, 0.05), strict=True):
        d = values[pair.a] - values[pair.b]
        spread = d.std(ddof=1)
        assert pair.effect_size == pytest.approx(d.mean() / spread)
        assert pair.detectable == pytest.approx(detectable_difference(spread, 50, level=level))


def test_better_is_what_the_metric_calls_so() -> None:
    values = {"a": [0.1, 0.2], "b": [0.5, 0.5]}
    assert not compare_pairs(values)[0].better
    assert compare_pairs(values, higher_is_better=False)[0].better


def test_t_test_without_spread() -> None:
    assert t_test(np.zeros(3)) == 1.0
    assert t_test(np.ones(3)) == 0.0
    assert math.isnan(t_test(np.ones(1)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_steps_down(p: list[float]) -> None:
    corrected = holm(p)
    order = np.argsort(p, kind="stable")
    # By the definition: the k-th smallest of m is multiplied by m - k + 1, and none may fall
    # below one before it.
    expected, highest = {}, 0.0
    for rank, i in enumerate(order.tolist()):
        highest = max(highest, (len(p) - rank) * p[i])
        expected[i] = min(1.0, highest)
    assert corrected.tolist() == [expected[i] for i in range(len(p))]
    assert (corrected >= p).all()


def test_the_detectable_difference_has_the_power_it_claims() -> None:
    spread, n = 0.2, 50
    shift = detectable_difference(spread, n) * math.sqrt(n) / spread
    critical = stats.t.ppf(0.975, n - 1)
    power = stats.nct.sf(critical, n - 1, shift) + stats.nct.cdf(-critical, n - 1, shift)
    assert power == pytest.approx(0.8, abs=1e-6)
    assert math.isnan(detectable_difference(spread, 1))
    assert detectable_difference(0.0, 10) == 0.0


def test_a_comparison_counts_and_measures() -> None:
    a, b = np.array([0.5, 0.6, 0.7, math.nan]), np.array([0.4, 0.6, 0.8, math.nan])
    (pair,) = compare_pairs({"a": a, "b": b})
    assert (pair.n_queries, pair.wins, pair.ties, pair.losses) == (3, 1, 1, 1)
    assert pair.difference == pytest.approx((0.1 + 0 - 0.1) / 3)
    assert pair.p_randomization == pair.p_holm == 1.0
    assert not pair.significant
    b[1] += 0.1
    (reverse,) = compare_pairs({"a": a, "b": b}, higher_is_better=False)
    assert (reverse.wins, reverse.ties, reverse.losses) == (2, 0, 1)


def test_all_pairs_are_corrected_together() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(80)
    values = {"best": base + 0.1, "good": base + rng.normal(0.05, 0.05, 80), "bad": base}
    pairs = compare_pairs(values)
    assert [(p.a, p.b) for p in pairs] == [("best", "good"), ("best", "bad"), ("good", "bad")]
    assert [p.p_holm for p in pairs] == holm([p.p_randomization for p in pairs]).tolist()
    assert all(p.significant for p in pairs)
    assert pairs[1].effect_size > 1e6 or math.isnan(pairs[1].effect_size)
    assert "significant" in str(pairs[0])


def test_the_order_of_queries_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    values = {"a": rng.random(70), "b": rng.random(70), "c": rng.random(70)}
    shuffle = rng.permutation(70)
    again = compare_pairs({name: column[shuffle] for name, column in values.items()})
    for one, other in zip(compare_pairs(values), again, strict=True):
        assert one.p_randomization == other.p_randomization
        assert (one.low, one.high) == (other.low, other.high)


def test_equal_rankers_do_not_differ() -> None:
    values = np.linspace(0, 1, 20)
    (pair,) = compare_pairs({"a": values, "b": values})
    assert (pair.p_randomization, pair.p_t, pair.ties) == (1.0, 1.0, 20)
    assert math.isnan(pair.effect_size)
    assert pair.to_dict()["effect_size"] is None


def test_queries_that_are_all_undefined_give_nothing() -> None:
    (pair,) = compare_pairs({"a": [math.nan], "b": [math.nan]})
    assert pair.n_queries == 0
    assert math.isnan(pair.difference)
    assert pair.p_randomization == 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"a": [1.0]}, "per_query must have vectors of one length for at least two rankers, but"),
        ({"a": [1.0], "b": [1.0, 2.0]}, "per_query must have vectors of one length"),
        ({"a": [[1.0]], "b": [[1.0]]}, "per_query must have vectors of one length"),
    ],
)
def test_what_cannot_be_compared_is_said(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        compare_pairs(values)
    with pytest.raises(ValueError, match=r"^n_resamples must be a positive integer, but is 0\.$"):
        compare_pairs({"a": [1.0], "b": [0.5]}, n_resamples=0)
    with pytest.raises(ValueError, match=r"^level and power must lie in \(0, 1\)"):
        detectable_difference(0.1, 10, power=1.0)
