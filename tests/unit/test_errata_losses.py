"""Where the papers are wrong about their losses: the printed version fails, ours does not.

Numbers such as S2 are those of the papers pages in the documentation.
"""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Callable, Iterator
from decimal import Decimal

import numpy as np
import pytest

from rankwright.data import Groups
from rankwright.losses import SLAM, XENDCG, Domination, LambdaRank, RankHinge
from rankwright.metrics import AP, NDCG
from tests.reference import losses as reference
from tests.reference.losses import Floats


def weak_orders(m: int) -> list[Floats]:
    """All ways to rank `m` documents with ties, as scores 0, 1, ..."""
    return [
        np.array(ranks, dtype=float)
        for ranks in itertools.product(range(m), repeat=m)
        if set(ranks) == set(range(max(ranks) + 1))
    ]


def given_numbers(*numbers: float) -> Callable[[Floats], Floats]:
    return lambda y: np.array(numbers)


def smallest_slack(y: Floats, v: Floats, metric: AP | NDCG) -> float:
    """Return the least of phi - (1 - metric) over all weak orders, spread little or much."""
    scores = [scale * order for order in weak_orders(len(y)) for scale in (1e-9, 1.0, 1e3)]
    groups = Groups(np.arange(0, len(scores) * len(y) + 1, len(y)))
    s, labels = np.concatenate(scores), np.tile(y, len(scores))
    phi = SLAM(given_numbers(*v)).per_query(s, labels, groups)
    return float((phi - 1 + metric.per_query(labels, s, groups)).min())


# --- SLAM --------------------------------------------------------------------------------------


def test_s2_map_weights_do_not_dominate() -> None:
    y, ap = np.array([1.0, 1.0, 0.0]), AP(ties="worst", empty=1.0)
    v_map = SLAM("map", weights="printed").document_weights(y, Groups.one_query(3))
    v_other = np.array([5 / 24, 5 / 24, 0.0])
    np.testing.assert_allclose(v_map, [1 / 4, 1 / 6, 0])
    # Both bound 1 - AP. Equation 8 says that v_map <= v_other; it is not.
    assert smallest_slack(y, v_map, ap) >= -1e-9
    assert smallest_slack(y, v_other, ap) >= -1e-9
    assert v_map[0] > v_other[0]
    # What holds: no smaller sum does.
    assert v_other.sum() == pytest.approx(v_map.sum())
    assert smallest_slack(y, 0.99 * v_map, ap) < -1e-3
    assert smallest_slack(y, 0.99 * v_other, ap) < -1e-3
    np.testing.assert_allclose(SLAM("map").document_weights(y, Groups.one_query(3)), v_other)


@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_s2_uniform_weights_are_valid(m: int) -> None:
    ap = AP(ties="worst", empty=1.0)
    for r in range(1, m + 1):
        y = np.repeat([1.0, 0.0], [r, m - r])
        one = Groups.one_query(m)
        v, v_map = (SLAM("map", weights=of).document_weights(y, one) for of in ("group", "printed"))
        assert smallest_slack(y, v, ap) >= -1e-9
        assert v.sum() == pytest.approx(v_map.sum())
        assert v.max() <= v_map.max() + 1e-15


def test_s3_ndcg_at_k_over_the_most_relevant_documents() -> None:
    # Five equally relevant documents, k = 1, and "the" most relevant one ranked last.
    y, k = np.ones(5), 1
    scores = np.array([0.0, 4.0, 3.0, 2.0, 1.0])
    rank = np.array([5, 1, 2, 3, 4])
    phi = SLAM("ndcg@1").value_and_grad(scores, y)[0]
    gain_of_first_k = (2 ** y[:k] - 1) @ (1 / np.log2(1 + rank[:k]))
    printed = 1 - gain_of_first_k / reference.ideal_dcg(y, k)
    assert printed == pytest.approx(1 - 1 / math.log2(6))  # .613
    assert phi == 0 < printed  # not a bound
    assert NDCG(k=1, ties="worst").per_query(y, scores)[0] == 1
    assert phi >= 1 - 1


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_s3_standard_ndcg_at_k_is_bounded(k: int) -> None:
    metric = NDCG(k=k, ties="worst", empty=1.0)
    for y in itertools.product((2.0, 1.0, 0.0), repeat=4):
        labels = np.array(y)
        if (np.diff(labels) > 0).any():
            continue  # one order of the rows is enough
        v = SLAM(f"ndcg@{k}", weights="printed").document_weights(labels, Groups.one_query(4))
        assert smallest_slack(labels, v, metric) >= -1e-9


