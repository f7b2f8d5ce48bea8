"""DominationRank: optima, feature induction, layers, margins, negatives, stops, messages."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import rankwright as rw
from rankwright.data import Dataset, Groups
from rankwright.exceptions import ConvergenceWarning
from rankwright.linear import DominationRank, LinearRanker
from rankwright.linear.domination_rank import keep_negatives, layer_cuts
from rankwright.losses import Domination, LinearMargin, LogMargin
from rankwright.metrics import AP
from rankwright.penalties import ElasticNet
from rankwright.solvers import Objective, Share, minimize
from rankwright.solvers.descent import Descent
from tests.reference import solvers as reference

# Many data here are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:this model ranks nothing")

Floats = Any


def random_problem(seed: int) -> tuple[Dataset, dict[str, Any]]:
    """Return queries of several sizes, layers, densities and scales, and what to fit them with."""
    rng = np.random.default_rng(seed)
    n_queries, d = int(rng.integers(1, 6)), int(rng.integers(2, 9))
    sizes = rng.integers(1, 15, n_queries)
    n = int(sizes.sum())
    X = rng.normal(size=(n, d)) * rng.choice([0.1, 1.0, 10.0], d)
    X[rng.random((n, d)) < rng.choice([0.0, 0.5, 0.8])] = 0.0
    K = int(rng.integers(2, 5))
    y = rng.integers(0, K, n).astype(np.float64)
    margin = [
        None,
        float(rng.normal()),
        lambda y: 0.5 * y,
        LogMargin(0.5, 0.3),
        rng.uniform(0, 2, K - 1),
        rng.uniform(-1, 2, (K, K)),
    ][seed % 6]
    penalty = ["l1", "l2", "elasticnet"][seed % 3]
    data = Dataset(sp.csr_array(X) if seed % 2 else X, y, np.repeat(np.arange(n_queries), sizes))
    # A penalty that leaves something to learn.
    _, slope = Domination(margin).value_and_grad(np.zeros(n), data.y, data.groups)
    steepest = np.abs(data.X.T @ slope).max() / n_queries
    alpha = float(max(steepest, 1e-3) * rng.choice([0.01, 0.1, 0.5]))
    options = {
        "penalty": penalty,
        "alpha": alpha,
        "margin": margin,
        "n_induced": [None, 1, 3][(seed // 3) % 3],
        "step": "newton",
        "tol": 1e-9,
        "max_iter": 100_000,
    }
    return data, options


def objective_and_gradient(
    w: Floats, data: Dataset, margin: Any, penalty: ElasticNet
) -> tuple[float, Floats]:
    """Return the smooth part at w: mean loss and ridge."""
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    value, slope = Domination(margin).value_and_grad(X @ w, data.y, data.groups)
    n = data.n_queries
    return value / n + penalty.l2 / 2 * float(w @ w), X.T @ slope / n + penalty.l2 * w


# --- optima ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(120))
def test_random_problems_reach_their_optimum_without_a_rise(seed: int) -> None:
    data, options = random_problem(seed)
    ranker = DominationRank(**options).fit(data.X, data.y, data.qid)
    history = np.array(ranker.objective_)
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    penalty = ElasticNet.from_name(options["penalty"], options["alpha"], 0.5)
    w = ranker.coef_
    value, gradient = objective_and_gradient(w, data, options["margin"], penalty)
    start, at_zero = objective_and_gradient(0 * w, data, options["margin"], penalty)
    assert history[-1] == pytest.approx(value + penalty.l1 * np.abs(w).sum(), rel=1e-12)
    # KKT, from the definition of the subdifferential.
    violation = reference.violation(w, gradient - penalty.l2 * w, penalty.l1, penalty.l2)
    tol = 1e-9 * np.abs(at_zero).max(initial=0.0) + 1e-13 * start
    assert violation.max(initial=0.0) <= (2 if ranker.stop_ == "converged" else 100) * tol
    assert ranker.gap_ <= 1e-6 * max(start, 1e-9)
    if options["penalty"] == "l2":
        best = scipy.optimize.minimize(
            objective_and_gradient,
            np.zeros(len(w)),
            (data, options["margin"], penalty),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-12},
        ).fun
        assert history[-1] == pytest.approx(best, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("step", ["range", "thesis"])
def test_the_other_steps_never_rise_either(step: Any) -> None:
    for seed in range(60):
        data, options = random_problem(seed)
        ranker = DominationRank(**options | {"step": step, "max_updates": 100})
        history = np.array(ranker.fit(data.X, data.y, data.qid).objective_)
        assert (np.diff(history) <= 1e-12 * history[0]).all()


def two_classes(seed: int = 0, n: int = 300, d: int = 200, n_useful: int = 5) -> Dataset:
    """Return sparse documents of which a tenth is relevant, told by a few features."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.05, rng=rng, data_sampler=rng.random).tocsr()
    useful = rng.choice(d, n_useful, replace=False)
    dense = X.toarray()
    dense[:, useful] += rng.random((n, n_useful)) * (rng.random((n, n_useful)) < 0.3)
    truth = dense[:, useful].sum(axis=1) + 0.1 * rng.normal(size=n)
    return Dataset(sp.csr_array(dense), (truth > np.quantile(truth, 0.9)).astype(float), None)


