"""Models over HTTP: list, upload, promote, roll back, download; and the state."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from rankwright.persistence import packed, unpack_model
from rankwright.serve.ranking.board import Look
from tests.serving import Caller, Fields, features, serving, small_model


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    with serving(tmp_path) as one:
        yield one


def upload(caller: Caller, content: bytes, status: int = 201, **params: str) -> Fields:
    answer = caller("POST", "/v1/models", content=content, params=params)
    assert answer.status_code == status, answer.text
    found: Fields = answer.json()
    return found


def promote(caller: Caller, number: int, status: int = 200) -> Fields:
    answer = caller("POST", "/v1/models/promote", json={"model": number})
    assert answer.status_code == status, answer.text
    found: Fields = answer.json()
    return found


def test_a_model_is_uploaded_promoted_and_rolled_back(caller: Caller) -> None:
    content = small_model("LinearRanker")
    new = upload(caller, content, note="better")
    assert (new["model"], new["version"], new["kind"]) == (2, "2", "LinearRanker")
    assert (new["note"], new["learns"], new["serving"]) == ("better", False, False)
    assert caller.rank()["model"] == "1"
    assert promote(caller, 2) == {"model": 2, "version": "2", "previous": 1}
    assert caller.rank()["model"] == "2"  # at once, on this worker
    listed = caller("GET", "/v1/models").json()
    assert [(one["model"], one["serving"]) for one in listed] == [(1, False), (2, True)]
    back = caller("POST", "/v1/models/rollback").json()
    assert back == {"model": 1, "version": "1", "previous": 2}
    assert caller.rank()["model"] == "1"


def test_a_roll_back_sent_twice_does_not_come_back(caller: Caller) -> None:
    upload(caller, small_model(seed=1))
    promote(caller, 2)
    assert caller("POST", "/v1/models/rollback", params={"leave": "2"}).status_code == 200
    again = caller("POST", "/v1/models/rollback", params={"leave": "2"})
    assert again.status_code == 409
    assert "model 2 is not served, but 1 is" in again.text
    assert caller.rank()["model"] == "1"


def test_there_must_be_something_to_roll_back_to(caller: Caller) -> None:
    answer = caller("POST", "/v1/models/rollback")
    assert answer.status_code == 409
    assert "no model to roll back to" in answer.text


def test_the_same_file_is_the_same_model(caller: Caller) -> None:
    content = small_model(seed=1)
    assert upload(caller, content)["model"] == upload(caller, content)["model"] == 2


@pytest.mark.parametrize("content", [b"", b"no model", small_model()[:-20], b"PK\3\4" + b"x" * 99])
def test_what_is_no_model_is_refused(caller: Caller, content: bytes) -> None:
    text = upload(caller, content, 422)["error"]
    assert text.startswith("the body must be a model file")
    assert "\n" not in text
    assert len(caller("GET", "/v1/models").json()) == 1


def test_what_cannot_rank_is_refused(caller: Caller) -> None:
    X, Y = np.random.default_rng(0).normal(size=(30, 3)), np.tile([[1, 0], [0, 1]], (15, 1))
    content = packed(rw.PredtronMultilabel().fit(X, Y))
    assert "cannot be served" in upload(caller, content, 422)["error"]


def test_other_features_must_be_meant(caller: Caller) -> None:
    content = small_model(n_features=5)
    text = upload(caller, content, 409)["error"]
    assert "it has 5 features and not 3" in text
    assert "?force=true" in text
    assert upload(caller, content, force="true")["model"] == 2
    assert upload(caller, content, 422, force="yes")["field"] == "force"


def test_features_that_changed_after_a_promotion(caller: Caller) -> None:
    """Old rankings are judged, new requests must have the new features."""
    name = caller.rank()["ranking_id"]
    upload(caller, small_model(n_features=5), force="true")
    promote(caller, 2)
    assert caller.feedback({"event_id": "e", "ranking_id": name, "labels": {"d0": 1}})["accepted"]
    event = caller.service.store.events(0, 100)[-1].new
    assert event.lesson is not None
    assert event.lesson.features is not None
    assert event.lesson.features.shape == (1, 3)
    body = {"query": "q", "documents": [{"id": "a", "features": features(1)}]}
    answer = caller("POST", "/v1/rank", json=body)
    assert answer.status_code == 422
    assert "must have 5 features, but has 3" in answer.text


def named(names: list[str]) -> bytes:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=names)
    return packed(rw.SLAMPerceptron().fit(X, rng.integers(0, 2, 40), np.repeat(np.arange(8), 5)))


def test_names_must_be_those_of_the_served_model(tmp_path: Path) -> None:
    with serving(tmp_path, named(["title", "age", "price"])) as caller:
        text = upload(caller, named(["title", "price", "age"]), 409)["error"]
        assert "its feature 2 is 'price' and not 'age'" in text
        assert "'feature 1' and not 'title'" in upload(caller, small_model(), 409)["error"]


def test_a_model_that_is_not_there_is_not_promoted(caller: Caller) -> None:
    assert "there is no model 7" in promote(caller, 7, 404)["error"]
    answer = caller("POST", "/v1/models/promote", json={"model": "2"})
    assert answer.status_code == 422
    assert answer.json()["field"] == "model"
    assert caller.rank()["model"] == "1"


def test_models_are_downloaded_as_they_came_and_as_they_are(caller: Caller) -> None:
    answer = caller("GET", "/v1/models/1")
    assert answer.content == small_model()
    assert answer.headers["content-disposition"] == 'attachment; filename="model-1.rw"'
    store = caller.service.store
    learner = store.learner(1)
    assert learner is not None
    later = small_model(seed=5)
    store.advance(learner.position, replace(learner, content=later, learned=3), None)
    answer = caller("GET", "/v1/models/1", params={"learned": "true"})
    assert answer.content == later
    assert 'filename="model-1+3.rw"' in answer.headers["content-disposition"]
    assert isinstance(unpack_model(io.BytesIO(answer.content)), rw.SLAMPerceptron)


@pytest.mark.parametrize("name", ["0", "9", "x", "-1", "1.5", "9" * 40, "1;"])
def test_there_is_no_other_model(caller: Caller, name: str) -> None:
    answer = caller("GET", f"/v1/models/{name}")
    assert answer.status_code == 404
    assert "GET /v1/models lists them" in answer.text


def test_the_state_tells_how_far_learning_is(caller: Caller) -> None:
    name = caller.rank()["ranking_id"]
    for i in range(3):
        caller.feedback({"event_id": f"e{i}", "ranking_id": name, "labels": {"d0": 1, "d1": 0}})
    state = caller("GET", "/v1/state").json()
    assert (state["events"], state["learned"], state["behind"]) == (3, 0, 3)
    assert state["model"] == "1"
    store = caller.service.store
    learner = store.learner(1)
    assert learner is not None
    store.advance(
        learner.position,
        replace(learner, position=learner.position + 2, learned=1, skipped=1, loss=0.5, bound=2.0),
        None,
    )
    state = caller("GET", "/v1/state").json()
    wanted: Any = {"events": 3, "learned": 1, "skipped": 1, "behind": 1, "model": "1+1"}
    wanted |= {"cumulative_loss": 0.5, "bound": 2.0, "reason": ""}
    assert state == wanted


def test_the_board_ranks_with_what_was_learned(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, board = caller.service.store, caller.service.board
    learner = store.learner(1)
    assert learner is not None
    first, second = (
        replace(learner, position=n + 1, learned=n, content=small_model(seed=n)) for n in (1, 2)
    )
    store.advance(learner.position, first, None)
    before = store.learners()
    store.advance(first.position, second, None)
    with monkeypatch.context() as patch:
        patch.setattr(store, "learners", lambda: before)  # it learns while the board looks
        board.refresh()
    served = board.current
    assert (served.version, served.content) == ("1+2", second.content)
    assert caller.rank()["model"] == "1+2"
    board.refresh()
    assert board.current is served  # nothing was learned since


def test_the_state_of_what_does_not_learn(tmp_path: Path) -> None:
    with serving(tmp_path, small_model("LinearRanker")) as caller:
        state = caller("GET", "/v1/state").json()
        assert (state["bound"], state["cumulative_loss"]) == (None, None)
        assert state["reason"] == "LinearRanker does not learn."


def test_a_look_that_began_earlier_does_not_undo_a_promotion(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(caller, small_model(seed=1))
    board = caller.service.board
    look, slow = board._look_again, [True]
    entered, leave = threading.Event(), threading.Event()

    def look_slowly(old: Look | None) -> Look:
        found = look(old)
        if slow.pop() if slow else False:
            entered.set()
            leave.wait(10)
        return found

    monkeypatch.setattr(board, "_look_again", look_slowly)
    early = threading.Thread(target=board.refresh)
    early.start()
    assert entered.wait(10)
    threading.Timer(0.3, leave.set).start()
    promote(caller, 2)
    early.join()
    assert board.current.model_id == 2


def test_promotions_while_the_board_looks_are_not_lost(caller: Caller) -> None:
    """The thread of the board and a promotion look at once: the newer look stays."""
    upload(caller, small_model(seed=1))
    caller.service.board.start()
    end = time.monotonic() + 1.0
    number = 1
    while time.monotonic() < end:
        number = 3 - number
        assert promote(caller, number)["model"] == number
        assert caller.rank()["model"] == str(number)
