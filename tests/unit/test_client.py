"""The client against a stand-in of the service: what is sent, tried again, and said."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import numpy as np
import pytest

from rankwright.client import Client, NowServed, RankedQuery, ServiceError

httpx = pytest.importorskip("httpx")

X = np.array([[0.25, 1.0], [0.75, 0.0]])


def decoded(request: Any) -> Any:
    """Return the body of a request, of an .npy as that of JSON."""
    if request.headers.get("Content-Type") != "application/x-npy":
        return json.loads(request.content) if request.content else None
    matrix = np.load(io.BytesIO(request.content), allow_pickle=False)
    told = dict(request.url.params)
    documents = zip(told["ids"].split(","), matrix.tolist(), strict=True)
    body = {"query": told["query"], "documents": [{"id": i, "features": x} for i, x in documents]}
    return (
        body
        | ({"k": int(told["k"])} if "k" in told else {})
        | ({"explain": True} if told.get("explain") == "true" else {})
    )


class Service:
    """Remembers what came; ranks by the first feature; ``faults`` stand before its answers."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.log: dict[str, Any] = {}
        self.rankings: dict[str, list[str]] = {}
        self.faults: list[Callable[[Any], Any]] = []
        self.keeps = True
        self.lock = threading.Lock()

    def __call__(self, request: Any) -> Any:
        with self.lock:
            self.requests.append(request)
            fault = self.faults.pop(0) if self.faults else None
            if fault is not None:
                return fault(request)
            return self.answer(request)

    def answer(self, request: Any) -> Any:
        body = decoded(request)
        path = request.url.path
        if path == "/v1/rank":
            done = [self.ranked(one) for one in (body if isinstance(body, list) else [body])]
            return httpx.Response(200, json=done if isinstance(body, list) else done[0])
        if path == "/v1/feedback":
            if isinstance(body, list):
                answers = [self.learned(one) for one in body]
                return httpx.Response(
                    200,
                    json=[
                        a
                        if s == 200
                        else {
                            "accepted": False,
                            "duplicate": False,
                            "status": s,
                            "error": a["error"],
                        }
                        for s, a in answers
                    ],
                )
            status, answer = self.learned(body)
            return httpx.Response(status, json=answer)
        return httpx.Response(404, json={"error": f"there is no {path}"})

    def ranked(self, body: Any) -> Any:
        documents = body["documents"]

        def first(one: Any) -> float:
            features = one["features"]
            return float(features[0] if isinstance(features, list) else features["price"])

        documents = sorted(documents, key=first, reverse=True)[: body.get("k")]
        name = f"r{len(self.rankings) + 1}"
        self.rankings[name] = [one["id"] for one in documents]
        return {
            "ranking_id": name if self.keeps else None,
            "model": "1+3",
            "new": "a field of a later version",
            "documents": [
                {"id": one["id"], "score": first(one), "rank": i}
                for i, one in enumerate(documents, 1)
            ],
        }

    def learned(self, body: Any) -> tuple[int, Any]:
        known = self.log.get(body["event_id"])
        if known is not None:
            return (
                (200, {"accepted": True, "duplicate": True})
                if known == body
                else (409, {"error": "another content"})
            )
        if "documents" not in body and body["ranking_id"] not in self.rankings:
            return 410, {"error": "the ranking is gone: send the features"}
        if -1 in (body.get("labels") or {}).values():
            return 422, {"error": "labels must be >= 0", "field": "labels"}
        self.log[body["event_id"]] = body
        return 200, {"accepted": True, "duplicate": False}

    def bodies(self) -> list[Any]:
        return [decoded(request) for request in self.requests]


def refused(status: int, **headers: str) -> Callable[[Any], Any]:
    return lambda _: httpx.Response(status, json={"error": "busy"}, headers=headers)


