"""Trees that go on from another ranker: the base, its scale, and the sum of both."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import rankwright as rw
from rankwright.data import Dataset, Groups, make_mslr_like
from rankwright.exceptions import DataError
from rankwright.linear.selection import choose_alpha
from rankwright.losses import XENDCG, LambdaRank
from rankwright.trees import BoostedRanker
from rankwright.trees.additive import Additive, summed
from rankwright.trees.forest import Forest
from rankwright.trees.grafting import linear_base, turning_point
from rankwright.trees.model_text import written
from rankwright.trees.shared_bins import shared_bins

FEW: dict[str, Any] = {"n_estimators": 6, "num_leaves": 5, "min_child_samples": 5, "n_jobs": 1}


@pytest.fixture(scope="module")
def parts() -> tuple[Dataset, ...]:
    whole = make_mslr_like(n_queries=80, n_features=10, mean_docs=15, random_state=2)
    return tuple(whole.split())


@pytest.fixture(scope="module")
def grafted(parts: tuple[Dataset, ...]) -> BoostedRanker:
    train = parts[0]
    return BoostedRanker(base="linear", **FEW).fit(train.X, train.y, train.qid)


def fit(train: Dataset, **params: Any) -> BoostedRanker:
    return BoostedRanker(**{**FEW, **params}).fit(train.X, train.y, train.qid)


# ---- the sum ----


def test_a_score_is_the_sum_of_both_parts(grafted: BoostedRanker, parts: Any) -> None:
    X = parts[2].X.astype(np.float64)
    trees = BoostedRanker(**FEW).fit(parts[0].X, parts[0].y, parts[0].qid)
    trees.model_text_, trees.n_iter_ = grafted.model_text_, grafted.n_iter_
    linear = np.array([float(np.dot(row, grafted.linear_coef_)) for row in X])
    np.testing.assert_allclose(grafted.predict(X), trees.predict(X) + linear, rtol=1e-12)
    assert np.abs(linear).max() > 0.1
    stages = list(grafted.staged_predict(X))
    assert len(stages) == grafted.n_iter_
    np.testing.assert_array_equal(stages[-1], grafted.predict(X))
    np.testing.assert_array_equal(stages[1], grafted.predict(X, n_trees=2))


def test_the_linear_part_is_the_base_times_its_scale(grafted: BoostedRanker, parts: Any) -> None:
    train = parts[0]
    base = rw.LinearRanker(
        "xendcg", alpha=grafted.base_alpha_, standardize=True, missing="median"
    ).fit(train.X, train.y, train.qid)
    expected = grafted.base_scale_ * base.coef_
    np.testing.assert_allclose(grafted.linear_coef_, expected, rtol=1e-8, atol=1e-12)
    assert grafted.base_n_iter_ == 0
    assert grafted.n_iter_ == 6


def test_the_best_documents_alone(grafted: BoostedRanker, parts: Any) -> None:
    test = parts[2]
    scores = grafted.predict(test.X)
    best = grafted.predict(test.X, top_k=3, qid=test.qid)
    rows = rw.top_k(scores, test.qid, 3)
    assert np.flatnonzero(np.isfinite(best)).tolist() == sorted(rows.tolist())
    np.testing.assert_array_equal(best[rows], scores[rows])
    # Queries in pieces, and more documents wanted than there are.
    order = np.random.default_rng(0).permutation(test.n_docs)
    moved = grafted.predict(test.X[order], top_k=3, qid=test.qid[order])
    np.testing.assert_array_equal(moved, best[order])
    np.testing.assert_array_equal(grafted.predict(test.X, top_k=2**70), scores)
    fewer = grafted.predict(test.X, n_trees=2, top_k=test.n_docs)
    np.testing.assert_array_equal(fewer, grafted.predict(test.X, n_trees=2))


def test_many_trees_let_documents_stop_early(parts: Any) -> None:
    # Linear parts from tiny to huge: early exit must reckon with them.
    train, _, test = parts
    ranker = fit(train, base="linear", n_estimators=60)
    coef = ranker.linear_coef_
    for factor in (1e-3, 1.0, 1e6, -1.0):
        ranker.linear_coef_ = factor * coef
        scores = ranker.predict(test.X)
        rows = rw.top_k(scores, test.qid, 2)
        best = ranker.predict(test.X, top_k=2, qid=test.qid)
        np.testing.assert_array_equal(best[rows], scores[rows])
        assert np.isfinite(best).sum() == len(rows)


def test_both_parts_in_one_account(grafted: BoostedRanker, parts: Any) -> None:
    X = parts[2].X
    added, start = grafted.contributions(X)
    np.testing.assert_allclose(added.sum(axis=1) + start, grafted.predict(X), atol=1e-9)
    alone = fit(parts[0])
    alone.model_text_ = grafted.model_text_
    by_trees, _ = alone.contributions(X)
    np.testing.assert_allclose(added - by_trees, X * grafted.linear_coef_, atol=1e-9)
    sparse, _ = grafted.contributions(sp.csr_array(X))
    np.testing.assert_allclose(sparse, added, atol=1e-9)


def test_missing_values_are_filled_in_for_the_weights_alone(parts: Any) -> None:
    train = parts[0]
    X = train.X.astype(np.float64)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    ranker = BoostedRanker(base="linear", **FEW).fit(X, train.y, train.qid)
    np.testing.assert_allclose(ranker.linear_fill_, np.nanmedian(X, axis=0), rtol=1e-6)
    filled = np.where(np.isnan(X), ranker.linear_fill_, X)
    trees = fit(train)
    trees.model_text_ = ranker.model_text_
    expected = trees.predict(X) + filled @ ranker.linear_coef_
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-9)
    added, start = ranker.contributions(X)
    np.testing.assert_allclose(added.sum(axis=1) + start, ranker.predict(X), atol=1e-9)


def test_a_base_that_takes_no_missing_values_says_so(parts: Any) -> None:
    ranker = fit(parts[0], base=rw.LinearRanker("listnet"))
    X = parts[2].X.copy()
    X[3, 1] = np.nan
    for rows in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match="the linear part of this model cannot take"):
            ranker.predict(rows)


# ---- the scale ----


def best_scale(scores: NDArray[Any], slope: Any) -> float:
    return turning_point(lambda c: float(np.dot(scores, slope(c * scores))) >= 0)


@pytest.mark.parametrize("loss", [XENDCG(), LambdaRank()], ids=["xendcg", "lambdarank"])
def test_the_scale_is_where_the_slope_is_0(loss: Any) -> None:
    rng = np.random.default_rng(1)
    groups = Groups.from_qid(np.repeat(np.arange(20), 8))
    y, scores = rng.integers(0, 4, 160).astype(float), rng.normal(size=160)
    scores += y

    def slope(s: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(loss.grad_and_hess(s, y, groups)[0])

    c = best_scale(scores, slope)
    assert c > 0
    around = [float(np.dot(scores, slope(c * (1 + d) * scores))) for d in (-1e-6, 1e-6)]
    assert around[0] < 0 < around[1]


def test_the_scale_minimises_the_loss(grafted: BoostedRanker, parts: Any) -> None:
    train = parts[0]
    scores = train.X @ (grafted.linear_coef_ / grafted.base_scale_)
    loss = XENDCG()

    def value(c: float) -> float:
        return float(loss.value_and_grad(c * scores, train.y, train.groups)[0])

    c = grafted.base_scale_
    assert value(c) < min(value(0.9 * c), value(1.1 * c))


@pytest.mark.parametrize(
    ("scores", "slope", "expected"),
    [
        ([0.0, 0.0], lambda s: s - 1, 0.0),
        ([1.0, -1.0], lambda s: np.array([1.0, -1.0]), 0.0),  # it only rises
        ([1.0, -1.0], lambda s: np.array([-1.0, 1.0]), 2.0**40),  # it only falls
        ([4.0, 0.0], lambda s: s - 1, 0.25),
    ],
)
def test_scales_at_the_edges(scores: list[float], slope: Any, expected: float) -> None:
    assert best_scale(np.array(scores), slope) == expected


@pytest.mark.parametrize(
    ("name", "loss"), [("rank_xendcg", XENDCG()), ("lambdarank", LambdaRank())], ids=str
)
def test_the_scale_for_losses_of_lightgbm_is_that_of_ours(name: str, loss: Any, parts: Any) -> None:
    train = parts[0]
    base = rw.LinearRanker("listnet").fit(train.X, train.y, train.qid)
    theirs, ours = (fit(train, loss=which, base=base) for which in (f"lightgbm:{name}", loss))
    assert theirs.base_scale_ == ours.base_scale_


def test_the_order_of_queries_changes_no_bit_of_the_base(parts: Any) -> None:
    train = parts[0]
    shuffled = train.select(np.random.default_rng(0).permutation(train.n_queries))
    first, second = (fit(data, base="linear") for data in (train, shuffled))
    np.testing.assert_array_equal(first.linear_coef_, second.linear_coef_)
    assert (first.base_scale_, first.base_alpha_) == (second.base_scale_, second.base_alpha_)
    assert first.model_text_ == second.model_text_


def test_the_scale_is_that_of_the_weighted_queries(parts: Any) -> None:
    train = parts[0]
    base = rw.LinearRanker("listnet").fit(train.X, train.y, train.qid)
    half = np.arange(train.n_queries) < train.n_queries // 2
    weighted = BoostedRanker(base=base, **FEW)
    weights = np.repeat(half.astype(float), train.groups.sizes)
    weighted.fit(train.X, train.y, train.qid, query_weight=weights)
    alone, whole = fit(train.select(half), base=base), fit(train, base=base)
    assert weighted.base_scale_ == pytest.approx(alone.base_scale_, rel=1e-9)
    assert weighted.base_scale_ != pytest.approx(whole.base_scale_, rel=1e-3)


# ---- starting and stopping ----


def test_no_tree_is_kept_that_does_not_help(parts: Any) -> None:
    train, valid, test = parts
    params = {**FEW, "n_estimators": 30, "early_stopping_rounds": 3, "learning_rate": 20.0}
    ranker = BoostedRanker(base="linear", **params).fit(train.X, train.y, train.qid, valid=valid)
    assert ranker.n_iter_ == 0
    assert ranker.stop_ == "early_stopping"
    np.testing.assert_allclose(ranker.predict(test.X), test.X @ ranker.linear_coef_, rtol=1e-6)
    assert ranker.best_score_ == pytest.approx(
        rw.metrics.NDCG(k=10).mean(valid.y, ranker.predict(valid.X), valid.groups)
    )
    again = BoostedRanker(**{**ranker.get_params(deep=False), **ranker.grown()})
    again.fit(train.X, train.y, train.qid)
    np.testing.assert_array_equal(again.predict(test.X), ranker.predict(test.X))


def test_the_penalty_is_chosen_on_validation_queries(parts: Any) -> None:
    train, valid, _ = parts
    ranker = BoostedRanker(base="linear", **FEW).fit(train.X, train.y, train.qid, valid=valid)
    base = rw.LinearRanker("xendcg", standardize=True, missing="median")
    points = base.path(train.X, train.y, train.qid, n_alphas=12, valid=valid)
    best = max(points, key=lambda point: point.quality)
    assert ranker.base_alpha_ == pytest.approx(best.alpha)


def penalty_on(train: Dataset, X: Any, valid: Dataset, metric: str, **weights: Any) -> float:
    base = rw.LinearRanker("xendcg", standardize=True, missing="median", n_jobs=1)
    points = base.path(X, train.y, train.qid, n_alphas=12, valid=valid, metric=metric, **weights)
    best = min if metric == "pairwise_error" else max
    return float(best(points, key=lambda point: point.quality).alpha)


def test_the_penalty_goes_by_metric_weights_and_features(parts: Any) -> None:
    train, valid, _ = parts
    # Less is better.
    ranker = BoostedRanker(base="linear", eval_metric="pairwise_error", **FEW)
    ranker.fit(train.X, train.y, train.qid, valid=valid)
    expected = penalty_on(train, train.X, valid, "pairwise_error")
    assert ranker.base_alpha_ == pytest.approx(expected)
    weights: Any = {"query_weight": np.where(train.groups.query_of_rows() < 20, 1.0, 0.05)}
    ranker = BoostedRanker(base="linear", **FEW)
    ranker.fit(train.X, train.y, train.qid, valid=valid, **weights)
    weighted = penalty_on(train, train.X, valid, "ndcg@10", **weights)
    assert ranker.base_alpha_ == pytest.approx(weighted) != pytest.approx(expected)
    # Features without a weight have no say.
    X = np.where(np.isin(np.arange(10), [5, 6, 7]), train.X, np.float32(0))
    ranker = BoostedRanker(base="linear", interaction_constraints=[[5, 6], [7]], **FEW)
    ranker.fit(train.X, train.y, train.qid, valid=valid)
    few = penalty_on(train, X, valid, "ndcg@10")
    assert ranker.base_alpha_ == pytest.approx(few) != pytest.approx(expected)


def test_the_penalty_without_validation_queries(parts: Any) -> None:
    # Three queries are three folds; two have none, and the penalty of old.
    train = parts[0]
    judged = np.flatnonzero([len(set(train.y[rows])) > 1 for rows in train.groups])
    two, three = (fit(train.select(judged[:n]), base="linear") for n in (2, 3))
    assert two.base_alpha_ == linear_base().alpha
    folds = train.select(judged[:3])
    found = choose_alpha(linear_base(n_jobs=1), folds, n_folds=3, metric="ndcg@10")
    assert three.base_alpha_ == pytest.approx(found.alpha) != pytest.approx(two.base_alpha_)
    worse = fit(train, base="linear", eval_metric="pairwise_error")
    chosen = choose_alpha(linear_base(n_jobs=1), train, n_folds=3, metric="pairwise_error")
    assert worse.base_alpha_ == pytest.approx(chosen.alpha)


def test_a_metric_that_looks_at_columns_chooses_the_penalty(parts: Any) -> None:
    train, valid = (
        Dataset(part.X, part.y, part.qid, kept={"group": np.where(part.X[:, 0] > 0, "a", "b")})
        for part in parts[:2]
    )
    ranker = BoostedRanker(
        base="linear", eval_metric="exposure_disparity", eval_train=True, **FEW
    ).fit_dataset(train, valid=valid)
    assert ranker.best_score_ >= 0
    curves = [ranker.evals_result_[part]["exposure_disparity"] for part in ("train", "valid")]
    assert np.isfinite(curves).all()


def test_auto_keeps_what_is_better(parts: Any) -> None:
    train, valid, _ = parts
    found = {
        base: BoostedRanker(base=base, **FEW).fit(train.X, train.y, train.qid, valid=valid)
        for base in (None, "linear", "auto")
    }
    best = max((None, "linear"), key=lambda base: found[base].best_score_)
    assert found["auto"].best_score_ == found[best].best_score_
    assert found["auto"].model_text_ == found[best].model_text_
    # Labels that are steps of a feature: a linear base does not help.
    X = np.random.default_rng(0).normal(size=(600, 3))
    y, qid = (np.abs(X[:, 0]) > 1).astype(int), np.repeat(np.arange(40), 15)
    steps = Dataset(X, y, qid)
    train, valid = steps.split((0.7, 0.3))
    ranker = BoostedRanker(base="auto", **FEW).fit(train.X, train.y, train.qid, valid=valid)
    assert not hasattr(ranker, "linear_coef_")
    assert ranker.grown()["base"] is None


def test_auto_needs_validation_queries(parts: Any) -> None:
    with pytest.raises(ValueError, match="base='auto' needs validation queries"):
        fit(parts[0], base="auto")


def test_scores_from_outside(parts: Any) -> None:
    train, valid, test = parts
    base = rw.LinearRanker("xendcg", standardize=True).fit(train.X, train.y, train.qid)
    order = np.random.default_rng(0).permutation(train.n_docs)
    outside = BoostedRanker(**FEW).fit(
        train.X[order],
        train.y[order],
        train.qid[order],
        init_score=base.predict(train.X)[order],
        valid=valid,
        valid_init_score=base.predict(valid.X),
    )
    assert not hasattr(outside, "linear_coef_")
    fixed = base.predict(test.X) + outside.predict(test.X)
    # The same as a fitted base of scale 1.
    base.coef_ = base.coef_ * fit(train, base=base).base_scale_
    inside = BoostedRanker(base=base, **FEW).fit(train.X, train.y, train.qid, valid=valid)
    scaled = BoostedRanker(**FEW).fit(
        train.X,
        train.y,
        train.qid,
        init_score=base.predict(train.X),
        valid=valid,
        valid_init_score=base.predict(valid.X),
    )
    assert inside.base_scale_ == pytest.approx(1.0)
    np.testing.assert_allclose(
        inside.predict(test.X), base.predict(test.X) + scaled.predict(test.X), rtol=1e-6
    )
    assert outside.n_iter_ == 0 or np.corrcoef(fixed, inside.predict(test.X))[0, 1] > 0.9


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"init_score": "one"}, "valid_init_score goes with valid and init_score"),
        ({"valid_init_score": "other"}, "valid_init_score goes with init_score: give both"),
        ({"init_score": "short", "valid_init_score": "other"}, "init_score must have .* values"),
        ({"init_score": "one", "valid_init_score": "one"}, "valid_init_score must have"),
    ],
)
def test_bad_scores_from_outside(given: dict[str, str], message: str, parts: Any) -> None:
    train, valid, _ = parts
    known = {
        "one": np.zeros(train.n_docs),
        "short": np.zeros(train.n_docs - 1),
        "other": np.zeros(valid.n_docs),
    }
    options: Any = {name: known[value] for name, value in given.items()}
    with pytest.raises(ValueError, match=message):
        BoostedRanker(**FEW).fit(train.X, train.y, train.qid, valid=valid, **options)


def test_fits_that_share_bins_do_not_share_their_start(parts: Any) -> None:
    train, valid, _ = parts

    def fits() -> list[str]:
        return [
            BoostedRanker(base=base, **FEW)
            .fit(train.X, train.y, train.qid, valid=valid)
            .model_text_
            for base in ("linear", None, "linear", "auto")
        ]

    with shared_bins():
        shared = fits()
    assert shared == fits()


# ---- bases ----


def test_a_fitted_base_is_used_as_it_is(parts: Any) -> None:
    train, valid, _ = parts
    base = rw.LinearRanker("listnet").fit(valid.X, valid.y, valid.qid)
    ranker = fit(train, base=base)
    np.testing.assert_allclose(ranker.linear_coef_, ranker.base_scale_ * base.coef_, rtol=1e-12)
    with pytest.raises(ValueError, match="base must have been fitted to the features of X"):
        BoostedRanker(base=base, **FEW).fit(train.X[:, :5], train.y, train.qid)


def test_a_fitted_base_has_the_features_in_their_order(parts: Any) -> None:
    train = parts[0]
    names = [f"f{j}" for j in range(10)]
    base = rw.LinearRanker("listnet").fit_dataset(train.with_features(train.X, names))
    assert BoostedRanker(base=base, **FEW).fit_dataset(train.with_features(train.X, names)).n_iter_
    moved = train.with_features(train.X[:, ::-1], names[::-1])
    with pytest.raises(ValueError, match="to 10 features from 'f0' on, and X has 10 from 'f9' on"):
        BoostedRanker(base=base, **FEW).fit_dataset(moved)


def test_a_base_of_trees_comes_first(parts: Any) -> None:
    train, _, test = parts
    base = fit(train, loss="listnet", n_estimators=3)
    ranker = fit(train, base=base)
    assert (ranker.n_iter_, ranker.base_n_iter_) == (9, 3)
    assert not hasattr(ranker, "linear_coef_")
    np.testing.assert_allclose(
        ranker.predict(test.X, n_trees=3), ranker.base_scale_ * base.predict(test.X), rtol=1e-12
    )
    on_both = fit(train, base=fit(train, base="linear"))
    assert on_both.base_n_iter_ == 6
    assert on_both.base_scale_ == pytest.approx(1, abs=0.5)


@pytest.mark.parametrize(
    ("base", "error", "message"),
    [
        ("ridge", ValueError, "base must be None, 'linear', 'auto' or a ranker"),
        (rw.PRank(), ValueError, "base must be None, 'linear', 'auto' or a ranker"),
        (rw.LinearRanker(alpha=-1), ValueError, "alpha must be"),
        (rw.SLAMPerceptron(kernel="rbf"), TypeError, "must be a weighted sum"),
    ],
)
def test_bad_bases(base: Any, error: type[Exception], message: str, parts: Any) -> None:
    with pytest.raises(error, match=message):
        fit(parts[0], base=base)
    if error is ValueError:  # it needs no data to tell
        with pytest.raises(error, match=message):
            BoostedRanker(base=base).check_params()


def test_categories_are_for_the_trees_alone() -> None:
    rng = np.random.default_rng(0)
    n = 300
    table = {
        "qid": np.repeat(np.arange(20), 15),
        "label": rng.integers(0, 3, n),
        "shop": rng.choice(["a", "b", "c"], n),
        "price": rng.normal(size=n),
    }
    pandas = pytest.importorskip("pandas")
    data = rw.data.from_frame(pandas.DataFrame(table), categorical=["shop"])
    ranker = BoostedRanker(base="linear", **FEW).fit_dataset(data)
    shop = list(ranker.feature_names()).index("shop")
    assert ranker.linear_coef_[shop] == 0
    assert ranker.linear_coef_[1 - shop] != 0
    with pytest.raises(ValueError, match="base must be linear where features are categories"):
        BoostedRanker(base=BoostedRanker(**FEW), **FEW).fit_dataset(data)


def test_limits_of_both_kinds_hold_together(parts: Any) -> None:
    # A weight of the wrong sign goes, and what no interaction allows does not come back for it.
    train = parts[0]
    up = int(np.argmax(fit(train, base="linear").linear_coef_))
    allowed = [up, *[j for j in range(10) if j != up][:4]]
    limits = {"interaction_constraints": [allowed], "monotone_constraints": {up: -1}}
    ranker = fit(train, base="linear", **limits)
    others = np.setdiff1d(np.arange(10), allowed)
    assert ranker.linear_coef_[up] == 0
    assert not ranker.linear_coef_[others].any()
    assert ranker.linear_coef_.any()
    # A base that is given unfitted does not learn from such features either, sparse ones neither.
    base = rw.LinearRanker("xendcg", alpha=0.1, standardize=True)
    dense = fit(train, base=base, interaction_constraints=[allowed])
    assert dense.linear_coef_[up] != 0
    assert not dense.linear_coef_[others].any()
    sparse = BoostedRanker(base=rw.LinearRanker("xendcg"), interaction_constraints=[allowed], **FEW)
    sparse.fit(sp.csr_array(train.X), train.y, train.qid)
    assert not sparse.linear_coef_[others].any()
    assert "coef_" not in vars(base)  # it is a copy that is fitted


def test_the_whole_obeys_constraints(parts: Any) -> None:
    train = parts[0]
    free = fit(train, base="linear").linear_coef_
    up, down = int(np.argmax(free)), int(np.argsort(free)[-2])
    ranker = fit(train, base="linear", monotone_constraints={up: -1, down: 1})
    assert ranker.linear_coef_[up] == 0
    assert ranker.linear_coef_[down] > 0
    X = np.repeat(train.X[:20], 30, axis=0)
    for feature, sign in ((up, -1), (down, 1)):
        moved = X.copy()
        moved[:, feature] = np.tile(np.linspace(-5, 200, 30), 20)
        steps = np.diff(ranker.predict(moved).reshape(20, 30), axis=1)
        assert (sign * steps >= 0).all()
    groups = fit(train, base="linear", interaction_constraints=[[0, 1], [2, 3]])
    assert not groups.linear_coef_[4:].any()
    assert groups.linear_coef_[:4].any()
    for base, message in (
        (rw.LinearRanker("xendcg", alpha=0.1, standardize=True), "obey the constraints too"),
        (BoostedRanker(**FEW), "base must be linear where features are"),
        (fit(train, n_estimators=1), "base must be linear where features are"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(train, base=base, monotone_constraints={up: -1})
    # A fitted base has weights where no interaction is allowed.
    base = rw.LinearRanker("xendcg").fit(train.X, train.y, train.qid)
    with pytest.raises(ValueError, match="obey the constraints too"):
        fit(train, base=base, interaction_constraints=[[0, 1]])


# ---- as a whole ----


def test_a_second_fit_forgets_the_base(parts: Any) -> None:
    train, _, test = parts
    ranker = fit(train, base="linear")
    ranker.set_params(base=None).fit(train.X, train.y, train.qid)
    assert not [name for name in vars(ranker) if name.startswith(("linear_", "base_"))]
    np.testing.assert_array_equal(ranker.predict(test.X), fit(train).predict(test.X))


@pytest.mark.parametrize(
    "base",
    [
        "linear",
        rw.LinearRanker("listnet", alpha=0.1),
        BoostedRanker(base=rw.DominationRank(), **FEW),
    ],
    ids=["name", "linear", "nested"],
)
def test_saved_and_loaded(base: Any, parts: Any, tmp_path: Path) -> None:
    train, _, test = parts
    ranker = fit(train, base=base)
    path = tmp_path / "model.rw"
    rw.save(ranker, path)
    scores = ranker.predict(test.X)
    again = rw.load(path)
    assert repr(again) == repr(ranker)
    for other in (again, rw.load(path, scorer=True), pickle.loads(pickle.dumps(ranker))):
        np.testing.assert_array_equal(other.predict(test.X), scores)
    best = rw.load(path, scorer=True).predict(test.X, top_k=2, qid=test.qid)
    np.testing.assert_array_equal(best, ranker.predict(test.X, top_k=2, qid=test.qid))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("linear_coef_", np.ones(3), "linear_coef_ must be an array"),
        ("linear_fill_", np.full(10, np.nan), "linear_fill_ must be finite"),
        ("linear_intercept_", 1, "linear_intercept_ must be a number"),
        ("linear_intercept_", float("nan"), "linear_intercept_ must be a number"),
        ("linear_spread_", np.ones(2), "linear_spread_ must be an array"),
        ("linear_coef_", None, "is for models with linear_coef_"),
    ],
)
def test_files_that_cannot_be(name: str, value: Any, message: str, grafted: Any) -> None:
    ranker = pickle.loads(pickle.dumps(grafted))
    if value is None:
        del vars(ranker)[name]
    else:
        setattr(ranker, name, value)
    with pytest.raises(DataError, match=message):
        ranker.check_state()


def test_an_engines_arithmetic_has_the_same_fill(parts: Any) -> None:
    train = parts[0]
    X = train.X.astype(np.float64)
    X[::5, 1] = np.nan
    ranker = BoostedRanker(base="linear", **FEW).fit(X, train.y, train.qid)
    expected = ranker.predict(X)
    ranker.arithmetic_ = "float64"
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-5, atol=1e-5)
    ranker.check_state()
    ranker.arithmetic_ = "float16"
    with pytest.raises(DataError, match="arithmetic_ must be one of"):
        ranker.check_state()


def test_pickles_hold_the_trees_once(grafted: BoostedRanker, parts: Any) -> None:
    grafted.predict(parts[2].X)
    assert "_compiled" in vars(grafted)
    assert "_compiled" not in grafted.__getstate__()


def test_validation_queries_have_the_features_by_name(parts: Any) -> None:
    names = [f"f{j}" for j in range(10)]
    train, valid = (part.with_features(part.X, names) for part in parts[:2])
    moved = valid.with_features(valid.X[:, ::-1], names[::-1])
    first, second = (
        BoostedRanker(base="linear", **FEW).fit_dataset(train, valid=data)
        for data in (valid, moved)
    )
    assert first.best_score_ == second.best_score_
    assert first.evals_result_ == second.evals_result_


def test_importance_counts_both_parts(grafted: BoostedRanker, parts: Any) -> None:
    by_weights = np.abs(grafted.linear_coef_) * parts[0].X.std(axis=0)
    found = grafted.feature_importances_
    np.testing.assert_allclose(found - grafted._scorer().forest.deviations(), by_weights, rtol=1e-5)
    assert (grafted.importance("split") <= 6 * 4).all()
    trees = fit(parts[0])
    np.testing.assert_array_equal(trees.feature_importances_, trees.importance("gain"))
    with pytest.raises(AttributeError, match="would lack the linear part"):
        _ = grafted.booster_
    with pytest.raises(ValueError, match="kind must be 'gain', 'split' or 'deviation'"):
        grafted.importance("shap")


def test_deviations_of_one_tree(parts: Any) -> None:
    # One tree that splits once: the deviation of its scores on the training documents.
    train = parts[0]
    ranker = fit(train, n_estimators=1, num_leaves=2)
    deviations = ranker.importance("deviation")
    assert np.count_nonzero(deviations) == 1
    assert deviations.max() == pytest.approx(ranker.predict(train.X).std())
    # One that splits often: parts of its variance.
    ranker = fit(train, n_estimators=1, num_leaves=8)
    whole = np.sum(ranker.importance("deviation") ** 2)
    assert whole == pytest.approx(ranker.predict(train.X).var())
    # Trees that agree: their deviations add up.
    one = Additive.of(ranker)
    both = Forest.from_text(summed([(one, 1.0), (one, 2.0)]).text, 10)
    np.testing.assert_allclose(both.deviations(), 3 * ranker.importance("deviation"), rtol=1e-12)


def test_weights_reach_the_base(parts: Any) -> None:
    train = parts[0]
    chosen = train.groups.query_of_rows() < 20
    weights = np.where(chosen, 1.0, 0.0)
    base = rw.LinearRanker("xendcg", alpha=0.1)
    ranker = BoostedRanker(base=base, **FEW)
    ranker.fit(train.X, train.y, train.qid, query_weight=weights)
    expected = base.fit(train.X, train.y, train.qid, query_weight=weights).coef_
    np.testing.assert_allclose(
        ranker.linear_coef_, ranker.base_scale_ * expected, rtol=1e-8, atol=1e-12
    )


def test_weights_of_documents_reach_the_base(parts: Any) -> None:
    train = parts[0]
    weights = np.random.default_rng(0).uniform(0.1, 2.0, train.n_docs)
    base = rw.LinearRanker("xendcg", alpha=0.1)
    ranker = BoostedRanker(base=base, **FEW)
    ranker.fit(train.X, train.y, train.qid, sample_weight=weights)
    expected = base.fit(train.X, train.y, train.qid, sample_weight=weights).coef_
    np.testing.assert_allclose(
        ranker.linear_coef_, ranker.base_scale_ * expected, rtol=1e-8, atol=1e-12
    )


# ---- sums of sums ----


def test_what_is_added_to_every_score_is_multiplied_too(grafted: Any, parts: Any) -> None:
    moved = pickle.loads(pickle.dumps(grafted))
    moved.linear_intercept_ = 0.75
    found = Additive.of(moved)
    X = parts[2].X
    for scores in (found.scores(X), moved.predict(X)):
        np.testing.assert_allclose(scores, grafted.predict(X) + 0.75, rtol=1e-12)
    assert moved.contributions(X)[1] == pytest.approx(grafted.contributions(X)[1] + 0.75)
    whole = summed([(found, 2.0), (Additive(10, np.ones(10), 1.0, found.fill), -3.0)])
    assert whole.intercept == 2 * 0.75 - 3
    # One leaf that is not 0 is a tree.
    leaf = Additive(2, text=written(2, [{"leaf_value": "0.5"}]))
    assert (leaf.n_trees, Additive(2).n_trees) == (1, 0)


def test_values_of_inner_nodes_are_multiplied_too(parts: Any) -> None:
    def numbers(text: str, name: str) -> list[float]:
        lines = [line.partition("=")[2] for line in text.splitlines() if line.startswith(name)]
        return [float(number) for line in lines for number in line.split(" ")]

    once = Additive.of(fit(parts[0]))
    twice = once.scaled(2.0)
    for name in ("leaf_value=", "internal_value="):
        assert numbers(twice.text, name) == [2 * value for value in numbers(once.text, name)]
    assert numbers(twice.text, "split_gain=") == numbers(once.text, "split_gain=")


def test_fills_of_sums() -> None:
    ones, weights = np.ones(2), np.array([1.0, 0.0])
    without = summed([(Additive(2, ones, fill=ones), 1.0), (Additive(2, ones), 1.0)])
    assert without.fill is None  # a term that takes no missing values
    # A feature without a weight has no say, whatever stands for it.
    found = summed([(Additive(2, weights, fill=c * ones), 1.0) for c in (1.0, 3.0)])
    assert found.fill is not None
    assert found.fill.tolist() == [2.0, 1.0]


def test_sums_of_rankers(parts: Any) -> None:
    train, _, test = parts
    models = [
        fit(train, base="linear"),
        fit(train, loss="lambdarank"),
        rw.LinearRanker("listnet", missing="zero").fit(train.X, train.y, train.qid),
    ]
    factors = [0.5, 2.0, -3.0]
    terms = [(Additive.of(model), factor) for model, factor in zip(models, factors, strict=True)]
    whole = summed(terms)
    X = test.X.astype(np.float64)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    expected = sum(f * model.predict(X) for model, f in zip(models, factors, strict=True))
    np.testing.assert_allclose(whole.scores(X), expected, rtol=1e-9, atol=1e-9)
    assert whole.n_trees == 12
    # Ranges of features are told where all terms tell the same.
    (alone,) = re.findall("feature_infos=(.*)", models[1].model_text_)
    assert re.findall("feature_infos=(.*)", summed([terms[1], terms[1]]).text) == [alone]
    other = Additive.of(fit(test))
    (both,) = re.findall("feature_infos=(.*)", summed([terms[1], (other, 1.0)]).text)
    (theirs,) = re.findall("feature_infos=(.*)", other.text)
    pairs = zip(alone.split(), theirs.split(), strict=True)
    assert both.split() == [a if a == b else "none" for a, b in pairs]
    assert both != alone
    assert repr(whole).startswith("Additive(")


def test_ranges_of_features_are_those_of_the_trees(parts: Any) -> None:
    train = parts[0]
    infos = [
        next(line for line in text.splitlines() if line.startswith("feature_infos="))
        for text in (fit(train).model_text_, fit(train, base="linear").model_text_)
    ]
    assert infos[0] == infos[1]
    assert "[" in infos[0]


def test_fills_that_cannot_be_one() -> None:
    ones = np.ones(2)
    terms = [Additive(2, ones, fill=ones), Additive(2, -ones, fill=2 * ones)]
    with pytest.raises(ValueError, match="feature 1 has weights whose sum is 0"):
        summed([(term, 1.0) for term in terms])
