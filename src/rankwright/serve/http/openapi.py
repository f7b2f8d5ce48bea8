"""What the API is, as OpenAPI 3.1: made of the bodies themselves, so that it cannot lag behind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rankwright import __version__
from rankwright.serve import bodies as b
from rankwright.serve.http.binary import ARROW, NPY
from rankwright.serve.page.overview import ExplainedRanking, Overview

JSON = "application/json"
_RANK = {
    "query": "q1",
    "documents": [{"id": "a", "features": [0.5, 1.0]}, {"id": "b", "features": [0.1, 3.0]}],
    "k": 10,
}
_RANKED = {
    "ranking_id": "0199f0c2c8005f1c2d3e4a5b6c7d8e9f",
    "model": "1+250",
    "documents": [{"id": "b", "score": 1.5, "rank": 1}, {"id": "a", "score": 0.25, "rank": 2}],
}
_FEEDBACK = {
    "event_id": "e1",
    "ranking_id": "0199f0c2c8005f1c2d3e4a5b6c7d8e9f",
    "labels": {"a": 2, "b": 0},
}
_NUMBERS = {"type": "string", "format": "binary"}


@dataclass(frozen=True)
class Operation:
    """A method of a path.

    Attributes
    ----------
    summary : str
        What it does.
    scope : str, optional
        What a token must allow; None: nothing.
    takes : mapping of str to Any
        Types of bodies by media type; a text is binary.
    gives : Any
        The type of the answer; a media type if it is no JSON.
    status : int
        Of the answer.
    refusals : tuple of int
        Other statuses.
    parameters : mapping of str to str
        Of the address, and what they are.
    example, answer : Any
        Of the body, and of the answer.
    """

    summary: str
    scope: str | None
    gives: Any
    takes: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    refusals: tuple[int, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    example: Any = None
    answer: Any = None


OPERATIONS: dict[tuple[str, str], Operation] = {
    ("POST", "/v1/rank"): Operation(
        "Rank the documents of a query, or of several: a list is a batch. Documents of equal "
        "scores keep their order.",
        "rank",
        b.Ranked | list[b.Ranked],
        {JSON: b.RankRequest | list[b.RankRequest], NPY: "", ARROW: ""},
        refusals=(400, 413, 415, 422),
        parameters={
            "query": "Id of the query; for .npy, and for Arrow without a column 'query'.",
            "k": "How many documents to answer; for .npy and Arrow.",
            "ids": "Ids of the documents, separated by commas; for .npy. Else 0, 1, ...",
            "explain": "true: what the weightiest features add; for .npy and Arrow.",
        },
        example=_RANK,
        answer=_RANKED,
    ),
    ("POST", "/v1/feedback"): Operation(
        "Judge a ranking, or documents that come along, by labels or clicks. Answered when it is "
        "durable; sent twice, it counts once. A list is a batch, answered event by event.",
        "feedback",
        b.Accepted | list[b.Accepted],
        {JSON: b.Feedback | list[b.Feedback], ARROW: ""},
        refusals=(400, 409, 410, 413, 415, 422, 503),
        example=_FEEDBACK,
        answer={"accepted": True, "duplicate": False},
    ),
    ("GET", "/v1/state"): Operation(
        "How far the log and the learner of the served model are.", "any", b.State
    ),
    ("GET", "/v1/models"): Operation("All models.", "any", list[b.ModelVersion]),
    ("POST", "/v1/models"): Operation(
        "Keep a model file (.rw). It is not served before it is promoted.",
        "admin",
        b.ModelVersion,
        {"application/octet-stream": ""},
        status=201,
        refusals=(409, 413, 422),
        parameters={
            "note": "What it is.",
            "force": "true: even if it takes other features than the one that is served.",
        },
    ),
    ("GET", "/v1/models/{model}"): Operation(
        "A model file (.rw).",
        "any",
        "application/octet-stream",
        refusals=(404,),
        parameters={"learned": "true: with what it has learned since."},
    ),
    ("POST", "/v1/models/promote"): Operation(
        "Serve a model from here on. No request is dropped, and none sees two versions.",
        "admin",
        b.Promoted,
        {JSON: b.Promotion},
        refusals=(404, 422),
        example={"model": 2},
    ),
    ("POST", "/v1/models/rollback"): Operation(
        "Serve the model again that was served before.",
        "admin",
        b.Promoted,
        refusals=(409,),
        parameters={"leave": "Only while this model is served."},
    ),
    ("GET", "/v1/experiments"): Operation(
        "All experiments and what they have shown.", "any", list[b.ExperimentResult]
    ),
    ("POST", "/v1/experiments"): Operation(
        "Let two models share the queries.",
        "admin",
        b.ExperimentResult,
        {JSON: b.NewExperiment},
        status=201,
        refusals=(404, 409, 422),
        example={"name": "trees", "a": 1, "b": 2, "share": 0.5},
    ),
    ("POST", "/v1/experiments/end"): Operation(
        "End the experiment that runs.", "admin", b.ExperimentResult, refusals=(409,)
    ),
    ("GET", "/v1/overview"): Operation("What the page shows.", "any", Overview),
    ("GET", "/v1/rankings/{id}"): Operation(
        "A logged ranking, with explanations.", "any", ExplainedRanking, refusals=(404,)
    ),
    ("GET", "/healthz"): Operation("Whether the process lives.", None, dict[str, str]),
    ("GET", "/readyz"): Operation(
        "Whether the store answers and a model ranks.", None, dict[str, str], refusals=(503,)
    ),
    ("GET", "/metrics"): Operation("Counters for Prometheus.", "any", "text/plain"),
}


def openapi() -> dict[str, Any]:
    """Return the description of the API."""
    types: list[Any] = [b.RefusalBody]
    for operation in OPERATIONS.values():
        types += [kind for kind in operation.takes.values() if kind]
        types += [] if isinstance(operation.gives, str) else [operation.gives]
    found, parts = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schemas = {repr(kind): schema for kind, schema in zip(types, found, strict=True)}
    paths: dict[str, Any] = {}
    for (method, path), operation in OPERATIONS.items():
        paths.setdefault(path, {})[method.lower()] = _described(path, operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rankwright",
            "version": __version__,
            "description": "A ranking service that learns online. Every answer that is not 2xx is "
            "a Problem: one line, and the field it is about.",
        },
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _described(path: str, operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    statuses = [*operation.refusals, *([401, 403, 429] if operation.scope else [])]
    refused = {"content": {JSON: {"schema": schemas[repr(b.RefusalBody)]}}}
    found: dict[str, Any] = {
        "summary": operation.summary,
        "responses": {str(operation.status): _response(operation, schemas)}
        | {str(status): {"description": _WHY[status], **refused} for status in sorted(statuses)},
        "security": [{"token": []}] if operation.scope else [],
    }
    if operation.scope:
        found["description"] = f"Where there are tokens: scope {operation.scope}."
    found["parameters"] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", path)
    ] + [
        {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
        for name, text in operation.parameters.items()
    ]
    if operation.takes:
        content = {
            media: {"schema": schemas[repr(kind)] if kind else _NUMBERS}
            for media, kind in operation.takes.items()
        }
        if operation.example is not None:
            content[JSON]["example"] = operation.example
        found["requestBody"] = {"required": True, "content": content}
    return found


def _response(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    if isinstance(operation.gives, str):
        content = {operation.gives: {"schema": _NUMBERS}}
    else:
        content = {JSON: {"schema": schemas[repr(operation.gives)]}}
    if operation.answer is not None:
        content[JSON]["example"] = operation.answer
    return {"description": "Done.", "content": content}


_WHY = {
    400: "The body is not JSON.",
    401: "A token is needed.",
    403: "The token lacks the scope.",
    404: "It is not there.",
    409: "It contradicts what is there.",
    410: "The ranking is not there (any more): send the features.",
    413: "The body is too large.",
    415: "The body is of a type that is not known.",
    422: "A field is wrong: the answer names it.",
    429: "Too many requests: wait as long as Retry-After says.",
    503: "The store does not answer: try again after Retry-After.",
}
