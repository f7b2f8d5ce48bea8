"""Forests score as LightGBM does, bit for bit."""

from __future__ import annotations

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import lightgbm
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwright import _kernels
from rankwright.trees.forest import ZERO, Forest, ForestScorer, cut
from tests.reference import forest as twin
from tests.reference.forest import K, Shape

SETS = _kernels.instruction_sets()
every_set = pytest.mark.parametrize("instructions", SETS)


def made(trees: list[Any], n_features: int) -> tuple[Forest, lightgbm.Booster]:
    text = twin.text_of(trees, n_features)
    return Forest.from_text(text, n_features), lightgbm.Booster(model_str=text)


def probes(rng: np.random.Generator, shape: Shape, n_rows: int) -> np.ndarray[Any, Any]:
    """Rows of values where decisions change: thresholds and their neighbours, zeros, NaN."""
    t = shape.values.astype(np.float64)
    near = np.concatenate([t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf)])
    floats = t.astype(np.float32)
    near32 = [
        floats,
        np.nextafter(floats, np.float32(-np.inf)),
        np.nextafter(floats, np.float32(9)),
    ]
    special = [np.nan, 0.0, -0.0, K, -K, K / 3, -K / 3, 2 * K, -2 * K, np.inf, -np.inf]
    special += [-0.5, 1.0, 2.5, 31.0, 32.0, 69.0, 70.0, 3e9, -3e9, 1e300]
    pool = np.concatenate([near, *near32, special])
    X = rng.choice(pool, size=(n_rows, shape.n_features))
    return np.where(rng.random(X.shape) < 0.2, rng.normal(size=X.shape), X)


def same_bits(a: Any, b: Any) -> None:
    np.testing.assert_array_equal(np.asarray(a).view(np.int64), np.asarray(b).view(np.int64))


def check_all(trees: list[Any], shape: Shape, X: np.ndarray[Any, Any]) -> None:
    forest, booster = made(trees, shape.n_features)
    with np.errstate(over="ignore"):
        inputs = [X, X.astype(np.float32)]
    for matrix in inputs:
        expected = booster.predict(matrix, raw_score=True)
        same_bits(expected[:3], [twin.score(trees, row) for row in matrix[:3]])
        sparse = sp.csr_array(np.where(np.abs(matrix) <= K, matrix.dtype.type(0), matrix))
        for instructions in SETS:
            scorer = ForestScorer(forest, instructions)
            same_bits(scorer.scores(matrix, threads=1), expected)
            same_bits(scorer.scores(sparse, threads=2), expected)


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(1, 40),
    st.integers(1, 6),
    st.integers(0, 2),
    st.integers(1, 150),
)
def test_random_forests(
    seed: int, n_trees: int, n_leaves: int, n_features: int, n_categories: int, n_rows: int
) -> None:
    rng = np.random.default_rng(seed)
    shape = Shape(n_features, n_leaves, rng.random(), n_categories=n_categories)
    trees = [twin.random_tree(rng, shape) for _ in range(n_trees)]
    check_all(trees, shape, probes(rng, shape, n_rows))


@pytest.mark.parametrize("n_leaves", [1, 2, 255, 256, 257, 508, 509, 1000])
@pytest.mark.parametrize("chain", [0.0, 1.0])
def test_any_number_of_leaves(n_leaves: int, chain: float) -> None:
    rng = np.random.default_rng(n_leaves)
    shape = Shape(3, n_leaves, chain, np.round(rng.normal(size=2000), 2))
    trees = [twin.random_tree(rng, shape) for _ in range(2)]
    check_all([*trees, 0.25, *trees], shape, rng.normal(size=(200, 3)).round(2))


def test_more_thresholds_than_a_byte_counts() -> None:
    rng = np.random.default_rng(1)
    shape = Shape(2, 60, values=rng.normal(size=3000))
    trees = [twin.random_tree(rng, shape) for _ in range(40)]
    assert len({node.threshold for tree in trees for node in splits(tree)}) > 1500
    check_all(trees, shape, rng.choice(shape.values, size=(300, 2)))


def splits(tree: Any) -> list[twin.Split]:
    if not isinstance(tree, twin.Split):
        return []
    return [tree, *splits(tree.left), *splits(tree.right)]


@every_set
def test_a_score_depends_on_its_row_alone(instructions: str) -> None:
    rng = np.random.default_rng(2)
    shape = Shape(5, 31)
    forest, _ = made([twin.random_tree(rng, shape) for _ in range(30)], 5)
    scorer = ForestScorer(forest, instructions)
    X = probes(rng, shape, 1500)
    expected = scorer.scores(X, threads=1)
    for n in (1, 7, 8, 9, 63, 64, 65, 72, 73, 127, 128, 129, 511, 512, 513, 1500):
        for threads in (1, 3):
            same_bits(scorer.scores(X[:n].copy(), threads=threads), expected[:n])
            same_bits(scorer.scores(X[-n:].copy(), threads=threads), expected[-n:])


