"""Replay: the same bits, or the event at which they part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwright.serve.learning import pupil
from rankwright.serve.learning.replay import as_facts, replay_log
from rankwright.serve.records import Mark
from rankwright.serve.store.interface import Store, StoreError
from tests.serve_logs import (
    feedback,
    fitted,
    learn_all,
    other_model,
    record_of,
    served,
)


def with_lessons(path: Path, n: int = 12, name: str = "slam") -> Store:
    store = served(path, fitted(name))
    for begin in range(0, n, 4):
        store.write([], [feedback(number) for number in range(begin, begin + 4)])
        learn_all(store)
    return store


class Altered:
    """A store of which something is not as it was."""

    def __init__(self, store: Store, **others: Any) -> None:
        self._store = store
        vars(self).update(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def snapshot(self) -> Altered:
        return self

    def __enter__(self) -> Altered:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def with_marks(store: Store, change: Any) -> Any:
    """Return the store with its marks changed."""
    return Altered(store, marks=lambda *args: [change(mark) for mark in store.marks(*args)])


def test_the_same_bits(tmp_path: Path) -> None:
    store = with_lessons(tmp_path)
    told: list[tuple[int, int]] = []
    found = replay_log(store, tell=lambda *done: told.append(done))
    assert found.lines() == ["the same bits: 12 events, version 1+12"]
    assert found.content == record_of(store).content
    assert told[-1] == (13, 13)
    assert as_facts(found) | {"differs": []} == {
        "same": True,
        "model": 1,
        "version": "1+12",
        "events": 13,
        "begun": 0,
        "learned": 12,
        "skipped": 0,
        "compared": 12,
        "parting": None,
        "differs": [],
    }


def test_marks_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankwright.serve.learning.replay._MARKS", 2)
    store = served(tmp_path, fitted())
    for number in range(5):
        store.write([], [feedback(number)])
        learn_all(store)
    assert len(store.marks(1)) == 5
    found = replay_log(store)
    assert (found.compared, found.parting) == (5, None)


def test_a_model_that_learned_nothing_is_the_file_that_was_served(tmp_path: Path) -> None:
    store = served(tmp_path, fitted())
    found = replay_log(store)
    assert found.content == store.model_content(1)
    assert found.lines() == ["the same bits: 0 events, version 1"]


def test_up_to_an_event(tmp_path: Path) -> None:
    store, shorter = with_lessons(tmp_path), tmp_path / "shorter"
    shorter.mkdir()
    found = replay_log(store, until=7)  # in the middle of a mark
    assert found.parting is None
    assert (found.learned, found.compared, found.position) == (6, 6, 7)
    other = served(shorter, fitted())
    other.write([], [feedback(number) for number in range(6)])
    learn_all(other)
    assert found.content == record_of(other).content


def test_a_loss_that_differs_is_found(tmp_path: Path) -> None:
    store = with_lessons(tmp_path)

    def change(mark: Mark) -> Mark:
        return replace(mark, losses=np.where(mark.seqs == 7, mark.losses + 0.25, mark.losses))

    found = replay_log(with_marks(store, change))
    assert found.parting is not None
    assert found.parting.event == 7
    assert found.parting.again is not None
    assert found.parting.live == found.parting.again + 0.25
    assert "they part at event 7 (loss 0." in found.lines()[-1]
    assert "live, loss 0" in found.lines()[-1]
    early = replay_log(with_marks(store, change), until=6)
    assert early.parting is None
    assert replay_log(with_marks(store, change), until=7).parting is not None


def test_a_state_that_differs_is_found(tmp_path: Path) -> None:
    store = with_lessons(tmp_path)

    def change(mark: Mark) -> Mark:
        return replace(mark, digest=b"other") if mark.position == 9 else mark

    found = replay_log(with_marks(store, change))
    assert str(found.parting) == "they part at event 9 (what is known differs after it)"


@pytest.mark.parametrize("change", [{"loss": 1e9}, {"bound": 1e9}])
def test_a_bound_that_differs_is_said(change: dict[str, Any], tmp_path: Path) -> None:
    store = with_lessons(tmp_path)

    def changed(mark: Mark) -> Mark:
        return replace(mark, **change) if mark.position == 9 else mark

    found = replay_log(with_marks(store, changed))
    assert found.parting is None
    assert "loss and bound from event 9 on: " in found.lines()[0]


def test_a_bound_that_ends_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type(fitted())
    charge = kind._charge

    def sometimes(self: Any, task: Any, *more: Any) -> None:
        if 8 in task.data.groups.names:
            raise ValueError("too long")
        charge(self, task, *more)

    monkeypatch.setattr(kind, "_charge", sometimes)
    store = with_lessons(tmp_path)
    bounds = [mark.bound for mark in store.marks(1)]
    assert bounds[0] is not None
    assert bounds[1:] == [None, None]
    assert record_of(store).reason == "too long"
    assert (record_of(store).learned, record_of(store).skipped) == (12, 0)
    assert replay_log(store).lines() == ["the same bits: 12 events, version 1+12"]


def test_events_that_only_one_of_them_learned_are_found(tmp_path: Path) -> None:
    store = with_lessons(tmp_path)

    def without(mark: Mark) -> Mark:
        keep = mark.seqs != 7
        return replace(mark, seqs=mark.seqs[keep], losses=mark.losses[keep])

    found = replay_log(with_marks(store, without))
    assert str(found.parting).startswith("they part at event 7 (not learned live, loss 0")
    found = replay_log(Altered(store, marks=lambda *_: []))
    assert str(found.parting).startswith("they part at event 2 (not learned live")


def test_what_is_known_at_the_end_counts(tmp_path: Path) -> None:
    store = with_lessons(tmp_path)
    live = record_of(store)
    other = replace(live, content=store.model_content(1))
    found = replay_log(Altered(store, learner=lambda _: other))
    assert str(found.parting) == "they part at event 13 (what is known differs after it)"
    found = replay_log(Altered(store, learner=lambda _: replace(live, skipped=1)))
    assert found.parting is not None


def test_another_version_or_processor_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = with_lessons(tmp_path)
    monkeypatch.setattr("rankwright.persistence.__version__", "9.9")
    monkeypatch.setattr(pupil, "processor", lambda: {"library": "9.9", "cpu": "other"})
    monkeypatch.setattr(
        "rankwright.serve.learning.replay.processor", lambda: {"library": "9.9", "cpu": "other"}
    )
    found = replay_log(store)
    assert found.parting is None  # the bits are the same all the same
    assert len(found.lines()) == 3
    assert "rankwright: 0." in found.lines()[0]
    assert "9.9 here" in found.lines()[0]
    assert "other here" in found.lines()[1]


def test_a_log_that_was_emptied_is_replayed_from_there(tmp_path: Path) -> None:
    store = with_lessons(tmp_path)
    assert store.expire(1.0) > 0
    store.write([], [feedback(number, at=2.0) for number in range(20, 26)])
    learn_all(store)
    found = replay_log(store)
    assert found.begun > 0
    assert found.lines() == [
        "begun behind event 13, up to which the log was emptied",
        "the same bits: 6 events, version 1+18",
    ]
    assert found.content == record_of(store).content
    nothing = replay_log(store, until=13)  # there it begins
    assert (nothing.learned, nothing.compared, nothing.parting) == (12, 0, None)
    with pytest.raises(ValueError, match="emptied up to event 13, and --until is 12"):
        replay_log(store, until=12)


def test_an_emptied_log_whose_learner_never_began(tmp_path: Path) -> None:
    store = served(tmp_path, fitted(), fitted(seed=2), other_model())
    store.begin_experiment("x", 2, 3, 0.5, 0.0, "x")
    store.expire(1.0)
    store.end_experiment(2.0, "y")
    store.write([], [feedback(0, at=2.0)])
    learn_all(store)
    for model_id in (1, 2):
        found = replay_log(store, model_id)
        assert found.parting is None
        assert found.content == record_of(store, model_id).content
    assert [record_of(store, n).learned for n in (1, 2)] == [1, 0]


def test_what_cannot_be_replayed(tmp_path: Path) -> None:
    store = served(tmp_path, fitted(), other_model())
    with pytest.raises(ValueError, match="--until must be an event that the learner has passed"):
        replay_log(store, until=5)
    with pytest.raises(StoreError, match="model 2 is a LinearRanker, which has not learned"):
        replay_log(store, 2)
    with pytest.raises(StoreError, match="model 7 is no model of the store"):
        replay_log(store, 7)
    store.promote(2, 0.0, "second")
    assert replay_log(store).live.model_id == 1  # the only one that learns
