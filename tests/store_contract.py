"""What every store does: tests that are run on each."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rankwright.serve.records import (
    ArmSums,
    EventLesson,
    Fate,
    Kind,
    LearnerRecord,
    NewEvent,
    RankingRecord,
)
from rankwright.serve.store import open_store
from rankwright.serve.store.interface import OvertakenError, Store, StoreError
from tests.serve_sample import same_record, sample_event, sample_mark, sample_ranking

accepted, duplicate, conflict = Fate.accepted, Fate.duplicate, Fate.conflict
ROOT = Path(__file__).parents[1]

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
IDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=5)
FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)
WIDE = st.floats(allow_nan=False, allow_infinity=False)

# Threads that append, in a process of its own: arguments are the store, a name, and how many.
APPENDER = """
import sys, threading
from rankwright.serve.store import open_store
from tests.serve_sample import sample_event
url, name, n_threads, n_writes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store = open_store(url)
def append(thread):
    for i in range(n_writes):
        # One of its own, and one that everybody writes.
        store.write([], [sample_event(f"{name} {thread} {i}"), sample_event(f"all {thread} {i}")])
threads = [threading.Thread(target=append, args=(t,)) for t in range(n_threads)]
for thread in threads: thread.start()
for thread in threads: thread.join()
store.close()
"""


def start_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Start code in a process that finds the library and the tests."""
    path = os.pathsep.join([str(ROOT), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )


def check_log(store: Store) -> list[str]:
    """Return the ids of all events; their places must be 1, 2, 3, ..."""
    events = store.events(0, 10**6)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    ids = [event.new.event_id for event in events]
    assert len(set(ids)) == len(ids)
    return ids


def add(store: Store, content: bytes, *, learns: bool = True) -> int:
    return store.add_model(content, "SLAMPerceptron", learns, 5.0, "m.rw").model_id


SetMeta = Callable[[str, str], None]


class StoreContract:
    """Subclasses have a fixture ``url``: where an empty store is."""

    @pytest.fixture
    def store(self, url: str) -> Iterator[Store]:
        store = open_store(url)
        yield store
        store.close()

    # ---- log ----

    def test_an_empty_store(self, store: Store) -> None:
        assert store.events(0, 10) == []
        assert store.last_rankings(5) == []
        assert store.ranking("r") is None
        assert store.models() == []
        assert store.learners() == []
        assert store.serving() is None
        assert store.experiments() == []
        assert store.learner(1) is None
        assert store.base(1) is None
        assert store.write([], []) == []
        counts = store.counts()
        assert (counts.events, counts.rankings) == (0, 0)
        assert counts.n_bytes > 0
        store.probe()

    def test_what_is_written_is_read_to_the_bit(self, store: Store) -> None:
        rankings = [sample_ranking("r1"), sample_ranking("r2", features=False)]
        events = [
            sample_event("e1", ranking_id="r1", version="1+7", arm="b", value=0.25),
            sample_event("e2", seed=2),
        ]
        assert store.write(rankings, events) == [accepted, accepted]
        one, two = store.events(0, 10)
        assert (one.seq, two.seq) == (1, 2)
        assert same_record(one.new, events[0])
        assert same_record(two.new, events[1])
        assert [event.seq for event in store.events(1, 10)] == [2]
        assert [event.seq for event in store.events(0, 1)] == [1]
        found = store.ranking("r1")
        assert found is not None
        assert same_record(found, rankings[0])
        assert [ranking.ranking_id for ranking in store.last_rankings(5)] == ["r2", "r1"]
        assert same_record(store.last_rankings(1)[0], rankings[1])
        counts = store.counts()
        assert (counts.events, counts.rankings) == (2, 2)

    def test_an_event_counts_once(self, store: Store) -> None:
        first = sample_event("e")
        assert store.write([], [first]) == [accepted]
        again = replace(first, at=2000.0)  # at another time: the caller sent the same
        other = sample_event("e", seed=1)
        assert store.write([], [again, other, sample_event("f")]) == [duplicate, conflict, accepted]
        kept = store.events(0, 10)
        assert [event.new.event_id for event in kept] == ["e", "f"]
        assert same_record(kept[0].new, first)

    def test_an_event_counts_once_within_a_call(self, store: Store) -> None:
        events = [sample_event("e"), sample_event("e"), sample_event("e", seed=1)]
        assert store.write([], events) == [accepted, duplicate, conflict]
        assert check_log(store) == ["e"]

    def test_many_events_in_one_call(self, store: Store) -> None:
        events = [sample_event(f"e{i}", seed=i % 7) for i in range(2500)]
        assert store.write([], events) == [accepted] * 2500
        assert store.write([], events) == [duplicate] * 2500
        assert check_log(store) == [new.event_id for new in events]

    def test_a_ranking_sent_again_stays(self, store: Store) -> None:
        store.write([sample_ranking("r", at=1.0)], [])
        store.write([sample_ranking("r", at=2.0), sample_ranking("s")], [])
        found = store.ranking("r")
        assert found is not None
        assert found.at == 1.0
        assert len(store.last_rankings(9)) == 2

    def test_all_or_nothing(self, store: Store) -> None:
        bad = replace(sample_event("bad"), event_id="a\0b")
        with pytest.raises(ValueError, match="event_id must be text without NUL"):
            store.write([sample_ranking("r")], [sample_event("e"), bad])
        assert store.events(0, 10) == []
        assert store.ranking("r") is None
        assert store.write([], [sample_event("e")]) == [accepted]

    @pytest.mark.parametrize("text", ["a\0b", "\ud800", "\0"])
    def test_texts_that_no_database_holds(self, store: Store, text: str) -> None:
        lesson = EventLesson(text, ["a"], np.ones(1), None)
        for new in (
            sample_event(text),
            sample_event("e", ranking_id=text),
            NewEvent("e", 1.0, Kind.feedback, b"", lesson),
        ):
            with pytest.raises(ValueError, match="must be text without NUL"):
                store.write([], [new])
        assert store.ranking(text) is None
        assert store.write([], [sample_event("e")]) == [accepted]

    @given(
        lesson=st.builds(
            lambda query, ids, data, dtype: (query, ids, dtype, data),
            TEXTS,
            IDS,
            st.data(),
            st.sampled_from([np.float32, np.float64]),
        ),
        arm=st.sampled_from([None, "a", "b"]),
        value=st.none() | WIDE,
    )
    @settings(suppress_health_check=list(HealthCheck), max_examples=30, deadline=None)
    def test_any_lesson(
        self,
        store: Store,
        lesson: tuple[str, list[str], type, st.DataObject],
        arm: str | None,
        value: float | None,
    ) -> None:
        query, ids, dtype, data = lesson
        n = len(ids)
        labels = data.draw(hnp.arrays(np.float64, n, elements=WIDE))
        shape = (n, data.draw(st.integers(0, 4)))
        numbers = st.floats(width=32 if dtype is np.float32 else 64)  # NaN of any kind, infinities
        features = data.draw(st.none() | hnp.arrays(dtype, shape, elements=numbers))
        name = data.draw(TEXTS) + str(uuid.uuid4())
        digest = data.draw(st.binary(max_size=32))
        new = NewEvent(
            name, 1.5, Kind.feedback, digest, EventLesson(query, ids, labels, features),
            None, "1", arm, value,
        )  # fmt: skip
        k = data.draw(st.none() | st.integers(1, 10_000))
        ranking = RankingRecord(name, 1e9 + 0.1, query, "1", arm, ids, labels, features, k)
        last = store.counts().events
        assert store.write([ranking], [new]) == [accepted]
        (event,) = store.events(last, 10)
        assert same_record(event.new, new)
        found = store.ranking(name)
        assert found is not None
        assert same_record(found, ranking)

    def test_numbers_of_numpy_are_numbers(self, store: Store) -> None:
        one = add(store, b"1")
        store.promote(one, np.float64(1.0), "p")
        n, first, true = (cast("Any", value) for value in (np.int64(2), np.int64(one), np.True_))
        new = sample_event("e", at=np.float64(3.0), value=np.float64(0.5))
        assert store.write([], [new]) == [accepted]
        (event,) = store.events(np.int64(1).item(), 9)
        assert (event.new.at, event.new.value) == (3.0, 0.5)
        record = LearnerRecord(first, n, true, n, n, b"", loss=np.float64(1.5))
        mark = replace(sample_mark(one, 2), position=n, learned=n)
        store.advance(first, record, mark)
        expected = LearnerRecord(one, 2, True, 2, 2, b"", loss=1.5)
        assert store.learner(one) == expected
        assert [mark.position for mark in store.marks(one, after=first)] == [2]
        store.write([], [sample_event("nan", value=np.nan)])
        assert store.events(2, 1)[0].new.value is None

    def test_records_that_contradict_themselves(self, store: Store) -> None:
        lesson = EventLesson("q", ["a", "b"], np.ones(3), None)
        with pytest.raises(ValueError, match="labels must be one for each of 2 documents"):
            store.write([], [replace(sample_event("e"), lesson=lesson)])
        lesson = EventLesson("q", ["a", "b"], np.ones(2), np.ones((3, 2)))
        with pytest.raises(ValueError, match="features must have one row for each of 2"):
            store.write([], [replace(sample_event("e"), lesson=lesson)])

    # ---- models ----

    def test_models(self, store: Store) -> None:
        first = store.add_model(b"one", "PRank", True, 5.0, "one.rw")
        assert first.model_id == 1
        second = store.add_model(b"\0two" * 300_000, "BoostedRanker", False, 6.0)
        assert store.add_model(b"one", "PRank", True, 9.0, "again") == first
        assert store.models() == [first, second]
        assert store.model_content(1) == b"one"
        assert store.model_content(2) == b"\0two" * 300_000
        with pytest.raises(KeyError, match="no model 3"):
            store.model_content(3)

    def test_promotions(self, store: Store) -> None:
        one, two, fixed = add(store, b"1"), add(store, b"2"), add(store, b"3", learns=False)
        store.write([], [sample_event("e")])
        serving = store.promote(one, 7.0, "p1")
        assert (serving.promoted, serving.previous, serving.experiment) == (one, None, None)
        learner = store.learner(one)
        assert learner == LearnerRecord(one, 2, True, 0, 0, b"1", updated=7.0)
        generation = serving.generation
        serving = store.promote(two, 8.0, "p2")
        assert (serving.promoted, serving.previous) == (two, one)
        assert serving.generation > generation
        assert serving == store.serving()
        store.promote(fixed, 9.0, "p3")
        assert [learner.model_id for learner in store.learners()] == [one, two]
        assert [learner.content for learner in store.learners()] == [b"", b""]
        last = store.events(0, 10)[-1].new
        assert (last.kind, last.details) == (Kind.promotion, {"model": fixed, "previous": two})
        assert store.counts().events == 1
        with pytest.raises(KeyError, match="no model 9"):
            store.promote(9, 9.0, "p4")
        with pytest.raises(ValueError, match="event_id must be a new one, but the log has 'p1'"):
            store.promote(one, 9.0, "p1")
        assert len(check_log(store)) == 4

    def test_the_one_that_is_served_stays(self, store: Store) -> None:
        one = add(store, b"1")
        serving = store.promote(one, 7.0, "p1")
        assert store.promote(one, 8.0, "p2") == serving
        assert check_log(store) == ["p1"]

    def test_a_learner_wakes_by_itself(self, store: Store) -> None:
        one, two = add(store, b"1"), add(store, b"2")
        store.promote(one, 1.0, "p1")
        store.promote(two, 2.0, "p2")
        asleep = LearnerRecord(one, 2, False, 0, 0, b"1")
        store.advance(1, asleep, None)
        store.promote(one, 3.0, "p3")
        assert store.learner(one) == asleep

    # ---- learners ----

    def test_a_learner_goes_on_from_where_it_was(self, store: Store) -> None:
        one = add(store, b"1")
        store.promote(one, 1.0, "p")
        after = LearnerRecord(
            one, 4, True, 2, 1, b"new", '{"a": 1}', 0.5, 2.5, "", "0.1", "x86", 9.0
        )
        store.advance(1, after, sample_mark(one, 4, 2))
        assert store.learner(one) == after
        assert after.version == "1+2"
        with pytest.raises(OvertakenError, match="model 1 is not at event 1 any more"):
            store.advance(1, replace(after, position=5), sample_mark(one, 5))
        with pytest.raises(OvertakenError):  # nor has it come so far
            store.advance(5, replace(after, position=6), sample_mark(one, 6))
        with pytest.raises(OvertakenError):
            store.advance(4, replace(after, model_id=7), None)
        assert store.learner(one) == after
        (mark,) = store.marks(one)
        assert same_record(mark, sample_mark(one, 4, 2))
        store.advance(4, replace(after, position=6), sample_mark(one, 6))
        assert [mark.position for mark in store.marks(one)] == [4, 6]
        assert [mark.position for mark in store.marks(one, after=4)] == [6]
        assert [mark.position for mark in store.marks(one, limit=1)] == [4]
        assert store.marks(2) == []

    def test_a_loss_that_is_no_number(self, store: Store) -> None:
        one = add(store, b"1")
        store.promote(one, 1.0, "p")
        record = LearnerRecord(one, 2, True, 1, 0, b"n", loss=np.nan, bound=np.inf)
        mark = replace(sample_mark(one, 2), loss=np.nan)
        store.advance(1, record, mark)
        found = store.learner(one)
        assert found is not None
        assert np.isnan(found.loss)
        assert found.bound == np.inf
        assert np.isnan(store.marks(one)[0].loss)

    def test_two_who_advance_at_once(self, store: Store) -> None:
        one = add(store, b"1")
        store.promote(one, 1.0, "p")
        start = threading.Barrier(8)

        def advance(i: int) -> bool:
            record = LearnerRecord(one, 2, True, i, 0, b"x")
            start.wait()
            try:
                store.advance(1, record, sample_mark(one, 2, i + 1))
            except OvertakenError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(advance, range(8)))
        assert sum(won) == 1
        found = store.learner(one)
        assert found is not None
        assert found.learned == won.index(True)

    def test_one_is_elected(self, store: Store, url: str) -> None:
        other = open_store(url)
        first, second = store.election(), other.election()
        try:
            assert first.held()
            assert not second.held()
            assert first.held()
            first.close()
            assert second.held()
            assert not first.held()
        finally:
            second.close()
            first.close()
            other.close()

    def test_the_next_takes_over_when_one_dies(self, store: Store, url: str) -> None:
        code = (
            "import sys; from rankwright.serve.store import open_store\n"
            "election = open_store(sys.argv[1]).election(); print(election.held(), flush=True)\n"
            "sys.stdin.read()"
        )
        election = store.election()
        with start_python(code, url) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "True\n"
            assert not election.held()
            process.kill()
        for _ in range(100):
            if election.held():
                break
            threading.Event().wait(0.05)
        assert election.held()
        election.close()

    # ---- experiments ----

    def test_experiments(self, store: Store) -> None:
        one, two = add(store, b"1"), add(store, b"2")
        with pytest.raises(ValueError, match="a model must be promoted before"):
            store.begin_experiment("x", one, two, 0.5, 1.0, "x1")
        store.promote(one, 1.0, "p")
        generation = store.promote(one, 1.0, "p").generation
        begun = store.begin_experiment("x", one, two, 0.25, 2.0, "x1")
        assert (begun.number, begun.begun, begun.ended) == (1, 2, None)
        serving = store.serving()
        assert serving is not None
        assert serving.experiment == begun
        assert serving.generation > generation
        assert store.learner(two) == LearnerRecord(two, 2, True, 0, 0, b"2", updated=2.0)
        with pytest.raises(ValueError, match="experiment 1 runs; end it first"):
            store.begin_experiment("y", one, two, 0.5, 3.0, "x2")
        ended = store.end_experiment(4.0, "x3")
        assert ended == replace(begun, ended=3)
        assert store.experiments() == [ended]
        serving = store.serving()
        assert serving is not None
        assert serving.experiment is None
        with pytest.raises(ValueError, match="no experiment runs"):
            store.end_experiment(5.0, "x4")
        details = [event.new.details for event in store.events(1, 10)]
        told = {"experiment": 1, "a": one, "b": two, "share": 0.25, "name": "x"}
        assert details == [told | {"running": True}, told | {"running": False}]

    def test_experiments_that_make_no_sense(self, store: Store) -> None:
        one = add(store, b"1")
        store.promote(one, 1.0, "p")
        with pytest.raises(ValueError, match="must have two models, not 1 twice"):
            store.begin_experiment("x", one, one, 0.5, 1.0, "x")
        with pytest.raises(KeyError, match="no model 2"):
            store.begin_experiment("x", one, 2, 0.5, 1.0, "x")
        two = add(store, b"2")
        for share in (0.0, 1.0, -1.0, float("nan")):
            with pytest.raises(ValueError, match="share must be between 0 and 1"):
                store.begin_experiment("x", one, two, share, 1.0, "x")
        assert check_log(store) == ["p"]

    def test_a_promotion_ends_an_experiment(self, store: Store) -> None:
        one, two, three = add(store, b"1"), add(store, b"2"), add(store, b"3")
        store.promote(one, 1.0, "p")
        store.promote(three, 1.0, "p2")
        store.begin_experiment("x", three, two, 0.5, 2.0, "x")
        serving = store.promote(three, 3.0, "p3")
        # It was served before: to roll back is still to go to the first.
        assert (serving.promoted, serving.previous, serving.experiment) == (three, one, None)
        assert store.experiments()[0].ended == 4
        assert [event.new.kind for event in store.events(3, 9)] == [Kind.experiment, Kind.promotion]

    def test_sums_of_arms_are_those_of_their_values(self, store: Store) -> None:
        for model in (b"one", b"two"):
            store.add_model(model, "PRank", False, 1.0)
        store.promote(1, 2.0, "p")
        store.write([], [sample_event("early", arm="a", version="1", value=1.0)])
        experiment = store.begin_experiment("x", 1, 2, 0.5, 3.0, "begin")
        assert store.arm_sums(experiment) == {"a": ArmSums(), "b": ArmSums()}
        versions = ("1", "1+7", "2", "2+30", "12", "21+4")
        store.write(
            [],
            [
                sample_event(
                    f"e{i}",
                    i % 17,  # the query, too
                    arm="ab"[i % 2],
                    version=versions[i // 2 % 6],
                    value=None if i % 7 == 0 else (i % 11) / 10,
                )
                for i in range(300)
            ],
        )
        ended = store.end_experiment(4.0, "end")
        store.write([], [sample_event("late", arm="a", version="1", value=1.0)])
        found, values = store.arm_sums(ended), store.arm_values(ended)
        for arm in "ab":
            by_query: dict[str, list[float]] = {}
            for query, value in values[arm]:
                by_query.setdefault(query, []).append(value)
            means = [sum(seen) / len(seen) for seen in by_query.values()]
            assert found[arm].queries == len(means) > 5
            assert found[arm].rankings == len(values[arm]) > len(means)
            assert found[arm].total == pytest.approx(sum(means))
            assert found[arm].squares == pytest.approx(sum(mean**2 for mean in means))

    def test_many_are_asked_for_at_once(self, store: Store) -> None:
        store.write(
            [sample_ranking(f"r{i}") for i in range(3)],
            [sample_event(f"e{i}", i) for i in range(3)],
        )
        many = [f"none {i}" for i in range(1200)]
        found = store.rankings(["r2", *many, "r0", "r0", "no\0"])
        assert {name: one.ranking_id for name, one in found.items()} == {"r0": "r0", "r2": "r2"}
        known = store.known_events([*many, "e1", "e2"])
        assert known == {f"e{i}": sample_event("x", i).digest for i in (1, 2)}
        assert not store.rankings([])
        assert not store.known_events([])
        assert store.counts().last == 3

    def test_values_of_arms(self, store: Store) -> None:
        one, two = add(store, b"1"), add(store, b"2")
        store.promote(one, 1.0, "p")

        def judge(name: str, arm: str | None, version: str, value: float | None, q: int) -> None:
            store.write([], [sample_event(name, q, version=version, arm=arm, value=value)])

        judge("before", "a", "1", 0.1, 1)
        experiment = store.begin_experiment("x", one, two, 0.5, 2.0, "x")
        judge("e1", "a", "1+3", 0.5, 1)
        judge("e2", "b", "2", 0.75, 2)
        judge("e3", None, "1", 0.9, 3)
        judge("e4", "b", "2+12", 1.0, 4)
        judge("no value", "a", "1", None, 5)
        judge("of another experiment", "a", "12", 0.2, 6)
        expected = {"a": [("q1", 0.5)], "b": [("q2", 0.75), ("q4", 1.0)]}
        assert store.arm_values(experiment) == expected
        ended = store.end_experiment(3.0, "end")
        judge("late", "b", "2", 0.3, 7)
        assert store.arm_values(ended) == expected
        for model_id in (one, two):
            learner = store.learner(model_id)
            assert learner is not None
            store.advance(learner.position, replace(learner, position=11), None)
        assert store.expire(1e9) == 8
        assert store.arm_values(ended) == expected

    # ---- retention ----

    def test_what_is_old_is_emptied(self, store: Store) -> None:
        one = add(store, b"1")
        rankings = [sample_ranking(f"r{i}", at=float(i)) for i in range(10)]
        events = [sample_event(f"e{i}", i, at=float(i), ranking_id=f"r{i}") for i in range(10)]
        store.promote(one, 0.0, "p")
        store.write(rankings, events)
        learner = store.learner(one)
        assert learner is not None
        # e0 is event 2. The learner has passed e3 only, whatever is old.
        store.advance(1, replace(learner, position=5, learned=4, content=b"now"), None)
        assert store.expire(8.0) == 4
        assert [r.ranking_id for r in store.last_rankings(99)] == ["r9", "r8"]
        assert store.counts().rankings == 2
        lessons = [event.new.lesson is None for event in store.events(1, 99)]
        assert lessons == [True] * 4 + [False] * 6
        assert store.events(1, 1)[0].new.ranking_id is None
        base = store.base(one)
        assert base == replace(learner, position=5, learned=4, content=b"now")
        again = store.write([], [events[0], sample_event("e1", 99)])
        assert again == [duplicate, conflict]
        assert store.expire(8.0) == 0
        store.advance(5, replace(base, position=11, learned=10, content=b"later"), None)
        assert store.base(one) == base
        assert store.expire(8.0) == 4
        later = store.base(one)
        assert later is not None
        assert (later.position, later.content) == (11, b"later")
        assert store.counts().events == 10
        assert store.write([sample_ranking("new")], [sample_event("new")]) == [accepted]

    def test_nothing_is_emptied_that_a_sleeper_may_need(self, store: Store) -> None:
        one, two = add(store, b"1"), add(store, b"2")
        store.promote(one, 0.0, "p1")
        store.promote(two, 0.0, "p2")
        store.write([], [sample_event("e1", at=0.0)])  # 3
        store.promote(one, 0.0, "p3")  # 4
        store.write([], [sample_event("e2", at=0.0)])  # 5
        first, second = store.learner(one), store.learner(two)
        assert first is not None
        assert second is not None
        store.advance(2, replace(second, position=5, active=False), None)
        # The first sleeps since event 2, and has not met event 4 yet.
        store.advance(1, replace(first, position=2, active=False), None)
        assert store.expire(10.0) == 1
        assert [event.new.lesson is None for event in store.events(2, 9)] == [True, True, False]

    def test_a_learner_that_goes_on_while_events_are_emptied(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("rankwright.serve.store.learners._AT_A_TIME", 3)
        one = add(store, b"1")
        store.promote(one, 0.0, "p")
        store.write([], [sample_event(f"e{i}", i, at=0.0) for i in range(10)])
        learner = store.learner(one)
        assert learner is not None
        store.advance(1, replace(learner, position=5), None)
        backend = cast(Any, store)._backend
        writing = backend.writing

        @contextmanager
        def and_it_learns(*, append: bool) -> Iterator[Any]:
            with writing(append=append) as connection:
                yield connection
            backend.writing = writing
            store.advance(5, replace(learner, position=11), None)

        backend.writing = and_it_learns
        assert store.expire(10.0) == 4
        # What was kept of the learner is before all that it learned since: nothing of that is gone.
        base = store.base(one)
        assert base is not None
        assert base.position == 5
        assert [event.new.lesson is None for event in store.events(1, 99)] == [True] * 4 + [
            False
        ] * 6
        assert store.expire(10.0) == 6
        base = store.base(one)
        assert base is not None
        assert base.position == 11

    def test_much_that_is_old(self, store: Store) -> None:
        events = [sample_event(f"e{i}", i % 9, at=float(i)) for i in range(2600)]
        store.write([sample_ranking(f"r{i}", at=float(i)) for i in range(2600)], events)
        assert store.expire(2500.0) == 2500
        assert store.counts().rankings == 100
        assert sum(event.new.lesson is None for event in store.events(0, 9999)) == 2500

    # ---- the house ----

    def test_a_snapshot_sees_one_moment(self, store: Store) -> None:
        one = add(store, b"1")
        store.write([], [sample_event("e1")])
        with store.snapshot() as moment:
            store.write([sample_ranking("r")], [sample_event("e2")])
            store.promote(one, 1.0, "p")
            assert check_log(moment) == ["e1"]
            assert moment.serving() is None
            assert moment.counts().events == 1
            with pytest.raises(StoreError, match="a snapshot is only read"):
                moment.write([], [sample_event("e3")])
            with moment.snapshot() as same:
                assert check_log(same) == ["e1"]
        assert check_log(store) == ["e1", "e2", "p"]

    def test_everything_is_there_again(self, url: str) -> None:
        store = open_store(url)
        one = add(store, b"1")
        store.promote(one, 1.0, "p")
        store.write([sample_ranking("r")], [sample_event("e")])
        store.close()
        again = open_store(url, create=False)
        assert check_log(again) == ["p", "e"]
        assert again.ranking("r") is not None
        assert again.model_content(one) == b"1"
        again.close()

    def test_many_who_append_at_once(self, store: Store, url: str) -> None:
        """Four processes of 16 threads: nothing lost, nothing twice, and no reader skips one."""
        n_processes, n_threads, n_writes = 4, 16, 3
        started = [
            start_python(APPENDER, url, f"p{p}", str(n_threads), str(n_writes))
            for p in range(n_processes)
        ]
        seen: list[int] = []
        ended = False
        while not ended:
            ended = all(process.poll() is not None for process in started)
            new = store.events(seen[-1] if seen else 0, 50)
            seen += [event.seq for event in new]
            ended = ended and not new
        for process in started:
            process.communicate()
            assert process.returncode == 0
        ids = check_log(store)
        assert seen == list(range(1, len(ids) + 1))
        expected = {
            f"{name} {t} {i}"
            for name in ["all", *(f"p{p}" for p in range(n_processes))]
            for t in range(n_threads)
            for i in range(n_writes)
        }
        assert set(ids) == expected

    def test_many_who_open_at_once(self, url: str) -> None:
        code = (
            "import sys; from rankwright.serve.store import open_store\n"
            "print(len(open_store(sys.argv[1]).models()))"
        )
        started = [start_python(code, url) for _ in range(4)]
        assert [process.communicate()[0] for process in started] == ["0\n"] * 4

    def test_a_store_of_a_newer_schema(self, store: Store, url: str, set_meta: SetMeta) -> None:
        set_meta("schema", "2")
        with pytest.raises(StoreError, match=r"schema 2, newer than this rankwright's 1; upgrade"):
            open_store(url)
        set_meta("schema", "one")
        with pytest.raises(StoreError, match="must say the version of its schema, not 'one'"):
            open_store(url)
