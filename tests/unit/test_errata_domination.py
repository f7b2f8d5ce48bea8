"""Where the thesis on domination ranking is wrong: the printed version fails, ours does not.

D1, D2, D6 and D11 are in tests/contracts/test_solvers.py, D7 and D9 in test_errata_losses.py.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from rankwright.data import Groups
from rankwright.linear import DominationRank
from rankwright.losses import Domination
from rankwright.metrics import DominationError, PairwiseError
from rankwright.penalties import ElasticNet
from rankwright.solvers import Objective, Share, minimize
from rankwright.solvers.descent import Descent

Floats = Any


def two_layers(seed: int = 0, n_positive: int = 5, n_negative: int = 10) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, 0.0], [n_positive, n_negative])
    return rng.normal(size=(len(y), 3)), y


def three_layers() -> tuple[Floats, Floats]:
    """Return twelve documents in layers of 5, 4 and 3."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(12, 3)), np.repeat([0.0, 1.0, 2.0], [5, 4, 3])


def loss(w: Floats, X: Floats, y: Floats) -> float:
    """Return the loss by its definition."""
    s = X @ w
    return sum(
        math.log1p(sum(math.exp(s[j] - s[i]) for j in np.flatnonzero(y < y[i])))
        for i in np.flatnonzero(y > y.min())
    )


def numeric_gradient(w: Floats, X: Floats, y: Floats, step: float = 1e-6) -> Floats:
    steps = step * np.eye(len(w))
    return np.array([(loss(w + e, X, y) - loss(w - e, X, y)) / (2 * step) for e in steps])


def our_gradient(w: Floats, X: Floats, y: Floats) -> Floats:
    objective = Objective([Share(X, y, Groups.one_query(len(y)))], Domination(), ElasticNet())
    descent = Descent(objective, "newton")
    descent.start(X @ w)
    return descent.slopes(np.arange(X.shape[1]))


# --- D3, D4: Algorithm 1 -----------------------------------------------------------------------


def test_d3_z_starts_at_the_number_of_dominated_documents() -> None:
    X, y = two_layers()
    positive, negative = X[y == 1], X[y == 0]
    true = numeric_gradient(np.zeros(3), X, y)

    def at_start(z: float) -> Floats:
        return ((negative.sum(axis=0) - z * positive) / (z + 1)).sum(axis=0)

    np.testing.assert_allclose(at_start(len(negative)), true, atol=1e-6)
    assert np.abs(at_start(len(positive)) - true).max() > 0.1  # printed: Z = m_q
    np.testing.assert_allclose(our_gradient(np.zeros(3), X, y), true, atol=1e-6)


def test_d3_b_bounds_squares() -> None:
    # Positives at 10 and -10, a negative at 1: the derivative at 0 is (1 - 10)/2 + (1 + 10)/2.
    X, y = np.array([[10.0], [-10.0], [1.0]]), np.array([1.0, 1.0, 0.0])
    g = our_gradient(np.zeros(1), X, y)[0]
    assert g == pytest.approx(1.0)
    start = loss(np.zeros(1), X, y)
    assert start == pytest.approx(2 * math.log(2))
    printed = np.array([-g / (2 * 10)])
    assert loss(printed, X, y) > start
    squares = np.array([-g / (2 * 10**2)])
    assert loss(squares, X, y) < start
    thesis = DominationRank(None, step="thesis", max_updates=1).fit(X, y)
    assert thesis.coef_ == pytest.approx(squares)


def test_d3_a_feature_that_is_always_zero_is_skipped() -> None:
    X, y = two_layers()
    X[:, 1] = 0
    for penalty, n_induced in itertools.product(("l1", "l2", None), (None, 1)):
        ranker = DominationRank(penalty, 0.1, n_induced=n_induced, max_updates=50).fit(X, y)
        assert ranker.coef_[1] == 0
        assert np.isfinite(ranker.coef_).all()


def test_d4_the_linear_term_has_the_feature_in_it() -> None:
    X, y = two_layers()
    w = np.array([0.3, -0.2, 0.1])
    e = np.exp(X @ w)
    positive, z, mu = y == 1, e[y == 0].sum(), e[y == 0] @ X[y == 0]
    share = 1 / (z + e[positive])
    true = numeric_gradient(w, X, y)
    with_feature = share.sum() * mu - z * share @ X[positive]
    without = share.sum() * mu - z * share.sum()  # printed
    np.testing.assert_allclose(with_feature, true, atol=1e-6)
    assert np.abs(without - true).min() > 0.1
    np.testing.assert_allclose(our_gradient(w, X, y), true, atol=1e-6)


# --- D5: layers --------------------------------------------------------------------------------


