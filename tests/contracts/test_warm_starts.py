"""Bounds of rounds that begin with any weights; logs that stop and go on; streams cut anywhere."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.online import DualComparator, GuaranteeLog, OnlineLearner
from rankwright.online.ledger import Ledger
from rankwright.theory import WarmStart, predtron_warm_bound, warm_perceptron_bound
from tests.reference import warm as reference
from tests.reference.online import Floats

ROUNDING = 1 + 1e-9
SIZES = st.floats(0, 1e4) | st.floats(0, 1e-3)


# --- formulas ----------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(0, 2**32), SIZES, SIZES, st.sampled_from([0.0, 1e-3, 1.0, 1e3]))
def test_the_bound_is_the_largest_sum_that_the_proof_allows(
    seed: int, growth: float, charge: float, size: float
) -> None:
    rng = np.random.default_rng(seed)
    u, w = rng.normal(size=3), size * rng.normal(size=3)
    if seed % 3 == 0:
        w = size * u
    start = WarmStart.between(w, u)
    bound = warm_perceptron_bound(float(np.linalg.norm(u)), growth, charge, start)
    expected = reference.largest_sum(u, w, growth, charge)
    # The twin takes differences of products, and loses what is below their rounding.
    assert bound.value == pytest.approx(expected, rel=1e-6, abs=1e-6 * (1 + size + growth))
    assert start.distance(float(np.linalg.norm(u))) == pytest.approx(
        float(np.linalg.norm(u - w)), rel=1e-6, abs=1e-6 * size
    )


@given(SIZES, SIZES, SIZES)
def test_from_weights_0_it_is_no_looser(u: float, growth: float, charge: float) -> None:
    bound = warm_perceptron_bound(u, growth, charge)
    assert bound.value <= (growth * u**2 + 2 * charge) * ROUNDING
    assert warm_perceptron_bound(u, growth).value == pytest.approx(growth * u**2)
    if u > 1e-6:  # PRank's, which has the same root
        known = rw.theory.prank_bound(1 / u, math.sqrt(growth), 2, charge / u)
        c = growth + 1
        assert warm_perceptron_bound(u, c, charge).value == pytest.approx(known.value, rel=1e-9)


def test_starts_by_hand() -> None:
    w, u = np.array([3.0, 0.0]), np.array([0.0, 4.0])
    start = WarmStart.between(w, u)
    found = start.length, start.gap, start.distance(4.0)
    assert found == pytest.approx((3.0, 12.0, 5.0))
    assert WarmStart.between(2 * u, u).gap == 0
    assert WarmStart.between(-u, u).gap == pytest.approx(32)
    assert (start.over(2.0).length, start.against(3.0).gap) == pytest.approx((1.5, 36.0))
    assert WarmStart.between(0 * u, u).is_cold
    # N <= e + h + sqrt(h^2 + 2 B e) with e = 5 + 12, B = 2 x 16 / 2, h = 16 - 4 x 3
    by_hand = 17 + 4 + math.sqrt(16 + 2 * 16 * 17)
    assert warm_perceptron_bound(4.0, 2.0, 5.0, start).value == pytest.approx(by_hand)
    # Long weights that u has as well: what u loses, and little more.
    long = WarmStart(1e9)
    assert warm_perceptron_bound(1.0, 4.0, 5.0, long).value == pytest.approx(5, rel=1e-8)
    assert warm_perceptron_bound(1.0, 4.0, 0.0, long).value == 0
    assert warm_perceptron_bound(math.inf, 4.0).value == math.inf
    with pytest.raises(ValueError, match="gap must be a number >= 0, but is -1"):
        WarmStart(1.0, -1.0)
    # Predtron, augmented: (7 + |U - W|^2/(2 eta)) / (1 - 2 eta R^2/c_L), |U - W|^2 = 25
    given = predtron_warm_bound("augmented", 4.0, 1.0, 1.0, 1.0, 7.0, start, eta=0.25)
    potential = (7 + 25 / 0.5) / 0.5
    # and M from U, in steps: e = 7 + 48, B = 4 x 16 / 2, h = 32 - 4 x 12
    mistakes = 55 - 16 + math.sqrt(16**2 + 2 * 32 * 55)
    assert given.value == pytest.approx(min(potential, mistakes))
    # c_L = 1/2, C_L = 3, a step too long for the potential: M against 2 U, in steps, C_L each:
    # e = 14 + 24, G = 4 + 2 x 2.5, B = 9 x 64 / 2, h = B - 8 x 3.
    given = predtron_warm_bound("augmented", 4.0, 1.0, 0.5, 3.0, 7.0, start, eta=1.0)
    by_hand = 3 * (38 + 264 + math.sqrt(264**2 + 2 * 288 * 38))
    assert given.value == pytest.approx(by_hand)


# --- learners ----------------------------------------------------------------------------------


def stream(kind: str, n: int, seed: int) -> tuple[Floats, Any, Any]:
    """Return rows, labels of a kind with noise, and queries of four rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * n, 5))
    s = X @ [1.0, -1.0, 0.5, 0.0, 2.0] + 0.7 * rng.normal(size=4 * n)
    y: Any = np.digitize(s, [-1.0, 1.0])
    if kind == "labels":
        y = (X[:, :3] + rng.normal(size=(4 * n, 3)) > 0).astype(int)
    return X, y, np.repeat(np.arange(n), 4) + 1000 * seed


