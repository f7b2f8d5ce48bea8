"""Files to parts of whole queries: all rows, as they were, and all or nothing."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from rankwright.data import Manifest, partition
from rankwright.data.hashing import hash_ids
from rankwright.data.manifest import has_manifest, read_manifest
from rankwright.data.part_memory import PROGRAM, Sizes, check_memory, needed_memory, part_sizes
from rankwright.data.partitioning import PartitionProgress
from rankwright.data.writing import MANIFEST
from rankwright.exceptions import DataError

ONE: dict[str, Any] = {"label": [0], "x": [1]}


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    """Two texts, in which queries are cut and in no order."""
    data = rw.data.make_mslr_like(n_queries=30, n_features=5, mean_docs=6)
    rw.write(data, tmp_path / "all.txt")
    lines = (tmp_path / "all.txt").read_text().splitlines(keepends=True)
    order = np.random.default_rng(0).permutation(len(lines))
    shuffled = [lines[i] for i in order]
    half = len(lines) // 2
    (tmp_path / "a.txt").write_text("# a comment\n\n" + "".join(shuffled[:half]))
    packed = "".join(shuffled[half:]).rstrip("\n").encode()  # the last line has no end
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(packed))
    return [tmp_path / "a.txt", tmp_path / "b.txt.gz"]


def documents(folder: Path) -> Iterator[bytes]:
    for path in sorted(folder.glob("part-*.txt")):
        yield from path.read_bytes().splitlines(keepends=True)


def test_every_line_is_in_the_part_of_its_query(tmp_path: Path, sources: list[Path]) -> None:
    manifest = partition(sources, tmp_path / "parts", 4)
    assert sorted(documents(tmp_path / "parts")) == sorted(
        (tmp_path / "all.txt").read_bytes().splitlines(keepends=True)
    )
    parts = rw.read_parts(tmp_path / "parts")
    for number, ids in enumerate(parts.map(lambda part: part.groups.names)):
        assert set((hash_ids(ids) % np.uint64(4)).tolist()) == {number}
        assert len(ids) == manifest.parts[number].n_queries
    assert all(not part.gathered for part in parts.map(lambda part: part))
    assert manifest == read_manifest(tmp_path / "parts")
    assert manifest.letor == {"n_features": 5, "zero_based": False, "dense": True}
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "all.txt", "b.txt.gz", "parts"]


def test_parts_do_not_depend_on_the_order_of_queries(tmp_path: Path, sources: list[Path]) -> None:
    partition(sources, tmp_path / "one", 4)
    partition(tmp_path / "all.txt", tmp_path / "two", 4)
    for name in sorted(path.name for path in (tmp_path / "one").glob("*.txt")):
        one, two = (rw.read(tmp_path / folder / name) for folder in ("one", "two"))
        assert set(one.qid.tolist()) == set(two.qid.tolist())
        assert sorted(one.X.tolist()) == sorted(two.X.tolist())


def test_rows_of_a_query_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:2 1:2\n0 qid:1 1:3 # docid = x\n")
    partition(tmp_path / "a.txt", tmp_path / "parts", 1)
    written = (tmp_path / "parts" / "part-00000.txt").read_text()
    assert written == "1 qid:1 1:1\n0 qid:1 1:3 # docid = x\n0 qid:2 1:2\n"


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("out", [None, "csv", "parquet"])
def test_tables_keep_all_columns(tmp_path: Path, ending: str, out: str | None) -> None:
    frame = pd.DataFrame(
        {
            "query": ["a", "b", "a", "c", "d", "b"],
            "label": [0, 1, 2, 0, 1, 1],
            "price": [1.5, 2.5, np.nan, 4.0, 0.1, 7.0],
            "brand": ["x", None, "y", "x", "z", "x"],
            "weight": [1, 2, 3, 4, 5, 6],
        }
    )
    source = tmp_path / f"a.{ending}"
    if ending == "jsonl":
        frame.to_json(source, orient="records", lines=True)
    else:
        getattr(frame, f"to_{ending}")(source, index=False)
    manifest = partition(source, tmp_path / "parts", 3, qid="query", out_format=out)
    assert manifest.format == (out or "parquet")
    files = sorted((tmp_path / "parts").glob("part-*"))
    read = pd.read_csv if out == "csv" else pd.read_parquet
    found = pd.concat([read(path) for path in files])
    assert list(found.columns) == list(frame.columns)
    pd.testing.assert_frame_equal(
        found.sort_values("weight").reset_index(drop=True), frame, check_dtype=False
    )
    assert sum(part.n_queries for part in manifest.parts) == 4
    parts = rw.read_parts(
        tmp_path / "parts", qid="query", ignore=["weight"], categorical=["brand"], allow_nan=True
    )
    assert parts.facts.features.categories == {"brand": ["x", "y", "z"]}


def test_tables_with_other_types_and_orders_of_columns_are_joined(tmp_path: Path) -> None:
    a = pd.DataFrame({"qid": [1, 2], "label": [0, 1], "x": [1, 2]})
    b = pd.DataFrame({"x": [0.5, 1.5], "label": [0, 1], "qid": [2, 3]})
    a.to_parquet(tmp_path / "a.parquet")
    b.to_parquet(tmp_path / "b.parquet")
    partition(tmp_path / "*.parquet", tmp_path / "parts", 1)
    (part,) = rw.read_parts(tmp_path / "parts").map(lambda part: part)
    assert part.qid.tolist() == [1, 2, 2, 3]
    assert part.X[:, 0].tolist() == [1.0, 2.0, 0.5, 1.5]


def test_all_parts_have_the_columns_of_all_files(tmp_path: Path) -> None:
    """Each file is a part of its own: x of the first, and y of the second, have no values."""
    options: Any = {"label": [0, 1], "x": [None, None], "y": [1, 2]}
    pd.DataFrame({"qid": ["a"] * 2, **options}).to_csv(tmp_path / "a.csv", index=False)
    options.update(x=[0.5, 1.5], y=[None, None])
    pd.DataFrame({"qid": ["b"] * 2, **options}).to_csv(tmp_path / "b.csv", index=False)
    assert len(partition(tmp_path / "*.csv", tmp_path / "parts", 100).parts) == 2
    parts = rw.read_parts(tmp_path / "parts", allow_nan=True)
    assert parts.facts.features.names == ["x", "y"]
    assert parts.facts.missing.tolist() == [2, 2]
    pd.DataFrame({"qid": ["c"], **ONE}).to_csv(tmp_path / "c.csv", index=False)
    with pytest.raises(DataError, match=r"a.csv has 'y', and c.csv has not"):
        partition(tmp_path / "*.csv", tmp_path / "more", 100)
    assert not (tmp_path / "more").exists()


def test_more_parts_than_queries_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:2 1:2\n")
    manifest = partition(tmp_path / "a.txt", tmp_path / "parts", 50)
    assert 1 <= len(manifest.parts) <= 2
    assert len(rw.read_parts(tmp_path / "parts")) == len(manifest.parts)


def test_progress_is_told(tmp_path: Path, sources: list[Path]) -> None:
    told: list[PartitionProgress] = []
    partition(sources, tmp_path / "parts", 3, callback=told.append)
    expected = [("dealing out", 1, 2), ("dealing out", 2, 2)]
    expected += [("gathering", i, 3) for i in (1, 2, 3)]
    assert [(one.what, one.done, one.total) for one in told] == expected


# ---- all or nothing ----


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:1\n0 qid:2 1:x\n", r"a\.txt, line 2"),
        ("1 1:1\n0 1:2\n", r"a\.txt, qid: parts need query ids"),
        ("", "at least one document"),
        ("# nothing\n", "at least one document"),
    ],
)
def test_bad_text_leaves_nothing(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    told = pytest.warns(rw.DataWarning) if text.startswith("1 1:") else contextlib.nullcontext()
    with told, pytest.raises(DataError, match=message):
        partition(tmp_path / "a.txt", tmp_path / "parts", 2)
    assert os.listdir(tmp_path) == ["a.txt"]


def test_bad_tables_leave_nothing(tmp_path: Path) -> None:
    pd.DataFrame({"q": [1], "label": [1], "x": [1.0]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet, qid: there must be one column 'qid'"):
        partition(tmp_path / "a.parquet", tmp_path / "parts", 2)
    pd.DataFrame({"qid": ["1", None], "x": [1.0, 2.0]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet, qid: must not be missing, but row 1"):
        partition(tmp_path / "b.parquet", tmp_path / "parts", 2)
    pd.DataFrame({"qid": ["1", "2"], "y": [1.0, 2.0]}).to_parquet(tmp_path / "c.parquet")
    pd.DataFrame({"qid": ["1", "2"], "x": [1.0, 2.0]}).to_parquet(tmp_path / "d.parquet")
    with pytest.raises(DataError, match="parts must have the same columns"):
        partition([tmp_path / "c.parquet", tmp_path / "d.parquet"], tmp_path / "parts", 1)
    (tmp_path / "e.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"e\.parquet: is not a readable parquet file"):
        partition(tmp_path / "e.parquet", tmp_path / "parts", 1)
    assert "parts" not in os.listdir(tmp_path)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_an_interrupt_leaves_what_was_there(tmp_path: Path, sources: list[Path]) -> None:
    partition(sources, tmp_path / "parts", 2)
    before = {path.name: path.read_bytes() for path in (tmp_path / "parts").iterdir()}

    def stop(progress: PartitionProgress) -> None:
        if progress.what == "gathering":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        partition(sources, tmp_path / "parts", 5, overwrite=True, callback=stop)
    assert {path.name: path.read_bytes() for path in (tmp_path / "parts").iterdir()} == before
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "all.txt", "b.txt.gz", "parts"]


def test_a_folder_is_replaced_only_if_it_holds_parts_and_that_is_asked(
    tmp_path: Path, sources: list[Path]
) -> None:
    partition(sources, tmp_path / "parts", 2)
    with pytest.raises(DataError, match=r"holds parts already.*--overwrite"):
        partition(sources, tmp_path / "parts", 3)
    assert len(partition(sources, tmp_path / "parts", 3, overwrite=True).parts) == 3
    mine = tmp_path / "mine"
    mine.mkdir()
    assert len(partition(sources, mine, 2).parts) == 2  # an empty one is no one's
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("much work")
    for overwrite in (False, True):
        with pytest.raises(DataError, match="must be empty, or not be there"):
            partition(sources, tmp_path / "thesis", 2, overwrite=overwrite)
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "much work"
    with pytest.raises(DataError, match="is what is read"):
        partition(tmp_path / "parts", tmp_path / "parts", 2, overwrite=True)
    with pytest.raises(DataError, match="lies in the folder that is read"):
        partition([tmp_path / "parts"], tmp_path / "parts" / "again", 2)
    assert len(partition(mine / "*.txt", mine / "below", 2).parts) == 2  # files, and no folder


@pytest.mark.parametrize(
    ("n_parts", "options", "message"),
    [
        (0, {}, "n_parts must be"),
        (2.5, {}, "n_parts must be"),
        (10**6, {}, "n_parts must be at most"),
        (2, {"out_format": "parquet"}, "parts of LETOR text cannot be parquet"),
        (2, {"out_format": "excel"}, "cannot be excel"),
    ],
)
def test_bad_arguments(
    tmp_path: Path, sources: list[Path], n_parts: Any, options: Any, message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        partition(sources, tmp_path / "parts", n_parts, **options)
    assert not (tmp_path / "parts").exists()


# ---- the manifest ----


@pytest.fixture
def folder(tmp_path: Path, sources: list[Path]) -> Path:
    partition(sources, tmp_path / "parts", 3)
    return tmp_path / "parts"


def test_a_part_that_was_changed_is_found(folder: Path) -> None:
    path = folder / "part-00001.txt"
    text = path.read_text()
    path.write_text(text.replace("qid:", "qid:1", 1))
    with pytest.raises(DataError, match=r"part-00001.txt: has changed since it was written"):
        rw.read_parts(folder)
    path.write_text(text.replace("0", "1", 1) if text.startswith("0") else "0" + text[1:])
    assert len(path.read_text()) == len(text)
    for given in (folder, folder / "*.txt", path):
        with pytest.raises(DataError, match=r"part-00001.txt: has changed since it was written"):
            rw.read_parts(given)


def test_another_format_than_the_manifest_says_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="the parts are letor, as their manifest says, and not csv"):
        rw.read_parts(folder, format="csv")
    assert len(rw.read_parts(folder, format="letor")) == 3


def test_parts_that_lack_or_are_more_are_found(folder: Path) -> None:
    (folder / "more.txt").write_text("1 qid:9999 1:1\n")
    with pytest.raises(DataError, match=r"does not list 'more.txt'.* name the files: '.*/\*'"):
        rw.read_parts(folder)
    assert rw.read_parts(f"{folder}/*.txt").facts.n_docs > 0
    os.unlink(folder / "more.txt")
    os.unlink(folder / "part-00002.txt")
    with pytest.raises(DataError, match=r"lists 'part-00002.txt', which is not there"):
        rw.read_parts(folder)
    assert len(rw.read_parts(folder / "part-0000[01].txt")) == 2  # which is what was asked for


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"rankwright": "parts"}', "\xff", "[" * 10**5])
def test_a_broken_manifest_is_told(folder: Path, text: str) -> None:
    (folder / MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(DataError, match=f"{MANIFEST}: is not a manifest of parts"):
        rw.read_parts(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", 3),
        ("letor", {"n_features": "many", "zero_based": False, "dense": True}),
        ("letor", {"path": "/etc/passwd"}),
        ("letor", []),
        ("parts", []),
        ("parts", [{"name": 1, "n_docs": 1, "n_queries": 1, "n_bytes": 1, "hash": ""}]),
        ("parts", [{"name": "a", "n_docs": "1", "n_queries": 1, "n_bytes": 1, "hash": ""}]),
        ("more", 1),
    ],
)
def test_what_a_stranger_wrote_into_a_manifest_is_told(folder: Path, key: str, value: Any) -> None:
    found = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**found, key: value}))
    with pytest.raises(DataError, match=f"{MANIFEST}: is not a manifest of parts"):
        rw.read_parts(folder)


def test_a_manifest_says_how_text_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without another look at all files, though one of them lacks the last feature."""
    assert has_manifest(folder)
    monkeypatch.delattr("rankwright.data.parts.letor_form")
    assert rw.read_parts(folder).facts.n_features == 5
    found = json.loads((folder / MANIFEST).read_text())
    assert Manifest(**{k: found[k] for k in ("format", "letor")}, parts=()).format == "letor"


