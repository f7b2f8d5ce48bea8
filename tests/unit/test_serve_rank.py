"""Ranking over HTTP: orders, scores and labels, by every model and in every body."""

from __future__ import annotations

import io
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.models import CLASSES
from rankwright.persistence import packed
from rankwright.serve.http.ranking_ids import time_of_ranking
from rankwright.serve.ranking.ways import ranking_way
from rankwright.serve.settings import Limits, Log
from tests.serving import Caller, serving, small_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
QID = np.repeat(np.arange(10), 6)
Y = np.clip(np.round(X[:, 0] + 1), 0, 2).astype(int)
SEVERAL = {"PredtronMultilabel", "PredtronLabelRanker", "TopicRankers"}
NPY = "application/x-npy"
ARROW = "application/vnd.apache.arrow.stream"


def documents(matrix: Any) -> list[dict[str, Any]]:
    return [{"id": f"d{i}", "features": [float(v) for v in row]} for i, row in enumerate(matrix)]


def as_npy(matrix: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, matrix)
    return buffer.getvalue()


def as_arrow(**columns: Any) -> bytes:
    table = pa.table(columns)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def by_name(matrix: Any) -> dict[str, Any]:
    return {f"feature {j + 1}": column for j, column in enumerate(np.asarray(matrix).T)}


def ranked(call: Caller, body: Any, status: int = 200) -> Any:
    answer = call("POST", "/v1/rank", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def refusal(answer: httpx.Response, status: int, field: str | None, *words: str) -> None:
    assert answer.status_code == status, answer.text
    told = answer.json()
    assert told.get("field") == field
    assert "\n" not in told["error"]
    for word in words:
        assert word in told["error"]


def post(call: Caller, content: bytes, kind: str, query: str = "?query=q") -> httpx.Response:
    return call("POST", f"/v1/rank{query}", content=content, headers={"content-type": kind})


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def in_order(scores: Any) -> list[str]:
    return [f"d{i}" for i in np.argsort(-np.asarray(scores), kind="stable")]


# ---- models ----


def fitted(kind: str, **params: Any) -> Any:
    model = getattr(import_module(CLASSES[kind]), kind)(**params)
    return model.fit(X, Y, qid=QID) if "qid" in model.fit.__code__.co_varnames else model.fit(X, Y)


@pytest.mark.parametrize("kind", sorted(CLASSES.keys() - SEVERAL))
def test_scores_are_those_of_the_model(kind: str, tmp_path: Path) -> None:
    model = fitted(kind)
    with serving(tmp_path, packed(model)) as call:
        found = ranked(call, {"query": "q", "documents": documents(X[:20])})
    scores = {one["id"]: one["score"] for one in found["documents"]}
    expected = model.predict(X[:20])
    if "classes_" in vars(model):
        labels = {one["id"]: one["label"] for one in found["documents"]}
        assert [labels[f"d{i}"] for i in range(20)] == expected.tolist()
        decided = model.decision_function(X[:20])
        expected = decided if decided.ndim == 1 else expected.astype(float)
    assert [scores[f"d{i}"] for i in range(20)] == expected.tolist()  # bit for bit
    assert [one["id"] for one in found["documents"]] == in_order(expected)
    assert [one["rank"] for one in found["documents"]] == list(range(1, 21))


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), rw.LinearRanker("listnet")),
        make_pipeline(StandardScaler(), rw.PRank()),
        rw.PRank(variant="voted"),
        rw.SLAMPerceptron(kernel="rbf", gamma=0.5),
    ],
    ids=["pipeline", "pipeline of labels", "votes", "kernel"],
)
def test_models_without_a_plain_sum_are_served(model: Any, tmp_path: Path) -> None:
    last = model[-1] if hasattr(model, "steps") else model
    more = {f"{model.steps[-1][0]}__qid": QID} if hasattr(model, "steps") else {"qid": QID}
    model.fit(X, Y, **(more if "qid" in last.fit.__code__.co_varnames else {}))
    with serving(tmp_path, packed(model)) as call:
        found = ranked(call, {"query": "q", "documents": documents(X[:9])})["documents"]
    scores = {one["id"]: one["score"] for one in found}
    labels = hasattr(last, "classes_")
    expected = model.decision_function(X[:9]) if labels else model.predict(X[:9])
    assert [scores[f"d{i}"] for i in range(9)] == expected.tolist()
    assert ("label" in found[0]) == labels


