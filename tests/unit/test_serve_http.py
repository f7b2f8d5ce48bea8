"""What holds for all endpoints: tokens, limits, headers, health, metrics and the description."""

from __future__ import annotations

import asyncio
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rankwright.serve.http.endpoints import Endpoint, _body, check_origin
from rankwright.serve.http.openapi import OPERATIONS, openapi
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.http.service import Rate
from rankwright.serve.http.telemetry import BUCKETS, Telemetry, percentile, shared_counts
from rankwright.serve.http.tokens import VARIABLE, parse_tokens, read_tokens
from rankwright.serve.settings import Limits, Settings
from rankwright.serve.starting import bind, model_content, prepare, shown_store
from rankwright.serve.store.interface import StoreUnavailableError
from tests.serving import Caller, serving, small_model

RANK, FEEDBACK, ADMIN = (letter * 20 for letter in "rfa")
TOKENS = f"rank {RANK}\nfeedback {FEEDBACK}\n# a comment\n\nadmin {ADMIN}\n"
ONE = {"query": "q", "documents": [{"id": "a", "features": [1, 2, 3]}]}
OF_PAGE = re.compile(r"/(static/.*)?|/docs(\.css)?|/openapi.json")


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with serving(tmp_path_factory.mktemp("http")) as caller:
        yield caller


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


# ---- tokens ----


def test_every_route_asks_for_its_scope(tmp_path: Path) -> None:
    with serving(tmp_path) as call:
        call.service.tokens = parse_tokens(TOKENS, "tokens")
        for route in call.app.routes:
            method, path = route.endpoint.method, route.path.replace("{model}", "1")
            needs = route.endpoint.needs
            status = call(method, path).status_code
            assert (status == 401) == (needs is not None), path
            assert call(method, path, headers=bearer("x" * 20)).status_code == (
                status if needs is None else 401
            )
            for token, scope in ((RANK, "rank"), (FEEDBACK, "feedback"), (ADMIN, "admin")):
                allowed = needs in (None, "any", scope) or scope == "admin"
                if not allowed:
                    answer = call(method, path, headers=bearer(token))
                    assert answer.status_code == 403, path
                    assert repr(needs) in answer.json()["error"]
        assert call("GET", "/v1/state").headers["www-authenticate"] == "Bearer"
        assert call("POST", "/v1/rank", json=ONE, headers=bearer(RANK)).status_code == 200
        wrong = {"authorization": f"Basic {RANK}"}
        assert call("POST", "/v1/rank", json=ONE, headers=wrong).status_code == 401


