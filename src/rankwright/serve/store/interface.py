"""What the service asks of a store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

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


class StoreError(ValueError):
    """A store that cannot be used as it is: one line says why."""


class StoreUnavailableError(OSError):
    """The store does not answer now, or its disk is full: nothing was written."""


class OvertakenError(RuntimeError):
    """Another learner has written meanwhile: what this one knows is no longer the state."""


@dataclass(frozen=True)
class Counts:
    """How much there is: feedback events, rankings, bytes on disk; and the log's last place."""

    events: int
    rankings: int
    n_bytes: int
    last: int = 0


class Election(Protocol):
    """The right to be the learner, of one process at a time; it ends with the process."""

    def held(self) -> bool:
        """Try to get it, or tell whether it is still ours. Never waits."""
        ...

    def close(self) -> None:
        """Give it up."""
        ...


class Store(Protocol):
    """A log, models and learners. Every method is one transaction; threads may share a store."""

    # ---- log ----

    def write(self, rankings: Sequence[RankingRecord], events: Sequence[NewEvent]) -> list[Fate]:
        """Write these, and return when they are durable: one outcome for each event.

        The events get their places in the order in which they are given. Of a duplicate or a
        conflict nothing is written. All or nothing: StoreUnavailableError leaves nothing behind,
        but if the connection was lost during the commit, it may have left everything: events sent
        again are then duplicates. ValueError: a text that no database can hold.
        """
        ...

    def probe(self) -> None:
        """Write a few bytes durably; StoreUnavailableError if that cannot be done."""
        ...

    def ranking(self, ranking_id: str) -> RankingRecord | None:
        """Return a ranking; None if it is not there."""
        ...

    def rankings(self, ranking_ids: Sequence[str]) -> dict[str, RankingRecord]:
        """Return those of these rankings that are there, by their ids."""
        ...

    def last_rankings(self, count: int) -> list[RankingRecord]:
        """Return the newest rankings, newest first."""
        ...

    def events(self, after: int, limit: int) -> list[EventRecord]:
        """Return the events behind a place, in order, at most so many."""
        ...

    def known_events(self, event_ids: Sequence[str]) -> dict[str, bytes]:
        """Return the digests of those of these events that the log has, by their ids."""
        ...

    def counts(self) -> Counts:
        """Return how much there is."""
        ...

    def expire(self, before: float) -> int:
        """Empty what is older than a time; return how many events were emptied.

        Rankings go. Events that every learner has passed lose their lesson, and keep their place,
        id and digest: an event sent again is still known. Those of experiments keep query and
        value too. ``base`` then has what the learners knew.
        """
        ...

    # ---- models ----

    def add_model(
        self, content: bytes, kind: str, learns: bool, at: float, note: str = ""
    ) -> ModelRecord:
        """Keep a model file; one that is there already is returned as it is."""
        ...

    def models(self) -> list[ModelRecord]:
        """Return all models, oldest first."""
        ...

    def model_content(self, model_id: int) -> bytes:
        """Return a model file; KeyError without it."""
        ...

    def promote(self, model_id: int, at: float, event_id: str) -> Serving:
        """Serve a model from here on: an event of the log. KeyError without it.

        A model that learns gets its learner in the same transaction; one that is there wakes when
        it meets the event. An experiment that runs is ended first. The model that is served
        already, without an experiment, is left as it is, without an event.
        """
        ...

    def serving(self) -> Serving | None:
        """Return who ranks now; None before the first promotion."""
        ...

    # ---- learners ----

    def learners(self) -> list[LearnerRecord]:
        """Return all learners, without their contents (``b""``)."""
        ...

    def learner(self, model_id: int) -> LearnerRecord | None:
        """Return a learner with its content."""
        ...

    def base(self, model_id: int) -> LearnerRecord | None:
        """Return a learner as it was when events were last emptied, to replay from; else None."""
        ...

    def advance(self, since: int, learner: LearnerRecord, mark: Mark | None) -> None:
        """Write where a learner is, and a mark, in one transaction.

        ``since`` is the position from which it went on; OvertakenError if it is not that any more.
        """
        ...

    def marks(self, model_id: int, after: int = 0, limit: int = 100_000) -> list[Mark]:
        """Return the steps of a learner behind a position, in order."""
        ...

    def election(self) -> Election:
        """Return a candidate."""
        ...

    # ---- experiments ----

    def begin_experiment(
        self, name: str, a: int, b: int, share: float, at: float, event_id: str
    ) -> ExperimentRecord:
        """Let two models share the queries: an event of the log; ValueError while one runs."""
        ...

    def end_experiment(self, at: float, event_id: str) -> ExperimentRecord:
        """End the one that runs: an event of the log; ValueError without one."""
        ...

    def experiments(self) -> list[ExperimentRecord]:
        """Return all, oldest first."""
        ...

    def arm_sums(self, experiment: ExperimentRecord) -> dict[str, ArmSums]:
        """Return what the judged rankings of each arm, a and b, add up to."""
        ...

    def arm_values(self, experiment: ExperimentRecord) -> dict[str, list[tuple[str, float]]]:
        """Return query and value of the judged rankings of each arm, in the order of the log."""
        ...

    # ---- the house ----

    def snapshot(self) -> AbstractContextManager[Store]:
        """Give a store that sees one moment, for replay and export."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...
