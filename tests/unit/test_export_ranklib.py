"""RankLib's texts, and numbers as Java reads them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.exports.interpreters.ranklib import ranklib
from rankwright.exports.interpreters.reading import float32_of
from tests.contracts.exported_models import FILLED, LABELS
from tests.contracts.test_export_bits import ranker
from tests.reference.forest import NAN, NONE, Split
from tests.unit.test_export_plugins import refused

ENSEMBLE = """## LambdaMART

<ensemble>
<tree id="1" weight="1.0">
<split><feature> 2 </feature><threshold> 0.5 </threshold><split pos="left"><output> 0.25 </output>\
</split><split pos="right"><output> -0.5 </output></split></split>
</tree>
</ensemble>
"""


def test_trees_are_an_ensemble(tmp_path: Path) -> None:
    model = ranker([Split(1, 0.5, NONE, False, 0.25, -0.5)])
    certificate = rw.export(model, "ranklib", tmp_path / "m.txt")
    assert (tmp_path / "m.txt").read_text() == ENSEMBLE
    assert (certificate.missing, certificate.shift) == ("zero", 0.0)


def test_missing_values_are_zeros() -> None:
    X = np.array([[9, np.nan], [9, 0.5], [9, np.nextafter(np.float32(0.5), 1)]], dtype=np.float32)
    scores = ranklib(ENSEMBLE)(X).scores
    assert scores is not None
    assert scores.tolist() == [0.25, 0.25, -0.5]


def test_splits_that_follow_missing_values_are_refused(tmp_path: Path) -> None:
    model = ranker([Split(1, np.inf, NAN, False, 0.25, 0.5), Split(2, 1.0, NAN, True, 1.0, 2.0)])
    assert refused(model, "ranklib") == "missing"
    rw.export(model, "ranklib", tmp_path / "m.txt", present=["f2"])
    assert "<threshold> Infinity </threshold>" in (tmp_path / "m.txt").read_text()


@pytest.mark.parametrize("levels", [1000, 1001])
def test_trees_may_be_a_thousand_levels_deep(levels: int, tmp_path: Path) -> None:
    node: Any = 0.0
    for i in range(levels):
        node = Split(i % 4, i + 0.5, NONE, True, node, i + 1.0)
    model = ranker([node])
    if levels == 1001:
        assert refused(model, "ranklib") == "deep"
        return
    rw.export(model, "ranklib", tmp_path / "m.txt", probes=500)
    X = np.random.default_rng(0).integers(-3, 1100, (200, 4)).astype(np.float32)
    scores = ranklib((tmp_path / "m.txt").read_text())(X).scores
    np.testing.assert_array_equal(scores, rw.load(tmp_path / "m.grid.rw").predict(X))


def test_weights_of_trees_are_taken_in_doubles() -> None:
    text = ENSEMBLE.replace('weight="1.0"', 'weight="0.1"').replace("0.25", "0.3")
    scores = ranklib(text)(np.zeros((1, 2), dtype=np.float32)).scores
    product = float(np.float32(0.3)) * float(np.float32(0.1))
    assert scores is not None
    assert float(scores[0]) == float(np.float32(product))


def test_linear_sums_are_doubles_in_order(tmp_path: Path) -> None:
    model = rw.WidrowHoff(fit_intercept=True).fit(FILLED, LABELS)
    rw.export(model, "ranklib", tmp_path / "m.txt")
    judge = ranklib((tmp_path / "m.txt").read_text())
    expected = []
    for row in FILLED[:200].tolist():
        score = float(model.intercept_)
        for w, x in zip(model.coef_.tolist(), row, strict=True):
            score = score + w * x
        expected.append(float(np.float32(score)))
    np.testing.assert_array_equal(judge(FILLED[:200]).scores, expected)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("## LambdaMART", "## RankNet", "a model of RankLib"),
        ("</ensemble>", "", "a model of RankLib"),
        ("<output> 0.25", "<value> 0.25", "a model of RankLib"),
        ("<feature> 2 </feature><threshold> 0.5 </threshold>", "", "a split must be of feature"),
        ("</feature><threshold>", "</feature> and <threshold>", "no text between"),
        ("<split><feature>", "1<split><feature>", "one split, and nothing before it"),
    ],
)
def test_other_texts_are_told(old: str, new: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        ranklib(ENSEMBLE.replace(old, new, 1))


@given(st.floats(-(2.0**126), 2.0**126, width=32), st.integers(-3, 3))
def test_decimals_are_the_nearest_float32(number: float, away: int) -> None:
    near = np.nextafter(np.float32(number), np.float32(np.inf))
    middle = (Fraction(number) + Fraction(float(near))) / 2
    exact = middle + away * (Fraction(float(near)) - Fraction(number)) / 10**20
    # Digits enough for what is meant: the powers of two here are finite decimals.
    text = f"{exact.numerator * 10**220 // exact.denominator}e-220"
    exact = Fraction(Decimal(text))
    below, above = abs(exact - Fraction(number)), abs(Fraction(float(near)) - exact)
    even = np.float32(number).view(np.int32) % 2 == 0
    expected = number if below < above or (below == above and even) else float(near)
    assert float(float32_of(text)) == expected
