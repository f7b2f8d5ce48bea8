"""The learner of the service: every event exactly once, to the same bits wherever it stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.persistence import packed
from rankwright.serve.learning.fingerprints import content_digest
from rankwright.serve.learning.learner import Learner
from rankwright.serve.learning.lessons import why_it_cannot_learn
from rankwright.serve.learning.pupil import Pupil
from rankwright.serve.learning.replay import replay_log
from rankwright.serve.settings import Settings
from rankwright.serve.store import open_store
from rankwright.serve.store.interface import OvertakenError, Store, StoreUnavailableError
from tests.serve_logs import (
    ONLINE,
    add,
    all_events,
    feedback,
    fitted,
    learn_all,
    learner_of,
    other_model,
    record_of,
    served,
    twin,
)

GOOD = ("good", "good", "good", "single")
BAD = ("one", "wide", "none", "missing", "huge", "label")
WORDS = st.sampled_from(
    [*GOOD, *GOOD, *BAD, "promote 1", "promote 2", "promote 3", "experiment", "end"]
)
CUTS = st.sampled_from(["", "", "step", "step", "restart", "rival"])


def do(store: Store, number: int, word: str) -> None:
    """Let something happen to a service."""
    if word.startswith("promote"):
        store.promote(int(word[-1]), 0.0, f"p{number}")
    elif word in ("experiment", "end"):
        serving = store.serving()
        assert serving is not None
        running = serving.experiment is not None
        if word == "experiment" and not running:
            store.begin_experiment("x", 2, 1 + 2 * (number % 2), 0.5, 0.0, f"x{number}")
        if word == "end" and running:
            store.end_experiment(0.0, f"x{number}")
    else:
        store.write([], [feedback(number, word)])


def check_as_twin(store: Store, model_id: int) -> None:
    record = store.learner(model_id)
    if record is None:
        return
    content, losses, n_skipped = twin(store.model_content(model_id), model_id, all_events(store))
    assert (record.learned, record.skipped) == (len(losses), n_skipped)
    assert record.content == content
    marks = store.marks(model_id)
    assert [seq for mark in marks for seq in mark.seqs.tolist()] == list(losses)
    found = [loss for mark in marks for loss in mark.losses.tolist()]
    np.testing.assert_allclose(found, list(losses.values()), atol=1e-9)
    if marks:
        assert marks[-1].digest == content_digest(record.content)
        assert record.library == rw.__version__
        assert record.cpu


@pytest.mark.parametrize("name", ONLINE)
def test_every_online_class_learns_as_by_partial_fit(name: str, tmp_path: Path) -> None:
    store = served(tmp_path, fitted(name))
    one_by_one = served(tmp_path, fitted(name), name="b.db")
    words = [*GOOD * 3, "one", *GOOD, "label", "missing", "huge", "none", *GOOD, "wide"]
    for number, word in enumerate(words):
        do(store, number, word)
        do(one_by_one, number, word)
        learn_all(one_by_one)  # a learner of its own for each event
    learn_all(store)
    check_as_twin(store, 1)
    all_at_once, restarted = record_of(store), record_of(one_by_one)
    assert all_at_once.learned >= 20
    assert restarted.content == all_at_once.content
    assert restarted.ledger == all_at_once.ledger
    figures = [(r.loss, r.bound, r.reason) for r in (all_at_once, restarted)]
    assert figures[0] == figures[1]
    assert (all_at_once.bound is None) == bool(all_at_once.reason)
    if all_at_once.bound is not None:
        assert all_at_once.loss <= all_at_once.bound
    for one in (store, one_by_one):
        replayed = replay_log(one)
        assert replayed.parting is None
        assert replayed.content == all_at_once.content


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    names=st.tuples(*[st.sampled_from(["slam", "prank", "online", "slam-kernel", "pamir"])] * 2),
    log=st.lists(st.tuples(WORDS, CUTS), min_size=1, max_size=40),
)
def test_logs_that_are_cut_anywhere(names: tuple[str, str], log: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        models = [fitted(names[0]), fitted(names[1], seed=5), other_model()]
        cut = served(Path(folder), *models, name="cut.db")
        whole = served(Path(folder), *models, name="whole.db")
        learner = learner_of(cut)
        for number, (word, act) in enumerate(log):
            do(cut, number, word)
            do(whole, number, word)
            if act == "restart":
                learner = learner_of(cut, publish=1000.0)
            elif act == "rival":
                learn_all(cut)
            if act:
                try:
                    learner.step()
                except OvertakenError:
                    learner.forget()
        learn_all(cut)
        learn_all(whole)
        for model_id in (1, 2, 3):
            check_as_twin(cut, model_id)
            live, once = cut.learner(model_id), whole.learner(model_id)
            if live is None or once is None:
                assert live is once is None
                continue
            assert live.content == once.content
            assert (live.loss, live.bound, live.reason) == (once.loss, once.bound, once.reason)
            assert live.active == once.active
            replayed = replay_log(cut, model_id)
            assert replayed.parting is None
            assert replayed.content == live.content
        cut.close()
        whole.close()


def test_an_event_that_is_refused_takes_no_other_with_it(tmp_path: Path) -> None:
    store = served(tmp_path, fitted())
    store.write([], [feedback(n, "huge" if n == 7 else "good") for n in range(12)])
    learn_all(store)
    record = record_of(store)
    assert (record.learned, record.skipped) == (11, 1)
    assert json.loads(record.ledger)["skipped"] == {"refused": 1}
    check_as_twin(store, 1)


def test_what_a_refused_event_has_charged_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(fitted())
    whole = kind.partial_fit_rounds

    def too_late(self: Any, X: Any, y: Any, qid: Any, *more: Any) -> Any:
        found = whole(self, X, y, qid, *more)
        if 4 in qid:
            raise ValueError("not this one")
        return found

    refusing, skipping = (served(tmp_path, fitted(), name=name) for name in ("a.db", "b.db"))
    refusing.write([], [feedback(n) for n in range(6)])
    skipping.write([], [feedback(n, "wide" if n == 2 else "good") for n in range(6)])
    learn_all(skipping)
    monkeypatch.setattr(kind, "partial_fit_rounds", too_late)
    learn_all(refusing)
    found, expected = record_of(refusing), record_of(skipping)
    assert (found.learned, found.skipped) == (expected.learned, expected.skipped) == (5, 1)
    assert found.content == expected.content
    assert found.bound is not None
    assert (found.loss, found.bound) == (expected.loss, expected.bound)


def test_short_memory_is_no_reason_to_skip_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: Any) -> Any:
        raise MemoryError

    store = served(tmp_path, fitted())
    store.write([], [feedback(n) for n in range(3)])
    with monkeypatch.context() as patch:
        patch.setattr(type(fitted()), "partial_fit_rounds", too_large)
        with pytest.raises(MemoryError):
            learn_all(store)
    learn_all(store)
    assert (record_of(store).learned, record_of(store).skipped) == (3, 0)


def test_weights_that_would_overflow_are_not_learned(tmp_path: Path) -> None:
    model = rw.WidrowHoff(eta=1.0, variant="last", n_epochs=1, standardize=False)
    X = np.random.default_rng(0).normal(size=(20, 4))
    store = served(tmp_path, model.fit(X * 1e-3, np.repeat([0, 1], 10)))
    events = [feedback(n) for n in range(3)]
    for event in events:
        assert event.lesson is not None
        np.asarray(event.lesson.features)[:] *= 1e12
        event.lesson.labels[:] = 1
    store.write([], [*events, feedback(99, "one")])
    learn_all(store)
    record = record_of(store)
    assert record.learned + record.skipped == 4
    assert record.skipped >= 1
    assert np.isfinite(record.loss)
    assert replay_log(store).parting is None


def test_reasons_are_counted(tmp_path: Path) -> None:
    store = served(tmp_path, fitted("prank"))
    store.write([], [feedback(n, what) for n, what in enumerate(BAD)])
    learn_all(store)
    kept = json.loads(record_of(store).ledger)["skipped"]
    assert kept == {"features": 1, "label": 1, "missing": 1, "refused": 1, "width": 1}
    assert record_of(store).learned == 1  # a row is a round: one document is enough


def test_a_model_learns_only_while_it_is_served(tmp_path: Path) -> None:
    store = served(tmp_path, fitted(), fitted(seed=3), other_model())
    words = ["good", "promote 2", "good", "good", "promote 1", "good", "promote 3", "good"]
    for number, word in enumerate([*words, "experiment", "good", "end", "good"]):
        do(store, number, word)
    learn_all(store)
    assert record_of(store, 1).learned == 3
    assert record_of(store, 2).learned == 3
    assert store.learner(3) is None
    assert not record_of(store, 1).active
    check_as_twin(store, 1)
    check_as_twin(store, 2)


def test_states_are_published_at_most_so_often(tmp_path: Path) -> None:
    now = [100.0]
    store = served(tmp_path, fitted())
    learner = Learner(store, Settings(publish=0.25), clock=lambda: now[0])
    store.write([], [feedback(0)])
    assert learner.step()
    assert record_of(store).learned == 1  # at once: nothing was published lately
    for number in range(1, 4):
        store.write([], [feedback(number)])
        assert learner.step()
    assert record_of(store).learned == 1
    now[0] += 0.3
    store.write([], [feedback(4)])
    assert learner.step()
    assert record_of(store).learned == 5
    store.write([], [feedback(5)])
    learner.step()
    assert not learner.step()  # caught up
    assert record_of(store).learned == 6


def test_two_learners_never_learn_an_event_twice(tmp_path: Path) -> None:
    store = served(tmp_path, fitted())
    slow = learner_of(store, publish=1000.0)
    store.write([], [feedback(0)])
    slow.step()
    store.write([], [feedback(1)])
    slow.step()
    learn_all(store)
    with pytest.raises(OvertakenError):
        slow.publish()
    slow.forget()
    store.write([], [feedback(2)])
    while slow.step():
        pass
    check_as_twin(store, 1)


def test_one_who_was_overtaken_goes_on_from_there(tmp_path: Path) -> None:
    store = served(tmp_path, fitted())
    slow = Learner(store, Settings(publish=1000.0), clock=lambda: 0.0)
    election = store.election()
    store.write([], [feedback(0)])
    slow.step()
    learn_all(store)
    store.write([], [feedback(1)])
    for _ in range(6):
        slow._turn(election)
    election.close()
    assert record_of(store).learned == 2
    check_as_twin(store, 1)


def test_places_of_models_that_sleep_are_written_now_and_then(tmp_path: Path) -> None:
    now = [100.0]
    store = served(tmp_path, fitted(), fitted(seed=3))
    store.promote(2, 0.0, "second")
    learner = Learner(store, Settings(), clock=lambda: now[0])
    while learner.step():
        pass
    for number in range(5):
        store.write([], [feedback(number)])
    while learner.step():
        pass
    asleep = record_of(store, 1)
    now[0] += 20
    learner.step()
    assert asleep.position < record_of(store, 1).position == len(all_events(store))


def test_the_comparator_is_fixed_at_the_beginning(tmp_path: Path) -> None:
    other = tmp_path / "other.rw"
    rw.save(fitted(seed=9), other)
    store = served(tmp_path, fitted())
    own = served(tmp_path, fitted(), name="own.db")
    for one in (store, own):
        one.write([], [feedback(n) for n in range(5)])
    learn_all(store, comparator=str(other))
    learn_all(own)
    store.write([], [feedback(n) for n in range(5, 10)])
    learn_all(store)  # started anew, without the option
    kept = json.loads(record_of(store).ledger)["account"]
    assert kept["comparator"] == {"weights": fitted(seed=9).coef_.tolist()}
    assert json.loads(record_of(own).ledger)["account"]["comparator"] is None
    assert record_of(store).bound != record_of(own).bound
    replayed = replay_log(store)
    assert replayed.parting is None


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: fitted("prank"), "must be a SLAMPerceptron, as the model is, but is a PRank"),
        (
            lambda: rw.SLAMPerceptron().fit(np.eye(3), [0, 1, 2]),
            "the model's 4 features, but has 3",
        ),
        (lambda: fitted("slam-kernel"), "kernel"),
    ],
)
def test_a_comparator_of_another_form_is_no_comparator(
    make: Any, said: str, tmp_path: Path
) -> None:
    rw.save(make(), tmp_path / "other.rw")
    store = served(tmp_path, fitted())
    store.write([], [feedback(0)])
    learn_all(store, comparator=str(tmp_path / "other.rw"))
    record = record_of(store)
    assert record.bound is None
    assert said in record.reason
    assert "\n" not in record.reason


def test_a_comparator_that_is_no_file(tmp_path: Path) -> None:
    store = served(tmp_path, fitted())
    with pytest.raises(DataError, match=r"no\.rw: cannot be read"):
        learner_of(store, comparator=str(tmp_path / "no.rw"))
    (tmp_path / "bad.rw").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"bad\.rw"):
        learner_of(store, comparator=str(tmp_path / "bad.rw"))


def test_no_bound_has_a_reason(tmp_path: Path) -> None:
    store = served(tmp_path, fitted("pamir"))
    store.write([], [feedback(n) for n in range(5)])
    learn_all(store)
    record = record_of(store)
    assert record.bound is None
    assert "PAMIR" in record.reason
    assert record.loss > 0


def test_a_model_that_cannot_be_read_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = served(tmp_path, fitted(), fitted(seed=3))
    store.begin_experiment("x", 1, 2, 0.5, 0.0, "x")
    store.write([], [feedback(0)])
    whole, read = Pupil.of, []

    def broken(store: Store, record: Any) -> Pupil:
        read.append(record.model_id)
        if record.model_id == 1:
            raise DataError("is no model file.")
        return whole(store, record)

    monkeypatch.setattr("rankwright.serve.learning.learner.Pupil.of", broken)
    learn_all(store)
    assert [record_of(store, n).learned for n in (1, 2)] == [0, 1]
    assert read.count(1) == 1
    learn_all(store)
    monkeypatch.undo()
    learn_all(store)
    assert [record_of(store, n).learned for n in (1, 2)] == [1, 1]


def test_models_whose_classes_are_texts_do_not_learn(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(20, 4))
    model = rw.PRank(classes=["bad", "good"]).fit(X, np.where(X[:, 0] > 0, "good", "bad"))
    assert "texts" in why_it_cannot_learn(model)
    store = served(tmp_path, model)
    assert store.learner(1) is None
    learn_all(store)


@pytest.mark.parametrize(
    ("model", "learns"),
    [
        (fitted(), True),
        (fitted("predtron-classifier"), True),
        (other_model(), False),
        (rw.PredtronMultilabel().fit(np.eye(4), np.eye(4, dtype=int)), False),
        (rw.SLAMPerceptron(kernel="precomputed").fit(np.eye(4), [0, 1, 2, 3]), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_which_models_learn(model: Any, learns: bool) -> None:
    assert (why_it_cannot_learn(model) == "") == learns


def test_a_model_promoted_while_it_runs_is_met(tmp_path: Path) -> None:
    store = served(tmp_path, other_model())
    learner = learner_of(store)
    assert not learner.step()  # nobody learns yet
    number = add(store, fitted())
    store.promote(number, 0.0, "second")
    store.write([], [feedback(0)])
    while learner.step():
        pass
    third = add(store, fitted(seed=4))
    store.promote(third, 0.0, "third")
    store.write([], [feedback(1), feedback(2)])
    while learner.step():
        pass
    assert [record_of(store, n).learned for n in (number, third)] == [1, 2]


def test_content_is_the_same_whichever_version_wrote_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted()
    before = packed(model)
    monkeypatch.setattr("rankwright.persistence.__version__", "9.9.9")
    after = packed(model)
    assert before != after
    assert content_digest(before) == content_digest(after)
    model.coef_[0] += 1e-15
    assert content_digest(packed(model)) != content_digest(after)


# ---- for good ----


def test_it_follows_the_log_until_it_is_told_to_stop(tmp_path: Path) -> None:
    store = served(tmp_path, fitted())
    stop = threading.Event()
    learner = Learner(store, Settings())
    thread = threading.Thread(target=learner.run, args=(stop,))
    thread.start()
    try:
        for number in range(3):
            store.write([], [feedback(number)])
            wait_for(lambda n=number: record_of(store).learned == n + 1)
    finally:
        stop.set()
        thread.join()
    check_as_twin(store, 1)


def test_what_was_learned_is_written_at_the_end(tmp_path: Path) -> None:
    store = served(tmp_path, fitted())
    stop = threading.Event()
    learner = Learner(store, Settings(publish=1000.0))
    store.write([], [feedback(0)])
    learner.step()
    store.write([], [feedback(1)])
    step = learner.step

    def last_step() -> bool:
        stop.set()
        return step()

    vars(learner)["step"] = last_step
    learner.run(stop)
    assert record_of(store).learned == 2


def test_one_of_two_is_the_learner_and_the_other_takes_over(tmp_path: Path) -> None:
    store = served(tmp_path, fitted())
    second = open_store(str(tmp_path / "a.db"))
    stops = [threading.Event(), threading.Event()]
    learners = [Learner(store, Settings()), Learner(second, Settings())]
    threads = [
        threading.Thread(target=learner.run, args=(stop,))
        for learner, stop in zip(learners, stops, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        store.write([], [feedback(0)])
        wait_for(lambda: record_of(store).learned == 1)
        stops[0].set()
        threads[0].join()
        store.write([], [feedback(1), feedback(2)])
        wait_for(lambda: record_of(store).learned == 3)
    finally:
        for stop in stops:
            stop.set()
        for thread in threads:
            thread.join()
    check_as_twin(store, 1)


class Ailing:
    """A store that does not answer now and then."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.n_refused = 0
        self._random = np.random.default_rng(0)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in ("events", "advance", "learners") and self._random.random() < 0.7:
            self.n_refused += 1
            raise StoreUnavailableError("the disk is full")
        return found