def of_class(name: str, **options: Any) -> Any:
    return getattr(rw, name)(**options)


def learners() -> Iterator[tuple[str, Any, str]]:
    """Return learners of all classes with a guarantee, with the kind of their data."""
    for update in ("misordered", "paper", "printed"):
        told = {"radius": 8.0, "max_docs": 4, "v_max": 8.0} if update == "paper" else {}
        for variant in ("last", "averaged", "voted"):
            options: dict[str, Any] = {"update": update, "variant": variant, **told}
            yield f"slam-{update}-{variant}", of_class("SLAMPerceptron", **options), "queries"
    for schedule in ("constant", "sqrt", "inverse"):
        options = {"loss": "listnet", "eta": 0.05, "schedule": schedule}
        yield f"online-{schedule}", of_class("OnlineRanker", **options), "queries"
    for variant in ("last", "averaged", "voted"):
        options = {"variant": variant, "classes": [0, 1, 2]}
        yield f"prank-{variant}", of_class("PRank", threshold_step=4.0, **options), "rows"
        yield f"multiclass-{variant}", of_class("MulticlassPerceptron", **options), "rows"
    yield "widrow-hoff", of_class("WidrowHoff", eta=0.01, classes=[0, 1, 2]), "rows"
    for mode in ("augmented", "predicted", "loss_driven"):
        for norm in ("l2", "l1", "group", "trace"):
            options = {"mode": mode, "norm": norm}
            if mode == "augmented":
                options["eta"] = 0.02
            yield f"ordinal-{mode}-{norm}", of_class("PredtronOrdinal", **options), "classes"
            yield f"multilabel-{mode}-{norm}", of_class("PredtronMultilabel", **options), "labels"
            yield f"labels-{mode}-{norm}", of_class("PredtronLabelRanker", **options), "labels"
            yield f"ranker-{mode}-{norm}", of_class("PredtronRanker", **options), "queries"
    rbf = {"kernel": "rbf", "gamma": 0.3}
    yield "slam-rbf", of_class("SLAMPerceptron", **rbf), "queries"
    yield "prank-rbf", of_class("PRank", classes=[0, 1, 2], threshold_step=4.0, **rbf), "rows"
    yield "multiclass-rbf", of_class("MulticlassPerceptron", classes=[0, 1, 2], **rbf), "rows"
    yield "widrow-rbf", of_class("WidrowHoff", eta=0.1, classes=[0, 1, 2], **rbf), "rows"
    yield "ranker-rbf", of_class("PredtronRanker", **rbf), "queries"
    yield "pamir", of_class("PAMIR"), "queries"


LEARNERS = {name: (learner, kind) for name, learner, kind in learners()}
WITH_BOUND = [name for name in LEARNERS if name != "pamir"]


