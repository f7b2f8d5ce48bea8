"""A linear part and trees, added: what five targets make of it, and that the others refuse it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.exports import Refusal
from rankwright.exports.exporting import prepared
from rankwright.exports.grid import place
from rankwright.exports.judging import differences, first_difference
from rankwright.exports.probes import probe_blocks
from rankwright.exports.reference import Reference, grid_model
from rankwright.exports.rules import NUMBERS, Linear, plain_trees, rules_of
from rankwright.exports.targets.registry import TARGETS, target_named
from rankwright.exports.targets.target import Options
from rankwright.trees.forest import Forest
from tests.contracts.exported_sums import HOLDING, added, random_sum
from tests.contracts.test_export_bits import N_FEATURES, held, rows
from tests.reference import forest as twin
from tests.reference.forest import NAN, NONE, Split

pytestmark = pytest.mark.usefixtures("quick_engines")
OTHERS = sorted(set(TARGETS) - set(HOLDING))
STUMPS = [Split(0, 0.5, NAN, True, 0.25, -0.5), Split(1, -1.0, NONE, True, 1.0, 2.0)]


def judged_by(target: str, model: Any, X: Any, options: Options | None = None) -> Any:
    """Return what a target's interpreter reads from what is written."""
    found, options = target_named(target), options or Options()
    rules = prepared(model, found, options, None, None, frozenset())[0]
    content = found.write(rules, options).content
    return found.interpreter(content, rules, options)(X).scores


def plain_score(trees: list[Any], weights: Any, bias: float, fill: Any, x: Any) -> float:
    """Return the score by its definition: with few features, products are added in turn."""
    rest = 0.0
    for j in range(N_FEATURES):
        value = fill[j] if np.isnan(x[j]) else x[j]
        rest += float(weights[j]) * float(value)
    return twin.score(trees, x) + (rest + bias)


@pytest.mark.parametrize("name", HOLDING)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_interpreters_give_the_grid_models_bits(name: str, seed: int) -> None:
    rng, target = np.random.default_rng(seed), target_named(name)
    model, _ = random_sum(rng)
    rules = prepared(model, target, Options(), None, None, frozenset())[0]
    judge = target.interpreter(target.write(rules, Options()).content, rules, Options())
    X = rows(rng, target.number)
    if "linear_fill_" not in vars(model):
        X = np.nan_to_num(X)
    expected = Reference(grid_model(model, rules, target), rules)(X)
    assert first_difference(expected, judge(X)) is None
    # Leaves were moved, and that is all; the last addition rounds in both.
    assert rules.trees is not None
    placed = place(plain_trees(rules.trees.forest), target.leaves, target.shifted)
    ours = model.predict(X)
    room = placed.bound + 2.0**-52 * np.abs(ours) + 1e-12
    assert (np.abs(np.asarray(expected.scores) - ours) <= room).all()