@pytest.mark.parametrize("fills", [True, False])
def test_pipelines_take_null_if_they_fill_it_in_and_never_nan(fills: bool, tmp_path: Path) -> None:
    model = make_pipeline(SimpleImputer() if fills else StandardScaler(), rw.LinearRanker())
    model.fit(X, Y, linearranker__qid=QID)
    rows = np.array([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]])
    given = documents(rows)
    given[1]["features"][1] = None
    with serving(tmp_path, packed(model)) as call:
        found = ranked(call, {"query": "q", "documents": given}, 200 if fills else 422)
        refusal(post(call, as_npy(rows), NPY), 422, "documents[1].features", "nan")
        endless = as_arrow(**by_name(np.where(np.isnan(rows), np.inf, rows)))
        refusal(post(call, endless, ARROW), 422, "documents[1].features", "inf")
    if fills:
        scores = {one["id"]: one["score"] for one in found["documents"]}
        assert [scores["d0"], scores["d1"]] == model.predict(rows).tolist()
    else:
        assert "no missing values" in found["error"]


def test_what_cannot_rank_is_refused_with_one_line() -> None:
    several = rw.PredtronMultilabel().fit(X, np.c_[Y > 0, Y > 1].astype(int))
    texts = rw.PredtronClassifier().fit(X, np.array(["bad", "fair", "good"])[Y])
    for model, why in ((several, "several scores"), (texts, "texts")):
        with pytest.raises(DataError, match=why) as found:
            ranking_way(packed(model))
        assert "\n" not in str(found.value)
    with pytest.raises(DataError):
        ranking_way(b"no model")


def test_ties_keep_the_order_in_which_they_came(tmp_path: Path) -> None:
    with serving(tmp_path) as call:
        same = [{"id": name, "features": [1, 2, 3]} for name in "cabed"]
        found = ranked(call, {"query": "q", "documents": same, "k": 3})["documents"]
    assert [one["id"] for one in found] == ["c", "a", "b"]
    assert [one["rank"] for one in found] == [1, 2, 3]


@pytest.mark.parametrize("kind", ["LinearRanker", "BoostedRanker"])
def test_explanations_are_those_of_the_library(kind: str, tmp_path: Path) -> None:
    model = fitted(kind)
    with serving(tmp_path, packed(model)) as call:
        body = {"query": "q", "documents": documents(X[:5]), "explain": True, "k": 4}
        found = ranked(call, body)["documents"]
        also = post(call, as_npy(X[:5]), NPY, "?query=q&explain=true").json()["documents"]
    whole = rw.evaluation.explain(model, X[:5])
    for one, other in zip(found, also, strict=False):
        row = int(one["id"][1:])
        assert one["explanation"] == other["explanation"]
        for name, value in one["explanation"].items():
            assert value == whole.contributions[row, int(name.removeprefix("feature ")) - 1]
        sizes = [abs(value) for value in one["explanation"].values()]
        assert sizes == sorted(sizes, reverse=True)


def test_what_has_no_explanation_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, packed(fitted("RandomRanker"))) as call:
        body = {"query": "q", "documents": documents(X[:2]), "explain": True}
        refusal(call("POST", "/v1/rank", json=body), 422, "explain", "RandomRanker")


# ---- bodies ----


def test_all_bodies_give_the_same_answer(tmp_path: Path) -> None:
    rows = X[:7].astype(np.float32)
    names = [f"d{i}" for i in range(7)]
    bodies = {
        "npy": post_of(as_npy(rows), NPY, f"?query=q&ids={','.join(names)}"),
        "fortran": post_of(as_npy(np.asfortranarray(rows)), NPY, "?query=q"),
        "arrow": post_of(as_arrow(**by_name(rows), id=names), ARROW, "?query=q"),
        "batch": post_of(as_arrow(**by_name(rows), id=names, query=["q"] * 7), ARROW, ""),
    }
    with serving(tmp_path) as call:
        expected = ranked(call, {"query": "q", "documents": documents(rows)})["documents"]
        for name, (content, kind, query) in bodies.items():
            answer = post(call, content, kind, query).json()
            found = answer[0] if name == "batch" else answer
            scores = [one["score"] for one in found["documents"]]
            assert scores == [one["score"] for one in expected], name
            if name != "fortran":
                ids = [one["id"] for one in found["documents"]]
                assert ids == [one["id"] for one in expected]


def post_of(content: bytes, kind: str, query: str) -> tuple[bytes, str, str]:
    return content, kind, query