def test_s4_index_ties_hide_the_loss_of_no_model() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 12, 50)
    groups = Groups(np.append(0, np.cumsum(sizes)))
    y = np.concatenate([np.sort(rng.integers(0, 3, m))[::-1] for m in sizes]).astype(float)
    scores = np.zeros(len(y))  # w = 0
    by_index = 1 - NDCG(ties="order", empty=1.0).per_query(y, scores, groups)
    pessimistic = 1 - NDCG(ties="worst", empty=1.0).per_query(y, scores, groups)
    assert np.abs(by_index).max() < 1e-12  # never a mistake, never an update
    differ = np.array([len(set(y[rows])) > 1 for rows in groups])
    assert (pessimistic[differ] > 0).all()
    # The pessimistic loss is still bounded: a tie has a hinge of exactly 1.
    phi = SLAM("ndcg").per_query(scores, y, groups)
    assert (phi >= pessimistic - 1e-12).all()


def assignments(y: Floats, v: Floats) -> Iterator[Floats]:
    """Yield the weights in every order within groups of equal labels."""
    rows = [np.flatnonzero(y == label) for label in np.unique(y)]
    for orders in itertools.product(*(itertools.permutations(part) for part in rows)):
        other = np.empty_like(v)
        for part, order in zip(rows, orders, strict=True):
            other[part] = v[list(order)]
        yield other


@pytest.mark.parametrize("y", [(1, 1, 0), (1, 1, 0, 0), (2, 1, 1, 0), (1, 1, 1, 0), (2, 2, 1, 1)])
def test_s5_every_assignment_of_weights_within_a_label_is_valid(y: tuple[float, ...]) -> None:
    labels, one = np.array(y, dtype=float), Groups.one_query(len(y))
    cases: list[tuple[str, AP | NDCG]] = [
        ("ndcg", NDCG(ties="worst", empty=1.0)),
        ("ndcg@2", NDCG(k=2, ties="worst", empty=1.0)),
    ]
    if labels.max() == 1:
        cases.append(("map", AP(ties="worst", empty=1.0)))
    for name, metric in cases:
        v_printed = SLAM(name, weights="printed").document_weights(labels, one)
        for v in assignments(labels, v_printed):
            assert smallest_slack(labels, v, metric) >= -1e-9


def test_s9_rank_svm_has_quadratic_gradients() -> None:
    m = 20
    y = np.repeat([1.0, 0.0], m // 2)
    _, grad = RankHinge().value_and_grad(-y, y)
    norm = np.abs(grad).sum()
    assert norm == m * m / 2 == 200
    assert norm > 2 * m  # what the paper says
    assert norm <= RankHinge().lipschitz(m)


# --- Domination --------------------------------------------------------------------------------


def test_d7_the_margin_is_subtracted_from_the_score() -> None:
    rng = np.random.default_rng(1)
    y = np.repeat([1.0, 0.0], [5, 10])
    scores = rng.normal(size=15)
    lead = 1.5  # of relevant documents
    intended = sum(
        math.log1p(sum(math.exp(lead + scores[j] - scores[i]) for j in range(5, 15)))
        for i in range(5)
    )
    without = Domination().value_and_grad(scores, y)[0]
    ours = Domination(lambda label: lead * label).value_and_grad(scores, y)[0]
    assert ours == pytest.approx(intended, rel=1e-14)
    subtracted = Domination().value_and_grad(scores - lead * y, y)[0]
    assert subtracted == pytest.approx(intended, rel=1e-14)
    # Printed: e^{w.x + s}. That is a negative margin, which rewards being close.
    printed = Domination().value_and_grad(scores + lead * y, y)[0]
    assert printed < without < intended
    assert printed == pytest.approx(Domination(-lead).value_and_grad(scores, y)[0], rel=1e-14)


def test_d9_one_shift_for_all_layers_underflows() -> None:
    scores, y = np.array([2000.0, 1.0, 0.0, -1.0]), np.array([2.0, 1.0, 0.0, 0.0])
    below = math.exp(0 - 1) + math.exp(-1 - 1)
    share = below / (1 + below)
    assert share == pytest.approx(0.33476, abs=5e-6)
    # Printed: everything relative to the one largest score.
    shifted = np.exp(scores - scores.max())
    z = shifted[2:].sum()
    with np.errstate(invalid="ignore"):
        assert np.isnan(z / (z + shifted[1]))
    value, grad = Domination().value_and_grad(scores, y)
    assert value == pytest.approx(math.log1p(below), rel=1e-14)
    assert grad[1] == pytest.approx(-share, rel=1e-14)
    np.testing.assert_allclose(
        grad, [0, -share, math.exp(-1) / (1 + below), math.exp(-2) / (1 + below)], rtol=1e-14
    )


# --- XE-NDCG -----------------------------------------------------------------------------------


def random_queries(seed: int, n_queries: int = 200) -> tuple[Floats, Floats, Groups]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, n_queries)
    groups = Groups(np.append(0, np.cumsum(sizes)))
    y = rng.integers(0, 4, groups.n_rows).astype(float)
    y[groups.indptr[:-1]] += 1  # no query without gain
    return rng.normal(scale=3, size=groups.n_rows), y, groups