@pytest.mark.parametrize("name", HOLDING)
@pytest.mark.parametrize("width", [1, 8, 9, 21])
def test_weights_of_any_number_are_summed_in_the_librarys_order(name: str, width: int) -> None:
    rng, target = np.random.default_rng(width), target_named(name)
    shape = twin.Shape(width, 6)
    trees = [held(twin.random_tree(rng, shape), None) for _ in range(3)]
    model = added(trees, rng.normal(size=width), 0.1, rng.normal(size=width))
    rules = prepared(model, target, Options(), None, None, frozenset())[0]
    X = (rng.normal(size=(200, width)) * 10.0 ** rng.integers(-3, 4, width)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    judge = target.interpreter(target.write(rules, Options()).content, rules, Options())
    rows_there = X.astype(NUMBERS[target.number])
    expected = Reference(grid_model(model, rules, target), rules)(rows_there)
    assert first_difference(expected, judge(rows_there)) is None


@pytest.mark.parametrize("name", ["c", "java"])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_own_leaves_give_the_score_by_its_definition(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, trees = random_sum(rng, fills=True)
    X = rows(rng, "float64")[:40]
    part = model.linear_coef_, model.linear_intercept_, model.linear_fill_
    expected = [plain_score(trees, *part, x) for x in X]
    np.testing.assert_array_equal(judged_by(name, model, X), expected)
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("name", HOLDING)
def test_the_score_by_hand(name: str) -> None:
    """Each part has its sign, its fill and its place: no two of them may be exchanged."""
    model = added(STUMPS, [2.0, -4.0, 0.0, 8.0], 16.0, [0.5, 32.0, 64.0, 128.0])
    X = np.array(
        [
            [0.0, 0.0, 0.0, 0.0],  # left, right
            [1.0, 0.0, 5.0, 0.0],  # right, right; the third has no weight
            [0.0, -2.0, 0.0, 1.0],  # left, left
            [np.nan, np.nan, np.nan, np.nan],  # left, and as 0: right
        ]
    )
    leaves = [0.25 + 2, -0.5 + 2, 0.25 + 1, 0.25 + 2]
    linear = [16.0, 16.0 + 2, 16.0 + 8 + 8, 16.0 + 2 * 0.5 - 4 * 32 + 8 * 128]
    assert judged_by(name, model, X.astype(NUMBERS[target_named(name).number])).tolist() == [
        a + b for a, b in zip(leaves, linear, strict=True)
    ]


@pytest.mark.parametrize("name", HOLDING)
@pytest.mark.parametrize("part", ["linear_coef_", "linear_intercept_", "linear_fill_", "trees"])
def test_every_part_is_in_the_file(name: str, part: str) -> None:
    """A part with another sign, or another number, is another file with other scores."""
    model = added(STUMPS, [2.0, -4.0, 0.0, 8.0], 16.0, [0.5, 32.0, 64.0, 128.0])
    X = np.array([[np.nan, 1.0, 2.0, 3.0]], dtype=NUMBERS[target_named(name).number])
    before = judged_by(name, model, X)[0]
    if part == "trees":
        other = [replace(STUMPS[0], left=-0.25), STUMPS[1]]
        model.model_text_ = twin.text_of(other, N_FEATURES)
    else:
        setattr(model, part, -vars(model)[part])
    assert judged_by(name, model, X)[0] == model.predict(X)[0] != before


@pytest.mark.parametrize("name", HOLDING)
def test_one_addition_in_the_end(name: str) -> None:
    """Trees are summed first: 1 is lost if it is added to a large weighted sum."""
    large = 2.0**53
    trees = [1.0, 1.0, Split(0, 0.5, NONE, True, 1.0, 1.0), 1.0]
    model = added(trees, [1.0, 0.0, 0.0, 0.0], 0.0, [0.0] * 4)
    X = np.array([[large, 0, 0, 0], [-large, 0, 0, 0]], NUMBERS[target_named(name).number])
    assert judged_by(name, model, X).tolist() == [large + 4, 4 - large]


@pytest.mark.parametrize("name", HOLDING)
def test_trees_of_one_leaf_are_added_too(name: str) -> None:
    model = added([0.5, 0.25], [1.0, 0.0, 0.0, 0.0], 2.0, None)
    X = np.array([[4.0, 0, 0, 0]], NUMBERS[target_named(name).number])
    assert judged_by(name, model, X).tolist() == [6.75]


@pytest.mark.parametrize("name", OTHERS)
def test_the_others_refuse_and_say_what_to_do(name: str, tmp_path: Path) -> None:
    model = added(STUMPS, [1.0, 2.0, 3.0, 4.0], 0.0, [0.0] * 4)
    with pytest.raises(Refusal) as refused:
        rw.export(model, name, tmp_path / "model.out")
    assert refused.value.code == "mixture"
    assert f"sum of a linear part and trees, which {name} cannot hold" in str(refused.value)
    assert "rankwright.distill(model, data)" in str(refused.value)
    assert all(other in str(refused.value) for other in HOLDING)


@pytest.mark.parametrize("name", ["solr", "elasticsearch", "onnx", "c"])
def test_without_a_tree_it_is_a_linear_model(name: str, tmp_path: Path) -> None:
    model = added([0.0], [1.5, -2.5, 0.0, 0.1], 0.0, None)
    assert rules_of(model).trees is None
    certificate = rw.export(model, name, tmp_path / "model.out")
    assert certificate.outcome == ("exact" if name in HOLDING else "bounded")
    assert certificate.size == "3 weights"
    assert rw.verify(tmp_path / "model.cert.json").passed


@pytest.mark.parametrize("name", HOLDING)
def test_probes_reach_both_parts(name: str) -> None:
    """Sums of probes are finite, and lack nothing that the linear part does not fill in."""
    number = target_named(name).number
    trees = [*STUMPS, Split(2, np.inf, NAN, False, 1.0, 2.0)]
    for fill in (None, np.arange(4.0)):
        model = added(trees, [1e300, -1e5, 1e8, 1e-3], 1.0, fill)
        X = np.concatenate(list(probe_blocks(rules_of(model), number, None, None)))
        assert np.isnan(X).any() == (fill is not None)
        assert np.isfinite(model.predict(X)).all()
        for j, border in ((0, 0.5), (1, -1.0)):
            assert {*(X[~np.isnan(X[:, j]), j] <= border)} == {False, True}


@pytest.mark.parametrize("name", HOLDING)
def test_leaves_that_are_rounded_alone_are_bounded(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    shape = twin.Shape(N_FEATURES, 6)
    trees = [held(twin.random_tree(rng, shape), None) for _ in range(30)]
    model = added(trees, rng.normal(size=4), 0.1, np.zeros(4))
    path, data = tmp_path / "model.out", rng.normal(size=(50, 4)).astype(np.float32)
    certificate = rw.export(model, name, path, data=data, leaves="nearest", probes=1000)
    assert certificate.outcome == "bounded"
    assert 0 < certificate.data["largest_change"] <= certificate.bound + 1e-14 < 1e-3


def test_a_tolerance_is_that_of_the_sum() -> None:
    """What is within a tolerance may be rounded apart by what is added to it, but no further."""
    from rankwright.exports.targets.target import Verdicts

    ours = Verdicts(np.array([1e16, 1e16, 0.0, 0.0]))
    theirs = Verdicts(np.array([1e16 + 2, 1e16 + 4, 1e-6, 2e-6]))
    assert differences(ours, theirs, 1e-6).tolist() == [1, 3]


def test_certificates_of_sums(tmp_path: Path) -> None:
    model, _ = random_sum(np.random.default_rng(5), fills=True)
    for name in HOLDING:
        path = tmp_path / f"to_{name}.out"
        certificate = rw.export(model, name, path, probes=500)
        assert certificate.outcome == "exact"
        assert certificate.size.endswith(" weights")
        assert " trees, " in certificate.size
        proved = rw.verify(tmp_path / f"to_{name}.cert.json")
        assert proved.passed
        grid = rw.load(tmp_path / f"to_{name}.grid.rw")
        np.testing.assert_array_equal(grid.linear_coef_, model.linear_coef_)
        assert np.abs(grid.predict(np.zeros((1, 4))) - model.predict(np.zeros((1, 4)))) <= (
            certificate.bound + 1e-12
        )


def test_the_form_in_between() -> None:
    model = added(STUMPS, [1.0, 0.0, -2.0, 0.0], 3.0, [1.0, 2.0, 3.0, 4.0])
    rules = rules_of(model)
    assert rules.trees is not None
    assert isinstance(rules.linear, Linear)
    assert rules.linear.weights.tolist() == [[1.0, 0.0, -2.0, 0.0]]
    assert rules.linear.bias.tolist() == [3.0]
    assert rules.linear.fill is not None
    assert rules.linear.fill.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert rules.used() == [0, 1, 2]
    assert rules.trees.n_trees == Forest.from_text(model.model_text_, N_FEATURES).n_trees == 2
