"""What holds for the weights of documents and queries: of every loss, solver and ranker."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import rankwright as rw
from rankwright.data import Groups
from rankwright.estimator import Ranker
from rankwright.linear import DominationRank, LinearRanker
from rankwright.losses import (
    SLAM,
    XENDCG,
    Domination,
    ListNet,
    RankHinge,
    RankLogistic,
    SmoothSLAM,
    WithConjugate,
    WithHessian,
)
from rankwright.losses.own import prepare_loss
from rankwright.models import CLASSES
from rankwright.online import OnlineRanker, SLAMPerceptron
from rankwright.predtron import PredtronRanker
from rankwright.solvers import SOLVERS
from rankwright.trees import BoostedRanker
from rankwright.trees.objective import terms_of
from tests.reference.weights import WEIGHTED, mean_loss

LOSSES: dict[str, Any] = {
    "listnet": ListNet(),
    "xendcg": XENDCG(gamma=0.5),
    "domination": Domination(),
    "domination-margin": Domination(margin=1.0),
    "slam": SLAM(),
    "slam-map": SLAM("map"),
    "slam-printed": SLAM(weights="printed"),
    "smooth-slam": SmoothSLAM(),
    "smooth-slam-map": SmoothSLAM("map"),
    "rank_hinge": RankHinge(),
    "rank_hinge-share": RankHinge("pairs"),
    "rank_logistic": RankLogistic(),
}
every_loss = pytest.mark.parametrize("name", LOSSES)


def test_every_loss_is_here() -> None:
    assert LOSSES.keys() == WEIGHTED.keys()


# --- losses ------------------------------------------------------------------------------------


def make_queries(seed: int) -> tuple[Any, Any, Any, Any, Groups]:
    """Return scores, labels, weights of documents and of queries; some of both are 0."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, 12)
    n = int(sizes.sum())
    groups = Groups(np.append(0, np.cumsum(sizes)))
    y, a = rng.integers(0, 4, n).astype(float), rng.uniform(0, 3, n)
    a[rng.random(n) < 0.2] = 0
    c = rng.integers(0, 4, 12).astype(float)
    return 2 * rng.normal(size=n), y, a, c, groups


def slopes(function: Any, at: Any, step: float = 1e-6) -> Any:
    moves = step * np.eye(len(at))
    return np.array([(function(at + e) - function(at - e)) / (2 * step) for e in moves])


@every_loss
@pytest.mark.parametrize("seed", range(5))
def test_a_loss_weighs_its_terms(name: str, seed: int) -> None:
    s, y, a, c, groups = make_queries(seed)
    weights = a * np.repeat(c, groups.sizes)
    prepared = prepare_loss(LOSSES[name], y, groups, weights)
    values, grad = prepared.values_and_grad(s)
    expected = [c[q] * WEIGHTED[name](s[rows], y[rows], a[rows]) for q, rows in enumerate(groups)]
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)

    def total(scores: Any) -> float:
        queries = [(scores[rows], y[rows], a[rows]) for rows in groups]
        return groups.n_queries * mean_loss(WEIGHTED[name], queries, c)

    np.testing.assert_allclose(grad, slopes(total, s), atol=1e-6)


@every_loss
def test_hessian_and_conjugate_are_those_of_the_weighted_loss(name: str) -> None:
    s, y, a, c, groups = make_queries(7)
    prepared = prepare_loss(LOSSES[name], y, groups, a * np.repeat(c, groups.sizes))
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(len(y), 3)), rng.normal(size=3)
    if isinstance(prepared, WithHessian):
        gradient = slopes(lambda v: X.T @ prepared.values_and_grad(X @ v)[1], w)
        np.testing.assert_allclose(prepared.hessian(X, X @ w), gradient, atol=1e-6)
    if isinstance(prepared, WithConjugate):
        values, grad = prepared.values_and_grad(s)
        # L(s) + L*(grad) = s . grad; L(t) + L*(c grad) >= c t . grad anywhere.
        at_one = prepared.conjugate(s, grad, 1.0)
        assert values.sum() + at_one == pytest.approx(float(s @ grad), abs=1e-9)
        for share in (0.0, 0.3, 1.0):
            bound = prepared.conjugate(s, grad, share)
            for _ in range(20):
                t = s + rng.normal(size=len(s))
                value = prepared.values_and_grad(t)[0].sum()
                assert value + bound >= share * float(t @ grad) - 1e-9


