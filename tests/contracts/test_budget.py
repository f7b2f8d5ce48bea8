"""Kernel perceptrons with a budget: their twin, their bound, their size."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import rankwright as rw
from rankwright.online import (
    DualComparator,
    MulticlassPerceptron,
    PRank,
    SLAMPerceptron,
    WidrowHoff,
)
from rankwright.predtron import Predtron, PredtronClassifier, PredtronMultilabel, PredtronRanker
from rankwright.problems import Multiclass
from rankwright.theory import budget_bound, budget_theorem
from tests.reference.budget import multiclass_with_budget

ROUNDING = 1 + 1e-9
PLAIN: Any = {"variant": "last", "n_epochs": 1, "shuffle": False, "standardize": False}


def random_rows(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Any, Any, Any]:
    """Return documents, labels, and prototypes that are right but for some noise."""
    X = rng.normal(size=(n, d))
    U = rng.normal(size=(k, d))
    y = (X @ U.T + rng.choice([0, 0.5]) * rng.normal(size=(n, k))).argmax(axis=1)
    return X, y, U


def test_the_twin_does_the_same() -> None:
    rng = np.random.default_rng(0)
    shrank = 0
    for _ in range(30):
        k, budget = int(rng.integers(2, 4)), int(rng.integers(1, 9))
        X, y, _ = random_rows(rng, 60, 3, k)
        X *= 10.0 ** rng.integers(-3, 4)
        model = MulticlassPerceptron(
            kernel="linear", fit_intercept=False, classes=np.arange(k), budget=budget, **PLAIN
        ).fit(X, y)
        run, mistakes = multiclass_with_budget(X, y, k, budget)
        assert model.n_updates_ == sum(mistakes)
        scale = np.abs(run.w).max() + 1e-300
        np.testing.assert_allclose(
            model.dual_coef_.T @ model.support_ / scale, run.w / scale, atol=1e-6
        )
        assert model.forgotten_[-1] == pytest.approx(run.shrinkage, abs=1e-6)
        shrank += any(phi < 1 for phi in run.factors)
    assert shrank > 15


def learners(budget: int) -> dict[str, Any]:
    return {
        "multiclass": MulticlassPerceptron(
            kernel="linear", fit_intercept=False, budget=budget, **PLAIN
        ),
        "multiclass-max": MulticlassPerceptron(
            "max", kernel="linear", fit_intercept=False, budget=budget, **PLAIN
        ),
        "predicted": PredtronClassifier(
            kernel="linear", budget=budget, mode="predicted", fit_intercept=False, **PLAIN
        ),
        "loss-driven": PredtronClassifier(
            loss=[1.0, 2.0, 5.0],
            mode="loss_driven",
            kernel="linear",
            budget=budget,
            fit_intercept=False,
            **PLAIN,
        ),
    }


@pytest.mark.parametrize("name", list(learners(1)))
def test_bounds_hold_for_rows_and_the_support_stays_small(name: str) -> None:
    rng = np.random.default_rng(1)
    said, largest = 0, 0.0
    for i in range(75):
        budget = int(rng.choice([1, 2, 5, 20, 100]))
        X, y, U = random_rows(rng, 80, 3, 3)
        if i % 3 == 0:  # the same rows again and again
            X, y = np.tile(X[:10], (8, 1)), np.tile(y[:10], 8)
        if i % 3 == 1:  # a margin
            y, U = rng.integers(0, 3, 80), np.eye(3)
            X = U[y] + 0.02 * rng.normal(size=(80, 3))
        X, y = np.vstack([np.eye(3), X]), np.append([0, 1, 2], y)
        model = learners(budget)[name]
        u = DualComparator(np.eye(3), (U * 10.0 ** rng.uniform(-1, 1)).T)
        bound = model.bound(u, X, y)
        fitted = model.fit(X, y)
        assert len(fitted.support_) == min(budget, fitted.n_updates_)
        if fitted.n_updates_ <= budget:
            assert fitted.forgotten_[-1] == 0
        assert bound.terms["loss"] <= bound.value * ROUNDING
        # Beforehand: S is at most M log(4 (B + 1)) / (2 B), and so is the bound.
        S = fitted.n_updates_ * np.log(4 * (budget + 1)) / (2 * budget)
        assert fitted.forgotten_[-1] <= S * ROUNDING
        if np.isfinite(bound.value):
            t = bound.terms
            if name != "loss-driven":
                early = budget_theorem(t["|u|"], t["G"], budget, t["l(u)"]).value
                assert bound.value <= early * ROUNDING
                said += early < np.inf
            largest = max(largest, t["loss"] / bound.value)
    assert largest > 0.02
    assert said > (0 if name == "loss-driven" else 5) - 1


@pytest.mark.parametrize("kind", ["slam", "predtron"])
def test_bounds_hold_for_queries(kind: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        n_queries, budget = 30, int(rng.choice([6, 12, 40]))
        qid = np.repeat(np.arange(n_queries), rng.integers(2, 6, n_queries))
        X, u = rng.normal(size=(len(qid), 3)), rng.normal(size=3)
        s = X @ u + rng.choice([0, 0.5]) * rng.normal(size=len(qid))
        y = np.digitize(s, [-1, 0, 1])
        model: Any = SLAMPerceptron("ndcg", kernel="linear", budget=budget, **PLAIN)
        if kind == "predtron":
            model = PredtronRanker(kernel="linear", budget=budget, **PLAIN)
        comparator = DualComparator(np.eye(3), 10.0 ** rng.integers(-1, 2) * u)
        bound = model.bound(comparator, X, y, qid)
        assert bound.terms["loss"] <= bound.value * ROUNDING
        fitted = model.fit(X, y, qid)
        assert 0 < len(fitted.support_) <= budget
        # Rounds go as a whole.
        assert len(fitted.support_) == len(fitted.born_) == len(fitted.gains_)


def test_an_adversary_that_always_finds_a_mistake() -> None:
    # Of orthogonal documents a budget of B forgets one before it comes again: mistakes for ever.
    B = 10
    X, y = np.tile(np.eye(B + 1), (30, 1)), np.tile(np.arange(B + 1) % 2, 30)
    model = MulticlassPerceptron(kernel="linear", fit_intercept=False, budget=B, **PLAIN)
    u = np.where(np.arange(B + 1) % 2 == 0, 1.0, -1.0)
    bound = model.bound(DualComparator(np.eye(B + 1), np.c_[u, -u]), X, y)
    assert bound.terms["loss"] == len(y) <= bound.value
    assert bound.terms["S"] > 1
    assert bound.terms["G"] == 2  # 2 R^2
    # One more document in the budget, and each is a mistake once.
    model.set_params(budget=B + 1).fit(X, y)
    assert model.n_updates_ == B + 1
    # Adaptive: of a pool always the row that is worst.
    rng = np.random.default_rng(3)
    pool, U = rng.normal(size=(40, 3)), np.eye(3)
    labels = (pool @ U.T).argmax(axis=1)
    log = rw.online.GuaranteeLog(DualComparator(np.eye(3), U))
    model = MulticlassPerceptron(
        kernel="linear", fit_intercept=False, classes=[0, 1, 2], budget=5, **PLAIN
    )
    row = 0
    for _ in range(200):
        log.partial_fit(model, pool[[row]], labels[[row]])
        scores = model.decision_function(pool)
        own = scores[np.arange(40), labels]
        scores[np.arange(40), labels] = -np.inf
        row = int(np.argmin(own - scores.max(axis=1)))
    assert all(entry.ratio <= ROUNDING for entry in log.entries)
    assert len(model.support_) == 5


def test_pieces_files_and_kernels_give_the_same(tmp_path: Any) -> None:
    rng = np.random.default_rng(4)
    X, y, _ = random_rows(rng, 150, 3, 3)
    for kernel in ("rbf", "poly"):
        model = MulticlassPerceptron(
            kernel=kernel, fit_intercept=False, classes=[0, 1, 2], budget=12, **PLAIN
        )
        whole = model.fit(X, y)
        parts = MulticlassPerceptron(
            kernel=kernel, fit_intercept=False, classes=[0, 1, 2], budget=12, **PLAIN
        )
        for rows in np.array_split(np.arange(150), 7):
            parts.partial_fit(X[rows], y[rows])
            rw.save(parts, tmp_path / "model.rw")
            parts = rw.load(tmp_path / "model.rw")
        np.testing.assert_array_equal(parts.dual_coef_, whole.dual_coef_)
        np.testing.assert_array_equal(parts.forgotten_, whole.forgotten_)
        np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    gram = X @ X.T
    plain = MulticlassPerceptron(
        kernel="linear", fit_intercept=False, budget=12, **{**PLAIN, "n_epochs": 3}
    )
    known = MulticlassPerceptron(
        kernel="precomputed", fit_intercept=False, budget=12, **{**PLAIN, "n_epochs": 3}
    )
    plain.fit(X, y)
    known.set_params(standardize=None).fit(gram, y)
    np.testing.assert_allclose(known.dual_coef_, plain.dual_coef_, atol=1e-9)
    np.testing.assert_allclose(X[known.support_], plain.support_)


def test_rows_of_a_precomputed_kernel_in_any_order() -> None:
    rng = np.random.default_rng(5)
    qid = rng.permutation(np.repeat(np.arange(20), 4))
    X = rng.normal(size=(80, 3))
    y = np.digitize(X @ [1.0, -1.0, 0.5], [-1, 0, 1])
    options = {**PLAIN, "n_epochs": 3}
    plain = SLAMPerceptron(kernel="linear", budget=20, **options).fit(X, y, qid)
    options["standardize"] = None
    known = SLAMPerceptron(kernel="precomputed", budget=20, **options).fit(X @ X.T, y, qid)
    assert plain.forgotten_[0] > 0
    np.testing.assert_allclose(X[known.support_], plain.support_)
    np.testing.assert_allclose(known.dual_coef_, plain.dual_coef_, atol=1e-9)


def _negative(X: Any, Z: Any) -> Any:
    return -(X @ Z.T)


def test_the_bound_of_prototypes_that_do_not_separate() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    model = MulticlassPerceptron.paper(kernel="rbf", budget=20)
    u = MulticlassPerceptron(kernel="rbf", **PLAIN).fit(X, y)
    guarantee = model.bound(u, X, y)
    assert guarantee.name == "Budget"
    assert 0 < guarantee.terms["loss"] <= guarantee.value < np.inf
    assert guarantee.terms["l(u)"] > 0


def test_what_has_no_theorem_is_refused() -> None:
    X, y, _ = random_rows(np.random.default_rng(6), 20, 3, 3)
    for model, message in (
        (PRank(kernel="rbf", budget=5), "budget must be None: the thresholds of PRank"),
        (WidrowHoff(kernel="rbf", budget=5), "budget must be None: Widrow-Hoff moves in every"),
        (MulticlassPerceptron(budget=5), "budget needs a kernel"),
        (
            MulticlassPerceptron(kernel="rbf", budget=cast(Any, 2.5)),
            "budget must be a positive integer or None",
        ),
        (MulticlassPerceptron(kernel="rbf", budget=5, variant="voted"), "needs variant='last'"),
        (MulticlassPerceptron(kernel="poly", coef0=-2.0, budget=5), "a budget needs coef0 >= 0"),
        (MulticlassPerceptron(kernel=_negative, budget=5), "positive semi-definite and finite"),
        (Predtron(Multiclass(3), "augmented", kernel="rbf", budget=5), "also moves weights"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
    qid = np.zeros(20, dtype=int)
    with pytest.raises(ValueError, match=r"budget must be at least the [0-9]+ documents of one"):
        PredtronRanker(kernel="rbf", budget=1, **PLAIN).fit(X, y, qid)
    weights = np.arange(1.0, 21.0)
    with pytest.raises(ValueError, match="a budget has no bound with weights"):
        PredtronRanker(kernel="rbf", budget=30, **PLAIN).fit(X, y, qid, sample_weight=weights)
    labels = np.c_[y == 0, y == 1].astype(int)
    sets = PredtronMultilabel(kernel="rbf", budget=4, **PLAIN).fit(X, labels)
    assert len(sets.support_) <= 4


def test_the_formulas() -> None:
    assert budget_bound(2.0, 4.0, 0.5, 3.0).value == 2 * 16 * 1.5 + 12
    found = budget_theorem(1.0, 1.0, 100, 2.0, max_docs=5, smallest_gain=0.5)
    assert found.value == pytest.approx(10 / (1 - np.log(420) / 10))
    assert budget_theorem(10.0, 1.0, 100).value == np.inf
    assert budget_bound(np.inf, 0.0, 1.0).value == np.inf
    for name, value in (("max_docs", -5), ("budget", 2.5)):
        with pytest.raises(ValueError, match=f"^{name} must be a positive integer, but is {value}"):
            budget_theorem(1.0, 1.0, **cast("Any", {"budget": 10, name: value}))
    assert budget_theorem(1.0, 1.0, 4, max_docs=5).value == np.inf
