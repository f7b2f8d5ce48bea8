"""Averages of rankers: bags, scales, weights, and that an average is one model."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import rankwright as rw
from rankwright.data import Groups, make_mslr_like
from rankwright.data.streams import query_uniforms
from rankwright.ensemble import EnsembleProgress, EnsembleRanker
from rankwright.ensemble.bags import bag_weights
from rankwright.ensemble.lesson import Lesson
from rankwright.ensemble.members import copies
from rankwright.ensemble.scales import greedy_weights, mean_deviation, warn_of_few
from rankwright.exceptions import DataWarning
from rankwright.metrics import NDCG
from rankwright.persistence import packed, unpack_model
from rankwright.trees.shared_bins import SharedBins
from tests.reference import ensembles as twin

TREES = rw.BoostedRanker(n_estimators=6, num_leaves=4, min_child_samples=3)
LINEAR = rw.LinearRanker(alpha=0.01, standardize=True, missing="median")
NAMES = [f"f{j}" for j in range(6)]


@pytest.fixture(scope="module")
def parts() -> tuple[rw.Dataset, ...]:
    data = make_mslr_like(n_queries=60, n_features=6, mean_docs=9, random_state=1)
    return data.with_features(data.X, NAMES).split((0.6, 0.2, 0.2))


def mixed(**params: Any) -> EnsembleRanker:
    members = [("trees", clone(TREES)), ("linear", clone(LINEAR))]
    usual: dict[str, Any] = {"members": members, "n_models": 2, "n_jobs": 1}
    return EnsembleRanker(**usual | params)


def with_gaps(data: rw.Dataset) -> rw.Dataset:
    X = data.X.copy()
    X[::7, 2] = np.nan
    return data.with_features(X)


# --- bags --------------------------------------------------------------------------------------


def test_a_bootstrap_is_poisson_by_query_id() -> None:
    groups = Groups(np.arange(0, 8001, 2))
    times = bag_weights(groups, "queries", 3, 1)
    # 0xBA6 is the stream of bags.
    lots = query_uniforms(groups, 3, 0xBA6, 1)
    assert times.tolist() == [twin.poisson(lot) for lot in lots.tolist()]
    # Four standard errors: of 4,000 queries e^-1 are drawn never, and as many once.
    for k in (0, 1):
        assert abs((times == k).mean() - np.exp(-1)) < 4 * np.sqrt(0.37 * 0.63 / 4000)
    assert not np.array_equal(times, bag_weights(groups, "queries", 3, 2))
    assert not np.array_equal(times, bag_weights(groups, "queries", 4, 1))
    order = np.random.default_rng(0).permutation(4000)
    moved = Groups(groups.indptr, groups.names[order])
    np.testing.assert_array_equal(bag_weights(moved, "queries", 3, 1), times[order])


def test_a_share_is_so_many_queries_once() -> None:
    groups = Groups(np.arange(11))
    times = bag_weights(groups, 0.7, 0, 0)
    assert sorted(times.tolist()) == [0.0] * 3 + [1.0] * 7
    assert bag_weights(groups, 0.01, 0, 0).sum() == 1
    assert bag_weights(groups, None, 0, 0).tolist() == [1.0] * 10


def test_a_bag_is_never_empty_and_multiplies_weights() -> None:
    groups = Groups(np.arange(4))
    for member in range(60):
        given = np.array([0.0, 0.5, 0.0])
        found = bag_weights(groups, "queries", 0, member, given)
        assert found[1] > 0
        assert found[1] % 0.5 == 0
        assert not found[[0, 2]].any()


# --- scales and weights ------------------------------------------------------------------------


def test_the_scale_is_the_mean_deviation_within_queries() -> None:
    rng = np.random.default_rng(0)
    sizes = [1, 4, 2, 7, 1]
    groups = Groups(np.append(0, np.cumsum(sizes)))
    scores = rng.normal(size=15)
    queries = [scores[rows].tolist() for rows in groups]
    assert mean_deviation(scores, groups) == pytest.approx(twin.deviation(queries), rel=1e-14)
    # By hand: two queries with deviations 1 and 3, one of a single document.
    pairs = Groups(np.array([0, 2, 3, 5]))
    assert mean_deviation(np.array([0.0, 2.0, 9.0, 0.0, 6.0]), pairs) == 2.0
    assert mean_deviation(np.ones(5), pairs) == 0.0
    # Summed exactly: 1, 2^53 and 1 in this order would lose both ones.
    uneven = np.array([0.0, 2.0, 0.0, 2.0**54, 0.0, 2.0])
    assert mean_deviation(uneven, Groups(np.arange(0, 7, 2))) == (2.0**53 + 2) / 3
    assert mean_deviation(np.ones(2), Groups(np.arange(3))) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_chosen_greedily(seed: int, parts: tuple[rw.Dataset, ...]) -> None:
    valid, metric = parts[1], NDCG(k=3)
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(3, valid.n_docs))
    scores = noise + np.array([[1.0], [0.3], [0.0]]) * valid.y
    found = greedy_weights(scores, valid, metric)

    def value(average: list[float]) -> float:
        return metric.mean(valid.y, np.array(average), valid.groups)

    np.testing.assert_allclose(found, twin.greedy(scores.tolist(), value, 63), rtol=1e-12)
    assert found.sum() == pytest.approx(1)
    assert (found > 0).all()
    assert found.argmax() == 0
    equal = metric.mean(valid.y, scores.mean(axis=0), valid.groups)
    assert metric.mean(valid.y, found @ scores, valid.groups) >= equal


def test_weights_for_a_metric_of_which_less_is_better(parts: tuple[rw.Dataset, ...]) -> None:
    valid = parts[1]
    good = valid.y + 0.1 * np.random.default_rng(0).normal(size=valid.n_docs)
    found = greedy_weights(np.array([-good, 0.9 * good]), valid, rw.metrics.PairwiseError())
    assert found.argmax() == 1
    # Of equal members the first is taken.
    noise = np.random.default_rng(1).normal(size=valid.n_docs)
    first, second, third = greedy_weights(np.array([2 * noise, good, good]), valid, NDCG(k=3))
    assert second > third == first


def test_so_few_are_those_that_count(parts: tuple[rw.Dataset, ...]) -> None:
    one = np.array([1.0, 0.0])
    many = rw.Dataset(np.ones((202, 1)), np.append(np.tile(one, 100), [0, 0]), np.arange(202) // 2)
    warn_of_few(many, NDCG())  # a hundred are enough
    with pytest.warns(DataWarning, match="the noise of 99 validation queries"):
        warn_of_few(many.select(np.arange(1, 101)), NDCG())


def test_few_validation_queries_are_told(parts: tuple[rw.Dataset, ...]) -> None:
    train, valid, _ = parts
    with pytest.warns(DataWarning, match=r"the noise of \d+ validation queries; below 100") as seen:
        found = mixed(weights="valid").fit_dataset(train, valid=valid)
    assert seen[0].filename == __file__
    scores = found.predict_dataset(valid)
    assert found.best_score_ == NDCG(k=10).mean(valid.y, scores, valid.groups)
    with pytest.raises(ValueError, match=r"^weights='valid' needs validation queries: fit\("):
        mixed(weights="valid").fit_dataset(train)


# --- an average --------------------------------------------------------------------------------


def test_an_average_by_its_definition(parts: tuple[rw.Dataset, ...]) -> None:
    train, _, test = parts
    train = with_gaps(train)
    found = mixed(bag=None, weights=[1, 2, 0, 1]).fit_dataset(train)
    assert found.member_names_ == ["trees 1", "linear 1", "trees 2", "linear 2"]
    assert found.member_weights_.tolist() == [0.25, 0.5, 0.0, 0.25]
    expected = np.zeros(test.n_docs)
    again = clone(TREES).set_params(random_state=1)
    kinds = [TREES, LINEAR, again, LINEAR]
    for kind, weight, scale in zip(kinds, found.member_weights_, found.member_scales_, strict=True):
        member = clone(kind).fit_dataset(train)
        queries = [member.predict_dataset(train)[rows].tolist() for rows in train.groups]
        assert scale == pytest.approx(twin.deviation(queries), rel=1e-9)
        expected += weight / scale * member.predict_dataset(test)
    np.testing.assert_allclose(found.predict_dataset(test), expected, rtol=1e-9, atol=1e-9)
    assert found.n_iter_ == 6  # the second tree member has weight 0


def test_weights_are_chosen_for_members_on_one_scale(parts: tuple[rw.Dataset, ...]) -> None:
    train, valid, _ = parts
    trees, linear = clone(TREES).fit_dataset(train), clone(LINEAR).fit_dataset(train)
    linear.coef_ = -1000.0 * linear.coef_  # it is wrong, and loud
    idle = clone(LINEAR).fit_dataset(train)
    idle.coef_ = 0.0 * idle.coef_
    members = [("idle", idle), ("trees", trees), ("linear", linear)]
    with pytest.warns(DataWarning):
        found = EnsembleRanker(members, weights="valid", n_jobs=1).fit_dataset(train, valid=valid)
    scaled = [
        model.predict_dataset(valid) / mean_deviation(model.predict_dataset(train), train.groups)
        for model in (trees, linear)
    ]
    expected = greedy_weights(np.array(scaled), valid, NDCG(k=10))
    np.testing.assert_allclose(found.member_weights_, [0.0, *expected], rtol=1e-12)
    assert expected[0] > 0.5


def test_weights_of_documents_reach_members(parts: tuple[rw.Dataset, ...]) -> None:
    train, _, test = parts
    c = np.random.default_rng(0).uniform(0.1, 2.0, train.n_docs)
    found = EnsembleRanker(LINEAR, 1, bag=None).fit(train.X, train.y, train.qid, sample_weight=c)
    member = clone(LINEAR).fit(train.X, train.y, train.qid, sample_weight=c)
    expected = member.predict(test.X) / found.member_scales_[0]
    np.testing.assert_allclose(found.predict(test.X), expected, rtol=1e-6, atol=1e-9)


def test_members_watch_the_metric_of_the_ensemble(parts: tuple[rw.Dataset, ...]) -> None:
    train, valid, _ = parts
    stopping = clone(TREES).set_params(n_estimators=40, early_stopping_rounds=5, n_jobs=1)
    found = {
        metric: EnsembleRanker(stopping, 1, bag=None, eval_metric=metric, n_jobs=1)
        .fit_dataset(train, valid=valid)
        .n_iter_
        for metric in ("ndcg@10", "pairwise_error")
    }
    for metric, n_iter in found.items():
        member = clone(stopping).set_params(eval_metric=metric)
        assert member.fit_dataset(train, valid=valid).n_iter_ == n_iter
    assert found["ndcg@10"] != found["pairwise_error"]


def test_members_watch_columns_of_their_own_rows(
    parts: tuple[rw.Dataset, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, order = parts[0].X, np.random.default_rng(1).permutation(parts[0].n_queries)
    # What is kept tells the row that it belongs to.
    rows = np.array([str(row.tolist()) for row in X])
    data = rw.Dataset(X, parts[0].y, parts[0].qid, doc_ids=rows, kept={"row": rows}).select(order)
    seen: list[rw.Dataset] = []

    def recorded(train: rw.Dataset, *rest: Any) -> Lesson:
        seen.append(train)
        return Lesson(train, *rest)

    monkeypatch.setattr("rankwright.ensemble.ensemble_ranker.Lesson", recorded)
    for members in (TREES, LINEAR):
        EnsembleRanker(members, 1, n_jobs=1).fit_dataset(data)
        expected = [str(row.tolist()) for row in seen[-1].X]
        assert seen[-1].doc_ids is not None
        assert seen[-1].doc_ids.tolist() == seen[-1].kept["row"].tolist() == expected
    assert seen[0].qid.tolist() != seen[1].qid.tolist()  # sums have an order of their own


def test_members_learn_from_their_bags(parts: tuple[rw.Dataset, ...]) -> None:
    train, _, test = parts
    found = EnsembleRanker(LINEAR, n_models=2, random_state=5).fit_dataset(train)
    expected = np.zeros(test.n_docs)
    for k in range(2):
        bag = np.repeat(bag_weights(train.groups, "queries", 5, k), train.groups.sizes)
        member = clone(LINEAR).fit(train, train.y, train.qid, query_weight=bag)
        scale = mean_deviation(member.predict(train.X), train.groups)
        expected += member.predict(test.X) / scale / 2
    np.testing.assert_allclose(found.predict(test.X), expected, rtol=1e-6)
    # The median is that of all training queries, not that of a bag.
    gaps = with_gaps(train)
    again = EnsembleRanker(LINEAR, n_models=2).fit_dataset(gaps)
    np.testing.assert_allclose(again.linear_fill_, np.nanmedian(gaps.X, axis=0), rtol=1e-6)


def test_members_watch_what_they_have_not_seen(parts: tuple[rw.Dataset, ...]) -> None:
    train, valid, _ = parts
    stopping = clone(TREES).set_params(n_estimators=50, early_stopping_rounds=3)
    alone = EnsembleRanker(stopping, n_models=1, n_jobs=1).fit_dataset(train)
    times = bag_weights(train.groups, "queries", 0, 0)
    member = clone(stopping).fit(
        train,
        train.y,
        train.qid,
        query_weight=np.repeat(times, train.groups.sizes),
        valid=train.select(times == 0),
    )
    assert alone.n_iter_ == member.n_iter_ < 50
    watching = EnsembleRanker(stopping, n_models=1, n_jobs=1).fit_dataset(train, valid=valid)
    member.fit(
        train,
        train.y,
        train.qid,
        query_weight=np.repeat(times, train.groups.sizes),
        valid=valid,
    )
    assert watching.n_iter_ == member.n_iter_
    assert watching.best_score_ == member.best_score_
    # One query leaves none to watch; all queries in all bags need some from outside.
    one = train.select([0])
    assert EnsembleRanker(stopping, n_models=1).fit(one.X, one.y).stop_ == "complete"
    with pytest.raises(ValueError, match=r"^early_stopping_rounds needs validation queries"):
        EnsembleRanker(stopping, bag=None).fit_dataset(train)


def test_what_was_grown_is_grown_again(parts: tuple[rw.Dataset, ...]) -> None:
    train, valid, _ = parts
    members = [clone(TREES).set_params(n_estimators=40, early_stopping_rounds=3), clone(LINEAR)]
    model = EnsembleRanker(members, n_models=2, weights="valid", n_jobs=1)
    with pytest.warns(DataWarning, match="below 100"):
        model.fit_dataset(train, valid=valid)
    grown = model.grown()
    assert grown == {
        "n_estimators": round(model.n_iter_ / 2),  # all trees, of two copies
        "weights": model.member_weights_.tolist(),
    }
    again = clone(model).set_params(**grown).fit_dataset(train)
    assert again.n_iter_ == 2 * grown["n_estimators"]
    np.testing.assert_allclose(again.member_weights_, model.member_weights_, rtol=1e-15)


def test_a_base_is_chosen_on_unseen_queries(parts: tuple[rw.Dataset, ...]) -> None:
    train = parts[0]
    graft = clone(TREES).set_params(base="auto")
    found = EnsembleRanker(graft, n_models=2, n_jobs=1, n_estimators=3).fit_dataset(train)
    assert found.stop_ == "complete"
    one = train.select([0])
    assert "linear_coef_" not in vars(EnsembleRanker(graft, n_models=1).fit(one.X, one.y))


def test_a_fitted_base_is_used_as_it_is(parts: tuple[rw.Dataset, ...]) -> None:
    train, other, test = parts
    base = clone(LINEAR).fit_dataset(other)
    graft = clone(TREES).set_params(base=base, n_estimators=1)
    found = EnsembleRanker(graft, n_models=2, bag=None).fit_dataset(train)
    shape = found.linear_coef_ / base.coef_
    np.testing.assert_allclose(shape, shape[0], rtol=1e-9)
    assert np.isfinite(found.predict(test.X)).all()


def test_weights_of_0_are_neither_learned_nor_watched(parts: tuple[rw.Dataset, ...]) -> None:
    train = parts[0]
    stopping = clone(TREES).set_params(n_estimators=30, early_stopping_rounds=3)
    half = np.arange(train.n_queries) % 2 == 0
    c = np.repeat(half.astype(float), train.groups.sizes)
    y = np.where(c > 0, train.y, np.random.default_rng(0).permutation(train.y))
    first, second = (
        EnsembleRanker(stopping, n_models=2, n_jobs=1)
        .fit(train.X, labels, train.qid, query_weight=c)
        .predict(train.X)
        for labels in (train.y, y)
    )
    np.testing.assert_array_equal(first, second)


def test_members_keep_their_threads_unless_told() -> None:
    one = clone(TREES).set_params(n_jobs=1)
    (kept,) = copies(one, 1, 0, {})
    (told,) = copies(one, 1, 7, {"n_jobs": 2})
    assert (kept.ranker.n_jobs, told.ranker.n_jobs, told.ranker.random_state) == (1, 2, 7)


def test_threads_of_the_ensemble_are_those_of_members(
    parts: tuple[rw.Dataset, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []

    def recorded(members: Any, n_models: int, seed: int, settings: dict[str, Any]) -> Any:
        seen.append(settings)
        return copies(members, n_models, seed, settings)

    monkeypatch.setattr("rankwright.ensemble.ensemble_ranker.copies", recorded)
    for n_jobs in (None, 2):
        EnsembleRanker(LINEAR, 1, n_jobs=n_jobs).fit_dataset(parts[0])
    assert [settings.get("n_jobs", "theirs") for settings in seen] == ["theirs", 2]


def test_every_member_has_a_number_and_a_copy(parts: tuple[rw.Dataset, ...]) -> None:
    whole = clone(LINEAR).fit_dataset(parts[0])
    trees = clone(TREES)
    found = list(copies([("whole", whole), ("trees", trees), ("linear", LINEAR)], 2, 3, {}))
    assert [member.number for member in found] == [0, 1, 2, 3, 4]  # each has its own bag
    assert [member.is_whole for member in found] == [True] + [False] * 4
    assert found[0].ranker is whole
    assert len({id(member.ranker) for member in found} | {id(trees), id(LINEAR)}) == 7
    EnsembleRanker(trees, 1).fit_dataset(parts[0])
    assert "model_text_" not in vars(trees)


def test_fitted_rankers_are_used_as_they_are(parts: tuple[rw.Dataset, ...]) -> None:
    train, _, test = parts
    trees, linear = clone(TREES).fit_dataset(train), clone(LINEAR).fit_dataset(train)
    found = EnsembleRanker([trees, linear], n_models=3).fit_dataset(train)
    assert found.member_names_ == ["BoostedRanker", "LinearRanker"]
    expected = sum(
        model.predict(test.X) / scale / 2
        for model, scale in zip((trees, linear), found.member_scales_, strict=True)
    )
    np.testing.assert_allclose(found.predict(test.X), expected, rtol=1e-12)
    other = clone(LINEAR).fit(train.X[:, :3], train.y, train.qid)
    with pytest.raises(ValueError, match=r"^member 'LinearRanker' must have been fitted to the f"):
        EnsembleRanker(other).fit_dataset(train)


def test_the_order_of_queries_and_threads_change_no_bit(parts: tuple[rw.Dataset, ...]) -> None:
    train, _, test = parts
    shuffled = train.select(np.random.default_rng(0).permutation(train.n_queries))
    found = mixed().fit_dataset(train)
    for data, n_jobs in ((shuffled, 1), (train, 2)):
        again = mixed(n_jobs=n_jobs).fit_dataset(data)
        np.testing.assert_array_equal(again.predict(test.X), found.predict(test.X))
        assert again.model_text_ == found.model_text_
        assert again.member_scales_.tolist() == found.member_scales_.tolist()


# --- one model ---------------------------------------------------------------------------------


def test_files_pickles_and_scorers_give_the_same_bits(parts: tuple[rw.Dataset, ...]) -> None:
    train, _, test = parts
    found = mixed().fit_dataset(with_gaps(train))
    content, X = packed(found), with_gaps(test).X
    expected = found.predict(X)
    for again in (unpack_model(io.BytesIO(content)), pickle.loads(pickle.dumps(found))):
        np.testing.assert_array_equal(again.predict(X), expected)
        assert repr(again.get_params()) == repr(found.get_params())
        assert again.member_names_ == found.member_names_
    np.testing.assert_array_equal(rw.Scorer.from_model(found).predict(X), expected)
    assert packed(clone(found).fit_dataset(with_gaps(train))) == content
    best = found.predict(X, top_k=2, qid=test.qid)
    np.testing.assert_array_equal(best[np.isfinite(best)], expected[np.isfinite(best)])
    shares, start = found.contributions(X)
    np.testing.assert_allclose(shares.sum(axis=1) + start, expected, rtol=1e-9)
    np.testing.assert_array_equal([*found.staged_predict(X)][-1], expected)
    assert (found.importance() > 0).any()
    with pytest.raises(AttributeError, match="would lack the linear part"):
        _ = found.booster_


def test_trees_alone_are_a_booster_and_take_categories(parts: tuple[rw.Dataset, ...]) -> None:
    train, _, test = parts
    found = EnsembleRanker(TREES, n_models=2).fit_dataset(train)
    np.testing.assert_array_equal(found.booster_.predict(test.X), found.predict(test.X))
    assert found.takes_categories
    assert not mixed().takes_categories


def test_bins_are_made_once(parts: tuple[rw.Dataset, ...], monkeypatch: Any) -> None:
    made: list[Any] = []
    original = SharedBins.of

    def counted(self: Any, X: Any, key: Any, make: Any) -> Any:
        return original(self, X, key, lambda: made.append(X) or make())  # type: ignore[func-returns-value]

    monkeypatch.setattr(SharedBins, "of", counted)
    EnsembleRanker(TREES, n_models=3, bag=None).fit_dataset(parts[0])
    assert len(made) == 1


def test_a_member_that_ranks_nothing_has_weight_0(parts: tuple[rw.Dataset, ...]) -> None:
    train = parts[0]
    none = rw.LinearRanker("xendcg", "l1", alpha=1e3)
    with pytest.warns(DataWarning) as seen:
        found = EnsembleRanker([("none", none), ("some", LINEAR)], 1).fit_dataset(train)
    assert [str(w.message) for w in seen][-1] == "member none ranks nothing: its weight is 0."
    assert seen[-1].filename == __file__
    assert found.member_weights_.tolist() == [0.0, 1.0]
    with pytest.warns(DataWarning):
        nothing = EnsembleRanker(none, 1).fit_dataset(train)
    assert not nothing.predict(train.X).any()
    assert nothing.member_weights_.tolist() == [0.0]
    assert not unpack_model(io.BytesIO(packed(nothing))).predict(train.X).any()


# --- parameters --------------------------------------------------------------------------------


def test_parameters_of_members_are_set_by_name() -> None:
    one = EnsembleRanker(clone(TREES)).set_params(members__num_leaves=9)
    assert one.get_params()["members__num_leaves"] == 9
    two = mixed().set_params(trees__num_leaves=8, linear__alpha=0.5, n_models=4)
    assert (two.members[0][1].num_leaves, two.members[1][1].alpha, two.n_models) == (8, 0.5, 4)
    assert two.get_params()["linear__alpha"] == 0.5
    assert "linear__alpha" not in two.get_params(deep=False)
    with pytest.raises(ValueError, match="Invalid parameter"):
        two.set_params(tree__num_leaves=8)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"members": []}, "members must be at least one ranker, but are none."),
        ({"members": "lambdarank-tree"}, "members must be rankers or names of them, but 'lambdar"),
        ({"members": rw.PRank()}, "members must be rankers of the library, such as BoostedRanker"),
        ({"members": 7}, "members must be rankers of the library, such as BoostedRanker and Linea"),
        ({"members": rw.SLAMPerceptron(kernel="rbf")}, "members must be weighted sums of features"),
        ({"members": rw.baselines.RandomRanker()}, "members must be weighted sums of features or "),
        ({"members": [("a", TREES), ("a", TREES)]}, "names of members must be texts, all differe"),
        ({"members": [("a__b", TREES)]}, "names of members must be texts, all different and "),
        ({"members": rw.LinearRanker(alpha=-1)}, "alpha must be a number >= 0, but is -1."),
        (
            {"bag": "docs"},
            "bag must be 'queries', a share of them in (0, 1) or None, but is 'docs'",
        ),
        ({"bag": 1.0}, "bag must be 'queries', a share of them in (0, 1) or None, but is 1.0."),
        ({"weights": [-1.0]}, "weights must be 'equal', 'valid' or numbers >= 0 that are not all"),
        ({"weights": "best"}, "weights must be 'equal', 'valid' or numbers >= 0 that are not all "),
        ({"n_models": 0}, "n_models must be a positive integer, but is 0."),
    ],
)
def test_what_cannot_be_is_one_line(params: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError)) as error:
        EnsembleRanker(**params).check_params()
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_weights_are_as_many_as_members(parts: tuple[rw.Dataset, ...]) -> None:
    with pytest.raises(ValueError, match=r"^weights must be 4 numbers, one for each member, but a"):
        mixed(weights=[1.0, 2.0]).fit_dataset(parts[0])
    with pytest.raises(TypeError, match=r"^valid must be a Dataset, but is a list\. Make one: "):
        mixed().fit(parts[0].X, parts[0].y, parts[0].qid, valid=[])  # type: ignore[arg-type]


def test_members_by_name(parts: tuple[rw.Dataset, ...]) -> None:
    found = EnsembleRanker(["linear", "linear"], 1).fit_dataset(parts[0])
    assert found.member_names_ == ["linear", "linear-2"]
    assert "linear_coef_" in vars(found)


# --- progress ----------------------------------------------------------------------------------


def test_progress_tells_members_and_what_they_do(parts: tuple[rw.Dataset, ...]) -> None:
    seen: list[EnsembleProgress] = []
    mixed(n_models=1).fit_dataset(parts[0], seen.append)
    assert [(p.iteration, p.total, p.member) for p in seen if p.detail is None] == [
        (1, 2, "trees"),
        (2, 2, "linear"),
    ]
    assert str(seen[0]).startswith("trees, member 1 of 2: tree 1 of 6")
    assert str(seen[-1]) == "linear: member 2 of 2 is fitted"
    assert len(repr(seen[0])) < 200


def test_a_true_answer_ends_it_with_the_members_that_are_whole(
    parts: tuple[rw.Dataset, ...],
) -> None:
    found = mixed().fit_dataset(parts[0], lambda told: told.iteration == 2)
    assert found.stop_ == "interrupted"
    assert found.member_names_ == ["trees 1", "linear 1"]
    for given, left in (([1, 3, 5, 5], [0.25, 0.75]), ([0, 0, 1, 1], [0.5, 0.5])):
        found = mixed(weights=given).fit_dataset(parts[0], lambda told: told.iteration == 2)
        assert found.member_weights_.tolist() == left


@pytest.mark.parametrize("stopped", [0, 1])
def test_an_interrupt_keeps_the_members_that_are_whole(
    stopped: int, parts: tuple[rw.Dataset, ...]
) -> None:
    def interrupt(told: EnsembleProgress) -> None:
        if told.iteration == stopped and told.detail is not None and told.detail.iteration > 1:
            raise KeyboardInterrupt

    model = EnsembleRanker(TREES, n_models=3, n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit_dataset(parts[0], interrupt)
    assert model.stop_ == "interrupted"
    assert model.member_names_ == ["BoostedRanker 1"]
    assert model.n_iter_ == (6 if stopped else 2)  # the only one there is may be a part


def test_an_interrupt_before_anything_leaves_nothing(parts: tuple[rw.Dataset, ...]) -> None:
    def interrupt(told: EnsembleProgress) -> None:
        raise KeyboardInterrupt

    model = EnsembleRanker(LINEAR, n_models=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit_dataset(parts[0], interrupt)
    assert "model_text_" not in vars(model)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("member_names_", ["a"], "member_trees_ must be 1 numbers of trees."),
        ("member_names_", [1, 2], "member_names_ must be a list of names."),
        ("member_trees_", [1.5, 2], "member_trees_ must be 2 numbers of trees."),
        ("member_weights_", np.ones(3), "member_weights_ must be"),
        ("member_scales_", np.array([1.0, np.nan]), "member_scales_ must be"),
        ("n_iter_", 77, "n_iter_ must be"),
    ],
)
def test_what_a_file_may_not_say(
    name: str, value: Any, message: str, parts: tuple[rw.Dataset, ...]
) -> None:
    found = mixed(n_models=1).fit_dataset(parts[0])
    found.check_state()
    setattr(found, name, value)
    with pytest.raises(rw.DataError) as error:
        found.check_state()
    assert str(error.value).startswith(message)
