"""Spaces of parameters, and the points in them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwright.comparison import Choice, Range
from rankwright.comparison.space import Space, draw_parameters, parse_dimension, parse_space


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 50), st.integers(0, 50))
def test_points_stay_inside(u: float, low: int, width: int) -> None:
    for log in (False, True):
        whole = Range(low, low + width, log=log, integer=True).at(u)
        assert type(whole) is int
        assert low <= whole <= low + width
        assert low <= Range(float(low), float(low + width), log=log).at(u) <= low + width
    assert Choice(("a", "b", "c")).at(u) in ("a", "b", "c")


def test_the_ends_of_integers_are_reached() -> None:
    values = [Range(1, 3, integer=True).at(i / 300) for i in range(300)]
    assert [values.count(v) for v in (1, 2, 3)] == [100, 100, 100]


def test_trials_cover_the_space_evenly() -> None:
    space = {"a": Range(0.0, 1.0), "b": Range(0.0, 1.0)}
    points = [draw_parameters(space, t, 3) for t in range(64)]
    for name in space:
        # At most three points in each sixteenth of the axis beyond the even four.
        cells = [int(16 * min(p[name], 0.999)) for p in points]
        assert all(1 <= cells.count(c) <= 7 for c in range(16))
    squares = {(int(4 * p["a"]), int(4 * p["b"])) for p in points}
    assert len(squares) == 16


def test_a_trial_depends_on_its_number_and_the_seed_only() -> None:
    space: Space = {"a": Range(1e-3, 1.0, log=True), "b": Choice((1, 2, 3))}
    assert draw_parameters(space, 5, 1) == draw_parameters(space, 5, 1)
    assert draw_parameters(space, 5, 1) != draw_parameters(space, 5, 2)
    assert draw_parameters({}, 0) == {}


def test_spaces_are_read_from_tables_and_texts() -> None:
    assert parse_space({"a": [1, 2], "b": {"low": 1, "high": 9, "integer": True}}) == {
        "a": Choice((1, 2)),
        "b": Range(1, 9, integer=True),
    }
    assert parse_space({"a": Choice((1,))}) == {"a": Choice((1,))}
    assert parse_dimension("n=1..30:log") == ("n", Range(1, 30, log=True, integer=True))
    assert parse_dimension("n=1..30:float") == ("n", Range(1, 30))
    assert parse_dimension("n=0.5..2") == ("n", Range(0.5, 2))
    assert parse_dimension("n=1,x,None") == ("n", Choice((1, "x", None)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Choice(()), "a choice needs at least one value."),
        (lambda: Range(2, 1), "a range must go from a low to a high number, but is 2 to 1."),
        (lambda: Range(0, 1, log=True), "a range by logarithm must be above 0, but begins at 0."),
        (
            lambda: Range(0.5, 2, integer=True),
            "a range of integers must have whole ends, but has 0.5 and 2.",
        ),
        (
            lambda: parse_space({"a": "x"}),
            "what to search for a must be a list of values, or low and high",
        ),
        (lambda: parse_space({"a": {"low": 1}}), "what to search for a must be a list of values"),
        (lambda: parse_dimension("a"), "what to search must be NAME=LOW..HIGH"),
        (lambda: parse_dimension("a=1..x"), "a range must be LOW..HIGH"),
        (lambda: parse_dimension("a=1..2:sqrt"), "a range must be LOW..HIGH"),
    ],
)
def test_what_cannot_be_searched_is_said(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        call()
