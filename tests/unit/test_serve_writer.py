"""The one who writes: groups, bounds, failures and ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankwright.serve.records import Fate, NewEvent, RankingRecord
from rankwright.serve.settings import Limits
from rankwright.serve.store import open_store
from rankwright.serve.store.interface import Store, StoreError, StoreUnavailableError
from rankwright.serve.store.writer import Writer
from tests.serve_sample import sample_event, sample_ranking

accepted = [Fate.accepted]
PATIENCE = 20.0


class Watched:
    """A store that counts its commits, can be held up, and can fail."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.groups: list[tuple[int, int]] = []
        self.free = threading.Event()  # writes wait for it
        self.free.set()
        self.entered = threading.Event()
        self.error: Exception | None = None
        self.n_tries = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def write(self, rankings: Sequence[RankingRecord], events: Sequence[NewEvent]) -> list[Fate]:
        self._pass()
        outcomes = self._store.write(rankings, events)
        self.groups.append((len(rankings), len(events)))
        return outcomes

    def probe(self) -> None:
        self._pass()
        self._store.probe()

    def _pass(self) -> None:
        self.n_tries += 1
        self.entered.set()
        assert self.free.wait(PATIENCE)
        if self.error is not None:
            raise self.error


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Watched]:
    store = open_store(str(tmp_path / "a.db"))
    yield Watched(store)
    store.close()


@pytest.fixture
def writer(store: Watched) -> Iterator[Writer]:
    writer = make_writer(store)
    yield writer
    store.free.set()
    writer.close()


def make_writer(store: Watched, **limits: Any) -> Writer:
    given: Any = store
    return Writer(given, Limits(**limits))


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def hold(store: Watched, writer: Writer) -> Future[list[Fate]]:
    """Let the writer be in the middle of a commit."""
    store.free.clear()
    store.entered.clear()
    first = writer.append([sample_event("first")])
    assert store.entered.wait(PATIENCE)
    return first


def test_an_answer_comes_when_it_is_durable(store: Watched, writer: Writer) -> None:
    first = hold(store, writer)
    assert not first.done()
    assert store.events(0, 9) == []
    store.free.set()
    assert first.result(PATIENCE) == accepted
    assert [event.new.event_id for event in store.events(0, 9)] == ["first"]


def test_all_who_wait_share_a_commit(store: Watched, writer: Writer) -> None:
    first = hold(store, writer)
    for i in range(10):
        assert writer.log(sample_ranking(f"r{i}"))
    answers = [writer.append([sample_event(f"e{i}"), sample_event("first")]) for i in range(50)]
    store.free.set()
    assert first.result(PATIENCE) == accepted
    assert all(a.result(PATIENCE) == [Fate.accepted, Fate.duplicate] for a in answers)
    assert store.groups == [(0, 1), (10, 100)]
    assert writer.n_commits == 2


def test_sixteen_clients_need_few_commits(store: Watched, writer: Writer) -> None:
    def send(client: int) -> None:
        for i in range(10):
            assert writer.append([sample_event(f"{client} {i}")]).result(PATIENCE) == accepted

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(send, range(16)))
    assert sum(n for _, n in store.groups) == 160
    assert len(store.groups) < 80


def test_events_are_in_the_order_of_the_calls(store: Watched, writer: Writer) -> None:
    hold(store, writer)
    answers = [writer.append([sample_event(f"e{i}")]) for i in range(30)]
    store.free.set()
    for answer in answers:
        answer.result(PATIENCE)
    ids = [event.new.event_id for event in store.events(0, 99)]
    assert ids == ["first", *(f"e{i}" for i in range(30))]


def test_rankings_are_written_behind_the_answer(store: Watched, writer: Writer) -> None:
    for i in range(20):
        assert writer.log(sample_ranking(f"r{i}"))
    until(lambda: writer.n_waiting == 0)
    assert len(store.last_rankings(99)) == 20
    assert len(store.groups) <= 3  # they waited for company
    assert writer.n_dropped == 0


def test_a_ranking_is_found_until_it_is_durable(store: Watched, writer: Writer) -> None:
    hold(store, writer)
    ranking = sample_ranking("r")
    writer.log(ranking)
    assert writer.pending("r") is ranking
    assert writer.pending("other") is None
    store.entered.clear()
    store.free.set()
    until(lambda: writer.pending("r") is None)
    assert store.ranking("r") is not None


