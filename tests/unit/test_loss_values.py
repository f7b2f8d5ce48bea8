"""Losses on queries small enough for arithmetic by hand, and what their constructors refuse."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from rankwright.data import Groups
from rankwright.losses import (
    SLAM,
    XENDCG,
    Bound,
    Domination,
    LambdaRank,
    ListNet,
    RankHinge,
    RankLogistic,
    SmoothSLAM,
    StochasticLambdaRank,
)
from rankwright.losses.loss import Loss
from rankwright.metrics import AP, NDCG, DominationError, PairwiseError
from tests.reference.losses import Floats

exp, log, log2 = math.exp, math.log, math.log2
D2, D3, D4 = 1 / log2(3), 1 / 2, 1 / log2(5)


def check(loss: Any, scores: Any, y: Any, value: float, grad: list[float]) -> None:
    computed, gradient = loss.value_and_grad(scores, y)
    assert computed == pytest.approx(value, rel=1e-14, abs=1e-15)
    np.testing.assert_allclose(gradient, grad, rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(loss.per_query(scores, y), [computed])


def check_pair(loss: Any, scores: Any, y: Any, grad: list[float], hess: list[float]) -> None:
    computed, curvature = loss.grad_and_hess(scores, y)
    np.testing.assert_allclose(computed, grad, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(curvature, hess, rtol=1e-13, atol=1e-15)


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


def rejects(message: str, function: Any, *args: Any, **options: Any) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        function(*args, **options)


# --- SLAM --------------------------------------------------------------------------------------

# Rows with labels 0, 2, 1: by decreasing label rows 1, 2, 0 with gains 3, 1, 0.
Z = 3 + 1 * D2
V1, V2 = 3 * (1 - D3) / Z, 1 * (D2 - D3) / Z


def test_slam_ndcg() -> None:
    # Row 1 is outscored by row 2: 1 + 1.5 - 0.5; row 2 is half a point ahead of row 0.
    check(SLAM(), [1.0, 0.5, 1.5], [0, 2, 1], 2 * V1 + 0.5 * V2, [V2, -V1, V1 - V2])
    # Row 2 is ahead by exactly the margin, so only row 1 counts.
    check(SLAM(), [1.0, 0.5, 2.0], [0, 2, 1], 2.5 * V1, [0, -V1, V1])


def test_slam_margin() -> None:
    loss = SLAM(margin=0.25)
    check(loss, [1.0, 0.5, 1.5], [0, 2, 1], 1.25 * V1, [0, -V1, V1])


def test_slam_ndcg_subtracts_the_lowest_gain() -> None:
    z = 7 + 3 * D2 + 1 * D3  # labels 3, 2, 1
    v = [(7 - 1) * (1 - D3) / z, (3 - 1) * (D2 - D3) / z, 0]
    np.testing.assert_allclose(
        SLAM().document_weights(np.array([3.0, 2, 1]), Groups.one_query(3)), v
    )


def test_slam_map() -> None:
    # Two of three relevant: (1/2)(1/2) and (1/2)(1/3).
    printed = SLAM("map", weights="printed")
    check(printed, [0.0, 0.0, 0.0], [1, 1, 0], 1 / 4 + 1 / 6, [-1 / 4, -1 / 6, 5 / 12])
    for shared in (SLAM("map"), SLAM("map-uniform")):
        check(shared, [0.0, 0.0, 0.0], [1, 1, 0], 5 / 12, [-5 / 24, -5 / 24, 5 / 12])


def test_slam_map_knows_two_grades() -> None:
    # Labels 2 and 1 are both relevant: their order costs nothing.
    check(SLAM("map"), [5.0, 9.0, 0.0], [2, 1, 0], 0.0, [0, 0, 0])
    check(SLAM("map"), [0.0, 9.0, 1.0], [2, 1, 0], 2 * 5 / 24, [-5 / 24, 0, 5 / 24])
    printed = SLAM("map", weights="printed")
    check(printed, [0.0, 9.0, 1.0], [2, 1, 0], 2 * 1 / 4, [-1 / 4, 0, 1 / 4])
    # With another threshold only label 2 is relevant: v = (1/1)(2/3).
    strict = SLAM("map", threshold=2.0)
    check(strict, [5.0, 9.0, 0.0], [2, 1, 0], 5 * 2 / 3, [-2 / 3, 2 / 3, 0])
    check(strict, [0.0, 0.0], [1, 0], 0.0, [0, 0])


def test_slam_at_k() -> None:
    z = 3 + 1 * D2
    v = [3 / z, D2 / z]
    printed = SLAM("ndcg@2", weights="printed")
    check(printed, [-1.0, -1.0, -1.0, 0.0], [2, 1, 1, 0], 2.0, [-v[0], -v[1], 0, 1.0])
    # The cutoff falls between two documents of label 1: they share what is inside.
    half = v[1] / 2
    check(SLAM("ndcg@2"), [-1.0, -1.0, -1.0, 0.0], [2, 1, 1, 0], 2.0, [-v[0], -half, -half, 1.0])
    # All tied: each pushes all that are below it.
    push = [-v[0], v[0] / 3 - half, v[0] / 3 - half, v[0] / 3 + v[1]]
    check(SLAM("ndcg@2"), [0.0] * 4, [2, 1, 1, 0], 1.0, push)
    check(SLAM("ndcg@1"), [0.0] * 4, [2, 1, 1, 0], 1.0, [-1, 1 / 3, 1 / 3, 1 / 3])
    check(SLAM("ndcg@9"), [0.0, 0.0], [1, 0], 1.0, [-1, 1])


def test_slam_of_tied_labels_looks_at_strictly_lower_ones() -> None:
    # Row 0 is far below row 1, which has the same label, and far above row 2.
    for metric in ("ndcg", "map", "map-uniform", "ndcg@2"):
        check(SLAM(metric), [0.0, 5.0, -10.0], [1, 1, 0], 0.0, [0, 0, 0])


def test_slam_pushes_down_the_best_of_all_lower_labels() -> None:
    # The best document below label 2 has label 0, not 1.
    loss = SLAM(lambda y: np.array([1.0, 0.0, 0.0]))
    check(loss, [0.0, 1.0, 3.0], [2, 1, 0], 4.0, [-1, 0, 1])


def test_slam_of_degenerate_queries_is_zero() -> None:
    for metric in ("ndcg", "map", "map-uniform", "ndcg@2"):
        for y in ([0, 0, 0], [2, 2, 2], [1, 1, 1]):
            check(SLAM(metric), [3.0, 1.0, 2.0], y, 0.0, [0, 0, 0])
        check(SLAM(metric), [3.0], [1], 0.0, [0])


def test_slam_weights_may_be_a_function_of_each_query() -> None:
    seen: list[list[float]] = []

    def weights(y: Floats) -> Floats:
        seen.append(y.tolist())
        return np.asarray(y / y.sum())

    loss, groups = SLAM(weights), Groups(np.array([0, 2, 5]))
    values = loss.per_query([0.0] * 5, [1, 0, 2, 1, 0], groups)
    np.testing.assert_allclose(values, [1, 2 / 3 + 1 / 3])
    assert seen == [[1, 0], [2, 1, 0]]
    assert loss.bound is None
    assert loss.lipschitz(5) == math.inf


@pytest.mark.parametrize(
    "weights",
    [
        lambda y: y[:1],
        lambda y: -y,
        lambda y: y * np.nan,
        lambda y: np.full_like(y, np.inf),
        lambda y: np.ones((len(y), 1)),
        lambda y: 1.0,
    ],
)
def test_slam_refuses_weights(weights: Any) -> None:
    rejects(
        "metric must return one finite weight >= 0 for each label.",
        SLAM(weights).value_and_grad,
        [0.0, 1.0],
        [1, 2],
    )


@pytest.mark.parametrize("metric", ["mrr", "NDCG", "ndcg@", "ndcg@0", "ndcg@-1", "map@3", ""])
def test_slam_refuses_names(metric: str) -> None:
    rejects(
        "metric must be one of ndcg, map, map-uniform, ndcg@K, or a function from labels to "
        f"weights, but is {metric!r}.",
        SLAM,
        metric,
    )


def test_slam_refuses() -> None:
    wrong: Any = 3
    message = "metric must be a text or a function, but is 3."
    with pytest.raises(TypeError, match=exactly(message)):
        SLAM(wrong)
    for margin in (0.0, -1.0, math.inf, math.nan):
        message = f"margin must be a positive number, but is {margin!r}."
        rejects(message, SLAM, margin=margin)
    rejects("margin must be a positive number, but is 'x'.", SLAM, margin="x")
    for loss in (SLAM, SmoothSLAM):
        for threshold in (math.nan, "x"):
            message = f"threshold must be a finite number, but is {threshold!r}."
            rejects(message, loss, "map", threshold=threshold)
    message = "SLAM('ndcg') needs labels from 0 to 1000, but they go from -1 to 1."
    rejects(message, SLAM().per_query, [0.0, 0.0], [-1, 1])
    message = "SLAM('ndcg@3') needs labels from 0 to 1000, but they go from 0 to 1001."
    rejects(message, SLAM("ndcg@3").per_query, [0.0, 0.0], [0, 1001])


def test_slam_bounds() -> None:
    bound = SLAM("ndcg@5", margin=2.0).bound
    assert bound is not None
    assert bound.metric == NDCG(k=5, ties="worst", empty=1.0)
    assert bound.text == "2 (1 - ndcg)"
    # The lone relevant document is tied, so it is at rank 2.
    one = Groups.one_query(2)
    np.testing.assert_allclose(
        bound.lower(np.array([1.0, 0.0]), np.zeros(2), one), [2 * (1 - 1 / log2(3))]
    )
    for name in ("map", "map-uniform"):
        bound = SLAM(name, threshold=2.0).bound
        assert bound is not None
        assert bound.metric == AP(threshold=2.0, ties="worst", empty=1.0)


# --- Domination --------------------------------------------------------------------------------


def test_domination() -> None:
    # Row 0 (label 2) is above rows 1 (label 1) and 2 (label 0), row 1 above row 2.
    scores = [log(2), log(3), log(5)]
    top, middle = (3 + 5) / 2, 5 / 3
    check(
        Domination(),
        scores,
        [2, 1, 0],
        log(1 + top) + log(1 + middle),
        [-8 / 10, 3 / 10 - 5 / 8, 5 / 10 + 5 / 8],
    )


def test_domination_of_tied_labels_looks_at_strictly_lower_ones() -> None:
    a, b = exp(-1.0), exp(-6.0)
    check(
        Domination(),
        [0.0, 5.0, -1.0],
        [1, 1, 0],
        log(1 + a) + log(1 + b),
        [-a / (1 + a), -b / (1 + b), a / (1 + a) + b / (1 + b)],
    )


def test_domination_margin_of_every_pair() -> None:
    check(Domination(log(3)), [0.0, 0.0, 0.0], [1, 0, 0], log(1 + 6), [-6 / 7, 3 / 7, 3 / 7])


def test_domination_margin_of_labels() -> None:
    # Delta(i, j) = t(y_i) - t(y_j) with t = y log 2: 4 between 2 and 0, 2 between neighbours.
    loss = Domination(lambda y: y * log(2))
    check(
        loss,
        [0.0, 0.0, 0.0],
        [2, 1, 0],
        log(1 + 2 + 4) + log(1 + 2),
        [-6 / 7, 2 / 7 - 2 / 3, 4 / 7 + 2 / 3],
    )
    assert loss.bound is None


def test_domination_margins_between_layers() -> None:
    table = np.full((3, 3), np.log(1e9))
    table[2, 1], table[2, 0], table[1, 0] = log(2), log(3), log(5)
    check(
        Domination(table),
        [0.0, 0.0, 0.0],
        [2, 1, 0],
        2 * log(6),
        [-5 / 6, 2 / 6 - 5 / 6, 3 / 6 + 5 / 6],
    )
    check(Domination(table.tolist()), [0.0, 0.0], [2, 0], log(4), [-3 / 4, 3 / 4])


@pytest.mark.parametrize(
    "margin",
    [math.nan, math.inf, [1.0, math.inf], np.zeros((2, 3)), np.full((2, 2), np.nan), "wide"],
)
def test_domination_refuses_margins(margin: Any) -> None:
    rejects(
        "margin must be None, a finite number, a function of the labels, or a finite vector by "
        f"boundaries or square array by layers, but is {margin!r}.",
        Domination,
        margin,
    )


@pytest.mark.parametrize(
    ("y", "range_"), [([0, 3], "0 to 3"), ([0.5, 1], "0.5 to 1"), ([-1, 0], "-1 to 0")]
)
def test_domination_refuses_labels_without_margins(y: Any, range_: str) -> None:
    rejects(
        f"margins by layer need labels 0 to 2, but there are labels from {range_}.",
        Domination(np.zeros((3, 3))).value_and_grad,
        [0.0, 0.0],
        y,
    )


@pytest.mark.parametrize("margin", [lambda y: y[:1], lambda y: y / 0.0, lambda y: 1.0])
def test_domination_refuses_functions(margin: Any) -> None:
    with np.errstate(divide="ignore", invalid="ignore"):
        rejects(
            "margin must return one finite number for each label.",
            Domination(margin).value_and_grad,
            [0.0, 0.0],
            [0, 1],
        )


def test_domination_bound() -> None:
    bound = Domination().bound
    assert bound is not None
    assert bound.metric == DominationError(ties="worst", empty=0.0)
    assert bound.text == "log 2 x the number of violated dominators"
    # Label 2 is outscored, the tied label 1 counts as outscored, the other one is fine.
    y, scores = np.array([2.0, 1.0, 1.0, 0.0]), np.array([0.0, 1.0, 2.0, 1.0])
    np.testing.assert_allclose(bound.lower(y, scores, Groups.one_query(4)), [2 * log(2)])
    assert Domination(0.0).bound is not None
    assert Domination(-0.1).bound is None
    assert Domination(np.array([[0.0, -1.0], [0.0, 0.0]])).bound is None


def test_domination_losses_are_equal_by_margin() -> None:
    table = np.arange(4.0).reshape(2, 2)
    losses = [Domination(), Domination(0.0), Domination(1.0), Domination(np.exp), Domination(table)]
    for i, first in enumerate(losses):
        for j, second in enumerate(losses):
            assert (first == second) == (i == j)
    assert Domination(table) == Domination(table.copy())
    assert hash(Domination(table)) == hash(Domination(table.tolist()))
    assert hash(Domination(0.0)) == hash(Domination(-0.0))
    assert len({*losses, Domination(), Domination(1)}) == len(losses)
    assert Domination() != SLAM()
    assert Domination() != "domination"


# --- pairs -------------------------------------------------------------------------------------


def test_rank_hinge() -> None:
    # Slacks: label 2 over 1: 1 + 1 - 0, 2 over 0: 1 - 0.5, 1 over 0: -0.5 (inactive).
    scores, y = [0.0, 1.0, -0.5], [2, 1, 0]
    check(RankHinge(), scores, y, 2 + 0.5, [-2, 1, 1])
    check(RankHinge("pairs"), scores, y, 2.5 / 3, [-2 / 3, 1 / 3, 1 / 3])


def test_rank_hinge_of_tied_labels_has_no_pair() -> None:
    check(RankHinge(), [0.0, 5.0, -0.5], [1, 1, 0], 0.5, [-1, 0, 1])
    check(RankHinge("pairs"), [0.0, 5.0, -0.5], [1, 1, 0], 0.25, [-0.5, 0, 0.5])
    check(RankHinge(), [0.0, 5.0], [1, 1], 0.0, [0, 0])
    check(RankHinge("pairs"), [0.0, 5.0], [1, 1], 0.0, [0, 0])


def test_rank_hinge_exactly_on_the_margin_is_not_active() -> None:
    check(RankHinge(), [1.0, 0.0], [1, 0], 0.0, [0, 0])
    check(RankHinge(), [0.0, 0.0], [1, 0], 1.0, [-1, 1])


def test_rank_hinge_leaves_no_trace_of_scores_beyond_the_margin() -> None:
    scores = [1e6 + 0.1, 3e5 + 0.2, 1e5 + 0.7, -1e6 + 0.3]
    check(RankHinge(), scores, [3, 2, 1, 0], 0.0, [0, 0, 0, 0])


def test_rank_logistic() -> None:
    scores, y = [0.0, log(2), log(3)], [2, 1, 0]  # odds 2, 3, 3/2
    value = log(3) + log(4) + log(5 / 2)
    grad = np.array([-2 / 3 - 3 / 4, 2 / 3 - 3 / 5, 3 / 4 + 3 / 5])
    check(RankLogistic(), scores, y, value, grad.tolist())
    check(RankLogistic("pairs"), scores, y, value / 3, (grad / 3).tolist())


def test_rank_logistic_of_tied_labels_has_no_pair() -> None:
    check(
        RankLogistic(), [0.0, log(9), log(3)], [1, 1, 0], log(4) + log(4 / 3), [-3 / 4, -1 / 4, 1]
    )
    check(RankLogistic(), [0.0, 5.0], [1, 1], 0.0, [0, 0])


@pytest.mark.parametrize("kind", [RankHinge, RankLogistic])
def test_pair_losses_refuse(kind: Any) -> None:
    for normalize in ("pair", True, 3):
        message = f"normalize must be None or 'pairs', but is {normalize!r}."
        rejects(message, kind, normalize)


def test_pair_bounds() -> None:
    y, scores = np.array([2.0, 1.0, 0.0]), np.array([0.0, 0.0, 5.0])  # two wrong, one tied
    for loss, lower, text in (
        (RankHinge(), 2.5, "1 x the number of misordered pairs"),
        (RankHinge("pairs"), 2.5 / 3, "1 x the share of misordered pairs"),
        (RankLogistic(), 2.5 * log(2), "0.693 x the number of misordered pairs"),
        (RankLogistic("pairs"), 2.5 / 3 * log(2), "0.693 x the share of misordered pairs"),
    ):
        bound: Bound = loss.bound
        assert bound.metric == PairwiseError(empty=0.0)
        assert bound.text == text
        np.testing.assert_allclose(bound.lower(y, scores, Groups.one_query(3)), [lower])


# --- cross entropy -----------------------------------------------------------------------------


def test_listnet() -> None:
    # phi = (3, 1)/4, rho = (1, 2)/3.
    check(
        ListNet(),
        [0.0, log(2)],
        [log(3), 0.0],
        3 / 4 * log(3) + 1 / 4 * log(3 / 2),
        [1 / 3 - 3 / 4, 2 / 3 - 1 / 4],
    )
    check_pair(
        ListNet(), [0.0, log(2)], [log(3), 0.0], [1 / 3 - 3 / 4, 2 / 3 - 1 / 4], [2 / 9, 2 / 9]
    )
    check(ListNet(), [0.0, log(2)], [1, 1], log(3) / 2 + log(3 / 2) / 2, [-1 / 6, 1 / 6])
    assert ListNet().bound is None


@pytest.mark.parametrize(
    ("gamma", "phi"), [(0.0, [4 / 7, 2 / 7, 1 / 7]), (1, [3 / 4, 1 / 4, 0]), (0.5, [7, 3, 1])]
)
def test_xendcg(gamma: float, phi: list[float]) -> None:
    phi = [p / sum(phi) for p in phi]
    rho = [1 / 6, 2 / 6, 3 / 6]
    value = -sum(p * log(r) for p, r in zip(phi, rho, strict=True))
    grad = [r - p for p, r in zip(phi, rho, strict=True)]
    check(XENDCG(gamma), [0.0, log(2), log(3)], [2, 1, 0], value, grad)


def test_xendcg_of_tied_labels() -> None:
    check(XENDCG(0.0), [0.0, 0.0, 0.0], [1, 1, 0], log(3), [1 / 3 - 2 / 5, 1 / 3 - 2 / 5, 2 / 15])


def test_xendcg_eps() -> None:
    # rho = (1, 2)/(3 + 1).
    loss = XENDCG(1.0, eps=1.0)
    check(loss, [0.0, log(2)], [1, 0], log(4), [1 / 4 - 1, 2 / 4])
    check_pair(loss, [0.0, log(2)], [1, 0], [1 / 4 - 1, 2 / 4], [3 / 16, 4 / 16])


def test_xendcg_divided_by_the_best_dcg() -> None:
    z = 3 + 1 * D2
    loss = XENDCG(1.0, normalize="ideal_dcg", newton="exact")
    value = (3 / 4 * log(3) + 1 / 4 * log(3)) / z
    grad = [(1 / 3 - 3 / 4) / z, (1 / 3 - 1 / 4) / z, 1 / 3 / z]
    check(loss, [0.0, 0.0, 0.0], [2, 1, 0], value, grad)
    check_pair(loss, [0.0, 0.0, 0.0], [2, 1, 0], grad, [1 / 3 / z] * 3)
    for gamma in (0.0, 1.0, "random"):
        loss = XENDCG(gamma, normalize="ideal_dcg")
        check(loss, [0.0, 1.0], [0, 0], 0.0, [0, 0])
        check_pair(loss, [0.0, 1.0], [0, 0], [0, 0], [0, 0])


@pytest.mark.parametrize("newton", ["plain", "exact", "neumann"])
def test_xendcg_without_a_target_is_zero(newton: Any) -> None:
    loss = XENDCG(1.0, newton=newton)
    check(loss, [0.0, 3.0], [0, 0], 0.0, [0, 0])
    check_pair(loss, [0.0, 3.0], [0, 0], [0, 0], [0, 0])


def test_newton_pairs() -> None:
    # rho = (1, 2)/3, phi = (1, 0), g = (-2, 2)/3.
    scores, y, g = [0.0, log(2)], [1, 0], [-2 / 3, 2 / 3]
    check_pair(XENDCG(1.0), scores, y, g, [2 / 9, 2 / 9])
    check_pair(XENDCG(1.0, newton="exact"), scores, y, g, [1 / 3, 2 / 3])
    # t1 = (2, -1), t2 = (-2, 1): rho t1 and rho t2 cancel.
    check_pair(XENDCG(1.0, newton="neumann"), scores, y, g, [2 / 9, 2 / 9])
    # Three tied documents: g = (-2, 1, 1)/3, rho t1 = (2, -1, -1)/6, rho t2 = (-2, 1, 1)/12.
    third = XENDCG(1.0, newton="neumann")
    check_pair(third, [0.0] * 3, [1, 0, 0], [-1 / 2, 1 / 4, 1 / 4], [2 / 9] * 3)
    check_pair(third, [4.0], [1], [0], [0])
    check_pair(XENDCG(1.0, newton="exact"), [4.0], [1], [0], [1])


def test_neumann_pair_with_eps() -> None:
    # rho = 1/3 each, 1 - rho = 2/3, phi = (1, 0), g = (-2, 1)/3; g/(1 - rho) = (-1, 1/2).
    # rho t1 = (1/2, -1)/3; rho t1/(1 - rho) = (1/4, -1/2); rho t2 = (-1/2, 1/4)/3.
    loss = XENDCG(1.0, newton="neumann", eps=1.0)
    grad = [-2 / 3 + 1 / 6 - 1 / 6, 1 / 3 - 1 / 3 + 1 / 12]
    check_pair(loss, [0.0, 0.0], [1, 0], grad, [2 / 9, 2 / 9])


def test_gamma_may_be_a_function_of_each_query() -> None:
    seen: list[list[float]] = []

    def gamma(y: Floats) -> Floats:
        seen.append(y.tolist())
        return np.where(y > 0, 0.0, 1.0)

    groups = Groups(np.array([0, 2, 5]))
    loss = XENDCG(gamma)
    _, grad = loss.value_and_grad([0.0] * 5, [1, 0, 2, 1, 0], groups)
    np.testing.assert_allclose(grad, [-1 / 2, 1 / 2, 1 / 3 - 2 / 3, 1 / 3 - 1 / 3, 1 / 3])
    assert seen == [[1, 0], [2, 1, 0]]


@pytest.mark.parametrize(
    "gamma",
    [lambda y: y[:1], lambda y: y - 0.1, lambda y: y + 0.1, lambda y: y * np.nan, lambda y: 0.5],
)
def test_xendcg_refuses_functions(gamma: Any) -> None:
    rejects(
        "gamma must return one number from 0 to 1 for each label.",
        XENDCG(gamma).value_and_grad,
        [0.0, 0.0],
        [0, 1],
    )


@pytest.mark.parametrize("gamma", [-0.1, 1.1, "uniform", None, True, math.nan])
def test_xendcg_refuses_gamma(gamma: Any) -> None:
    rejects(
        "gamma must be 'random', a number from 0 to 1, or a function of a query's labels, but is "
        f"{gamma!r}.",
        XENDCG,
        gamma,
    )


def test_xendcg_refuses() -> None:
    wrong: Any = "newton"
    message = "newton must be 'plain', 'exact' or 'neumann', but is 'newton'."
    rejects(message, XENDCG, newton=wrong)
    for eps in (-1.0, math.inf, math.nan):
        message = f"eps must be a number >= 0, but is {eps!r}."
        rejects(message, XENDCG, eps=eps)
    wrong = "dcg"
    message = "normalize must be None or 'ideal_dcg', but is 'dcg'."
    rejects(message, XENDCG, normalize=wrong)
    for wrong in (None, 1.5, "0"):
        message = f"random_state must be an integer, but is {wrong!r}."
        rejects(message, XENDCG, random_state=wrong)
    message = "XENDCG needs labels from 0 to 1000, but they go from -1 to 0."
    rejects(message, XENDCG().value_and_grad, [0.0, 0.0], [0, -1])
    message = "XENDCG needs labels from 0 to 1000, but they go from 0 to 1001."
    rejects(message, XENDCG().value_and_grad, [0.0, 0.0], [0, 1001])


def test_xendcg_bounds() -> None:
    y, scores, one = np.array([2.0, 0.0]), np.array([0.0, 1.0]), Groups.one_query(2)
    ndcg = D2
    for loss, lower, text in (
        (XENDCG(0.0), log(5 / 3) - log(ndcg + 1 / 3), "log(S/Z) - log(ndcg + 1/Z)"),
        (XENDCG(1.0), log(3 / 3) - log(ndcg), "log(S/Z) - log(ndcg)"),
        (XENDCG(1, normalize="ideal_dcg"), -log(ndcg) / 3, "log(S/Z) - log(ndcg)"),
    ):
        assert loss.bound.metric == NDCG(ties="worst", empty=0.0)
        assert loss.bound.text == text
        np.testing.assert_allclose(loss.bound.lower(y, scores, one), [lower], rtol=1e-14)


# --- LambdaRank --------------------------------------------------------------------------------


def test_lambdarank() -> None:
    # The relevant document is at rank 2, behind by 1.
    change, p = 1 * (1 - D2) / 1, 1 / (1 + exp(-1.0))
    push = change * p
    hess = change * p * (1 - p)
    check_pair(LambdaRank(), [0.0, 1.0], [1, 0], [-push, push], [hess, hess])
    p = 1 / (1 + exp(-2.0))
    push, hess = 2 * change * p, 4 * change * p * (1 - p)
    check_pair(LambdaRank(sigma=2.0), [0.0, 1.0], [1, 0], [-push, push], [hess, hess])


def test_lambdarank_normalised() -> None:
    change, p = (1 - D2) / (0.01 + 1), 1 / (1 + exp(-1.0))
    push = change * p
    scale = log2(1 + 2 * push) / (2 * push)
    hess = scale * change * p * (1 - p)
    check_pair(
        LambdaRank(norm=True), [0.0, 1.0], [1, 0], [-scale * push, scale * push], [hess, hess]
    )
    # All scores tied: nothing to divide by.
    push = (1 - D2) / 2
    scale = log2(1 + 2 * push) / (2 * push)
    hess = scale * push / 2
    check_pair(
        LambdaRank(norm=True), [3.0, 3.0], [1, 0], [-scale * push, scale * push], [hess, hess]
    )


def test_lambdarank_truncated() -> None:
    # Ranks 1, 2, 3 have labels 1, 0, 2; of the three pairs two include rank 1. The best DCG@1 is 3.
    first = (1 - 0) * (1 - D2) / 3
    second = (3 - 1) * (1 - D3) / 3
    p, q = 1 / (1 + exp(1.0)), 1 / (1 + exp(-2.0))
    a, b = first * p, second * q
    check_pair(
        LambdaRank(k=1),
        [3.0, 2.0, 1.0],
        [1, 0, 2],
        [-a + b, a, -b],
        [a * (1 - p) + b * (1 - q), a * (1 - p), b * (1 - q)],
    )


def test_lambdarank_of_tied_labels_has_no_pair() -> None:
    check_pair(LambdaRank(), [0.0, 1.0], [1, 1], [0, 0], [0, 0])
    check_pair(LambdaRank(), [0.0, 1.0], [0, 0], [0, 0], [0, 0])
    # Rows 0 and 1 do not push each other; tied scores rank in row order.
    grad, _ = LambdaRank().grad_and_hess([0.0, 0.0, 0.0], [1, 1, 0])
    best = 1 + D2
    a, b = (1 - D3) / best / 2, (D2 - D3) / best / 2
    np.testing.assert_allclose(grad, [-a, -b, a + b])


def test_lambdarank_refuses() -> None:
    for sigma in (0.0, -1.0, math.inf, math.nan):
        message = f"sigma must be a positive number, but is {sigma!r}."
        rejects(message, LambdaRank, sigma=sigma)
    wrong: Any
    for wrong in (0, -1, True, 2.5, None):
        message = f"k must be a positive integer, but is {wrong!r}."
        rejects(message, LambdaRank, k=wrong)
    for y, range_ in (([-1, 0], "-1 to 0"), ([0, 1001], "0 to 1001")):
        message = f"LambdaRank needs labels from 0 to 1000, but they go from {range_}."
        rejects(message, LambdaRank().grad_and_hess, [0.0, 0.0], y)
    assert not hasattr(LambdaRank(), "value_and_grad")


def test_stochastic_lambdarank_of_two_documents_is_lambdarank() -> None:
    """Whichever comes first, a swap changes as much."""
    plain = LambdaRank().grad_and_hess([0.0, 1.0], [1, 0])
    grad, hess = (found.tolist() for found in plain)
    check_pair(StochasticLambdaRank(noise=3.0), [0.0, 1.0], [1, 0], grad, hess)


def test_stochastic_lambdarank_of_equal_scores_weighs_by_the_mean_over_all_orders() -> None:
    # Two documents are as often at each pair of the ranks 1, 2 and 3. Of y = (1, 0, 0), gain 1 and
    # best DCG 1, two pairs push by half of that.
    change = ((1 - D2) + (1 - D3) + (D2 - D3)) / 3
    grad, hess = StochasticLambdaRank(draws=4000).grad_and_hess([0.0, 0.0, 0.0], [1, 0, 0])
    # The deviation of a mean over 4,000 orders is below 0.004.
    np.testing.assert_allclose(grad, [-change, change / 2, change / 2], atol=0.02)
    np.testing.assert_allclose(hess, [change / 2, change / 4, change / 4], atol=0.01)


def test_gumbel_noise_gives_orders_of_plackett_and_luce() -> None:
    # The best of y = (1, 0, 0) has strength 2 against 1 and 1: with k = 1 a pair counts if one of
    # them is first, and then weighs 1 - d, with d the other's discount. First is the best with
    # probability 1/2, another one with 1/4; who comes then is second with 2/3 or 1/3, or 1/2.
    second, third = 1 - D2, 1 - D3
    change = (second + third) / 2 / 2 + (second * 2 / 3 + third * 1 / 3) / 4
    push = change / (1 + 2)  # e^(s_1 - s_2) = 2
    loss = StochasticLambdaRank(draws=4000, k=1)
    grad, _ = loss.grad_and_hess([math.log(2), 0.0, 0.0], [1, 0, 0])
    np.testing.assert_allclose(grad, [-2 * push, push, push], atol=0.01)


def test_stochastic_lambdarank_refuses() -> None:
    rejects("noise must be a number >= 0, but is -1.", StochasticLambdaRank, noise=-1)
    rejects("draws must be a positive integer, but is 0.", StochasticLambdaRank, draws=0)
    rejects("k must be a positive integer, but is 0.", StochasticLambdaRank, k=0)
    message = "StochasticLambdaRank needs labels from 0 to 1000, but they go from -1 to 0."
    rejects(message, StochasticLambdaRank().grad_and_hess, [0.0, 0.0], [-1, 0])


# --- a loss of one's own -----------------------------------------------------------------------


def test_the_base_class_promises_nothing() -> None:
    loss = Loss()
    assert loss.bound is None
    with pytest.raises(NotImplementedError):
        loss.lipschitz(3)
    with pytest.raises(NotImplementedError):
        loss.value_and_grad([0.0], [0.0])
