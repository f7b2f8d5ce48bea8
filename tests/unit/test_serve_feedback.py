"""Feedback: what is accepted, what is refused and why, and what the log then has."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwright.serve.http import feedback_api
from rankwright.serve.http.feedback import values_of_lessons
from rankwright.serve.http.ranking_ids import new_ranking_id
from rankwright.serve.records import EventLesson, EventRecord, ExperimentRecord, Fate, RankingRecord
from rankwright.serve.settings import Limits, Log
from rankwright.serve.store.interface import StoreUnavailableError
from tests.serving import Caller, Fields, features, serving, small_model

pytest.importorskip("starlette")


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    with serving(tmp_path) as one:
        yield one


def lessons(caller: Caller) -> list[EventRecord]:
    events = caller.service.store.events(0, 10_000)
    return [event for event in events if event.new.kind == "feedback"]


def documents(*labels: float | None) -> list[Fields]:
    return [
        {"id": f"d{i}", "features": features(i), "label": label} for i, label in enumerate(labels)
    ]


# ---- labels ----


def test_labels_of_a_ranking_are_learned_in_its_order(caller: Caller) -> None:
    ranked = caller.rank("shoes")
    order = [placed["id"] for placed in ranked["documents"]]
    event = {"event_id": "e1", "ranking_id": ranked["ranking_id"], "labels": {"d0": 2, "d3": 0}}
    assert caller.feedback(event) == {"accepted": True, "duplicate": False}
    (logged,) = lessons(caller)
    lesson = logged.new.lesson
    assert lesson is not None
    assert lesson.features is not None
    assert lesson.query == "shoes"
    assert lesson.ids == [name for name in order if name in ("d0", "d3")]
    by_name = dict(zip(lesson.ids, lesson.labels.tolist(), strict=True))
    assert by_name == {"d0": 2.0, "d3": 0.0}
    rows = [features(int(name[1])) for name in lesson.ids]
    assert lesson.features.tolist() == rows
    assert (logged.new.ranking_id, logged.new.version) == (ranked["ranking_id"], "1")
    # d0 is second of the two that have labels: its gain counts 1/log2(3).
    second = lesson.ids.index("d0") + 1
    assert logged.new.value == pytest.approx(1 / math.log2(second + 1))


def test_documents_of_equal_scores_are_learned_in_the_order_that_was_answered(
    caller: Caller,
) -> None:
    """Many of them: few stay in order by any way of sorting."""
    documents = [{"id": f"d{i}", "features": features(i % 3)} for i in range(200)]
    ranked = caller("POST", "/v1/rank", json={"query": "q", "documents": documents}).json()
    order = [placed["id"] for placed in ranked["documents"]]
    labels = dict.fromkeys(order, 1)
    caller.feedback({"event_id": "e", "ranking_id": ranked["ranking_id"], "labels": labels})
    lesson = lessons(caller)[0].new.lesson
    assert lesson is not None
    assert lesson.ids == order


def test_two_feedbacks_of_a_ranking_are_two_lessons(caller: Caller) -> None:
    name = caller.rank()["ranking_id"]
    caller.feedback({"event_id": "e1", "ranking_id": name, "labels": {"d0": 1}})
    caller.feedback({"event_id": "e2", "ranking_id": name, "labels": {"d0": 1}})
    assert [event.new.event_id for event in lessons(caller)] == ["e1", "e2"]


def test_documents_bring_their_features_and_nothing_is_valued(caller: Caller) -> None:
    event = {"event_id": "e", "query": "q", "documents": documents(1.0, None, 0.0)}
    assert caller.feedback(event)["accepted"]
    (logged,) = lessons(caller)
    lesson = logged.new.lesson
    assert lesson is not None
    assert lesson.features is not None
    assert (lesson.ids, lesson.labels.tolist()) == (["d0", "d2"], [1.0, 0.0])
    assert lesson.features.tolist() == [features(0), features(2)]
    assert (logged.new.value, logged.new.version, logged.new.ranking_id) == (None, None, None)


def test_labels_may_stand_beside_documents(caller: Caller) -> None:
    event = {"event_id": "e", "query": "q", "documents": documents(None, None), "labels": {"d1": 3}}
    caller.feedback(event)
    lesson = lessons(caller)[0].new.lesson
    assert lesson is not None
    assert (lesson.ids, lesson.labels.tolist()) == (["d1"], [3.0])


# ---- clicks ----


def test_clicks_label_the_list_down_to_the_last_one(caller: Caller) -> None:
    ranked = caller.rank(n=5)
    order = [placed["id"] for placed in ranked["documents"]]
    clicks = [order[3], order[1], order[3]]
    caller.feedback({"event_id": "e", "ranking_id": ranked["ranking_id"], "clicks": clicks})
    (logged,) = lessons(caller)
    assert logged.new.lesson is not None
    assert logged.new.lesson.ids == order[:4]
    assert logged.new.lesson.labels.tolist() == [0.0, 1.0, 0.0, 1.0]
    best, got = 1 + 1 / math.log2(3), 1 / math.log2(3) + 1 / math.log2(5)
    assert logged.new.value == pytest.approx(got / best)


@pytest.mark.parametrize("k", [2, 5, 10**12])
def test_what_was_not_answered_was_not_clicked(k: int, caller: Caller) -> None:
    given = [{"id": f"d{i}", "features": features(i)} for i in range(5)]
    ranked = caller("POST", "/v1/rank", json={"query": "q", "documents": given, "k": k}).json()
    answered = [placed["id"] for placed in ranked["documents"]]
    assert len(answered) == min(k, 5)
    feedback = {"ranking_id": ranked["ranking_id"]}
    for name in (document["id"] for document in given):
        event = {"event_id": f"click on {name}", "clicks": [name], **feedback}
        status = caller("POST", "/v1/feedback", json=event).status_code
        assert status == (200 if name in answered else 422)
    # Judges know what was not answered.
    labels = {document["id"]: 1 for document in given}
    assert caller.feedback({"event_id": "judged", "labels": labels, **feedback})["accepted"]


def test_clicks_on_documents_count_in_the_order_in_which_they_came(caller: Caller) -> None:
    shown = documents(None, None, None)
    caller.feedback({"event_id": "e", "query": "q", "documents": shown, "clicks": ["d1"]})
    lesson = lessons(caller)[0].new.lesson
    assert lesson is not None
    assert (lesson.ids, lesson.labels.tolist()) == (["d0", "d1"], [0, 1])


# ---- what is refused ----

BAD: list[tuple[Fields, str]] = [
    ({"labels": {"nope": 1, "d0": 1, "no": 2}}, "'nope', 'no'"),
    ({"clicks": ["nope"]}, "'nope'"),
    ({"labels": {"d0": -1}}, "that of 'd0' is -1"),
    ({"labels": {}}, "nothing to learn"),
    ({"clicks": []}, "nothing to learn"),
    ({}, "labels or clicks"),
    ({"labels": {"d0": 1}, "clicks": ["d0"]}, "one of them"),
    ({"labels": {"d0": 1}, "query": "q"}, "query must come with documents"),
    ({"labels": {"d0": 1}, "documents": []}, "ranking_id or documents"),
    ({"labels": {"d0": "1"}}, "Expected `float`, got `str`"),
    ({"labels": {"d0": 1}, "lebals": 1}, "lebals"),
    ({"labels": {"d0": 1}, "event_id": ""}, "event_id must have from 1 to 512"),
    ({"labels": {"d0": 1}, "event_id": "x" * 513}, "event_id must have from 1 to 512"),
    ({"labels": {"d0": 1}, "event_id": "a\0"}, "event_id must have from 1 to 512"),
    ({"labels": {"d0": 1}, "ranking_id": "q1"}, "must be one that /v1/rank answered"),
    ({"labels": {"d0": 1}, "ranking_id": None}, "ranking_id or documents"),
]


@pytest.mark.parametrize(("fields", "text"), BAD)
def test_a_bad_event_is_named_and_not_written(caller: Caller, fields: Fields, text: str) -> None:
    name = caller.rank()["ranking_id"]
    answer = caller.feedback({"event_id": "e", "ranking_id": name} | fields, 422)
    assert text in answer["error"]
    assert not lessons(caller)


BAD_DOCUMENTS: list[tuple[Fields, str]] = [
    ({"query": None}, "query must come with documents"),
    ({"query": ""}, "query must have from 1"),
    ({"documents": documents(1) + documents(1)}, "ids of documents must differ"),
    ({"documents": []}, "labels or clicks"),
    ({"documents": [{"id": "a", "features": [1, 2], "label": 1}]}, "must have 3 features"),
    ({"documents": [{"id": "a", "features": [1, 2, None], "label": 1}]}, "'feature 3'"),
    ({"documents": documents(None, None)}, "labels or clicks"),
    ({"documents": documents(1), "labels": {"d0": 1}}, "one of them"),
    ({"documents": documents(-2)}, "that of 'd0' is -2"),
    ({"documents": [{"id": "a", "features": {"feeature 1": 1}, "label": 1}]}, "Did you mean"),
]


@pytest.mark.parametrize(("fields", "text"), BAD_DOCUMENTS)
def test_bad_documents_are_named(caller: Caller, fields: Fields, text: str) -> None:
    event = {"event_id": "e", "query": "q", "documents": documents(1, 0)} | fields
    assert text in caller.feedback(event, 422)["error"]
    assert not lessons(caller)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_what_is_no_finite_number_is_refused(caller: Caller, number: str) -> None:
    name = caller.rank()["ranking_id"]
    body = f'{{"event_id": "e", "ranking_id": "{name}", "labels": {{"d0": {number}}}}}'
    assert caller("POST", "/v1/feedback", content=body).status_code in (400, 422)
    assert not lessons(caller)


def test_labels_must_be_among_the_classes(tmp_path: Path) -> None:
    with serving(tmp_path, small_model("PRank")) as caller:
        name = caller.rank()["ranking_id"]
        event = {"event_id": "e", "ranking_id": name, "labels": {"d0": 7}}
        text = caller.feedback(event, 422)["error"]
        assert "classes of the model, 0.0, 1.0, 2.0" in text
        assert "'d0' is 7" in text
        assert caller.feedback(event | {"labels": {"d0": 2}})["accepted"]


def test_a_batch_has_a_largest_size_and_a_smallest(tmp_path: Path) -> None:
    with serving(tmp_path, limits=Limits(queries=2)) as caller:
        assert "from 1 to 2 events, but has 3" in caller.feedback([1, 2, 3], 422)["error"]
        assert "from 1 to 2 events, but has 0" in caller.feedback([], 422)["error"]


# ---- rankings that are not there ----


def test_an_old_ranking_that_nobody_has_is_gone_at_once(caller: Caller) -> None:
    name, begin = new_ranking_id(time.time() - 60), time.monotonic()
    answer = caller.feedback({"event_id": "e", "ranking_id": name, "labels": {"a": 1}}, 410)
    assert "send the features" in answer["error"]
    assert name in answer["error"]
    assert time.monotonic() - begin < 1.5


def test_a_young_ranking_is_waited_for(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may still be in the queue of another process."""
    name = new_ranking_id(time.time())
    X = np.array([features(0), features(1)])
    ranking = RankingRecord(name, time.time(), "q", "1", None, ["a", "b"], np.array([1.0, 2.0]), X)
    looks: list[int] = []

    def rankings(names: list[str]) -> dict[str, RankingRecord]:
        looks.append(len(names))
        return {name: ranking} if len(looks) == 4 else {}

    monkeypatch.setattr(caller.service.store, "rankings", rankings)
    event = {"event_id": "e", "ranking_id": name, "labels": {"a": 1}}
    assert caller.feedback(event)["accepted"]
    assert looks == [1] * 4