def test_x1_the_bound_of_theorem_1_is_never_close() -> None:
    scores, y, groups = random_queries(2)
    best = np.array([reference.ideal_dcg(y[rows]) for rows in groups])
    for gamma in (0.0, 0.5, 1.0):
        for factor in (0.0, 1.0, 1e3):
            s = factor * (scores if factor < 1e3 else y)  # the last one ranks perfectly
            ndcg = NDCG(ties="worst").per_query(y, s, groups)
            loss = XENDCG(gamma).per_query(s, y, groups).mean()
            assert loss > -math.log(ndcg.mean() + (1 / best).mean()) + 0.05


def test_x1_gamma_1_bounds_ndcg_itself() -> None:
    scores, y, groups = random_queries(3)
    best = np.array([reference.ideal_dcg(y[rows]) for rows in groups])
    total = np.array([(2 ** y[rows] - 1).sum() for rows in groups])
    for factor in (0.0, 0.1, 1.0, 10.0, 1e4):
        ndcg = NDCG(ties="worst").per_query(y, factor * scores, groups)
        loss = XENDCG(1.0).per_query(factor * scores, y, groups)
        assert -math.log(ndcg.mean()) <= loss.mean() - np.log(total / best).mean() + 1e-12
        assert (-np.log(ndcg) <= loss - np.log(total / best) + 1e-9).all()


@pytest.mark.parametrize("label", [1.0, 3.0])
def test_x1_the_translation_free_bound_is_tight(label: float) -> None:
    y = np.array([label, 0.0, 0.0])
    scores = np.array([50.0, 0.0, 0.0])
    one = Groups.one_query(3)
    value = XENDCG(1.0).per_query(scores, y)
    np.testing.assert_allclose(value, XENDCG(1.0).bound.lower(y, scores, one), atol=1e-12)
    # Any other gamma leaves the gap of the added 1/Z.
    gap = XENDCG(0.999).per_query(scores, y) - XENDCG(0.999).bound.lower(y, scores, one)
    assert gap[0] > math.log1p(1 / (2**label - 1)) / 2


def test_x4_the_series_alternates_for_two_documents() -> None:
    scores, y = np.array([0.0, math.log(2)]), np.array([1.0, 0.0])
    rho, phi = np.array([1 / 3, 2 / 3]), np.array([1.0, 0.0])
    g = rho - phi
    hessian = np.diag(rho) - np.outer(rho, rho)
    diagonal = np.diag(hessian)
    step = g / diagonal
    S = np.eye(2) - hessian / diagonal[:, None]
    np.testing.assert_allclose(S, [[0, 1], [1, 0]], atol=1e-15)  # row-stochastic: radius 1
    partial = np.cumsum([np.linalg.matrix_power(S, n) @ step for n in range(6)], axis=0)
    for n, factor in enumerate([1, 0, 1, 0, 1, 0]):
        np.testing.assert_allclose(partial[n], factor * step, atol=1e-14)
    exact = np.linalg.pinv(hessian) @ g
    np.testing.assert_allclose(exact, step / 2)

    grad, hess = XENDCG(1.0, newton="neumann").grad_and_hess(scores, y)
    np.testing.assert_allclose(grad / hess, 2 * exact)  # three terms: wrong by a factor of 2
    grad, hess = XENDCG(1.0, newton="exact").grad_and_hess(scores, y)
    difference = (grad / hess)[0] - (grad / hess)[1]  # only differences of scores matter
    assert difference == pytest.approx(exact[0] - exact[1])


