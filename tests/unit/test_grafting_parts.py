"""Trees from parts that go on from a base: near those in memory, the same bits on any machines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.data import Dataset
from rankwright.data.each import EachHere
from rankwright.data.parts import LocalParts
from rankwright.inputs import check_ranking_data
from rankwright.linear.part_selection import alpha_by_folds, alpha_by_valid
from rankwright.linear.selection import choose_alpha
from rankwright.metrics import parse
from rankwright.trees import (
    BoostedRanker,
    BoostingProgress,
    grafting_parts,
    machine,
    model_text,
    networked,
)
from rankwright.trees.grafting import linear_base
from rankwright.trees.growing import Growing
from rankwright.trees.networked import FitPlan, Seat
from tests.part_samples import FEW, cut, sample

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")


@pytest.fixture(scope="module")
def data() -> tuple[Dataset, Dataset]:
    train, valid = sample(80).split((0.7, 0.3))
    return train, valid


@pytest.fixture(scope="module")
def cuts(data: tuple[Dataset, Dataset], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the training queries, cut into 2 and 4 parts, each in an order of its own."""
    folder = tmp_path_factory.mktemp("parts")
    return [
        cut(data[0], sizes, folder / str(i), seed=i)
        for i, sizes in enumerate(([20, 36], [5, 16, 25, 10]))
    ]


@pytest.fixture(scope="module")
def watched(data: tuple[Dataset, Dataset], tmp_path_factory: pytest.TempPathFactory) -> LocalParts:
    n = data[1].n_queries
    return cut(data[1], [n - 5, 5], tmp_path_factory.mktemp("valid") / "parts")


def bits(ranker: BoostedRanker) -> tuple[Any, ...]:
    """Return all that scores are made of."""
    state = vars(ranker)
    names = ("linear_coef_", "linear_fill_", "linear_spread_")
    linear = [state[name].tolist() for name in names if name in state]
    return ranker.model_text_, ranker.base_scale_, ranker.n_iter_, *linear


def ndcg(ranker: BoostedRanker, valid: Dataset) -> float:
    return parse("ndcg@10").mean(valid.y, ranker.predict(valid.X), valid.groups)


# --- the base ----------------------------------------------------------------------------------