def test_young_rankings_are_not_waited_for_for_ever(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feedback_api, "_YOUNG", 0.2)
    begin = time.monotonic()
    for ahead in (0.0, 1e6):  # also not for those of the future
        name = new_ranking_id(time.time() + ahead)
        caller.feedback({"event_id": "e", "ranking_id": name, "labels": {"a": 1}}, 410)
    assert 0.3 < time.monotonic() - begin < 3


def test_a_ranking_that_waits_to_be_written_is_found(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = new_ranking_id(time.time() - 60)
    X = np.array([features(0)])
    waiting = {name: RankingRecord(name, time.time(), "q", "1", None, ["a"], np.array([1.0]), X)}
    monkeypatch.setattr(caller.service.writer, "pending", waiting.get)
    monkeypatch.setattr(caller.service.store, "rankings", None)  # is not asked
    assert caller.feedback({"event_id": "e", "ranking_id": name, "labels": {"a": 1}})["accepted"]


def test_a_batch_may_speak_of_rankings_that_wait_and_of_written_ones(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.array([features(0)])
    known = {
        name: RankingRecord(name, time.time(), query, "1", None, ["a"], np.array([1.0]), X)
        for name, query in ((new_ranking_id(time.time() - 60), query) for query in "xy")
    }
    waits, written = known
    monkeypatch.setattr(caller.service.writer, "pending", {waits: known[waits]}.get)
    caller.service.store.write([known[written]], [])
    batch = [
        {"event_id": name, "ranking_id": name, "labels": {"a": 1}} for name in (written, waits)
    ]
    assert [entry["accepted"] for entry in caller.feedback(batch)] == [True, True]
    found = [event.new.lesson and event.new.lesson.query for event in lessons(caller)]
    assert found == ["y", "x"]


def test_rankings_without_features_teach_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, log=Log.ids) as caller:
        name = caller.rank()["ranking_id"]
        event = {"event_id": "e", "ranking_id": name, "labels": {"d0": 1}}
        assert "was logged without features" in caller.feedback(event, 422)["error"]


def test_rankings_without_features_are_measured_if_nobody_learns(tmp_path: Path) -> None:
    with serving(tmp_path, small_model("LinearRanker"), log=Log.ids) as caller:
        name = caller.rank()["ranking_id"]
        caller.feedback({"event_id": "e", "ranking_id": name, "labels": {"d0": 1, "d1": 0}})
        (logged,) = lessons(caller)
        assert logged.new.lesson is not None
        assert logged.new.lesson.features is None
        assert logged.new.value is not None


def test_rankings_without_features_are_refused_if_one_of_two_learns(tmp_path: Path) -> None:
    with serving(tmp_path, log=Log.ids) as caller:
        store = caller.service.store
        other = store.add_model(small_model("LinearRanker"), "LinearRanker", False, 1.0)
        store.begin_experiment("x", 1, other.model_id, 0.5, 1.0, "x")
        caller.service.board.refresh()
        ranked = [caller.rank(f"q{i}") for i in range(8)]
        assert {answer["model"] for answer in ranked} == {"1", "2"}
        for answer in ranked:
            event = {"event_id": "e", "ranking_id": answer["ranking_id"], "labels": {"d0": 1}}
            assert "the model learns" in caller.feedback(event, 422)["error"]


# ---- sent again ----


def test_an_event_counts_once(caller: Caller) -> None:
    name = caller.rank()["ranking_id"]
    event = {"event_id": "e", "ranking_id": name, "labels": {"d0": 1, "d1": 0}}
    assert caller.feedback(event) == {"accepted": True, "duplicate": False}
    turned = event | {"labels": {"d1": 0, "d0": 1.0}}
    assert caller.feedback(turned) == {"accepted": True, "duplicate": True}
    other = event | {"labels": {"d0": 2, "d1": 0}}
    assert "'e' was there with another content" in caller.feedback(other, 409)["error"]
    assert len(lessons(caller)) == 1


def test_what_was_accepted_is_counted_without_duplicates(caller: Caller) -> None:
    name = caller.rank()["ranking_id"]
    one, two = (
        {"event_id": which, "ranking_id": name, "labels": {"d0": 1}} for which in ("e1", "e2")
    )
    caller.feedback(one)
    caller.feedback(one)
    caller.feedback([one, two, {**two, "labels": {"d0": 0}}, {**two, "event_id": ""}])
    total = caller.service.telemetry.total
    assert (total("feedback_accepted"), total("feedback_duplicate")) == (2, 2)


def test_an_event_is_known_when_what_it_speaks_of_is_gone(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feedback_api, "_YOUNG", 0.1)
    name = caller.rank()["ranking_id"]
    event = {"event_id": "e", "ranking_id": name, "labels": {"d0": 1}}
    caller.feedback(event)
    caller.service.store.expire(time.time() + 10)
    assert caller.service.store.ranking(name) is None
    assert caller.feedback(event) == {"accepted": True, "duplicate": True}
    assert caller.feedback(event | {"labels": {"d0": 2}}, 409)
    assert caller.feedback(event | {"event_id": "other"}, 410)


def test_the_same_event_from_many_at_once_counts_once(caller: Caller) -> None:
    name = caller.rank()["ranking_id"]
    event = {"event_id": "e", "ranking_id": name, "labels": {"d0": 1}}
    calls = [("POST", "/v1/feedback", {"json": event})] * 20
    answers = [answer.json() for answer in caller.together(calls)]
    assert sum(not answer["duplicate"] for answer in answers) == 1
    assert all(answer["accepted"] for answer in answers)
    assert len(lessons(caller)) == 1


# ---- batches ----


def test_an_invalid_event_does_not_hinder_the_others(caller: Caller) -> None:
    name = caller.rank()["ranking_id"]
    good = {"event_id": "e1", "ranking_id": name, "labels": {"d0": 1}}
    batch: list[Any] = [
        good,
        {"event_id": "e2", "ranking_id": name, "labels": {"nope": 1}},
        {"event_id": 3},
        17,
        good,
        good | {"labels": {"d0": 2}},
        {"event_id": "e4", "query": "q", "documents": documents(1, 0)},
    ]
    answers = caller.feedback(batch)
    assert answers[0] == {"accepted": True, "duplicate": False, "event_id": "e1"}
    assert (answers[1]["status"], answers[1]["event_id"]) == (422, "e2")
    assert "'nope'" in answers[1]["error"]
    assert "event_id" in answers[2]["error"]
    assert answers[2]["status"] == 422
    assert answers[3]["status"] == 422
    assert not answers[3]["accepted"]
    assert answers[4] == {"accepted": True, "duplicate": True, "event_id": "e1"}
    assert answers[5]["status"] == 409
    assert answers[6]["accepted"]
    assert [event.new.event_id for event in lessons(caller)] == ["e1", "e4"]


@pytest.mark.parametrize("body", [b"", b"{", b"[", b'[{"event_id": ]', b"nul", b"\xff", b"[[[["])
def test_what_is_no_json_is_refused_whole(caller: Caller, body: bytes) -> None:
    assert caller("POST", "/v1/feedback", content=body).status_code in (400, 422)


def test_the_kind_of_a_body_must_be_known(caller: Caller) -> None:
    answer = caller("POST", "/v1/feedback", content=b"{}", headers={"content-type": "text/plain"})
    assert answer.status_code == 415


# ---- durability ----


def test_nothing_is_answered_before_it_is_durable(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = caller.rank()["ranking_id"]
    answers: list[Future[list[Fate]]] = []
    begin = time.monotonic()

    def append(events: list[Any]) -> Future[list[Fate]]:
        import threading

        answers.append(Future())
        threading.Timer(0.2, answers[0].set_result, ([Fate.accepted],)).start()
        return answers[0]

    monkeypatch.setattr(caller.service.writer, "append", append)
    caller.feedback({"event_id": "e", "ranking_id": name, "labels": {"d0": 1}})
    assert answers[0].done()
    assert time.monotonic() - begin >= 0.2


def test_a_store_that_takes_nothing_is_said(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = caller.rank()["ranking_id"]
    failed: Future[list[Fate]] = Future()
    failed.set_exception(StoreUnavailableError("the disk is full"))
    monkeypatch.setattr(caller.service.writer, "append", lambda events: failed)
    event = {"event_id": "e", "ranking_id": name, "labels": {"d0": 1}}
    for body in (event, [event]):
        answer = caller("POST", "/v1/feedback", json=body)
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        assert "disk is full" in answer.json()["error"]
    assert caller.rank()["documents"]


# ---- experiments ----


def test_an_event_has_the_arm_of_its_experiment_only(tmp_path: Path) -> None:
    with serving(tmp_path) as caller:
        store = caller.service.store
        second = store.add_model(small_model(seed=1), "SLAMPerceptron", True, 0.0).model_id
        first = store.begin_experiment("one", 1, second, 0.5, time.time(), "x1")
        caller.service.board.refresh()
        early = {f"q{i}": caller.rank(f"q{i}")["ranking_id"] for i in range(30)}
        for query, name in early.items():
            caller.feedback({"event_id": query, "ranking_id": name, "labels": {"d0": 1, "d1": 0}})
        assert {event.new.arm for event in lessons(caller)} == {"a", "b"}
        store.end_experiment(time.time(), "x2")
        turned = store.begin_experiment("turned", second, 1, 0.5, time.time(), "x3")
        caller.service.board.refresh()
        for query, name in early.items():  # late: of the first experiment
            event = {"event_id": f"late {query}", "ranking_id": name, "labels": {"d0": 1}}
            caller.feedback(event)
        for logged in lessons(caller)[30:]:
            assert logged.new.version is not None
            if logged.new.arm is not None:
                assert _model(turned, logged.new.arm) == logged.new.version.partition("+")[0]
        assert first.number == 1


def _model(experiment: ExperimentRecord, arm: str) -> str:
    return str(experiment.a if arm == "a" else experiment.b)


# ---- tables ----


def arrow(columns: Fields) -> bytes:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def bulk(**more: Any) -> Fields:
    names = {f"feature {j + 1}": [features(i)[j] for i in (0, 1, 0)] for j in range(3)}
    told = {"event_id": ["e1", "e1", "e2"], "query": ["q", "q", "r"], "id": ["d0", "d1", "d0"]}
    return told | {"label": [1.0, None, 0.0]} | names | more


STREAM = {"content-type": "application/vnd.apache.arrow.stream"}


def test_a_table_says_what_json_says(caller: Caller) -> None:
    answer = caller("POST", "/v1/feedback", content=arrow(bulk()), headers=STREAM)
    assert [entry["accepted"] for entry in answer.json()] == [True, True]
    first = lessons(caller)[0].new.lesson
    assert first is not None
    assert first.features is not None
    assert (first.query, first.ids, first.features.tolist()) == ("q", ["d0"], [features(0)])
    same = {"event_id": "e1", "query": "q", "documents": documents(1.0, None)}
    assert caller.feedback(same) == {"accepted": True, "duplicate": True}


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"label": [1.0, math.nan, 0.0]}, "finite numbers or null"),
        ({"query": ["q", "r", "r"]}, "one query"),
        ({"feature 1": [1.0, math.nan, 1.0]}, "is NaN"),
        ({"feature 9": [1.0, 2.0, 1.0]}, "no feature 'feature 9'"),
    ],
)
def test_a_bad_table_is_named(caller: Caller, more: Fields, text: str) -> None:
    answer = caller("POST", "/v1/feedback", content=arrow(bulk(**more)), headers=STREAM)
    assert answer.status_code == 422
    assert text in answer.json()["error"]
    assert not lessons(caller)


