"""Probe rows: what they reach, how many there are, and that they can be made again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankwright.exports.judging import NamedJudge, differences, judged
from rankwright.exports.probes import probe_blocks
from rankwright.exports.reference import Reference, grid_model
from rankwright.exports.rules import Linear, Rules, rules_of
from rankwright.exports.targets.registry import target_named
from rankwright.exports.targets.target import Verdicts
from tests.contracts.exported_models import MODELS, ROWS
from tests.contracts.test_export_bits import ranker
from tests.reference.forest import NAN, Split


@pytest.fixture(scope="module")
def model() -> Any:
    return MODELS["one tree"]()


def probes(rules: Rules, **given: Any) -> Any:
    blocks = list(probe_blocks(rules, "float32", given.pop("data", None), given.pop("most", None)))
    assert not given
    return np.concatenate(blocks)


def leaves_of(rules: Rules, row: Any) -> set[int]:
    """Return the nodes on the way of a row, by the definition."""
    trees = rules.trees
    assert trees is not None
    forest, node, seen = trees.forest, 0, set()
    while node >= 0:
        seen.add(node)
        x = row[forest.feature[node]]
        left = trees.nan_left[node] if np.isnan(x) else x <= trees.cuts["float32"][node]
        node = int((forest.left if left else forest.right)[node])
    return seen


@pytest.mark.parametrize("data", [None, ROWS[:50]], ids=["alone", "with data"])
def test_every_split_is_reached_on_both_sides_of_its_threshold(model: Any, data: Any) -> None:
    rules = rules_of(model)
    assert rules.trees is not None
    rows = probes(rules, data=data)
    reached: dict[int, set[float]] = {}
    for row in rows:
        for node in leaves_of(rules, row):
            reached.setdefault(node, set()).add(float(row[rules.trees.forest.feature[node]]))
    cuts = rules.trees.cuts["float32"]
    assert set(reached) == set(range(len(cuts)))
    for node, cut in enumerate(cuts):
        beside = {float(cut), float(np.nextafter(cut, np.float32(np.inf)))}
        assert beside <= reached[node], node


@pytest.mark.parametrize("number", ["float32", "float64"])
def test_the_values_of_a_split(number: str) -> None:
    """Its threshold and what is beside it, zeros, what is read as 0, missing, and extremes."""
    kind = np.dtype(number).type
    rules = rules_of(ranker([Split(1, 0.1, NAN, True, 0.25, 0.5)]))
    assert rules.trees is not None
    c, most = kind(0.1), np.finfo(kind).max
    c = c if float(c) <= 0.1 else np.nextafter(c, kind(0))
    beside = [c, np.nextafter(c, kind(1)), np.nextafter(c, kind(0))]
    expected = [*beside, 0.0, -0.0, 1e-35, -1e-35, np.nan, most, -most]
    if number == "float64":  # LightGBM's 1e-35 is a float32
        expected[5:7] = float(np.float32(1e-35)), -float(np.float32(1e-35))
    for data in (None, np.array([[7, 3, 7, 7], [7, np.nan, 7, 7], [7, 5, 7, 7]], kind)):
        (*_, rows) = probe_blocks(rules, number, data, None)
        found = np.concatenate(list(probe_blocks(rules, number, data, None)))[:, 1]
        values = expected if data is None else [*expected, 3.0, 5.0]
        assert {x.tobytes() for x in found} == {kind(x).tobytes() for x in values}
        assert rows.dtype == kind


def test_a_row_on_the_border_is_moved_across_it() -> None:
    tree = Split(0, 1.0, NAN, True, 0.25, Split(1, 2.0, NAN, True, 0.5, 1.0))
    model = ranker([tree])
    rows = probes(rules_of(model), data=np.array([[1.0, 0.0, 0.0, 0.0]], np.float32))
    found = model.predict(rows[rows[:, 1] != 0])  # versions of the inner split
    assert {0.5, 1.0} <= {float(score) for score in found}


def test_linear_probes_have_zeros_ones_and_rows_that_lack_all() -> None:
    for fill in (None, np.ones(3)):
        linear = Linear(np.ones((1, 3)), np.zeros(1), fill)
        rows = probes(Rules("LinearRanker", ("a", "b", "c"), linear=linear))
        texts = {row.tobytes() for row in rows}
        wanted = [1.0, -0.0] if fill is None else [np.nan]
        assert {np.full(3, x, np.float32).tobytes() for x in wanted} <= texts
        assert np.isnan(rows).any() == (fill is not None)


def test_rows_are_not_repeated_and_at_most_so_many(model: Any) -> None:
    rules = rules_of(model)
    every = probes(rules, data=ROWS)
    assert len(np.unique(every.view(np.int32), axis=0)) == len(every)
    for most in (1, 2, 7, 100, len(every)):
        some = probes(rules, data=ROWS, most=most)
        assert len(some) <= most
        assert len(some) >= min(0.5 * most, 1)
        texts = {row.tobytes() for row in every}
        assert all(row.tobytes() in texts for row in some)
    given = {row.tobytes() for row in ROWS}
    some = probes(rules, data=ROWS, most=100)
    assert [row.tobytes() in given for row in some[:51]] == [True] * 50 + [False]


def test_no_row_lacks_what_is_always_there(model: Any) -> None:
    rules = rules_of(model)
    for present in (frozenset({"f4"}), frozenset({"f4", "f5"})):
        blocks = list(probe_blocks(rules, "float32", ROWS, None, present))
        places = [int(name[1:]) - 1 for name in present]
        assert not np.isnan(np.concatenate(blocks)[:, places]).any()


def test_the_grid_model_gives_the_same_probes(model: Any) -> None:
    """Though it has a tree more, of one leaf."""
    target = target_named("elasticsearch")
    from rankwright.exports.exporting import prepared
    from rankwright.exports.targets.target import Options

    rules, _, _ = prepared(model, target, Options(), None, None, frozenset())
    grid = rules_of(grid_model(model, rules, target))
    assert grid.trees is not None
    assert rules.trees is not None
    assert grid.trees.n_trees == rules.trees.n_trees + 1
    for data in (None, ROWS[:30]):
        assert probes(grid, data=data).tobytes() == probes(rules, data=data).tobytes()


def test_wide_rows_come_in_small_blocks() -> None:
    linear = Linear(np.ones((1, 300_000)), np.zeros(1))
    rules = Rules("LinearRanker", tuple(f"f{j}" for j in range(300_000)), linear=linear)
    sizes: list[int] = []

    def reference(X: Any) -> Verdicts:
        sizes.append(X.nbytes)
        return Verdicts(X[:, 0].astype(np.float64))

    blocks = (np.zeros((5, 300_000), dtype=np.float32) for _ in range(20))
    heard = judged([NamedJudge("itself", False, reference)], rules, reference, blocks)
    assert heard.n_rows == 100
    assert max(sizes) < 50e6


def test_what_was_judged_does_not_depend_on_blocks(model: Any) -> None:
    rules = rules_of(model)
    rows = probes(rules, data=ROWS)
    reference = Reference(model, rules)
    judges = [NamedJudge("itself", False, reference)]
    whole = judged(judges, rules, reference, [rows])
    parts = judged(judges, rules, reference, np.array_split(rows, 9))
    assert whole.digest == parts.digest
    one_less = judged(judges, rules, reference, [rows[:-1]])
    other = judged(judges, rules, lambda X: Verdicts(np.asarray(reference(X).scores) + 1), [rows])
    assert len({whole.digest, one_less.digest, other.digest}) == 3
    moved = judged(judges, rules, lambda X: reference(rows), [rows + np.float32(1)])
    assert moved.digest != whole.digest
    assert whole.rows.tobytes() == parts.rows.tobytes()
    assert len(whole.rows) == min(1000, len(rows))
    assert whole.difference is None
    # Those that are written down are some of all, in their order, with their scores.
    places = {row.tobytes(): i for i, row in enumerate(rows)}
    at = [places[row.tobytes()] for row in whole.rows]
    assert at == sorted(at)
    assert whole.verdicts.scores is not None
    assert (whole.verdicts.scores == reference(rows[at]).scores).all()


def test_a_judge_who_differs_is_told(model: Any) -> None:
    rules = rules_of(model)
    reference = Reference(model, rules)

    def wrong(X: Any) -> Verdicts:
        scores = np.array(reference(X).scores)
        scores[X[:, 0] > 1] += 2.0**-40
        return Verdicts(scores)

    judges = [NamedJudge("itself", False, reference), NamedJudge("another", True, wrong)]
    heard = judged(judges, rules, reference, [ROWS])
    n = int((ROWS[:, 0] > 1).sum())
    assert [one.n_differ for one in heard.judgements] == [0, n]
    first = int(np.flatnonzero(ROWS[:, 0] > 1)[0])
    assert heard.difference is not None
    assert heard.difference.startswith(f"probe {first + 1:,}: another gives ")


def test_scores_and_labels_must_both_be_right() -> None:
    labels, other = np.array([0, 1, 2]), np.array([0, 2, 2])
    ours, same = Verdicts(np.array([0.0, 1.0, 2.0]), labels), np.array([-0.0, 1.0, 2.0])
    near, far = np.array([0.0, 1.0, 2.000000001]), np.array([0.0, 1.00000005, 2.000000001])
    assert differences(ours, Verdicts(same, labels)).tolist() == []
    assert differences(ours, Verdicts(same, other)).tolist() == [1]
    assert differences(ours, Verdicts(None, other)).tolist() == [1]
    assert differences(ours, Verdicts(near, labels)).tolist() == [2]
    assert differences(ours, Verdicts(near, labels), 1e-8).tolist() == []
    assert differences(ours, Verdicts(far, labels), 1e-8).tolist() == [1]
    several = Verdicts(np.array([[0.0, 1.0], [2.0, 3.0]]))
    assert differences(several, Verdicts(np.array([[0.0, 1.0], [2.0, 4.0]]))).tolist() == [1]


def test_least_and_largest_of_the_data_and_rows_without_any_value_are_probed() -> None:
    model = MODELS["one tree"]()
    rules = rules_of(model)
    assert rules.trees is not None
    probes = np.concatenate(list(probe_blocks(rules, "float32", ROWS, None)))[len(ROWS) :]
    for j in np.unique(rules.trees.forest.feature):
        values = probes[:, j]
        assert np.nanmin(ROWS[:, j]) in values
        assert np.nanmax(ROWS[:, j]) in values
    filled = rules_of(MODELS["linear with imputation"]())
    linear = np.concatenate(list(probe_blocks(filled, "float32", None, None)))
    assert np.isnan(linear).all(axis=1).any()
