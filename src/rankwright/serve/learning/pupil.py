"""What one model learns from the log: the same bits live and in a replay, wherever they stop.

A pupil walks the log. Promotions and experiments tell it whether its model is served; while it is,
every feedback is a lesson. It learns whole events, one after the other, and several in one call
only where its bits do not depend on that.
"""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from rankwright.data.validation import Floats
from rankwright.persistence import packed, unpack_model
from rankwright.serve.learning.account import Account
from rankwright.serve.learning.fingerprints import content_digest, processor
from rankwright.serve.learning.lessons import Lessons, Skip, Taker, in_order, lesson_of
from rankwright.serve.records import EventRecord, Kind, LearnerRecord, Mark, NewEvent
from rankwright.serve.store.interface import Store

_NOT_OPENED = "nobody keeps an account of it."
_log = logging.getLogger(__name__)


@dataclass
class Duty:
    """Whether a model is served, at one place of the log.

    Attributes
    ----------
    promoted : bool
        Whether it was the last that was promoted.
    running : bool
        Whether an experiment runs, which then decides.
    arm : bool
        Whether the model is one of its arms.
    """

    promoted: bool = False
    running: bool = False
    arm: bool = False

    @property
    def active(self) -> bool:
        """Whether the model is served."""
        return self.arm if self.running else self.promoted

    def pass_by(self, model_id: int, event: NewEvent) -> None:
        """Take notice of an event that is no feedback."""
        told = event.details
        if event.kind is Kind.promotion:
            self.promoted, self.running, self.arm = told["model"] == model_id, False, False
        elif event.kind is Kind.experiment:
            self.running = bool(told["running"])
            self.arm = self.running and model_id in (told["a"], told["b"])


