"""Learning the log anew: the same bits, or at which event they part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rankwright.serve.learning.fingerprints import content_digest, processor
from rankwright.serve.learning.following import Follower
from rankwright.serve.learning.pupil import Pupil
from rankwright.serve.records import EventRecord, LearnerRecord, Mark
from rankwright.serve.store.interface import Store, StoreError

_MARKS = 1000  # that are read at a time


@dataclass(frozen=True)
class Parting:
    """Where a replay and the live learner part.

    Attributes
    ----------
    event : int
        The first event that differs, or the last before a state that does.
    live, again : float, optional
        The losses of both; None where one of them learned nothing, or both lost the same.
    """

    event: int
    live: float | None = None
    again: float | None = None

    def __str__(self) -> str:
        if self.live is None and self.again is None:
            return f"they part at event {self.event} (what is known differs after it)"
        live, again = (
            "not learned" if loss is None else f"loss {loss:.17g}"
            for loss in (self.live, self.again)
        )
        return f"they part at event {self.event} ({live} live, {again} replayed)"


@dataclass(frozen=True)
class Replayed:
    """What came of a replay.

    Attributes
    ----------
    live : LearnerRecord
        The learner as the store has it.
    content : bytes
        What the replay knows, as a model file.
    learned, skipped : int
        Events, since the first model was served.
    compared : int
        Events whose losses were compared.
    position : int
        The last event that was passed.
    begun : int
        The event behind which it began: 0, or where the log was last emptied.
    parting : Parting, optional
        None: the same bits.
    differs : tuple of str
        What computes here and is not what computed live; the bits may agree all the same.
    """

    live: LearnerRecord
    content: bytes
    learned: int
    skipped: int
    compared: int
    position: int
    begun: int
    parting: Parting | None
    differs: tuple[str, ...]

    @property
    def version(self) -> str:
        """The version that was reached."""
        return f"{self.live.model_id}+{self.learned}" if self.learned else str(self.live.model_id)

    def lines(self) -> list[str]:
        """Return it in words."""
        said = [f"this differs from the live learner: {what}" for what in self.differs]
        if self.begun:
            said.append(f"begun behind event {self.begun:,}, up to which the log was emptied")
        if self.parting is not None:
            return [*said, str(self.parting)]
        counted = f"{self.compared:,} event{'' if self.compared == 1 else 's'}"
        return [*said, f"the same bits: {counted}, version {self.version}"]


def replay_log(
    store: Store,
    model_id: int | None = None,
    *,
    until: int | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Replayed:
    """Learn the log anew, and compare with what the live learner did, event by event.

    Parameters
    ----------
    store : Store
        It may be in use: one moment of it is looked at.
    model_id : int, optional
        Whose learner; of the model that is served, by default.
    until : int, optional
        The last event; by default where the learner is. Up to there the live learner must have
        come.
    tell : callable
        Called with how many events are passed, and of how many.
    """
    with store.snapshot() as moment:
        live = _live_learner(moment, model_id)
        end = live.position if until is None else until
        if not 0 <= end <= live.position:
            raise ValueError(
                f"--until must be an event that the learner has passed, 0 to {live.position}, but "
                f"is {end}."
            )
        pupil = Pupil.before(moment, live)
        begun = pupil.position
        if begun > end:
            raise ValueError(
                f"the log was emptied up to event {begun}, and --until is {end}: nothing is left "
                "to replay."
            )
        judge = _Comparison(pupil, moment.marks, live.model_id)
        for events in Follower(moment).read_all(pupil.position, end):
            judge.pass_by(events)
            tell(pupil.position, end)
        judge.finish(live if end == live.position else None)
    here = processor()
    names = {"library": "rankwright", "cpu": "processor"}
    differs = [
        f"{names[name]}: {getattr(live, name)} live, {here[name]} here"
        for name in names
        if live.learned and getattr(live, name) != here[name]
    ]
    if judge.figures and judge.parting is None:
        differs.append(judge.figures)
    return Replayed(
        live,
        pupil.content,
        pupil.learned,
        pupil.skipped.total(),
        judge.n_compared,
        pupil.position,
        begun,
        judge.parting,
        tuple(differs),
    )


def _live_learner(store: Store, model_id: int | None) -> LearnerRecord:
    known = {record.model_id: record for record in store.learners()}
    if model_id is None:
        serving = store.serving()
        if serving is None:
            raise StoreError("the store has no model yet: nothing was served from it.")
        model_id = serving.promoted
        if model_id not in known and len(known) == 1:
            model_id = next(iter(known))
    if model_id not in known:
        there = ", ".join(map(str, sorted(known))) or "none"
        models = {record.model_id: record.kind for record in store.models()}
        what = f"a {models[model_id]}, which" if model_id in models else "no model of the store and"
        raise StoreError(
            f"model {model_id} is {what} has not learned; models that have: {there}. Choose one "
            "with --model."
        )
    live = store.learner(model_id)
    assert live is not None
    return live


class _Comparison:
    """Compares a replay with the marks of the live learner."""

    def __init__(self, pupil: Pupil, marks: Callable[..., list[Mark]], model_id: int) -> None:
        self.parting: Parting | None = None
        self.n_compared = 0
        self.figures = ""  # how loss and bound differ; another version may know a better bound
        self._pupil = pupil
        self._marks = _all_marks(marks, model_id, pupil.position)
        self._next = next(self._marks, None)
        self._seqs: list[int] = []
        self._losses: list[float] = []

    def pass_by(self, events: Sequence[EventRecord]) -> None:
        """Let the pupil learn these, with a look at what it knows at every mark."""
        begin = 0
        while self._next is not None and self._next.position <= events[-1].seq:
            end = self._next.position - events[0].seq + 1
            self._learn(events[begin:end])
            self._compare(self._next)
            begin = max(begin, end)
            self._next = next(self._marks, None)
        self._learn(events[begin:])

    def finish(self, live: LearnerRecord | None) -> None:
        """Compare what is known at the end, if that is where the live learner is."""
        if self.parting is None and self._seqs:  # learned here, and behind the last mark
            if self._next is None:
                self.parting = Parting(self._seqs[0], None, self._losses[0])
            else:
                self._compare_losses(self._next, whole=False)
        if self.parting is None and live is not None:
            again = self._pupil.record()
            counts = [(record.learned, record.skipped) for record in (live, again)]
            digests = [content_digest(record.content) for record in (live, again)]
            if counts[0] != counts[1] or digests[0] != digests[1]:
                self.parting = Parting(self._pupil.position)

    def _learn(self, events: Sequence[EventRecord]) -> None:
        if events:
            self._pupil.take(events)
            seqs, losses = self._pupil.taken()
            self._seqs += seqs
            self._losses += losses

    def _compare(self, mark: Mark) -> None:
        if self.parting is not None:
            return
        self._compare_losses(mark, whole=True)
        if self.parting is None:
            record = self._pupil.record()
            if content_digest(record.content) != mark.digest:
                self.parting = Parting(mark.position)
            elif not self.figures and (mark.loss, mark.bound) != (record.loss, record.bound):
                self.figures = (
                    f"loss and bound from event {mark.position} on: {mark.loss:.17g} of "
                    f"{mark.bound} live, {record.loss:.17g} of {record.bound} here"
                )
        self._seqs, self._losses = [], []

    def _compare_losses(self, mark: Mark, whole: bool) -> None:
        live = dict(zip(mark.seqs.tolist(), mark.losses.tolist(), strict=True))
        again = dict(zip(self._seqs, self._losses, strict=True))
        if not whole:
            live = {seq: loss for seq, loss in live.items() if seq <= self._pupil.position}
        self.n_compared += len(live)
        for seq in sorted(live.keys() | again.keys()):
            if live.get(seq) != again.get(seq):
                self.parting = Parting(seq, live.get(seq), again.get(seq))
                return


def _all_marks(marks: Callable[..., list[Mark]], model_id: int, after: int) -> Iterator[Mark]:
    while found := marks(model_id, after, _MARKS):
        yield from found
        after = found[-1].position


def as_facts(replayed: Replayed) -> dict[str, Any]:
    """Return what came of a replay, for machines."""
    parting = replayed.parting
    return {
        "same": parting is None,
        "model": replayed.live.model_id,
        "version": replayed.version,
        "events": replayed.position,
        "begun": replayed.begun,
        "learned": replayed.learned,
        "skipped": replayed.skipped,
        "compared": replayed.compared,
        "parting": None if parting is None else vars(parting),
        "differs": list(replayed.differs),
    }