def test_d5_sums_are_over_the_layers_below() -> None:
    _, y = three_layers()
    sizes = [int((y == k).sum()) for k in range(3)]
    printed = list(itertools.accumulate(sizes))  # Z_k = Z_{k-1} + |G(k)|
    correct = [0, *itertools.accumulate(sizes[:-1])]
    assert (printed, correct) == ([5, 9, 12], [0, 5, 9])
    # At equal scores, log(1 + Z) for each document of a layer.
    value, _ = Domination().value_and_grad(np.zeros(12), y)
    assert value == pytest.approx(4 * math.log(1 + 5) + 3 * math.log(1 + 9))


def test_d5_the_printed_gradients_are_not_the_derivative() -> None:
    X, y = three_layers()
    w = np.array([0.5, -0.3, 0.8])
    e = np.exp(X @ w)

    def gradient(below_z: Any, below_mu: Any, own: Any) -> Floats:
        total = np.zeros(3)
        for k in (1.0, 2.0):
            z, mu = e[below_z(k)].sum(), e[below_mu(k)] @ X[below_mu(k)]
            rows = own(k)
            total += ((mu - z * X[rows]) / (z + e[rows])[:, None]).sum(axis=0)
        return total

    def under(k: float) -> Any:
        return y < k

    def inclusive(k: float) -> Any:
        return y <= k

    def layer(k: float) -> Any:
        return y == k

    def positives(k: float) -> Any:
        return y > 0

    true = numeric_gradient(w, X, y)
    np.testing.assert_allclose(gradient(under, under, layer), true, atol=1e-6)
    np.testing.assert_allclose(our_gradient(w, X, y), true, atol=1e-6)
    for wrong in (
        gradient(inclusive, layer, layer),  # Algorithm 4: inclusive Z, mu of the own layer
        gradient(under, layer, layer),  # mu of the own layer
        gradient(under, under, positives),  # every positive in every layer
    ):
        assert np.abs(wrong - true).max() > 0.1


# --- D8: margins between layers ----------------------------------------------------------------


def test_d8_margins_between_layers_need_no_more_than_sums_of_layers() -> None:
    rng = np.random.default_rng(0)
    K, n = 6, 400
    y, s = rng.integers(0, K, n).astype(float), rng.normal(size=n)
    delta = rng.normal(size=(K, K))
    sums = np.array([np.exp(s[y == level]).sum() for level in range(K)])
    z = np.array([np.exp(delta[k, :k]) @ sums[:k] for k in range(K)])  # O(n + K^2)
    brute = np.array(
        [sum(math.exp(delta[k, int(y[j])] + s[j]) for j in np.flatnonzero(y < k)) for k in range(K)]
    )
    np.testing.assert_allclose(z, brute, rtol=1e-12)
    value, _ = Domination(delta).value_and_grad(s, y)
    assert value == pytest.approx(np.log1p(brute[y.astype(int)] * np.exp(-s)).sum(), rel=1e-12)


def test_d8_boundaries_that_add_up_are_separable() -> None:
    rng = np.random.default_rng(1)
    y, s = rng.integers(0, 4, 50).astype(float), rng.normal(size=50)
    heights = np.array([0.0, 0.5, 2.0, 2.25])
    by_pair, grad = Domination(heights[:, None] - heights).value_and_grad(s, y)
    for margin in ([0.5, 1.5, 0.25], lambda y: heights[y.astype(int)]):
        value, same = Domination(margin).value_and_grad(s, y)
        assert value == pytest.approx(by_pair, rel=1e-13)
        np.testing.assert_allclose(same, grad, atol=1e-13)


# --- D10: what is right ------------------------------------------------------------------------


def test_d10_b_is_a_bound_on_the_curvature() -> None:
    for seed in range(50):
        X, y = two_layers(seed)
        rng = np.random.default_rng(seed)
        w = 3 * rng.normal(size=3)
        for r in range(3):
            e = 1e-3 * np.eye(3)[r]
            second = (loss(w + e, X, y) - 2 * loss(w, X, y) + loss(w - e, X, y)) / 1e-6
            assert second <= 5 * (X[:, r] ** 2).max() + 1e-3


def test_d10_the_updates_with_penalties_minimise_the_bound() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        g, w, beta, weight = rng.normal(), rng.normal(), rng.uniform(0.2, 3), rng.uniform(0, 2)
        grid = np.linspace(-8, 8, 160_001)
        if weight >= abs(g - beta * w):  # Lemma 2
            step = -w
        else:
            step = -(g + weight) / beta if beta * w - g > 0 else (weight - g) / beta
        l1 = g * grid + beta / 2 * grid**2 + weight * np.abs(w + grid)
        assert step == pytest.approx(grid[l1.argmin()], abs=2e-4)
        l2 = g * grid + beta / 2 * grid**2 + weight * (w + grid) ** 2
        step = (-g - 2 * weight * w) / (beta + 2 * weight)
        assert step == pytest.approx(grid[l2.argmin()], abs=2e-4)


# --- D12: feature induction --------------------------------------------------------------------


def promises(objective: Objective, w: Floats, penalty: ElasticNet) -> tuple[Floats, Floats]:
    descent = Descent(objective, "thesis")
    descent.start(objective.whole.scores(w))
    return descent.promises(penalty, w)


