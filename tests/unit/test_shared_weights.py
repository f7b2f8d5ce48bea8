"""S14: documents of equal labels may share their weights, and then no row comes before another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.data import Groups
from rankwright.losses import SLAM, SmoothSLAM
from rankwright.losses.metric_weights import Sharing
from rankwright.metrics import AP, NDCG, Metric
from rankwright.online.slam_perceptron import SLAMFacts
from tests.reference.losses import Floats

SHARING: tuple[Sharing, ...] = ("group", "printed")
BOUNDED: list[tuple[str, Metric]] = [
    ("ndcg", NDCG(ties="worst", empty=1.0)),
    ("map", AP(ties="worst", empty=1.0)),
    *((f"ndcg@{k}", NDCG(k=k, ties="worst", empty=1.0)) for k in range(1, 6)),
]


def weak_orders(m: int) -> Floats:
    """All orders of m documents in which some may be tied, as scores 0, 1, ..., none left out."""
    ranks = np.array(list(product(range(m), repeat=m)), dtype=float)
    highest = ranks.max(axis=1)
    levels = (ranks[:, :, None] == np.arange(m)).any(axis=1).sum(axis=1)
    return np.asarray(ranks[levels == highest + 1])


def all_queries(m: int) -> Iterator[tuple[Floats, Floats]]:
    """Labels 0 to 3 in the order of the rows, each with all weak orders."""
    scores = weak_orders(m)
    for labels in combinations_with_replacement((3.0, 2.0, 1.0, 0.0), m):
        yield np.array(labels), scores


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6])
def test_s14_the_weights_of_the_misordered_documents_bound_the_metric(m: int) -> None:
    one, n_cases = Groups.one_query(m), 0
    for y, scores in all_queries(m):
        groups = Groups(np.arange(0, scores.size + 1, m))
        for name, metric in BOUNDED:
            grades = (y >= 1).astype(float) if name == "map" else y
            below = grades < grades[:, None]
            misordered = (below & (scores[:, None, :] >= scores[:, :, None])).any(axis=2)
            value = metric.per_query(np.tile(y, len(scores)), scores.ravel(), groups)
            for weights in SHARING:
                v = SLAM(name, weights=weights).document_weights(y, one)
                # The slack of the losses is no less: they are at least this sum.
                assert (misordered @ v - (1 - value)).min() >= -1e-15
                n_cases += len(scores)
    assert n_cases == {1: 56, 2: 420, 3: 3640, 4: 36750, 5: 424144, 6: 5507208}[m]


def labelled_queries(seed: int, n_queries: int = 30) -> tuple[Floats, Groups]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, n_queries)
    y = rng.integers(0, 4, sizes.sum()).astype(float)
    return y, Groups(np.append(0, np.cumsum(sizes)))


@pytest.mark.parametrize("metric", ["ndcg", "map", "ndcg@3", "ndcg@10"])
def test_s14_sums_stay_and_no_weight_is_larger(metric: str) -> None:
    y, groups = labelled_queries(0)
    shared, printed = (SLAM(metric, weights=w).document_weights(y, groups) for w in SHARING)
    for rows in groups:
        assert shared[rows].sum() == pytest.approx(printed[rows].sum(), abs=1e-15)
        assert shared[rows].max() <= printed[rows].max() * (1 + 1e-15)
        grades = (y[rows] >= 1).astype(float) if metric == "map" else y[rows]
        for grade in np.unique(grades):
            assert len(set(shared[rows][grades == grade])) == 1
    if "@" not in metric:
        ratios = [SLAMFacts.of(v, groups).v_max for v in (shared, printed)]
        assert ratios[0] < ratios[1] / 2


def test_s14_documents_of_a_cut_group_count_in_theorem_5() -> None:
    # Three documents of label 1 share the second place.
    y, one = np.array([2.0, 1, 1, 1, 0]), Groups.one_query(5)
    shared, printed = (
        SLAMFacts.of(SLAM("ndcg@2", weights=w).document_weights(y, one), one, 2) for w in SHARING
    )
    assert (shared.max_docs, printed.max_docs) == (4, 2)
    assert shared.v_max == pytest.approx(3 * printed.v_max)
    assert pytest.approx(printed.V) == shared.V
    X = np.random.default_rng(0).normal(size=(5, 2))
    names = []
    for weights in SHARING:
        learner = rw.SLAMPerceptron("ndcg@2", "paper", weights=weights, standardize=False)
        names.append(learner.bound([1.0, 0.0], X, y).name)
        facts = shared if weights == "group" else printed
        radius = max(np.linalg.norm(X, axis=1))
        eta = 1 / (4 * facts.max_docs * radius**2 * facts.v_max)
        assert learner.fit(X, y).eta_ == pytest.approx(eta)
    assert names == ["Theorem 5", "Corollary 7"]


# --- rows --------------------------------------------------------------------------------------


def permuted(groups: Groups, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(np.arange(q.start, q.stop)) for q in groups])


@pytest.mark.parametrize("loss", [SLAM(), SLAM("map"), SLAM("ndcg@3"), SmoothSLAM("ndcg@3")])
def test_s14_rows_of_equal_labels_may_change_places(loss: Any) -> None:
    y, groups = labelled_queries(1)
    for scores in (np.random.default_rng(1).normal(size=len(y)), np.zeros(len(y))):
        rows = permuted(groups, 1)
        values, grad = loss.per_query(scores, y, groups), loss.value_and_grad(scores, y, groups)[1]
        again = loss.value_and_grad(scores[rows], y[rows], groups)[1]
        np.testing.assert_allclose(
            loss.per_query(scores[rows], y[rows], groups), values, rtol=1e-13, atol=1e-15
        )
        np.testing.assert_allclose(again, grad[rows], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("update", ["misordered", "paper", "printed"])
@pytest.mark.parametrize("metric", ["ndcg", "map", "ndcg@3"])
def test_s14_the_perceptron_does_not_see_the_order_of_rows(metric: str, update: Any) -> None:
    y, groups = labelled_queries(2)
    X = np.random.default_rng(2).normal(size=(len(y), 4)) + y[:, None]
    qid, rows = groups.query_of_rows(), permuted(groups, 2)

    def coef(weights: Sharing, order: Any) -> Floats:
        learner = rw.SLAMPerceptron(metric, update, weights=weights)
        return np.asarray(learner.fit(X[order], y[order], qid[order]).coef_)

    first, again = (coef("group", order) for order in (np.arange(len(y)), rows))
    np.testing.assert_allclose(again, first, rtol=1e-9)
    first, again = (coef("printed", order) for order in (np.arange(len(y)), rows))
    assert np.abs(again - first).max() > 1e-6 * np.abs(first).max()


@pytest.mark.parametrize("kind", [SLAM, SmoothSLAM, rw.SLAMPerceptron])
def test_what_weights_may_be(kind: Any) -> None:
    def make(*args: Any, **params: Any) -> None:
        made = kind(*args, **params)
        if isinstance(made, rw.SLAMPerceptron):
            made.check_params()

    with pytest.raises(ValueError, match=r"^weights must be 'group' or 'printed', but is 'mean'\."):
        make(weights="mean")
    with pytest.raises(ValueError, match=r"^metric='map-uniform' is metric='map' with weights="):
        make("map-uniform", weights="printed")
    make("map-uniform")
