"""Bounds in kernel form: those of explicit features, and true on every stream."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from rankwright.online import (
    DualComparator,
    GuaranteeLog,
    MulticlassPerceptron,
    PRank,
    SLAMPerceptron,
    WidrowHoff,
)
from rankwright.predtron import (
    Predtron,
    PredtronClassifier,
    PredtronLabelRanker,
    PredtronMultilabel,
    PredtronOrdinal,
    PredtronRanker,
)
from rankwright.problems import Multiclass

ROUNDING = 1 + 1e-9
PLAIN: Any = {"n_epochs": 2, "shuffle": True, "standardize": False}
K = 3

# Learner, and how many scores and thresholds its comparator has.
LEARNERS: dict[str, tuple[Any, int, int]] = {
    "prank": (PRank(classes=[0, 1, 2]), 1, 2),
    "prank-voted": (PRank("voted", classes=[0, 1, 2]), 1, 2),
    "slam": (SLAMPerceptron(), 1, 0),
    "slam-paper": (SLAMPerceptron("map", "paper"), 1, 0),
    "slam-printed": (SLAMPerceptron("ndcg@2", "printed", eta=0.1), 1, 0),
    "widrow-hoff": (WidrowHoff(0.005, classes=[0, 1, 2], fit_intercept=False), 1, 0),
    "multiclass": (MulticlassPerceptron(classes=[0, 1, 2], fit_intercept=False), 3, 0),
    "multiclass-max": (
        MulticlassPerceptron("max", classes=[0, 1, 2], fit_intercept=False),
        3,
        0,
    ),
    "classifier": (PredtronClassifier(fit_intercept=False), 3, 0),
    "augmented": (PredtronClassifier(mode="augmented", fit_intercept=False, eta=0.01), 3, 0),
    "reject": (PredtronClassifier(reject=0.3, fit_intercept=False, eta=0.01), 3, 0),
    "ordinal": (PredtronOrdinal("loss_driven", fit_intercept=False), 3, 0),
    "sets": (PredtronMultilabel(fit_intercept=False), 2, 0),
    "label-ranker": (PredtronLabelRanker(fit_intercept=False), 2, 0),
    "ranker": (PredtronRanker(), 1, 0),
    "own": (Predtron(Multiclass(3)), 3, 0),
}


def stream(rng: np.random.Generator, name: str, n: int = 40) -> tuple[Any, ...]:
    """Return X, y, and qid for rankers."""
    X = rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-1, 1)
    s = X @ rng.normal(size=(2, 3)) + rng.normal(size=(n, 3)) * np.abs(X).mean() / 4
    y = s.argmax(axis=1)
    y[:3] = [0, 1, 2]
    if name in ("sets", "label-ranker"):
        return X, (s[:, :2] > 0).astype(int)
    if name in ("slam", "slam-paper", "slam-printed", "ranker"):
        return X, y, np.repeat(np.arange(n // 4), 4)
    return X, y


def squares(X: Any) -> Any:
    """Return the features of (x . z + 1)^2."""
    pairs = [np.sqrt(2 - (i == j)) * X[:, i] * X[:, j] for i in range(2) for j in range(i, 2)]
    return np.column_stack([np.ones(len(X)), np.sqrt(2) * X, *pairs])


def primal(coef: Any, features: Any, thresholds: Any, name: str) -> Any:
    """Return the comparator as weights of explicit features."""
    weights = coef @ features
    rows = name in ("prank", "prank-voted", "widrow-hoff", "slam", "slam-paper", "slam-printed")
    return np.append(weights[0], thresholds) if rows or name == "ranker" else weights


def coefficients(rng: np.random.Generator, name: str, n: int) -> tuple[Any, Any, Any]:
    """Return coefficients by score and row, thresholds, and both as ``bound`` takes them."""
    _, n_scores, n_thresholds = LEARNERS[name]
    coef, b = rng.normal(size=(n_scores, n)), np.sort(rng.normal(size=n_thresholds))
    return coef, b, (np.append(coef[0], b) if n_scores == 1 else coef)


@pytest.mark.parametrize("name", LEARNERS)
def test_kernels_have_the_bounds_of_their_explicit_features(name: str) -> None:
    rng = np.random.default_rng(0)
    learner, _, _ = LEARNERS[name]
    for _ in range(5):
        X, *rest = stream(rng, name)
        coef, b, u = coefficients(rng, name, len(X))
        for kernel, features in (({"kernel": "linear"}, X), ({"kernel": "poly"}, squares(X))):
            learner.set_params(**PLAIN, **kernel, degree=2, gamma=1.0)
            found = learner.bound(u, X, *rest)
            learner.set_params(kernel=None)
            expected = learner.bound(primal(coef, features, b, name), features, *rest)
            assert found.value == pytest.approx(expected.value, rel=1e-9)
            assert found.terms == pytest.approx(expected.terms, rel=1e-9, abs=1e-9)
            assert found.name == expected.name


@pytest.mark.parametrize("name", LEARNERS)
def test_losses_are_below_the_bounds_of_kernels(name: str) -> None:
    rng = np.random.default_rng(1)
    learner, _, _ = LEARNERS[name]
    said = 0
    for i in range(48):
        X, *rest = stream(rng, name, n=20)
        learner.set_params(**PLAIN, kernel=["rbf", "poly", "linear"][i % 3], degree=2, gamma=0.5)
        _, _, u = coefficients(rng, name, len(X))
        if i % 2:  # one that learned, on another pass
            learner.set_params(n_epochs=20)
            u = clone(learner).fit(X, *rest)
            learner.set_params(**PLAIN)
        bound = learner.bound(u, X, *rest)
        assert bound.terms["loss"] <= bound.value * ROUNDING
        said += bound.value < np.inf
    assert said > 0


def test_precomputed_kernels_have_the_same_bounds() -> None:
    rng = np.random.default_rng(2)
    for name, (learner, _, _) in LEARNERS.items():
        X, *rest = stream(rng, name)
        if len(rest) == 2:  # rows of a query anywhere
            rest[1] = rng.permutation(rest[1])
        coef, b, u = coefficients(rng, name, len(X))
        for intercept in (False, True):
            if "fit_intercept" in learner.get_params() and name != "own":
                learner.set_params(fit_intercept=intercept)
            learner.set_params(**PLAIN, kernel="linear", gamma=None, degree=3)
            expected = learner.bound(u, X, *rest)
            learner.set_params(kernel="precomputed", standardize=None)
            found = learner.bound(u, X @ X.T, *rest)
            some = DualComparator(np.arange(len(X))[::-1], coef.T[::-1], b if len(b) else None)
            again = learner.bound(some, X @ X.T, *rest)
            assert found.terms == pytest.approx(expected.terms, rel=1e-9, abs=1e-9)
            assert again.terms == pytest.approx(expected.terms, rel=1e-9, abs=1e-9)
        if "fit_intercept" in learner.get_params() and name != "own":
            learner.set_params(fit_intercept=False)


def test_scales_and_intercepts() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2)) * [100, 0.01] + [50, -3]
    y = np.digitize((X - X.mean(axis=0)) @ [0.01, 100], [-1, 1])
    # A learner that standardizes sees scaled documents, of the comparator too.
    model = PRank(kernel="rbf", n_epochs=5).fit(X, y)
    u = model.as_comparator()
    bound = PRank(kernel="rbf", n_epochs=1).bound(u, X, y)
    assert bound.terms["loss"] <= bound.value * ROUNDING
    assert PRank(kernel="rbf", n_epochs=1).bound(model, X, y).value == bound.value
    # (sum_i c_i x_i, sum_i c_i) is what coefficients mean with an intercept.
    coef = rng.normal(size=(3, 60))
    weights = np.column_stack([coef @ X, coef.sum(axis=1)])
    options: Any = {**PLAIN, "fit_intercept": True}
    found = PredtronClassifier(kernel="linear", **options).bound(coef, X, y)
    expected = PredtronClassifier(**options).bound(weights, X, y)
    assert found.terms == pytest.approx(expected.terms, rel=1e-9)


@pytest.mark.parametrize("name", [name for name in LEARNERS if not name.startswith("slam-")])
def test_logs_of_streams(name: str) -> None:
    rng = np.random.default_rng(4)
    learner, n_scores, n_thresholds = LEARNERS[name]
    X, *rest = stream(rng, name)
    learner.set_params(**{**PLAIN, "shuffle": False, "n_epochs": 1}, kernel="rbf", gamma=None)
    points, coef = rng.normal(size=(7, 2)), rng.normal(size=(7, n_scores))
    b = np.sort(rng.normal(size=n_thresholds)) if n_thresholds else None
    u = DualComparator(points, coef, b)
    log, model = GuaranteeLog(u), clone(learner)
    more = {"classes": [0, 1, 2]} if isinstance(model, PredtronClassifier | PredtronOrdinal) else {}
    for rows in np.array_split(np.arange(len(X)), 10):
        log.partial_fit(model, X[rows], *(part[rows] for part in rest), **more)
    assert all(entry.ratio <= ROUNDING for entry in log.entries)
    whole = clone(learner).bound(u, X, *rest)
    assert log.entries[-1].loss == pytest.approx(whole.terms["loss"], rel=1e-9)
    assert log.entries[-1].bound == pytest.approx(whole.value, rel=1e-9)
    sparse = clone(learner).bound(u, sp.csr_array(X), *rest)
    assert sparse.value == pytest.approx(whole.value, rel=1e-9)


def test_kernels_that_are_none_have_no_bound() -> None:
    X, y = stream(np.random.default_rng(5), "prank")
    negative = PRank(kernel="poly", degree=2, coef0=-1.0, **PLAIN)
    with pytest.raises(ValueError, match=r"^a bound needs a kernel that is positive semi-definite"):
        negative.bound(clone(negative).fit(X, y), X, y)
    model = PRank(kernel="precomputed", **PLAIN)
    with pytest.raises(ValueError, match=r"the comparator's squared length is -40\.$"):
        model.bound(np.r_[np.ones(40), 0.0, 0.0], -np.eye(40), y)


def test_comparators_that_cannot_be() -> None:
    X, y = stream(np.random.default_rng(5), "prank")
    model = PRank(kernel="rbf", **PLAIN)
    for u, message in (
        (np.ones(7), "a coefficient for each of the 40 rows of X, but has shape"),
        (np.ones(40), "1 coefficients for each document and 2 thresholds, but has 1 and 0"),
        (DualComparator(X[:, :1], np.ones(40), [0, 1]), "^points of the comparator: X has 1 feat"),
        (DualComparator(X * np.nan, np.ones(40), [0, 1]), "^points of the comparator: X must have"),
        (DualComparator([0, 1], np.ones(2), [0, 1]), "columns are for kernel='precomputed'"),
        (None, "^the comparator must be finite numbers, but is None"),
        (PRank(kernel="rbf"), "^This PRank instance is not fitted yet"),
        (PRank(kernel="poly").fit(X, y), "kernel of the learner, .*rbf.* was fitted with .*poly"),
        (PRank(kernel="rbf", gamma=3.0).fit(X, y), "gamma=None.* was fitted with .*gamma=3.0"),
    ):
        with pytest.raises(ValueError, match=message):
            model.bound(u, X, y)
    with pytest.raises(ValueError, match="a comparator in kernel form must be a DualComparator"):
        GuaranteeLog(np.ones(42)).partial_fit(model, X, y)
    with pytest.raises(ValueError, match="only a learner with a kernel is a comparator"):
        model.bound(PRank().fit(X, y), X, y)
    for points in ([0, 40], X):
        u = DualComparator(points, np.ones(len(points)), [0, 1])
        with pytest.raises(ValueError, match="columns of the kernel, whole numbers from 0 to 39"):
            PRank(kernel="precomputed", **PLAIN).bound(u, X @ X.T, y)


def test_kernels_with_the_same_values_are_the_same() -> None:
    X, y = stream(np.random.default_rng(5), "prank")
    u = PRank(kernel="rbf", degree=5, **PLAIN).fit(X, y)  # a degree means nothing here
    named = PRank(kernel="rbf", gamma=1 / X.shape[1], **PLAIN).bound(u, X, y)
    assert named.value == PRank(kernel="rbf", **PLAIN).bound(u, X, y).value
    # An intercept is that of the learner.
    other = MulticlassPerceptron(kernel="rbf", fit_intercept=True).fit(X, y)
    once = MulticlassPerceptron(kernel="rbf", fit_intercept=False, **PLAIN)
    assert once.bound(other, X, y).value == once.bound(other.as_comparator(), X, y).value


@pytest.mark.parametrize(
    ("points", "coef", "message"),
    [
        (np.ones((5, 2)), np.ones(4), "^coef must have a row for each of the 5 points, and a col"),
        (np.ones((5, 2)), np.ones((2, 5)), r"for each of the 5 points.*has shape \(2, 5\)"),
        (np.ones((5, 2)), np.full(5, np.nan), "^coef must be finite numbers, but has NaN"),
        (np.ones((5, 2)), "ones", "^coef must be finite numbers, but is a str"),
        (np.ones(5), np.ones(5), r"^points must be documents, a row .*have shape \(5,\)"),
    ],
)
def test_sums_that_cannot_be(points: Any, coef: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DualComparator(points, coef)


@pytest.mark.parametrize("name", LEARNERS)
def test_comparators_that_are_no_weights(name: str) -> None:
    X, *rest = stream(np.random.default_rng(5), name)
    learner = clone(LEARNERS[name][0]).set_params(kernel=None)
    dual = DualComparator(X, np.ones(len(X)))
    for u, found in (
        (None, "is None"),
        (dual, "is a DualComparator"),
        (clone(learner), f"is a {type(learner).__name__}"),
        (np.full(X.shape[1], np.nan), "has NaN or infinity"),
    ):
        with pytest.raises(ValueError, match=f"^the comparator must be finite .*, but {found}"):
            learner.bound(u, X, *rest)


def test_kernels_that_return_what_cannot_be() -> None:
    X, y = stream(np.random.default_rng(5), "prank")
    for value, found in ((np.full((40, 40), np.nan), "nan, which is not"), (X, r"shape \(40, ")):
        with pytest.raises(ValueError, match=rf"values of shape \(40, 40\), but returned {found}"):
            PRank(kernel=functools.partial(lambda found, a, b: found, value)).fit(X, y)


def test_blocks_of_documents_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = stream(np.random.default_rng(5), "widrow-hoff")
    model = clone(LEARNERS["widrow-hoff"][0]).set_params(kernel="rbf", **PLAIN)
    u = np.random.default_rng(6).normal(size=len(X))
    whole = model.bound(u, X, y)
    monkeypatch.setattr("rankwright.online.comparator.BLOCK", 7)
    in_blocks = model.bound(u, X, y)
    assert in_blocks.value == pytest.approx(whole.value)
    assert in_blocks.terms == pytest.approx(whole.terms)


def test_a_comparator_that_is_nothing_has_no_length() -> None:
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    model = WidrowHoff(0.005, classes=[0, 1, 2], fit_intercept=False, kernel="linear", **PLAIN)
    for _ in range(20):  # a x - (a / b) (b x), but for rounding, which may be below 0
        x, (a, b) = rng.normal(size=3), rng.normal(size=2)
        nothing = DualComparator(np.array([x, b * x]), [a, -a / b])
        assert model.bound(nothing, X, y).terms["|u|"] == pytest.approx(0, abs=1e-6)