@pytest.mark.parametrize("with_valid", [True, False])
def test_a_graft_is_near_that_in_memory(
    with_valid: bool, data: tuple[Dataset, Dataset], cuts: Any, watched: LocalParts
) -> None:
    train, valid = data
    options: dict[str, Any] = {**FEW, "base": "linear"}
    memory = BoostedRanker(**options).fit_dataset(train, valid=valid if with_valid else None)
    parts = BoostedRanker(**options).fit_parts(cuts[1], watched if with_valid else None)
    scores = [ranker.score(valid.X, valid.y, valid.qid) for ranker in (memory, parts)]
    assert abs(scores[0] - scores[1]) < 0.02
    if with_valid:
        np.testing.assert_allclose(parts.base_alpha_, memory.base_alpha_, rtol=1e-9)
        np.testing.assert_allclose(parts.base_scale_, memory.base_scale_, rtol=1e-6)
        np.testing.assert_allclose(parts.linear_coef_, memory.linear_coef_, rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(parts.linear_spread_, memory.linear_spread_, rtol=1e-6)


def test_the_base_alone_is_a_linear_ranker_times_its_scale(
    data: tuple[Dataset, Dataset], cuts: Any, watched: LocalParts
) -> None:
    ranker = BoostedRanker(**{**FEW, "n_estimators": 0}, base="linear").fit_parts(cuts[1], watched)
    linear = linear_base(ranker.base_alpha_, 1).fit_parts(cuts[1])
    np.testing.assert_array_equal(ranker.linear_coef_, ranker.base_scale_ * linear.coef_)
    assert (ranker.n_iter_, ranker.base_n_iter_) == (0, 0)
    assert ranker.best_score_ == ndcg(ranker, data[1])


def test_folds_are_those_of_data_in_memory(
    data: tuple[Dataset, Dataset], cuts: Any, tmp_path: Path
) -> None:
    """Without a scale of its own, a ranker of a fold is that of the fold's queries alone."""
    metric = parse("ndcg@5")
    few = data[0].select(np.arange(14))  # where a ranker does better on queries that it has seen
    for i, (whole, parts) in enumerate([(data[0], cuts[1]), (few, None)]):
        found = parts or cut(whole, [5, 9], tmp_path / str(i))
        for ranker in (rw.LinearRanker("listnet"), rw.LinearRanker("xendcg")):
            expected = choose_alpha(ranker, whole, n_folds=3, metric=metric).alpha
            assert alpha_by_folds(ranker, found, metric, 3) == expected
    # Few queries, or nothing to measure, leave the parameter.
    assert alpha_by_folds(rw.LinearRanker(alpha=0.7), cuts[1], metric, 10_000) == 0.7


def test_the_largest_of_equal_penalties(data: tuple[Dataset, Dataset], tmp_path: Path) -> None:
    flat = data[0].with_labels(np.zeros(data[0].n_docs))
    parts = cut(flat, [flat.n_queries], tmp_path / "flat")
    metric = parse("ndcg@5")
    assert alpha_by_folds(rw.LinearRanker(alpha=0.7), parts, metric, 3) == 0.7
    found = [
        alpha_by_valid(rw.LinearRanker(), parts, parts, parse("ndcg@5(empty=1)"), n) for n in (1, 4)
    ]
    assert found[0] == found[1]


def test_weights_reach_the_base_and_its_scale(cuts: Any) -> None:
    base = rw.LinearRanker("listnet", alpha=0.01)
    options: dict[str, Any] = {**FEW, "n_estimators": 0, "base": base}
    found = [
        BoostedRanker(**options).fit_parts(cuts[0], sample_weight=w, query_weight=v)
        for w, v in ((None, None), ("w", None), (None, "v"), (None, v_of_part))
    ]
    scales = [ranker.base_scale_ for ranker in found]
    assert len(set(scales[:3])) == 3
    assert bits(found[2]) == bits(found[3])
    fitted = base.fit_parts(cuts[0])
    given = [
        BoostedRanker(**{**options, "base": fitted}).fit_parts(cuts[0], query_weight=v).base_scale_
        for v in (None, "v")
    ]
    assert given[0] != given[1]


def v_of_part(part: Dataset) -> Any:
    return part.kept["v"].astype(float)


def test_monotone_constraints_hold_for_the_base_too(
    data: tuple[Dataset, Dataset], cuts: Any, watched: LocalParts
) -> None:
    free = BoostedRanker(**{**FEW, "n_estimators": 0}, base="linear").fit_parts(cuts[0], watched)
    broken = int(np.argmax(free.linear_coef_))
    options: dict[str, Any] = {**FEW, "monotone_constraints": {broken: -1}}
    ranker = BoostedRanker(**options, base="linear").fit_parts(cuts[0], watched)
    assert ranker.linear_coef_[broken] == 0 < free.linear_coef_[broken]
    with pytest.raises(ValueError, match="base must obey the constraints too"):
        BoostedRanker(**options, base=rw.LinearRanker()).fit_parts(cuts[0])


# --- the same bits -----------------------------------------------------------------------------


def test_machines_change_no_bit(cuts: Any, watched: LocalParts) -> None:
    options: dict[str, Any] = {**FEW, "base": "linear", "eval_train": True}
    one, two = (
        BoostedRanker(**{**options, "n_jobs": n}).fit_parts(cuts[1], watched, machines=m)
        for n, m in ((1, 2), (4, 3))
    )
    assert bits(one) == bits(two)
    assert one.evals_result_ == two.evals_result_
    assert one.base_alpha_ == two.base_alpha_


@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_with_a_fitted_base_neither_do_cut_and_order(
    kind: str, data: tuple[Dataset, Dataset], cuts: Any
) -> None:
    base: Any = rw.LinearRanker("listnet") if kind == "linear" else BoostedRanker(**FEW)
    base.fit_dataset(data[0])
    one, two = (BoostedRanker(**FEW, base=base).fit_parts(parts) for parts in cuts)
    assert bits(one) == bits(two)
    memory = BoostedRanker(**FEW, base=base).fit_dataset(data[0])
    np.testing.assert_allclose(one.base_scale_, memory.base_scale_, rtol=1e-9)
    assert one.base_n_iter_ == memory.base_n_iter_ == (0 if kind == "linear" else 6)


def test_slopes_of_queries_are_added_exactly() -> None:
    """In plain sums, 1 would be lost beside 1e16, and the sign would hang on the cut."""

    class Slopes:
        def __init__(self, *values: float) -> None:
            self.values = np.array(values)

        def slopes(self, c: float) -> Any:
            return c * self.values

    along = EachHere([Slopes(1e16, 1.0), Slopes(-1e16), Slopes(-0.5)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grafting_parts, "ScoresOfPart", Slopes)
        assert grafting_parts._rises(along, 1.0)
        assert not grafting_parts._rises(along, -1.0)


@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_a_killed_machine_changes_no_bit(
    kind: str, data: tuple[Dataset, Dataset], cuts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.unit.test_trees_from_parts import children_of_fits

    base: Any = rw.LinearRanker("listnet") if kind == "linear" else BoostedRanker(**FEW)
    options: dict[str, Any] = {**FEW, "n_estimators": 12, "base": base.fit_dataset(data[0])}
    undisturbed = BoostedRanker(**options).fit_parts(cuts[0])
    children = children_of_fits(monkeypatch)

    def callback(progress: BoostingProgress) -> None:
        if progress.iteration == 7 and len(children) == 2:
            children[1].process.kill()

    with pytest.warns(RuntimeWarning, match="All are started again, behind tree 7"):
        ranker = BoostedRanker(**options).fit_parts(cuts[0], callback=callback)
    assert len(children) == 4
    assert bits(ranker) == bits(undisturbed)


@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_machines_that_begin_again_have_the_scores_of_lightgbm(
    kind: str, data: tuple[Dataset, Dataset]
) -> None:
    """To the last bit: gradients are rounded, so that trees tell of larger differences alone."""
    train = data[0]
    base: Any = rw.LinearRanker("listnet") if kind == "linear" else BoostedRanker(**FEW)
    ranker = BoostedRanker(**{**FEW, "n_estimators": 9}, base=base.fit_dataset(train))
    given = check_ranking_data(ranker, train.X, train.y, train.qid)
    growing = Growing(ranker, given, None, None)
    start = growing.start_from(ranker.base)
    booster, _ = growing.grow(start, None)
    assert booster is not None
    assert start.base is not None
    trees = [
        model_text.trim(booster.model_to_string(num_iteration=1, start_iteration=i))
        for i in range(9)
    ]
    features, metric = ranker.features(), growing.metric
    plan = FitPlan(ranker, growing.loss, {}, metric, (), features, (None, None), start.base.part)
    seat = Seat(plan, [], [], b"", trees, [], 0, 2)
    found = networked._scores_of(seat, [train])
    np.testing.assert_array_equal(found, machine._scores(booster.eval_train))


# --- what is kept ------------------------------------------------------------------------------


def test_where_no_tree_betters_the_base_none_is_kept(
    data: tuple[Dataset, Dataset], cuts: Any, watched: LocalParts
) -> None:
    base = rw.LinearRanker("listnet", standardize=True).fit_dataset(data[1])  # it has seen them
    options: dict[str, Any] = {**FEW, "base": base, "early_stopping_rounds": 2}
    ranker = BoostedRanker(**options, learning_rate=5.0).fit_parts(cuts[0], watched)
    assert (ranker.n_iter_, ranker.stop_) == (0, "early_stopping")
    assert max(ranker.evals_result_["valid"]["ndcg@10"]) <= ranker.best_score_
    assert ranker.best_score_ == ndcg(ranker, data[1])


def test_auto_keeps_the_better_one(cuts: Any, watched: LocalParts) -> None:
    options: dict[str, Any] = {**FEW, "early_stopping_rounds": 3}
    found = {
        base: BoostedRanker(**options, base=base).fit_parts(cuts[0], watched)
        for base in (None, "linear", "auto")
    }
    best = max((None, "linear"), key=lambda base: found[base].best_score_)
    assert found[None].best_score_ != found["linear"].best_score_
    assert found["auto"].model_text_ == found[best].model_text_
    assert found["auto"].best_score_ == found[best].best_score_


def test_a_graft_from_parts_is_a_model(
    data: tuple[Dataset, Dataset], cuts: Any, watched: LocalParts, tmp_path: Path
) -> None:
    ranker = BoostedRanker(**FEW, base="linear").fit_parts(cuts[0])
    rw.save(ranker, tmp_path / "model.rw")
    again, X = rw.load(tmp_path / "model.rw"), data[1].X
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    np.testing.assert_array_equal(list(ranker.staged_predict(X))[-1], ranker.predict(X))
    added, start = ranker.contributions(X)
    np.testing.assert_allclose(added.sum(axis=1) + start, ranker.predict(X), atol=1e-9)


def test_missing_values(data: tuple[Dataset, Dataset], tmp_path: Path) -> None:
    gaps = data[0].X.copy()
    gaps[::3, 2] = np.nan
    lacking = Dataset(gaps, data[0].y, data[0].qid, allow_nan=True, kept=data[0].kept)
    parts = cut(lacking, [20, 36], tmp_path / "gaps")
    ranker = BoostedRanker(**FEW, base="linear").fit_parts(parts)
    np.testing.assert_allclose(ranker.linear_fill_, np.nanmedian(gaps, axis=0), rtol=1e-6)
    assert np.isfinite(ranker.predict(gaps)).all()


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (rw.SLAMPerceptron(), "base must learn from parts too, but SLAMPerceptron learns from"),
        ("auto", "base='auto' needs validation queries"),
        (rw.DominationRank(pooled=True), "pooled=True makes one query of all documents"),
        (rw.LinearRanker().fit([[1.0], [0.0]], [1, 0]), "must have been fitted to the features"),
        (BoostedRanker(**FEW, early_stopping_rounds=2), "early_stopping_rounds needs validation"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_bases_that_are_refused(base: Any, message: str, cuts: Any) -> None:
    ranker = BoostedRanker(**FEW, base=base)
    with pytest.raises(ValueError, match=message):
        ranker.fit_parts(cuts[0])
    assert "n_features_in_" not in vars(ranker)


def test_what_is_asked_before() -> None:
    linear, trees = rw.LinearRanker().part_bytes, BoostedRanker().part_bytes
    assert BoostedRanker(base="linear").part_bytes == (trees[0], linear[1], trees[2])
    assert BoostedRanker(base="auto").takes_parts()
    online = rw.SLAMPerceptron()
    assert not BoostedRanker(base=online).takes_parts()
    fitted = online.fit([[1.0], [0.0]], [1, 0])
    assert BoostedRanker(base=fitted).takes_parts()
    assert BoostedRanker(base=fitted).part_bytes == trees
