"""The store on top of a database: each method is one transaction."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, delete, insert

from rankwright.serve.records import (
    ArmSums,
    EventRecord,
    ExperimentRecord,
    Fate,
    LearnerRecord,
    Mark,
    ModelRecord,
    NewEvent,
    RankingRecord,
    Serving,
)
from rankwright.serve.store import control, learners, log, schema
from rankwright.serve.store.backend import Backend
from rankwright.serve.store.interface import Counts, Election
from rankwright.serve.store.judgements import sums_by_arm

P = ParamSpec("P")
T = TypeVar("T")


class SQLStore:
    """A store in a database; see :class:`~rankwright.serve.store.interface.Store`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __repr__(self) -> str:
        return f"SQLStore({self._backend.name!r})"

    # ---- log ----

    def write(self, rankings: Sequence[RankingRecord], events: Sequence[NewEvent]) -> list[Fate]:
        """Write these, and return when they are durable: one outcome for each event."""
        with self._backend.writing(append=bool(events)) as connection:
            log.write_rankings(self._backend, connection, rankings)
            return [outcome for _, outcome in log.append(connection, events)] if events else []

    def probe(self) -> None:
        """Write a few bytes durably; StoreUnavailableError if that cannot be done."""
        with self._backend.writing(append=False) as connection:
            connection.execute(delete(schema.meta).where(schema.meta.c.name == "probed"))
            connection.execute(insert(schema.meta), {"name": "probed", "value": str(time.time())})

    def ranking(self, ranking_id: str) -> RankingRecord | None:
        """Return a ranking; None if it is not there."""
        return self._read(log.find_ranking, ranking_id)

    def rankings(self, ranking_ids: Sequence[str]) -> dict[str, RankingRecord]:
        """Return those of these rankings that are there, by their ids."""
        with self._backend.reading() as connection:
            return log.find_rankings(connection, ranking_ids)

    def last_rankings(self, count: int) -> list[RankingRecord]:
        """Return the newest rankings, newest first."""
        return self._read(log.newest_rankings, count)

    def events(self, after: int, limit: int) -> list[EventRecord]:
        """Return the events behind a place, in order, at most so many."""
        return self._read(log.read_events, after, limit)

    def known_events(self, event_ids: Sequence[str]) -> dict[str, bytes]:
        """Return the digests of those of these events that the log has, by their ids."""
        with self._backend.reading() as connection:
            return log.digests_of(connection, event_ids)

    def counts(self) -> Counts:
        """Return how much there is."""
        with self._backend.reading() as connection:
            return Counts(
                log.count_feedback(connection),
                log.count_rankings(connection),
                self._backend.n_bytes(connection),
                log.last_place(connection),
            )

    def expire(self, before: float) -> int:
        """Empty what is older than a time, some at a time; return how many events were emptied."""
        learners.expire_rankings(self._backend, before)
        n_emptied = learners.expire_events(self._backend, before)
        self._backend.shrink()
        return n_emptied

    # ---- models ----

    def add_model(
        self, content: bytes, kind: str, learns: bool, at: float, note: str = ""
    ) -> ModelRecord:
        """Keep a model file; one that is there already is returned as it is."""
        digest = hashlib.sha256(content).hexdigest()
        record = ModelRecord(0, digest, kind, learns, at, note)
        return self._append(control.insert_model, content, record)

    def models(self) -> list[ModelRecord]:
        """Return all models, oldest first."""
        return self._read(control.list_models)

    def model_content(self, model_id: int) -> bytes:
        """Return a model file; KeyError without it."""
        return self._read(control.find_model, model_id)

    def promote(self, model_id: int, at: float, event_id: str) -> Serving:
        """Serve a model from here on: an event of the log. KeyError without it."""
        return self._append(control.promote, model_id, at, event_id)

    def serving(self) -> Serving | None:
        """Return who ranks now; None before the first promotion."""
        return self._read(control.read_serving)

    # ---- learners ----

    def learners(self) -> list[LearnerRecord]:
        """Return all learners, without their contents."""
        return self._read(learners.list_learners)

    def learner(self, model_id: int) -> LearnerRecord | None:
        """Return a learner with its content."""
        return self._read(learners.read_learner, model_id)

    def base(self, model_id: int) -> LearnerRecord | None:
        """Return what a learner knew when events were last emptied; None if none were."""
        return self._read(learners.read_learner, model_id, schema.bases)

    def advance(self, since: int, learner: LearnerRecord, mark: Mark | None) -> None:
        """Write where a learner is, and a mark, in one transaction."""
        with self._backend.writing(append=False) as connection:
            learners.write_learner(connection, since, learner, mark)

    def marks(self, model_id: int, after: int = 0, limit: int = 100_000) -> list[Mark]:
        """Return the steps of a learner behind a position, in order."""
        return self._read(learners.read_marks, model_id, after, limit)

    def election(self) -> Election:
        """Return a candidate."""
        return self._backend.election()

    # ---- experiments ----

    def begin_experiment(
        self, name: str, a: int, b: int, share: float, at: float, event_id: str
    ) -> ExperimentRecord:
        """Let two models share the queries: an event of the log; ValueError while one runs."""
        return self._append(control.begin, name, a, b, share, at, event_id)

    def end_experiment(self, at: float, event_id: str) -> ExperimentRecord:
        """End the one that runs: an event of the log; ValueError without one."""
        return self._append(control.end, at, event_id)

    def arm_sums(self, experiment: ExperimentRecord) -> dict[str, ArmSums]:
        """Return what the judged rankings of each arm, a and b, add up to."""
        with self._backend.reading() as connection:
            return sums_by_arm(connection, experiment)

    def arm_values(self, experiment: ExperimentRecord) -> dict[str, list[tuple[str, float]]]:
        """Return query and value of the judged rankings of each arm, in the order of the log."""
        return self._read(log.judged_values, experiment)

    def experiments(self) -> list[ExperimentRecord]:
        """Return all, oldest first."""
        return self._read(control.list_experiments)

    # ---- the house ----

    @contextmanager
    def snapshot(self) -> Iterator[SQLStore]:
        """Give a store that sees one moment, for replay and export."""
        with self._backend.pinned() as backend:
            yield SQLStore(backend)

    def close(self) -> None:
        """Let go of everything."""
        self._backend.close()

    def _read(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._backend.reading() as connection:
            return function(connection, *args, **kwargs)

    def _append(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do something to the log while no one else does."""
        with self._backend.writing(append=True) as connection:
            return function(connection, *args, **kwargs)
