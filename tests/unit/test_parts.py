"""Data in parts: read once, alike in form, of whole queries, and gone when nobody holds them."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from rankwright.data import part_files
from rankwright.data.each import EachHere
from rankwright.data.hashing import hash_ids
from rankwright.data.part_values import aligned_parts, fills_of_parts, with_indicators
from rankwright.data.parts import LocalParts, Parts, check_are_parts, read_parts, spool_parts
from rankwright.data.spool import Spool
from rankwright.exceptions import DataError, DataWarning

ROWS = {"qid": [1, 1, 2, 2], "label": [0, 1, 2, 0], "a": [0.5, 1.5, 2.5, 3.5], "b": [1, 2, 3, 4]}


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    place = tmp_path / "spool"
    place.mkdir()
    return place


def data(n_queries: int = 30, **options: Any) -> rw.Dataset:
    return rw.data.make_mslr_like(n_queries=n_queries, n_features=8, mean_docs=6, **options)


def write_split(dataset: rw.Dataset, folder: Path, ending: str, n: int = 3) -> list[rw.Dataset]:
    folder.mkdir(exist_ok=True)
    pieces = list(dataset.split((1 / n,) * n))
    for i, piece in enumerate(pieces):
        rw.write(piece, folder / f"part-{i}.{ending}")
    return pieces


def frame(folder: Path, name: str, **columns: Any) -> Path:
    path = folder / name
    pd.DataFrame({**ROWS, **columns}).to_parquet(path, index=False)
    return path


def ids_of(part: rw.Dataset) -> list[Any]:
    found: list[Any] = part.groups.names.tolist()
    return found


# ---- what is read ----


@pytest.mark.parametrize("ending", ["txt", "txt.gz", "csv", "jsonl", "parquet"])
def test_parts_are_what_read_says_of_each_file(tmp_path: Path, ending: str) -> None:
    write_split(data(), tmp_path / "p", ending)
    parts = read_parts(tmp_path / "p")
    assert isinstance(parts, Parts)
    files = sorted((tmp_path / "p").iterdir())
    assert [part.name for part in parts.facts.parts] == [str(path) for path in files]
    for path, part in zip(files, parts.map(lambda part: part), strict=True):
        whole = rw.read(path)
        np.testing.assert_array_equal(part.X, whole.X)
        np.testing.assert_array_equal(part.y, whole.y)
        np.testing.assert_array_equal(part.qid, whole.qid)
        np.testing.assert_array_equal(part.order, whole.order)
        assert part.feature_names == whole.feature_names
        assert part.features.open_ended == whole.features.open_ended


def test_facts_are_those_of_all_documents(tmp_path: Path) -> None:
    whole = data()
    write_split(whole, tmp_path / "p", "txt")
    facts = read_parts(tmp_path / "p").facts
    values, counts = np.unique(whole.y, return_counts=True)
    assert (facts.n_docs, facts.n_queries, facts.n_features) == (whole.n_docs, 30, 8)
    assert facts.labels == dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert (facts.is_sparse, facts.dtype, facts.has_preferences) == (False, "float32", True)
    assert facts.missing.tolist() == [0] * 8
    assert facts.n_bytes == whole.n_docs * 8 * 4


def test_a_file_a_folder_a_pattern_and_a_list_name_parts(tmp_path: Path) -> None:
    write_split(data(), tmp_path / "p", "txt")
    (tmp_path / "p" / "_SUCCESS").write_text("")
    (tmp_path / "p" / ".part-0.txt.crc").write_bytes(b"\0")
    names = [str(tmp_path / "p" / f"part-{i}.txt") for i in range(3)]
    for given in (tmp_path / "p", tmp_path / "p" / "*.txt", names, (n for n in names)):
        assert [part.name for part in read_parts(given).facts.parts] == names
    assert len(read_parts(names[1])) == 1
    backwards = read_parts(names[::-1])  # a list has an order of its own
    assert [part.name for part in backwards.facts.parts] == names[::-1]


def test_a_file_whose_name_is_a_pattern_is_that_file(tmp_path: Path) -> None:
    rw.write(data(3), tmp_path / "a[1].txt")
    assert len(read_parts(tmp_path / "a[1].txt")) == 1


def test_rows_of_a_part_may_be_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:2 1:2\n0 qid:1 1:3\n")
    parts = read_parts(tmp_path / "a.txt")
    (part,) = parts.map(lambda part: part)
    assert part.qid.tolist() == [1, 1, 2]
    assert part.restore(part.X[:, 0]).tolist() == [1, 2, 3]


def test_letor_parts_are_read_as_one_text_of_all(tmp_path: Path) -> None:
    """The second file has the last feature, and the third counts from 0."""
    texts = ["1 qid:1 1:1 2:5\n", "0 qid:2 1:1 4:2\n", "0 qid:3 0:7 2:3\n"]
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.txt").write_text(text)
    (tmp_path / "all.txt").write_text("".join(texts))
    whole = rw.read(tmp_path / "all.txt")
    parts = read_parts([tmp_path / f"{i}.txt" for i in range(3)])
    stacked = np.vstack(parts.map(lambda part: part.X))
    np.testing.assert_array_equal(stacked, whole.X)
    assert parts.facts.features.names == whole.feature_names
    left = {name.split(".")[0] for name in os.listdir(parts.spooled[0].folder)}
    assert left == {part.name for part in parts.spooled}  # and nothing of what was read first


def test_a_sparse_part_among_dense_ones_is_read_as_all_are(tmp_path: Path) -> None:
    (tmp_path / "0.txt").write_text("1 qid:1 50:1\n")
    (tmp_path / "1.txt").write_text("".join(f"1 qid:2 {i}:1\n" for i in range(1, 51)) * 9)
    parts = read_parts(tmp_path)
    assert parts.facts.is_sparse
    assert parts.map(lambda part: part.X.shape[1]) == [50, 50]
    dense = read_parts(tmp_path, dense=True)
    assert not dense.facts.is_sparse
    assert dense.facts.n_features == 50


def test_columns_are_found_by_name_and_categories_share_their_levels(tmp_path: Path) -> None:
    frame(tmp_path, "0.parquet", c=["x", "y", "x", "y"])
    other = pd.DataFrame({**ROWS, "qid": [3, 3, 4, 4], "c": ["z", "x", None, "z"]})
    other[["b", "c", "a", "label", "qid"]].to_parquet(tmp_path / "1.parquet", index=False)
    parts = read_parts(tmp_path, categorical=["c"], allow_nan=True)
    assert parts.facts.features.categories == {"c": ["x", "y", "z"]}
    first, second = parts.map(lambda part: part.X.tolist())
    assert first[0] == [0.5, 1.0, 0.0]
    assert second[0] == [0.5, 1.0, 2.0]
    assert np.isnan(second[2][2])
    assert parts.facts.missing.tolist() == [0, 0, 1]


def test_types_that_differ_become_the_wider_one(tmp_path: Path) -> None:
    single = {name: np.array(ROWS[name], dtype=np.float32) for name in ("a", "b")}
    frame(tmp_path, "0.parquet", **single)
    frame(tmp_path, "1.parquet", qid=[3, 3, 4, 4])
    parts = read_parts(tmp_path)
    assert parts.facts.dtype == "float64"
    assert parts.map(lambda part: str(part.X.dtype)) == ["float64"] * 2


def test_a_part_without_documents_is_left_out(tmp_path: Path) -> None:
    frame(tmp_path, "0.parquet")
    pd.DataFrame(ROWS).head(0).to_parquet(tmp_path / "1.parquet", index=False)
    with pytest.warns(DataWarning, match=r"1\.parquet: has no documents, and is left out"):
        parts = read_parts(tmp_path)
    assert len(parts) == 1
    with (
        pytest.warns(DataWarning, match="no documents"),
        pytest.raises(DataError, match="at least one document in all parts"),
    ):
        read_parts(tmp_path / "1.parquet")


def test_what_parts_have_in_common_is_told_once(tmp_path: Path) -> None:
    frame(tmp_path, "0.parquet", t=["x"] * 4)
    frame(tmp_path, "1.parquet", t=["x"] * 4, qid=[3, 3, 4, 4])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_parts(tmp_path)
    assert [str(w.message).partition(": ")[2][:15] for w in caught] == ["'t' is left out"]


def test_text_ids_and_numbers_are_the_same_queries(tmp_path: Path) -> None:
    (tmp_path / "0.txt").write_text("1 qid:7 1:1\n")
    (tmp_path / "1.txt").write_text("1 qid:x 1:1\n0 qid:007 1:1\n")
    assert read_parts(tmp_path).facts.n_queries == 3
    (tmp_path / "1.txt").write_text("1 qid:x 1:1\n0 qid:7 1:1\n")
    with pytest.raises(DataError, match=r"1\.txt, qid: .* '7' is in .*0\.txt as well\. Gather"):
        read_parts(tmp_path)


# ---- what is refused ----


def test_a_query_in_two_parts_is_named_with_both(tmp_path: Path) -> None:
    frame(tmp_path, "0.parquet")
    frame(tmp_path, "1.parquet", qid=[2, 2, 1, 3], label=[1, 1, 1, 1])
    with pytest.raises(DataError) as caught:
        read_parts(tmp_path)
    message = str(caught.value)
    first = int(np.argmin(hash_ids(np.array([1, 2])))) + 1
    assert message.startswith(
        f"{tmp_path / '1.parquet'}, qid: every query must be in one part, but {first} is in "
        f"{tmp_path / '0.parquet'} as well; 1 more are cut, too."
    )
    assert "rankwright partition" in message


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    one = frame(tmp_path, "0.parquet")
    os.symlink(one, tmp_path / "1.parquet")
    for given in ([one, one], tmp_path):
        with pytest.raises(DataError, match=r"is the same file as .*0.parquet"):
            read_parts(given)
    os.unlink(tmp_path / "1.parquet")
    (tmp_path / "1.parquet").write_bytes(one.read_bytes())
    with pytest.raises(DataError, match=r"holds the same documents as .*0.parquet"):
        read_parts(tmp_path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"c": [1.0] * 4}, "has 'c' too, other than .*0.parquet"),
        ({"b": ["x"] * 4}, "lacks 'b', other than"),
    ],
)
def test_other_columns_are_refused(tmp_path: Path, columns: Any, message: str) -> None:
    frame(tmp_path, "0.parquet")
    frame(tmp_path, "1.parquet", qid=[3, 3, 4, 4], **columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        with pytest.raises(DataError, match=f"1.parquet: parts must have the same .* {message}"):
            read_parts(tmp_path)


def test_a_feature_that_is_named_may_be_empty_in_a_part(tmp_path: Path) -> None:
    for i, a in enumerate(([0.5, 1.5, 2.5, 3.5], [None] * 4)):
        table = pd.DataFrame({**ROWS, "qid": [i] * 4, "a": a})
        table.to_csv(tmp_path / f"{i}.csv", index=False)
    message = r"1.csv: .* lacks 'a'.* empty ones, .*--features"
    with pytest.warns(DataWarning), pytest.raises(DataError, match=message):
        read_parts(tmp_path, allow_nan=True)
    parts = read_parts(tmp_path, features=["b", "a"], allow_nan=True)
    assert parts.facts.missing.tolist() == [0, 4]
    with pytest.raises(DataError, match=r"1.csv, line 2, a: must be a finite number"):
        read_parts(tmp_path, features=["a", "b"])


def test_a_file_that_lacks_is_told_before_others_are_read(tmp_path: Path) -> None:
    read: list[str] = []
    with pytest.raises(DataError, match=r"none.parquet: there is no such file"):
        spool_parts(
            [str(frame(tmp_path, "a.parquet")), str(tmp_path / "none.parquet")],
            lambda path, **_: read.append(path),  # type: ignore[arg-type]
            {},
        )
    assert read == []


def test_other_widths_are_refused_where_they_are_told(tmp_path: Path) -> None:
    (tmp_path / "0.txt").write_text("1 qid:1 1:1 2:5\n")
    (tmp_path / "1.txt").write_text("1 qid:2 1:1 3:5\n")
    with pytest.raises(DataError, match=r"1\.txt, line 1"):
        read_parts(tmp_path, n_features=2)


def test_what_is_no_part_is_refused(tmp_path: Path) -> None:
    frame(tmp_path, "0.parquet")
    (tmp_path / "README.md").write_text("notes")
    with pytest.raises(DataError, match=r"README.md: the ending '.md' tells no format"):
        read_parts(tmp_path)
    os.unlink(tmp_path / "README.md")
    (tmp_path / "1.txt").write_text("1 qid:1 1:1\n")
    with pytest.raises(DataError, match=r"1.txt: parts must be of one format"):
        read_parts(tmp_path)
    (tmp_path / "more").mkdir()
    with pytest.raises(DataError, match="'more' is a folder"):
        read_parts(tmp_path)
    for given, message in [
        ([], "list of files is empty"),
        ("nothing*.txt", "there is no file of such a name"),
        ("nothing.txt", "there is no such file"),
        ("-", "cannot come from standard input"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_parts(given)


def test_a_part_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spool: Path
) -> None:
    path = frame(tmp_path, "0.parquet")

    def busy(given: str, **options: Any) -> rw.Dataset:
        part = rw.read(given, **options)
        frame(tmp_path, "0.parquet", a=[9.0] * 4)
        return part

    with pytest.raises(DataError, match="the file changed while it was read"):
        part_files.read_part(str(path), busy)
    stamps = iter([(1,), (2,)])
    monkeypatch.setattr(part_files, "_stamp", lambda _: next(stamps))
    with pytest.raises(DataError, match="the file changed while it was read"):
        read_parts(path, spool=spool)
    gc.collect()
    assert os.listdir(spool) == []


@pytest.mark.parametrize("given", ["folder", data(2), None])
def test_only_parts_are_parts(given: Any) -> None:
    with pytest.raises(TypeError, match=r"must be data in parts, but is a .*read_parts"):
        check_are_parts(given)


# ---- where they are ----


def test_the_spool_goes_with_its_parts(tmp_path: Path, spool: Path) -> None:
    write_split(data(), tmp_path / "p", "txt")
    parts = read_parts(tmp_path / "p", spool=spool)
    (first,) = os.listdir(spool)
    doubled = parts.transformed(twice)
    assert len(os.listdir(spool)) == 2
    del parts
    gc.collect()
    assert first not in os.listdir(spool)
    assert doubled.map(lambda part: part.X.shape[1]) == [8] * 3
    del doubled
    gc.collect()
    assert os.listdir(spool) == []


def twice(part: rw.Dataset) -> rw.Dataset:
    return part.with_features(2 * part.X)


def plus(part: rw.Dataset, own: int, more: int) -> int:
    return part.n_queries + own + more


def test_functions_are_mapped_in_the_order_of_the_parts(tmp_path: Path) -> None:
    pieces = write_split(data(), tmp_path / "p", "txt")
    parts = read_parts(tmp_path / "p")
    assert parts.map(ids_of) == [ids_of(piece) for piece in pieces]
    expected = [piece.n_queries + i + 10 for i, piece in enumerate(pieces)]
    assert parts.map(plus, EachHere([0, 1, 2]), 10) == expected
    doubled = parts.transformed(twice)
    assert isinstance(doubled, LocalParts)
    np.testing.assert_array_equal(doubled.map(lambda part: part.X)[0], 2 * pieces[0].X)
    prints = [[part.fingerprint for part in one.facts.parts] for one in (parts, doubled)]
    assert not set(prints[0]) & set(prints[1])
    with pytest.raises(ValueError, match="zip"):
        parts.map(plus, EachHere([0]), 10)


def test_a_part_is_mapped_and_cannot_be_written_to(tmp_path: Path) -> None:
    write_split(data(), tmp_path / "p", "txt")
    (part, *_) = read_parts(tmp_path / "p").map(lambda part: part)
    with pytest.raises(ValueError, match="read-only"):
        part.X[0, 0] = 1.0


def test_a_part_travels_by_its_name(tmp_path: Path) -> None:
    write_split(data(), tmp_path / "p", "txt")
    parts = read_parts(tmp_path / "p")
    sent = pickle.dumps(parts.spooled[1])
    assert len(sent) < 1000
    np.testing.assert_array_equal(pickle.loads(sent).open().X, parts.spooled[1].open().X)


def test_a_killed_process_leaves_a_spool_that_the_next_one_removes(spool: Path) -> None:
    code = "import os, sys; from rankwright.data.spool import Spool; s = Spool(sys.argv[1]); "
    end = "os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code + end, str(spool)], check=False)
    assert len(os.listdir(spool)) == 1
    mine = Spool(spool)
    assert os.listdir(spool) == [mine.folder.name]
    other = Spool(spool)  # which is in use, and stays
    assert len(os.listdir(spool)) == 2
    other.close()
    mine.close()
    assert os.listdir(spool) == []


def test_a_place_without_room_is_told(
    tmp_path: Path, spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = frame(tmp_path, "0.parquet")
    with pytest.raises(DataError, match=r"nowhere: cannot be written: No such file.*TMPDIR"):
        read_parts(path, spool=tmp_path / "nowhere")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(DataError, match=r"spool: cannot be written: No space left.*TMPDIR"):
        read_parts(path, spool=spool)
    gc.collect()
    assert os.listdir(spool) == []


def test_memory_holds_one_part_at_a_time(tmp_path: Path) -> None:
    write_split(data(), tmp_path / "p", "txt")
    alive: list[weakref.ref[rw.Dataset]] = []

    def reader(path: str, **options: Any) -> rw.Dataset:
        assert not [one for one in alive if one() is not None]
        part = rw.read(path, **options)
        alive.append(weakref.ref(part))
        return part

    paths = part_files.part_paths(tmp_path / "p")
    parts = spool_parts(paths, reader, {})
    assert len(alive) == len(parts) == 3
    made: list[weakref.ref[rw.Dataset]] = []

    def twice_watched(part: rw.Dataset) -> rw.Dataset:
        assert not [one for one in made if one() is not None]
        result = twice(part)
        made.append(weakref.ref(result))
        return result

    parts.transformed(twice_watched)


def test_an_interrupt_leaves_nothing(tmp_path: Path, spool: Path) -> None:
    write_split(data(), tmp_path / "p", "txt")

    def stop(done: int, total: int) -> None:
        assert total == 3
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_parts(tmp_path / "p", spool=spool, callback=stop)
    gc.collect()
    assert os.listdir(spool) == []


# ---- values ----


@pytest.mark.parametrize("rows", [10_000, 7])
def test_medians_are_those_of_all_rows_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr("rankwright.data.missing.ROWS", rows)
    whole, rng = data(), np.random.default_rng(1)
    X = np.where(rng.random(whole.X.shape) < 0.3, np.nan, whole.X)
    X[:, 3] = np.nan
    X[-1, 3] = 5.0  # where a sample of rows has no value
    whole = rw.Dataset(X, whole.y, whole.qid, allow_nan=True)
    for i in range(3):
        rw.write(whole.select(range(10 * i, 10 * i + 10)), tmp_path / f"{i}.txt")
    parts = read_parts(tmp_path, allow_nan=True)
    from rankwright.data.missing import fills

    np.testing.assert_array_equal(fills_of_parts(parts, "median"), fills(X, "median"))
    np.testing.assert_array_equal(fills_of_parts(parts, "zero"), np.zeros(8))
    np.testing.assert_array_equal(parts.facts.missing, np.isnan(X).sum(axis=0))


def test_indicators_are_for_what_any_part_lacks(tmp_path: Path) -> None:
    frame(tmp_path, "0.parquet", a=[None, 1.0, 2.0, 3.0])
    frame(tmp_path, "1.parquet", qid=[3, 3, 4, 4])
    parts = with_indicators(read_parts(tmp_path, allow_nan=True))
    assert parts.facts.features.names == ["a", "b", "a is missing"]
    assert [X[:, 2].tolist() for X in parts.map(lambda part: part.X)] == [[1, 0, 0, 0], [0] * 4]


def test_features_are_aligned_by_name_where_they_are_not(tmp_path: Path) -> None:
    frame(tmp_path, "0.parquet")
    parts = read_parts(tmp_path)
    assert aligned_parts(parts, parts.facts.features) is parts
    wanted = rw.data.alignment.Features(2, ["b", "a"])
    assert aligned_parts(parts, wanted).map(lambda part: part.X[0].tolist()) == [[1.0, 0.5]]