def test_a_table_must_have_its_columns(caller: Caller) -> None:
    columns = bulk()
    del columns["label"]
    answer = caller("POST", "/v1/feedback", content=arrow(columns), headers=STREAM)
    assert answer.status_code == 422
    assert "a column 'label'" in answer.json()["error"]


# ---- values ----


def test_values_are_those_of_the_metric() -> None:
    def lesson(*labels: float) -> EventLesson:
        return EventLesson("q", [str(i) for i in range(len(labels))], np.array(labels), None)

    found = values_of_lessons(
        [lesson(0, 1), lesson(0, 0), lesson(-1, 1), lesson(2000, 1), lesson(2)]
    )
    assert found == [pytest.approx(1 / math.log2(3)), None, None, None, 1.0]
    assert values_of_lessons([lesson(*[0] * 10, 1)]) == [0.0]
    assert values_of_lessons([lesson(1000, 1), lesson(1001, 1)]) == [1.0, None]
    assert values_of_lessons([]) == []


# ---- any batch ----

EVENTS = st.fixed_dictionaries(
    {
        "event_id": st.sampled_from(["a", "b", "c", "d", "e"]),
        "place": st.integers(0, 3),  # which ranking; the last one is not there
        "labels": st.dictionaries(
            st.sampled_from(["d0", "d1", "d2", "d3", "nope"]), st.sampled_from([-1, 0, 1, 2])
        ),
    }
)


