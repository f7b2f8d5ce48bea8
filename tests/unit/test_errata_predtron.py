"""Where the Predtron paper is wrong, as counterexamples, and what holds (P1 to P13)."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from rankwright.experiments.predtron_subset_ranking import (
    GENERATORS,
    LEARNERS,
    REPRESENTATIONS,
    query_losses,
    sample_queries,
)
from rankwright.predtron import Predtron, PredtronClassifier, PredtronRanker
from rankwright.problems import REJECT, Binary, Multiclass, Multilabel, Ordinal, Ranking, surrogate
from rankwright.theory import (
    link_constant,
    link_exponent,
    predtron_any_step,
    predtron_bound,
    predtron_corollary,
    predtron_loss_driven,
    predtron_margin,
    predtron_margins,
    predtron_predicted,
    predtron_theorem1,
)
from tests.reference import predtron as reference
from tests.reference import problems as enumerated

MODES: tuple[Any, ...] = ("augmented", "predicted", "loss_driven")


def separable(
    problem: Any, n: int, seed: int
) -> tuple[np.ndarray[Any, Any], list[int], float, float]:
    """Examples that unit weights have right, their labels, the margin and the radius."""
    rng = np.random.default_rng(seed)
    X, U = rng.normal(size=(8 * n, 4)), rng.normal(size=(4, 4))
    U /= np.linalg.norm(U)
    y = np.argmax(X @ U.T, axis=1).tolist()
    margins = [
        predtron_margin(problem, t, label).strict for t, label in zip(X @ U.T, y, strict=True)
    ]
    kept = np.argsort(margins)[-n:]
    margin = float(np.array(margins)[kept].min())
    radius = float(np.linalg.norm(X[kept], axis=1).max())
    return X[kept], [y[i] for i in kept], margin, radius


@pytest.mark.parametrize("problem", [Multiclass(4), Ordinal(4)], ids=["multiclass", "ordinal"])
def test_p1_theorem_1_holds_with_its_own_step(problem: Any) -> None:
    smallest, largest = problem.loss_range()
    for seed in range(20):
        X, y, margin, radius = separable(problem, 40, seed)
        step = smallest / (4 * radius**2)
        learner = Predtron(problem, "augmented", eta=step, n_epochs=5, standardize=False)
        bound = predtron_theorem1(margin, radius, smallest, largest).value
        assert 0 < learner.fit(X, y).cumulative_loss_ <= bound


def test_p3_updates_with_the_prediction_need_neither_step_nor_augmented_argmax() -> None:
    problem = Ordinal(4)
    for seed in range(20):
        X, y, margin, radius = separable(problem, 40, seed)
        for eta in (0.01, 100.0):
            given: dict[str, Any] = {"eta": eta, "n_epochs": 5, "standardize": False}
            mistakes = Predtron(problem, "predicted", **given).fit(X, y).n_updates_
            assert mistakes <= predtron_predicted(margin, radius).value
            driven = Predtron(problem, "loss_driven", **given).fit(X, y).cumulative_loss_
            assert driven <= predtron_loss_driven(margin, radius, 3.0).value
        # The factor C_L/c_L of Theorem 1 is gone.
        theorem = predtron_theorem1(margin, radius, 1.0, 3.0).value
        assert predtron_loss_driven(margin, radius, 3.0).value == pytest.approx(theorem / 3)


def test_p2_a_step_of_one_breaks_theorem_1_and_its_own_step_does_not() -> None:
    # Two opposite points of the middle classes. The loss-augmented classes are the outer ones, as
    # long as the scores are small beside the loss: the classes that are confused do not move.
    X, y = np.array([[1.0], [-1.0]]), [1, 2]
    U = np.array([[0.0], [1.0], [-1.0], [0.0]]) / math.sqrt(2)
    margin = predtron_margins(Ordinal(4), X @ U.T, y).strict
    assert margin == pytest.approx(1 / math.sqrt(2))
    bound = predtron_theorem1(margin, 1.0, 1.0, 3.0).value
    assert bound == pytest.approx(4 * 9 * 2)
    lost: dict[str, list[float]] = {"eta = 1": [], "eta = c/(4R^2)": [], "predicted": []}
    for scale in (1.0, 0.1, 0.01):
        # The bound does not see the scale.
        assert predtron_theorem1(scale * margin, scale, 1.0, 3.0).value == pytest.approx(bound)
        one = Predtron(Ordinal(4), "augmented", eta=1.0, n_epochs=3000, standardize=False).fit(
            scale * X, y
        )
        own = Predtron(Ordinal(4), "augmented", n_epochs=100, standardize=False).fit(scale * X, y)
        predicted = Predtron(Ordinal(4), n_epochs=100, standardize=False).fit(scale * X, y)
        for total, run in zip(lost.values(), (one, own, predicted), strict=True):
            total.append(run.cumulative_loss_)
        # What holds for any step, and what holds without one.
        any_step = predtron_any_step(scale * margin, scale, 1.0, 3.0, eta=1.0)
        assert one.n_updates_ <= any_step.value
        assert predicted.n_updates_ <= predtron_predicted(scale * margin, scale).value
    one_loss = lost["eta = 1"]
    assert one_loss[0] < bound < one_loss[1] < one_loss[2]
    for name in ("eta = c/(4R^2)", "predicted"):
        assert lost[name] == [lost[name][0]] * 3
        assert lost[name][0] <= bound


def test_p2_for_zero_one_losses_the_step_is_irrelevant() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.integers(0, 3, 50)
    runs = [PredtronClassifier(mode="augmented", eta=eta).fit(X, y) for eta in (1e-3, 1.0, 1e3)]
    assert len({run.n_updates_ for run in runs}) == 1


def test_p4_corollary_2_as_printed_is_exceeded_tenfold() -> None:
    X, y = np.eye(2), [1, 1]
    learner = Predtron(Binary((10.0, 10.0)), "augmented").fit(X, y)
    assert learner.cumulative_loss_ == 20
    U = np.full((1, 2), 1 / math.sqrt(2))  # unit length
    margin = predtron_margins(Binary((10.0, 10.0)), X @ U.T, y).strict
    assert margin == pytest.approx(math.sqrt(2))
    printed = 4 * 10**2 / (10**2 * margin**2)
    assert printed == pytest.approx(2)
    corrected = predtron_theorem1(margin, 1.0, smallest_loss=10.0, largest_loss=10.0)
    assert corrected.value == pytest.approx(20)  # attained


def test_the_papers_option_to_reject_is_never_taken() -> None:
    rng = np.random.default_rng(0)
    for k in (2, 3, 5):
        X, y = rng.normal(size=(300, 4)), rng.integers(0, k, 300).tolist()
        for mode in MODES:
            problem = Multiclass(k, reject=0.2)
            learner = Predtron(problem, mode, eta=0.5, fit_intercept=True).fit(X, y)
            assert learner.decision_function(X).sum(axis=1).max() <= 1e-9
            assert REJECT not in learner.predict(rng.normal(size=(300, 4)))
        useful = PredtronClassifier(reject=0.2).fit(X, y)
        assert (useful.predict(X) == REJECT).any()


def test_p5_tied_labels_have_no_compatible_scores_but_weak_margins() -> None:
    rng = np.random.default_rng(0)
    problem, y = Ranking(representation="-i"), [1, 1, 0, 0]
    margins = [predtron_margin(problem, rng.normal(size=4), y) for _ in range(3000)]
    assert not any(margin.compatible for margin in margins)
    assert sum(margin.weak > 0 for margin in margins) > 50
    # Equal scores inside each grade are what Section 2.2 asks for.
    assert predtron_margin(problem, [1.0, 1.0, 0.0, 0.0], y).compatible


def test_p5_the_weak_margin_bounds_the_mistakes() -> None:
    rng = np.random.default_rng(1)
    problem, w = Ranking(representation="-i"), np.array([1.0, 0.0, 0.0])
    X: list[Any] = []
    labels: list[Any] = []
    while len(X) < 40:
        x, y = rng.normal(0, 0.05, (4, 3)), rng.permutation([1.0, 1.0, 0.0, 0.0])
        x[:, 0] += y
        if predtron_margin(problem, x @ w, y).weak > 0.05:
            X.append(x)
            labels.append(y)
    gamma = predtron_margins(problem, [x @ w for x in X], labels)
    assert not gamma.compatible
    R = max(float(np.linalg.norm(x, 2)) for x in X)
    bound = predtron_predicted(gamma.weak, R).value
    rows, qid = np.concatenate(X), np.repeat(np.arange(40), 4)
    ranker = PredtronRanker(representation="-i", n_epochs=50).fit(rows, np.concatenate(labels), qid)
    assert 0 < ranker.n_updates_ <= bound


@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_p6_no_scores_are_compatible_with_the_error_set_loss(m: int) -> None:
    twin = enumerated.multilabel(m, "error_set")
    for y in itertools.product((0, 1), repeat=m):
        if not 0 < sum(y) < m:
            continue
        correct = twin.losses(y) == 0
        vectors = twin.vectors[correct]
        gaps = (twin.vectors[~correct][:, None] - vectors).reshape(-1, m)
        # All correct sets equally similar, all others less so by 1.
        strict = linprog(
            np.zeros(m),
            A_ub=gaps,
            b_ub=-np.ones(len(gaps)),
            A_eq=vectors[1:] - vectors[0],
            b_eq=np.zeros(len(vectors) - 1),
            bounds=(None, None),
        )
        assert strict.status == 2  # infeasible
        weak = linprog(np.zeros(m), A_ub=gaps, b_ub=-np.ones(len(gaps)), bounds=(None, None))
        assert (weak.status == 2) == (sum(y) >= 2 and m - sum(y) >= 2)
        rng = np.random.default_rng(0)
        problem = Multilabel(m, "error_set")
        assert not any(predtron_margin(problem, t, y).compatible for t in rng.normal(size=(20, m)))


def test_p7_misprints() -> None:
    problem = Multilabel(3, "subset")
    assert problem.loss([1, 0, 1], [1, 0, 1]) == 0  # printed: 1 if they are equal
    assert problem.loss([1, 1, 1], [1, 0, 1]) == 1
    # Section 6: labels are m - j, j = 1 to m. Their largest is m - 1, and the ends are open.
    rng, m = np.random.default_rng(0), 6
    w = np.r_[1.0, np.zeros(3)]
    y = sample_queries(rng, w, 300, m, "zero", 1.0).y
    assert set(y) == set(range(m))


def test_p8_the_exponent_is_one_only_from_eight_features_on() -> None:
    printed = [math.log(p) / (math.log(p) - 1) for p in (2, 3, 7, 8)]
    assert printed[0] < 0
    assert printed[1] > 11
    assert printed[2] > 2 > printed[3] > 1
    for p in (2, 3, 7):
        assert link_exponent(p) == 2
    q = link_exponent(100)
    assert q / (q - 1) == pytest.approx(math.log(100) / (math.log(100) - 1))
    assert link_constant("l1", 100) == pytest.approx(math.e**2 * (math.log(100) - 1))
    assert link_constant("l1", 100) < 9 * math.log(100)  # Corollaries 6 and 8
    assert link_constant("l1", 4) == pytest.approx(4)
    assert link_constant("l2", 1) == 1


def test_p9_links_and_their_inverses() -> None:
    rng = np.random.default_rng(0)
    for n in (8, 20, 300):
        r = reference.exponent(n)
        w = rng.normal(size=n)
        theta = reference.vector_link(w, r)
        np.testing.assert_allclose(reference.vector_link(theta, r / (r - 1)), w, atol=1e-12)


def test_bounds_by_hand() -> None:
    assert predtron_theorem1(0.5, 1.0, 1.0, 3.0).value == 4 * 9 / 0.25
    assert predtron_predicted(0.5, 2.0).value == 4 * 4 / 0.25
    assert predtron_loss_driven(0.5, 2.0, 3.0).value == 4 * 4 * 3 / 0.25
    assert predtron_predicted(0.0, 1.0).value == math.inf
    assert predtron_any_step(1.0, 1.0, 1.0, 3.0, eta=0.1).value == pytest.approx(4 + 2 * 2 / 0.1)
    assert predtron_bound("augmented", 2.0, 1.0, 0.5, 1.0, 3.0).value == 6 + 4 * 4 / 0.5
    assert predtron_bound("predicted", 2.0, 1.0, 0.5, 1.0, 3.0).value == 6 + 16
    assert predtron_bound("loss_driven", 2.0, 1.0, 0.5, 1.0, 3.0).value == 6 + 16
    # (l + |U|^2/(2 eta)) / (1 - 2 eta R^2/c)
    other = predtron_bound("augmented", 2.0, 1.0, 0.5, 1.0, 3.0, eta=0.2)
    assert other.value == pytest.approx((3 + 4 / 0.4) / (1 - 0.8))
    # P2 against any U: M c - l = |U| sqrt(M A), A = 4 R^2 + 2 (C - c)/eta, and C for each mistake.
    long = predtron_bound("augmented", 2.0, 1.0, 0.5, 2.0, 3.0, eta=0.3)
    n_wrong, A = long.value / 2, 4 + 2 * 1.5 / 0.3
    assert n_wrong * 0.5 - 3 == pytest.approx(2 * math.sqrt(n_wrong * A))
    assert predtron_corollary(5, 1.0, 1.0, 2, 10).value == 32 * 100 * math.log2(20) ** 2
    ratio = predtron_corollary(6, 1.0, 1.0, 2, 10, 50).value / (32 * 100 * math.log2(20) ** 2)
    assert ratio == pytest.approx(9 * math.log(50))
    with pytest.raises(ValueError, match="number must be 5, 6, 7 or 8"):
        predtron_corollary(4, 1.0, 1.0, 2, 10)
    with pytest.raises(ValueError, match="need n_features, at least 8"):
        predtron_corollary(8, 1.0, 1.0, 2, 10, 7)


def test_p11_corollary_5_is_valid_and_large() -> None:
    # 1/c_L of distinct labels 0..m-1 against the paper's bound of it.
    for m in (3, 5, 8):
        smallest, _ = Ranking().loss_range(np.arange(m))
        printed = 2.0**m * m**2 * math.log2(2 * m) ** 2
        assert printed * smallest > 1


@pytest.mark.parametrize("m", [2, 3, 5])
def test_p10_surrogates_in_closed_form(m: int) -> None:
    rng = np.random.default_rng(m)
    for _ in range(100):
        t, y = rng.normal(size=m), rng.integers(0, 2, m)
        signs = 2 * y - 1
        hamming = np.maximum(0, 1 - 2 * signs * t / math.sqrt(m)).sum()
        assert surrogate(Multilabel(m, "hamming"), t, y) == pytest.approx(hamming)
        # Subset: the signs of t, or one flip of the smallest |t| if they are right.
        lead = 2 * np.abs(t) / math.sqrt(m)
        wrong = (signs * t < 0) * lead
        subset = 1 + wrong.sum() if wrong.any() else max(0.0, 1 - lead.min())
        assert surrogate(Multilabel(m, "subset"), t, y) == pytest.approx(subset)


def test_p12_the_theorems_step_is_far_too_small_where_lengths_vary() -> None:
    """Digits: true guarantees, and a classifier that rejects everything."""
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = datasets.load_digits(return_X_y=True)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    squares = (X**2).sum(axis=1)
    assert squares.max() > 30 * np.median(squares)
    theory_step, practical = 0.1 / (4 * squares.max()), 0.1 / (4 * np.median(squares))
    given: dict[str, Any] = {"reject": 0.1, "standardize": False, "n_epochs": 1}
    rejected = {
        step: np.mean(PredtronClassifier(eta=step, **given).fit(X, y).predict(X) == -1)
        for step in (theory_step, 10 * practical)
    }
    assert rejected[theory_step] == 1
    assert rejected[10 * practical] < 0.6


@pytest.mark.parametrize(("centres", "spread"), GENERATORS)
def test_p13_the_loss_of_figure_1b_falls_with_m(centres: str, spread: float) -> None:
    """Figure 1 (b) has it grow; gains of 2^(m - 1) let the first ranks decide."""
    for learner, name in itertools.product(LEARNERS, REPRESENTATIONS):
        few, many = (query_losses(name, 30, m, learner, centres, spread, 6) for m in (5, 30))
        assert np.mean(many) < np.mean(few)
