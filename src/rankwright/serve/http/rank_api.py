"""``POST /v1/rank``: from documents to an order.

Three bodies:

- JSON: a query with its documents, or a list of such queries.
- ``application/x-npy``: a matrix of float32 or float64, a row for each document, in the order of
  the model's features. ``?query=q1`` names the query; ``k``, ``explain=true`` and ``ids=a,b,c`` may
  follow. Without ``ids`` documents are called ``0``, ``1``, ...
- ``application/vnd.apache.arrow.stream``: a column for each feature, by name, and one called ``id``
  if documents have ids. A column called ``query`` makes it a batch; else ``?query=q1`` names it.

Documents of equal scores keep the order in which they came, as in :func:`rankwright.rank`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from starlette.routing import Route

from rankwright.serve.bodies import PlacedDocument, Ranked, RankRequest
from rankwright.serve.http.binary import ARROW, NPY, arrow_table, npy_matrix
from rankwright.serve.http.checks import check_count_of, check_ids, check_many, check_query
from rankwright.serve.http.endpoints import (
    JSON,
    Answer,
    Call,
    decoded_body,
    json_answer,
    refuse_unheard,
    route,
)
from rankwright.serve.http.ranking_ids import new_ranking_id
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.http.service import Service
from rankwright.serve.ranking.board import Look
from rankwright.serve.ranking.served import ServedModel
from rankwright.serve.records import Numbers, RankingRecord
from rankwright.serve.settings import Limits, Log

_one = msgspec.json.Decoder(RankRequest)
_many = msgspec.json.Decoder(list[RankRequest])
_LARGE = 1 << 19  # bytes of a body that a thread takes care of, so that others need not wait
_NUMBERS = [str(number) for number in range(1000)]


def routes(service: Service) -> list[Route]:
    """Return the routes."""
    return [route(service, "POST", "/v1/rank", "rank", rank_documents)]


async def rank_documents(service: Service, call: Call) -> Answer:
    """Rank the documents of one query, or of several."""
    kind = call.content_type.partition(";")[0].rstrip()
    look = service.board.look  # one version throughout
    large = len(call.body) > _LARGE
    if kind in (JSON, ""):
        for name in call.query:
            text = f"JSON says all in the body: {name!r:.80} must not be in the address."
            raise RefusedError(422, text, name[:200])
        read = _requests
        requests = await service.ask(read, service, call) if large else read(service, call)
        one = requests if isinstance(requests, RankRequest) else None
        if large or one is None or one.explain:
            return await service.ask(_answer_json, service, look, requests)
        return _answer_json(service, look, one)
    if kind not in (NPY, ARROW):
        raise RefusedError(
            415, f"a body must be {JSON}, {NPY} or {ARROW}, but is {kind!r:.100}.", "content-type"
        )
    answer = _answer_npy if kind == NPY else _answer_arrow
    if large or "explain" in call.query:
        return await service.ask(answer, service, look, call)
    return answer(service, look, call)


# ---- what is asked ----


@dataclass(slots=True)
class Asked:
    """A query with documents, as a model takes them; ``nulls``: NaN is a missing value."""

    query: str
    ids: list[str]
    X: Numbers
    k: int | None = None
    explain: bool = False
    nulls: bool = False


def _requests(service: Service, call: Call) -> RankRequest | list[RankRequest]:
    if call.body.lstrip()[:1] != b"[":
        return decoded_body(_one, call.body)
    requests = decoded_body(_many, call.body)
    check_many(len(requests), service.settings.limits)
    return requests


def _answer_json(service: Service, look: Look, requests: RankRequest | list[RankRequest]) -> Answer:
    if isinstance(requests, RankRequest):
        return json_answer(_rank_request(service, look, requests))
    return json_answer([_rank_request(service, look, one) for one in requests])


def _rank_request(service: Service, look: Look, request: RankRequest) -> Ranked:
    documents = request.documents
    check_query(request.query, service.settings.limits)
    ids = [document.id for document in documents]
    check_ids(ids, service.settings.limits)
    model, arm = look.pick(request.query)
    X = model.matrix(documents)
    asked = Asked(request.query, ids, X, request.k, request.explain, True)
    return _rank(service, model, arm, asked)


def _answer_npy(service: Service, look: Look, call: Call) -> Answer:
    query, k, explain = _asked_by_address(
        call, service.settings.limits, ("query", "k", "explain", "ids")
    )
    X = npy_matrix(call.body)
    n, limits = len(X), service.settings.limits
    if "ids" in call.query:
        ids = call.query["ids"].split(",")
        if len(ids) != n:
            text = f"ids must name {n} documents, separated by commas, but there are {len(ids)}."
            raise RefusedError(422, text, "ids")
        check_ids(ids, limits)
    else:
        check_count_of(n, limits)
        ids = _NUMBERS[:n] if n <= len(_NUMBERS) else [str(number) for number in range(n)]
    if query is None:
        raise RefusedError(422, "query is missing: name it in the address, ?query=q1.", "query")
    model, arm = look.pick(query)
    if X.shape[1] != model.n_features:
        text = f"documents must have {model.n_features} features, but have {X.shape[1]}."
        raise RefusedError(422, text, "body")
    return json_answer(_rank(service, model, arm, Asked(query, ids, X, k, explain)))


def _answer_arrow(service: Service, look: Look, call: Call) -> Answer:
    limits = service.settings.limits
    query, k, explain = _asked_by_address(call, limits, ("query", "k", "explain"))
    table = arrow_table(call.body, limits.documents * limits.queries)
    queries = table.queries
    if (query is None) == (queries is None):
        text = "a table must have a column 'query', or ?query=q1 in the address: one of both."
        raise RefusedError(422, text, "query")
    rows: dict[str, list[int]] = {}
    if queries is None:
        rows[str(query)] = list(range(table.n_rows))
    else:
        for row, name in enumerate(queries):
            rows.setdefault(name, []).append(row)
        check_many(len(rows), limits)
    matrices: dict[str, Numbers] = {}  # arms may have features of their own
    answers = []
    for name, places in rows.items():
        check_query(name, limits)
        given = table.ids
        ids = [str(n) if given is None else given[row] for n, row in enumerate(places)]
        check_ids(ids, limits)
        model, arm = look.pick(name)
        if model.version not in matrices:
            matrices[model.version] = table.matrix(model)
        X = matrices[model.version]
        X = X if len(places) == len(X) else X[places]
        answers.append(_rank(service, model, arm, Asked(name, ids, X, k, explain, True)))
    return json_answer(answers[0] if queries is None else answers)


def _asked_by_address(
    call: Call, limits: Limits, known: tuple[str, ...]
) -> tuple[str | None, int | None, bool]:
    """Return query, k and explain of the address."""
    given = call.query
    refuse_unheard(given, known)
    query, k, explain = given.get("query"), given.get("k"), given.get("explain", "false")
    if query is not None:
        check_query(query, limits)
    if k is not None and not (k.isascii() and k.isdigit() and len(k) < 10):
        raise RefusedError(422, f"k must be a whole number from 1 on, but is {k!r:.40}.", "k")
    if explain not in ("true", "false"):
        raise RefusedError(
            422, f"explain must be true or false, but is {explain!r:.40}.", "explain"
        )
    return query, None if k is None else int(k), explain == "true"


# ---- what is answered ----


def _rank(service: Service, model: ServedModel, arm: str | None, asked: Asked) -> Ranked:
    ids, X, k = asked.ids, asked.X, asked.k
    if k is not None and k < 1:
        raise RefusedError(422, f"k must be a whole number from 1 on, but is {k}.", "k")
    scores = model.rank(X, asked.nulls)
    best = np.argsort(-scores, kind="stable")
    if k is not None:
        best = best[:k]
    values: list[float] = scores[best].tolist()
    order: list[int] = best.tolist()
    placed = list(
        map(PlacedDocument, [ids[row] for row in order], values, range(1, len(order) + 1))
    )
    if model.classes is not None:
        _add_labels(placed, model.labels(X[best]))
    if asked.explain:
        for one, reasons in zip(placed, model.explain(X[best]), strict=True):
            one.explanation = reasons
    for watch in service.watches:
        watch(model.version, X)
    return Ranked(_logged(service, model, arm, asked, scores), model.version, placed)


def _add_labels(placed: list[PlacedDocument], labels: list[Any] | None) -> None:
    for one, label in zip(placed, labels or (), strict=True):
        one.label = label


def _logged(
    service: Service, model: ServedModel, arm: str | None, asked: Asked, scores: Any
) -> str | None:
    """Return the id of the ranking, if it will be written."""
    log = service.log
    if log is Log.none:
        return None
    now = time.time()
    name = new_ranking_id(now)
    features = asked.X if log is Log.features else None
    of = (name, now, asked.query, model.version, arm)
    k = asked.k if asked.k is not None and asked.k < len(asked.ids) else None
    ranking = RankingRecord(*of, asked.ids, scores, features, k)
    logged = service.writer.log(ranking)
    service.telemetry.add("rankings_logged" if logged else "rankings_dropped")
    return name if logged else None