def induce(objective: Objective, **options: Any) -> Any:
    return minimize(objective, solver="feature_induction", n_induced=1, **options)


def test_d12_the_decrease_of_the_loss_alone_chooses_features_that_the_penalty_forbids() -> None:
    # Small values have small bounds: the printed order likes them, but their derivatives are below
    # the penalty.
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, 0.0], [20, 80])
    X = rng.normal(size=(100, 10))
    X[:, 0] = 0.01 * (y + 0.1 * rng.normal(size=100))
    X[:, 1] += 0.5 * y
    penalty = ElasticNet(l1=1.0)
    objective = Objective([Share(X, y, Groups.one_query(100))], Domination(), penalty)
    w = np.zeros(10)
    printed, _ = promises(objective, w, ElasticNet())
    ours, _ = promises(objective, w, penalty)
    assert printed.argmax() == 0
    assert ours[0] == 0 < ours[1] == ours.max()
    chosen = induce(objective, step="thesis", max_updates=1)
    assert chosen.selected.tolist() == [1]


def test_d12_without_a_limit_the_most_promising_are_never_none() -> None:
    X, y = two_layers(n_positive=10, n_negative=40)
    penalty = ElasticNet(l1=3.0)
    objective = Objective([Share(X, y, Groups.one_query(50))], Domination(), penalty)
    found = induce(objective)
    assert found.stop == "converged"
    assert len(found.selected) < 3
    # Printed: there is always a next one, since the loss alone could still fall.
    printed, _ = promises(objective, found.coef, ElasticNet())
    assert (printed > 0).all()
    ours, violation = promises(objective, found.coef, penalty)
    assert violation.max() <= 1e-4
    assert ours.max() <= 1e-8


def test_d12_the_ridge_is_part_of_the_promise() -> None:
    X, y = two_layers()
    objective = Objective([Share(X, y, Groups.one_query(15))], Domination(), ElasticNet(l2=5.0))
    w = np.array([2.0, 0.0, -1.0])
    decrease, _ = promises(objective, w, objective.penalty)
    loss_only, _ = promises(objective, w, ElasticNet())
    for r in range(3):
        moves = np.linspace(-3, 3, 6001)
        beta = 5 * (X[:, r] ** 2).max()
        g = our_gradient(w, X, y)[r]
        penalty = 5.0 / 2 * ((w[r] + moves) ** 2 - w[r] ** 2)
        bound = g * moves + beta / 2 * moves**2 + penalty
        assert decrease[r] == pytest.approx(-bound.min(), rel=1e-4)
    assert np.abs(decrease - loss_only).max() > 1


# --- D13: many queries -------------------------------------------------------------------------


def test_d13_pooling_punishes_what_no_query_asks_for() -> None:
    # Each query is ranked well; the second one's scores are just lower.
    y, qid = np.array([1.0, 0.0, 1.0, 0.0]), np.array([0, 0, 1, 1])
    scores = np.array([40.0, 20.0, 10.0, -10.0])
    aware = Domination().value_and_grad(scores, y, Groups.from_qid(qid))[0]
    pooled = Domination().value_and_grad(scores, y, Groups.one_query(4))[0]
    assert aware < 1e-8
    assert pooled > 9
    assert DominationError().mean(y, scores, Groups.from_qid(qid)) == 0
    assert DominationError().mean(y, scores) == 0.5


def test_d13_gradients_and_bounds_are_summed_over_queries() -> None:
    X, y = three_layers()
    groups = Groups(np.array([0, 7, 12]))
    w = np.array([0.5, -0.3, 0.8])
    parts = [numeric_gradient(w, X[rows], y[rows]) for rows in groups]
    objective = Objective([Share(X, y, groups)], Domination(), ElasticNet())
    descent = Descent(objective, "newton")
    descent.start(X @ w)
    # The objective is a mean over queries.
    np.testing.assert_allclose(2 * descent.slopes(np.arange(3)), sum(parts), atol=1e-6)


# --- D14: error measures -----------------------------------------------------------------------


def test_d14_a_strict_comparison_does_not_see_ties() -> None:
    y = np.array([1.0, 1.0, 0.0, 0.0])
    tied = np.zeros(4)  # w = 0, which knows nothing
    violated = [any(tied[j] > tied[i] for j in (2, 3)) for i in (0, 1)]
    assert not any(violated)  # printed: no error at all
    assert DominationError(ties="worst").mean(y, tied) == 1.0
    assert PairwiseError().mean(y, tied) == 0.5


def test_d14_the_error_of_a_chain_of_five_is_a_multiple_of_a_quarter() -> None:
    # Figure 1 prints 2/5, but only four vertices dominate something.
    y = np.arange(5.0)
    errors = {
        float(DominationError(ties="worst").mean(y, np.array(order, dtype=float)))
        for order in itertools.permutations(range(5))
    }
    assert errors == {0.0, 0.25, 0.5, 0.75, 1.0}
