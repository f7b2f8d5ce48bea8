"""``/v1/experiments``: begin one, see what they show, end the one that runs.

One runs at a time. Its two models must take the same features: a caller does not know who ranks.
Promoting a model ends it too.
"""

from __future__ import annotations

import time
import uuid

import msgspec
from starlette.routing import Route

from rankwright.serve.bodies import ExperimentResult, NewExperiment
from rankwright.serve.http.checks import check_name
from rankwright.serve.http.endpoints import Answer, Call, json_answer, json_body, route
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.http.service import Service
from rankwright.serve.ranking.features import feature_conflict, model_takes

_new = msgspec.json.Decoder(NewExperiment)


def routes(service: Service) -> list[Route]:
    """Return the routes."""
    return [
        route(service, "GET", "/v1/experiments", "any", list_results, ()),
        route(service, "POST", "/v1/experiments", "admin", begin_experiment, ()),
        route(service, "POST", "/v1/experiments/end", "admin", end_experiment, ()),
    ]


async def list_results(service: Service, call: Call) -> Answer:
    """Return all experiments with what they show, oldest first."""
    return json_answer(await service.ask(service.results.all))


async def begin_experiment(service: Service, call: Call) -> Answer:
    """Let two models share the queries."""
    wanted = json_body(_new, call)
    check_name("name", wanted.name, service.settings.limits)
    if wanted.a == wanted.b:
        text = f"a and b must be two models, but both are {wanted.a}."
        raise RefusedError(422, text, "b")
    if not 0 < wanted.share < 1:
        text = f"share must be between 0 and 1, but is {wanted.share:g}."
        raise RefusedError(422, text, "share")
    return json_answer(await service.ask(_begin_between, service, wanted), 201)


def _begin_between(service: Service, wanted: NewExperiment) -> ExperimentResult:
    a, b = (model_takes(service.store, number) for number in (wanted.a, wanted.b))
    conflict = feature_conflict(b, a)
    if conflict:
        raise RefusedError(
            409, f"model {wanted.b} must take what model {wanted.a} takes, but {conflict}.", "b"
        )
    try:
        experiment = service.store.begin_experiment(
            wanted.name, wanted.a, wanted.b, wanted.share, time.time(), control_id("experiment")
        )
    except ValueError as error:  # one runs
        raise RefusedError(409, str(error)) from None
    service.board.refresh()
    return service.results.of(experiment)


async def end_experiment(service: Service, call: Call) -> Answer:
    """End the experiment that runs, and return what it has shown."""
    return json_answer(await service.ask(_end_running, service))


def _end_running(service: Service) -> ExperimentResult:
    try:
        experiment = service.store.end_experiment(time.time(), control_id("experiment"))
    except ValueError as error:  # none runs
        raise RefusedError(409, str(error)) from None
    service.board.refresh()
    return service.results.of(experiment)


def control_id(kind: str) -> str:
    """Return the id of an event that the service itself writes."""
    return f"rankwright {kind} {uuid.uuid4().hex}"
