"""The page's files and figures, without a browser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import time
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest

import rankwright as rw
from rankwright.persistence import packed
from rankwright.serve.http.app import make_app
from rankwright.serve.http.service import Service
from rankwright.serve.http.telemetry import Telemetry
from rankwright.serve.http.tokens import Tokens, parse_tokens
from rankwright.serve.learning.promise import promise_of
from rankwright.serve.page.drift_view import drift_view
from rankwright.serve.page.loss_line import MOST_POINTS, ThinLine
from rankwright.serve.page.overview import ExplainedRanking, LossLine, Overview
from rankwright.serve.page.overview_maker import OverviewMaker
from rankwright.serve.page.pace_view import SECONDS, pace_of
from rankwright.serve.page.page_files import POLICY, page_files
from rankwright.serve.records import LearnerRecord, Mark, RankingRecord
from rankwright.serve.settings import Settings
from rankwright.serve.store.interface import StoreUnavailableError
from tests.page_sample import N_FEATURES, NAMES, fill, open_service, two_arms

TOKEN = "a-token-of-many-letters"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = open_service(tmp_path)
    yield service
    service.close()


@pytest.fixture
def filled(service: Service) -> Service:
    fill(service, 260)
    two_arms(service)
    fill(service, 100, "again", 1)
    return service


def ask(service: Service, path: str, method: str = "GET", **headers: str) -> httpx.Response:
    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(make_app(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, headers=headers)

    return asyncio.run(call())


def overview(service: Service) -> Overview:
    answer = ask(service, "/v1/overview")
    assert answer.status_code == 200
    return msgspec.json.decode(answer.content, type=Overview)


# ---- files ----

SOURCES = {name: file.content.decode() for name, file in page_files().items()}


def test_the_page_is_there_with_its_policy(service: Service) -> None:
    answer = ask(service, "/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers.get_list("content-security-policy") == [POLICY]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.text == SOURCES["index.html"]
    for rule in ("default-src 'none'", "base-uri 'none'", "form-action 'none'"):
        assert rule in POLICY
    assert "unsafe" not in POLICY
    assert "*" not in POLICY


def test_all_that_the_page_asks_for_is_there(service: Service) -> None:
    wanted = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', SOURCES["index.html"]))
    for name, text in SOURCES.items():
        if name.endswith(".js"):
            wanted |= {f"/static/{path}" for path in re.findall(r'from "\./([^"]+)"', text)}
    assert {path.rpartition("/")[2] for path in wanted} == set(SOURCES) - {"index.html"}
    for path in wanted:
        answer = ask(service, path)
        assert answer.status_code == 200, path
        kind = "text/javascript" if path.endswith(".js") else "text/css"
        assert answer.headers["content-type"] == f"{kind}; charset=utf-8"


def test_a_file_that_the_browser_has_is_not_sent_again(service: Service) -> None:
    first = ask(service, "/static/page.css")
    again = ask(service, "/static/page.css", **{"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "content-length" not in again.headers
    assert again.headers["etag"] == first.headers["etag"]
    other = ask(service, "/static/page.css", **{"if-none-match": '"other"'})
    assert other.content == first.content
    head = ask(service, "/static/page.css", "HEAD")
    assert (head.status_code, head.content) == (200, b"")
    assert ask(service, "/static/page.css", "POST").status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static/index.html",
        "/static/../page_api.py",
        "/static/%2e%2e/page_api.py",
        "/static/..%2fpage_api.py",
        "/static//etc/passwd",
        "/static/page.css/",
        "/static/page.css%00",
    ],
)
def test_no_other_file_can_be_asked_for(service: Service, path: str) -> None:
    assert ask(service, path).status_code == 404


def test_nothing_that_is_shown_can_be_markup() -> None:
    ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc"
    for name, text in SOURCES.items():
        assert not re.search(ways, text), name
    # What the policy would refuse, and what would leave this machine.
    page = SOURCES["index.html"]
    assert not re.search(r"\sstyle=|\son\w+=|<style|javascript:", page)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", page))
    for name, text in SOURCES.items():
        text = text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|url\(", text), name
        assert "localStorage" not in text or name == "theme.js"
        assert '"style"' not in text, name  # of setAttribute


def test_a_file_of_the_page_holds_one_idea() -> None:
    assert {n: t.count("\n") for n, t in SOURCES.items() if t.count("\n") > 200} == {}


# ---- figures ----


def test_the_overview_tells_what_the_store_has(filled: Service) -> None:
    found = overview(filled)
    store, serving = filled.store, filled.store.serving()
    learner = store.learner(1)
    assert learner is not None
    assert serving is not None
    assert serving.experiment is not None
    assert found.serving is not None
    assert (found.serving.model, found.serving.version) == (1, "1+360")
    assert (found.serving.learned, found.serving.skipped, found.serving.behind) == (360, 0, 0)
    assert found.promise is not None
    assert (found.promise.loss, found.promise.bound) == (learner.loss, learner.bound)
    assert found.promise.terms["loss"] == pytest.approx(learner.loss)
    assert found.promise.reason == ""
    assert found.line.learned[-1] == 360
    assert (found.line.loss[-1], found.line.bound[-1]) == (learner.loss, learner.bound)
    assert found.line.loss == sorted(found.line.loss)
    assert [model.version for model in found.models] == ["1+360", "2+100"]
    (result,) = found.experiments
    assert result == filled.results.of(serving.experiment)
    assert result.a.rankings + result.b.rankings > 80
    counts = store.counts()
    assert (found.store.events, found.store.rankings) == (360, 360)
    assert found.store.n_bytes == counts.n_bytes
    assert found.store.healthy
    newest = store.last_rankings(20)
    assert [shown.ranking_id for shown in found.rankings] == [r.ranking_id for r in newest]
    best = newest[0].ids[int(np.argmax(newest[0].scores))]
    assert found.rankings[0].documents[0].id == best
    assert len(found.rankings[0].documents) == 3
    assert found.drift.n_features == len(NAMES)
    assert found.drift.features[0].name == "price"  # which the sample shifts half way
    assert found.drift.n_drifted == 1
    assert len(ask(filled, "/v1/overview").content) < 200_000


def test_a_promotion_is_seen_at_once(filled: Service) -> None:
    maker = OverviewMaker(filled)
    first = maker.body()
    assert maker.body() is first  # for a second
    filled.store.promote(2, time(), "promote-2")
    filled.board.refresh()
    found = msgspec.json.decode(maker.body(), type=Overview)
    assert found.serving is not None
    assert (found.serving.model, found.previous) == (2, 1)


def test_events_that_wait_are_behind(service: Service) -> None:
    fill(service, 10)
    fill(service, 7, "late", 2, learning=False)
    found = overview(service).serving
    assert found is not None
    assert (found.learned, found.behind) == (10, 7)


def test_without_a_store_the_figures_stay(filled: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    maker = OverviewMaker(filled)
    before = maker.overview()

    def fail(*_: Any) -> Any:
        raise StoreUnavailableError("disk full")

    monkeypatch.setattr(filled.store, "counts", fail)
    after = maker.overview()
    assert not after.store.healthy
    assert after.store.error == "The store does not answer: disk full"
    assert after.line == before.line
    assert after.models == before.models


def test_a_slow_store_keeps_only_one_waiting(
    filled: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = OverviewMaker(filled)
    first = maker.body()
    monkeypatch.setattr("rankwright.serve.page.overview_maker._PERIOD", 0.0)
    with maker._lock:  # as if another thread were making one
        assert maker.body() is first


def test_the_page_asks_for_a_token_and_its_files_do_not(tmp_path: Path) -> None:
    tokens: Tokens = parse_tokens(f"rank {TOKEN}", "tokens")
    service = open_service(tmp_path, tokens)
    try:
        assert ask(service, "/").status_code == 200
        assert ask(service, "/static/main.js").status_code == 200
        for path in ("/v1/overview", "/v1/rankings/" + "0" * 32):
            assert ask(service, path).status_code == 401
            assert ask(service, path, authorization="Bearer wrong").status_code == 401
        assert ask(service, "/v1/overview", authorization=f"Bearer {TOKEN}").status_code == 200
    finally:
        service.close()


# ---- one ranking ----


def explained(service: Service, ranking_id: str) -> ExplainedRanking:
    answer = ask(service, f"/v1/rankings/{ranking_id}")
    assert answer.status_code == 200
    return msgspec.json.decode(answer.content, type=ExplainedRanking)


def test_contributions_add_up_to_the_score(filled: Service) -> None:
    ranking = filled.store.last_rankings(1)[0]
    found = explained(filled, ranking.ranking_id)
    assert [one.rank for one in found.documents] == list(range(1, 9))
    assert [one.score for one in found.documents] == sorted(ranking.scores, reverse=True)
    assert ranking.features is not None
    number = int(ranking.version.partition("+")[0])
    model = filled.board.look.models[number]
    assert found.explained_by == model.version
    for one in found.documents:
        assert one.explanation is not None
        assert one.rest is not None
        row = ranking.features[[ranking.ids.index(one.id)]]
        assert one.explained == pytest.approx(model.rank(row)[0], rel=1e-12)
        assert sum(one.explanation.values()) + one.rest == pytest.approx(one.explained)
    assert ("has learned since" in found.reason) == (model.version != ranking.version)


def test_a_ranking_without_explanations_says_why(filled: Service) -> None:
    old = filled.store.last_rankings(1)[0]
    for key, features, version, words in (
        ("a", None, "1", "logged without features"),
        ("b", old.features, "7+3", "model 7 is not served now"),
    ):
        ranking = RankingRecord(key * 32, time(), "q", version, None, old.ids, old.scores, features)
        assert filled.writer.log(ranking)
        found = explained(filled, key * 32)
        assert words in found.reason
        assert found.explained_by is None
        assert all(one.explanation is None for one in found.documents)


@pytest.mark.parametrize("ranking_id", ["0" * 32, "x", "<img>", "%00", "0" * 500])
def test_a_ranking_that_is_not_there(service: Service, ranking_id: str) -> None:
    answer = ask(service, f"/v1/rankings/{ranking_id}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/json"
    assert "it was not logged, or has expired" in answer.json()["error"]


# ---- views ----


def marks(n: int, start: int = 0) -> list[Mark]:
    nothing, places = np.empty(0), np.empty(0, dtype=np.int64)
    return [
        Mark(1, 2 * i, i, b"", places, nothing, 0.5 * i, None if i < 3 else 3.0 * i)
        for i in range(start + 1, start + n + 1)
    ]


def learner(learned: int) -> LearnerRecord:
    return LearnerRecord(1, 2 * learned, True, learned, 0, b"", loss=0.5 * learned, bound=1.0)


def test_a_line_of_loss_stays_short() -> None:
    line = ThinLine()
    assert line.line(learner(0)) == LossLine([], [], [])
    for start in range(0, 100_000, 1000):
        line.extend(marks(1000, start))
    found = line.line(learner(100_000))
    assert MOST_POINTS / 2 - 1 <= len(found.learned) <= MOST_POINTS
    gaps = np.diff(found.learned[:-1])
    assert (gaps == gaps[0]).all()  # even distances
    assert found.learned[-1] == 100_000
    assert found.loss == [0.5 * n for n in found.learned]
    assert found.bound[-1] == 1.0
    assert found.bound[0] is None


def test_few_steps_are_all_in_the_line() -> None:
    line = ThinLine()
    line.extend(marks(5))
    assert line.line(learner(5)).learned == [1, 2, 3, 4, 5]
    assert line.line(learner(9)).learned == [1, 2, 3, 4, 5, 9]


def test_a_line_reads_on_where_it_was(filled: Service) -> None:
    whole, pieces = ThinLine(), ThinLine()
    record = filled.store.learner(1)
    assert record is not None
    whole.read(filled.store, record)
    for n in (1, 2, 3, 100):
        pieces.extend(filled.store.marks(1, pieces._position, n))
    assert whole.line(record) == pieces.line(record)
    assert len(whole.line(record).learned) > 5


class ManyMarks:
    """A store whose learner has made a million steps."""

    def __init__(self) -> None:
        self.n_read = 0

    def marks(self, model_id: int, after: int, limit: int) -> list[Mark]:
        found = marks(min(limit, 1_000_000 - after // 2), after // 2)
        self.n_read += len(found)
        return found


def test_a_long_history_is_not_read_whole() -> None:
    store: Any = ManyMarks()
    line, record = ThinLine(), learner(1_000_000)
    line.read(store, record)
    found = line.line(record).learned
    assert store.n_read <= MOST_POINTS
    assert len(found) >= MOST_POINTS / 2
    assert max(np.diff(found)) <= 3 * 1_000_000 / MOST_POINTS
    line.read(store, record)
    line.read(store, record)
    assert store.n_read <= 3 * MOST_POINTS
    assert line._position == record.position


def test_pace_is_of_the_last_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    telemetry, now = Telemetry(), 0.0
    monkeypatch.setattr("rankwright.serve.http.telemetry.monotonic", lambda: now)
    empty = pace_of(telemetry)
    assert empty.rankings == empty.feedback == [0.0] * SECONDS
    assert empty.p99 == [None] * SECONDS
    assert empty.routes == []
    telemetry.tick()
    for second in range(1, 4):
        now = float(second)
        for _ in range(10 * second):
            telemetry.observe("POST /v1/rank", 200, 0.002)
        telemetry.add("rankings_logged", 4 * (second == 3) + 10 * second)  # once a batch
        telemetry.observe("POST /v1/feedback", 200, 0.1)
        telemetry.add("feedback_accepted", 5)
        telemetry.tick()
    found = pace_of(telemetry)
    assert found.rankings[-4:] == [0.0, 10.0, 20.0, 34.0]
    assert found.feedback[-4:] == [0.0, 5.0, 5.0, 5.0]
    assert found.p50[-4] is None
    assert found.p50[-1] == pytest.approx(2.0, rel=0.2)
    rank, feedback = found.routes
    assert (rank.route, rank.requests, feedback.requests) == ("POST /v1/rank", 60, 3)
    assert feedback.p99 == pytest.approx(100, rel=0.2)
    assert len(found.rankings) == SECONDS
    for i in range(100):
        telemetry.observe("GET /v1/state", 200, 0.001 if i < 93 else 0.1)
    now = 4.0
    telemetry.tick()
    (state,) = (one for one in pace_of(telemetry).routes if one.route == "GET /v1/state")
    assert state.p50 == pytest.approx(1, rel=0.2)
    assert state.p95 == pytest.approx(100, rel=0.2)
    telemetry.close()


def test_a_promise_or_the_reason_without(filled: Service) -> None:
    record = filled.store.learner(1)
    assert record is not None
    found = promise_of(filled.store, record)
    assert found.name
    assert found.formula
    assert found.bound == record.bound
    none = promise_of(filled.store, replace(record, bound=None, reason="it is not separable."))
    assert (none.bound, none.reason, none.terms) == (None, "it is not separable.", {})


class Moved:
    """A watch that has seen a feature of each kind."""

    def to_dict(self, most: int) -> dict[str, Any]:
        kinds = {"price": "much", "stock": "some", "age": "little"}
        rest = {"missing_before": 0.0, "missing": 0.25, "before": [0.5, 0.5], "now": [0.1, 0.9]}
        features = [{"feature": n, "stability": 0.3, "moved": m, **rest} for n, m in kinds.items()]
        return {"reference": "a.txt", "documents": 9, "features": features, "verdict": "one."}


def test_drift_counts_what_moved() -> None:
    watch: Any = Moved()
    found = drift_view(watch)
    assert [one.state for one in found.features] == ["drifted", "moved", "stable"]
    assert (found.n_features, found.n_moved, found.n_drifted) == (3, 1, 1)
    assert found.features[0].missing_now == 0.25


def test_drift_without_enough_documents_says_so(service: Service) -> None:
    assert drift_view(None).reason == "Nobody watches the features."
    found = drift_view(service.drift)
    assert found.features == []
    assert "Too few documents" in found.reason
    assert found.whose == ""
    assert "one of 3 workers" in drift_view(service.drift, 3).whose


def test_a_model_that_does_not_learn_has_no_line(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, N_FEATURES))
    fixed = rw.LinearRanker().fit(X, X[:, 0] > 0, np.repeat(np.arange(6), 10))
    service = open_service(tmp_path, None, [(packed(fixed), "LinearRanker", False, "fixed.rw")])
    try:
        fill(service, 20)
        found = overview(service)
        assert found.serving is not None
        assert (found.serving.kind, found.serving.learns) == ("LinearRanker", False)
        assert (found.serving.learned, found.serving.behind) == (0, 0)
        assert found.promise is None
        assert found.line == LossLine([], [], [])
    finally:
        service.close()


def test_many_models_do_not_make_it_large(service: Service) -> None:
    first = service.store.model_content(1)
    for i in range(60):  # a model file may have anything behind its end
        service.store.add_model(first + b"%d" % i, "SLAMPerceptron", True, time(), "x" * 200)
    assert [model.model for model in overview(service).models[:2]] == [1, 13]
    two_arms(service)
    found = overview(service)
    assert [model.model for model in found.models[:3]] == [1, 2, 13]
    assert len(found.models) == 52
    assert len(ask(service, "/v1/overview").content) < 50_000


def test_settings_are_not_shown(filled: Service) -> None:
    text = ask(filled, "/v1/overview").text
    assert Settings().store not in text
    assert filled.settings.store not in text
