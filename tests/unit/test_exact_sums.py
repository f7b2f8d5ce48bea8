"""Numbers on a grid add up exactly, whatever the order."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwright import _kernels
from rankwright.data import Groups
from rankwright.losses import XENDCG

NONE = np.empty(0)


def round_to_grid(values: Any, weights: Any, n_threads: int) -> Any:
    """Round numbers to their own grid."""
    largest = _kernels.largest_weighted(values, weights, n_threads)
    return _kernels.round_to_grid(values, weights, largest, len(values), n_threads)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=60),
    st.integers(-40, 40),
    st.randoms(use_true_random=False),
)
def test_sums_are_exact(values: list[float], exponent: int, random: Random) -> None:
    given = np.array(values) * 2.0**-60 * 2.0**exponent
    rounded = round_to_grid(given, NONE, 1).astype(np.float64)
    exact = sum(map(Fraction, rounded.tolist()), Fraction(0))
    shuffled = rounded.tolist()
    random.shuffle(shuffled)
    total = 0.0
    for value in shuffled:
        total += value
    assert Fraction(total) == exact


def test_sums_of_a_million_of_any_size_are_exact() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=1_000_000) * np.exp(rng.normal(0, 8, 1_000_000))
    rounded = round_to_grid(values, NONE, 2).astype(np.float64)
    sums = {float(np.cumsum(rounded[rng.permutation(len(values))])[-1]) for _ in range(5)}
    assert len(sums) == 1
    plain = values.astype(np.float32).astype(np.float64)
    assert len({float(np.cumsum(plain[rng.permutation(len(plain))])[-1]) for _ in range(5)}) > 1


@pytest.mark.parametrize("digits", [3, 6, 12, 16])
def test_many_large_values_leave_room_for_a_few_tiny_ones(digits: int) -> None:
    # As many as `digits` bits can count, nearly all as large as can be and of one sign: the sum
    # needs every bit that the grid leaves. Tiny values fill the bits at the other end.
    n = 2**digits - 1
    rng = np.random.default_rng(digits)
    values = np.full(n, 1 - 2.0**-24)
    tiny = rng.choice(n, max(n // 20, 2), replace=False)
    values[tiny] = np.ldexp(
        rng.uniform(0.5, 1, len(tiny)), digits - rng.integers(44, 60, len(tiny))
    )
    rounded = round_to_grid(values, NONE, 1).astype(np.float64)
    exact = sum(map(Fraction, rounded.tolist()), Fraction(0))
    assert exact > (n - len(tiny)) * (1 - Fraction(1, 2**23))
    assert np.count_nonzero(rounded[tiny]) > 0
    for order in (np.argsort(rounded), np.argsort(-rounded), rng.permutation(n)):
        assert Fraction(float(np.cumsum(rounded[order])[-1])) == exact


def test_hardly_anything_is_lost() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=10_000)
    rounded = round_to_grid(values, NONE, 1)
    np.testing.assert_allclose(rounded, values, rtol=2**-24, atol=2**-38)


def test_weights_multiply_and_threads_change_nothing() -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=50_000), rng.uniform(0, 3, 50_000)
    one = round_to_grid(values, weights, 1)
    np.testing.assert_array_equal(one, round_to_grid(values, weights, 3))
    np.testing.assert_array_equal(one, round_to_grid(values * weights, NONE, 1))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
def test_what_is_not_a_float_is_refused(bad: float) -> None:
    assert np.isnan(_kernels.largest_weighted(np.array([1.0, bad]), NONE, 1))
    with pytest.raises(ValueError, match="largest and count must be finite"):
        _kernels.round_to_grid(np.array([1.0]), NONE, abs(bad), 1, 1)


def test_parts_of_the_numbers_come_to_the_grid_of_all() -> None:
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=40_000) * 1e3, rng.uniform(0, 3, 40_000)
    largest = max(
        _kernels.largest_weighted(part, NONE, 1) for part in np.split(values, [100, 17_000])
    )
    assert largest == _kernels.largest_weighted(values, NONE, 1) == np.abs(values).max()
    of_all = _kernels.round_to_grid(values, weights, 3 * largest, len(values), 1)
    parts = [
        _kernels.round_to_grid(values[rows], weights[rows], 3 * largest, len(values), 1)
        for rows in (slice(0, 100), slice(100, 17_000), slice(17_000, None))
    ]
    np.testing.assert_array_equal(of_all, np.concatenate(parts))


def test_zeros_stay_zeros() -> None:
    np.testing.assert_array_equal(round_to_grid(np.zeros(5), NONE, 1), np.zeros(5))
    assert round_to_grid(NONE, NONE, 1).shape == (0,)


def test_gamma_in_the_kernel_is_gamma_in_numpy() -> None:
    """The targets are made from gamma in C++; ``draw_gamma`` says in Python what it was."""
    rng = np.random.default_rng(0)
    groups = Groups(np.array([0, 3, 3, 40, 100]), np.array(["a", "b", "7", "d"]))
    y = rng.integers(0, 4, 100).astype(float)
    for draw in (0, 1, 77):
        loss = XENDCG(random_state=5)
        raw = np.exp2(y) - loss.draw_gamma(y, groups, draw)
        for rows in groups:
            found = loss.prepare(y, groups, draw=draw).phi[rows]
            np.testing.assert_allclose(found, raw[rows] / raw[rows].sum(), rtol=1e-14)