@pytest.mark.parametrize(
    "margin", [None, 1.0, lambda y: 0.5 * y, [0.5, 1.0, 0.2], np.arange(16).reshape(4, 4) / 8]
)
def test_weights_and_margins_go_together(margin: Any) -> None:
    s, y, a, _, groups = make_queries(3)
    loss = Domination(margin)
    _, grad = prepare_loss(loss, y, groups, a).values_and_grad(s)

    def total(scores: Any) -> float:
        return float(prepare_loss(loss, y, groups, a).values_and_grad(scores)[0].sum())

    np.testing.assert_allclose(grad, slopes(total, s), atol=1e-6)
    # A loss is linear in its weights.
    parts = [prepare_loss(loss, y, groups, a * (np.arange(len(a)) % 2 == k)) for k in (0, 1)]
    added = sum(part.values_and_grad(s)[1] for part in parts)
    np.testing.assert_allclose(grad, added, atol=1e-12)


@pytest.mark.parametrize("name", ["rank_hinge", "rank_logistic", "domination", "slam"])
def test_a_heavy_document_that_leads_hides_nothing(name: str) -> None:
    # The first is 1000 ahead of the others, so that its terms are 0 whatever its weight.
    s, y = np.array([1000.0, 0.3, 0.0, 0.5]), np.array([2.0, 2.0, 1.0, 0.0])
    groups = Groups.one_query(4)
    light, heavy = (
        prepare_loss(LOSSES[name], y, groups, np.array([weight, 1.0, 2.0, 3.0])).values_and_grad(s)
        for weight in (1.0, 1e18)
    )
    np.testing.assert_array_equal(heavy[0], light[0])
    np.testing.assert_array_equal(heavy[1], light[1])


class Squares:
    """A loss of which nothing is known but its sums."""

    def value_and_grad(self, scores: Any, y: Any, groups: Groups) -> tuple[float, Any]:
        return float(((scores - y) ** 2).sum()), 2 * (scores - y)


def test_a_loss_of_your_own_has_weights_of_queries_only() -> None:
    s, y, a, c, groups = make_queries(0)
    of_row = np.repeat(c, groups.sizes)
    values, grad = prepare_loss(Squares(), y, groups, of_row).values_and_grad(s)
    np.testing.assert_allclose(
        values, [c[q] * ((s - y)[r] ** 2).sum() for q, r in enumerate(groups)]
    )
    np.testing.assert_allclose(grad, of_row * 2 * (s - y))
    with pytest.raises(ValueError, match=r"^sample_weight needs a loss .* Squares has no prepare"):
        prepare_loss(Squares(), y, groups, a)


# --- solvers -----------------------------------------------------------------------------------