def test_x4_the_exact_step_is_minus_phi_over_rho_up_to_a_shift() -> None:
    rng = np.random.default_rng(4)
    scores, y = rng.normal(size=5), np.array([2.0, 0.0, 1.0, 0.0, 3.0])
    rho = reference.softmax(scores)
    phi = reference.xendcg_target(y, np.zeros(5))
    grad, hess = XENDCG(0.0, newton="exact").grad_and_hess(scores, y)
    np.testing.assert_allclose(grad / hess, 1 - phi / rho)
    # A Newton step: it solves H d = g.
    hessian = np.diag(rho) - np.outer(rho, rho)
    np.testing.assert_allclose(hessian @ (grad / hess), grad, atol=1e-15)


def naive_neumann(scores: Floats, phi: Floats) -> Floats:
    """Return the O(m) form with 1 - rho by subtraction and sums less their own term."""
    with np.errstate(all="ignore"):
        rho = np.exp(scores - scores.max())
        rho /= rho.sum()
        g = rho - phi
        first = g / (1 - rho)
        t1 = first.sum() - first
        second = rho * t1 / (1 - rho)
        t2 = second.sum() - second
        return np.asarray(g + rho * t1 + rho * t2)


def literal_neumann(scores: Floats, phi: Floats, n_digits: int) -> Floats:
    """Return the printed formula, subtractions and all, with enough digits."""
    with decimal.localcontext(reference.digits(n_digits)):
        powers = [Decimal(float(s)).exp() for s in scores]
        total = sum(powers, Decimal(0))
        rho = [power / total for power in powers]
        target = [Decimal(float(p)) for p in phi]
        target = [p / sum(target, Decimal(0)) for p in target]
        rows = range(len(rho))
        g = [rho[i] - target[i] for i in rows]
        t1 = [sum((g[i] / (1 - rho[i]) for i in rows if i != k), Decimal(0)) for k in rows]
        t2 = [
            sum((rho[i] * t1[i] / (1 - rho[i]) for i in rows if i != k), Decimal(0)) for k in rows
        ]
        return np.array([float(g[k] + rho[k] * t1[k] + rho[k] * t2[k]) for k in rows])


@pytest.mark.parametrize(
    ("lead", "naive_error"), [(20.0, 1e-9), (30.0, 1e-5), (36.0, 1e-2), (40.0, math.inf)]
)
@pytest.mark.parametrize("leader", [0, 2])
def test_x5_a_leader_costs_the_naive_form_its_digits(
    lead: float, naive_error: float, leader: int
) -> None:
    exact, ours, naive = neumann_three_ways(lead, leader)
    np.testing.assert_allclose(ours, exact, rtol=1e-12)
    error = np.abs(naive - exact).max()
    assert error >= naive_error or (naive_error == math.inf and np.isnan(error))


@pytest.mark.parametrize("lead", [0.0, 1.0, 37.0, 100.0, 700.0])
@pytest.mark.parametrize("leader", [0, 1, 2, 3])
def test_x5_the_safe_form_keeps_them(lead: float, leader: int) -> None:
    exact, ours, _ = neumann_three_ways(lead, leader)
    np.testing.assert_allclose(ours, exact, rtol=1e-12)


@pytest.mark.parametrize("lead", [20.0, 40.0, 300.0, 700.0])
def test_x5_the_safe_form_keeps_what_is_left_of_a_solved_query(lead: float) -> None:
    # The one relevant document leads: all that remains is of the order of e^-lead.
    scores, y = np.array([0.3, -0.2, lead, 0.0]), np.array([0.0, 0.0, 2.0, 0.0])
    phi = np.array([0.0, 0.0, 1.0, 0.0])
    grad, hess = XENDCG(1.0, newton="neumann").grad_and_hess(scores, y)
    assert 0 < np.abs(grad).max() < 10 * math.exp(-lead)
    np.testing.assert_allclose(grad, literal_neumann(scores, phi, 1200), rtol=1e-12)
    np.testing.assert_allclose(hess, reference.neumann_terms(scores, phi)[1], rtol=1e-12)