def test_a_full_queue_never_waits(store: Watched) -> None:
    writer = make_writer(store, waiting=5_000)
    hold(store, writer)
    begun = time.monotonic()
    taken = [writer.log(sample_ranking(f"r{i}")) for i in range(100)]
    assert time.monotonic() - begun < PATIENCE / 4
    assert 5 <= sum(taken) < 20
    assert writer.n_waiting == sum(taken)
    assert writer.n_dropped == 100 - sum(taken)
    big = replace(sample_event("big"), event_id="big")
    answers = [writer.append([replace(big, event_id=f"b{i}")]) for i in range(100)]
    refused = [a for a in answers if a.done()]
    assert refused
    with pytest.raises(StoreUnavailableError, match="too many events wait"):
        refused[0].result()
    store.free.set()
    writer.close()
    assert all(a.done() for a in answers)
    assert sum(a.exception() is None for a in answers) == 100 - len(refused)
    assert len(store.last_rankings(999)) == sum(taken)


def test_a_store_that_fails_and_recovers(store: Watched, writer: Writer) -> None:
    assert writer.healthy
    store.error = StoreUnavailableError("a.db: the disk is full.")
    with pytest.raises(StoreUnavailableError, match="the disk is full"):
        writer.append([sample_event("e")]).result(PATIENCE)
    assert not writer.healthy
    assert writer.problem == "a.db: the disk is full."
    assert writer.log(sample_ranking("r"))  # it waits for better times
    tries = store.n_tries
    until(lambda: store.n_tries > tries + 1)
    assert not writer.healthy
    store.error = None
    until(lambda: writer.healthy)
    assert writer.n_dropped == 0
    until(lambda: writer.n_waiting == 0)
    assert store.ranking("r") is not None
    assert writer.append([sample_event("e")]).result(PATIENCE) == accepted


def test_a_recovery_is_noticed_without_traffic(store: Watched, writer: Writer) -> None:
    store.error = StoreUnavailableError("gone.")
    assert writer.append([sample_event("e")]).exception(PATIENCE) is store.error
    store.error = None
    until(lambda: writer.healthy)
    assert store.groups == []


def test_a_store_that_fails_is_not_tried_all_the_time(store: Watched, writer: Writer) -> None:
    store.error = StoreUnavailableError("gone.")
    writer.append([sample_event("e")]).exception(PATIENCE)
    tries = store.n_tries
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        writer.log(sample_ranking(f"r{time.monotonic()}"))
        time.sleep(0.001)
    assert store.n_tries <= tries + 2


def test_one_bad_event_does_not_take_others_along(store: Watched, writer: Writer) -> None:
    first = hold(store, writer)
    good = [writer.append([sample_event(f"e{i}")]) for i in range(3)]
    bad = writer.append([sample_event("a\0b"), sample_event("beside it")])
    good.append(writer.append([sample_event("e9")]))
    writer.log(sample_ranking("r1"))
    writer.log(sample_ranking("r\0"))
    writer.log(sample_ranking("r2"))
    store.free.set()
    assert first.result(PATIENCE) == accepted
    assert [a.result(PATIENCE) for a in good] == [accepted] * 4
    with pytest.raises(ValueError, match="must be text without NUL"):
        bad.result(PATIENCE)
    until(lambda: writer.n_waiting == 0)
    assert {ranking.ranking_id for ranking in store.last_rankings(9)} == {"r1", "r2"}
    assert writer.n_dropped == 1
    assert writer.healthy
    assert len(store.events(0, 99)) == 5


def test_an_end_writes_what_waits(store: Watched) -> None:
    writer = make_writer(store)
    first = hold(store, writer)
    answers = [writer.append([sample_event(f"e{i}")]) for i in range(20)]
    for i in range(30):
        writer.log(sample_ranking(f"r{i}"))
    threading.Timer(0.05, store.free.set).start()
    writer.close()
    assert [a.result(0) for a in [first, *answers]] == [accepted] * 21
    assert len(store.last_rankings(99)) == 30
    assert not writer.log(sample_ranking("late"))
    with pytest.raises(StoreUnavailableError, match="the service is ending"):
        writer.append([sample_event("late")]).result(0)
    writer.close()


def test_an_end_while_the_store_fails_answers_everyone(store: Watched) -> None:
    writer = make_writer(store)
    first = hold(store, writer)
    store.error = StoreUnavailableError("gone.")
    answers = [writer.append([sample_event(f"e{i}")]) for i in range(20)]
    writer.log(sample_ranking("r"))
    store.free.set()
    writer.close()
    assert all(a.exception(0) is store.error for a in [first, *answers])
    assert (writer.n_waiting, writer.n_dropped) == (0, 1)