def test_tokens_are_not_shown() -> None:
    tokens = parse_tokens(TOKENS, "tokens")
    for value in (RANK, FEEDBACK, ADMIN):
        assert value not in repr(tokens)
    found = tokens.find(RANK.encode())
    assert found is not None
    assert found.number == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rank short", "16 characters"),
        (f"rnak {RANK}", "rank, feedback, admin"),
        (RANK, "a space between"),
        (f"rank {RANK}ü", "letters"),
        (f"rank {RANK} more", "a space between"),
        (f"rank {RANK}\nadmin {RANK}", "line 2"),
    ],
)
def test_a_wrong_token_is_named_by_its_line(line: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        parse_tokens(line, "tokens")
    assert RANK not in str(error.value)
    assert "short" not in str(error.value)


def test_the_shortest_token() -> None:
    assert parse_tokens(f"rank {'a' * 16}", "tokens").known
    with pytest.raises(ValueError, match="at least 16 characters"):
        parse_tokens(f"rank {'a' * 15}", "tokens")


def test_token_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokens"
    path.write_text(TOKENS, encoding="utf-8")
    path.chmod(0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        read_tokens(str(path))
    path.chmod(0o440)  # as systemd hands a credential to a unit
    assert read_tokens(str(path)).known
    path.chmod(0o600)
    assert len(read_tokens(str(path)).known) == 3
    path.write_text("# none\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no token"):
        read_tokens(str(path))
    with pytest.raises(ValueError, match="No such file"):
        read_tokens(str(tmp_path / "other"))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="UTF-8"):
        read_tokens(str(path))
    monkeypatch.setenv(VARIABLE, TOKENS)
    assert len(read_tokens(None).known) == 3
    monkeypatch.delenv(VARIABLE)
    assert not read_tokens(None).known


def test_without_tokens_browsers_of_others_are_kept_out(call: Caller) -> None:
    for headers in (
        {"host": "evil.example"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
    ):
        answer = call("POST", "/v1/rank", json=ONE, headers=headers)
        assert answer.status_code == 403
    own = {"origin": "http://localhost", "host": "localhost"}
    assert call("POST", "/v1/rank", json=ONE, headers=own).status_code == 200
    for host in (b"127.0.0.1:8765", b"localhost", b"[::1]:80", b"LOCALHOST:1", b"127.0.0.1", b""):
        check_origin(host, b"")
    for host in (b"0.0.0.0:8765", b"localhost.evil.example", b"[::2]:80", b"127.0.0.1.nip.io:80"):
        with pytest.raises(RefusedError):
            check_origin(host, b"")


# ---- limits ----


def test_a_rate_is_of_one_caller() -> None:
    now = [0.0]
    rate = Rate(2.0, lambda: now[0])
    rate.take("a")
    rate.take("a")
    with pytest.raises(RefusedError) as refused:
        rate.take("a")
    assert (refused.value.status, refused.value.retry_after) == (429, 1)
    rate.take("b")
    now[0] = 0.5
    rate.take("a")
    with pytest.raises(RefusedError):
        rate.take("a")
    now[0] = 1e6  # however long one was away: no more than that at once
    rate.take("a")
    rate.take("a")
    with pytest.raises(RefusedError):
        rate.take("a")
    slow = Rate(0.1, lambda: now[0])
    slow.take("a")
    with pytest.raises(RefusedError) as refused:
        slow.take("a")
    assert refused.value.retry_after == 10


def test_too_many_requests_are_told_when_to_come_back(tmp_path: Path) -> None:
    with serving(tmp_path, limits=Limits(rate=1.0)) as call:
        assert call("POST", "/v1/rank", json=ONE).status_code == 200
        answer = call("POST", "/v1/rank", json=ONE)
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["field"] == "rate"
        assert call("GET", "/healthz").status_code == 200


def test_a_body_in_pieces_has_the_same_limit(tmp_path: Path) -> None:
    async def pieces(n: int, last: bytes = b"") -> Any:
        for _ in range(n):
            yield b" " * 100
        yield last

    with serving(tmp_path, limits=Limits(body=1000)) as call:
        more = {"content-type": "application/json"}
        answer = call("POST", "/v1/rank", content=pieces(11), headers=more)
        assert (answer.status_code, answer.json()["field"]) == (413, "body")
        assert call("POST", "/v1/rank", content=pieces(10), headers=more).status_code == 400
        for body in (pieces(10, b" "), b" " * 1001):
            assert call("POST", "/v1/rank", content=body, headers=more).status_code == 413
        assert call("POST", "/v1/rank", content=b" " * 1000, headers=more).status_code == 400


def test_a_body_that_comes_at_once_and_says_no_length_has_the_same_limit(tmp_path: Path) -> None:
    async def receive(n: int) -> Any:
        return {"type": "http.request", "body": bytes(n)}

    with serving(tmp_path, limits=Limits(body=1000)) as call:
        assert asyncio.run(_body(lambda: receive(1000), b"", call.service)) == bytes(1000)
        with pytest.raises(RefusedError) as refused:
            asyncio.run(_body(lambda: receive(1001), b"", call.service))
    assert refused.value.status == 413


def test_parameters_of_the_address(call: Caller) -> None:
    for query in ("?query=q&query=r", "?query=%ff"):
        answer = call("POST", f"/v1/rank{query}", headers={"content-type": "application/x-npy"})
        assert answer.status_code == 422


def test_a_parameter_that_is_not_heard_is_refused(call: Caller) -> None:
    for route in call.app.routes:
        method, path = route.endpoint.method, route.path.replace("{model}", "1")
        if not path.startswith("/v1/"):
            continue
        known = OPERATIONS[method, route.path].parameters
        if path != "/v1/rank":
            assert set(route.endpoint.parameters) == set(known), path
        answer = call(method, f"{path}?fforce=true", json=ONE if path == "/v1/rank" else {})
        assert (answer.status_code, answer.json()["field"]) == (422, "fforce"), path
    assert call("GET", "/healthz?probe=1").status_code == 200


@pytest.mark.parametrize("name", ["k=1", "explain=true", "query=r"])
def test_json_does_not_overhear_the_address(name: str, call: Caller) -> None:
    answer = call("POST", f"/v1/rank?{name}", json=ONE)
    assert (answer.status_code, answer.json()["field"]) == (422, name.partition("=")[0])


@pytest.mark.parametrize("path", ["/v1/models/promote", "/v1/experiments"])
def test_changes_are_json_and_no_form(path: str, call: Caller) -> None:
    answer = call("POST", path, content=b'{"model": 1}', headers={"content-type": "text/plain"})
    assert (answer.status_code, answer.json()["field"]) == (415, "content-type")


@pytest.mark.parametrize("path", ["/v1/rank", "/v1/feedback", "/v1/models"])
def test_packed_bodies_are_refused(path: str, call: Caller) -> None:
    answer = call("POST", path, content=b"x", headers={"content-encoding": "gzip"})
    assert (answer.status_code, answer.json()["field"]) == (415, "content-encoding")
    more = {"content-encoding": "identity"}
    assert call("POST", "/v1/rank", json=ONE, headers=more).status_code == 200


def test_a_learner_that_has_not_begun_has_a_reason(call: Caller) -> None:
    state = call("GET", "/v1/state").json()
    assert (state["bound"], state["reason"]) == (None, "no event was learned yet.")


# ---- answers ----


def test_what_is_not_there(call: Caller) -> None:
    assert call("GET", "/v1/nothing").status_code == 404
    answer = call("DELETE", "/v1/models")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD, POST"
    assert "error" in answer.json()
    assert call("OPTIONS", "/v1/rank").status_code == 405
    assert call("PUT", "/v1/models/1").status_code == 405
    assert "access-control-allow-origin" not in answer.headers


def test_head_is_get_without_a_body(call: Caller) -> None:
    answer = call("HEAD", "/healthz")
    assert answer.status_code == 200
    assert answer.content == b""
    assert answer.headers["content-length"] == str(len(call("GET", "/healthz").content))


@pytest.mark.parametrize("path", ["/healthz", "/nothing", "/docs", "/", "/metrics", "/v1/state"])
def test_every_answer_has_the_headers_that_keep_it_safe(path: str, call: Caller) -> None:
    headers = call("GET", path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["cache-control"] in ("no-store", "no-cache")
    assert "server" not in headers


def test_a_failure_is_one_line(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(call.service.board.current.__class__, "rank", fail)
    answer = call("POST", "/v1/rank", json=ONE)
    assert answer.status_code == 500
    assert "secret" not in answer.text


def test_ready_is_who_can_reach_the_store(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("GET", "/readyz").json() == {"status": "ready", "model": "1"}
    monkeypatch.setattr(call.service.board, "seen", -1e9)
    answer = call("GET", "/readyz")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert call("GET", "/healthz").status_code == 200
    assert call("POST", "/v1/rank", json=ONE).status_code == 200


def test_a_store_that_is_away_is_503(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise StoreUnavailableError("no space")

    monkeypatch.setattr(call.service.store, "counts", fail)
    answer = call("GET", "/v1/state")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "rankwright_store_up 0.0" in call("GET", "/metrics").text


# ---- what is told ----


def test_metrics(tmp_path: Path) -> None:
    with serving(tmp_path) as call:
        call.rank()
        call("POST", "/v1/rank", json={})
        text = call("GET", "/metrics").text
    for line in (
        'rankwright_requests_total{route="POST /v1/rank",status="200"} 1.0',
        'rankwright_requests_total{route="POST /v1/rank",status="422"} 1.0',
        'rankwright_request_seconds_count{route="POST /v1/rank"} 2.0',
        'rankwright_request_seconds_bucket{le="+Inf",route="POST /v1/rank"} 2.0',
        "rankwright_rankings_logged_total 1.0",
        "rankwright_rankings_dropped_total 0.0",
        'rankwright_learner_lag{model="1"} 0.0',
        'rankwright_learner_position{model="1"} 1.0',
        "rankwright_store_up 1.0",
    ):
        assert line in text.splitlines(), text
    assert 'kind="SLAMPerceptron"' in text
    assert "rankwright_store_bytes" in text


def test_workers_count_together() -> None:
    with shared_counts(2) as file:
        one, other = (Telemetry(file.fileno(), worker, 2) for worker in range(2))
        one.observe("POST /v1/rank", 200, 0.01)
        other.observe("POST /v1/rank", 200, 0.01)
        other.observe("GET /strange", 299, 100.0)
        other.add("feedback_accepted", 3)
        told = one.of_route(one.sums(), "POST /v1/rank")
        assert sum(told.by_status) == sum(told.by_latency) == 2
        assert told.seconds == 0.02
        strange = one.of_route(one.sums(), "other")
        assert strange.by_status[-1] == strange.by_latency[-1] == 1
        assert one.total("feedback_accepted") == 3
        again = Telemetry(file.fileno(), 1, 2)  # who takes the place of one that died
        again.add("feedback_accepted")
        assert one.total("feedback_accepted") == 4
        for each in (one, other, again):
            each.close()


def test_percentiles_are_within_a_fifth() -> None:
    counts = [0.0] * (len(BUCKETS) + 1)
    telemetry = Telemetry()
    for i in range(1, 1001):
        telemetry.observe("POST /v1/rank", 200, i / 1000)
    counts = list(telemetry.of_route(telemetry.sums(), "POST /v1/rank").by_latency)
    for share in (0.5, 0.9, 0.99):
        assert abs(percentile(counts, share) / share - 1) < 0.2
    assert percentile([0.0] * len(counts), 0.5) == 0
    telemetry.close()


def test_every_route_is_described(call: Caller) -> None:
    there = {
        (route.endpoint.method, route.path)
        for route in call.app.routes
        if not OF_PAGE.fullmatch(route.path)
    }
    assert there == OPERATIONS.keys()
    for route in call.app.routes:
        endpoint: Endpoint = route.endpoint
        if (endpoint.method, route.path) in OPERATIONS:
            assert OPERATIONS[endpoint.method, route.path].scope == endpoint.needs


def test_the_description_is_whole(call: Caller) -> None:
    told = call("GET", "/openapi.json").json()
    assert told == openapi()
    assert told["openapi"] == "3.1.0"
    schemas = told["components"]["schemas"]
    for name in re.findall(r"#/components/schemas/(\w+)", call("GET", "/openapi.json").text):
        assert name in schemas
    example = told["paths"]["/v1/rank"]["post"]["requestBody"]["content"]["application/json"]
    body = {**example["example"]}
    body["documents"] = [{**one, "features": [1, 2, 3]} for one in body["documents"]]
    assert call("POST", "/v1/rank", json=body).status_code == 200


def test_the_page_of_the_description_needs_nobody_else(call: Caller) -> None:
    class Links(HTMLParser):
        found: list[str]

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag != "script"
            self.found += [str(v) for k, v in attrs if k in ("href", "src")]
            assert not [k for k, _ in attrs if k.startswith("on") or k == "style"]

    answer = call("GET", "/docs")
    links = Links()
    links.found = []
    links.feed(answer.text)
    assert sorted(set(links.found)) == ["/", "/docs.css", "/openapi.json"]
    for path in set(links.found):
        assert call("GET", path).status_code == 200
    for _, path in OPERATIONS:
        assert path in answer.text


# ---- before the start ----


def test_an_address_of_others_needs_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(ValueError, match="without tokens only this machine"):
        bind(Settings(host="0.0.0.0", port=0))
    monkeypatch.setenv(VARIABLE, TOKENS)
    with bind(Settings(host="0.0.0.0", port=0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} of 0.0.0.0 cannot be had"):
            bind(Settings(host="0.0.0.0", port=port))
    with pytest.raises(ValueError, match="--host must be an address"):
        bind(Settings(host="no.such.host.invalid", port=0))


def test_a_file_that_is_known_changes_nothing(tmp_path: Path) -> None:
    first, second = tmp_path / "first.rw", tmp_path / "second.rw"
    first.write_bytes(small_model())
    second.write_bytes(small_model("LinearRanker"))
    settings = Settings(store=str(tmp_path / "log.db"))
    plan = prepare(str(first), settings)
    assert (plan.version, str(plan.log), plan.notes) == ("1", "features", [])
    assert prepare(str(first), settings).notes == []
    plan = prepare(str(second), settings)
    assert (plan.version, str(plan.log)) == ("2", "ids")
    assert plan.notes == ["second.rw is new: model 2 takes the place of 1"]
    plan = prepare(str(first), settings)  # as after a restart: what was promoted stays
    assert plan.version == "2"
    assert "model 2 was promoted since" in plan.notes[0]


def test_files_that_cannot_be_served(tmp_path: Path) -> None:
    path = tmp_path / "model.rw"
    for content, words in ((b"no model", "model.rw"), (None, "No such file")):
        if content is not None:
            path.write_bytes(content)
        else:
            os.remove(path)
        with pytest.raises(ValueError, match=words) as error:
            prepare(str(path), Settings(store=str(tmp_path / "log.db")))
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="Is a directory"):
        model_content(str(tmp_path))
    assert not (tmp_path / "log.db").exists()


def test_passwords_are_not_shown() -> None:
    assert shown_store("postgresql://me:pw:x@h/n") == "postgresql://me:***@h/n"
    assert shown_store("rankwright.db") == "rankwright.db"
