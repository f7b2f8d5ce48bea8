"""Arrays of ids: strings of one width, or Python strings where one of them is very long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.data import texts
from rankwright.data.texts import QidTexts, join_ids, join_texts, pack, text_array, unpack
from rankwright.evaluation.folds import split
from rankwright.exceptions import DataError

LONG = "x" * 500


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ten kilobytes be many."""
    monkeypatch.setattr(texts, "_SMALL", 10_000)


@pytest.mark.parametrize("names", [["a", "bcd"], ["été", "語"], [""], [], ["a", LONG]])
def test_texts_are_numpy_strings_as_a_rule(names: list[str]) -> None:
    array = text_array(names)
    assert array.dtype == f"<U{max([1, *map(len, names)])}"
    assert array.tolist() == names


@pytest.mark.usefixtures("small")
def test_one_long_text_among_many_makes_python_strings() -> None:
    names = ["a"] * 100 + [LONG]
    array = text_array(names)
    assert array.dtype == object
    assert array.tolist() == names


@pytest.mark.usefixtures("small")
def test_long_texts_alone_are_numpy_strings() -> None:
    assert text_array([LONG] * 100).dtype == "<U500"


@pytest.mark.usefixtures("small")
def test_repeated_texts_count_as_often_as_they_are_repeated() -> None:
    array = text_array(["a", LONG], [200, 1])
    assert array.dtype == object
    assert array.tolist() == ["a"] * 200 + [LONG]
    assert array[0] is array[1]
    assert text_array(["a", LONG], [1, 200]).dtype == "<U500"


def test_integers_and_texts_are_joined_to_texts() -> None:
    joined = join_ids([np.array([-12, 3]), np.array(["a"]), np.array([], dtype="U9")])
    assert joined.dtype == "<U3"
    assert joined.tolist() == ["-12", "3", "a"]
    assert join_ids([np.array([1]), np.array([2])]).dtype == np.int64


@pytest.mark.usefixtures("small")
def test_joining_does_not_make_all_texts_long() -> None:
    parts = [text_array(["a"] * 100), text_array([LONG])]
    assert [part.dtype.kind for part in parts] == ["U", "U"]
    joined = join_texts(parts)
    assert joined.dtype == object
    assert join_texts([joined, joined]).tolist() == joined.tolist() * 2


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "ids",
    [[3, 1, 2], ["b", "a"], ["a", "a\n", "", "\ud800", "a\0"] * 50 + [LONG]],
    ids=["integers", "strings", "objects"],
)
def test_packed_ids_hold_no_objects_and_come_back(ids: list[Any]) -> None:
    array = np.array(ids) if isinstance(ids[0], int) else text_array(ids)
    packed = pack("qid", array)
    assert all(part.dtype.kind in "iuU" for part in packed.values())
    again = unpack("qid", packed)
    assert again.dtype == array.dtype
    assert again.tolist() == ids


@pytest.mark.parametrize("together", [True, False])
def test_ids_of_different_bytes_never_become_one(together: bool) -> None:
    decoder = QidTexts("data.txt")
    assert decoder.split(b"\xff\n\\xfe\n\xc3\xa9\n") == [r"\xff", r"\xfe", "é"]
    assert decoder.split(b"\xff\n\\xfe\n") == [r"\xff", r"\xfe"]
    with pytest.raises(DataError, match=r"^data\.txt, qid: ids of different bytes must stay"):
        decoder.split(b"\\xff\n\xff\n" if together else b"\xfe\n")


@pytest.mark.usefixtures("small")
def test_a_data_set_with_one_long_query_id_works_throughout() -> None:
    rng = np.random.default_rng(0)
    qid = np.repeat([*(f"q{i}" for i in range(40)), LONG], 5)[rng.permutation(205)].astype(object)
    data = rw.Dataset(rng.random((205, 3)), rng.integers(0, 3, 205), qid, doc_ids=qid)
    assert data.qid.dtype == object
    assert data.doc_ids is not None
    assert data.doc_ids.dtype == object
    assert data.groups.n_queries == 41
    (fold,) = split(data)
    assert fold.joined().n_docs == 205
    assert fold.fingerprint == split(data)[0].fingerprint
    ranker = rw.LinearRanker("listnet").fit(data.X, data.y, data.qid)
    assert rw.evaluate(ranker, data, "ndcg@5") is not None
    as_strings = rw.Dataset(data.X, data.y, data.qid.astype(str))
    assert data.groups.keys.tolist() == as_strings.groups.keys.tolist()


@pytest.mark.usefixtures("small")
def test_folds_with_a_long_query_id_are_the_same_in_another_process(tmp_path: Any) -> None:
    rng = np.random.default_rng(1)
    qid = np.repeat([*(f"q{i}" for i in range(60)), LONG], 4).astype(object)
    (fold,) = split(rw.Dataset(rng.random((244, 2)), rng.integers(0, 3, 244), qid))
    fold.write(tmp_path)
    again = type(fold).map(fold.name, tmp_path)
    assert again.fingerprint == fold.fingerprint
    assert again.train.qid.tolist() == fold.train.qid.tolist()
