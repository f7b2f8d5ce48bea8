"""The claims of the XE-NDCG paper, on data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rankwright import theory
from rankwright.data import Groups
from rankwright.losses import XENDCG, LambdaRank


def queries(seed: int) -> tuple[Any, Any, Groups]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, 20)
    groups = Groups(np.append(0, np.cumsum(sizes)))
    y = rng.integers(0, 4, groups.n_rows).astype(float)
    return rng.normal(scale=rng.choice([0, 1, 10]), size=groups.n_rows), y, groups


def test_theorem_1_and_its_form_without_translation() -> None:
    for seed in range(300):
        scores, y, groups = queries(seed)
        gammas: Any = ("random", 0.0, 0.5, 1.0)
        for gamma in gammas:
            bound = theory.xendcg_theorem1(scores, y, groups, XENDCG(gamma))
            assert bound.terms["left side"] <= bound.value
        bound = theory.xendcg_translation_free(scores, y, groups)
        assert bound.terms["left side"] <= bound.value + 1e-12
    with pytest.raises(ValueError, match="there must be a query with a label above 0"):
        theory.xendcg_theorem1([1.0, 2.0], [0, 0])


def test_x2_the_printed_exponent_of_theorem_2_is_too_good() -> None:
    # One loss, known up to a shift of at most epsilon/2 by the cover: two outcomes, with range 2.
    epsilon, n = 0.1, 1600
    printed = theory.xendcg_theorem2(epsilon, n, 1, printed=True).value
    corrected = theory.xendcg_theorem2(epsilon, n, 1).value
    assert printed == pytest.approx(2 * math.exp(-2 * n * epsilon**2 / 4))
    assert corrected == pytest.approx(2 * math.exp(-n * epsilon**2 / 8))
    # A function of the ball has an error epsilon/2 larger than its centre's, which is a mean of n
    # numbers of +-1: it exceeds epsilon whenever that mean exceeds epsilon/2.
    heads = np.random.default_rng(0).binomial(n, 0.5, 200_000)
    rate = np.mean((2 * heads - n) / n > epsilon / 2)
    assert printed < 0.5 * rate
    assert rate <= corrected


def test_claim_1() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):  # a single click
        p = rng.dirichlet(np.ones(4))
        assert theory.xendcg_claim1(np.eye(4), p).holds
    assert theory.xendcg_claim1([[3, 1, 0, 2]], [1.0]).holds  # labels that never change
    # Several clicks, at random: not in general.
    outcomes = rng.integers(0, 3, (200, 3, 3))
    found = {
        theory.xendcg_claim1(labels, rng.dirichlet(np.ones(3))).holds for labels in outcomes[:50]
    }
    assert found == {True, False}
    with pytest.raises(ValueError, match="probabilities must be 2 numbers >= 0 with sum 1"):
        theory.xendcg_claim1([[1, 0], [0, 1]], [0.9, 0.9])


def test_claim_2_and_proposition_1() -> None:
    rng = np.random.default_rng(0)
    for m in (2, 5, 20):
        for _ in range(20):
            y, scores = rng.integers(0, 4, m).astype(float), rng.normal(scale=5, size=m)
            grad, _ = LambdaRank(sigma=2.0, k=m).grad_and_hess(scores, y, Groups.one_query(m))
            assert np.abs(grad).sum() <= theory.lambdamart_claim2(m, 2.0).value
            norms = theory.score_gradient_norms("xendcg", scores, y)
            assert norms[0] <= theory.xendcg_proposition1().value + 1e-12
    assert theory.lambdamart_claim2(5, 3.0).value == 75


@pytest.mark.parametrize("eps", [1e-6, 0.1, 3.0])
def test_claims_3_and_4(eps: float) -> None:
    rng = np.random.default_rng(0)
    for m in (2, 3, 8):
        for _ in range(20):
            s = rng.normal(size=m)
            rho = np.exp(s) / (np.exp(s).sum() + eps)
            H = np.diag(rho) - np.outer(rho, rho)
            smallest = np.linalg.eigvalsh(H)[0]
            assert smallest > 0
            assert 1 / smallest <= theory.xendcg_claim3(s, eps).value * (1 + 1e-6)
            S = (rho / (1 - rho)[:, None]) * (1 - np.eye(m))
            radius = np.abs(np.linalg.eigvals(S)).max()
            assert radius <= theory.xendcg_claim4(s, eps).value + 1e-12 < 1 + 1e-12


def test_x4_a_negligible_eps_leaves_nothing() -> None:
    s = np.array([0.5, 0.0, -0.5])
    assert theory.xendcg_claim4(s, 1e-20).value == 1.0  # in floating point
    assert theory.xendcg_claim3(s, 1e-12).value > 1e12
    assert theory.xendcg_claim3(s, 0.0).value == math.inf
    assert theory.xendcg_claim4([1.0], 0.1).value == 0
    assert theory.xendcg_claim4([800.0, -800.0], 1e-3).value == pytest.approx(1.0)
    with pytest.raises(ValueError, match="scores must be the finite scores of one query"):
        theory.xendcg_claim4([], 0.1)
