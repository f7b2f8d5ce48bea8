"""S13: batch SLAM is least at weights 0 where labels are noisy; SmoothSLAM is not."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.data import Groups
from rankwright.exceptions import DataWarning
from rankwright.losses import SLAM, Domination, SmoothSLAM
from tests.reference.losses import Floats


def noisy_lists(noise: float, m: int = 10) -> tuple[Floats, Floats, Any, Floats]:
    """Two hundred lists whose labels are cuts of a linear score and noise of so many sds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200 * m, 5))
    u = rng.normal(size=5)
    u /= np.linalg.norm(u)
    utility = X @ u + noise * rng.normal(size=len(X))
    y = np.digitize(utility, np.quantile(utility, [0.5, 0.75, 0.9])).astype(float)
    return X, y, np.repeat(np.arange(200), m), u


def cosine(w: Floats, u: Floats) -> float:
    return float(w @ u / np.linalg.norm(w))


@pytest.mark.parametrize("metric", ["ndcg", "ndcg@10", "ndcg@5"])
@pytest.mark.parametrize("weights", ["group", "printed"])
@pytest.mark.parametrize("alpha", [1e-1, 1e-3, 1e-5, 1e-7])
def test_s13_the_certified_minimum_is_at_weights_0(metric: str, weights: Any, alpha: float) -> None:
    X, y, qid, _ = noisy_lists(noise=1.0)
    with pytest.warns(DataWarning, match=r"On noisy labels SLAM .*loss='smooth-slam'"):
        ranker = rw.LinearRanker(SLAM(metric, weights=weights), alpha=alpha).fit(X, y, qid)
    at_zero = ranker.objective_[0]
    assert ranker.gap_ < 1e-3 * at_zero
    assert at_zero - ranker.objective_[-1] <= ranker.gap_ + 1e-12
    np.testing.assert_allclose(ranker.coef_, 0, atol=1e-6)


@pytest.mark.parametrize("metric", ["ndcg", "ndcg@10", "map"])
@pytest.mark.parametrize("alpha", [1e-1, 1e-3, 1e-5])
def test_s13_smooth_slam_finds_the_direction(metric: str, alpha: float) -> None:
    X, y, qid, u = noisy_lists(noise=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = rw.LinearRanker(SmoothSLAM(metric), alpha=alpha).fit(X, y, qid)
    assert cosine(ranker.coef_, u) > 0.98
    assert ranker.gap_ < 1e-5 < 0.1 < ranker.objective_[0] - ranker.objective_[-1]


def test_s13_even_along_the_right_direction_slam_only_rises() -> None:
    # No solver: a convex function whose derivatives at 0 are all >= 0 is least there.
    X, y, qid, u = noisy_lists(noise=1.0)
    groups = Groups.from_qid(qid)
    values = [SLAM().value_and_grad(t * (X @ u), y, groups)[0] for t in (0.0, 1e-3, 0.1, 0.5, 2.0)]
    assert values == sorted(values)
    # Without noise it falls, so that it is the noise.
    X, y, qid, u = noisy_lists(noise=0.0)
    values = [SLAM().value_and_grad(t * (X @ u), y, groups)[0] for t in (0.0, 1e-3, 0.1, 0.5, 2.0)]
    assert values == sorted(values, reverse=True)


def test_s13_short_lists_and_little_noise_can_be_learned() -> None:
    for noise, m in ((0.5, 10), (1.0, 5)):
        X, y, qid, u = noisy_lists(noise, m)
        assert cosine(rw.LinearRanker("slam").fit(X, y, qid).coef_, u) > 0.98


def test_a_fit_that_is_not_shown_to_be_better_than_weights_0_says_so() -> None:
    X, y, qid, _ = noisy_lists(noise=0.94)
    text = r"^this model may rank nothing: its objective is .*e-04 below .* gap of .*e-03\. Lower"
    with pytest.warns(DataWarning, match=text):
        loose = rw.LinearRanker("slam", tol=1e-2).fit(X, y, qid)
    assert loose.coef_.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rw.LinearRanker("slam").fit(X, y, qid)


def test_other_losses_are_told_of_alpha() -> None:
    X, y, qid, _ = noisy_lists(noise=1.0)
    with pytest.warns(DataWarning, match=r"where the objective is least\. Lower alpha, or take"):
        rw.LinearRanker("smooth-slam", "l1", alpha=100.0).fit(X, y, qid)


# --- SmoothSLAM --------------------------------------------------------------------------------


def test_smooth_slam_with_weights_of_1_is_domination_over_log_2() -> None:
    X, y, qid, u = noisy_lists(noise=1.0)
    groups, ones = Groups.from_qid(qid), SmoothSLAM(np.ones_like)
    scores = X @ u
    np.testing.assert_allclose(
        math.log(2) * ones.per_query(scores, y, groups), Domination().per_query(scores, y, groups)
    )
    np.testing.assert_allclose(
        math.log(2) * ones.value_and_grad(scores, y, groups)[1],
        Domination().value_and_grad(scores, y, groups)[1],
        atol=1e-14,
    )


def test_smooth_slam_by_hand() -> None:
    # Labels 1, 1, 0 for MAP: v = 5/24 each; leads of 0 and log 3 over the one below.
    loss = SmoothSLAM("map")
    value, grad = loss.value_and_grad([0.0, math.log(3), 0.0], [1, 1, 0])
    assert value == pytest.approx(5 / 24 * (1 + math.log2(4 / 3)))
    half, quarter = (5 / 24 / math.log(2) * p for p in (1 / 2, 1 / 4))
    np.testing.assert_allclose(grad, [-half, -quarter, half + quarter])
    # In perfect order a long way apart it is 0, as SLAM is.
    assert loss.value_and_grad([80.0, 90.0, 0.0], [1, 1, 0])[0] == pytest.approx(0, abs=1e-30)


@pytest.mark.parametrize("loss", ["smooth-slam", "smooth-slam-map", SmoothSLAM("ndcg@5")])
def test_smooth_slam_trains_everywhere(loss: Any) -> None:
    X, y, qid, u = noisy_lists(noise=1.0)
    online = rw.OnlineRanker(loss, eta=0.05).fit(X, y, qid)
    assert cosine(online.coef_, u) > 0.98
    trees = rw.BoostedRanker(loss, n_estimators=100, num_leaves=7).fit(X, y, qid)
    assert (
        trees.score(X, y, qid) > rw.metrics.NDCG(k=10).mean(y, X @ u, Groups.from_qid(qid)) - 0.05
    )
    for solver in ("lbfgs", "prox_newton", "coordinate_descent"):
        for penalty in ("l1", "l2", "elasticnet"):
            fitted = rw.LinearRanker(loss, penalty, 1e-2, solver=solver).fit(X, y, qid)
            assert cosine(fitted.coef_, u) > 0.98
            assert fitted.gap_ < 1e-4
    path = rw.LinearRanker(loss, "l1").path(X, y, qid, n_alphas=5)
    assert path[0].n_features == 0
    assert cosine(path[-1].coef, u) > 0.98