def test_batches_keep_queries_apart(tmp_path: Path) -> None:
    queries = ["b", "a", "b", "a", "c"]
    with serving(tmp_path) as call:
        table = as_arrow(**by_name(X[:5]), query=queries)
        found = post(call, table, ARROW, "?k=1").json()
        assert [len(one["documents"]) for one in found] == [1, 1, 1]
        alone = [
            ranked(
                call,
                {
                    "query": q,
                    "documents": documents(X[[i for i, n in enumerate(queries) if n == q]]),
                },
            )
            for q in ("b", "a", "c")
        ]
        assert [one["documents"][0]["score"] for one in found] == [
            one["documents"][0]["score"] for one in alone
        ]
        many = ranked(call, [{"query": q, "documents": documents(X[:2])} for q in "xyz"])
        assert len({one["ranking_id"] for one in many}) == 3


def test_features_go_by_their_names(tmp_path: Path) -> None:
    model = rw.LinearRanker("listnet").fit_dataset(
        rw.Dataset(X, Y, QID, feature_names=["title", "age", "price"])
    )
    with serving(tmp_path, packed(model)) as call:
        row = {"price": 1.0, "title": 2.0, "age": 3.0}
        asked = {"query": "q", "documents": [{"id": "a", "features": row}]}
        expected = model.predict([[2.0, 3.0, 1.0]])[0]
        assert ranked(call, asked)["documents"][0]["score"] == expected
        for wrong, words in (
            ({**row, "ttitle": 1.0}, ("ttitle", "Did you mean 'title'")),
            ({"price": 1.0, "title": 2.0}, ("complete", "age")),
        ):
            asked["documents"] = [{"id": "a", "features": wrong}]
            answer = call("POST", "/v1/rank", json=asked)
            refusal(answer, 422, "documents[0].features", *words)
        table = as_arrow(price=[1.0], title=[2.0], age=[3.0])
        assert post(call, table, ARROW).json()["documents"][0]["score"] == expected


def test_missing_values_are_for_models_that_take_them(tmp_path: Path) -> None:
    trees = fitted("BoostedRanker", n_estimators=3)
    rows = X[:4].copy()
    rows[1, 2] = np.nan
    sent = documents(X[:4])
    sent[1]["features"][2] = None
    columns = by_name(rows)
    columns["feature 3"] = pa.array([None if np.isnan(v) else v for v in rows[:, 2]])
    with serving(made(tmp_path / "a"), packed(trees)) as call:
        expected = sorted(trees.predict(rows).tolist(), reverse=True)
        for found in (
            ranked(call, {"query": "q", "documents": sent}),
            post(call, as_arrow(**columns), ARROW).json(),
        ):
            assert [one["score"] for one in found["documents"]] == expected
        refusal(post(call, as_npy(rows), NPY), 422, "documents[1].features", "'feature 3'", "nan")
        nan = post(call, as_arrow(**by_name(rows)), ARROW)
        refusal(nan, 422, "feature 3", "NaN")
    with serving(made(tmp_path / "b")) as call:
        answer = call("POST", "/v1/rank", json={"query": "q", "documents": sent})
        refusal(answer, 422, "documents[1].features", "'d1'", "'feature 3'", "null")
        refusal(post(call, as_arrow(**columns), ARROW), 422, "feature 3", "null")


