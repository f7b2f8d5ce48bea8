"""The client and the service understand each other; what is sent twice is counted once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.client import Client, ServiceError
from rankwright.serve.settings import Log, Settings
from tests.serve_in_process import AppTransport, in_process, lose_answer

RNG = np.random.default_rng(0)
NAMES = ["price", "age", "match"]


def learner(seed: int = 0, names: list[str] | None = None) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    y, qid = (X[:, 0] > 0).astype(float), np.repeat(range(10), 4)
    return rw.SLAMPerceptron("ndcg").fit_dataset(rw.Dataset(X, y, qid, feature_names=names))


@pytest.fixture
def model(tmp_path: Path) -> str:
    rw.save(learner(names=NAMES), tmp_path / "model.rw")
    return str(tmp_path / "model.rw")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=str(tmp_path / "log.db"), publish=0.01)


@pytest.fixture
def both(model: str, settings: Settings) -> Iterator[tuple[Client, AppTransport]]:
    with in_process(model, settings) as found:
        yield found


@pytest.fixture
def client(both: tuple[Client, AppTransport]) -> Client:
    return both[0]


@pytest.fixture
def transport(both: tuple[Client, AppTransport]) -> AppTransport:
    return both[1]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKWRIGHT_TOKEN", raising=False)
    monkeypatch.setattr("rankwright.client.calls._FIRST_WAIT", 0.001)


def test_all_forms_of_documents_have_the_scores_of_the_model(client: Client, model: str) -> None:
    pl = pytest.importorskip("polars")
    X = RNG.normal(size=(5, 3))
    scores = rw.load(model).predict(X)
    order = np.argsort(-scores, kind="stable")
    ids = [f"d{i}" for i in range(5)]
    frame = pl.DataFrame(X, schema=NAMES).with_columns(pl.Series("sku", ids))
    rankings = [
        client.rank("q", ids=ids, X=X),
        client.rank("q", ids=[f"{name},+ é" for name in ids], X=X),
        client.rank("q", list(zip(ids, X.tolist(), strict=True))),
        client.rank(
            "q",
            {i: dict(zip(NAMES[::-1], x[::-1], strict=True)) for i, x in zip(ids, X, strict=True)},
        ),
        client.rank("q", ids="sku", X=frame),
        *client.rank_many({"q": dict(zip(ids, X, strict=True))}),
    ]
    for ranking in rankings:
        assert [name[:2] for name in ranking.ids] == [ids[i] for i in order]
        assert ranking.scores == tuple(scores[order].tolist())
        assert ranking.model == "1"
        assert ranking.ranking_id is not None
    assert client.rank("q", ids=ids, X=X, k=2).ids == rankings[0].ids[:2]
    explained = client.rank("q", ids=ids, X=X, explain=True).documents[0]
    assert explained.explanation is not None
    assert explained.explanation.keys() == set(NAMES)
    assert sum(explained.explanation.values()) == pytest.approx(explained.score)


def test_what_is_wrong_is_told_in_one_line(client: Client) -> None:
    with pytest.raises(ServiceError, match=r"^422: ") as caught:
        client.rank("q", {"a": {"prise": 1, "age": 2, "match": 3}})
    assert "'price'" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ServiceError, match=r"^422: .*3 features"):
        client.rank("q", ids=["a"], X=np.ones((1, 7)))
    with pytest.raises(ServiceError, match=r"^422: .*'age'"):
        client.rank("q", {"a": [1, None, 2]})


@pytest.mark.parametrize("times", [1, 4])
def test_answers_lost_after_the_commit_count_once(
    client: Client, transport: AppTransport, times: int
) -> None:
    ranking = client.rank("q", ids=list("abc"), X=RNG.normal(size=(3, 3)))
    transport.faults = [lose_answer] * times
    receipt = client.feedback(ranking, labels={"a": 1, "b": 0})
    assert (receipt.accepted, receipt.duplicate) == (True, True)
    transport.faults = [lose_answer] * times
    receipts = client.feedback_many(
        {"ranking": ranking, "clicks": ["c"], "event_id": f"e{i}"} for i in range(3)
    )
    assert [receipt.duplicate for receipt in receipts] == [True] * 3
    state = client.wait_learned(20)
    assert (state.events, state.learned + state.skipped, state.behind) == (4, 4, 0)
    assert client.feedback(ranking, clicks=["c"], event_id="e0").duplicate
    with pytest.raises(ServiceError, match=r"^409: "):
        client.feedback(ranking, clicks=["a"], event_id="e0")


def test_the_loss_stays_below_the_bound(client: Client) -> None:
    for i in range(30):
        X = RNG.normal(size=(6, 3))
        ranking = client.rank(i, ids=range(6), X=X)
        client.feedback(ranking, labels=dict(enumerate((X[:, 1] > 0).astype(float))))
    state = client.wait_learned(20)
    assert (state.learned, state.model) == (30, "1+30")
    assert state.cumulative_loss is not None
    assert state.bound is not None
    assert state.cumulative_loss <= state.bound


def test_a_ranking_that_was_not_kept_is_learned_with_its_features(
    model: str, settings: Settings
) -> None:
    with in_process(model, replace(settings, log=Log.none)) as (client, _):
        ranking = client.rank("q", ids=list("abc"), X=RNG.normal(size=(3, 3)))
        assert ranking.ranking_id is None
        assert client.feedback(ranking, clicks=[ranking.ids[1]]).accepted
        assert client.wait_learned(20).learned == 1


def test_a_ranking_that_a_crash_took_is_learned_with_its_features(
    client: Client, transport: AppTransport
) -> None:
    ranking = client.rank("q", ids=list("abc"), X=RNG.normal(size=(3, 3)))
    assert ranking.ranking_id is not None
    old = "0" * 8 + ranking.ranking_id[8:]  # of a time long ago
    lost = replace(ranking, ranking_id=old)
    assert client.feedback(lost, labels={"a": 1, "b": 0}, event_id="e1").accepted
    assert client.feedback(lost, labels={"a": 1, "b": 0}, event_id="e1").duplicate
    event = {"ranking": lost, "clicks": ["b"], "event_id": "e2"}
    assert not client.feedback_many([event])[0].duplicate
    assert client.feedback_many([event])[0].duplicate
    with pytest.raises(ServiceError, match=r"^409: "):
        client.feedback(lost, labels={"a": 0, "b": 1}, event_id="e1")
    with pytest.raises(ServiceError, match=r"^410: .*send the features"):
        client.feedback(old, labels={"a": 1})
    assert client.wait_learned(20).learned == 2


def test_models_are_uploaded_promoted_and_rolled_back(client: Client, tmp_path: Path) -> None:
    other = learner(seed=1, names=NAMES)
    rw.save(other, tmp_path / "other.rw")
    first = client.upload(tmp_path / "other.rw")
    assert client.upload(other, note="again") == first  # the same bytes
    assert (first.model, first.note, first.serving) == (2, "other.rw", False)
    assert client.promote(2).model == 2
    X = RNG.normal(size=(2, 3))
    assert set(client.rank("q", ids=["a", "b"], X=X).scores) == set(other.predict(X).tolist())
    assert [one.serving for one in client.models()] == [False, True]
    assert client.rollback(leave=2).model == 1
    with pytest.raises(ServiceError, match=r"^409: model 2 is not served"):
        client.rollback(leave=2)
    client.download(2, tmp_path / "back.rw")
    assert (tmp_path / "back.rw").read_bytes() == (tmp_path / "other.rw").read_bytes()
    client.feedback_with_features("q", labels=[1, 0], ids=["a", "b"], X=X)
    client.wait_learned(20)
    client.download(1, tmp_path / "learned.rw", learned=True)
    assert (
        rw.load(tmp_path / "learned.rw").n_rounds_ == rw.load(tmp_path / "model.rw").n_rounds_ + 1
    )
    with pytest.raises(ServiceError, match=r"^409: .*force"):
        client.upload(rw.SLAMPerceptron().fit([[1.0], [2.0]], [0, 1], [1, 1]))
    with pytest.raises(ServiceError, match=r"^422: "):
        client.upload(Path(__file__))


def test_an_experiment(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankwright.serve.watching.results._LEAST", 0.0)
    monkeypatch.setattr("rankwright.serve.watching.results._TIMES", 0.0)
    client.upload(learner(seed=1, names=NAMES))
    begun = client.begin_experiment("newer", a=1, b=2, share=0.25)
    assert (begun.running, begun.a.model, begun.b.model, begun.share) == (True, 1, 2, 0.25)
    rankings = client.rank_many((i, {"a": [i, 0, 1], "b": [0, i, 1]}) for i in range(40))
    assert {ranking.model[0] for ranking in rankings} == {"1", "2"}
    client.feedback_many({"ranking": r, "clicks": ["a"]} for r in rankings)
    (found,) = client.experiments()
    assert found.a.rankings + found.b.rankings == 40
    assert not found.certain
    assert found.verdict
    assert not client.end_experiment().running
    with pytest.raises(ServiceError, match=r"^409: "):
        client.end_experiment()


def test_tokens_open_what_they_are_for(model: str, settings: Settings, tmp_path: Path) -> None:
    lines = {"rank": "r" * 20, "feedback": "f" * 20, "admin": "a" * 20}
    file = tmp_path / "tokens"
    file.write_text("".join(f"{scope} {token}\n" for scope, token in lines.items()))
    file.chmod(0o600)
    calls: dict[str, Callable[[Client], Any]] = {
        "rank": lambda client: client.rank("q", {"a": [1, 2, 3], "b": [1, 2, 4]}),
        "feedback": lambda client: client.feedback_with_features(
            "q", {"a": [1, 2, 3], "b": [1, 2, 4]}, [0, 1]
        ),
        "admin": lambda client: client.promote(1),
    }
    with in_process(model, replace(settings, tokens=str(file))) as (nobody, transport):
        for call in calls.values():
            with pytest.raises(ServiceError, match=r"^401: "):
                call(nobody)
        for scope, token in lines.items():
            with Client("http://localhost", token, transport=transport) as client:
                for wanted, call in calls.items():
                    if scope in (wanted, "admin"):
                        call(client)
                    else:
                        with pytest.raises(ServiceError, match=r"^403: "):
                            call(client)
                assert client.state().model