def make_data(seed: int = 0, n_features: int = 3) -> tuple[Any, Any, Any, Any, Any]:
    """Return X, y, qid and weights; queries are not gathered."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(10), rng.integers(3, 12, 10)))
    X = rng.normal(size=(len(qid), n_features))
    y = np.digitize(X[:, 0] - X[:, 1] + rng.normal(size=len(qid)), [-1.0, 0.0, 1.0])
    a = rng.uniform(0, 3, len(qid)) * (rng.random(len(qid)) > 0.2)
    return X, y.astype(float), qid, a, rng.integers(0, 4, 10)[qid].astype(float)


def objective_of(name: str, alpha: float, l1: bool, data: Any) -> Any:
    X, y, qid, a, c = data
    parts = [qid == q for q in dict.fromkeys(qid.tolist())]
    of_query = [c[rows][0] for rows in parts]

    def value(w: Any) -> float:
        queries = [(X[rows] @ w, y[rows], a[rows]) for rows in parts]
        penalty = np.abs(w).sum() if l1 else 0.5 * float(w @ w)
        return mean_loss(WEIGHTED[name], queries, of_query) + alpha * float(penalty)

    return value


def descend(value: Any, start: Any) -> float:
    options = {"xatol": 1e-7, "fatol": 1e-9}
    found = scipy.optimize.minimize(value, start, method="Nelder-Mead", options=options)
    return float(found.fun)


@cache
def descend_from_zero(name: str, penalty: str) -> float:
    return descend(objective_of(name, 0.05, penalty == "l1", make_data()), np.zeros(3))


@every_loss
@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_the_gap_is_that_of_the_weighted_objective(name: str, solver: Any, penalty: str) -> None:
    data = make_data()
    X, y, qid, a, c = data
    if solver == "lbfgs" and not LOSSES[name].smooth:
        pytest.skip("L-BFGS may end at a kink")
    ranker = LinearRanker(LOSSES[name], penalty, 0.05, solver=solver)
    try:
        ranker.fit(X, y, qid, sample_weight=a, query_weight=c)
    except TypeError as error:
        assert "needs a loss with" in str(error)  # noqa: PT017 - what a solver cannot do
        return
    value = objective_of(name, 0.05, penalty == "l1", data)
    assert ranker.objective_[-1] == pytest.approx(value(ranker.coef_), rel=1e-9)
    best = min(descend(value, ranker.coef_), descend_from_zero(name, penalty))
    assert best >= ranker.objective_[-1] - ranker.gap_ - 1e-12
    by_planes = solver == "bundle" or not LOSSES[name].smooth
    assert best >= ranker.objective_[-1] * (1 - (2e-3 if by_planes else 1e-6))
    if np.isfinite(ranker.gap_):
        assert ranker.gap_ < 1e-2 * ranker.objective_[-1]


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("step", ["newton", "range", "thesis"])
@pytest.mark.parametrize("margin", [None, 1.0, np.arange(16).reshape(4, 4) / 8])
def test_coordinate_descent_finds_the_weighted_optimum(
    scale: float, kind: Any, step: Any, margin: Any
) -> None:
    # With the large scale most queries are too far apart for sums of exponentials.
    X, y, qid, a, c = make_data(1, 4)
    X = scale * X * (np.random.default_rng(0).random(X.shape) < 0.7)
    alpha, weights = 1e-3 * scale, {"sample_weight": a, "query_weight": c}
    best = LinearRanker(Domination(margin), "l1", alpha, solver="prox_newton", tol=1e-10)
    best.fit(X, y, qid, **weights)
    for solver in ("coordinate_descent", "feature_induction"):
        found = LinearRanker(
            Domination(margin), "l1", alpha, solver=solver, step=step, tol=1e-7, max_iter=100_000
        ).fit(kind(X), y, qid, **weights)
        assert found.objective_[-1] == pytest.approx(best.objective_[-1], rel=1e-7)
        rises = np.diff(found.objective_)
        assert (rises <= 1e-12 * found.objective_[0]).all()


@pytest.mark.parametrize("loss", [ListNet(), XENDCG(gamma=0.5), Domination(), RankLogistic()])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_weight_k_is_k_times_the_query(loss: Any, penalty: str) -> None:
    X, y, qid, _, c = make_data(2)
    rows = np.repeat(np.arange(len(y)), c.astype(int))
    copy = np.concatenate([np.arange(k) for k in c.astype(int)])
    repeated = qid[rows] + 100 * copy  # each copy is a query of its own
    ratio = len(set(qid)) / len(set(repeated))  # the mean still divides by the queries there are
    weighted = LinearRanker(loss, penalty, 0.05, tol=1e-10).fit(X, y, qid, query_weight=c)
    other = LinearRanker(loss, penalty, 0.05 * ratio, tol=1e-10)
    other.fit(X[rows], y[rows], repeated)
    np.testing.assert_allclose(weighted.coef_, other.coef_, atol=1e-5)
    assert weighted.objective_[-1] * ratio == pytest.approx(other.objective_[-1], rel=1e-8)


@pytest.mark.parametrize("options", [{"pooled": True}, {"negatives": 0.5}, {"n_induced": 1}])
def test_domination_rank_takes_weights_wherever_its_rows_go(options: Any) -> None:
    X, y, qid, a, c = make_data(3)
    both = DominationRank("l1", 0.01, tol=1e-9, **options)
    both.fit(X, y, qid, sample_weight=a, query_weight=c)
    product = DominationRank("l1", 0.01, tol=1e-9, **options)
    product.fit(X, y, qid, sample_weight=a * c)
    np.testing.assert_allclose(both.coef_, product.coef_, atol=1e-9)
    (point,) = product.path(X, y, qid, sample_weight=a * c, alphas=[0.01])
    np.testing.assert_allclose(point.coef, product.coef_, atol=1e-6)
    plain = DominationRank("l1", 0.01, tol=1e-9, **options).fit(X, y, qid)
    assert np.abs(plain.coef_ - product.coef_).max() > 1e-3


def test_a_sampled_hessian_has_the_weights_of_its_queries() -> None:
    # More documents than a sample of the Hessian takes: 100 for each feature.
    rng = np.random.default_rng(0)
    qid, X = np.repeat(np.arange(150), 10), rng.normal(size=(1500, 3))
    y = np.digitize(X @ [1.0, -1.0, 0.5] + rng.normal(size=1500), [0.0, 1.0])
    weights: dict[str, Any] = {
        "sample_weight": rng.uniform(0, 3, 1500),
        "query_weight": rng.uniform(0, 3, 150)[qid],
    }
    fits = [
        LinearRanker("domination", alpha=1e-3, solver=solver, tol=1e-9).fit(X, y, qid, **weights)
        for solver in ("prox_newton", "lbfgs")
    ]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-6)


# --- trees -------------------------------------------------------------------------------------


@every_loss
def test_trees_fit_the_gradient_of_the_weighted_loss(name: str) -> None:
    s, y, a, _, groups = make_queries(4)
    grad, hess = terms_of(LOSSES[name], y, groups, a, 1)(s, 0)
    expected = prepare_loss(LOSSES[name], y, groups, a).values_and_grad(s)[1]
    np.testing.assert_allclose(grad, expected, atol=1e-12)
    for rows in groups:
        # A document that is pushed has a curvature, also one without weight.
        assert ((hess[rows] > 0) | (np.abs(grad[rows]) < 1e-12)).all()
    # Twice the weights, twice the gradient and the curvature: the same leaf.
    twice = terms_of(LOSSES[name], y, groups, 2 * a, 1)(s, 0)
    np.testing.assert_allclose(twice, [2 * grad, 2 * hess], rtol=1e-12, atol=1e-15)


# --- rankers -----------------------------------------------------------------------------------

SMALL: dict[str, dict[str, Any]] = {
    "BoostedRanker": {"n_estimators": 5, "min_child_samples": 2, "n_jobs": 1},
    "EnsembleRanker": {
        "members": BoostedRanker(min_child_samples=2),
        "n_estimators": 3,
        "n_jobs": 1,
    },
    "PAMIR": {"n_triplets": 200},
}


def make_rankers() -> dict[str, Any]:
    kinds = {name: getattr(import_module(package), name) for name, package in CLASSES.items()}
    rankers = {
        name: kind(**SMALL.get(name, {}))
        for name, kind in kinds.items()
        if issubclass(kind, Ranker)
    }
    return rankers | {
        **{f"LinearRanker-{name}": LinearRanker(loss, alpha=0.01) for name, loss in LOSSES.items()},
        "DominationRank-l1": DominationRank("l1", 0.01, n_induced=1),
        "OnlineRanker-slam": OnlineRanker("slam", 0.1, variant="averaged"),
        "SLAMPerceptron-map": SLAMPerceptron("map", "paper", variant="voted"),
        "SLAMPerceptron-kernel": SLAMPerceptron(kernel="rbf"),
        "PredtronRanker-augmented": PredtronRanker(mode="augmented", variant="averaged"),
        "PredtronRanker-driven": PredtronRanker(mode="loss_driven", norm="l1"),
        "PredtronRanker-kernel": PredtronRanker(kernel="rbf"),
    }


RANKERS = make_rankers()
every_ranker = pytest.mark.parametrize("name", RANKERS)
WEIGHTS = ("sample_weight", "query_weight")


def scores_of(name: str, X: Any, y: Any, qid: Any, **weights: Any) -> Any:
    return RANKERS[name].fit(X, y, qid, **weights).predict(X)


@every_ranker
def test_weights_of_one_change_no_bit(name: str) -> None:
    X, y, qid, *_ = make_data()
    plain = scores_of(name, X, y, qid)
    ones = dict.fromkeys(WEIGHTS, np.ones(len(y)))
    np.testing.assert_array_equal(scores_of(name, X, y, qid, **ones), plain)
    np.testing.assert_array_equal(scores_of(name, X, y, qid, sample_weight=1.0), plain)


@every_ranker
def test_weights_change_something(name: str) -> None:
    X, y, qid, a, c = make_data()
    if name.startswith("LinearRanker-slam"):
        y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])  # or the least loss is at weights 0
    plain = scores_of(name, X, y, qid)
    if name.startswith("BestFeature"):
        # One feature is best for the first queries, another for the rest.
        X, c = np.zeros((len(y), 2)), np.where(qid < 5, 1.0, 100.0)
        X[qid < 5, 0], X[qid >= 5, 1] = 100 * y[qid < 5], y[qid >= 5]
        plain = scores_of(name, X, y, qid, query_weight=1 / c)
    for weights in ({"sample_weight": a}, {"query_weight": c}):
        same = np.array_equal(scores_of(name, X, y, qid, **weights), plain)
        assert same == (
            name == "RandomRanker" or (name == "BestFeature" and "sample_weight" in weights)
        )


@every_ranker
def test_weights_go_with_their_rows(name: str) -> None:
    X, y, qid, a, c = make_data()
    gathered = np.argsort(qid, kind="stable")
    X, y, qid, a, c = X[gathered], y[gathered], qid[gathered], a[gathered], c[gathered]
    expected = scores_of(name, X, y, qid, sample_weight=a, query_weight=c)
    # Rows of several queries between each other; queries and their rows keep their order.
    positions = np.concatenate([np.arange(n) for n in np.unique(qid, return_counts=True)[1]])
    mixed = np.lexsort((qid, positions))
    found = scores_of(
        name, X[mixed], y[mixed], qid[mixed], sample_weight=a[mixed], query_weight=c[mixed]
    )
    # Sums over the documents of a kernel depend on where a block of rows begins.
    np.testing.assert_allclose(found, expected[mixed], rtol=1e-12 * name.endswith("kernel"))


@every_ranker
def test_queries_of_weight_0_teach_nothing(name: str) -> None:
    X, y, qid, *_ = make_data()
    weight = (qid > 2).astype(float)
    expected = scores_of(name, X, y, qid, query_weight=weight)
    other = y.copy()
    for q in range(3):
        other[qid == q] = y[qid == q][::-1]
    np.testing.assert_allclose(
        scores_of(name, X, other, qid, query_weight=weight), expected, rtol=1e-9, atol=1e-12
    )


@every_ranker
@pytest.mark.filterwarnings("ignore:this model ranks nothing")
def test_weights_of_those_that_win_nothing(name: str) -> None:
    # All terms of most losses are 0: there is nothing to learn, and that is no fault.
    X, y, qid, *_ = make_data()
    lowest = np.array([y[i] == y[qid == qid[i]].min() for i in range(len(y))])
    assert np.isfinite(scores_of(name, X, y, qid, sample_weight=lowest.astype(float))).all()


@every_ranker
@pytest.mark.parametrize("weight", WEIGHTS)
def test_bad_weights_are_refused_in_one_line(name: str, weight: str) -> None:
    X, y, qid, *_ = make_data()
    n, ones = len(y), np.ones(len(y))
    cases: list[tuple[Any, str]] = [
        (ones[:-1], f"{weight} must have {n} values, one per row, but has {n - 1}."),
        (ones[:, None], f"{weight} must have 1 dimension, but has shape ({n}, 1)."),
        (np.where(np.arange(n) == 3, np.nan, 1), f"{weight} must be finite, but row 3 is nan."),
        (np.where(np.arange(n) == 4, np.inf, 1), f"{weight} must be finite, but row 4 is inf."),
        (np.where(np.arange(n) == 5, -1, 1), f"{weight} must not be negative, but row 5 is -1."),
        (
            0 * ones,
            f"{weight} must not be zero everywhere, but is. Leave it out for equal weights.",
        ),
    ]
    for bad, message in cases:
        with pytest.raises(ValueError) as error:  # noqa: PT011 - compared below
            RANKERS[name].fit(X, y, qid, **{weight: bad})
        assert str(error.value) == message
    with pytest.raises(TypeError, match=f"^{weight} must be numbers, but holds strings|has dtype"):
        RANKERS[name].fit(X, y, qid, **{weight: ["a"] * n})


@every_ranker
def test_a_query_has_one_weight(name: str) -> None:
    X, y = make_data()[:2]
    qid = np.arange(len(y)) % 5
    weight = np.where(np.arange(len(y)) == 7, 2.0, 1.0)
    message = "same in all rows of a query, but row 7 has 2 and row 2 of the same query 1."
    with pytest.raises(ValueError, match=message):
        RANKERS[name].fit(X, y, qid, query_weight=weight)


@every_ranker
def test_score_is_a_weighted_mean(name: str) -> None:
    X, y, qid, a, c = make_data()
    ranker = RANKERS[name].fit(X, y, qid)
    alone = {q: ranker.score(X[qid == q], y[qid == q]) for q in set(qid.tolist())}
    assert ranker.score(X, y, qid) == pytest.approx(np.mean(list(alone.values())))
    assert ranker.score(X, y, qid, np.ones(len(y))) == ranker.score(X, y, qid)
    for weights in (a, c):
        counts = [weights[qid == q].mean() for q in alone]
        expected = np.average(list(alone.values()), weights=counts)
        assert ranker.score(X, y, qid, sample_weight=weights) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"^sample_weight must not be negative"):
        ranker.score(X, y, qid, sample_weight=-a)


def test_a_normalized_loss_keeps_its_normaliser() -> None:
    y, groups, a = np.array([2.0, 0, 1, 1, 0]), Groups(np.array([0, 3, 5])), np.full(5, 3.0)
    loss, scores = XENDCG(gamma=1.0, normalize="ideal_dcg"), np.arange(5.0)
    plain, _ = loss.prepare(y, groups).values_and_grad(scores)
    weighted, _ = loss.prepare(y, groups, weights=a).values_and_grad(scores)
    np.testing.assert_allclose(weighted, 3 * plain)


def test_score_of_labels_is_a_weighted_mean() -> None:
    X, y, a = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 0]), np.array([1, 1, 1, 1, 1, 9])
    model = rw.PRank().fit(X, y)
    wrong = np.abs(model.predict(X) - y)
    assert wrong.min() < wrong.max()
    assert model.score(X, y, sample_weight=a) == pytest.approx(-np.average(wrong, weights=a))