@pytest.mark.parametrize("kind", ["SLAMPerceptron", "BoostedRanker"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(kind: str, value: float, tmp_path: Path) -> None:
    rows = X[:3].copy()
    rows[2, 1] = value
    with serving(tmp_path, small_model(kind)) as call:
        refusal(post(call, as_npy(rows), NPY), 422, "documents[2].features", "'feature 2'")
        answer = post(call, as_arrow(**by_name(rows)), ARROW)
        assert answer.status_code == 422
        text = json.dumps({"query": "q", "documents": documents(rows)})
        answer = post(call, text.encode(), "application/json", "")
        assert answer.status_code == 400
        huge = b'{"query":"q","documents":[{"id":"a","features":[1e400,1,1]}]}'
        assert post(call, huge, "application/json", "").status_code in (400, 422)


# ---- refusals ----

ONE = {"id": "a", "features": [1, 2, 3]}
LIMITS = Limits(documents=3, queries=2, text=5, body=2000)
WRONG: list[tuple[Any, str]] = [
    ({"query": "q", "documents": []}, "documents"),
    ({"query": "q", "documents": [{**ONE, "id": str(i)} for i in range(4)]}, "documents"),
    ({"query": "", "documents": [ONE]}, "query"),
    ({"query": "q" * 6, "documents": [ONE]}, "query"),
    ({"query": "a\0", "documents": [ONE]}, "query"),
    ({"query": "q", "documents": [{**ONE, "id": "a" * 6}]}, "documents[0].id"),
    ({"query": "q", "documents": [ONE, {**ONE, "id": ""}]}, "documents[1].id"),
    ({"query": "q", "documents": [ONE, {**ONE, "id": "b\0"}]}, "documents[1].id"),
    ({"query": "q", "documents": [ONE, ONE]}, "documents[1].id"),
    ({"query": "q", "documents": [ONE], "k": 0}, "k"),
    ({"query": "q", "documents": [ONE], "k": -1}, "k"),
    ({"query": "q", "documents": [ONE], "k": True}, "k"),
    ({"query": "q", "documents": [ONE], "kk": 1}, "body"),
    ({"query": "q", "documents": [{"id": "a", "features": [1, 2]}]}, "documents[0].features"),
    (
        {"query": "q", "documents": [{"id": "a", "features": [1, 2, "3"]}]},
        "documents[0].features[2]",
    ),
    ({"query": "q", "documents": [{"id": 1, "features": [1, 2, 3]}]}, "documents[0].id"),
    ({"documents": [ONE]}, "body"),
    ([{"query": "q", "documents": [ONE]}] * 3, "queries"),
    ([], "queries"),
    (1, "body"),
]


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with serving(tmp_path_factory.mktemp("limited"), limits=LIMITS) as call:
        yield call


@pytest.mark.parametrize(("body", "field"), WRONG)
def test_a_refusal_names_the_field(body: Any, field: str, limited: Caller) -> None:
    refusal(limited("POST", "/v1/rank", json=body), 422, field)


@pytest.mark.parametrize(
    ("content", "query", "field"),
    [
        (as_npy(X[:3]), "", "query"),
        (as_npy(X[:3]), "?query=q&k=0", "k"),
        (as_npy(X[:3]), "?query=q&k=x", "k"),
        (as_npy(X[:3]), f"?query=q&k=1{'0' * 9}", "k"),
        (as_npy(X[:3]), f"?query=q&k={'9' * 5000}", "k"),
        (as_npy(X[:3]), "?query=q&k=1&kk=2", "kk"),
        (as_npy(X[:3]), "?query=q&ids=a,b", "ids"),
        (as_npy(X[:3]), "?query=q&ids=a,b,b", "documents[2].id"),
        (as_npy(X[:3]), "?query=q&explain=1", "explain"),
        (as_npy(X[:4]), "?query=q", "documents"),
        (as_npy(X[:0]), "?query=q", "documents"),
        (as_npy(X[:3, :2]), "?query=q", "body"),
        (as_npy(X[0]), "?query=q", "body"),
        (as_npy(Y[:3, None]), "?query=q", "body"),
        (as_npy(np.array([[None]])), "?query=q", "body"),
        (as_npy(X[:3].astype(">f8")), "?query=q", "body"),
        (as_npy(X[:3])[:-1], "?query=q", "body"),
        (as_npy(X[:3]) + b"0", "?query=q", "body"),
        (as_npy(X[:3]).replace(b"(3, 3)", b"(-3,-3)"[:6]), "?query=q", "body"),
        (b"\x93NUMPY\x01\x00\xff\xff", "?query=q", "body"),
        (b"", "?query=q", "body"),
    ],
)
def test_a_wrong_matrix_is_refused(content: bytes, query: str, field: str, limited: Caller) -> None:
    refusal(post(limited, content, NPY, query), 422, field)


def test_a_wrong_table_is_refused(limited: Caller) -> None:
    fine = by_name(X[:2])
    compressed = io.BytesIO()
    table = pa.table(fine)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(compressed, table.schema, options=options) as writer:
        writer.write_table(table)
    whole = as_arrow(**fine)
    headless = whole[8 + int.from_bytes(whole[4:8], "little") :]
    # The kind of the first message, and an offset in it: reading it as a schema was a crash.
    strange = bytearray(as_arrow(**fine, query=["a", "b"]))
    strange[29], strange[217] = 127, 128
    nulls = io.BytesIO()
    batch = pa.record_batch([pa.nulls(10**6)], ["feature 1"])
    with pa.ipc.new_stream(nulls, batch.schema) as writer:
        writer.write_batch(batch)
    for content, query, words in (
        (as_arrow(**fine), "", "query"),
        (as_arrow(**fine, query=["a", "b"]), "?query=q", "query"),
        (as_arrow(**fine, id=["a", None]), "?query=q", "null"),
        (as_arrow(**fine, id=["a", "a"]), "?query=q", "differ"),
        (as_arrow(**fine, extra=[1, 2]), "?query=q", "no feature 'extra'"),
        (as_arrow(**{**fine, "feature 1": ["x", "y"]}), "?query=q", "numbers"),
        (as_arrow(**fine, query=["a", "b"]).replace(b"feature 3", b"feature 2"), "", "once"),
        (as_arrow(**by_name(X[:0])), "?query=q", "a document at least"),
        (as_arrow(**fine, id=pa.array(["a", "b"]).dictionary_encode()), "?query=q", "dictionaries"),
        (compressed.getvalue(), "?query=q", "compressed"),
        (nulls.getvalue(), "?query=q", "numbers"),
        (headless, "?query=q", "begin with a schema"),
        (bytes(strange), "", "begin with a schema"),
        (b"ARROW1", "?query=q", "cannot be read"),
        (b"", "?query=q", "cannot be read"),
    ):
        answer = post(limited, content, ARROW, query)
        assert answer.status_code == 422, (words, answer.text)
        assert words in answer.json()["error"]


def test_bodies_that_are_none_of_them(limited: Caller) -> None:
    refusal(post(limited, b"query=q", "application/x-www-form-urlencoded"), 415, "content-type")
    refusal(post(limited, b"{" * 500, "application/json", ""), 400, "body")
    refusal(post(limited, b"[" * 1900, "application/json", ""), 422, "[0]")
    refusal(post(limited, b"x" * 2001, "application/json", ""), 413, "body", "2000")
    deep = b'{"query":"q","documents":[{"id":"a","features":' + b"[" * 1500
    assert post(limited, deep, "application/json", "").status_code in (400, 422)


PIECES = st.sampled_from(
    [
        as_npy(X[:2]),
        as_arrow(**by_name(X[:2])),
        json.dumps({"query": "q", "documents": [ONE]}).encode(),
    ]
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    PIECES | st.binary(max_size=300),
    st.lists(st.tuples(st.integers(0, 2000), st.binary(min_size=1, max_size=4)), max_size=3),
    st.integers(0, 2000),
    st.sampled_from([NPY, ARROW, "application/json", ""]),
)
def test_whatever_comes_is_answered(
    limited: Caller, content: bytes, changes: list[tuple[int, bytes]], end: int, kind: str
) -> None:
    changed = bytearray(content)
    for place, new in changes:
        changed[place : place + len(new)] = new
    answer = post(limited, bytes(changed[:end]), kind, "?query=q" if "json" not in kind else "")
    assert answer.status_code in (200, 400, 415, 422), answer.text
    if answer.status_code != 200:
        assert "\n" not in answer.json()["error"]


# ---- the log ----


def test_rankings_are_logged_as_they_were(tmp_path: Path) -> None:
    for log in Log:
        with serving(made(tmp_path / log), log=log) as call:
            found = call.rank("q7", 4)
            name = found["ranking_id"]
            if log is Log.none:
                assert name is None
                continue
            assert time_of_ranking(name) is not None
            call.service.writer.close()
            kept = call.service.store.ranking(name)
            assert kept is not None
            assert (kept.query, kept.version, kept.ids) == ("q7", "1", ["d0", "d1", "d2", "d3"])
            scores = {one["id"]: one["score"] for one in found["documents"]}
            assert kept.scores.tolist() == [scores[one] for one in kept.ids]
            assert (kept.features is None) == (log is Log.ids)


def test_without_room_rankings_are_answered_and_not_logged(tmp_path: Path) -> None:
    with serving(tmp_path, limits=Limits(waiting=10)) as call:
        assert call.rank()["ranking_id"] is None
        assert call.service.telemetry.total("rankings_dropped") == 1


def test_log_of_features_is_the_default_of_learners(tmp_path: Path) -> None:
    with serving(made(tmp_path / "a")) as call:
        assert call.service.log is Log.features
    with serving(made(tmp_path / "b"), small_model("LinearRanker")) as call:
        assert call.service.log is Log.ids
