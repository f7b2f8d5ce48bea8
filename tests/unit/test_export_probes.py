"""Probe rows: what they reach, how many there are, and that they can be made again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankwright.exports.judging import NamedJudge, judged
from rankwright.exports.probes import probe_blocks
from rankwright.exports.reference import Reference, grid_model
from rankwright.exports.rules import Linear, Rules, rules_of
from rankwright.exports.targets.registry import target_named
from rankwright.exports.targets.target import Verdicts
from tests.contracts.exported_models import MODELS, ROWS


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
