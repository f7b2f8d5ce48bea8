"""Section 6.1 and Proposition 4 of the SLAM paper, and from streams to new data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rankwright import theory
from rankwright.data import Groups
from rankwright.data.validation import Floats
from rankwright.experiments.slam_norms import equivariant_dimension
from rankwright.losses import LOSSES, SLAM, RankHinge
from rankwright.metrics import Metric
from rankwright.metrics.binary import AP
from rankwright.metrics.dcg import NDCG
from rankwright.online import OnlineRanker, PRank
from rankwright.online.slam_perceptron import SLAMFacts
from rankwright.theory.online_to_batch import Predicts
from tests.reference import structured as reference

# --- Proposition 4 -----------------------------------------------------------------------------

WORST: list[tuple[str, Metric]] = [
    ("ndcg", NDCG(ties="worst")),
    ("map", AP(ties="worst")),
    ("map-uniform", AP(ties="worst")),
    ("ndcg@3", NDCG(k=3, ties="worst")),
]


@pytest.mark.parametrize(("name", "metric"), WORST, ids=lambda value: str(value))
def test_s12_proposition_4_over_a_thousand_queries(name: str, metric: Metric) -> None:
    rng = np.random.default_rng(0)
    loss, worst, n_wrong = SLAM(name), 0.0, 0
    for _ in range(1200):
        m, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        y = rng.integers(0, 3, m).astype(float)
        X = rng.normal(size=(m, d)) * 10 ** rng.uniform(-2, 2)
        scores = np.round(X @ rng.normal(size=d) * 10 ** rng.uniform(-3, 1), 2)
        groups = Groups.one_query(m)
        if not metric.per_query(y, scores, groups)[0] < 1:  # NaN: nothing to order
            continue
        value, grad = loss.value_and_grad(scores, y)
        facts = SLAMFacts.of(loss.document_weights(y, groups), groups, loss.cutoff)
        bound = theory.slam_proposition4(value, theory.radius(X), facts.max_docs, facts.v_max)
        worst = max(worst, float(np.sum((X.T @ grad) ** 2)) / bound.value)
        n_wrong += 1
    assert n_wrong > 600
    assert 0.1 < worst <= 1


def test_proposition_4_needs_a_misordered_document() -> None:
    # In order, but within the margin: the surrogate is as small as one likes, its slope is not.
    X, y = np.array([[1.0], [0.001]]), np.array([1.0, 0])
    value, grad = SLAM("map").value_and_grad(0.999 * X[:, 0], y)
    assert float(np.sum((X.T @ grad) ** 2)) > theory.slam_proposition4(value, 1.0, 2, 1.0).value


# --- structured surrogates ---------------------------------------------------------------------

STRUCTURED = [
    pytest.param(theory.SVMMAP(), reference.svm_map, 2, id="svm-map"),
    pytest.param(theory.LargeMarginNDCG(), reference.large_margin_ndcg, 4, id="large-margin-ndcg"),
]
Twin = Callable[[Floats, Floats], tuple[float, Floats]]


@pytest.mark.parametrize(("loss", "twin", "grades"), STRUCTURED, ids=lambda value: str(value))
def test_structured_losses_are_maxima_over_all_rankings(
    loss: theory.SVMMAP | theory.LargeMarginNDCG, twin: Twin, grades: int
) -> None:
    rng = np.random.default_rng(1)
    for _ in range(150):
        m = int(rng.integers(1, 6))
        y = rng.integers(0, grades, m).astype(float)
        scores = 0.3 * rng.normal(size=m)
        value, grad = loss.value_and_grad(scores, y)
        expected, slope = twin(scores, y)
        assert value == pytest.approx(expected, abs=1e-12)
        # Several rankings may be as bad: a subgradient need not be the twin's, but must be one.
        other = scores + rng.normal(size=m)
        assert loss.value_and_grad(other, y)[0] >= value + grad @ (other - scores) - 1e-9
        assert np.abs(slope).sum() <= loss.lipschitz(m) + 1e-12
        assert np.abs(grad).sum() <= loss.lipschitz(m) + 1e-12


@pytest.mark.parametrize(("loss", "twin", "grades"), STRUCTURED, ids=lambda value: str(value))
def test_structured_losses_keep_their_promise(
    loss: theory.SVMMAP | theory.LargeMarginNDCG, twin: Twin, grades: int
) -> None:
    rng = np.random.default_rng(2)
    groups = Groups(np.append(0, np.cumsum(rng.integers(1, 9, 60))))
    y = rng.integers(0, grades, groups.n_rows).astype(float)
    for scale in (0.0, 1e-6, 0.1, 10.0):
        scores = scale * np.round(rng.normal(size=groups.n_rows), 1)
        assert theory.certificate(loss, scores, y, groups).holds


@pytest.mark.parametrize("m", [2, 3, 10, 41])
def test_the_norms_of_section_6_1_are_attained(m: int) -> None:
    """SVM-MAP's is constant, the other one grows as m^2/2; labels in reverse, far apart."""
    y, scores = np.arange(m, 0.0, -1), 10.0 * np.arange(m)
    norm = theory.score_gradient_norms(theory.LargeMarginNDCG(), scores, y)
    assert norm == theory.LargeMarginNDCG().lipschitz(m) == m * m // 2
    binary = (np.arange(m) < m // 2).astype(float)
    norm = theory.score_gradient_norms(theory.SVMMAP(), scores, binary)
    assert norm == pytest.approx(4)


@pytest.mark.parametrize("loss", [theory.SVMMAP(), theory.LargeMarginNDCG()], ids=str)
def test_one_document_has_nothing_to_order(loss: theory.SVMMAP | theory.LargeMarginNDCG) -> None:
    assert loss.value_and_grad([3.0], [1])[0] == loss.lipschitz(1) == 0


def test_structured_losses_are_in_the_table() -> None:
    table = theory.loss_table()
    assert [facts.name for facts in table][len(LOSSES) :] == [
        "SVMMAP(threshold=1.0)",
        "LargeMarginNDCG()",
    ]
    assert table[-2].gradient == {10: 4, 1000: 4}
    assert table[-1].gradient == {10: 50, 1000: 500_000}


# --- rates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_theorem_8_has_never_the_worse_rate(name: str) -> None:
    rng = np.random.default_rng(3)
    for m in (2, 5, 30):
        scores, y = rng.normal(size=m), rng.integers(0, 3, m).astype(float)
        one, two = (theory.score_gradient_norms(name, scores, y, p=p)[0] for p in (1, 2))
        assert two <= one <= np.sqrt(m) * two + 1e-12
        rate = theory.chapelle_wu_rate(two, 1.0, 100, 2.0, m)
        assert one * 2 / np.sqrt(100) <= rate.value + 1e-12
        assert rate.value == pytest.approx(2 * two * np.sqrt(m / 100))


def test_what_rates_and_norms_cannot_be_asked() -> None:
    with pytest.raises(ValueError, match=r"^n_queries must be a positive integer, but is 0\.$"):
        theory.chapelle_wu_rate(1.0, 1.0, 0, 1.0, 5)
    with pytest.raises(ValueError, match=r"^m must be a positive integer, but is 0\.$"):
        theory.chapelle_wu_rate(1.0, 1.0, 10, 1.0, 0)
    wrong: Any = "x"
    for threshold in (np.nan, wrong):
        with pytest.raises(ValueError, match=r"^threshold must be a finite number, but is"):
            theory.SVMMAP(threshold)
    with pytest.raises(ValueError, match=r"^p must be 1 or 2, but is 3\.$"):
        theory.score_gradient_norms("slam", [0.0, 1.0], [1, 0], p=3)


@pytest.mark.parametrize(
    ("m", "d", "dimension"), [(1, 3, 3), (2, 2, 4), (3, 1, 2), (3, 2, 4), (4, 2, 4)]
)
def test_s8_equivariant_maps_have_twice_the_dimension(m: int, d: int, dimension: int) -> None:
    """Theorem 10 says d: one document has no others, two or more have."""
    assert equivariant_dimension(m, d) == dimension


# --- from streams to new data ------------------------------------------------------------------
# Eight points with ranks, one of which is drawn in each round: every risk is a mean of eight.

POINTS = np.array(  # whole numbers: ties are ties in every form of the weights
    [[4, 0], [3, 2], [0, 4], [-2, 3], [-4, 0], [1, -4], [3, -2], [0, 1.0]]
)
RANKS = np.array([3, 3, 2, 2, 1, 1, 2, 3])  # no thresholds have them all right
N_ROUNDS, DELTA = 60, 0.1


def one_stream(rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Cumulative loss; risks of a random hypothesis, of the vote, of the best by what follows."""
    drawn = rng.integers(0, len(POINTS), N_ROUNDS)
    learner, last = (PRank(v, classes=[1, 2, 3], standardize=False) for v in ("voted", "last"))
    guesses = [np.full(len(POINTS), 3)]  # w = 0 and b = 0: every threshold is passed
    for t in drawn:
        learner.partial_fit(POINTS[[t]], RANKS[[t]])
        last.partial_fit(POINTS[[t]], RANKS[[t]])
        guesses.append(last.predict(POINTS))
    losses = np.abs(np.array(guesses[:-1]) - RANKS)
    total = losses[np.arange(N_ROUNDS), drawn].sum()
    assert total == learner.cumulative_loss_  # each was tried in the round that it did not know
    after = np.arange(N_ROUNDS, 0, -1)
    wide = 2 * np.sqrt(np.log(N_ROUNDS * (N_ROUNDS + 1) / DELTA) / (2 * after))
    tried = np.array([losses[t, drawn[t:]].mean() for t in range(N_ROUNDS)])
    risks = losses.mean(axis=1)
    voted = np.abs(learner.predict(POINTS) - RANKS).mean()
    return float(total), float(risks.mean()), float(voted), float(risks[np.argmin(tried + wide)])


def test_streams_say_what_new_data_will_cost() -> None:
    rng = np.random.default_rng(5)
    total, drawn, voted, best = np.array([one_stream(rng) for _ in range(50)]).T
    # On average the risk of a hypothesis is its loss in the next round, exactly.
    excess = drawn - total / N_ROUNDS
    assert abs(excess.mean()) < 3 * excess.std() / np.sqrt(len(excess))
    assert 0.2 < drawn.mean() < 1
    average = theory.online_to_batch(total.mean(), N_ROUNDS, "voted", largest_loss=2)
    assert voted.mean() <= average.value
    tested: list[tuple[Floats, Predicts]]
    tested = [(drawn, "random"), (voted, "voted"), (best, "best")]
    for risks, name in tested:
        bounds = [
            theory.online_to_batch(m, N_ROUNDS, name, largest_loss=2, delta=DELTA).value
            for m in total
        ]
        assert np.mean(risks > np.array(bounds)) <= DELTA
    # Not by a factor: without the second term it fails as often as not.
    assert 0.2 < np.mean(drawn > total / N_ROUNDS) < 0.8


def test_averaged_weights_of_a_convex_loss() -> None:
    """Queries of two documents and a hinge, by online gradient descent."""
    rng, n_rounds = np.random.default_rng(6), 40
    better, worse = rng.normal(size=(2, 7, 2))
    better[:4] += 1
    loss = RankHinge()
    found = []
    for _ in range(200):
        drawn = rng.integers(0, 7, n_rounds)
        X = np.stack([better[drawn], worse[drawn]], axis=1).reshape(-1, 2)
        y, qid = np.tile([1, 0], n_rounds), np.repeat(np.arange(n_rounds), 2)
        learner = OnlineRanker(loss, eta=0.2, variant="averaged", standardize=False)
        learner.partial_fit(X, y, qid)
        risk = np.mean(np.maximum(0, 1 - (better - worse) @ learner.coef_))
        found.append((learner.cumulative_loss_, risk))
    total, risk = np.mean(found, axis=0)
    # Weights are at most 0.2 x 40 x the longest difference away from 0.
    longest = np.linalg.norm(better - worse, axis=1).max()
    bound = theory.online_to_batch(
        float(total), n_rounds, "averaged", largest_loss=1 + 8 * longest**2
    )
    assert 0 < risk <= total / n_rounds <= bound.value


def test_a_vote_may_cost_twice_the_mean() -> None:
    # Two of four hypotheses are wrong on each of two points, and a tie of votes is lost.
    wrong = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    assert (wrong.mean(axis=0) >= 0.5).mean() == 2 * wrong.mean()
    bound = theory.online_to_batch(6.0, 100, "voted", largest_loss=4, delta=0.1)
    single = theory.online_to_batch(10.0, 100, "random", largest_loss=4, delta=0.1)
    assert bound.value == pytest.approx(2 * single.value)


def test_streams_by_hand() -> None:
    # delta = e^-2: C sqrt(2/(2 x 50)) = C/sqrt(50), and ln(2 x 50/delta) = ln 100 + 2 for T = 49.
    delta, C = math.exp(-2), 3.0
    found = [
        theory.online_to_batch(10.0, 50, name, largest_loss=C, delta=delta).value
        for name in ("random", "averaged", "voted")
    ]
    wide = C / math.sqrt(50)
    assert found == pytest.approx([0.2 + wide, 0.26 + wide, 2 * (0.26 + wide)])
    best = theory.online_to_batch(7.0, 49, "best", largest_loss=C, delta=delta).value
    assert best == pytest.approx(1 / 7 + 6 * C * math.sqrt(math.log(100) + 2) / 7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_rounds": 0}, "^n_rounds must be a positive integer, but is 0"),
        ({"n_rounds": 9.5}, "^n_rounds must be a positive integer, but is 9.5"),
        ({"cumulative_loss": 11.0}, r"at most largest_loss \* n_rounds, 10, but is 11\. Pass the"),
        ({"cumulative_loss": "x"}, "^cumulative_loss must be a number >= 0, but is 'x'"),
        ({"cumulative_loss": -1.0}, "^cumulative_loss must be a number >= 0, but is -1.0"),
        ({"predicts": "last"}, "^predicts must be one of random, averaged, .*, but is 'last'"),
        ({"delta": 1.0}, "^delta must lie between 0 and 1, but is 1.0"),
        ({"predicts": "best"}, "^predicts='best' holds with some probability only: pass delta"),
    ],
)
def test_what_streams_cannot_be_asked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        theory.online_to_batch(**({"cumulative_loss": 1.0, "n_rounds": 10} | arguments))
