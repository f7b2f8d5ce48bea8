"""Contributions of features to a forest's scores: SHAP values by definition, and LightGBM's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright import _kernels
from rankwright.data import make_mslr_like
from rankwright.trees.forest import Forest, ForestScorer
from tests.contracts.test_forest import probes, same_bits
from tests.reference import contributions as twin
from tests.reference.forest import NAN, K, Shape, Split, random_tree

SETS = _kernels.instruction_sets()
TO_LIGHTGBM = 1e-9  # of the sum of a row's contributions


class Sample:
    """Random trees with random counts, as they are here, in LightGBM, and in the twin."""

    def __init__(self, rng: np.random.Generator, trees: list[Any], n_features: int) -> None:
        self.counted = [twin.counted(tree, lambda: int(rng.integers(1, 40))) for tree in trees]
        text = twin.counted_text(trees, self.counted, n_features)
        self.forest = Forest.from_text(text, n_features)
        self.booster = lightgbm.Booster(model_str=text)

    def lightgbms(self, X: Any) -> Any:
        found: Any = self.booster.predict(X, pred_contrib=True)
        return found.toarray() if sp.issparse(found) else found


def near(found: Any, expected: Any, tolerance: float) -> None:
    """Compare to a share of the sum of a row."""
    away = np.abs(found - expected).max(axis=-1, initial=0.0)
    assert (away <= tolerance * np.abs(expected).sum(axis=-1)).all(), away.max()


def check_lightgbms(sample: Sample, X: Any) -> None:
    with np.errstate(over="ignore"):
        inputs = [X, X.astype(np.float32)]
    for matrix in inputs:
        expected = sample.lightgbms(matrix)
        stored = sp.csr_array(np.where(np.abs(matrix) <= K, matrix.dtype.type(0), matrix))
        first, start = ForestScorer(sample.forest, SETS[0]).contributions(matrix, threads=1)
        near(np.column_stack([first, np.full(len(first), start)]), expected, TO_LIGHTGBM)
        for instructions in SETS:
            scorer = ForestScorer(sample.forest, instructions)
            same_bits(scorer.contributions(matrix, threads=2)[0], first)
            same_bits(scorer.contributions(stored, threads=1)[0], first)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 12), st.integers(1, 5))
def test_they_are_shapleys_values(seed: int, n_trees: int, n_leaves: int, n_features: int) -> None:
    rng = np.random.default_rng(seed)
    shape = Shape(n_features, n_leaves, rng.random(), n_categories=n_features // 3)
    sample = Sample(rng, [random_tree(rng, shape) for _ in range(n_trees)], n_features)
    X = probes(rng, shape, 3)
    found, start = ForestScorer(sample.forest).contributions(X, threads=1)
    for row, x in zip(found, X, strict=True):
        expected, mean = twin.by_definition(sample.counted, x)
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-13)
        assert start == pytest.approx(mean, rel=1e-12, abs=1e-14)


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
    st.integers(1, 40),
    st.integers(1, 9),
    st.integers(0, 2),
    st.integers(1, 130),
)
def test_they_are_lightgbms(
    seed: int, n_trees: int, n_leaves: int, n_features: int, n_categories: int, n_rows: int
) -> None:
    rng = np.random.default_rng(seed)
    shape = Shape(n_features, n_leaves, rng.random(), n_categories=n_categories)
    trees = [random_tree(rng, shape) for _ in range(n_trees)]
    check_lightgbms(Sample(rng, trees, n_features), probes(rng, shape, n_rows))


@pytest.mark.parametrize("n_leaves", [1, 2, 255, 257, 600])
def test_any_number_of_leaves(n_leaves: int) -> None:
    rng = np.random.default_rng(n_leaves)
    shape = Shape(12, n_leaves, values=rng.normal(size=900).round(2))
    trees = [random_tree(rng, shape) for _ in range(2)]
    check_lightgbms(Sample(rng, [0.5, *trees, -0.25], 12), rng.normal(size=(70, 12)).round(2))


def chain(rng: np.random.Generator, depth: int) -> Any:
    """Return a tree that asks for one feature after the other."""
    tree: Any = float(rng.normal())
    for feature in reversed(range(depth)):
        leaf = float(rng.normal())
        left, right = (tree, leaf) if rng.random() < 0.5 else (leaf, tree)
        tree = Split(feature, float(rng.normal()), NAN, bool(rng.integers(2)), left, right)
    return tree


def test_deep_trees_lose_no_digits() -> None:
    rng = np.random.default_rng(0)
    tree = chain(rng, 48)
    sample = Sample(rng, [tree], 48)
    X = rng.normal(size=(2, 48))
    X[1] = np.where(rng.random(48) < 0.2, np.nan, X[1])
    expected = np.array([twin.exactly(sample.counted[0], x) for x in X])
    found, _ = ForestScorer(sample.forest).contributions(X, threads=1)
    near(found, expected, 1e-15)


@pytest.mark.parametrize("depth", [*range(1, 12), 16, 17, 64, 65, 70])
def test_paths_of_any_length(depth: int) -> None:
    rng = np.random.default_rng(depth)
    tree: Any = 1.0
    for feature in rng.permutation(depth).tolist():
        tree = Split(feature, 0.0, NAN, True, tree, 0.0)
    sample = Sample(rng, [tree], depth)
    x = rng.choice([-1.0, 1.0], size=depth, p=[0.8, 0.2])
    found, _ = ForestScorer(sample.forest).contributions(x[None], threads=1)
    near(found, twin.exactly(sample.counted[0], x)[None], 1e-13)


def test_leaves_without_training_documents() -> None:
    rng = np.random.default_rng(4)
    tree = Split(
        0, 0.0, NAN, True, Split(1, 0.0, NAN, True, 1.0, 2.0), Split(2, 1.0, NAN, True, 3.0, 4.0)
    )
    counts = twin.counted(tree, iter([0, 5, 3, 0]).__next__)
    forest = Forest.from_text(twin.counted_text([tree], [counts], 3), 3)
    X = rng.normal(size=(20, 3))
    found, start = ForestScorer(forest).contributions(X, threads=1)
    np.testing.assert_allclose(found, [twin.by_definition([counts], x)[0] for x in X], atol=1e-15)
    assert start == pytest.approx((5 * 2 + 3 * 3) / 8)


def test_splits_without_training_documents() -> None:
    tree = Split(0, 0.0, NAN, True, Split(1, 0.0, NAN, True, 1.0, 2.0), 3.0)
    counts = twin.counted(tree, iter([9, 0, 0]).__next__)
    forest = Forest.from_text(
        twin.counted_text([0.5, tree], [twin.counted(0.5, int), counts], 2), 2
    )
    with pytest.raises(
        ValueError, match=r"^contributions need .*, but node 1 of tree 1 has none\.$"
    ):
        ForestScorer(forest).contributions(np.ones((1, 2)), threads=1)


@pytest.mark.parametrize("instructions", SETS)
def test_a_row_depends_on_itself_alone(instructions: str) -> None:
    rng = np.random.default_rng(2)
    shape = Shape(9, 31)
    sample = Sample(rng, [random_tree(rng, shape) for _ in range(5)], 9)
    scorer = ForestScorer(sample.forest, instructions)
    X = probes(rng, shape, 300)
    expected, start = scorer.contributions(X, threads=1)
    for n in (0, 1, 7, 8, 9, 63, 64, 65, 128, 300):
        for threads in (1, 3):
            same_bits(scorer.contributions(X[:n].copy(), threads=threads)[0], expected[:n])
            same_bits(
                scorer.contributions(X[300 - n :].copy(), threads=threads)[0], expected[300 - n :]
            )
    away = np.abs(expected.sum(axis=1) + start - scorer.scores(X, threads=1))
    assert away.max() < 1e-14 * 5 * 31


def test_features_that_no_tree_uses_add_nothing() -> None:
    rng = np.random.default_rng(3)
    tree = Split(2, 0.0, NAN, True, 1.0, 2.0)
    found, _ = ForestScorer(Sample(rng, [tree], 5).forest).contributions(np.ones((2, 5)), threads=1)
    assert (found != 0).tolist() == [[False, False, True, False, False]] * 2


def test_lightgbm_is_not_needed(tmp_path: Path) -> None:
    data = make_mslr_like(n_queries=10, n_features=5, mean_docs=20)
    ranker = rw.BoostedRanker(n_estimators=3, num_leaves=5).fit(data.X, data.y, data.qid)
    rw.save(ranker, tmp_path / "model.rw")
    np.save(tmp_path / "X.npy", data.X)
    np.save(tmp_path / "found.npy", ranker.contributions(data.X)[0])
    code = """
import sys
import numpy as np
import rankwright as rw
sys.modules["lightgbm"] = None
X = np.load("X.npy")
assert rw.load("model.rw").contributions(X)[0].tobytes() == np.load("found.npy").tobytes()
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
