"""The one thread of a process that writes to the log: many callers share a commit.

An fsync takes milliseconds, whether for one event or for a hundred. So whatever comes while one
commit is under way waits for the next, and goes into it together.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice

from rankwright.serve.records import Fate, NewEvent, RankingRecord
from rankwright.serve.settings import Limits
from rankwright.serve.store.interface import Store, StoreError, StoreUnavailableError

_log = logging.getLogger(__name__)

_GROUP = 4 << 20  # bytes of rankings, and of events, in a commit: one more is never far off
_GATHER = 0.2  # seconds that rankings alone wait for company
_AGAIN = 0.5  # seconds between two tries while the store does not answer
_OVERHEAD = 300  # bytes of a record beside its arrays and texts


@dataclass(frozen=True, eq=False)
class _Request:
    """Events of one caller, who waits."""

    events: list[NewEvent]
    n_bytes: int
    answer: Future[list[Fate]]


@dataclass(frozen=True, eq=False, slots=True)
class _Logged:
    """A ranking that waits, which nobody waits for."""

    record: RankingRecord
    n_bytes: int


class Writer:
    """Writes rankings behind the answer, and feedback before it.

    Parameters
    ----------
    store : Store
        Where to.
    limits : Limits
        ``waiting`` bounds the bytes of rankings that wait, and those of events.

    Attributes
    ----------
    n_waiting : int
        Rankings that wait.
    n_dropped : int
        Rankings that were not written.
    n_commits : int
        Transactions that were written.
    problem : str
        Why the store did not take the last write; ``""`` if it did.
    """

    def __init__(self, store: Store, limits: Limits) -> None:
        self._store, self._most = store, limits.waiting
        self._wake = threading.Condition()
        self._rankings: dict[str, RankingRecord] = {}  # by their ids, until they are durable
        self._n_bytes = 0  # of them
        self._queue: deque[_Logged] = deque()  # those that are not being written
        self._requests: deque[_Request] = deque()
        self._n_event_bytes = 0
        self._closing = False
        self.n_dropped = self.n_commits = 0
        self.problem = ""
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    @property
    def n_waiting(self) -> int:
        """Rankings that wait."""
        return len(self._rankings)

    @property
    def healthy(self) -> bool:
        """Whether the store took the last write."""
        return not self.problem

    def log(self, ranking: RankingRecord) -> bool:
        """Let a ranking be written soon; return False, without waiting, if there is no room."""
        n_bytes = _ranking_bytes(ranking)
        with self._wake:
            if self._closing or self._n_bytes + n_bytes > self._most:
                self.n_dropped += 1
                return False
            self._rankings[ranking.ranking_id] = ranking
            self._queue.append(_Logged(ranking, n_bytes))
            self._n_bytes += n_bytes
            if self._n_bytes == n_bytes or self._n_bytes >= _GROUP:
                self._wake.notify()
            return True

    def append(self, events: Sequence[NewEvent]) -> Future[list[Fate]]:
        """Let events be written next; the answer comes when they are durable.

        StoreUnavailableError in it: nothing was written, or (a connection lost during the commit)
        nobody knows; whoever sends them again is on the safe side.
        """
        answer: Future[list[Fate]] = Future()
        answer.set_running_or_notify_cancel()  # what is being written cannot be taken back
        request = _Request(list(events), sum(map(_event_bytes, events)), answer)
        with self._wake:
            if self._closing:
                answer.set_exception(StoreUnavailableError("the service is ending."))
            elif self._requests and self._n_event_bytes + request.n_bytes > self._most:
                answer.set_exception(StoreUnavailableError("too many events wait to be written."))
            else:
                self._requests.append(request)
                self._n_event_bytes += request.n_bytes
                self._wake.notify()
        return answer

    def pending(self, ranking_id: str) -> RankingRecord | None:
        """Return a ranking that is not durable yet; None if it is not here."""
        return self._rankings.get(ranking_id)

    def close(self) -> None:
        """Write what waits, answer everyone, and end."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    # ---- the thread ----

    def _run(self) -> None:
        while self._wait():
            rankings, requests = self._take()
            try:
                self._write(rankings, requests)
            except Exception:  # a mistake of ours: nobody must wait forever for it
                _log.exception("the writer went on after an error")
            finally:
                for request in requests:
                    if not request.answer.done():
                        request.answer.set_exception(StoreUnavailableError("it was not written."))
        with self._wake:
            self.n_dropped += len(self._rankings)
            self._rankings.clear()

    def _wait(self) -> bool:
        """Wait for something to write; return False at the end."""
        with self._wake:
            if self.problem:  # try again after a while, if only to see whether it is over
                self._wake.wait_for(self._is_urgent, _AGAIN)
            else:
                self._wake.wait_for(lambda: self._is_urgent() or self._queue)
                self._wake.wait_for(lambda: self._is_urgent() or self._n_bytes >= _GROUP, _GATHER)
            if not self._closing:
                return True
            # While the store does not answer, an end does not wait for rankings.
            return bool(self._requests) or (bool(self._queue) and not self.problem)

    def _is_urgent(self) -> bool:
        return self._closing or bool(self._requests)

    def _take(self) -> tuple[list[_Logged], list[_Request]]:
        """Take the oldest that wait, as much as goes into one commit."""
        with self._wake:
            requests: list[_Request] = []
            n_bytes = 0
            while self._requests and n_bytes < _GROUP:
                requests.append(self._requests.popleft())
                n_bytes += requests[-1].n_bytes
            self._n_event_bytes -= n_bytes
        rankings: list[_Logged] = []
        n_bytes = 0
        while self._queue and n_bytes < _GROUP:  # without the lock: others only append
            rankings.append(self._queue.popleft())
            n_bytes += rankings[-1].n_bytes
        return rankings, requests

    def _write(self, rankings: list[_Logged], requests: list[_Request]) -> None:
        """Write a group; if it cannot be written as it is, each part for itself."""
        events = [new for request in requests for new in request.events]
        try:
            if events or rankings:
                records = [ranking.record for ranking in rankings]
                outcomes = iter(self._store.write(records, events))
            else:
                self._store.probe()
                outcomes = iter(())
        except StoreUnavailableError as error:
            self._fail(error, rankings, requests)
        except Exception as error:
            if len(requests) + bool(rankings) > 1:
                for request in requests:
                    self._write([], [request])
                if rankings:
                    self._write(rankings, [])
            elif len(rankings) > 1:
                half = len(rankings) // 2
                self._write(rankings[:half], [])
                self._write(rankings[half:], [])
            else:
                self._refuse(error, rankings, requests)
        else:
            self.problem = ""
            self.n_commits += 1
            self._forget(rankings)
            for request in requests:
                request.answer.set_result(list(islice(outcomes, len(request.events))))

    def _fail(
        self, error: StoreUnavailableError, rankings: list[_Logged], requests: list[_Request]
    ) -> None:
        """Tell those who wait; rankings wait on for better times."""
        self._queue.extendleft(reversed(rankings))
        if not self.problem:
            _log.error("the store does not answer: %s", error)
        self.problem = str(error)
        for request in requests:
            request.answer.set_exception(error)

    def _refuse(self, error: Exception, rankings: list[_Logged], requests: list[_Request]) -> None:
        """Leave out what cannot be written, now or later."""
        if isinstance(error, StoreError):
            self.problem = str(error)
        for request in requests:
            request.answer.set_exception(error)
        if rankings:
            _log.error("a ranking cannot be written: %s", error)
            self._forget(rankings)
            with self._wake:
                self.n_dropped += len(rankings)

    def _forget(self, rankings: list[_Logged]) -> None:
        for ranking in rankings:
            del self._rankings[ranking.record.ranking_id]
        with self._wake:
            self._n_bytes -= sum(ranking.n_bytes for ranking in rankings)


def _ranking_bytes(ranking: RankingRecord) -> int:
    features = 0 if ranking.features is None else ranking.features.nbytes
    return _OVERHEAD + features + ranking.scores.nbytes + sum(map(len, ranking.ids))


def _event_bytes(new: NewEvent) -> int:
    lesson = new.lesson
    if lesson is None:
        return _OVERHEAD
    features = 0 if lesson.features is None else lesson.features.nbytes
    return _OVERHEAD + features + lesson.labels.nbytes + sum(map(len, lesson.ids))