@pytest.mark.parametrize("penalty", ["l1", "l2", "elasticnet"])
@pytest.mark.parametrize("n_induced", [None, 1, 4, 1000])
def test_induction_ends_at_the_optimum_over_all_features(
    penalty: str, n_induced: int | None
) -> None:
    ds = two_classes()
    found = DominationRank(penalty, 0.5, n_induced=n_induced).fit(ds.X, ds.y)
    plain = LinearRanker("domination", penalty, 0.5, solver="coordinate_descent", tol=1e-7)
    plain.fit(ds.X, ds.y)
    assert found.stop_ == "converged"
    assert found.objective_[-1] == pytest.approx(plain.objective_[-1], rel=1e-8)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-3)


def test_l1_and_induction_find_the_few_features_that_matter() -> None:
    ds = two_classes(n_useful=3)
    ranker = DominationRank("l1", 1.0, n_induced=1).fit(ds.X, ds.y)
    dense = DominationRank("l2", 0.01).fit(ds.X, ds.y)
    test = two_classes(n_useful=3)
    ap = AP()
    assert 3 <= len(ranker.selected_features_) <= 20
    assert ranker.sparsity_ == 1 - np.count_nonzero(ranker.coef_) / 200
    assert np.count_nonzero(dense.coef_) > 150
    assert ap.mean(test.y, ranker.predict(test.X)) > ap.mean(test.y, dense.predict(test.X)) - 0.1
    strongest = np.argsort(-np.abs(ranker.coef_))[:3]
    assert set(strongest.tolist()) <= set(ranker.selected_features_[:6].tolist())


def test_selected_features_are_those_with_a_weight_in_their_order() -> None:
    ds = two_classes()
    one = DominationRank("l1", 0.5, n_induced=1).fit(ds.X, ds.y)
    selected = one.selected_features_
    assert sorted(selected.tolist()) == np.flatnonzero(one.coef_).tolist()
    # The first feature is the one whose own best move promises most.
    target = Objective([Share(ds.X, ds.y, ds.groups)], Domination(), ElasticNet(l1=0.5))
    alone: Any = minimize(target, solver="feature_induction", n_induced=1, max_iter=1)
    assert alone.selected.tolist() == selected[:1].tolist()


def test_the_promised_decrease_is_kept() -> None:
    for seed in range(60):
        data, options = random_problem(seed)
        penalty = ElasticNet.from_name(options["penalty"], options["alpha"], 0.5)
        share = Share(data.X, data.y, data.groups)
        target = Objective([share], Domination(options["margin"]), penalty)
        rng = np.random.default_rng(seed)
        w = rng.normal(size=data.n_features) * (rng.random(data.n_features) < 0.5)
        d = data.n_features
        step: Any = ["newton", "range", "thesis"][seed % 3]
        descent = Descent(target, step)

        def value(w: Floats, target: Any = target) -> float:
            loss, _ = target.loss_and_slope(target.scores(w))
            return float(loss + target.penalty.value(w))

        scores = target.whole.scores(w)
        descent.start(scores)
        promised, violation = descent.promises(penalty, w)
        _, slope = target.loss_and_slope(target.scores(w))
        wanted = penalty.violation(w, target.gradient(slope))
        np.testing.assert_allclose(violation, wanted, rtol=1e-9, atol=1e-12)
        for r in range(d):
            moved = w.copy()
            descent.start(scores)
            descent.sweep(np.array([r]), penalty, moved)
            gain = value(w) - value(moved)
            assert gain >= promised[r] - 1e-12 * value(w)
            if violation[r] > 1e-9:
                assert promised[r] > 0


