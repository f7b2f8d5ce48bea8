"""What the PRank paper leaves open or has wrong (R1, R3, R5 to R8); R2 and R4 are contracts."""

from __future__ import annotations

import numpy as np
import pytest

from rankwright.data.validation import Floats
from rankwright.experiments.prank_learners import average_losses, perceptrons, widrow_hoff
from rankwright.experiments.prank_synthetic import CLASSES, explicit, sample_points
from rankwright.online import PRank
from rankwright.theory import prank_bound, prank_theorem2
from tests.reference.online import Thresholds


def test_r1_the_algorithm_by_hand() -> None:
    # k = 3. All thresholds start at 0 and are passed: rank 3. Then b_1 and b_2 are moved in turn.
    model = PRank(classes=[1, 2, 3], standardize=False)
    seen = []
    for x, y in ((1.0, 1), (1.0, 2), (2.0, 3)):
        model.partial_fit([[x]], [y])
        seen.append((float(model.coef_[0]), model.thresholds_.tolist(), model.cumulative_loss_))
    # x = 1, y = 1: both are wrong, w = -2, b = (1, 1), loss 2. x = 1, y = 2: w.x - b = (-3, -3),
    # rank 1, the first is wrong: w = -1, b = (0, 1), loss 1. x = 2, y = 3: -2 is below both: rank
    # 1, both are wrong: w = 3, b = (-1, 0), loss 2.
    assert seen == [(-2, [1, 1], 2), (-1, [0, 1], 3), (3, [-1, 0], 5)]


def test_r3_the_tighter_bound_holds_where_theorem_2_has_a_third_more() -> None:
    # New directions with the ranks 1 and 3 in turn: both thresholds are always wrong.
    d, k = 50, 3
    y = np.where(np.arange(d) % 2 == 0, 1, 3)
    loss = PRank(classes=[1, 2, 3], standardize=False).partial_fit(np.eye(d), y).cumulative_loss_
    margin = 1 / np.sqrt(d)  # of w = +-1/sqrt(d) and thresholds at 0
    assert loss == 2 * d
    assert prank_bound(margin, 1.0, k).value == pytest.approx(3 * d)  # ((k - 1) R^2 + 1)/gamma^2
    assert prank_theorem2(margin, 1.0, k).value == pytest.approx(4 * d)


def test_r5_the_shares_of_the_generated_ranks() -> None:
    _, y = sample_points(0, 100_000)
    shares = np.bincount(y.astype(int))[1:] / len(y)
    np.testing.assert_allclose(shares, [0.115, 0.312, 0.231, 0.226, 0.116], atol=0.005)


def test_r6_the_rate_of_widrow_hoff_decides_who_wins() -> None:
    found: dict[str, list[float]] = {}
    for seed in range(3):
        X, y = sample_points(seed, 4000)
        learners = {"PRank": perceptrons(CLASSES)["PRank"]}
        learners |= {str(rate): widrow_hoff(rate, CLASSES) for rate in (0.05, 0.2)}
        for name, learner in learners.items():
            found.setdefault(name, []).extend(average_losses(learner, explicit(X), y, [4000]))
    low, prank, high = (np.array(found[name]) for name in ("0.2", "PRank", "0.05"))
    assert (low < prank).all()
    assert (prank < high).all()


def test_r7_a_scale_is_a_step_of_the_thresholds() -> None:
    """Dividing documents by c is to move the thresholds by c^2, and no other change."""
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (200, 3)).astype(float)
    y = 1 + np.digitize(X @ [1, 2, -1], [-8, 0, 8])
    for c in (0.25, 2.0, 8.0):  # powers of two: no rounding
        scaled = PRank(classes=[1, 2, 3, 4], standardize=False)
        losses = [
            float(scaled.partial_fit(X[[t]] / c, y[[t]]).cumulative_loss_) for t in range(200)
        ]
        assert losses == _losses_with_step(X, y, c**2)
    # Long documents and steps of 1: the thresholds stay together, and only the ends are predicted.
    X = rng.normal(size=(500, 3))
    y = 1 + np.digitize(X @ [1, 2, -1], [-2, 0, 2])
    middle = {}
    for scale in (0.5, 1000.0):
        model = PRank(classes=[1, 2, 3, 4], standardize=False).partial_fit(scale * X, y)
        middle[scale] = np.isin(model.predict(scale * X), [2, 3]).mean()
    assert middle[1000.0] < 0.02
    assert middle[0.5] > 0.3


def _losses_with_step(X: Floats, y: Floats, step: float) -> list[float]:
    machine, total, found = Thresholds(np.zeros(3), np.zeros(3)), 0.0, []
    for x, rank in zip(X, y.tolist(), strict=True):
        total += abs(machine.rank(x) - rank)
        before = machine.b.copy()
        machine.learn(x, rank)
        machine.b = before + step * (machine.b - before)
        found.append(total)
    return found


def test_r8_widrow_hoff_needs_an_intercept() -> None:
    """Ranks around 3 from features around 0: without a constant, weights cannot say 3."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) / 2
    y = np.clip(np.rint(3 + X @ [1, 1, 1]), 1, 5)
    plain, ones = (
        widrow_hoff(0.05, CLASSES).partial_fit(data, y).cumulative_loss_ / len(y)
        for data in (X, np.c_[X, np.ones(len(X))])
    )
    constant = np.abs(y - 3).mean()
    assert ones < 0.7 * constant < constant < plain
    assert plain == pytest.approx(2, abs=0.5)
