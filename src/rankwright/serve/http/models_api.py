"""``/v1/models`` and ``/v1/state``: which models there are, who ranks, and how far learning is.

A model whose features are not those of the served one is refused with 409 when it is uploaded:
promoted, it would refuse what callers send. With ``?force=true`` it is kept, and after its
promotion

- requests must have its features; others are answered with 422, which names them;
- feedback on rankings that were made before is accepted and measured, and its learner passes over
  what has another number of features, and counts it.

A promotion is answered when this worker ranks with the new version; other workers follow within a
second. Each request is ranked by one version throughout.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
from starlette.routing import Route

from rankwright.exceptions import DataError
from rankwright.serve.bodies import ModelVersion, Promoted, Promotion, State
from rankwright.serve.http.checks import check_name
from rankwright.serve.http.endpoints import Answer, Call, json_answer, json_body, route
from rankwright.serve.http.experiments_api import control_id
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.http.service import Service
from rankwright.serve.ranking.features import content_takes, feature_conflict, unknown_model
from rankwright.serve.ranking.ways import can_learn, kind_of_content
from rankwright.serve.records import NOT_YET, LearnerRecord, ModelRecord, Serving

_BINARY = "application/octet-stream"
_promotion = msgspec.json.Decoder(Promotion)


def routes(service: Service) -> list[Route]:
    """Return the routes."""
    return [
        route(service, "GET", "/v1/models", "any", list_versions, ()),
        route(service, "POST", "/v1/models", "admin", upload, ("note", "force")),
        route(service, "POST", "/v1/models/promote", "admin", promote_model, ()),
        route(service, "POST", "/v1/models/rollback", "admin", roll_back, ("leave",)),
        route(service, "GET", "/v1/models/{model}", "any", download, ("learned",)),
        route(service, "GET", "/v1/state", "any", tell_state, ()),
    ]


# ---- what there is ----


async def list_versions(service: Service, call: Call) -> Answer:
    """Return all models, oldest first."""
    return json_answer(await service.ask(model_versions, service))


def model_versions(service: Service) -> list[ModelVersion]:
    """Return all models, oldest first; waits for the store."""
    store = service.store
    learners, serving = store.learners(), store.serving()
    return [_as_version(record, learners, serving) for record in store.models()]


def _as_version(
    record: ModelRecord, learners: Sequence[LearnerRecord], serving: Serving | None
) -> ModelVersion:
    number = record.model_id
    learner = next((one for one in learners if one.model_id == number), None)
    return ModelVersion(
        model=number,
        version=str(number) if learner is None else learner.version,
        kind=record.kind,
        digest=record.digest,
        added=record.added,
        note=record.note,
        learns=record.learns,
        serving=serving is not None and number in ranking_models(serving),
        learned=0 if learner is None else learner.learned,
        skipped=0 if learner is None else learner.skipped,
    )


def ranking_models(serving: Serving) -> set[int]:
    """Return the models that rank now: the promoted one, or both of an experiment."""
    experiment = serving.experiment
    return {serving.promoted} if experiment is None else {experiment.a, experiment.b}


async def download(service: Service, call: Call) -> Answer:
    """Return a model file; with ``?learned=true`` what the model is after all it has learned."""
    number = call.path["model"]
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise unknown_model(number)
    learned = _flag(call, "learned")
    name, content = await service.ask(_model_file, service, int(number), learned)
    headers = (("content-disposition", f'attachment; filename="model-{name}.rw"'),)
    return Answer(content, 200, _BINARY, headers)


def _model_file(service: Service, number: int, learned: bool) -> tuple[str, bytes]:
    try:
        content = service.store.model_content(number)
    except KeyError:
        raise unknown_model(number) from None
    learner = service.store.learner(number) if learned else None
    return (str(number), content) if learner is None else (learner.version, learner.content)


# ---- changes ----


async def upload(service: Service, call: Call) -> Answer:
    """Keep a model file; ``?note=`` says what it is."""
    note, force = call.query.get("note", ""), _flag(call, "force")
    if note:
        check_name("note", note, service.settings.limits)
    return json_answer(await service.ask(_add_model, service, call.body, note, force), 201)


def _add_model(service: Service, content: bytes, note: str, force: bool) -> ModelVersion:
    served = service.board.current
    try:
        kind, new = kind_of_content(content), content_takes(content)
    except DataError as error:
        raise RefusedError(422, f"the body must be a model file (.rw): {error}", "body") from None
    conflict = feature_conflict(new, served)
    if conflict and not force:
        raise RefusedError(
            409,
            f"the model must take what model {served.model_id}, which is served, takes, but "
            f"{conflict}. With ?force=true it is kept.",
            "body",
        )
    record = service.store.add_model(content, kind, can_learn(content), time.time(), note)
    return _as_version(record, service.store.learners(), service.store.serving())


async def promote_model(service: Service, call: Call) -> Answer:
    """Serve a model from here on."""
    wanted = json_body(_promotion, call)
    return json_answer(await service.ask(_promote, service, wanted.model))


async def roll_back(service: Service, call: Call) -> Answer:
    """Serve the model again that was served before the last promotion.

    ``?leave=2`` does so only while model 2 is served: sent twice, it does not come back.
    """
    return json_answer(await service.ask(_roll_back, service, call.query.get("leave")))


def _roll_back(service: Service, leave: str | None) -> Promoted:
    serving = service.store.serving()
    if serving is None or serving.previous is None:
        raise RefusedError(409, "there is no model to roll back to: promote one.")
    if leave is not None and leave != str(serving.promoted):
        raise RefusedError(
            409, f"model {leave!s:.40} is not served, but {serving.promoted} is.", "leave"
        )
    return _promote(service, serving.previous)


def _promote(service: Service, number: int) -> Promoted:
    try:
        serving = service.store.promote(number, time.time(), control_id("promotion"))
    except KeyError:
        raise unknown_model(number) from None
    service.board.refresh()
    current = service.board.current
    return Promoted(current.model_id, current.version, serving.previous)


def _flag(call: Call, name: str) -> bool:
    value = call.query.get(name, "false")
    if value not in ("true", "false"):
        raise RefusedError(422, f"{name} must be true or false, but is {value!r:.40}.", name)
    return value == "true"


# ---- how far ----


async def tell_state(service: Service, call: Call) -> Answer:
    """Return how far the log and the learner of the served model are."""
    return json_answer(await service.ask(state_of, service))


def state_of(service: Service) -> State:
    """Return how far the log and the learner of the served model are; waits for the store."""
    served = service.board.current
    learner = next(
        (one for one in service.store.learners() if one.model_id == served.model_id), None
    )
    counts = service.store.counts()  # after the learners: no learner is ahead of the log
    state = State(counts.events, 0, served.version, None, None, "", 0, 0)
    if learner is None:
        state.reason = f"{served.kind} does not learn."
        return state
    state.model, state.learned, state.skipped = learner.version, learner.learned, learner.skipped
    state.cumulative_loss, state.bound, state.reason = learner.loss, learner.bound, learner.reason
    if learner.bound is None and not learner.reason:  # the learner has not begun
        state.reason = NOT_YET
    state.behind = counts.last - learner.position
    return state