# ---- memory ----


def test_memory_is_told_before_anything_is_read(folder: Path, tmp_path: Path) -> None:
    paths = sorted(map(str, folder.glob("part-*")))
    sizes = part_sizes(paths)
    assert sum(sizes.n_docs) == rw.read(tmp_path / "all.txt").n_docs
    assert (sizes.n_features, sizes.n_bytes) == (5, 4)
    needed = needed_memory(paths, 1000, 100, 2)
    assert needed.total == (
        PROGRAM + 1000 + 3 * 5 * 4 * max(sizes.n_docs) + (100 + 2 * 5) * sum(sizes.n_docs)
    )
    check_memory(paths, 10**9, 0, 100)
    with pytest.raises(DataError, match=r"needs about 0\.25 GB .* allows 0\.20 GB\. .*Allow more"):
        check_memory(paths, 2 * 10**8, 0, 0)
    with pytest.raises(DataError, match=r"needs about .* Partition the data into more parts"):
        check_memory(paths, PROGRAM + 1, 0, 0)
    with pytest.raises(DataError, match=r"needs about .* 10000000 bytes for each .*Allow more"):
        check_memory(paths, 10**9, 0, 10**7)
    with pytest.raises(DataError, match=r"not known before it is read. Partition"):
        check_memory([str(tmp_path / "all.txt")], 10**9)