class Pupil:
    """A model on its way along the log.

    Parameters
    ----------
    record : LearnerRecord
        Where it is, with its content.
    first : bytes
        The model file that was served first.
    duty : Duty, optional
        Whether it is served, if the record does not tell: of one that never was in these hands.

    Attributes
    ----------
    model : estimator
        What it knows.
    position, learned, loss
        As of :class:`~rankwright.serve.records.LearnerRecord`.
    written : int
        The position that the store has.
    skipped : Counter of Skip
        What it passed by, by reason.
    """

    def __init__(self, record: LearnerRecord, first: bytes, duty: Duty | None = None) -> None:
        self.model_id = record.model_id
        self.model: Any = unpack_model(io.BytesIO(record.content))
        self.position = self.written = record.position
        self.learned, self.loss = record.learned, record.loss
        kept: dict[str, Any] = json.loads(record.ledger) if record.ledger else {}
        self.duty = Duty(**kept["duty"]) if kept else duty or Duty(promoted=record.active)
        self.skipped = Counter({Skip[name]: n for name, n in kept.get("skipped", {}).items()})
        self.account = Account.closed(_NOT_OPENED)
        if kept:
            self.account = Account.from_state(kept["account"], unpack_model(io.BytesIO(first)))
        self._content = record.content  # before it learned, the very bytes that it was given
        self._n_packed = record.learned
        self._taker = Taker(self.model)
        self._seqs: list[int] = []
        self._losses: list[float] = []
        self._changed = False

    @classmethod
    def of(cls, store: Store, record: LearnerRecord) -> Self:
        """Return the pupil of a record, as it stands."""
        first, duty = store.model_content(record.model_id), None
        if not record.ledger and record.position > 0:  # the store made it at an event that tells
            (event,) = store.events(record.position - 1, 1)
            duty = Duty()
            duty.pass_by(record.model_id, event.new)
        return cls(record, first, duty)

    @classmethod
    def before(cls, store: Store, live: LearnerRecord) -> Self:
        """Return the pupil that became this record: at the first event that there is to learn."""
        record = store.base(live.model_id)
        if record is None:
            first = store.model_content(live.model_id)
            record = LearnerRecord(live.model_id, 0, False, 0, 0, first)
        pupil = cls.of(store, record)
        if live.ledger and not record.ledger:
            pupil.account = Account.begun_like(json.loads(live.ledger)["account"], pupil.model)
        return pupil

    # ---- learning ----

    @property
    def is_changed(self) -> bool:
        """Whether there is something to write at once, and not only a place in the log."""
        return self._changed

    def take(self, events: Iterable[EventRecord]) -> None:
        """Pass by these events, and learn what there is to learn."""
        batch: list[EventRecord] = []
        last = self.position
        for event in events:
            if event.seq <= last:
                continue
            last = event.seq
            if event.new.kind is not Kind.feedback:
                self._learn(batch)
                batch = []
                before = replace(self.duty)
                self.duty.pass_by(self.model_id, event.new)
                self._changed |= before != self.duty
            elif self.duty.active:
                reason = self._taker.why_not(event.new.lesson)
                if reason is not None:
                    self._skip(event, reason)
                    continue
                if batch and not self._go_together(batch[-1], event):
                    self._learn(batch)
                    batch = []
                batch.append(event)
        self._learn(batch)
        self.position = last

    def _go_together(self, before: EventRecord, event: EventRecord) -> bool:
        # Of one type: what is float32 stays so, whatever stands beside it.
        kinds = {np.asarray(lesson_of(e).features).dtype for e in (before, event)}
        return bool(self.model.cut_free) and len(kinds) == 1

    def _skip(self, event: EventRecord, reason: Skip, more: str = "") -> None:
        self.skipped[reason] += 1
        self._changed = True
        _log.info("model %d skips event %d: %s%s", self.model_id, event.seq, reason.value, more)

    def _learn(self, batch: list[EventRecord]) -> None:
        if not batch:
            return
        lessons = Lessons.of(batch)
        losses = self._attempt(lessons)
        if isinstance(losses, str) and len(batch) > 1:
            # One of them is refused: which, is the same however they were put together.
            self._learn(batch[: len(batch) // 2])
            self._learn(batch[len(batch) // 2 :])
            return
        if isinstance(losses, str):
            losses = self._attempt_alone(lessons, losses)
        if isinstance(losses, str):
            self._skip(batch[0], Skip.refused, f": {losses}")
            return
        self.learned += len(batch)
        self._seqs += lessons.seqs.tolist()
        self._losses += losses.tolist()
        self.loss = in_order(np.append(self.loss, losses))
        self._changed = True

    def _attempt_alone(self, lessons: Lessons, refusal: str) -> Floats | str:
        """Try an event that was refused without the account: it may be the bound that fails."""
        account = self.account
        if account.ledger is None:
            return refusal
        self.account = account.close(refusal)
        losses = self._attempt(lessons)
        if isinstance(losses, str):
            self.account = account
        return losses

    def _attempt(self, lessons: Lessons) -> Floats | str:
        """Return the losses of events; or why not, and then nothing has changed."""
        before = {name: _kept_value(value) for name, value in vars(self.model).items()}
        account, ledger = self.account.copied(), self.account.ledger
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                rounds = self.model.partial_fit_rounds(lessons.X, lessons.y, lessons.qid, ledger)
            losses = lessons.by_event(rounds.losses)
            # Sums never come back from infinity: what is finite now was so all the time.
            if all(map(_stays_finite, vars(self.model).values())) and np.isfinite(losses).all():
                return losses
            refusal = "the weights overflow"
        except MemoryError:
            raise
        except Exception as error:  # whatever it is, it comes again: nothing stalls the learner
            refusal = " ".join(str(error).split()) or type(error).__name__
        vars(self.model).clear()
        vars(self.model).update(before)
        self.account = account
        return refusal

    # ---- what is written ----

    @property
    def content(self) -> bytes:
        """What it knows, as a model file."""
        if self._n_packed != self.learned:
            self._content, self._n_packed = packed(self.model), self.learned
        return self._content

    def record(self, now: float = 0.0) -> LearnerRecord:
        """Return where it is."""
        loss, bound, reason = self.account.figures(self.model, self.loss)
        kept = {
            "duty": vars(self.duty),
            "skipped": {reason.name: n for reason, n in sorted(self.skipped.items())},
            "account": self.account.state(),
        }
        return LearnerRecord(
            self.model_id,
            self.position,
            self.duty.active,
            self.learned,
            self.skipped.total(),
            self.content,
            ledger=json.dumps(kept, sort_keys=True),
            loss=loss,
            bound=bound,
            reason=reason,
            updated=now,
            **processor(),
        )

    def mark(self, record: LearnerRecord) -> Mark | None:
        """Return the step since the last mark; None if nothing was learned."""
        if not self._seqs:
            return None
        return Mark(
            self.model_id,
            self.position,
            self.learned,
            content_digest(record.content),
            np.array(self._seqs, dtype=np.int64),
            np.array(self._losses, dtype=np.float64),
            record.loss,
            record.bound,
        )

    def taken(self) -> tuple[list[int], list[float]]:
        """Return the events that were learned since the last time, and their losses."""
        found = self._seqs, self._losses
        self._seqs, self._losses = [], []
        return found

    def has_been_written(self) -> None:
        """Begin a new step: the store has this one."""
        self.written, self._changed = self.position, False
        self.taken()


def _kept_value(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _stays_finite(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind != "f" or bool(np.isfinite(value).all())
    return not isinstance(value, float) or bool(np.isfinite(value))