def test_an_empty_list_of_events(store: Watched, writer: Writer) -> None:
    assert writer.append([]).result(PATIENCE) == []


def test_whatever_goes_wrong_everyone_is_answered(store: Watched, writer: Writer) -> None:
    store.error = RuntimeError("a mistake")
    with pytest.raises(RuntimeError, match="a mistake"):
        writer.append([sample_event("e")]).result(PATIENCE)
    store.error = None
    assert writer.append([sample_event("e")]).result(PATIENCE) == accepted


def test_large_groups_are_cut(store: Watched, writer: Writer, monkeypatch: Any) -> None:
    monkeypatch.setattr("rankwright.serve.store.writer._GROUP", 2_000)
    hold(store, writer)
    for i in range(20):
        writer.log(sample_ranking(f"r{i}"))
    answers = [writer.append([sample_event(f"e{i}")]) for i in range(20)]
    store.free.set()
    for answer in answers:
        assert answer.result(PATIENCE) == accepted
    until(lambda: writer.n_waiting == 0)
    for part in (0, 1):
        sizes = [group[part] for group in store.groups]
        assert max(sizes) < 10
        assert sum(sizes) == 20 + part  # and the event that was held


# ---- bounds, to the byte ----


def test_what_fits_exactly_is_taken(store: Watched) -> None:
    room = 2 * (300 + 6 * 4 + 3 * 8 + 3)  # two of them: a record, features, scores, ids
    writer = make_writer(store, waiting=room)
    hold(store, writer)
    assert [writer.log(sample_ranking(f"r{i}")) for i in range(3)] == [True, True, False]
    store.free.set()
    until(lambda: writer.n_waiting == 0)
    hold(store, writer)  # what was written has made room
    assert [writer.log(sample_ranking(f"s{i}")) for i in range(3)] == [True, True, False]
    store.free.set()
    writer.close()
    assert (len(store.last_rankings(9)), writer.n_dropped) == (4, 2)


def test_events_larger_than_the_bound_are_written_when_nobody_waits(store: Watched) -> None:
    writer = make_writer(store, waiting=10)
    assert writer.append([sample_event("large")]).result(PATIENCE) == accepted
    hold(store, writer)
    one, other = writer.append([sample_event("one")]), writer.append([sample_event("other")])
    assert not one.done()
    assert isinstance(other.exception(0), StoreUnavailableError)
    store.free.set()
    assert one.result(PATIENCE) == accepted
    writer.close()


def test_events_that_were_written_make_room(store: Watched) -> None:
    size = 300 + 3 * 4 * 8 + 3 * 8 + 3 * 2  # a record, features, labels, ids
    writer = make_writer(store, waiting=2 * size)
    for i in range(3):
        held = hold(store, writer)
        two = [writer.append([sample_event(f"{i} {name}")]) for name in "ab"]
        assert writer.append([sample_event(f"{i} c")]).done()  # the third is one too many
        store.free.set()
        assert [a.result(PATIENCE) for a in two] == [accepted] * 2
        held.result(PATIENCE)
    writer.close()


def test_a_full_group_does_not_wait_for_company(
    store: Watched, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankwright.serve.store.writer._GATHER", 600.0)
    monkeypatch.setattr("rankwright.serve.store.writer._GROUP", 1_000)
    for i in range(3):
        assert writer.log(sample_ranking(f"r{i}"))
        time.sleep(0.05)  # the first has woken it: it waits for the others
    until(lambda: writer.n_waiting == 0)
    assert store.groups == [(3, 0)]


@pytest.mark.parametrize(("room", "taken"), [(852, [False, False, True]), (851, [False, True])])
def test_all_parts_of_an_event_take_room(store: Watched, room: int, taken: list[bool]) -> None:
    """A record of 300 bytes, 96 of features, 24 of labels and 6 of ids: 426."""
    writer = make_writer(store, waiting=room)
    hold(store, writer)
    answers = [writer.append([sample_event(f"e{i}")]) for i in range(len(taken))]
    assert [answer.done() for answer in answers] == taken
    store.free.set()
    writer.close()


def test_a_store_that_is_broken_is_no_healthy_one(store: Watched, writer: Writer) -> None:
    store.error = StoreError("a.db: is damaged.")
    assert writer.append([sample_event("e")]).exception(PATIENCE) is store.error
    until(lambda: writer.problem == "a.db: is damaged.")
    store.error = None
    until(lambda: writer.healthy)
