"""Random forests in every target: what the engine's rule makes of the file is the grid model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.exports.exporting import prepared
from rankwright.exports.grid import UNITS, place
from rankwright.exports.judging import first_difference
from rankwright.exports.probes import probe_blocks
from rankwright.exports.reference import Reference, grid_model
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import NUMBERS, plain_trees
from rankwright.exports.targets.registry import TARGETS, target_named
from rankwright.exports.targets.target import Options, Target
from rankwright.trees.forest import Forest, ForestScorer
from tests.reference import forest as twin
from tests.reference.forest import NAN, NONE, ZERO, K, Shape, Split

N_FEATURES = 4


def ranker(trees: list[Any]) -> rw.BoostedRanker:
    """Return a model of these trees."""
    text = twin.text_of(trees, N_FEATURES)
    model = rw.BoostedRanker(n_jobs=1)
    fitted = {"model_text_": text, "n_iter_": len(trees), "n_features_in_": N_FEATURES}
    model.__dict__.update(fitted, best_score_=None, evals_result_={}, stop_="")
    return model


def held(node: Any, missing: int | None) -> Any:
    """Return a tree that targets can hold: zeros with their neighbours, missing values as told."""
    if not isinstance(node, Split):
        return node
    left, right = held(node.left, missing), held(node.right, missing)
    node = replace(node, left=left, right=right)
    if missing is not None:
        return replace(node, missing_type=missing)
    return replace(node, default_left=node.threshold >= 0) if node.missing_type == ZERO else node


def rows(rng: np.random.Generator, number: str) -> np.ndarray[Any, Any]:
    """Return rows of values where decisions change, all finite or missing."""
    dtype = NUMBERS[number]
    t = Shape().values[np.isfinite(Shape().values)].astype(dtype)
    near = [t, np.nextafter(t, dtype(9e30)), np.nextafter(t, dtype(-9e30))]
    special = np.array([0.0, -0.0, K, -K, 2 * K, np.nan, np.nan, 1e30, 0.3, -7.0], dtype)
    return rng.choice(np.concatenate([*near, special]), size=(200, N_FEATURES))


def allowed(target: Target, trees: list[Any]) -> tuple[rw.BoostedRanker, Any]:
    """Return a model and its rules; with missing values that are zeros, if it must be so."""
    for missing in (None, NONE):
        model = ranker([held(tree, missing) for tree in trees])
        try:
            return model, prepared(model, target, Options(), None, None, frozenset())[0]
        except Refusal as refusal:
            if missing is not None or refusal.code not in ("missing", "leaves"):
                raise
    raise AssertionError


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_trees=st.integers(1, 9), n_leaves=st.integers(1, 20))
def test_interpreters_give_the_grid_models_bits(
    name: str, seed: int, n_trees: int, n_leaves: int
) -> None:
    rng, target = np.random.default_rng(seed), target_named(name)
    shape = Shape(N_FEATURES, n_leaves, rng.random())
    trees = [twin.random_tree(rng, shape) for _ in range(n_trees)]
    model, rules = allowed(target, trees)
    written = target.write(rules, Options())
    judge = target.interpreter(written.content, rules, Options())
    reference = Reference(grid_model(model, rules, target), rules)
    X = rows(rng, target.number)
    for gap in written.gaps:
        j = rules.names.index(gap.feature)
        X[(X[:, j] > gap.above) & (X[:, j] <= gap.up_to), j] = 0
    expected = reference(X)
    assert first_difference(expected, judge(X)) is None
    # Leaves were moved, and that is all.
    assert rules.trees is not None
    placed = place(plain_trees(rules.trees.forest), target.leaves, target.shifted)
    moved = np.asarray(expected.scores) - placed.trees.shift - model.predict(X)
    assert np.abs(moved).max() <= placed.bound + 1e-12


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize(
    "threshold", [-1e300, -3.4028234663852886e38, 3.4028234663852886e38, 1e300]
)
def test_thresholds_at_the_ends_of_float32(name: str, threshold: float) -> None:
    target = target_named(name)
    model, rules = allowed(target, [Split(0, threshold, NONE, True, 0.25, 0.5)])
    judge = target.interpreter(target.write(rules, Options()).content, rules, Options())
    X = np.zeros((3, N_FEATURES), dtype=NUMBERS[target.number])
    X[:, 0] = -3.4028234663852886e38, 0.0, 3.4028234663852886e38
    sides = [0.25 if x <= threshold else 0.5 for x in X[:, 0].tolist()]
    assert np.asarray(judge(X).scores).tolist() == sides
    assert first_difference(Reference(model, rules)(X), judge(X)) is None


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("n_leaves", [2, 3, 9])
def test_what_float32_loses_is_all_that_is_allowed(shifted: bool, n_leaves: int) -> None:
    """Of 1 and many 2^-24 each is lost: the bound is reached, and nothing is to spare."""
    small = [2.0**-24] * (n_leaves - 1)
    # A first leaf that is -1 as well makes the shift 1, and then all leaves are added to it.
    first: Any = Split(0, 0.0, NONE, True, -1.0, -1.0) if shifted else 1.0
    model = ranker([first, *small])
    trees = plain_trees(Forest.from_text(model.model_text_, N_FEATURES))
    placed = place(trees, "nearest", shifted)
    n = n_leaves if shifted else n_leaves - 1  # additions that round
    sizes = 1 + len(small) * 2.0**-24 + placed.trees.shift
    assert placed.trees.shift == (float(np.float32(1 - len(small) * 2.0**-24)) if shifted else 0)
    assert n * 2.0**-24 * sizes <= placed.rounding <= 1.00001 * n * 2.0**-24 * sizes
    assert placed.bound == placed.rounding  # the leaves are float32 as they are
    if not shifted:
        total = np.float32(1)
        for leaf in small:
            total += np.float32(leaf)
        lost = math.fsum([1.0, *small]) - float(total)
        assert 0.99999 * placed.rounding <= lost <= placed.rounding


def placed_on_grid(*leaves: float) -> Any:
    """Return leaves on the grid, each a tree."""
    trees = Forest.from_text(ranker([*leaves]).model_text_, N_FEATURES)
    return place(plain_trees(trees), "grid", False)


def test_the_grid_ends_where_float32_does() -> None:
    half = 2.0**126  # 2^23 units of the coarsest grid
    assert placed_on_grid(half, half - 2.0**103).g == 2.0**103
    with pytest.raises(Refusal) as refused:
        placed_on_grid(half, half + 2.0**103)
    assert refused.value.code == "leaves"
    # Below the least normal number an engine may have nothing.
    assert placed_on_grid(2.0**-120, 2.0**-126).trees.leaf.tolist() == [2.0**-120, 2.0**-126]
    fine = placed_on_grid(2.0**-126, 2.0**-140)
    assert (fine.g, fine.trees.leaf.tolist()) == (2.0**-126, [2.0**-126, 0.0])


def test_no_leaf_is_a_zero_with_a_sign() -> None:
    assert repr(placed_on_grid(1.0, -1e-12).trees.leaf.tolist()) == "[1.0, 0.0]"


def test_a_shift_is_rounded_as_leaves_are() -> None:
    model = ranker([-1.0, -(2.0**-25)])
    trees = plain_trees(Forest.from_text(model.model_text_, N_FEATURES))
    assert place(trees, "nearest", True).trees.shift == 1.0
    assert place(trees, "own", True).trees.shift == 1.0 + 2.0**-25


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.integers(-30, 30), shifted=st.booleans())
def test_sums_on_the_grid_are_exact_in_any_order(seed: int, scale: int, shifted: bool) -> None:
    rng = np.random.default_rng(seed)
    trees = [twin.random_tree(rng, Shape(N_FEATURES, 6)) for _ in range(40)]
    forest = Forest.from_text(
        twin.text_of([held(tree, NAN) for tree in trees], N_FEATURES), N_FEATURES
    )
    scaled = replace(forest, leaf_value=forest.leaf_value * 10.0**scale)
    placed = place(plain_trees(scaled), "grid", shifted)
    assert placed.g is not None
    units = np.append(placed.trees.leaf, placed.trees.shift) / placed.g
    assert (units == np.rint(units)).all()
    assert placed.moved <= placed.g / 2
    assert math.fsum(placed.trees.largest()) + abs(placed.trees.shift) <= UNITS * placed.g
    low = math.fsum(placed.trees.smallest())
    assert not shifted or low + placed.trees.shift == max(low, 0.0)
    chosen = [
        rng.choice(placed.trees.leaf[slice(*scaled.leaf_begin[k : k + 2])]) for k in range(40)
    ]
    chosen.append(placed.trees.shift)
    exact = math.fsum(chosen)
    assert abs(exact) <= UNITS * placed.g
    for _ in range(3):
        rng.shuffle(chosen)
        total = np.float32(0)
        for leaf in chosen:
            total = total + np.float32(leaf)
        assert float(total) == exact


@pytest.mark.parametrize("number", sorted(NUMBERS))
def test_probes_visit_both_sides_of_every_split_that_can_be_reached(number: str) -> None:
    rng = np.random.default_rng(3)
    trees = [held(twin.random_tree(rng, Shape(N_FEATURES, 12)), None) for _ in range(30)]
    model = ranker(trees)
    rules = prepared(model, target_named("elasticsearch"), Options(), None, None, frozenset())[0]
    blocks = list(probe_blocks(rules, number, None, None))
    X = np.concatenate(blocks)
    assert len(np.unique(X.view(np.uint8).reshape(len(X), -1), axis=0)) == len(X)
    for tree in trees:
        asked = _sides(tree, X)
        every = _sides(tree, _many_values(number))
        assert every <= asked
    few = np.concatenate(list(probe_blocks(rules, number, None, 100)))
    assert 50 < len(few) <= 100


def _sides(tree: Any, X: np.ndarray[Any, Any]) -> set[tuple[int, bool]]:
    """Return which nodes were left to which side, by rows."""
    found, stack = set(), [(tree, np.ones(len(X), dtype=bool))]
    while stack:
        node, here = stack.pop()
        if not isinstance(node, Split):
            continue
        left = np.array([node.goes_left(float(x)) for x in X[:, node.feature]])
        for side, child in ((True, node.left), (False, node.right)):
            rest = here & (left == side)
            if rest.any():
                found.add((id(node), side))
                stack.append((child, rest))
    return found


def _many_values(number: str) -> np.ndarray[Any, Any]:
    """Return many combinations of values that trees of :class:`Shape` can tell apart."""
    dtype = NUMBERS[number]
    t = np.sort(Shape().values[np.isfinite(Shape().values)]).astype(dtype)
    values = [np.nan, dtype(0), *t, *np.nextafter(t, dtype(9e30))]
    return np.random.default_rng(0).choice(np.array(values, dtype), size=(20_000, N_FEATURES))


def test_the_text_of_the_grid_model_is_lightgbms_too() -> None:
    import lightgbm

    rng = np.random.default_rng(4)
    trees = [held(twin.random_tree(rng, Shape(N_FEATURES, 15)), None) for _ in range(20)]
    model, target = ranker(trees), target_named("elasticsearch")
    rules = prepared(model, target, Options(), None, None, frozenset())[0]
    grid = grid_model(model, rules, target)
    X = rows(rng, "float32")
    theirs = lightgbm.Booster(model_str=grid.model_text_).predict(X, raw_score=True)
    np.testing.assert_array_equal(grid.predict(X), theirs)
    forest = Forest.from_text(grid.model_text_, N_FEATURES)
    np.testing.assert_array_equal(ForestScorer(forest).scores(X, threads=1), theirs)
