"""``POST /v1/feedback``: judgements, answered when they are durable.

Bodies:

- JSON: an event, or a list of events, which is a batch.
- ``application/vnd.apache.arrow.stream``: a batch. Its columns are ``event_id``, ``query``, ``id``,
  ``label`` (null: no label) and one for each feature, by name; rows of the same ``event_id`` are an
  event with documents.

An event alone is answered ``{"accepted": true, "duplicate": false}``, or refused with a status that
tells why: 422 what it says is wrong, 410 its ranking is not there (any more): send the features,
409 its ``event_id`` was there with another content, 503 the store takes nothing now: try again.

A batch is answered with a list, one entry for each event in order; an event that is refused has
``accepted`` false, ``status`` and ``error``, and does not hinder the others. The status of the
answer is then 200. With 503 none of them was accepted, as far as is known: send all again.

Sent again, an event is known by its ``event_id`` and counts once, however much later, even if what
it speaks of is gone.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import msgspec
from starlette.routing import Route

from rankwright.serve.bodies import Accepted, Feedback
from rankwright.serve.http.binary import ARROW
from rankwright.serve.http.endpoints import JSON, Answer, Call, decoded_body, json_answer, route
from rankwright.serve.http.feedback import (
    check_form,
    digest_of,
    lesson_of_documents,
    lesson_of_ranking,
    values_of_lessons,
)
from rankwright.serve.http.feedback_tables import events_of_table
from rankwright.serve.http.ranking_ids import time_of_ranking
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.http.service import Service
from rankwright.serve.ranking.board import Look
from rankwright.serve.records import EventLesson, Fate, Kind, NewEvent, RankingRecord
from rankwright.serve.watching.experiments import judged_arm

_one = msgspec.json.Decoder(Feedback)
_many = msgspec.json.Decoder(list[msgspec.Raw])
_LARGE = 1 << 17  # bytes of a body that a thread takes care of, so that others need not wait
_YOUNG = 2.0  # seconds that a ranking may take from another process to the store
_AGAIN = 0.05
_SHOWN = 512  # characters of an id in an answer: one that is too long is not sent back


@dataclass(slots=True)
class Heard:
    """An event on its way: what came, what was found, and what became of it."""

    feedback: Feedback | None = None
    digest: bytes = b""
    ranking: RankingRecord | None = None
    lesson: EventLesson | None = None
    refusal: RefusedError | None = None
    duplicate: bool = False


@dataclass(slots=True)
class Batch:
    """The events of a request; ``alone``: one that is not in a list."""

    alone: bool
    events: list[Heard] = field(default_factory=list)

    @property
    def good(self) -> list[Heard]:
        """Those that nothing was found against so far."""
        return [heard for heard in self.events if heard.refusal is None]


def routes(service: Service) -> list[Route]:
    """Return the routes."""
    return [route(service, "POST", "/v1/feedback", "feedback", take_feedback, ())]


async def take_feedback(service: Service, call: Call) -> Answer:
    """Write what callers judged into the log."""
    look = service.board.look
    large = len(call.body) > _LARGE
    batch = await service.ask(_read, service, call) if large else _read(service, call)
    await _find_rankings(service, batch)
    if large:
        events = await service.ask(_new_events, service, look, batch)
    else:
        events = _new_events(service, look, batch)
    if events:
        outcomes = await asyncio.wrap_future(service.writer.append(events))
        for heard, outcome in zip(batch.good, outcomes, strict=True):
            heard.duplicate = outcome is Fate.duplicate
            if outcome is Fate.conflict:
                heard.refusal = _conflict(heard)
    await _find_repeated(service, batch)
    return _answer_events(service, batch)


# ---- what came ----


def _read(service: Service, call: Call) -> Batch:
    kind = call.content_type.partition(";")[0].rstrip()
    if kind == ARROW:
        return Batch(False, [_hear(service, f) for f in events_of_table(service, call.body)])
    if kind not in (JSON, ""):
        text = f"a body must be {JSON} or {ARROW}, but is {kind!r:.100}."
        raise RefusedError(415, text, "content-type")
    if call.body.lstrip()[:1] != b"[":
        return Batch(True, [_hear(service, decoded_body(_one, call.body))])
    raws = decoded_body(_many, call.body)
    most = service.settings.limits.queries
    if not 1 <= len(raws) <= most:
        text = f"a batch must have from 1 to {most} events, but has {len(raws)}."
        raise RefusedError(422, text, "body")
    return Batch(False, [_hear_raw(service, bytes(raw)) for raw in raws])


def _hear_raw(service: Service, raw: bytes) -> Heard:
    try:
        feedback = decoded_body(_one, raw)
    except RefusedError as refusal:
        return Heard(refusal=refusal)
    return _hear(service, feedback)


def _hear(service: Service, feedback: Feedback) -> Heard:
    heard = Heard(feedback, digest_of(feedback))
    try:
        check_form(feedback, service.settings.limits)
    except RefusedError as refusal:
        heard.refusal = refusal
    return heard


# ---- what it speaks of ----


async def _find_rankings(service: Service, batch: Batch) -> None:
    """Look for rankings: in the queue of this process, in the store, for young ones again."""
    asked = [heard for heard in batch.good if _ranking_id(heard)]
    last = max((_youth(_ranking_id(heard)) for heard in asked), default=0.0)
    until = time.monotonic() + last
    while asked:
        for heard in asked:
            heard.ranking = service.writer.pending(_ranking_id(heard))
        names = [_ranking_id(heard) for heard in asked if heard.ranking is None]
        if names:
            found = await service.ask(service.store.rankings, names)
            for heard in asked:
                heard.ranking = heard.ranking or found.get(_ranking_id(heard))
        asked = [heard for heard in asked if heard.ranking is None]
        if asked and time.monotonic() >= until:
            break
        if asked:
            await asyncio.sleep(_AGAIN)
    for heard in asked:
        text = f"there is no ranking {_ranking_id(heard)} (any more): send the features."
        heard.refusal = RefusedError(410, text, "ranking_id")


def _ranking_id(heard: Heard) -> str:
    return (heard.feedback and heard.feedback.ranking_id) or ""


def _youth(ranking_id: str) -> float:
    """Return how many seconds a ranking may still take to come; ids of the future none more."""
    age = time.time() - (time_of_ranking(ranking_id) or 0.0)
    return min(max(_YOUNG - age, 0.0), _YOUNG)


# ---- what becomes of it ----


def _new_events(service: Service, look: Look, batch: Batch) -> list[NewEvent]:
    for heard in batch.good:
        try:
            heard.lesson = _lesson_of(look, heard)
        except RefusedError as refusal:
            heard.refusal = refusal
    good = batch.good
    # What came with its documents has not been ranked here: there is nothing to value.
    valued = [heard for heard in good if heard.ranking is not None]
    lessons = [heard.lesson for heard in valued if heard.lesson is not None]
    values = iter(values_of_lessons(lessons))
    now = time.time()
    events = []
    for heard in good:
        feedback, ranking = heard.feedback, heard.ranking
        assert feedback is not None
        new = NewEvent(feedback.event_id, now, Kind.feedback, heard.digest, heard.lesson)
        if ranking is not None:
            new = NewEvent(
                feedback.event_id,
                now,
                Kind.feedback,
                heard.digest,
                heard.lesson,
                ranking.ranking_id,
                ranking.version,
                judged_arm(look.serving.experiment, ranking),
                next(values),
            )
        events.append(new)
    return events


def _lesson_of(look: Look, heard: Heard) -> EventLesson:
    feedback, ranking = heard.feedback, heard.ranking
    assert feedback is not None
    if ranking is None:
        model, _ = look.pick(feedback.query or "")
        return lesson_of_documents(feedback, model)
    if ranking.features is None and any(model.learns for model in look.models.values()):
        raise RefusedError(
            422,
            f"ranking {ranking.ranking_id} was logged without features, and the model learns: send "
            "documents with their features.",
            "ranking_id",
        )
    model, _ = look.pick(ranking.query)
    return lesson_of_ranking(feedback, ranking, model)


async def _find_repeated(service: Service, batch: Batch) -> None:
    """Find events that were accepted before, among those that would be refused now."""
    asked = {
        heard.feedback.event_id: heard
        for heard in batch.events
        if heard.feedback is not None and heard.refusal is not None and heard.refusal.status != 409
    }
    names = [name for name in asked if 0 < len(name) <= service.settings.limits.text]
    names = [name for name in names if "\0" not in name]
    if not names:
        return
    known = await service.ask(service.store.known_events, names)
    for heard in batch.events:
        if heard.feedback is None or heard.refusal is None:
            continue
        digest = known.get(heard.feedback.event_id)
        if digest == heard.digest:
            heard.refusal, heard.duplicate = None, True
        elif digest is not None:
            heard.refusal = _conflict(heard)


def _conflict(heard: Heard) -> RefusedError:
    name = heard.feedback.event_id if heard.feedback else ""
    text = f"event_id must be new, but {name!r:.100} was there with another content."
    return RefusedError(409, text, "event_id")


def _answer_events(service: Service, batch: Batch) -> Answer:
    if batch.alone and batch.events[0].refusal is not None:
        raise batch.events[0].refusal
    duplicates = sum(heard.duplicate for heard in batch.events)
    if duplicates:
        service.telemetry.add("feedback_duplicate", duplicates)
    accepted = len(batch.good) - duplicates
    if accepted:
        service.telemetry.add("feedback_accepted", accepted)
    if batch.alone:
        return json_answer(Accepted(True, batch.events[0].duplicate))
    return json_answer([_entry(heard) for heard in batch.events])


def _entry(heard: Heard) -> Accepted:
    name = heard.feedback.event_id[:_SHOWN] if heard.feedback else msgspec.UNSET
    if heard.refusal is None:
        return Accepted(True, heard.duplicate, name)
    field = heard.refusal.field
    where = f"{field}: " if field and not heard.feedback else ""
    return Accepted(False, False, name, heard.refusal.status, f"{where}{heard.refusal.text}")
