"""The presets give the values of the real tools, run here and now."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankwright.data import Groups
from rankwright.metrics import Metric, parse
from tests.peers.make_golden import GOLDEN, SAMPLES, preset_keys, preset_text
from tests.peers.tools import TOOLS, ranx

# Warnings of the tools, such as numba's while it compiles ranx, are theirs.
pytestmark = pytest.mark.filterwarnings("ignore")

CASES = [
    pytest.param(kind, key, metric, id=f"{kind}-{key}")
    for kind in SAMPLES
    for key, metric in preset_keys(kind)
]


def compare(kind: str, key: str, metric: Metric, seed: int, longest: int) -> None:
    y, scores, indptr = SAMPLES[kind](seed, longest=longest)
    theirs = TOOLS[key](y, scores, indptr)
    ours = metric.per_query(y, scores, Groups(indptr))
    # scikit-learn refuses queries of one document.
    refused = np.isnan(theirs)
    assert (np.diff(indptr)[refused] == 1).all()
    assert not refused.all()
    np.testing.assert_allclose(ours[~refused], theirs[~refused], rtol=0, atol=1e-9)


@pytest.mark.parametrize(("kind", "key", "metric"), CASES)
def test_preset_equals_the_tool(kind: str, key: str, metric: Metric) -> None:
    for seed in range(2):
        compare(kind, key, metric, seed, longest=12)


# With more than 15 documents ranx's order of ties follows no rule.
@pytest.mark.parametrize(
    ("kind", "key", "metric"),
    [case for case in CASES if not str(case.values[1]).startswith("ranx")],
)
def test_preset_equals_the_tool_on_long_queries(kind: str, key: str, metric: Metric) -> None:
    compare(kind, key, metric, 2, longest=60)


def test_the_stored_values_are_of_the_same_metrics() -> None:
    stored = json.loads(GOLDEN.read_text(encoding="utf-8"))["samples"]
    for kind in SAMPLES:
        assert set(stored[kind]["values"]) == {preset_text(key) for key, _ in preset_keys(kind)}


def test_bpref_equals_that_of_ranx() -> None:
    # A query without both kinds of labels divides by 0 there, and takes others with it.
    rng = np.random.default_rng(0)
    indptr = np.append(0, np.cumsum(rng.integers(2, 13, 40))).astype(np.int64)
    y = rng.integers(0, 3, indptr[-1]).astype(np.float64)
    y[indptr[:-1]], y[indptr[1:] - 1] = 1, 0
    scores = rng.integers(-4, 5, indptr[-1]) / 8.0
    theirs = ranx(y, scores, indptr, metric="bpref")
    ours = parse("bpref(ties=order)").per_query(y, scores, Groups(indptr))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
