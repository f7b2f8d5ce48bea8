"""Every problem, against the enumeration of all its predictions."""

from __future__ import annotations

import inspect
import math
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import rankwright.problems as package
from rankwright.problems import (
    Binary,
    Finite,
    Multiclass,
    Multilabel,
    Ordinal,
    Problem,
    Ranking,
    surrogate,
)
from rankwright.theory import predtron_margin
from tests.reference import problems as reference
from tests.reference.problems import Enumerated, Floats

N_CASES = 60  # of each problem and size
ROUNDING = 1e-10

REPRESENTATIONS: dict[str, tuple[Any, Callable[[int], float]]] = {
    "-i": ("-i", lambda i: -i),
    "-i^1.1": ("-i^1.1", lambda i: -(i**1.1)),
    "-i^2": ("-i^2", lambda i: -(i**2)),
    "1/i": ("1/i", lambda i: 1 / i),
    "dcg": ("dcg", lambda i: 1 / math.log2(1 + i)),
    "callable": (lambda ranks: 3 - np.exp(0.3 * ranks), lambda i: 3 - math.exp(0.3 * i)),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, its enumeration and its labels."""

    problem: Problem
    twin: Enumerated
    d: int
    draw_label: Callable[[np.random.Generator], Any]
    as_twin: Callable[[Any], Any] = lambda sigma: sigma  # predictions and labels of the twin


def as_tuple(sigma: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(sigma).tolist())


def draw_labels(m: int, grades: int) -> Callable[[np.random.Generator], Floats]:
    return lambda rng: rng.integers(0, grades, m).astype(np.float64)


def make_cases() -> Iterator[tuple[str, Case]]:
    for alpha in ((1.0, 1.0), (3.0, 0.5)):
        yield (
            f"binary {alpha}",
            Case(Binary(alpha), reference.binary(alpha), 1, lambda rng: int(rng.integers(2))),
        )
    for k in (2, 3, 5):
        matrix = np.random.default_rng(k).uniform(0.2, 2, (k, k)) * (1 - np.eye(k))
        costs = np.random.default_rng(k).uniform(0.1, 0.9, k)

        def draw(rng: np.random.Generator, k: int = k) -> int:
            return int(rng.integers(k))

        zero_one = 1 - np.eye(k)
        distance = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
        yield f"multiclass {k}", Case(Multiclass(k), reference.multiclass(zero_one), k, draw)
        yield f"costs {k}", Case(Multiclass(k, matrix), reference.multiclass(matrix), k, draw)
        yield (
            f"reject {k}",
            Case(
                Multiclass(k, matrix, reject=costs),
                reference.multiclass(matrix, costs.tolist()),
                k,
                draw,
            ),
        )
        yield f"ordinal {k}", Case(Ordinal(k), reference.multiclass(distance), k, draw)
    for m in (1, 2, 3, 5):
        for loss in ("hamming", "subset", "error_set"):
            yield (
                f"{loss} {m}",
                Case(
                    Multilabel(m, loss),
                    reference.multilabel(m, loss),
                    m,
                    draw_labels(m, 2),
                    as_tuple,
                ),
            )
    for m in (1, 2, 4, 5):
        for name, (given, f) in REPRESENTATIONS.items():
            for loss, cutoff in (("ndcg", None), ("precision@2", 2)):
                for grades in (2, 4):
                    yield (
                        f"{loss} {name} {m} {grades}",
                        Case(
                            Ranking(loss, given),
                            reference.ranking(m, f, cutoff),
                            m,
                            draw_labels(m, grades),
                            as_tuple,
                        ),
                    )


CASES = dict(make_cases())
every_case = pytest.mark.parametrize("name", CASES)


def draws(case: Case, n: int = N_CASES) -> Iterator[tuple[Floats, Any]]:
    """Yield scores of several sizes, with ties, and labels."""
    rng = np.random.default_rng(0)
    for i in range(n):
        scale = (1.0, 0.1, 5.0)[i % 3]
        t = rng.normal(0, scale, case.d)
        if i % 2:
            t = np.round(2 * t) / 2
        yield t, case.draw_label(rng)


@every_case
def test_predictions_and_losses_are_those_of_the_enumeration(name: str) -> None:
    case = CASES[name]
    for t, y in draws(case):
        label = case.as_twin(y)
        similarity, losses = case.twin.similarity(t), case.twin.losses(label)
        best = similarity >= similarity.max() - 1e-12
        plain = case.twin.predictions.index(case.as_twin(case.problem.predict(t)))
        assert best[plain]
        # With the label, the worst of the best.
        worst = case.problem.predict(t, y)
        at = case.twin.predictions.index(case.as_twin(worst))
        assert best[at]
        assert losses[at] == pytest.approx(losses[best].max(), abs=ROUNDING)
        assert case.problem.loss(worst, y) == pytest.approx(losses[at], abs=ROUNDING)
        np.testing.assert_allclose(case.problem.represent(worst), case.twin.vectors[at], atol=1e-14)
        assert np.linalg.norm(case.problem.represent(worst)) == pytest.approx(1)


@every_case
def test_augmented_predictions_are_optimal(name: str) -> None:
    case = CASES[name]
    for t, y in draws(case):
        values = case.twin.losses(case.as_twin(y)) + case.twin.similarity(t)
        at = case.twin.predictions.index(case.as_twin(case.problem.augmented(t, y)))
        assert values[at] == pytest.approx(values.max(), abs=ROUNDING)


@every_case
def test_surrogates_are_those_of_the_enumeration_and_bound_the_loss(name: str) -> None:
    case = CASES[name]
    for t, y in draws(case, 60):
        label = case.as_twin(y)
        sigma_y = case.as_twin(case.problem.correct(y))
        value = surrogate(case.problem, t, y)
        assert value == pytest.approx(case.twin.surrogate(t, label, sigma_y), abs=ROUNDING)
        assert value >= case.problem.loss(case.problem.predict(t, y), y) - ROUNDING
        # Convex: on or below the chord.
        other = -t[::-1]
        ends = (value + surrogate(case.problem, other, y)) / 2
        assert surrogate(case.problem, (t + other) / 2, y) <= ends + ROUNDING


@every_case
def test_correct_predictions_have_no_loss_and_follow_the_scores(name: str) -> None:
    case = CASES[name]
    for t, y in draws(case, 60):
        assert case.problem.loss(case.problem.correct(y), y) == 0
        chosen = case.as_twin(case.problem.correct(y, t))
        losses, similarity = case.twin.losses(case.as_twin(y)), case.twin.similarity(t)
        at = case.twin.predictions.index(chosen)
        assert losses[at] == 0
        if not name.startswith("error_set"):  # of its many correct sets the label itself is taken
            assert similarity[at] == pytest.approx(similarity[losses == 0].max(), abs=ROUNDING)


@every_case
def test_loss_ranges_are_those_of_the_enumeration(name: str) -> None:
    case = CASES[name]
    rng = np.random.default_rng(3)
    for _ in range(10):
        y = case.draw_label(rng)
        losses = case.twin.losses(case.as_twin(y))
        positive = losses[losses > 1e-12]
        smallest, largest = case.problem.loss_range(y)
        assert largest == pytest.approx(positive.max(initial=0.0))
        if len(positive):
            assert smallest == pytest.approx(positive.min())


@every_case
def test_margins_are_those_of_the_enumeration(name: str) -> None:
    case = CASES[name]
    for t, y in draws(case, 30):
        label = case.as_twin(y)
        margin = predtron_margin(case.problem, t, y)
        weak = case.twin.weak_margin(t, label)
        assert margin.weak == pytest.approx(weak, abs=ROUNDING)
        if abs(weak) > 1e-9:
            assert margin.compatible == case.twin.compatible(t, label)


@every_case
def test_a_representation_predicts_itself(name: str) -> None:
    case = CASES[name]
    for sigma, vector in zip(case.twin.predictions, case.twin.vectors, strict=True):
        assert case.as_twin(case.problem.predict(vector)) == sigma


# One of each kind and loss; their sizes are in the labels. A lambda does not pickle.
PICKLED = ["binary (3.0, 0.5)", "multiclass 3", "costs 3", "reject 3", "ordinal 3"]
PICKLED += ["hamming 3", "subset 3", "error_set 3"]
PICKLED += [f"{loss} {f} 4 4" for loss in ("ndcg", "precision@2") for f in ("-i", "-i^1.1", "dcg")]


@pytest.mark.parametrize("name", PICKLED)
def test_pickles(name: str) -> None:
    case = CASES[name]
    copy = pickle.loads(pickle.dumps(case.problem))
    for t, y in draws(case, 3):
        assert case.as_twin(copy.augmented(t, y)) == case.as_twin(case.problem.augmented(t, y))


def test_every_problem_is_tested() -> None:
    kinds = {v for v in vars(package).values() if inspect.isclass(v)}
    tested = {type(case.problem) for case in CASES.values()}
    assert kinds - tested == {Problem, Finite}


@pytest.mark.parametrize("name", REPRESENTATIONS)
@pytest.mark.parametrize("loss", ["ndcg", "precision@5"])
def test_every_route_agrees_with_an_assignment_solver(name: str, loss: str) -> None:
    problem = Ranking(loss, REPRESENTATIONS[name][0])
    rng = np.random.default_rng(1)
    for i in range(120):
        m, grades = int(rng.integers(1, 40)), int(rng.integers(1, 6))
        y = rng.integers(0, grades, m).astype(np.float64)
        t = rng.normal(0, (0.01, 1, 30)[i % 3], m)
        if i % 4 == 0:
            t = np.round(t)
        f, D, G = problem.f(m), problem.discounts(m), problem.encode(y)
        best = np.sort(G)[::-1] @ D
        cost = np.outer(t, f / np.linalg.norm(f)) - np.outer(G, D) / (best or 1)
        optimum = cost[linear_sum_assignment(cost, maximize=True)].sum()
        tried = 0
        for route in ("auto", "sort", "pool", "rows", "assign"):
            try:
                ranks = problem.augmented_by(t, y, route)
            except ValueError:
                assert route not in ("auto", "assign", problem.route(y))
                continue
            tried += 1
            assert sorted(ranks) == list(range(1, m + 1))
            value = cost[np.arange(m), ranks - 1].sum()
            assert value == pytest.approx(optimum, abs=1e-9 * (1 + abs(optimum)))
        assert tried >= 2


def test_routes_are_chosen_by_labels_and_representation() -> None:
    two, many = [1, 0, 0, 1, 0], [2, 1, 0, 3, 0]
    assert Ranking(representation="dcg").route(many) == "sort"
    assert Ranking().route([1, 1, 1]) == "sort"
    assert Ranking(representation="-i").route(two) == "pool"
    assert Ranking("precision@2", "-i").route(two) == "rows"  # the discount is not convex
    assert Ranking(representation="-i^2").route(two) == "rows"
    assert Ranking(representation="-i").route(many) == "assign"
    shifted = Ranking(representation=lambda ranks: 5 / np.log2(1 + ranks) - 2)
    assert shifted.route(many) == "sort"  # 5 D - 2 is seen to be the discount


def test_long_queries() -> None:
    rng = np.random.default_rng(0)
    m = 100_000
    t = rng.normal(size=m)
    for representation, grades, route in (("dcg", 5, "sort"), ("-i", 2, "pool")):
        problem = Ranking(representation=representation)
        y = rng.integers(0, grades, m).astype(np.float64)
        assert problem.route(y) == route
        assert sorted(problem.augmented(t, y)) == list(range(1, m + 1))
    with pytest.raises(ValueError, match="needs representation 'dcg' or '-i', or mode"):
        Ranking(representation="-i^2").augmented(t, y)


def test_a_cost_matrix_that_is_not_monge() -> None:
    # The natural orders miss the optimum here (Improvements 4).
    t, y = np.array([0.058, -0.268, -0.382, -0.508]), np.array([0.0, 2, 2, 0])
    twin = reference.ranking(4, lambda i: -i)
    values = twin.losses(tuple(y)) + twin.similarity(t)
    best = Ranking(representation="-i").augmented(t, y)
    assert values[twin.predictions.index(tuple(best.tolist()))] == pytest.approx(values.max())


@pytest.mark.parametrize("k", [2, 3, 6])
def test_rejecting_by_the_surrogate_keeps_the_surrogate_a_bound(k: int) -> None:
    rng = np.random.default_rng(k)
    matrix = rng.uniform(0.2, 2, (k, k)) * (1 - np.eye(k))
    costs = rng.uniform(0.05, 0.6, k)
    problem = Multiclass(k, matrix, reject=costs, rule="surrogate")
    n_rejected = 0
    for _ in range(500):
        t = rng.normal(0, 0.5, k)
        phi = [max(matrix[s, y] + t[s] for s in range(k)) - t[y] for y in range(k)]
        sigma = problem.predict(t)
        assert sigma == (-1 if all(costs <= phi) else int(t.argmax()))
        n_rejected += sigma == -1
        for y in range(k):
            assert problem.loss(sigma, y) <= surrogate(problem, t, y) + ROUNDING
            assert surrogate(problem, t, y) == pytest.approx(phi[y])
    assert 0 < n_rejected < 500


def test_rejecting_by_the_surrogate_looks_at_the_gap() -> None:
    problem = Multiclass(3, reject=0.3, rule="surrogate")
    assert problem.predict([2.0, 1.31, 0.0]) == -1  # 0.69 < 1 - 0.3
    assert problem.predict([2.0, 1.29, 0.0]) == 0
