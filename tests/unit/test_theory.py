"""What is guaranteed: certificates, lengths, and Theorem 8 by hand."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from rankwright import losses, theory
from rankwright.data import Groups, make_mslr_like
from rankwright.data.validation import Floats
from rankwright.losses import (
    LOSSES,
    SLAM,
    XENDCG,
    Bound,
    Domination,
    ListNet,
    RankHinge,
    RankLogistic,
)
from rankwright.metrics import PairwiseError


@dataclass(frozen=True)
class Exponential:
    """The least a loss can be: a sum over queries and its gradient."""

    def value_and_grad(self, scores: Floats, y: Floats, groups: Groups) -> tuple[float, Floats]:
        value, grad = 0.0, np.zeros_like(scores)
        for rows in groups:
            s, labels = scores[rows], y[rows]
            push = np.where(labels[:, None] > labels, np.exp(s - s[:, None]), 0.0)
            value += float(push.sum())
            grad[rows] = push.sum(axis=0) - push.sum(axis=1)
        return value, grad


@dataclass(frozen=True)
class PromisingExponential(Exponential):
    """The same, with a promise that can be made too large."""

    factor: float = 1.0

    @property
    def bound(self) -> Bound:
        metric = PairwiseError(empty=0.0)

        def lower(y: Floats, scores: Floats, groups: Groups) -> Floats:
            pairs = [sum(a > b for a in y[rows] for b in y[rows]) for rows in groups]
            return self.factor * np.array(pairs) * metric.per_query(y, scores, groups)

        return Bound(metric, lower, "the number of misordered pairs")


def some_data(n_queries: int = 40, seed: int = 0) -> tuple[Floats, Floats, Groups]:
    rng = np.random.default_rng(seed)
    groups = Groups(np.append(0, np.cumsum(rng.integers(1, 12, n_queries))))
    scores = np.round(2 * rng.normal(size=groups.n_rows), 1)
    return scores, rng.integers(0, 4, groups.n_rows).astype(float), groups


# --- certificates ------------------------------------------------------------------------------


def test_certificate_by_hand() -> None:
    # Two queries: labels 1, 0 in the wrong order, and 1, 0 ahead by 3.
    groups = Groups(np.array([0, 2, 4]), np.array(["wrong", "right"]))
    y, scores = [1, 0, 1, 0], [0.0, 0.5, 3.0, 0.0]
    proof = theory.certificate("slam", scores, y, groups)
    # v = (1 - 0) (D(1) - D(2)) / 1 with D(2) = 1/log2(3); hinge 1.5.
    v = 1 - 1 / math.log2(3)
    np.testing.assert_allclose(proof.values, [1.5 * v, 0])
    np.testing.assert_allclose(proof.lower, [v, 0], atol=1e-15)
    np.testing.assert_allclose(proof.metric_values, [1 - v, 1])
    assert proof.mean_value == pytest.approx(0.75 * v)
    assert proof.mean_lower == pytest.approx(v / 2)
    assert proof.mean_metric == pytest.approx(1 - v / 2)
    assert proof.mean_slack == pytest.approx(v / 4)
    assert proof.min_slack == pytest.approx(0, abs=1e-15)
    assert proof.tightest_query == "right"
    assert proof.holds
    assert proof.n_queries == 2


@pytest.mark.parametrize(
    "loss",
    [
        "slam",
        "slam-map",
        "xendcg",
        "domination",
        "rank_hinge",
        "rank_logistic",
        SLAM("ndcg@3", margin=0.5),
        XENDCG(gamma=1.0, normalize="ideal_dcg"),
        Domination(margin=1.0),
        RankHinge(normalize="pairs"),
    ],
    ids=str,
)
@pytest.mark.parametrize("scale", [0.0, 1e-9, 1.0, 1e6])
def test_certificates_agree_with_the_loss_and_hold(loss: Any, scale: float) -> None:
    scores, y, groups = some_data()
    proof = theory.certificate(loss, scale * scores, y, groups)
    total = losses.from_name(loss).value_and_grad(scale * scores, y, groups)[0]
    assert proof.mean_value == pytest.approx(total / groups.n_queries)
    assert proof.holds
    assert not proof.broken.any()
    assert proof.min_slack == proof.slack.min()
    assert proof.mean_slack == pytest.approx(proof.mean_value - proof.mean_lower, abs=1e-9)
    facts = proof.to_dict()
    assert json.loads(json.dumps(facts)) == facts


def test_a_loss_of_ones_own_is_certified_query_by_query() -> None:
    scores, y, groups = some_data()
    loss: Any = PromisingExponential()
    proof = theory.certificate(loss, scores, y, groups)
    expected = [
        Exponential().value_and_grad(scores[r], y[r], Groups.one_query(r.stop - r.start))[0]
        for r in groups
    ]
    np.testing.assert_allclose(proof.values, expected)
    assert proof.holds
    assert "holds             on every query" in str(proof)


def test_a_broken_promise_is_seen() -> None:
    scores, y, groups = some_data()
    loss: Any = PromisingExponential(factor=1e6)
    proof = theory.certificate(loss, scores, y, groups)
    assert not proof.holds
    n = int(proof.broken.sum())
    assert 0 < n < groups.n_queries
    assert f"holds             no, broken on {n} of 40 queries" in str(proof)
    assert proof.min_slack < 0
    nan = replace(proof, values=np.full(groups.n_queries, np.nan))
    assert nan.broken.all()


def test_certificates_of_nothing() -> None:
    proof = theory.certificate("slam", [], [], Groups(np.array([0])))
    assert proof.holds
    assert proof.n_queries == 0
    assert proof.tightest_query is None
    assert math.isnan(proof.mean_value)
    assert proof.min_slack == math.inf


@pytest.mark.parametrize("loss", ["listnet", SLAM(lambda y: y), Domination(-1.0), Exponential()])
def test_no_promise_no_certificate(loss: Any) -> None:
    with pytest.raises(
        ValueError, match=r"^loss must have a bound to be certified, but .* has none"
    ):
        theory.certificate(loss, [0.0, 1.0], [0, 1])


def test_certificate_checks_its_arguments() -> None:
    with pytest.raises(ValueError, match="scores must"):
        theory.certificate("slam", [0.0], [0, 1])
    with pytest.raises(ValueError, match="loss must be one of"):
        theory.certificate("slim", [0.0], [0])


# --- lengths -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_radius_is_that_of_the_longest_document(kind: Any) -> None:
    X = np.array([[3, 4, 0], [0, 0, 0], [-5, 0, 12]], dtype=kind)
    assert theory.radius(X) == pytest.approx(13)
    assert theory.radius(sp.csr_array(X)) == pytest.approx(13)
    assert theory.radius(sp.coo_matrix(X)) == pytest.approx(13)
    assert theory.radius(X[1:2]) == theory.radius(sp.csr_array(X[1:2])) == 0
    assert theory.radius(np.empty((0, 3))) == theory.radius(sp.csr_array((0, 3))) == 0


def test_radius_neither_overflows_nor_vanishes() -> None:
    assert theory.radius([[3e200, 4e200]]) == pytest.approx(5e200)
    assert theory.radius([[3e-200, 4e-200]]) == pytest.approx(5e-200)
    assert theory.radius(np.array([[3e38, 0]], dtype=np.float32)) == pytest.approx(3e38)


def test_radius_looks_at_every_block() -> None:
    X = np.zeros((70_000, 2), dtype=np.float32)
    X[69_999] = 3, 4
    X[10] = 1, 0
    assert theory.radius(X) == theory.radius(sp.csr_array(X)) == pytest.approx(5)


def test_gradient_norms_by_hand() -> None:
    # Three pairs, all misordered: document 1 loses 2, document 3 gains 2.
    groups = Groups(np.array([0, 3, 4]))
    norms = theory.score_gradient_norms("rank_hinge", [0, 1, 2, 5], [2, 1, 0, 1], groups)
    np.testing.assert_array_equal(norms, [4, 0])
    loss: Any = Exponential()
    own = theory.score_gradient_norms(loss, [0.0, 0.0], [1, 0])
    np.testing.assert_array_equal(own, [2])


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_as_short_as_promised(name: str) -> None:
    scores, y, groups = some_data()
    norms = theory.score_gradient_norms(name, scores, y, groups)
    limits = [LOSSES[name]().lipschitz(int(m)) for m in groups.sizes]
    assert (norms <= np.array(limits) + 1e-12).all()


def test_a_gradient_by_weights_is_as_short_as_radius_times_norm() -> None:
    ds = make_mslr_like(n_queries=10, n_features=6, mean_docs=20)
    longest = theory.radius(ds.X)
    scores = ds.X @ np.linspace(-1, 1, 6)
    norms = theory.score_gradient_norms("slam", scores, ds.y, ds.groups)
    for q, rows in enumerate(ds.groups):
        _, grad = SLAM().value_and_grad(scores[rows], ds.y[rows])
        assert np.linalg.norm(ds.X[rows].T @ grad) <= longest * norms[q] + 1e-9


# --- the table ---------------------------------------------------------------------------------


def test_table_has_a_row_for_each_loss_and_agrees_with_it() -> None:
    table = theory.loss_table(LOSSES)
    assert [facts.name for facts in table] == list(LOSSES)
    for facts in table:
        loss = LOSSES[facts.name]()
        assert facts.promise == (loss.bound.text if loss.bound else "")
        assert facts.gradient == {10: loss.lipschitz(10), 1000: loss.lipschitz(1000)}
        assert (facts.convex, facts.smooth, facts.cost) == (loss.convex, loss.smooth, loss.cost)
    lines = str(table).splitlines()
    assert len(lines) == 1 + len(LOSSES)
    assert [line.split()[0] for line in lines[1:]] == list(LOSSES)


def test_table_of_chosen_losses() -> None:
    assert theory.loss_table("xendcg") == theory.loss_table(["xendcg"])
    assert theory.loss_table(SLAM()) == theory.loss_table([SLAM()])
    table = theory.loss_table([RankLogistic(normalize="pairs"), "listnet", SLAM(lambda y: y)])
    assert table[0].name == "RankLogistic(normalize='pairs')"
    assert table[0].gradient == {10: 2, 1000: 2}
    assert table[1].promise == ""
    assert table[2].gradient[10] == math.inf
    assert "  inf  " in str(table)
    assert table[0].shape == "convex, smooth"
    assert replace(table[2], convex=False).shape == "not convex, kinks"


# --- Theorem 8 ---------------------------------------------------------------------------------


def test_theorem_8_by_hand() -> None:
    bound = theory.generalization("slam", X_radius=3.0, n_queries=50, B=0.5)
    assert bound.gradient == 2
    assert bound.L2 == 2 * 3
    assert bound.best_alpha == pytest.approx(
        math.sqrt(4 * 6**2 / 50) / math.sqrt(0.5**2 / 2 + 4 * 0.5**2 / 50)
    )
    assert bound.excess == pytest.approx(2 * 6 * 0.5 * (8 / 50 + math.sqrt(2 / 50)))
    assert bound.excess == pytest.approx(6 * (0.16 + 0.2))
    assert bound.trivial == 2 * 6 * 0.5
    assert bound.alpha == bound.best_alpha
    assert bound.says_something


def test_theorem_8_with_another_penalty_weight_by_hand() -> None:
    bound = theory.generalization("listnet", 3.0, 50, 0.5, alpha=2.0)
    assert bound.penalty_term == 2 * 0.5**2 / 2
    assert bound.sample_term == 4 * (2 * 0.5 + 6) ** 2 / (2 * 50)
    assert bound.excess_at_alpha == 0.25 + 1.96
    assert "; with lambda = 2, by at most 2.21." in str(bound)


@pytest.mark.parametrize("n", [1, 2, 10, 100, 10_000, 10_000_000])
@pytest.mark.parametrize(("L2", "B"), [(2.0, 1.0), (0.02, 30.0), (500.0, 0.1)])
def test_s12_the_best_penalty_weight_gives_the_printed_constant(
    n: int, L2: float, B: float
) -> None:
    def excess(log_alpha: float) -> float:
        alpha = math.exp(log_alpha)
        return alpha * B**2 / 2 + 4 * (alpha * B + L2) ** 2 / (alpha * n)

    start = math.log(L2 / B)
    found = scipy.optimize.minimize_scalar(excess, bracket=(start - 1, start + 1), tol=1e-12)
    bound = theory.generalization("slam", L2 / 2, n, B)
    assert bound.L2 == L2
    assert math.exp(found.x) == pytest.approx(bound.best_alpha, rel=1e-5)
    assert found.fun == pytest.approx(bound.excess_at_alpha, rel=1e-10)
    # The minimum is 2 L2 B (4/n + sqrt(2/n + 16/n^2)); sqrt(a + b) <= sqrt(a) + sqrt(b) turns
    # it into what is printed.
    assert found.fun == pytest.approx(2 * L2 * B * (4 / n + math.sqrt(2 / n + 16 / n**2)))
    assert found.fun <= bound.excess
    assert found.fun >= (0.99 if n >= 1e5 else 0.8) * bound.excess


def test_theorem_8_holds_on_a_distribution_that_is_known() -> None:
    # Queries of two documents and one feature; weights on a grid, so that all minima are exact.
    features, shares = np.array([[1.0, 0], [0.6, 0], [-0.9, 0], [-1, 0]]), np.full(4, 0.25)
    B, n = 2.0, 12
    weights = np.linspace(-B, B, 401)
    loss = np.array(
        [[ListNet().value_and_grad(x * w, [1, 0])[0] for w in weights] for x in features]
    )
    expected = shares @ loss
    bound = theory.generalization("listnet", 1.0, n, B)
    rng = np.random.default_rng(0)
    counts = rng.multinomial(n, shares, size=2000) / n
    for alpha in (bound.best_alpha, 0.1 * bound.best_alpha, 10 * bound.best_alpha):
        chosen = (counts @ loss + alpha / 2 * weights**2).argmin(axis=1)
        excess = (expected[chosen] - expected.min()).mean()
        assert 0 <= excess <= theory.generalization("listnet", 1.0, n, B, alpha).excess_at_alpha


@pytest.mark.parametrize(
    ("loss", "m", "gradient"),
    [
        ("xendcg", None, 2),
        ("xendcg", 50, 2),
        ("domination", 50, 2 * 49),
        ("rank_hinge", 20, 200),
        (RankHinge(normalize="pairs"), None, 2),
    ],
)
def test_gradients_that_grow_need_the_longest_query(
    loss: Any, m: int | None, gradient: float
) -> None:
    assert theory.generalization(loss, 1.0, 10, 1.0, m=m).gradient == gradient


def test_weights_of_ones_own_need_their_sum() -> None:
    loss = SLAM(lambda y: y)
    assert theory.generalization(loss, 3.0, 10, 1.0, V=0.5).L2 == 2 * 0.5 * 3
    assert theory.generalization("slam", 3.0, 10, 1.0, V=0.25).L2 == 2 * 0.25 * 3
    smooth = theory.generalization("smooth-slam", 3.0, 10, 1.0, V=0.25).L2
    assert smooth == pytest.approx(2 / math.log(2) * 0.25 * 3)
    with pytest.raises(ValueError, match=r"but that of SLAM.* is inf\. Pass V, the largest sum"):
        theory.generalization(loss, 3.0, 10, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("domination", 1.0, 10, 1.0), "^the gradient of Domination.* grows .* Pass m, the most"),
        (("domination", 1.0, 10, 1.0, None, None, 1), "^Theorem 8 needs a finite bound .* is 0"),
        ((XENDCG(normalize="ideal_dcg"), 1.0, 10, 1.0), "^Theorem 8 needs a finite .* is inf"),
        ((Exponential(), 1.0, 10, 1.0), r"^Theorem 8 needs a loss with lipschitz\(m\), but"),
        (("listnet", 1.0, 10, 1.0, None, 1.0), "^V is about the weights of SLAM, but the loss is"),
        (("slam", 1.0, 10, 1.0, None, -1.0), "^V must be a positive number, but is -1.0"),
        (("slam", 0.0, 10, 1.0), "^X_radius must be a positive number, but is 0.0"),
        (("slam", 1.0, 10, math.inf), "^B must be a positive number, but is inf"),
        (("slam", 1.0, 0, 1.0), "^n_queries must be at least 1, but is 0"),
        (("slam", 1.0, 10, 1.0, 0.0), "^alpha must be a positive number, but is 0.0"),
    ],
)
def test_what_theorem_8_cannot_be_asked(arguments: tuple[Any, ...], message: str) -> None:
    loss, radius, n, B, *rest = arguments
    alpha, V, m = [*rest, None, None, None][:3]
    with pytest.raises(ValueError, match=message):
        theory.generalization(loss, radius, n, B, alpha, V=V, m=m)


def test_theorem_8_is_for_convex_losses() -> None:
    class Bent(Exponential):
        convex = False

    loss: Any = Bent()
    with pytest.raises(ValueError, match=r"^Theorem 8 needs a convex loss"):
        theory.generalization(loss, 1.0, 10, 1.0)


def test_the_text_says_what_the_theorem_is() -> None:
    text = str(theory.generalization("slam", 1.0, 200, 1.0))
    assert text == (
        "Let 200 queries be drawn independently, no document be longer than R_X = 1, and B = 1 be "
        "chosen before the draw. Among the weights with |w| <= B take those that minimise the mean "
        "loss of the queries + lambda/2 |w|^2, lambda = 0.3922. On average over the draw, their "
        "expected loss on a new query exceeds that of the best w with |w| <= B by at most 0.56. "
        "Any two w with |w| <= B differ by at most 2 L2 B = 4 anyway. The expected loss of the "
        "best w is unknown: this is no bound on the loss itself."
    )


def test_the_text_says_when_the_theorem_adds_nothing() -> None:
    # 8/n + sqrt(2/n) >= 1 for up to 13 queries; the exact minimum falls below 1 a little earlier.
    few = theory.generalization("slam", 1.0, 5, 1.0)
    assert few.excess > few.trivial
    assert not few.says_something
    assert "so the theorem adds nothing here" in str(few)
    assert theory.generalization("slam", 1.0, 14, 1.0).excess < 4


def test_theorem_8_as_json() -> None:
    facts = theory.generalization("slam", 1.0, 200, 1.0, 0.5).to_dict()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["loss"] == "SLAM(metric='ndcg', margin=1.0, threshold=1.0, weights='group')"
    assert facts["excess_at_alpha"] == facts["penalty_term"] + facts["sample_term"]