# --- limits ------------------------------------------------------------------------------------


def test_max_updates_is_never_exceeded() -> None:
    ds = two_classes()
    full = DominationRank("l1", 0.5, n_induced=3).fit(ds.X, ds.y)
    assert full.n_updates_ is not None
    assert full.n_updates_ > 50
    for limit in (0, 1, 7, 50):
        ranker = DominationRank("l1", 0.5, n_induced=3, max_updates=limit).fit(ds.X, ds.y)
        assert (ranker.stop_, ranker.n_updates_) == ("max_updates", limit)
        assert len(ranker.selected_features_) <= limit
    assert ranker.objective_[-1] < ranker.objective_[0]


def test_min_decrease_ends_early_with_fewer_features() -> None:
    ds = two_classes()
    counts = []
    for share in (0.0, 1e-3, 0.1, 0.9):
        ranker = DominationRank("l2", 0.1, n_induced=20, min_decrease=share).fit(ds.X, ds.y)
        assert ranker.stop_ == ("converged" if share == 0 else "small_decrease")
        assert ranker.gap_ >= 0
        counts.append(len(ranker.selected_features_))
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 100 > counts[2] > counts[3] >= 1


def test_max_iter_warns() -> None:
    ds = two_classes()
    with pytest.warns(ConvergenceWarning, match=r"^stopped after 2 iterations with violation "):
        ranker = DominationRank(max_iter=2).fit(ds.X, ds.y)
    assert (ranker.stop_, ranker.n_iter_) == ("max_iter", 2)


# --- queries, layers, margins ------------------------------------------------------------------


def graded(seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 20, 12)
    n = int(sizes.sum())
    X = rng.normal(size=(n, 4))
    truth = X @ [1, -0.5, 0, 0] + 0.5 * rng.normal(size=n)
    y = np.digitize(truth, [0, 0.7, 1.5]).astype(float)
    return Dataset(X, y, np.repeat(np.arange(12), sizes))


def test_pooled_is_one_query() -> None:
    ds = graded()
    pooled = DominationRank(alpha=0.1, pooled=True, tol=1e-9).fit(ds.X, ds.y, ds.qid)
    one = DominationRank(alpha=0.1, tol=1e-9).fit(ds.X, ds.y)
    aware = DominationRank(alpha=0.1, tol=1e-9).fit(ds.X, ds.y, ds.qid)
    np.testing.assert_array_equal(pooled.coef_, one.coef_)
    assert np.abs(pooled.coef_ - aware.coef_).max() > 1e-3


def test_cut_points_make_layers() -> None:
    ds = graded()
    flat = DominationRank(layers=[1]).fit(ds.X, ds.y, ds.qid)
    binary = DominationRank().fit(ds.X, (ds.y >= 1).astype(float), ds.qid)
    np.testing.assert_array_equal(flat.coef_, binary.coef_)
    assert flat.layers_ == (1.0,)
    assert binary.layers_ is None


def test_a_number_of_layers_cuts_positive_feedback_at_its_quantiles() -> None:
    y = np.array([0.0, -1, 0, 1, 2, 3, 4, 5, 6])
    cuts = layer_cuts(y, 4)
    assert np.digitize(y, cuts).tolist() == [0, 0, 0, 1, 1, 2, 2, 3, 3]
    assert layer_cuts(y, 2) == (1.0,)
    assert np.digitize([0.0, 1e-9], layer_cuts(np.zeros(3), 3)).tolist() == [0, 1]
    assert len(layer_cuts(np.array([0.0, 1, 1, 1]), 5)) == 1  # no more layers than labels
    ds = graded()
    clicks = np.where(ds.y > 0, np.exp(ds.y), 0.0)
    ranker = DominationRank(layers=3).fit(ds.X, clicks, ds.qid)
    layer = np.digitize(clicks, ranker.layers_)
    again = DominationRank().fit(ds.X, layer, ds.qid)
    np.testing.assert_array_equal(ranker.coef_, again.coef_)