def begun(name: str, scaled: bool = True, n: int = 15) -> tuple[Any, str]:
    """Return a learner that has seen something, and the kind of its data."""
    learner, kind = copy.deepcopy(LEARNERS[name])
    learner.set_params(standardize=np.array([1.0, 2.0, 0.5, 1.0, 1.0]) if scaled else False)
    X, y, qid = stream(kind, n, seed=0)
    options = {"classes": [0, 1, 2]} if kind == "classes" else {}
    ids = {"qid": qid} if kind == "queries" else {}
    return learner.partial_fit(X, y, **ids, **options), kind


def pieces(kind: str, sizes: list[int], seed: int = 1) -> Iterator[tuple[Any, Any, Any]]:
    """Yield pieces of a stream of as many queries."""
    X, y, qid = stream(kind, sum(sizes), seed)
    for begin, end in zip(np.cumsum([0, *sizes[:-1]]), np.cumsum(sizes), strict=True):
        part = slice(4 * int(begin), 4 * int(end))
        yield X[part], y[part], qid[part] if kind == "queries" else None


def play(log: GuaranteeLog, learner: Any, data: Iterator[tuple[Any, Any, Any]]) -> GuaranteeLog:
    for X, y, qid in data:
        log.partial_fit(learner, X, y, qid)
    return log


@pytest.mark.parametrize("name", WITH_BOUND)
def test_bounds_from_trained_and_random_starts(name: str) -> None:
    largest = 0.0
    for seed in range(6):
        learner, kind = begun(name, scaled=seed % 2 == 0, n=5 + 10 * (seed % 3))
        own = learner.as_comparator()
        if seed >= 3 and not isinstance(own, DualComparator):  # something else
            rng = np.random.default_rng(seed)
            own = 10.0 ** rng.uniform(-1, 1) * (own + rng.normal(size=own.shape))
        before = learner.cumulative_loss_, learner.n_rounds_
        log = play(GuaranteeLog(own), learner, pieces(kind, [1, 3, 8, 20], seed + 1))
        assert all(entry.loss <= entry.bound * ROUNDING for entry in log.entries)
        assert log.entries[-1].n_rounds == learner.n_rounds_ - before[1]
        if "loss" in log.guarantee.quantity:  # of these rounds alone
            since = learner.cumulative_loss_ - before[0]
            assert log.entries[-1].loss == pytest.approx(since, rel=1e-9)
        assert "warm start" in log.guarantee.name or name.startswith("online")
        largest = max(largest, log.entries[-1].ratio)
    assert largest > 1e-4


@pytest.mark.parametrize("name", WITH_BOUND)
def test_from_nothing_all_is_as_it_was(name: str) -> None:
    """A start at weights 0 is no start, wherever the log begins."""
    learner, kind = begun(name, n=2)
    u = learner.as_comparator()
    fresh, _ = copy.deepcopy(LEARNERS[name])
    fresh.set_params(standardize=learner.get_params()["standardize"])
    X, y, qid = next(pieces(kind, [9]))
    classes = {"classes": [0, 1, 2]} if kind == "classes" else {}
    log = GuaranteeLog(u)
    log.partial_fit(fresh, X, y, qid, **classes)
    assert log._ledger.start.is_cold
    assert "warm" not in log.guarantee.name


def test_slam_by_its_twin() -> None:
    for update, eta in (("misordered", 1.0), ("misordered", 0.25), ("printed", 0.001)):
        learner = rw.SLAMPerceptron("map-uniform", update, eta=eta)
        X, y, qid = stream("queries", 12, 3)
        y = (y > 1).astype(float)
        learner.partial_fit(X, y, qid)
        w = learner.coef_.copy()
        u = np.array([1.0, -1.0, 0.5, 0.0, 2.0])
        X, y, qid = stream("queries", 30, 4)
        y = (y > 1).astype(float)
        log = GuaranteeLog(u)
        log.partial_fit(learner, X, y, qid)
        t = log._ledger.totals
        charge, R = t["comparator"], float(np.linalg.norm(X, axis=1).max())
        assert t["radius"] == pytest.approx(R)
        assert 0 < t["V"] <= 1
        G = 4 * R**2 * t["V"] + (0.0 if update == "misordered" else 2 / eta)
        values = [reference.largest_sum(u, w / eta, G, charge)]
        if update == "printed":
            m, v_max = int(t["max_docs"]), t["v_max"]
            values.append(reference.slam_potential(u, w, charge, R, m, v_max, eta))
        assert t["margin"] <= 0  # else u over its margin would be another
        assert log.guarantee.value == pytest.approx(min(values), rel=1e-6)


