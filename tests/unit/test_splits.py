"""Parts by query."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwright.data import Groups
from rankwright.data.splits import fold_queries, shuffled_queries, split_queries


def groups_of(n_queries: int) -> Groups:
    return Groups(np.arange(n_queries + 1))


@given(st.integers(1, 40), st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 9))
def test_every_query_falls_into_exactly_one_part(n: int, weights: list[int], seed: int) -> None:
    shares = [weight / sum(weights) for weight in weights]
    if n < len(shares):
        return
    parts = split_queries(groups_of(n), shares, seed)
    assert len(parts) == len(shares)
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    for part in parts:
        assert len(part) >= 1
        assert (np.diff(part) > 0).all()


@given(st.integers(20, 200), st.floats(0.1, 0.9))
def test_parts_have_their_shares_up_to_rounding(n: int, share: float) -> None:
    first, second = split_queries(groups_of(n), (share, 1 - share), 0)
    assert abs(len(first) - share * n) <= 0.5 + 1e-9
    assert len(first) + len(second) == n


def test_a_tiny_share_still_gets_a_query() -> None:
    sizes = [len(part) for part in split_queries(groups_of(4), (0.998, 0.001, 0.001), 0)]
    assert sizes == [2, 1, 1]
    sizes = [len(part) for part in split_queries(groups_of(4), (0.001, 0.001, 0.998), 0)]
    assert sizes == [1, 1, 2]


@given(st.integers(2, 40), st.integers(2, 8))
def test_folds_are_as_equal_as_can_be(n: int, n_folds: int) -> None:
    if n < n_folds:
        return
    folds = fold_queries(groups_of(n), n_folds, 3)
    sizes = [len(fold) for fold in folds]
    assert len(sizes) == n_folds
    assert max(sizes) - min(sizes) <= 1
    assert sorted(np.concatenate(folds).tolist()) == list(range(n))


def test_seeds_give_different_and_repeatable_orders() -> None:
    groups = groups_of(50)
    orders = [shuffled_queries(groups, seed).tolist() for seed in (0, 1, -1, 2**40)]
    assert len({tuple(order) for order in orders}) == 4
    assert shuffled_queries(groups, 1).tolist() == orders[1]
    assert shuffled_queries(groups, int(np.int64(1))).tolist() == orders[1]
    assert all(sorted(order) == list(range(50)) for order in orders)


def test_the_split_of_known_ids_never_changes() -> None:
    # Pinned: a published split must stay what it was.
    groups = Groups(np.arange(9), np.array([1, 2, 3, 4, 5, 6, 7, 8]))
    parts = split_queries(groups, (0.5, 0.25, 0.25), 0)
    assert [part.tolist() for part in parts] == [[0, 2, 3, 7], [4, 5], [1, 6]]


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ((0.5, 0.4), "shares must add up to 1, but (0.5, 0.4) add up to 0.9."),
        ((), "shares must be positive numbers such as (0.6, 0.2, 0.2), but are ()."),
        ((1.5, -0.5), "shares must be positive numbers such as (0.6, 0.2, 0.2), but are"),
        ((1.0, 0.0), "shares must be positive numbers such as (0.6, 0.2, 0.2), but are"),
        ((float("nan"), 0.5), "shares must be positive numbers such as (0.6, 0.2, 0.2), but are"),
        (1.0, "shares must be positive numbers such as (0.6, 0.2, 0.2), but are 1.0."),
        ((0.25, 0.25, 0.25, 0.25), "4 parts need as many queries, but there are 3."),
    ],
)
def test_wrong_shares_are_refused(shares: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        split_queries(groups_of(3), shares, 0)


@pytest.mark.parametrize("n_folds", [1, 0, -2, 2.0, True, "3", None])
def test_wrong_numbers_of_folds_are_refused(n_folds: Any) -> None:
    message = f"n_folds must be an integer of at least 2, but is {n_folds!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        fold_queries(groups_of(5), n_folds, 0)


def test_a_number_of_folds_may_come_from_numpy() -> None:
    assert len(fold_queries(groups_of(5), int(np.int64(5)), 0)) == 5
    n_folds: Any = np.int64(5)
    assert len(fold_queries(groups_of(5), n_folds, 0)) == 5


@pytest.mark.parametrize("seed", [None, 1.0, True, "0"])
def test_seeds_must_be_integers(seed: Any) -> None:
    message = f"random_state must be an integer, but is {seed!r}."
    with pytest.raises(TypeError, match=re.escape(message)):
        shuffled_queries(groups_of(3), seed)