def test_margins_follow_the_feedback_while_layers_are_flat() -> None:
    # The thesis' margin variant: positives against negatives, with more room for more feedback.
    ds = graded()
    ranker = DominationRank(margin=LinearMargin(2.0, 0.5), layers=[1], tol=1e-10)
    ranker.fit(ds.X, ds.y, ds.qid)
    value = 0.0
    for rows in ds.groups:
        s, r = ds.X[rows] @ ranker.coef_, ds.y[rows]
        t = np.where(r > 0, 2.0 * r + 0.5, 0.0)
        for i in np.flatnonzero(r >= 1):
            value += math.log1p(
                sum(np.exp(t[i] - t[j] + s[j] - s[i]) for j in np.flatnonzero(r < 1))
            )
    penalty = 1e-3 / 2 * ranker.coef_ @ ranker.coef_
    assert ranker.objective_[-1] == pytest.approx(value / 12 + penalty, rel=1e-12)


def test_margins_of_boundaries_add_up() -> None:
    ds = graded()
    by_boundary = DominationRank(margin=[0.5, 1.0, 0.25]).fit(ds.X, ds.y, ds.qid)
    steps = np.array([0, 0.5, 1.5, 1.75])
    by_pair = DominationRank(margin=steps[:, None] - steps).fit(ds.X, ds.y, ds.qid)
    np.testing.assert_allclose(by_boundary.coef_, by_pair.coef_, rtol=1e-5)


# --- negatives ---------------------------------------------------------------------------------


def test_a_share_of_the_negatives_is_kept() -> None:
    rng = np.random.default_rng(0)
    groups = Groups(np.array([0, 1000, 1010, 1011, 1500]), np.array(["a", "b", "c", "d"]))
    layer = rng.integers(0, 3, 1500).astype(float)
    layer[1010] = 2.0  # the lowest layer of its query
    rows = keep_negatives(layer, groups, 0.1, 0)
    kept = np.zeros(1500, dtype=bool)
    kept[rows] = True
    assert kept[layer == 2].all()
    for q, sl in enumerate(groups):
        lowest = layer[sl] == layer[sl].min()
        assert kept[sl][~lowest].all()
        assert kept[sl][lowest].sum() == max(round(0.1 * lowest.sum()), 1), q
    np.testing.assert_array_equal(rows, keep_negatives(layer, groups, 0.1, 0))
    assert not np.array_equal(rows, keep_negatives(layer, groups, 0.1, 1))
    assert len(keep_negatives(layer, groups, 1.0, 0)) == 1500


def test_the_draw_depends_on_the_query_and_not_on_its_place() -> None:
    ds = graded()
    fitted = DominationRank(negatives=0.3, tol=1e-9).fit(ds.X, ds.y, ds.qid)
    shuffled = np.argsort((ds.qid * 7) % 12, kind="stable")
    other = DominationRank(negatives=0.3, tol=1e-9)
    other.fit(ds.X[shuffled], ds.y[shuffled], ds.qid[shuffled])
    np.testing.assert_allclose(other.coef_, fitted.coef_, atol=1e-7)
    seeded = DominationRank(negatives=0.3, random_state=1).fit(ds.X, ds.y, ds.qid)
    assert np.abs(seeded.coef_ - fitted.coef_).max() > 1e-3


def test_pooled_with_negatives() -> None:
    ds = graded()
    ranker = DominationRank(negatives=0.5, pooled=True).fit(ds.X, ds.y, ds.qid)
    assert ranker.score(ds.X, ds.y, ds.qid) > 0.8


# --- paths, files, messages --------------------------------------------------------------------


def test_path_counts_features_and_measures_what_is_asked_for() -> None:
    train, valid = graded(), graded(1)
    ranker = DominationRank("l1", n_induced=1, layers=[1])
    path = ranker.path(train.X, train.y, train.qid, n_alphas=6, valid=valid, metric=AP())
    assert path[0].n_features == 0
    assert path[-1].n_features >= path[2].n_features > 0
    for point in path:
        scores = valid.X @ point.coef
        assert point.quality == pytest.approx(AP().mean(valid.y, scores, valid.groups))
        loss = Domination(layers=[1]).value_and_grad(scores, valid.y, valid.groups)[0] / 12
        assert point.valid_loss == pytest.approx(loss)
        alone = DominationRank("l1", point.alpha, layers=[1]).fit(train.X, train.y, train.qid)
        np.testing.assert_allclose(point.coef, alone.coef_, atol=1e-4)


