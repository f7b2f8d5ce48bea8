"""The learner: one process that follows the log, and learns every event exactly once.

What it knows and where it is are written in one transaction, which succeeds only if nobody else
wrote meanwhile. So it may be killed at any moment, and two of them may believe to be the one: what
was not written is learned again from the log, to the same bits.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rankwright.serve.learning.account import Account, read_comparator
from rankwright.serve.learning.following import Follower
from rankwright.serve.learning.lessons import why_it_cannot_learn
from rankwright.serve.learning.pupil import Pupil
from rankwright.serve.records import EventRecord, Kind
from rankwright.serve.settings import Settings
from rankwright.serve.store import open_store
from rankwright.serve.store.interface import OvertakenError, Store, StoreUnavailableError

POLL = 0.05  # seconds between two looks at the log
_LAZY = 10.0  # seconds between two writes of a place where nothing was learned
_PAUSE = 1.0  # seconds, after the store did not answer
_log = logging.getLogger("rankwright.serve")


class Learner:
    """Learns for all models of a store that learn.

    Parameters
    ----------
    store : Store
        With the log.
    settings : Settings
        ``publish`` and ``comparator`` count here.
    clock : callable
        Seconds, for the time between two states.
    """

    def __init__(
        self, store: Store, settings: Settings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._comparator: Any = None
        if settings.comparator is not None:
            self._comparator = read_comparator(settings.comparator)
        self._pupils: dict[int, Pupil] | None = None
        self._follower = Follower(store)
        self._unable: set[int] = set()
        self._published = self._placed = -_LAZY
        self._trouble = ""

    # ---- one pass ----

    def step(self) -> bool:
        """Read what is behind, learn it, and publish if it is time; False if nothing was there.

        Raises OvertakenError if another learner has written; call :meth:`forget` then.
        """
        pupils = self._known()
        if not pupils:
            self._pupils = None  # there may be some the next time
            return False
        events = self._follower.read(min(pupil.position for pupil in pupils.values()))
        if events:
            self._meet(events)
            for pupil in pupils.values():
                pupil.take(events)
        now = self._clock()
        if not events or now - self._published >= self._settings.publish:
            self.publish()
        return bool(events)

    def publish(self) -> None:
        """Write what was learned and not written yet."""
        now = self._clock()
        lazy = now - self._placed >= _LAZY
        for pupil in (self._pupils or {}).values():
            if pupil.is_changed or (lazy and pupil.position > pupil.written):
                record = pupil.record(time.time())
                self._store.advance(pupil.written, record, pupil.mark(record))
                pupil.has_been_written()
                self._published = now
        if lazy:
            self._placed = now

    def forget(self) -> None:
        """Drop all that was learned and not written: the store knows."""
        self._pupils = None

    # ---- who learns ----

    def _known(self) -> dict[int, Pupil]:
        if self._pupils is None:
            numbers = [record.model_id for record in self._store.learners()]
            loaded = {number: self._loaded(number) for number in numbers}
            self._pupils = {n: pupil for n, pupil in loaded.items() if pupil is not None}
        return self._pupils

    def _meet(self, events: Sequence[EventRecord]) -> None:
        """Load the learners of models that are served for the first time."""
        pupils = self._known()
        for event in events:
            if event.new.kind is not Kind.feedback:
                for name in ("model", "a", "b"):
                    model_id = event.new.details.get(name)
                    if model_id is None or model_id in pupils:
                        continue
                    if (pupil := self._loaded(model_id)) is not None:
                        pupils[model_id] = pupil

    def _loaded(self, model_id: int) -> Pupil | None:
        record = None if model_id in self._unable else self._store.learner(model_id)
        if record is None:
            return None  # a model that does not learn
        try:
            pupil = Pupil.of(self._store, record)
            reason = why_it_cannot_learn(pupil.model)
        except (ValueError, KeyError) as error:  # others learn all the same
            reason = " ".join(str(error).split())
        if reason:
            self._unable.add(model_id)
            _log.warning("model %d does not learn: %s", model_id, reason)
            return None
        if not record.ledger:
            pupil.account = Account.opened(pupil.model, self._comparator)
            if pupil.account.reason:
                _log.info("model %d has no bound: %s", model_id, pupil.account.reason)
        return pupil

    # ---- for good ----

    def run(self, stop: threading.Event) -> None:
        """Follow the log until it is time to stop; then publish, and give up the election."""
        election = self._store.election()
        try:
            while not stop.is_set():
                stop.wait(self._turn(election))
            if self._pupils is not None and election.held():
                self.publish()
        except (OvertakenError, StoreUnavailableError) as error:
            _log.info("the last step was not written, and will be learned again: %s", error)
        finally:
            with contextlib.suppress(StoreUnavailableError):
                election.close()

    def _turn(self, election: Any) -> float:
        """Make one step, if this is the learner; return how long to wait."""
        try:
            if not election.held():
                self.forget()
                return 4 * POLL
            self.step()
            self._trouble = ""
            return 0.0 if self._follower.is_behind else POLL
        except OvertakenError:
            _log.info("another learner has written: going on from there")
            self.forget()
            return POLL
        except StoreUnavailableError as error:
            # What was learned stays: it is written later, or found to be overtaken.
            if self._trouble != str(error):
                self._trouble = str(error)
                _log.warning("the learner waits for the store: %s", error)
            return _PAUSE


# ---- a process of its own ----


def run_learner(arguments: Sequence[str] | None = None) -> int:
    """Be the learner process: ``python -m rankwright.serve.learning.learner SETTINGS [ALIVE]``.

    SETTINGS are JSON; ALIVE is the reading end of a pipe that ends with the process that started
    this one. SIGTERM and SIGINT end it after the batch that is being learned, and so does the end
    of whoever started it.
    """
    given, *alive = sys.argv[1:] if arguments is None else arguments
    settings = msgspec.json.decode(given, type=Settings)
    logging.basicConfig(format="rankwright: %(message)s", level=logging.WARNING)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    watch = (_wait_for_end, int(alive[0])) if alive else (_wait_for_parent, os.getppid())
    threading.Thread(target=watch[0], args=(watch[1], stop), daemon=True).start()
    try:
        store = open_store(settings.store, create=False)
        try:
            Learner(store, settings).run(stop)
        finally:
            store.close()
    except (ValueError, OSError) as error:
        sys.stderr.write(f"rankwright: {error}\n")
        return 1
    return 0


def _wait_for_end(alive: int, stop: threading.Event) -> None:
    select.select([alive], [], [])  # nothing is ever written to it: it ended
    stop.set()


def _wait_for_parent(parent: int, stop: threading.Event) -> None:
    while os.getppid() == parent and not stop.wait(0.2):
        pass
    stop.set()


if __name__ == "__main__":
    sys.exit(run_learner())