def test_a_store_that_is_down_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankwright.serve.learning.learner._PAUSE", 0.01)
    store = served(tmp_path, fitted())
    store.write([], [feedback(number) for number in range(8)])
    ailing: Any = Ailing(store)
    stop = threading.Event()
    thread = threading.Thread(target=Learner(ailing, Settings(publish=0.0)).run, args=(stop,))
    thread.start()
    try:
        wait_for(lambda: record_of(store).learned == 8)
    finally:
        stop.set()
        thread.join()
    assert ailing.n_refused > 0
    check_as_twin(store, 1)


def process_of(store: str, *more: str, **settings: Any) -> subprocess.Popen[bytes]:
    told = json.dumps(asdict(Settings(store=store, **settings)))
    words = [sys.executable, "-m", "rankwright.serve.learning.learner", told, *more]
    return subprocess.Popen(words, stderr=subprocess.PIPE)


def test_the_process_ends_when_it_is_told_to(tmp_path: Path) -> None:
    store = served(tmp_path, fitted())
    with process_of(str(tmp_path / "a.db")) as process:
        try:
            store.write([], [feedback(0)])
            wait_for(lambda: record_of(store).learned == 1, seconds=60)
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()
    check_as_twin(store, 1)


def test_the_process_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    served(tmp_path, fitted())
    reading, writing = os.pipe()
    told = json.dumps(asdict(Settings(store=str(tmp_path / "a.db"))))
    words = [sys.executable, "-m", "rankwright.serve.learning.learner", told, str(reading)]
    process = subprocess.Popen(words, pass_fds=[reading])
    os.close(reading)
    try:
        assert process.poll() is None
        os.close(writing)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def test_a_store_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    process = process_of(str(tmp_path / "none.db"))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.startswith(b"rankwright: ")
    assert errors.count(b"\n") == 1


def wait_for(met: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end
        time.sleep(0.02)