def neumann_three_ways(lead: float, leader: int) -> tuple[Floats, Floats, Floats]:
    scores, y = np.array([0.3, -0.2, 0.7, 0.0]), np.array([2.0, 1.0, 0.0, 1.0])
    scores[leader] += lead
    gamma = np.array([0.25, 0.5, 0.125, 0.75])
    phi = reference.xendcg_target(y, gamma)
    exact = literal_neumann(scores, phi, 1200)
    np.testing.assert_allclose(reference.neumann_terms(scores, phi)[0], exact, rtol=1e-15)
    ours = XENDCG(given_numbers(*gamma), newton="neumann").grad_and_hess(scores, y)[0]
    return exact, ours, naive_neumann(scores, phi)


def test_x8_fractional_labels_may_be_reversed_by_gamma() -> None:
    y, tied = np.array([0.5, 0.0]), np.zeros(2)
    _, grad = XENDCG(given_numbers(1.0, 0.0)).value_and_grad(tied, y)
    phi = 1 / 2 - grad
    np.testing.assert_allclose(phi, [1 - 1 / math.sqrt(2), 1 / math.sqrt(2)])  # .29, .71
    assert grad[0] > 0 > grad[1]  # the better document is pushed down
    # One gamma for all documents keeps the order of any labels.
    for gamma in (0.0, 0.5, 1.0):
        _, grad = XENDCG(gamma).value_and_grad(tied, y)
        assert grad[0] < 0 < grad[1]


def test_x8_whole_labels_keep_their_order_up_to_ties() -> None:
    tied = np.zeros(2)
    for low, high in itertools.combinations(range(5), 2):
        for gamma in itertools.product((0.0, 0.5, 1.0), repeat=2):
            _, grad = XENDCG(given_numbers(*gamma)).value_and_grad(tied, [high, low])
            assert grad[0] <= 1e-15
    _, grad = XENDCG(given_numbers(1.0, 0.0)).value_and_grad(tied, [1, 0])
    np.testing.assert_allclose(grad, 0, atol=1e-15)  # 2^1 - 1 = 2^0 - 0


def longest_lambdas(m: int, n_tries: int = 300) -> float:
    rng = np.random.default_rng(m)
    groups = Groups(np.arange(0, n_tries * m + 1, m))
    shares = np.repeat(rng.dirichlet(np.ones(5), n_tries), m, axis=0)
    y = (rng.uniform(size=(n_tries * m, 1)) > np.cumsum(shares, axis=1)).sum(axis=1).astype(float)
    y = np.minimum(y, 4)
    longest = 0.0
    for scores in (rng.normal(size=len(y)), -y, -100 * y, -100 * y + rng.normal(size=len(y))):
        grad, _ = LambdaRank(k=m).grad_and_hess(scores, y, groups)
        longest = max(longest, float(np.abs(grad).reshape(n_tries, m).sum(axis=1).max()))
    return longest


def test_x10_lambdarank_grows_linearly_not_quadratically() -> None:
    sizes = np.array([5, 10, 20, 40, 80])
    found = np.array([longest_lambdas(int(m)) for m in sizes])
    assert (found <= sizes / 2).all()
    assert (found <= 0.1 * sizes**2).all()  # Claim 2 allows sizes^2
    growth = np.log(found[1:] / found[:-1]) / np.log(2)
    assert (growth < 1.3).all()
    assert (growth > 0.6).all()


def test_x10_the_gradient_of_xendcg_has_length_2_at_most_and_nearly() -> None:
    y = np.array([10.0, 0.0, 0.0])
    norms = [
        np.abs(XENDCG(1.0).value_and_grad([-lead, lead, 0.0], y)[1]).sum()
        for lead in (0.0, 1.0, 10.0, 30.0)
    ]
    assert norms == sorted(norms)
    assert 2 - 1e-4 < norms[-1] <= 2 == XENDCG(1.0).lipschitz(3)