@pytest.mark.parametrize("margin", [None, 1.5, LogMargin(), LinearMargin(3.0), [0.5, 1.0, 1.0]])
def test_saved_and_loaded(margin: Any, tmp_path: Any) -> None:
    ds = graded()
    ranker = DominationRank("l1", 0.01, margin=margin, n_induced=2)
    ranker.fit_dataset(Dataset(ds.X, ds.y, ds.qid, feature_names=list("abcd")))
    rw.save(ranker, tmp_path / "model.rw")
    again = rw.load(tmp_path / "model.rw")
    np.testing.assert_array_equal(again.predict(ds.X), ranker.predict(ds.X))
    assert again.margin == margin
    assert again.feature_names() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(again.selected_features_, ranker.selected_features_)


def test_a_function_as_margin_is_not_saved(tmp_path: Any) -> None:
    ds = graded()
    ranker = DominationRank(margin=lambda y: y).fit(ds.X, ds.y, ds.qid)
    with pytest.raises(TypeError, match=r"^margin must be a number, a text, an array or a loss"):
        rw.save(ranker, tmp_path / "model.rw")


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"penalty": "l3"}, "penalty must be 'l1', 'l2', 'elasticnet' or None, but is 'l3'."),
        ({"alpha": -1.0}, "alpha must be a number >= 0, but is -1.0."),
        ({"negatives": 0.0}, "negatives must be a number in (0, 1] or None, but is 0.0."),
        ({"negatives": 1.5}, "negatives must be a number in (0, 1] or None, but is 1.5."),
        ({"n_induced": 0}, "n_induced must be a positive integer or None, but is 0."),
        ({"min_decrease": -0.1}, "min_decrease must be a number from 0 to below 1, but is -0.1."),
        ({"min_decrease": 1.0}, "min_decrease must be a number from 0 to below 1, but is 1.0."),
        ({"max_updates": -1}, "max_updates must be an integer of at least 0 or None, but is -1."),
        ({"layers": 1}, "layers must be at least 2, or cut points, but is 1."),
        ({"layers": [2, 1]}, "layers must be increasing finite numbers, but is [2, 1]."),
        ({"layers": "many"}, "layers must be increasing finite numbers, but is 'many'."),
        ({"margin": "wide"}, "margin must be None, a finite number, a function of the labels, or"),
        (
            {"margin": [1.0]},
            "margins by layer need labels 0 to 1, but there are",
        ),
        ({"step": "long"}, "step must be one of newton, range, thesis, but is 'long'."),
    ],
    ids=str,
)
def test_bad_parameters(parameters: dict[str, Any], text: str) -> None:
    ds = graded()
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        DominationRank(**parameters).fit(ds.X, ds.y, ds.qid)
    assert str(caught.value).startswith(text)


# --- odd data ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_induced", [None, 1])
def test_odd_data(n_induced: int | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "this model ranks nothing")
        fit = DominationRank("l1", 0.1, n_induced=n_induced, negatives=0.5).fit
        assert not fit([[1.0, 2.0]], [1.0]).coef_.any()
        assert not fit(np.ones((4, 2)), [1.0, 0, 2, 0]).coef_.any()  # constant features
        assert not fit(np.eye(4), np.ones(4)).coef_.any()  # equal labels
        assert not fit(np.eye(4), [0.0, 1, 0, 1], [1, 2, 3, 4]).coef_.any()  # lone documents
        far = fit([[1e6], [0.0], [-1e6]], [2.0, 1, 0])
        assert np.isfinite(far.coef_).all()
        assert far.coef_[0] > 0
        negative = fit([[1.0], [0.0], [2.0]], [0.5, -3.0, 40.0])
        assert negative.coef_[0] > 0


def test_a_hundred_thousand_documents_of_one_query() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 3)).astype(np.float32)
    y = (X[:, 0] + rng.normal(size=100_000) > 2).astype(float)
    ranker = DominationRank("l1", 100.0, n_induced=1, negatives=0.1)
    ranker.fit(X, y, np.zeros(len(y), int))
    assert ranker.stop_ == "converged"
    assert ranker.selected_features_[0] == 0
