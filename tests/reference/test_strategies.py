"""The shared strategies keep their promises and reach the cases that matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from tests.strategies import MAX_SCORE, RankingData, ranking_data


@given(data=st.data())
@pytest.mark.parametrize("labels", ["grades", "floats", "large"])
@pytest.mark.parametrize("ties", [True, False])
def test_data_is_well_formed(labels: Any, *, ties: bool, data: st.DataObject) -> None:
    drawn = data.draw(ranking_data(max_queries=4, max_docs=5, labels=labels, ties=ties))
    sizes = np.diff(drawn.indptr)
    assert 1 <= sizes.size <= 4
    assert drawn.indptr[0] == 0
    assert drawn.indptr.dtype == drawn.qid.dtype == np.int64
    assert drawn.y.dtype == drawn.scores.dtype == np.float64
    assert sizes.min() >= 1
    assert sizes.max() <= 5
    assert drawn.indptr[-1] == drawn.y.size == drawn.scores.size == drawn.qid.size
    np.testing.assert_array_equal(np.bincount(drawn.qid), sizes)
    assert np.all(np.abs(drawn.scores) <= MAX_SCORE)
    top, steps = {"grades": (4, 1), "floats": (4, 4), "large": (40, 1)}[labels]
    assert np.all((drawn.y >= 0) & (drawn.y <= top))
    assert np.all(drawn.y * steps == np.round(drawn.y * steps))
    if not ties:
        pairs = list(zip(drawn.qid.tolist(), drawn.scores.tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize(
    "wanted",
    [
        lambda d: d.y.size > 2 and d.indptr.size == 2 and np.ptp(d.y) == 0 and d.y[0] > 0,
        lambda d: d.y.size > 2 and not d.y.any(),
        lambda d: d.indptr.size == 2 and d.y.size > 3 and np.ptp(d.scores) == 0,
        lambda d: np.abs(d.scores).max() > 1e4,
        lambda d: d.indptr.size > 3 and np.unique(np.diff(d.indptr)).size > 2,
    ],
    ids=["equal labels", "no gain", "all tied", "large scores", "ragged"],
)
def test_cases_are_reached(wanted: Callable[[RankingData], bool]) -> None:
    assert wanted(find(ranking_data(), wanted))


def test_smallest_example_is_one_document() -> None:
    smallest = find(ranking_data(), lambda _: True)
    assert smallest.y.tolist() == smallest.scores.tolist() == [0.0]