def can_be_written(event: Fields) -> bool:
    labels = event["labels"]
    return (
        event["place"] < 3 and bool(labels) and "nope" not in labels and -1 not in labels.values()
    )


def expected_of(batch: list[Fields], log: dict[str, Fields]) -> list[tuple[bool, bool, int]]:
    """Write a batch to a log; return whether each is accepted, a duplicate, and else its status.

    All that can be written is written before refusals are looked at.
    """
    found: dict[int, tuple[bool, bool, int]] = {}
    for i, event in sorted(enumerate(batch), key=lambda one: not can_be_written(one[1])):
        known = log.get(event["event_id"])
        if known is not None:
            same = known == event
            found[i] = same, same, 200 if same else 409
        elif can_be_written(event):
            log[event["event_id"]] = event
            found[i] = True, False, 200
        else:
            form = bool(event["labels"])  # looked at first
            found[i] = False, False, 410 if event["place"] == 3 and form else 422
    return [found[i] for i in range(len(batch))]


def test_the_log_has_what_was_accepted_once_and_nothing_else(caller: Caller) -> None:
    names = [caller.rank(f"q{i}")["ranking_id"] for i in range(3)]
    names.append(new_ranking_id(time.time() - 60))
    run = itertools.count()

    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.lists(EVENTS, min_size=1, max_size=6), min_size=1, max_size=4))
    def check(batches: list[list[Fields]]) -> None:
        before, turn = len(lessons(caller)), next(run)
        log: dict[str, Fields] = {}
        for batch in batches:
            sent = [
                {
                    "event_id": f"{turn} {event['event_id']}",
                    "ranking_id": names[event["place"]],
                    "labels": event["labels"],
                }
                for event in batch
            ]
            answers = caller.feedback(sent)
            told = [(a["accepted"], a["duplicate"], a.get("status", 200)) for a in answers]
            assert told == expected_of(batch, log)
        written = lessons(caller)[before:]
        assert [event.new.event_id for event in written] == [f"{turn} {name}" for name in log]
        for event, wanted in zip(written, log.values(), strict=True):
            lesson = event.new.lesson
            assert lesson is not None
            assert event.new.ranking_id == names[wanted["place"]]
            labels = dict(zip(lesson.ids, lesson.labels.tolist(), strict=True))
            assert labels == wanted["labels"]

    check()