def lost(kind: str) -> Callable[[Any], Any]:
    def fail(request: Any) -> Any:
        raise getattr(httpx, kind)("gone", request=request)

    return fail


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    with Client("http://service:1", transport=httpx.MockTransport(service)) as found:
        yield found


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Wait for nothing; return how long it would have been."""
    monkeypatch.delenv("RANKWRIGHT_TOKEN", raising=False)
    found: list[float] = []
    monkeypatch.setattr("rankwright.client.calls.time.sleep", found.append)
    return found


def after_commit(service: Service, kind: str) -> Callable[[Any], Any]:
    """Let the service do what is asked, and lose its answer."""

    def lose(request: Any) -> Any:
        service.answer(request)
        raise getattr(httpx, kind)("gone", request=request)

    return lose


# ---- what is sent ----


@pytest.mark.parametrize(
    "documents",
    [
        [("a", [0.25, 1.0]), ("b", [0.75, 0.0])],
        [{"id": "a", "features": [0.25, 1]}, {"id": "b", "features": (0.75, 0)}],
        {"a": X[0], "b": X[1].astype(np.float32)},
        (pair for pair in zip("ab", X, strict=True)),
    ],
    ids=["pairs", "dicts", "mapping", "generator"],
)
def test_all_forms_of_documents_send_the_same(
    client: Client, service: Service, documents: Any
) -> None:
    ranking = client.rank("q", documents)
    assert service.bodies() == [
        {
            "query": "q",
            "documents": [
                {"id": "a", "features": [0.25, 1]},
                {"id": "b", "features": [0.75, 0]},
            ],
        }
    ]
    assert ranking.ids == ("b", "a")
    assert ranking.scores == (0.75, 0.25)
    assert ranking.ranks == {"b": 1, "a": 2}
    assert ranking.labels == {"b": None, "a": None}
    assert (ranking.ranking_id, ranking.model, ranking.query) == ("r1", "1+3", "q")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_go_by_name_and_their_nulls_are_missing(
    client: Client, service: Service, library: str
) -> None:
    frames = pytest.importorskip(library)
    columns = {"sku": ["a", "b"], "price": [2, 1], "age": [None, 0.5]}
    frame = frames.table(columns) if library == "pyarrow" else frames.DataFrame(columns)
    client.rank("q", ids="sku", X=frame, k=1, explain=True)
    assert service.bodies()[0] == {
        "query": "q",
        "documents": [
            {"id": "a", "features": {"price": 2, "age": None}},
            {"id": "b", "features": {"price": 1, "age": 0.5}},
        ],
        "k": 1,
        "explain": True,
    }


@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f8", ">f4", "i8", "u1", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_is_sent_as_it_is_in_memory(
    client: Client, service: Service, dtype: str, order: Any
) -> None:
    matrix = np.array([[0, 1], [1, 1], [1, 0]], dtype=dtype, order=order)
    client.rank("é & q", ids=["a=b", "c d", "é"], X=matrix, k=2, explain=True)
    client.rank("é & q", ids=["a,b", "c d", "é"], X=matrix, k=2, explain=True)
    (binary, text), kinds = service.bodies(), [r.headers["Content-Type"] for r in service.requests]
    assert kinds == ["application/x-npy", "application/json"]
    text["documents"][0]["id"] = "a=b"
    assert binary == text
    sent = np.load(io.BytesIO(service.requests[0].content))
    assert sent.dtype == ("<f4" if dtype == "<f4" else "<f8")
    assert sent.flags.c_contiguous


def test_many_ids_go_in_the_body(client: Client, service: Service) -> None:
    ids = [f"document number {i}" for i in range(400)]
    ranking = client.rank("q", ids=ids, X=np.ones((400, 1)))
    assert service.requests[0].headers["Content-Type"] == "application/json"
    assert ranking.ids == tuple(ids)


def test_ids_are_measured_as_an_address_has_them(client: Client, service: Service) -> None:
    ids = [f"größe {i}" for i in range(300)]
    assert len(",".join(ids)) < 6000  # but each of ö and ß takes six characters there
    client.rank("q", ids=ids, X=np.ones((300, 1)))
    assert service.requests[0].headers["Content-Type"] == "application/json"


def test_integers_are_ids_too(client: Client, service: Service) -> None:
    ranking = client.rank(7, ids=np.array([1, 2]), X=X.tolist())
    client.feedback(ranking, labels={np.int64(1): np.int64(2), 2: np.float32(0.5)})
    assert service.bodies()[0]["query"] == "7"
    assert service.bodies()[1]["labels"] == {"1": 2, "2": 0.5}


def test_many_queries_go_in_few_calls(client: Client, service: Service) -> None:
    queries = ((i, {"a": [i, 0], "b": [1, 1]}) for i in range(450))
    rankings = client.rank_many(queries, k=1)
    assert [len(body) for body in service.bodies()] == [200, 200, 50]
    assert [ranking.query for ranking in rankings] == [str(i) for i in range(450)]
    assert rankings[5].ids == ("a",)
    assert client.rank_many({}) == []
    receipts = client.feedback_many({"ranking": r, "clicks": r.ids} for r in rankings)
    assert len({receipt.event_id for receipt in receipts}) == 450 == len(service.log)
    assert len(service.requests) == 6


def test_tokens_go_in_the_header_and_nowhere_else(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKWRIGHT_TOKEN", "from-the-environment")
    for token, expected in ((None, "from-the-environment"), ("given", "given"), ("", None)):
        client = Client("http://service", token, transport=httpx.MockTransport(service))
        client.rank("q", {"a": [1]})
        found = service.requests[-1].headers.get("Authorization")
        assert found == (expected and f"Bearer {expected}")
        assert repr(client) == "Client('http://service')"
    with pytest.raises(ValueError, match=r"^token must be printable ASCII") as caught:
        Client(token="secret\n")
    assert "secret" not in str(caught.value)


def test_a_prefix_of_the_address_stays(service: Service) -> None:
    client = Client("http://service/rank/", transport=httpx.MockTransport(service))
    with pytest.raises(ServiceError):
        client.state()
    assert service.requests[0].url == "http://service/rank/v1/state"


# ---- tries that cannot count twice ----


@pytest.mark.parametrize(
    "kind", ["ReadTimeout", "ReadError", "RemoteProtocolError", "WriteError", "CloseError"]
)
@pytest.mark.parametrize("times", [1, 3])
def test_an_answer_that_was_lost_after_the_commit_is_asked_for_again(
    client: Client, service: Service, kind: str, times: int
) -> None:
    ranking = client.rank("q", {"a": [1], "b": [2]})
    service.faults = [after_commit(service, kind)] * times
    receipt = client.feedback(ranking, labels={"a": 1})
    assert (receipt.accepted, receipt.duplicate) == (True, True)
    assert list(service.log) == [receipt.event_id]
    sent = service.bodies()[1:]
    assert len(sent) == times + 1
    assert all(body == sent[0] for body in sent)


def test_a_batch_that_was_lost_after_the_commit_counts_once(
    client: Client, service: Service
) -> None:
    rankings = client.rank_many({"q1": {"a": [1]}, "q2": {"a": [2]}})
    service.faults = [after_commit(service, "ReadTimeout"), refused(503)]
    receipts = client.feedback_many([{"ranking": r, "clicks": ["a"]} for r in rankings])
    assert [receipt.duplicate for receipt in receipts] == [True, True]
    assert len(service.log) == 2


def test_an_id_of_the_callers_own_counts_once_over_two_calls(
    client: Client, service: Service
) -> None:
    ranking = client.rank("q", {"a": [1], "b": [2]})
    assert not client.feedback(ranking, clicks=["a"], event_id="mine").duplicate
    assert client.feedback(ranking, clicks=["a"], event_id="mine").duplicate
    for given in (ranking, "r1"):
        with pytest.raises(ServiceError, match="409: another content"):
            client.feedback(given, clicks=["b"], event_id="mine")
    assert len(service.log) == 1
    assert client.feedback(ranking, clicks=["a"]).event_id != "mine"
    assert len(service.log) == 2


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_service_is_asked_again(
    client: Client, service: Service, waits: list[float], status: int
) -> None:
    service.faults = [refused(status), refused(status)]
    assert client.rank("q", {"a": [1]}).ids == ("a",)
    assert len(service.requests) == 3
    assert 0.05 <= waits[0] <= 0.1 <= waits[1] <= 0.2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 410, 413, 422, 500, 302])
def test_a_refusal_is_not_tried_again(client: Client, service: Service, status: int) -> None:
    service.faults = [refused(status)]
    with pytest.raises(ServiceError, match=rf"^{status}: busy$") as caught:
        client.rank("q", {"a": [1]})
    assert (caught.value.status, caught.value.text) == (status, "busy")
    assert len(service.requests) == 1


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_there_are_so_many_tries_and_no_more(
    service: Service, waits: list[float], retries: int
) -> None:
    client = Client("http://s", transport=httpx.MockTransport(service), retries=retries)
    service.faults = [refused(503)] * 10
    with pytest.raises(ServiceError, match="503: busy"):
        client.feedback("r1", clicks=["a"])
    assert len(service.requests) == retries + 1 == len(waits) + 1
    assert len({body["event_id"] for body in service.bodies()}) == 1


def test_waits_grow_up_to_seconds_and_differ(service: Service, waits: list[float]) -> None:
    client = Client("http://s", transport=httpx.MockTransport(service), retries=12)
    service.faults = [lost("ReadError")] * 12
    client.rank("q", {"a": [1]})
    assert all(min(5, 0.1 * 2**i) / 2 <= w <= min(5, 0.1 * 2**i) for i, w in enumerate(waits))
    assert len({w / 2**i for i, w in enumerate(waits)}) == 12


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("2", 2, 2.2),
        ("0", 0, 0.2),
        ("1.5", 1.5, 1.7),
        ("soon", 0, 0.2),
        ("-3", 0, 0.2),
        ("60", 60, 60.2),
        ("+50 s", 40, 50.3),
        ("-50 s", 0, 0.2),
    ],
)
def test_retry_after_is_kept(
    client: Client, service: Service, waits: list[float], value: str, low: float, high: float
) -> None:
    if value.endswith(" s"):
        moment = datetime.now(UTC) + timedelta(seconds=int(value.removesuffix(" s")))
        value = format_datetime(moment, usegmt=True)
    service.faults = [refused(503, **{"Retry-After": value})]
    client.rank("q", {"a": [1]})
    assert len(waits) == 1
    assert low <= waits[0] <= high


def test_whoever_shall_come_back_tomorrow_is_told_now(
    client: Client, service: Service, waits: list[float]
) -> None:
    for asked in ("61", "86400"):
        service.faults = [refused(429, **{"Retry-After": asked})]
        with pytest.raises(ServiceError, match="429: busy"):
            client.rank("q", {"a": [1]})
    assert not waits


@pytest.mark.parametrize("kind", ["ReadTimeout", "ReadError", "RemoteProtocolError"])
def test_a_change_that_may_have_been_made_is_not_made_again(
    client: Client, service: Service, kind: str
) -> None:
    service.faults = [lost(kind)]
    with pytest.raises(ServiceError, match=r"It may have been done all the same: look before"):
        client.rollback()
    assert len(service.requests) == 1


@pytest.mark.parametrize("fault", [refused(503), lost("ConnectError"), lost("ConnectTimeout")])
def test_a_change_that_was_not_made_is_tried_again(
    client: Client, service: Service, fault: Callable[[Any], Any]
) -> None:
    now = {"model": 1, "version": "1+4", "previous": 2}
    service.faults = [fault, lambda _: httpx.Response(200, json=now)]
    assert client.rollback(leave=2) == NowServed(1, "1+4", 2)
    assert service.requests[1].url.params["leave"] == "2"
    assert len(service.requests) == 2


# ---- rankings that the service does not have ----


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("kept", [True, False])
def test_the_features_are_sent_if_the_ranking_is_gone(
    client: Client, service: Service, kept: bool, many: bool
) -> None:
    service.keeps = kept
    ranking = client.rank("q", ids=["a", "b", "c"], X=np.array([[1.0], [3.0], [2.0]]), k=2)
    service.rankings.clear()
    if many:
        (receipt,) = client.feedback_many([{"ranking": ranking, "clicks": ["c"]}])
    else:
        receipt = client.feedback(ranking, clicks=["c"])
    assert receipt.accepted
    assert service.log[receipt.event_id] == {
        "event_id": receipt.event_id,
        "clicks": ["c"],
        "query": "q",
        "documents": [{"id": "b", "features": [3.0]}, {"id": "c", "features": [2.0]}],
    }
    assert len(service.requests) == (3 if kept else 2)


def test_what_went_with_its_features_is_known_without(client: Client, service: Service) -> None:
    ranking = client.rank("q", {"a": [1]})
    service.rankings.clear()
    assert not client.feedback(ranking, clicks=["a"], event_id="mine").duplicate
    assert client.feedback(ranking, clicks=["a"], event_id="mine").duplicate  # from the start again
    assert len(service.log) == 1


def test_an_id_alone_cannot_bring_features(client: Client, service: Service) -> None:
    with pytest.raises(ServiceError, match="410: the ranking is gone: send the features"):
        client.feedback("r99", labels={"a": 1})
    bare = RankedQuery("q", None, "1", ())
    with pytest.raises(ValueError, match=r"did not keep this ranking .* feedback_with_features"):
        client.feedback(bare, labels={})


def test_features_with_labels_by_id_or_in_order(client: Client, service: Service) -> None:
    client.feedback_with_features("q", {"a": [1], "b": [2]}, {"b": 1})
    client.feedback_with_features("q", labels=[None, 1], ids=["a", "b"], X=np.array([[1], [2]]))
    first, second = service.bodies()
    assert {**first, "event_id": ""} == {**second, "event_id": ""}
    with pytest.raises(ValueError, match="one for each document, but 1 came for 2 documents"):
        client.feedback_with_features("q", {"a": [1], "b": [2]}, [1])


def test_a_refused_event_of_a_batch_is_not_overlooked(client: Client, service: Service) -> None:
    client.rank("q", {"a": [1]})
    events = [
        {"ranking_id": "r1", "labels": {"a": 1}},
        {"ranking_id": "r1", "labels": {"a": -1}, "event_id": "bad"},
        {"query": "q", "documents": {"z": [1]}, "labels": {"z": 0}},
    ]
    with pytest.raises(
        ServiceError,
        match=r"^422: 1 of 3 events were refused, the others are on disk. Event 'bad': labels must",
    ):
        client.feedback_many(events)
    assert len(service.log) == 2
    receipts = client.feedback_many(events, refused="return")
    assert [receipt.accepted for receipt in receipts] == [True, False, True]
    assert (receipts[1].status, receipts[1].error) == (422, "labels must be >= 0")


# ---- what is said ----


def test_nobody_there() -> None:
    client = Client("http://127.0.0.1:9", retries=1)
    with pytest.raises(ServiceError) as caught:
        client.rank("q", {"a": [1]})
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("no answer from http://127.0.0.1:9/v1/rank: ")
    assert str(caught.value).endswith(
        " (2 tries). Is the service running there? Start it with: rankwright serve MODEL"
    )
    assert caught.value.status is None
    assert caught.value.__suppress_context__


def test_a_service_that_is_too_slow(client: Client, service: Service) -> None:
    service.faults = [lost("ReadTimeout")] * 6
    with pytest.raises(ServiceError, match=r"/v1/rank: it did not answer in time \(6 tries\)\.$"):
        client.rank("q", {"a": [1]})


@pytest.mark.parametrize("content", [b"<html>", b"[1]", b'{"no": 1}', b"\xff"])
def test_answers_of_something_else(client: Client, service: Service, content: bytes) -> None:
    service.faults = [lambda _: httpx.Response(404, content=content)]
    with pytest.raises(ServiceError, match=r"^404: Not Found$"):
        client.state()


def test_an_answer_that_is_no_json(client: Client, service: Service) -> None:
    service.faults = [lambda _: httpx.Response(200, content=b"<html>")]
    with pytest.raises(ServiceError, match=r"did not answer in JSON. Is it a rankwright service\?"):
        client.state()


def test_an_error_knows_its_field_and_can_be_pickled(client: Client, service: Service) -> None:
    client.rank("q", {"a": [1]})
    with pytest.raises(ServiceError) as caught:
        client.feedback("r1", labels={"a": -1})
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.status, again.text, again.field) == (422, "labels must be >= 0", "labels")
    assert str(again) == "422: labels must be >= 0"


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda c: c.rank("q"), "give documents, or ids= and X=: one of both."),
        (lambda c: c.rank("q", {"a": [1]}, ids=["a"]), "give documents, or ids= and X="),
        (lambda c: c.rank("q", X=X), "X needs ids=, one for each row"),
        (lambda c: c.rank("q", ids="sku", X=X), "a name of a column needs a data frame"),
        (lambda c: c.rank("q", ids=["a"], X=X), "X must have a row for each id, but has 2 for 1"),
        (lambda c: c.rank("q", ids=["a", "a"], X=X), "'a' is there twice"),
        (lambda c: c.rank("q", ["ab"]), "each document must be (id, features) or"),
        (lambda c: c.rank(None, {"a": [1]}), "query must be a text or an integer, but is None."),
        (lambda c: c.rank("\ud800", {"a": [1]}), "query must be text that UTF-8 can hold"),
        (lambda c: c.rank("q", {1.5: [1]}), "the id of a document must be a text or an integer"),
        (
            lambda c: c.rank("q", {"a": [1, float("nan")]}),
            "numbers must be finite, but features[1] of document 'a' is nan. A missing value is",
        ),
        (
            lambda c: c.rank("q", {"a": {"price": float("inf")}}),
            "features['price'] of document 'a' is inf",
        ),
        (lambda c: c.rank("q", ids=["a", "b"], X=X / 0), "features[0] of document 'a' is inf"),
        (lambda c: c.rank("q", {"a": [object()]}), "features and labels must be numbers, but one"),
        (lambda c: c.feedback("r"), "give labels= or clicks=: one of both."),
        (lambda c: c.feedback("r", {"a": 1}, ["a"]), "give labels= or clicks=: one of both."),
        (lambda c: c.feedback("r", [1]), "labels must be a dict of labels by the ids"),
        (lambda c: c.feedback("r", clicks="abc"), "clicks must be a list of ids, but is one text."),
        (lambda c: c.feedback(3, clicks=["a"]), "ranking must be a ranking or its id, but is 3."),
        (lambda c: c.feedback("r", {"a": float("nan")}), "labels['a'] is nan"),
        (
            lambda c: c.feedback(c.rank("q", {"doc1": [1]}), {"dok1": 1}),
            "document 'dok1' is not in the ranking. Did you mean 'doc1'?",
        ),
        (
            lambda c: c.feedback_many([{"ranking": "r", "label": {}}]),
            "an event has no 'label'. Did",
        ),
        (lambda c: c.feedback_many([], refused="no"), "refused must be 'raise' or 'return'"),
        (lambda c: Client("localhost:8765"), "url must be like 'http://127.0.0.1:8765', but is"),
        (lambda c: Client(timeout=0), "timeout must be a positive number of seconds, but is 0."),
        (lambda c: Client(retries=-1), "retries must be an integer from 0, but is -1."),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.filterwarnings("ignore:invalid value")
def test_mistakes_are_told_before_anything_is_sent(
    client: Client, service: Service, ask: Callable[[Client], Any], text: str
) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        ask(client)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert all(request.url.path == "/v1/rank" for request in service.requests)


def test_a_learner_that_does_not_come_after(client: Client, service: Service) -> None:
    state = {"events": 5, "learned": 2, "model": "1+2", "cumulative_loss": 1.0, "bound": None}
    service.faults = [lambda _: httpx.Response(200, json=state | {"behind": 3})] * 3
    with pytest.raises(TimeoutError, match=r"^the learner is 3 events behind after 0 s\."):
        client.wait_learned(timeout=0)
    service.faults = [
        lambda _: httpx.Response(200, json=state | {"behind": 3}),
        lambda _: httpx.Response(200, json=state | {"behind": 4, "events": 8}),
        lambda _: httpx.Response(200, json=state | {"behind": 4, "events": 9}),  # all of the five
    ]
    assert client.wait_learned(timeout=60).events == 9


# ---- the house ----


def test_no_proxy_stands_before_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"[]")

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with Client(f"http://127.0.0.1:{server.server_port}", retries=0) as client:
            assert client.models() == []
        thread.join()


def test_threads_share_a_client(service: Service) -> None:
    client = Client("http://s", transport=httpx.MockTransport(service), retries=50)
    ranking = client.rank("q", {"a": [1]})
    service.faults = [refused(503), after_commit(service, "ReadError")] * 20
    threads = [
        threading.Thread(target=client.feedback, args=(ranking, {"a": 1})) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(service.log) == 20


def test_a_closed_client_and_a_forked_one_open_new_connections(client: Client) -> None:
    client.rank("q", {"a": [1]})
    before = client._caller._session()
    client.close()
    client.rank("q", {"a": [1]})
    after = client._caller._session()
    assert before is not after
    client._caller._owner = os.getpid() + 1  # as a fork leaves it
    assert client._caller._session() is not after


def test_nothing_heavy_is_loaded() -> None:
    code = """
import sys
import rankwright as rw
assert not {"httpx", "numpy"} & set(sys.modules)
rw.client
assert "httpx" not in sys.modules
rw.client.Client()
heavy = {"scipy", "sklearn", "lightgbm", "pandas", "polars", "pyarrow", "starlette", "sqlalchemy"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
assert not [name for name in sys.modules if name.startswith("rankwright.serve")]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ImportError, match=r"the client needs the package httpx. Install it with"):
        Client()