def test_widrow_hoff_by_its_twin() -> None:
    learner, kind = begun("widrow-hoff", scaled=False)
    w, u = learner.coef_.copy(), np.array([0.5, -0.5, 0.2, 0.0, 0.7])
    X, y, _ = next(pieces(kind, [20]))
    log = play(GuaranteeLog(u), learner, iter([(X, y, None)]))
    expected = reference.widrow_hoff(u, w, X, y + 1.0, 0.01)
    assert log.guarantee.value == pytest.approx(expected, rel=1e-9)


def test_prank_and_multiclass_by_the_twin() -> None:
    rng = np.random.default_rng(0)
    for name in ("prank-averaged", "multiclass-averaged"):
        learner, kind = begun(name, scaled=False)
        w = learner.iterate_.copy()
        X, y, _ = next(pieces(kind, [10]))
        u = rng.normal(size=len(w))
        shaped = u if name.startswith("prank") else u.reshape(3, 5)
        log = play(GuaranteeLog(shaped), learner, iter([(X, y, None)]))
        R = float(np.linalg.norm(X, axis=1).max())
        if name.startswith("multiclass"):
            scores = X @ shaped.T
            own = scores[np.arange(40), y].copy()
            scores[np.arange(40), y] = -np.inf
            hinges = np.maximum(0, 1 - own + scores.max(axis=1)).sum()
            expected = reference.largest_sum(u, w, 2 * R**2, hinges)
        else:  # thresholds move by 4: documents over 2, and D of all gammas
            u[:5], w[:5] = 2 * u[:5], w[:5] / 2
            unit, c = u / np.linalg.norm(u), 2 * R**2 / 4 + 1
            t, best = log._ledger.totals, math.inf
            assert t["start"] == pytest.approx(np.linalg.norm(w))
            for gamma, charge in learner._hinges(log._ledger):
                best = min(best, reference.largest_sum(unit / gamma, w, c, charge / gamma))
            expected = best
        assert log.guarantee.value == pytest.approx(expected, rel=1e-6)


def test_rounds_that_are_not_logged_are_found() -> None:
    learner, kind = begun("slam-misordered-last")
    log = GuaranteeLog(learner)
    data = list(pieces(kind, [2, 2, 2]))
    log.partial_fit(learner, *data[0])
    learner.partial_fit(*data[1])
    with pytest.raises(ValueError, match="must have seen the 17 rounds at which this log stopped"):
        log.partial_fit(learner, *data[2])


def test_a_learner_as_comparator_is_what_it_was() -> None:
    for name in ("slam-misordered-averaged", "slam-rbf"):
        learner, kind = begun(name)
        frozen = copy.deepcopy(learner).as_comparator()
        log, other = GuaranteeLog(learner), GuaranteeLog(frozen)
        twin = copy.deepcopy(learner)
        play(log, learner, pieces(kind, [4, 4]))
        play(other, twin, pieces(kind, [4, 4]))
        assert log.guarantee == other.guarantee
        assert log.state() == other.state()


class Wavy:
    convex = False

    def value_and_grad(self, scores: Floats, y: Floats, groups: Any = None) -> tuple[float, Floats]:
        return float(np.sin(scores).sum()) + len(scores), np.cos(scores)


# --- what has no guarantee ---------------------------------------------------------------------


