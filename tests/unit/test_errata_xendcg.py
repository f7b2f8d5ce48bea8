"""Where the XE-NDCG paper is right, silent or misprinted (X3, X6, X7, X9); others are elsewhere."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from rankwright import theory
from rankwright.data import Groups
from rankwright.data.validation import Floats
from rankwright.losses import XENDCG
from tests.reference import losses as reference


def _given(gamma: Floats, labels: Floats) -> Floats:
    return gamma


def test_x3_the_algebra_of_section_4_3() -> None:
    rng = np.random.default_rng(0)
    for m in (3, 5, 9):
        s, y, gamma = rng.normal(size=m), rng.integers(0, 4, m).astype(float), rng.random(m)
        loss = XENDCG(gamma=partial(_given, gamma), eps=0.3, skip_empty=False)
        rho = np.exp(s) / (np.exp(s).sum() + 0.3)
        grad = loss.value_and_grad(s, y)[1]
        H = np.diag(rho) - np.outer(rho, rho)
        step = 1e-5
        for k in range(m):
            e = step * np.eye(m)[k]
            up, down = loss.value_and_grad(s + e, y), loss.value_and_grad(s - e, y)
            assert grad[k] == pytest.approx((up[0] - down[0]) / (2 * step), abs=1e-8)
            np.testing.assert_allclose(H[k], (up[1] - down[1]) / (2 * step), atol=1e-8)
        D = np.diag(rho * (1 - rho))
        S = (rho / (1 - rho)[:, None]) * (1 - np.eye(m))
        np.testing.assert_allclose(H, D @ (np.eye(m) - S), atol=1e-15)
        by_powers = (np.eye(m) + S + S @ S) @ np.linalg.inv(D) @ grad
        neumann = XENDCG(loss.gamma, newton="neumann", eps=0.3, skip_empty=False)
        g, h = neumann.grad_and_hess(s, y, Groups.one_query(m))
        np.testing.assert_allclose(g / h, by_powers, rtol=1e-10)


def lightgbm_gammas(n: int, seed: int) -> Floats:
    """Return the draws of ``rank_xendcg`` for the first query: a linear congruential generator."""
    found, x = [], seed
    for _ in range(n):
        x = (214013 * x + 2531011) & 0xFFFFFFFF
        found.append(((x >> 16) & 0x7FFF) / 32768)
    return np.array(found)


def test_x6_lightgbm_has_the_papers_formula() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    m, seed = 6, 5
    y, X = np.array([3.0, 0, 2, 0, 1, 0]), np.arange(m, dtype=float)[:, None]
    data = lightgbm.Dataset(X, y, group=[m], params={"min_data_in_bin": 1, "verbose": -1})
    parameters = {
        "objective": "rank_xendcg",
        "objective_seed": seed,
        "num_leaves": m,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0.0,
        "learning_rate": 1.0,
        "verbose": -1,
        "num_threads": 1,
    }
    booster = lightgbm.train(parameters, data, num_boost_round=1)
    gamma = lightgbm_gammas(m, seed)
    ours = XENDCG(gamma=partial(_given, gamma), newton="neumann")
    g, h = ours.grad_and_hess(np.zeros(m), y, Groups.one_query(m))
    leaves = booster.predict(X, pred_leaf=True).ravel()
    expected = [-g[leaves == leaf].sum() / h[leaves == leaf].sum() for leaf in leaves]
    assert len(set(leaves)) == m  # every document has a leaf of its own
    np.testing.assert_allclose(booster.predict(X), expected, rtol=2e-6)


def test_x7_without_a_relevant_document_the_target_is_noise() -> None:
    rng = np.random.default_rng(0)
    targets = np.array([reference.xendcg_target(np.zeros(4), rng.random(4)) for _ in range(2000)])
    assert len({tuple(np.argsort(target)) for target in targets}) == 24  # every order
    np.testing.assert_allclose(targets.mean(axis=0), 0.25, atol=0.01)
    gamma = rng.random(4)
    np.testing.assert_allclose(
        reference.xendcg_target(np.zeros(4), gamma), (1 - gamma) / (1 - gamma).sum()
    )


def test_x9_what_eps_leaves_is_a_share() -> None:
    """Appendix A.2 prints eps for the share of the document that is not there."""
    s, eps = np.array([0.5, -1.0, 2.0]), 0.1
    spare = theory.xendcg_claim3(s, eps).terms["spare rho"]
    rho = np.exp(s) / (np.exp(s).sum() + eps)
    assert rho.sum() + spare == pytest.approx(1)
    assert rho.sum() + eps != pytest.approx(1)
    assert spare == pytest.approx(eps / (np.exp(s).sum() + eps))
