"""LinearRanker: standardisation, paths, messages, odd data."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rankwright.data import Dataset, Groups, make_mslr_like
from rankwright.exceptions import ConvergenceWarning
from rankwright.linear import LinearRanker
from rankwright.losses import LOSSES, XENDCG, Domination, ListNet
from rankwright.metrics import NDCG
from rankwright.penalties import ElasticNet
from rankwright.scaling import by_deviation

# Many data here are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:this model ranks nothing")

ALL_LOSSES = list(LOSSES)


def make_data(n_queries: int = 15, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 16, n_queries)
    n = int(sizes.sum())
    X = rng.normal(size=(n, 6)) * [1, 100, 0.01, 1, 5, 2] + [0, 300, 0, -1, 50, 0]
    truth = X @ [1, 0.01, 50, 0, 0, 0] + rng.normal(size=n)
    y = np.digitize(truth, np.quantile(truth, [0.5, 0.8, 0.95])).astype(np.float64)
    return Dataset(X, y, np.repeat(np.arange(n_queries), sizes))


# --- features of very different sizes ----------------------------------------------------------


def test_a_bundle_finds_its_way_among_features_of_other_sizes() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * [1e3, 1, 1, 1]
    y = np.clip(np.round(X[:, 1] - X[:, 2] + 1), 0, 3)
    qid = np.repeat(np.arange(30), 10)
    raw = LinearRanker("slam").fit(X, y, qid)
    scaled = LinearRanker("slam").fit(X / [1e3, 1, 1, 1], y, qid)
    assert (raw.stop_, scaled.stop_) == ("converged", "converged")
    assert 0 <= raw.gap_ <= 1e-4 * raw.objective_[0]
    # A weight of the first feature costs less here: the minimum is not above the other.
    assert raw.objective_[-1] <= scaled.objective_[-1] + raw.gap_ < 0.5 * raw.objective_[0]


@pytest.mark.parametrize("alpha", [1e-4, 1e-5])
def test_a_bundle_frees_a_proximal_term_that_hides_the_minimum(alpha: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * [1e3, 1, 1, 1]
    y = np.clip(np.round(X[:, 1] - X[:, 2] + 1), 0, 3)
    ranker = LinearRanker("slam", alpha=alpha).fit(X, y, np.repeat(np.arange(30), 10))
    assert ranker.stop_ == "converged"
    assert ranker.n_iter_ < 80  # about a hundred with a term that stays


def test_rounding_is_part_of_a_certified_gap() -> None:
    gaps, qid = [], np.repeat(np.arange(3), 10)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(30, 1)), rng.integers(0, 3, 30)
        gaps.append(LinearRanker("rank_hinge", alpha=0.1, tol=1e-13).fit(X, y, qid).gap_)
        if seed == 0:  # a tolerance below the last digit
            assert LinearRanker("slam", alpha=0.1, tol=1e-16).fit(X, y, qid).gap_ >= 0
    # The minimum is found to the last digit, and no better is known of it.
    assert min(gaps) >= 0
    assert np.quantile(gaps, 0.1) > 0


def test_a_bundle_frees_its_proximal_term_only_where_that_hides_the_minimum() -> None:
    ds = make_mslr_like(n_queries=100, mean_docs=20)
    ranker = LinearRanker("slam", standardize=True, max_iter=500)  # 218; 1,262 if it always did
    assert ranker.fit(ds.X, ds.y, ds.qid).stop_ == "converged"


def test_a_bundle_that_cannot_see_the_gap_says_so() -> None:
    rng = np.random.default_rng(0)
    X = 1e29 * rng.normal(size=(300, 6))
    y = np.clip(np.round(X @ rng.normal(size=6) / 1e29 + rng.normal(size=300) + 1), 0, 3)
    with pytest.warns(ConvergenceWarning, match="No step gains a digit: the features are of very"):
        ranker = LinearRanker("slam").fit(X, y, np.repeat(np.arange(30), 10))
    assert ranker.stop_ == "stalled"
    assert ranker.gap_ > 0
    assert ranker.violation_ == np.inf  # it certifies nothing
    assert np.isfinite(ranker.coef_).all()


# --- standardisation ---------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["xendcg", "listnet", "domination", "slam", "rank_logistic"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_standardisation_is_folded_back(loss: str, penalty: str) -> None:
    ds = make_data()
    deviation = ds.X.std(axis=0)
    tol = None if loss == "slam" else 1e-8
    options: dict[str, Any] = {"penalty": penalty, "alpha": 0.05, "tol": tol}
    inside = LinearRanker(loss, standardize=True, **options).fit(ds.X, ds.y, ds.qid)
    outside = LinearRanker(loss, **options).fit(ds.X / deviation, ds.y, ds.qid)
    if loss == "slam":  # a bundle stops at an objective, not at weights
        assert inside.objective_[-1] == pytest.approx(outside.objective_[-1], rel=3e-4)
        return
    assert inside.objective_[-1] == pytest.approx(outside.objective_[-1], rel=1e-9)
    np.testing.assert_allclose(inside.coef_ * deviation, outside.coef_, atol=1e-6)
    np.testing.assert_allclose(
        inside.predict(ds.X), outside.predict(ds.X / deviation), rtol=1e-4, atol=1e-4
    )


def test_standardisation_leaves_sparse_features_sparse() -> None:
    ds = make_data()
    X = ds.X * (np.random.default_rng(1).random(ds.X.shape) < 0.3)
    matrix = sp.csr_array(X)
    before = matrix.copy()
    ranker = LinearRanker("domination", alpha=0.05, standardize=True, tol=1e-9)
    scaled, scale = ranker._scaled(matrix)
    assert sp.issparse(scaled)
    assert scaled.nnz == matrix.nnz
    np.testing.assert_allclose(scaled.toarray(), X / X.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scale, X.std(axis=0))
    sparse = ranker.fit(matrix, ds.y, ds.qid).coef_
    dense = LinearRanker("domination", alpha=0.05, standardize=True, tol=1e-9)
    np.testing.assert_allclose(sparse, dense.fit(X, ds.y, ds.qid).coef_, rtol=1e-5, atol=1e-9)
    np.testing.assert_array_equal(matrix.toarray(), before.toarray())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_standard_deviations(dtype: Any, sparse: bool) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1000, 5)) * [1, 1e-3, 1e3, 0, 1] + [0, 0, 0, 0.1, 0]
    X[:, 4] = 0
    expected = np.array([*X[:, :3].std(axis=0), 1, 1])  # constant features stay as they are
    matrix: Any = X.astype(dtype)
    found = by_deviation(sp.csr_array(matrix) if sparse else matrix).scale
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_standardisation_keeps_the_type_of_the_features() -> None:
    ds = make_data()
    for dtype in (np.float32, np.float64):
        scaled, _ = LinearRanker(standardize=True)._scaled(ds.X.astype(dtype))
        assert scaled.dtype == dtype


def test_large_means_cost_no_digits() -> None:
    # Features of a mean ten thousand times their deviation: a shift changes no ranking.
    rng = np.random.default_rng(3)
    ds = make_data()
    X = rng.normal(size=(ds.n_docs, 3))
    y = np.digitize(X @ [1, -1, 0] + 0.3 * rng.normal(size=ds.n_docs), [0, 1]).astype(float)
    near = LinearRanker("listnet", alpha=0.01).fit(X, y, ds.qid)
    shifted = LinearRanker("listnet", alpha=0.01).fit(X + 1e4, y, ds.qid)
    np.testing.assert_allclose(shifted.coef_, near.coef_, rtol=1e-3, atol=1e-3)


# --- paths -------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["listnet", "domination", "xendcg"])
@pytest.mark.parametrize("solver", ["auto", "coordinate_descent", "lbfgs"])
def test_path_starts_with_nothing_and_ends_with_much(loss: str, solver: Any) -> None:
    ds = make_data()
    ranker = LinearRanker(loss, "l1", standardize=True, solver=solver)
    path = ranker.path(ds.X, ds.y, ds.qid, n_alphas=12)
    alphas = [point.alpha for point in path]
    assert len(path) == 12
    assert alphas == sorted(alphas, reverse=True)
    assert alphas[-1] == pytest.approx(1e-4 * alphas[0])
    assert path[0].n_features == 0
    assert not path[0].coef.any()
    assert path[1].n_features > 0
    assert path[-1].n_features == 6
    counts = np.array([point.n_features for point in path])
    assert (np.diff(counts) >= -1).all()  # features come; now and then one goes
    losses = np.array([point.loss for point in path])
    assert (np.diff(losses) <= 1e-9).all()
    assert all(math.isnan(point.quality) for point in path)


@pytest.mark.parametrize("penalty", ["l1", "l2", "elasticnet"])
def test_path_points_are_fits(penalty: str) -> None:
    train, valid = make_data(), make_data(seed=1)
    options: dict[str, Any] = {"standardize": True, "tol": 1e-9, "l1_ratio": 0.3}
    ranker = LinearRanker("listnet", penalty, **options)
    path = ranker.path(train.X, train.y, train.qid, alphas=[0.01, 0.3, 0.05], valid=valid)
    assert [point.alpha for point in path] == [0.3, 0.05, 0.01]
    for point in path:
        alone = LinearRanker("listnet", penalty, point.alpha, **options)
        alone.fit(train.X, train.y, train.qid)
        np.testing.assert_allclose(point.coef, alone.coef_, rtol=1e-5, atol=1e-8)
        mean_loss = ListNet().value_and_grad(train.X @ point.coef, train.y, train.groups)[0] / 15
        assert point.loss == pytest.approx(mean_loss)
        assert point.n_features == np.count_nonzero(point.coef)
        quality = NDCG(k=10).mean(valid.y, valid.X @ point.coef, valid.groups)
        assert point.quality == pytest.approx(quality)


def test_path_starts_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    ds = make_data()
    starts: list[Any] = []
    solve = LinearRanker._minimize

    def spy(self: Any, objective: Any, start: Any, *rest: Any) -> Any:
        starts.append(start)
        return solve(self, objective, start, *rest)

    monkeypatch.setattr(LinearRanker, "_minimize", spy)
    path = LinearRanker("domination", "l2").path(ds.X, ds.y, ds.qid, alphas=[1.0, 0.1, 0.01])
    assert starts[0] is None
    np.testing.assert_array_equal(starts[1], path[0].coef)
    np.testing.assert_array_equal(starts[2], path[1].coef)


def test_path_leaves_the_estimator_unfitted() -> None:
    ds = make_data()
    ranker = LinearRanker("listnet")
    ranker.path(ds.X, ds.y, ds.qid, alphas=[0.1])
    assert not hasattr(ranker, "coef_")


@pytest.mark.parametrize("solver", ["prox_newton", "coordinate_descent", "lbfgs"])
@pytest.mark.parametrize("share", [1.0, 0.9999999, 0.999])
def test_a_penalty_just_below_the_highest_converges(solver: Any, share: float) -> None:
    ds = make_data()
    highest = LinearRanker("listnet", "l1").path(ds.X, ds.y, ds.qid, n_alphas=1)[0].alpha
    ranker = LinearRanker("listnet", "l1", share * highest, solver=solver).fit(ds.X, ds.y, ds.qid)
    assert ranker.stop_ in ("converged", "stalled")
    assert np.count_nonzero(ranker.coef_) <= 1


# --- attributes and messages -------------------------------------------------------------------


@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_attributes(loss: str) -> None:
    ds = make_data()
    ranker = LinearRanker(loss, alpha=0.1, standardize=True).fit(ds.X, ds.y, ds.qid)
    assert ranker.coef_.shape == (6,)
    assert ranker.coef_.dtype == np.float64
    assert ranker.n_features_in_ == 6
    assert len(ranker.objective_) == ranker.n_iter_ + 1
    assert ranker.stop_ in ("converged", "stalled")
    assert 0 <= ranker.gap_ < 1e-3 * ranker.objective_[0]
    assert ranker.violation_ >= 0
    # The objective is what it is said to be: the mean loss plus the penalty of scaled weights.
    scaled = ds.X.std(axis=0) * ranker.coef_
    total = LOSSES[loss]().value_and_grad(ds.X @ ranker.coef_, ds.y, ds.groups)[0]
    expected = total / 15 + 0.05 * float(scaled @ scaled)
    assert ranker.objective_[-1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("penalty", "l1", "l2"),
    [("l1", 0.4, 0.0), ("l2", 0.0, 0.4), ("elasticnet", 0.1, 0.3), (None, 0.0, 0.0)],
)
def test_penalties_by_name(penalty: str | None, l1: float, l2: float) -> None:
    found = ElasticNet.from_name(penalty, 0.4, 0.25)
    assert (found.l1, found.l2) == pytest.approx((l1, l2))


def test_alpha_in_the_terms_of_the_thesis() -> None:
    # Its objective is the sum of losses + lambda |w|^2: alpha = 2 lambda / n_queries.
    ds, weight = make_data(), 0.7
    ranker = LinearRanker("domination", alpha=2 * weight / 15, tol=1e-10).fit(ds.X, ds.y, ds.qid)
    w = ranker.coef_
    slope = Domination().value_and_grad(ds.X @ w, ds.y, ds.groups)[1]
    scale = np.abs(ds.X).T @ np.abs(slope)
    np.testing.assert_allclose(ds.X.T @ slope + 2 * weight * w, 0, atol=1e-7 * scale.max())


def test_convergence_warning() -> None:
    ds = make_data()
    text = (
        r"stopped after 2 iterations with violation \d\.\de[-+]\d\d and gap \d\.\de[-+]\d\d, "
        r"before the tolerance was met\. Raise max_iter or tol\."
    )
    with pytest.warns(ConvergenceWarning, match=text) as caught:
        ranker = LinearRanker("listnet", max_iter=2, tol=1e-12).fit(ds.X, ds.y, ds.qid)
    assert caught[0].filename == __file__
    assert ranker.stop_ == "max_iter"
    assert ranker.n_iter_ == 2


@pytest.mark.parametrize(
    ("parameters", "kind", "text"),
    [
        (
            {"loss": "hinge"},
            ValueError,
            "loss must be one of xendcg, listnet, domination, slam, slam-map, smooth-slam, "
            "smooth-slam-map, rank_hinge, rank_logistic, but is 'hinge'.",
        ),
        ({"loss": 3}, TypeError, "loss must be a name or have value_and_grad, but is 3."),
        (
            {"penalty": "l3"},
            ValueError,
            "penalty must be 'l1', 'l2', 'elasticnet' or None, but is 'l3'.",
        ),
        ({"alpha": -1.0}, ValueError, "alpha must be a number >= 0, but is -1.0."),
        ({"alpha": math.nan}, ValueError, "alpha must be a number >= 0, but is nan."),
        (
            {"penalty": "elasticnet", "l1_ratio": 1.5},
            ValueError,
            "l1_ratio must be a number between 0 and 1, but is 1.5.",
        ),
        (
            {"solver": "sgd"},
            ValueError,
            "solver must be one of auto, prox_newton, working_set, coordinate_descent, "
            "feature_induction, bundle, lbfgs, but is 'sgd'.",
        ),
        (
            {"step": "long", "solver": "coordinate_descent"},
            ValueError,
            "step must be one of newton, range, thesis",
        ),
        (
            {"loss": "slam", "solver": "coordinate_descent"},
            TypeError,
            "coordinate_descent needs a loss with descent_spec, which SLAM has not. Use "
            "solver='auto'.",
        ),
        (
            {"loss": "slam", "solver": "prox_newton"},
            TypeError,
            "prox_newton needs a loss with hessian, which SLAM has not. Use solver='auto'.",
        ),
        ({"n_jobs": 0}, ValueError, "n_jobs must be a non-zero integer of at most 1024."),
    ],
    ids=str,
)
def test_bad_parameters(parameters: dict[str, Any], kind: type[Exception], text: str) -> None:
    ds = make_data()
    with pytest.raises(kind) as caught:
        LinearRanker(**parameters).fit(ds.X, ds.y, ds.qid)
    assert str(caught.value).startswith(text)


def test_bad_data() -> None:
    ds = make_data()
    with pytest.raises(ValueError, match="qid must have one id per row"):
        LinearRanker().fit(ds.X, ds.y, ds.qid[:-1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LinearRanker().fit(ds.X, ds.y[:-1], ds.qid)
    with pytest.raises(ValueError, match="X must have no missing values, but row"):
        LinearRanker().fit(np.full_like(ds.X, np.nan), ds.y, ds.qid)
    with pytest.raises(ValueError, match="Input y contains infinity"):
        LinearRanker().fit(ds.X, np.full_like(ds.y, np.inf), ds.qid)
    with pytest.raises(ValueError, match="XENDCG needs labels from 0 to 1000"):
        LinearRanker().fit(ds.X, ds.y - 1, ds.qid)
    fitted = LinearRanker(alpha=0.1).fit(ds.X, ds.y, ds.qid)
    with pytest.raises(ValueError, match="X has 5 features, but LinearRanker is expecting 6"):
        fitted.predict(ds.X[:, :5])


# --- odd data ----------------------------------------------------------------------------------


def fit(loss: str, X: Any, y: Any, qid: Any = None, **options: Any) -> LinearRanker:
    return LinearRanker(loss, **{"alpha": 0.1, **options}).fit(X, y, qid)


every_loss = pytest.mark.parametrize("loss", ALL_LOSSES)
every_solver = pytest.mark.parametrize(
    ("loss", "solver"),
    [(loss, "auto") for loss in ALL_LOSSES]
    + [
        (loss, solver)
        for loss in ("xendcg", "listnet", "domination")
        for solver in ("coordinate_descent", "lbfgs")
    ],
)


@every_solver
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_labels_equal(loss: str, solver: Any, dtype: Any) -> None:
    ds = make_data()
    X = ((ds.X - ds.X.mean(axis=0)) / ds.X.std(axis=0)).astype(dtype)
    ranker = fit(loss, X, np.ones(ds.n_docs), ds.qid, solver=solver)
    if loss == "xendcg":  # gamma is noise, and it is fitted
        assert np.isfinite(ranker.coef_).all()
    else:
        np.testing.assert_allclose(ranker.coef_, 0, atol=1e-5 if dtype == np.float32 else 1e-12)


@every_solver
def test_queries_of_one_document(loss: str, solver: Any) -> None:
    ds = make_data()
    ranker = fit(loss, ds.X, ds.y, np.arange(ds.n_docs), solver=solver)
    np.testing.assert_allclose(ranker.coef_, 0, atol=1e-12)
    assert ranker.score(ds.X, (ds.y > 0).astype(float), np.arange(ds.n_docs)) == 1.0


@every_solver
def test_one_document(loss: str, solver: Any) -> None:
    ranker = fit(loss, [[1.0, 2.0]], [1.0], solver=solver)
    np.testing.assert_allclose(ranker.coef_, 0, atol=1e-15)


@every_solver
def test_queries_without_relevant_documents(loss: str, solver: Any) -> None:
    ds = make_data()
    X = ds.X / ds.X.std(axis=0)
    y = np.where(ds.qid < 5, 0.0, ds.y)
    ranker = fit(loss, X, y, ds.qid, solver=solver)
    assert np.isfinite(ranker.coef_).all()
    assert ranker.coef_[0] > 0
    assert ranker.score(X, y, ds.qid) > 0.6


@every_solver
def test_labels_of_40(loss: str, solver: Any) -> None:
    ds = make_data()
    X = ds.X / ds.X.std(axis=0)
    ranker = fit(loss, X, np.array([0.0, 20, 30, 40])[ds.y.astype(int)], ds.qid, solver=solver)
    assert np.isfinite(ranker.coef_).all()
    assert ranker.coef_[0] > 0


@every_solver
def test_labels_with_fractions(loss: str, solver: Any) -> None:
    ds = make_data()
    X = ds.X / ds.X.std(axis=0)
    truth = np.random.default_rng(0).random(ds.n_docs) + X[:, 0]
    ranker = fit(loss, X, truth - truth.min(), ds.qid, solver=solver)
    assert ranker.coef_[0] > 0
    assert np.argmax(np.abs(ranker.coef_)) == 0


def test_labels_may_be_negative_where_only_their_order_counts() -> None:
    ds = make_data()
    plain = fit("domination", ds.X, ds.y, ds.qid)
    np.testing.assert_allclose(fit("domination", ds.X, ds.y - 7, ds.qid).coef_, plain.coef_)


@every_solver
@pytest.mark.parametrize("standardize", [False, True])
def test_constant_features_have_no_weight(loss: str, solver: Any, standardize: bool) -> None:
    ds = make_data()
    X = ds.X / ds.X.std(axis=0)
    X[:, 2] = 1e3
    X[:, 4] = ds.qid / 10  # constant within each query
    ranker = fit(loss, X, ds.y, ds.qid, solver=solver, standardize=standardize)
    np.testing.assert_allclose(ranker.coef_[[2, 4]], 0, atol=1e-6)
    assert ranker.coef_[0] > 0.01


@every_solver
def test_only_constant_features(loss: str, solver: Any) -> None:
    ds = make_data()
    X = np.tile([0.0, 1.0, 0.1], (ds.n_docs, 1))
    ranker = fit(loss, X, ds.y, ds.qid, solver=solver, standardize=True)
    np.testing.assert_allclose(ranker.coef_, 0, atol=1e-9)


@every_solver
def test_one_feature(loss: str, solver: Any) -> None:
    ds = make_data()
    ranker = fit(loss, ds.X[:, :1], ds.y, ds.qid, solver=solver)
    assert ranker.coef_.shape == (1,)
    # One noisy feature is not worth its weight to SLAM, which looks at the worst pair only.
    assert ranker.coef_[0] >= 0 if loss == "slam" else ranker.coef_[0] > 0


@every_solver
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_more_features_than_documents(loss: str, solver: Any, penalty: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 80)), rng.integers(0, 3, 30).astype(float)
    X[:, 0] += y
    qid = np.repeat(np.arange(3), 10)
    ranker = fit(loss, X, y, qid, solver=solver, penalty=penalty)
    assert ranker.score(X, y, qid) > 0.9
    if penalty == "l1" and loss in ("xendcg", "listnet", "domination"):
        assert 0 < np.count_nonzero(ranker.coef_) < 80


def test_separable_data_without_a_penalty_do_not_overflow() -> None:
    X, y = np.array([[1.0], [0.0], [2.0], [1.0]]), np.array([1.0, 0.0, 1.0, 0.0])
    for solver in ("prox_newton", "coordinate_descent", "lbfgs"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ranker = LinearRanker("domination", None, solver=solver)
            ranker.fit(X, y, [0, 0, 1, 1])
        assert np.isfinite(ranker.coef_).all()
        assert ranker.objective_[-1] < 1e-3


def test_a_loss_of_ones_own() -> None:
    class Squares:
        def value_and_grad(self, scores: Any, y: Any, groups: Groups) -> tuple[float, Any]:
            return 0.5 * float((scores - y) @ (scores - y)), scores - y

    ds = make_data()
    squares: Any = Squares()
    ranker = LinearRanker(squares, None, tol=1e-12).fit(ds.X, ds.y, ds.qid)
    expected = np.linalg.lstsq(ds.X, ds.y, rcond=None)[0]
    np.testing.assert_allclose(ds.X @ ranker.coef_, ds.X @ expected, atol=1e-3)


def test_gamma_follows_the_query_and_not_the_row() -> None:
    ds = make_data()
    one = LinearRanker(XENDCG(random_state=1), alpha=0.1).fit(ds.X, ds.y, ds.qid)
    same = LinearRanker(XENDCG(random_state=1), alpha=0.1).fit(ds.X, ds.y, ds.qid)
    other = LinearRanker(XENDCG(random_state=2), alpha=0.1).fit(ds.X, ds.y, ds.qid)
    np.testing.assert_array_equal(one.coef_, same.coef_)
    assert np.abs(one.coef_ - other.coef_).max() > 1e-6