def test_why_there_is_no_guarantee() -> None:
    assert rw.PAMIR().why_no_guarantee() == "PAMIR has no guarantee."
    assert rw.OnlineRanker("xendcg").why_no_guarantee() is None
    assert str(rw.OnlineRanker(Wavy()).why_no_guarantee()).startswith(
        "a guarantee needs a convex loss, but "
    )
    assert rw.WidrowHoff().why_no_guarantee() == "a guarantee needs a fixed step: pass eta."
    assert "coef0 is -1" in str(rw.PRank(kernel="poly", coef0=-1.0).why_no_guarantee())
    budget = rw.SLAMPerceptron(kernel="rbf", budget=40)
    assert budget.why_no_guarantee() is None
    X, y, qid = stream("queries", 5, 0)
    budget.partial_fit(X, y, qid)
    reason = str(budget.why_no_guarantee())
    assert reason.startswith("with a budget a guarantee is about runs from the start: ")
    u = DualComparator(X[:2], np.ones(2))
    with pytest.raises(ValueError, match=r"^with a budget a guarantee is about runs from"):
        GuaranteeLog(u).partial_fit(budget, X, y, qid)


def test_a_refused_learner_has_not_moved() -> None:
    X, y, qid = stream("queries", 5, 0)
    for learner in (rw.OnlineRanker(Wavy()), rw.PAMIR()):
        learner.partial_fit(X, y, qid)
        before = learner.coef_.copy(), learner.n_rounds_
        with pytest.raises((TypeError, ValueError), match="guarantee"):
            GuaranteeLog(learner).partial_fit(learner, X, y, qid)
        assert (learner.coef_ == before[0]).all()
        assert learner.n_rounds_ == before[1]


def test_a_learner_of_ones_own_is_refused_unless_it_says_otherwise() -> None:
    class Own(rw.OnlineRanker):
        any_start = False

    X, y, qid = stream("queries", 5, 0)
    learner = Own("listnet")
    assert learner.why_no_guarantee() is None
    learner.partial_fit(X, y, qid)
    assert learner.why_no_guarantee() == (
        "the guarantee of Own is about runs from the start, but it has begun."
    )
    with pytest.raises(TypeError, match="OnlineLearner has no weights to compare with"):
        OnlineLearner().as_comparator()


# --- logs that stop and go on ------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_BOUND)
def test_a_log_that_stops_goes_on_with_the_same_bits(name: str) -> None:
    learner, kind = begun(name)
    twin, u = copy.deepcopy(learner), learner.as_comparator()
    log, other = GuaranteeLog(u), GuaranteeLog(u, keep_entries=False)
    for X, y, qid in pieces(kind, [1, 4, 2, 6]):
        other = GuaranteeLog.from_state(json.loads(json.dumps(other.state(), allow_nan=False)))
        log.partial_fit(learner, X, y, qid)
        other.partial_fit(twin, X, y, qid)
        assert other.entries == log.entries[-1:]
        assert other.guarantee == log.guarantee
    assert other._ledger.totals == log._ledger.totals
    restored = GuaranteeLog.from_state(log.state())
    assert restored.entries == log.entries
    assert restored.state() == log.state()
    assert str(restored) == str(log)


def test_a_log_without_entries_does_not_grow() -> None:
    learner, kind = begun("prank-last")
    log = GuaranteeLog(learner, keep_entries=False)
    sizes = []
    for X, y, _ in pieces(kind, [1] * 60):
        log.partial_fit(learner, X, y)
        sizes.append(len(log.entries))
    assert set(sizes) == {1}
    assert log.entries[-1].n_rounds == 240


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "must have version 1, but has another"),
        ({"version": None}, "must have version, a whole number, but has another"),
        ({"comparator": {"weights": ["a"]}}, "must have comparator, weights, or points and coef"),
        ({"comparator": 3}, "must have comparator"),
        ({"keep_entries": 1}, "must have keep_entries, true or false, but has another"),
        ({"n_before": -1}, "must have n_before, a number of rounds"),
        ({"n_rounds": 2.0}, "must have n_rounds, a number of rounds"),
        ({"n_rounds": 3}, "its parts do not agree"),
        ({"totals": {"loss": "nan"}}, "must have totals, numbers by name"),
        ({"totals": [1.0]}, "must have totals"),
        ({"entries": [[1, 2.0]]}, "must have entries, rounds, losses and bounds"),
        ({"guarantee": {"name": 1}}, "must have guarantee, a guarantee or null"),
        ({"guarantee": None}, "its parts do not agree"),
    ],
)
def test_states_that_cannot_be(change: dict[str, Any], message: str) -> None:
    learner, kind = begun("slam-misordered-last")
    state = play(GuaranteeLog(learner), learner, pieces(kind, [2])).state()
    with pytest.raises(DataError, match=message) as caught:
        GuaranteeLog.from_state(state | change)
    assert "\n" not in str(caught.value)
    for name in state:
        with pytest.raises(DataError, match=f"must have {name}, .*, but has none"):
            GuaranteeLog.from_state({key: state[key] for key in state if key != name})
    anything: Any = [state]
    with pytest.raises(DataError, match="must be a dict, but is a list"):
        GuaranteeLog.from_state(anything)