def test_memory_of_validation_parts_counts(folder: Path) -> None:
    paths = sorted(map(str, folder.glob("part-*")))
    needed = needed_memory(paths, 0, 10**6)
    most = int(needed.total) + 1
    check_memory(paths, most, 0, 10**6)
    with pytest.raises(DataError, match=f"1000000 bytes for each of {2 * needed.n_docs} documents"):
        check_memory(paths, most, 0, 10**6, valid=paths)


def test_memory_of_tables_is_in_their_own_words(tmp_path: Path) -> None:
    frame = pd.DataFrame({"qid": [1, 1, 2], "label": [0, 1, 1], "x": [1.0, 2.0, 3.0]})
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    assert part_sizes([str(tmp_path / "a.parquet")]) == Sizes([3], 3, 8)
    frame.astype({"x": np.float32}).to_parquet(tmp_path / "single.parquet", index=False)
    assert part_sizes([str(tmp_path / "single.parquet")]) == Sizes([3], 3, 4)
    both = [str(tmp_path / "single.parquet"), str(tmp_path / "a.parquet")]
    assert part_sizes(both) == Sizes([3, 3], 3, 8)
    partition(tmp_path / "a.parquet", tmp_path / "parts", 1, out_format="csv")
    (path,) = (tmp_path / "parts").glob("*.csv")
    assert part_sizes([str(path)]) == Sizes([3], 3, 8)
    (tmp_path / "b.parquet").write_bytes(b"no")
    with pytest.raises(DataError, match="is not a readable parquet file"):
        part_sizes([str(tmp_path / "b.parquet")])


# ---- in memory ----


def test_a_folder_of_parts_is_read_into_memory_too(folder: Path, tmp_path: Path) -> None:
    whole, found = rw.read(tmp_path / "all.txt"), rw.read(folder, doc_ids=True)
    assert (found.n_docs, found.n_queries, found.n_features) == (whole.n_docs, 30, 5)
    assert found.doc_ids is not None
    assert sorted(whole.X.tolist()) == sorted(found.X.tolist())
    rw.data.partition(tmp_path / "all.txt", tmp_path / "one", 1)
    alone = rw.read(tmp_path / "one")
    np.testing.assert_array_equal(alone.X, whole.X)
    np.testing.assert_array_equal(alone.qid, whole.qid)