@every_set
def test_the_first_trees_and_all_stages(instructions: str) -> None:
    rng = np.random.default_rng(3)
    shape = Shape(4, 300, values=rng.normal(size=500))
    forest, booster = made([twin.random_tree(rng, shape) for _ in range(9)], 4)
    scorer, X = ForestScorer(forest, instructions), rng.normal(size=(150, 4))
    stages = list(scorer.staged(X))
    assert len(stages) == 9
    for n, stage in enumerate(stages, start=1):
        same_bits(stage, booster.predict(X, raw_score=True, num_iteration=n))
        same_bits(scorer.scores(X, n, threads=1), stage)
    assert not scorer.scores(X, 0, threads=1).any()


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 400), st.integers(1, 150))
def test_the_best_k_are_those_of_all_scores(seed: int, n_trees: int, n_rows: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    shape = Shape(3, 8, values=rng.normal(size=30))
    trees = [twin.random_tree(rng, shape) for _ in range(n_trees)]
    forest, _ = made(trees[: n_trees // 2] + trees, 3)  # the first ones weigh twice
    scorer = ForestScorer(forest)
    X = rng.choice(rng.normal(size=12), size=(n_rows, 3))  # many are equal
    cuts = np.sort(rng.integers(0, n_rows + 1, size=2))
    indptr = np.array([0, *cuts, n_rows])
    for used in (None, n_trees):
        full = scorer.scores(X, used, threads=1)
        found = scorer.top(X, k, indptr, used, threads=2)
        for begin, end in itertools.pairwise(indptr):
            best = np.argsort(-full[begin:end], kind="stable")[:k] + begin
            expected = np.full(end - begin, -np.inf)
            expected[best - begin] = full[best]
            same_bits(found[begin:end], expected)


def test_documents_that_cannot_win_stop_early() -> None:
    """The first tree decides; a wrong sum of what is to come would let others in, or too few."""
    first = twin.Split(0, 0.5, twin.NONE, False, -100.0, 100.0)
    rest = [twin.Split(1, 0.0, twin.NONE, False, -0.5, 0.5)] * 99
    forest, _ = made([first, *rest], 2)
    scorer = ForestScorer(forest)
    X = np.random.default_rng(0).normal(size=(1000, 2))
    full = scorer.scores(X, threads=1)
    best = np.argsort(-full, kind="stable")[:10]
    found = scorer.top(X, 10, threads=1)
    assert np.flatnonzero(np.isfinite(found)).tolist() == sorted(best.tolist())
    same_bits(found[best], full[best])


def test_documents_that_can_still_draw_go_on() -> None:
    """The first row needs all leaves to come, and their rounding, to be as good as the second."""
    steps = [0.1] * 16
    starts = np.random.default_rng(0).uniform(0, 1000, 1000).tolist()
    start, best = next((a, b) for a in starts if a < (b := sum(steps, start=a)) - sum(steps))
    second = twin.Split(0, 1.5, twin.NONE, False, start, best)
    first = twin.Split(0, 0.5, twin.NONE, False, -1e6, second)
    idle = [twin.Split(1, 0.5, twin.NONE, False, 0.0, 0.0)] * 15
    rest = [twin.Split(1, 0.5, twin.NONE, False, 0.0, step) for step in steps]
    forest, _ = made([first, *idle, *rest], 2)
    X = np.zeros((200, 2))
    X[:2] = [[1, 1], [2, 0]]
    found = ForestScorer(forest).top(X, 1, threads=1)
    assert np.flatnonzero(np.isfinite(found)).tolist() == [0]
    assert found[0] == best


def test_many_callers() -> None:
    rng = np.random.default_rng(5)
    shape = Shape(4, 20)
    forest, _ = made([twin.random_tree(rng, shape) for _ in range(20)], 4)
    scorer, X = ForestScorer(forest), probes(rng, shape, 700)
    expected = scorer.scores(X, threads=1)
    with ThreadPoolExecutor(100) as pool:
        for found in pool.map(lambda _: scorer.scores(X, threads=2), range(200)):
            same_bits(found, expected)


def test_a_pickle_scores_the_same() -> None:
    rng = np.random.default_rng(6)
    shape = Shape(4, 20, n_categories=1)
    forest, _ = made([twin.random_tree(rng, shape) for _ in range(3)], 4)
    scorer, X = ForestScorer(forest), probes(rng, shape, 50)
    again = pickle.loads(pickle.dumps(scorer))
    same_bits(again.scores(X, threads=1), scorer.scores(X, threads=1))
    assert repr(forest) == "Forest(3 trees, 60 leaves, 4 features)"


@pytest.mark.parametrize("n_trees", [-1, 3, 2.0, True, "1"])
def test_trees_that_are_not_there(n_trees: Any) -> None:
    forest, _ = made([1.0, 2.0], 1)
    with pytest.raises((ValueError, TypeError), match="n_trees must be"):
        ForestScorer(forest).scores(np.zeros((1, 1)), n_trees, threads=1)


def test_instructions_that_are_not_there() -> None:
    forest, _ = made([1.0], 1)
    assert SETS[-1] == "portable"
    with pytest.raises(ValueError, match="no such instructions"):
        ForestScorer(forest, "mmx")


def check_cut(t: float, dtype: Any) -> None:
    """Check that it is the largest number that goes left."""

    def left(x: Any) -> bool:
        return twin.Split(0, t, twin.NONE, False, 0.0, 0.0).goes_left(float(x))

    found = cut(t, dtype)[()]
    assert found.dtype == dtype
    assert left(found)
    with np.errstate(over="ignore"):
        above = np.nextafter(found, dtype(np.inf))
    assert above == found or not left(above)


@given(st.floats(allow_nan=False), st.sampled_from([np.float32, np.float64]))
def test_cuts(t: float, dtype: Any) -> None:
    check_cut(t, dtype)


@pytest.mark.parametrize("t", [0.0, -0.0, ZERO, -ZERO, ZERO / 2, -ZERO / 2, np.inf, 1e300, -1e300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cuts_at_the_edges(t: float, dtype: Any) -> None:
    for near in (t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf)):
        check_cut(near, dtype)