def test_states_of_logs_that_have_not_begun() -> None:
    log = GuaranteeLog.from_state(json.loads(json.dumps(GuaranteeLog([1.0, 2.0]).state())))
    assert str(log) == "no rounds yet"
    empty = DualComparator(np.empty((0, 3), dtype=np.float32), np.empty((0, 2)), [1.0])
    u = GuaranteeLog.from_state(json.loads(json.dumps(GuaranteeLog(empty).state()))).comparator
    assert (u.points.shape, u.points.dtype, u.coef.shape) == ((0, 3), np.float32, (0, 2))
    with pytest.raises(ValueError, match="points of its comparator are an array of numbers, but"):
        GuaranteeLog(DualComparator([[1.0]], [1.0])).state()


# --- streams cut anywhere ----------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_bits_do_not_depend_on_the_cut_where_learners_say_so(name: str) -> None:
    learner, kind = begun(name)
    kernel = learner.get_params().get("kernel") is not None
    norm = learner.get_params().get("norm", "l2")
    votes = name == "multiclass-voted"
    assert learner.cut_free == (not kernel and norm == "l2" and not votes and name != "pamir")
    if not learner.cut_free:
        return
    u, found = learner.as_comparator(), []
    for sizes in ([24], [1] * 24, [5, 1, 11, 7]):
        twin, ledger = copy.deepcopy(learner), Ledger(u)
        for X, y, qid in pieces(kind, sizes):
            twin.partial_fit_rounds(X, y, qid, ledger)
        found.append((twin, ledger.totals, twin.guarantee(ledger)))
    for twin, totals, guarantee in found[1:]:
        assert totals == found[0][1]
        assert guarantee == found[0][2]
        for key, value in vars(found[0][0]).items():
            assert np.array_equal(vars(twin)[key], value), key


@pytest.mark.parametrize("kind", ["slam", "prank", "widrow-hoff", "multiclass", "multilabel"])
def test_bits_of_many_features(kind: str) -> None:
    """Long sums round in many ways."""
    learner: Any = {
        "slam": rw.SLAMPerceptron(),
        "prank": rw.PRank(classes=[0, 1, 2]),
        "widrow-hoff": rw.WidrowHoff(eta=0.001, classes=[0, 1, 2]),
        "multiclass": rw.MulticlassPerceptron(classes=[0, 1, 2]),
        "multilabel": rw.PredtronMultilabel(mode="loss_driven"),
    }[kind]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 150)), rng.integers(0, 3, size=120)
    labels: Any = rng.integers(0, 2, size=(120, 3)) if kind == "multilabel" else y
    qid = np.repeat(np.arange(30), 4)
    found = []
    learner.partial_fit(X[::-1], labels[::-1], qid[::-1])
    for n in (4 if kind == "slam" else 1, 120):
        twin, log = copy.deepcopy(learner), GuaranteeLog(learner)
        for begin in range(0, 120, n):
            part = slice(begin, begin + n)
            log.partial_fit(twin, X[part], labels[part], qid[part])
        found.append((log._ledger.totals, log.guarantee))
    assert found[0] == found[1]
