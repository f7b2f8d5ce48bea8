"""Where the SLAM paper is imprecise (S6, S7, S10, S11), and what holds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from rankwright import theory
from rankwright.data import Groups
from rankwright.losses import SLAM
from rankwright.metrics import AP, NDCG
from rankwright.online import SLAMPerceptron
from rankwright.online.slam_perceptron import SLAMFacts


@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_s6_what_a_misordered_document_can_lose(m: int) -> None:
    """The corrected proof of Theorem 3, step by step, for every ranking of every sorted list."""
    D = 1 / np.log2(1 + np.arange(1, m + 1))
    for labels in itertools.combinations_with_replacement(range(2, -1, -1), m):
        y = np.array(labels, dtype=float)
        G = np.exp2(y) - 1
        for order in itertools.permutations(range(m)):
            rank = np.argsort(order)  # from 0
            # Within a label documents are interchangeable: let them stand in the order of the list.
            if any(y[i] == y[i + 1] and rank[i] > rank[i + 1] for i in range(m - 1)):
                continue
            lost = G @ (D - D[rank])
            assert lost == pytest.approx((G - G[-1]) @ (D - D[rank]))
            misordered = [
                any(y[j] < y[i] and rank[j] < rank[i] for j in range(m)) for i in range(m)
            ]
            for i in range(m):
                assert misordered[i] or rank[i] <= i
            assert lost <= ((G - G[-1]) * (D - D[-1]))[misordered].sum() + 1e-12


@pytest.mark.parametrize("metric", ["ndcg", "map", "map-uniform", "ndcg@2"])
@pytest.mark.parametrize("y", [[0.0, 0, 0], [2.0, 2, 2], [1.0]])
def test_s7_without_a_pair_to_order_nothing_is_lost_or_learned(metric: str, y: list[float]) -> None:
    scores = np.arange(len(y), dtype=float)
    value, grad = SLAM(metric).value_and_grad(scores, y)
    assert value == 0
    assert (grad == 0).all()
    learner = SLAMPerceptron(metric).partial_fit(scores[:, None], y, np.zeros(len(y)))
    assert learner.cumulative_loss_ == learner.n_updates_ == 0
    # What is printed is 0/0 for r = 0 and for Z = 0.
    of_nothing = [AP(empty="skip"), NDCG(empty="skip")]
    if max(y) == 0:
        assert all(np.isnan(m.per_query(np.array(y), scores, None)[0]) for m in of_nothing)


def test_s10_the_last_term_of_corollary_7_grows_faster_than_k() -> None:
    terms = []
    for k in (2, 8, 64, 512):
        y = np.r_[np.ones(k), 0.0]
        loss, groups = SLAM(f"ndcg@{k}", **_printed()), Groups.one_query(k + 1)
        facts = SLAMFacts.of(loss.document_weights(y, groups), groups, k)
        assert facts.v_max == pytest.approx(np.log2(1 + k))  # D(1)/D(k)
        terms.append(theory.slam_corollary7(1.0, 1.0, k, facts.v_max).value / k)
    assert terms == sorted(terms)
    assert terms[-1] > 5 * terms[0]


def _printed() -> dict[str, Any]:
    """Weights as the paper prints them, where the library has others."""
    return {"weights": "printed"} if "weights" in SLAM.__dataclass_fields__ else {}


def test_s11_a_tie_has_a_hinge_of_exactly_one() -> None:
    """The proofs of Proposition 4 and Corollary 6 print "> 1" where ties give 1."""
    value, _ = SLAM("map").value_and_grad([0.5, 0.5], [1, 0])
    assert value == 0.5  # v = 1/2, and not above it
    # A margin of exactly gamma makes the hinge of u/gamma exactly 0.
    value, _ = SLAM("map").value_and_grad([1.0, 0.0], [1, 0])
    assert value == 0
    # 7.4 ends with one m more than (16): true as well, and weaker.
    bound = theory.slam_proposition4(0.5, 1.0, 2, 1.0).value
    assert 0.5 == np.sum(np.array([-0.5, 0.5]) ** 2) <= bound < 2 * bound
