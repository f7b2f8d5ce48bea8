"""Experiments: who gets which query, what the interval promises, and what is answered."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rankwright.serve.records import (
    ArmSums,
    EventLesson,
    ExperimentRecord,
    Kind,
    NewEvent,
    RankingRecord,
)
from rankwright.serve.watching.experiments import arm_of, difference_interval, judge, judged_arm
from tests.reference.experiments import interval
from tests.serving import Caller, Fields, serving, small_model

EXPERIMENT = ExperimentRecord(number=1, name="new", a=1, b=2, share=0.5, begun=1)
Values = NDArray[np.float64]


# ---- arms ----


@pytest.mark.parametrize("share", [0.5, 0.1, 0.9])
def test_b_gets_its_share_of_the_queries(share: float) -> None:
    experiment = ExperimentRecord(7, "x", 1, 2, share, 1)
    n = 20_000
    of_b = sum(arm_of(experiment, f"query {i}") == "b" for i in range(n))
    assert abs(of_b / n - share) < 4 * math.sqrt(share * (1 - share) / n)


def test_arms_are_the_same_for_ever_and_of_one_experiment_alone() -> None:
    """Another hash would mix the arms of an experiment that runs."""
    arms = "".join(arm_of(EXPERIMENT, f"query {i}") for i in range(20))
    assert arms == "aabaababbbbbabbabaaa"
    other = ExperimentRecord(2, "new", 1, 2, 0.5, 1)
    both = [(arm_of(EXPERIMENT, str(i)), arm_of(other, str(i))) for i in range(2_000)]
    assert 800 < sum(one == two for one, two in both) < 1_200


def test_a_late_judgement_counts_where_the_same_model_would_rank() -> None:
    query = next(str(i) for i in range(100) if arm_of(EXPERIMENT, str(i)) == "b")

    def ranking(version: str, arm: str | None) -> RankingRecord:
        return RankingRecord("r", 0.0, query, version, arm, ["a"], np.zeros(1))

    assert judged_arm(EXPERIMENT, ranking("2+17", "b")) == "b"
    assert judged_arm(EXPERIMENT, ranking("2", "b")) == "b"
    assert judged_arm(EXPERIMENT, ranking("21", "b")) is None
    assert judged_arm(EXPERIMENT, ranking("1", "b")) is None
    assert judged_arm(EXPERIMENT, ranking("1", "a")) is None  # it is b's query here
    assert judged_arm(EXPERIMENT, ranking("2", "a")) == "b"  # the models had changed places
    assert judged_arm(EXPERIMENT, ranking("2", None)) is None
    assert judged_arm(None, ranking("2", "b")) is None


# ---- the interval ----


def sums(values: Values, rankings: int | None = None) -> ArmSums:
    n = len(values)
    return ArmSums(n, rankings or n, float(values.sum()), float((values**2).sum()))


@pytest.mark.parametrize(("n_a", "n_b"), [(30, 30), (200, 40), (50, 1000)])
def test_the_interval_is_that_of_the_formula(n_a: int, n_b: int) -> None:
    rng = np.random.default_rng(n_a)
    a, b = rng.beta(2, 1, n_a), rng.beta(2.5, 1, n_b)
    found = difference_interval(sums(a), sums(b))
    assert found == pytest.approx(interval(a.tolist(), b.tolist()), rel=1e-9)


def running(x: Values, arm: NDArray[np.bool_]) -> tuple[Values, Values, Values]:
    """Return counts, sums and sums of squares of an arm after each query."""
    return np.cumsum(arm, dtype=float), np.cumsum(x * arm), np.cumsum(x * x * arm)


def any_alarm(x: Values, of_b: NDArray[np.bool_]) -> tuple[bool, bool]:
    """Tell whether the interval, and a plain one of 95 %, ever leave 0 out."""
    arms = [running(x, arm) for arm in (~of_b, of_b)]
    ours = plain = False
    first = int(np.argmax(np.minimum(arms[0][0], arms[1][0]) >= 30))
    # Every look near the beginning, where little is known; then every twentieth.
    looks = [*range(first, first + 200), *range(first + 200, len(x), 20)]
    for i in looks:
        a, b = (ArmSums(int(n[i]), int(n[i]), t[i], q[i]) for n, t, q in arms)
        low, high = difference_interval(a, b)
        ours = ours or not low <= 0 <= high
        error = math.sqrt(
            a.spread / (a.queries - 1) / a.queries + b.spread / (b.queries - 1) / b.queries
        )
        difference = b.total / b.queries - a.total / a.queries
        plain = plain or abs(difference) > 1.96 * error
    return ours, plain


def of_few_values(rng: np.random.Generator, n: int) -> Values:
    return rng.choice([1.0, 0.63, 0.5, 0.43, 0.0], p=[0.5, 0.2, 0.1, 0.1, 0.1], size=n)


def of_rare_failures(rng: np.random.Generator, n: int) -> Values:
    return np.where(rng.random(n) < 0.03, 0.0, 1.0)


@pytest.mark.parametrize(
    ("draw", "share"), [(of_few_values, 0.5), (of_rare_failures, 0.5), (of_rare_failures, 0.1)]
)
def test_looking_all_the_time_raises_no_false_alarms(draw: Any, share: float) -> None:
    """Of 150 experiments with two equal models, at most 5 % may ever say that they differ."""
    rng = np.random.default_rng(0)
    alarms = [any_alarm(draw(rng, 2_500), rng.random(2_500) < share) for _ in range(150)]
    ours, plain = np.mean(alarms, axis=0)
    assert ours <= 0.05
    assert plain > 0.10  # what the interval is there for


def test_a_difference_is_found() -> None:
    rng = np.random.default_rng(0)
    for n, found in ((100, False), (4_000, True)):
        a, b = sums(of_few_values(rng, n)), sums(np.minimum(of_few_values(rng, n) + 0.08, 1))
        assert (difference_interval(a, b)[0] > 0) is found


def test_values_that_do_not_differ_leave_no_doubt() -> None:
    ones, zeros = sums(np.ones(40)), sums(np.zeros(40))
    assert difference_interval(ones, ones) == pytest.approx((0.0, 0.0), abs=1e-8)
    assert difference_interval(zeros, ones) == pytest.approx((1.0, 1.0), abs=1e-8)
    assert judge(EXPERIMENT, zeros, ones).certain


@pytest.mark.parametrize("value", [1.0, 0.9639404333166519, 1 / 3, 0.1])
def test_rounding_is_no_difference(value: float) -> None:
    """Sums of equal values differ in their last digits with their order and number."""
    for n in range(30, 200):
        a, b = sums(np.full(n, value)), sums(np.full(3 * n, value))
        assert not judge(EXPERIMENT, a, b).certain
        assert not judge(EXPERIMENT, b, a).certain


def test_values_that_hardly_differ_leave_the_doubt_of_rounding() -> None:
    nearly = ArmSums(30, 30, 0.03, 3e-5 + 1e-20)
    assert nearly.spread > 0
    assert difference_interval(nearly, nearly) == (-1e-9, 1e-9)


# ---- verdicts ----


def test_too_few_queries_tell_nothing() -> None:
    rng = np.random.default_rng(0)
    few, many = sums(rng.random(29)), sums(rng.random(500))
    for a, b in ((few, many), (many, few), (ArmSums(), ArmSums())):
        result = judge(EXPERIMENT, a, b)
        assert (result.low, result.high, result.certain) == (None, None, False)
        assert result.verdict.startswith("Too few queries to tell: ")
    assert judge(EXPERIMENT, ArmSums(), few).difference is None
    assert "29 of model 1 and 500 of model 2" in judge(EXPERIMENT, few, many).verdict


def test_verdicts_say_who_is_better() -> None:
    rng = np.random.default_rng(0)
    good, bad = sums(rng.uniform(0.6, 1, 400)), sums(rng.uniform(0, 0.4, 400))
    better, worse, same = (
        judge(EXPERIMENT, a, b) for a, b in ((bad, good), (good, bad), (good, good))
    )
    assert better.certain
    assert better.verdict.startswith("Model 2 is better than model 1: NDCG@10")
    assert worse.certain
    assert worse.verdict.startswith("Model 2 is worse than model 1: NDCG@10")
    assert not same.certain
    assert "is not shown to differ from model 1" in same.verdict
    assert better.low is not None
    assert better.high is not None
    assert better.difference is not None
    assert better.low < better.difference < better.high
    assert f"[{better.low:+.4f}, {better.high:+.4f}]" in better.verdict


# ---- over HTTP ----


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    with serving(tmp_path) as one:
        store = one.service.store
        store.add_model(small_model(seed=1), "SLAMPerceptron", True, 0.0, "second")
        store.add_model(small_model(n_features=4), "SLAMPerceptron", True, 0.0, "wide")
        yield one


def begin(caller: Caller, status: int = 201, **more: Any) -> Fields:
    body = {"name": "new", "a": 1, "b": 2} | more
    answer = caller("POST", "/v1/experiments", json=body)
    assert answer.status_code == status, answer.text
    found: Fields = answer.json()
    return found


def test_an_experiment_begins_is_measured_and_ends(caller: Caller) -> None:
    begun = begin(caller)
    assert (begun["experiment"], begun["running"], begun["share"]) == (1, True, 0.5)
    versions = set()
    for i in range(20):
        ranked = caller.rank(f"q{i}")
        versions.add(ranked["model"])
        event = {"ranking_id": ranked["ranking_id"], "labels": {"d0": 1, "d1": 0}}
        caller.feedback([event | {"event_id": f"e{i}"}, event | {"event_id": f"again {i}"}])
    assert versions == {"1", "2"}  # at once, on this worker
    ended = caller("POST", "/v1/experiments/end").json()
    assert not ended["running"]
    assert ended["a"]["queries"] + ended["b"]["queries"] == 20
    assert ended["a"]["rankings"] + ended["b"]["rankings"] == 40
    assert "Too few queries" in ended["verdict"]
    assert caller("GET", "/v1/experiments").json() == [ended]
    assert caller.rank()["model"] == "1"
    assert caller("POST", "/v1/experiments/end").status_code == 409


def test_what_no_experiment_can_be_is_refused(caller: Caller) -> None:
    assert "two models" in begin(caller, 422, b=1)["error"]
    assert "no model 9" in begin(caller, 404, b=9)["error"]
    for share in (0, 1, -0.5, 2):
        assert "between 0 and 1" in begin(caller, 422, share=share)["error"]
    assert "name must have from 1" in begin(caller, 422, name="")["error"]
    assert "it has 4 features and not 3" in begin(caller, 409, b=3)["error"]
    begin(caller)
    assert "experiment 1 runs" in begin(caller, 409)["error"]


def test_the_store_adds_up_as_plain_python_does(caller: Caller) -> None:
    store = caller.service.store
    experiment = store.begin_experiment("sums", 1, 2, 0.5, time.time(), "begin")
    rng = np.random.default_rng(0)
    values: dict[str, dict[str, list[float]]] = {"a": {}, "b": {}}
    events = []
    for i in range(400):
        arm, query = "ab"[int(rng.integers(2))], f"q{rng.integers(60)}"
        version = rng.choice(["1", "1+5", "2", "2+30", "12", "21+4"])
        value = None if i % 7 == 0 else float(rng.random())
        lesson = EventLesson(query, ["d"], np.ones(1), None)
        events.append(
            NewEvent(f"e{i}", 0.0, Kind.feedback, b"", lesson, None, str(version), arm, value)
        )
        if value is not None and str(version).partition("+")[0] == {"a": "1", "b": "2"}[arm]:
            values[arm].setdefault(query, []).append(value)
    store.write([], events)
    ended = store.end_experiment(time.time(), "end")
    late = NewEvent("late", 0.0, Kind.feedback, b"", lesson, None, "1", "a", 1.0)
    store.write([], [late])
    found = store.arm_sums(ended)
    assert store.arm_sums(experiment)["a"].rankings == found["a"].rankings + 1
    for arm, queries in values.items():
        means = np.array([np.mean(seen) for seen in queries.values()])
        wanted = sums(means, sum(map(len, queries.values())))
        assert found[arm].queries == wanted.queries
        assert found[arm].rankings == wanted.rankings
        assert found[arm].total == pytest.approx(wanted.total)
        assert found[arm].squares == pytest.approx(wanted.squares)


def test_results_are_not_computed_more_often_than_pays(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(caller)
    store, results = caller.service.store, caller.service.results
    add_up, counted = store.arm_sums, []

    def count(experiment: ExperimentRecord) -> dict[str, ArmSums]:
        counted.append(experiment.ended)
        return add_up(experiment)

    monkeypatch.setattr(store, "arm_sums", count)
    for _ in range(5):
        results.all()
    assert len(counted) <= 1
    for pause in ("_LEAST", "_TIMES"):  # of those that run
        monkeypatch.setattr(f"rankwright.serve.watching.results.{pause}", 0.0)
    caller("POST", "/v1/experiments/end")
    for _ in range(5):
        results.all()
    assert len([ended for ended in counted if ended is not None]) == 1  # then never again


def test_who_looks_while_another_computes_does_not_wait(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(caller)
    store, results = caller.service.store, caller.service.results
    (experiment,) = store.experiments()
    before = results.of(experiment)
    entered, leave = threading.Event(), threading.Event()

    def slow(experiment: ExperimentRecord) -> dict[str, ArmSums]:
        entered.set()
        leave.wait(10)
        return {"a": ArmSums(5, 5, 5.0, 5.0), "b": ArmSums()}

    monkeypatch.setattr(store, "arm_sums", slow)
    monkeypatch.setattr(
        "rankwright.serve.watching.results.perf_counter", lambda: time.perf_counter() + 60
    )
    computing = threading.Thread(target=results.of, args=(experiment,))
    computing.start()
    assert entered.wait(10)
    assert results.of(experiment) is before
    leave.set()
    computing.join()
    assert results.of(experiment).a.queries == 5
