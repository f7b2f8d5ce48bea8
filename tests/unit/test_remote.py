"""Files behind URLs: read as those of this machine, and never written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.cli.parts import names_parts
from rankwright.data import remote
from rankwright.data.part_files import part_paths
from rankwright.exceptions import DataError

fsspec = pytest.importorskip("fsspec")
ENDINGS = ["txt", "txt.gz", "txt.zst", "csv", "jsonl", "parquet"]


@pytest.fixture
def store() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def put(store: Any, path: Path, name: str) -> str:
    store.pipe(name, path.read_bytes())
    return f"memory:/{name}"


@pytest.fixture
def data() -> rw.Dataset:
    return rw.data.make_mslr_like(n_queries=12, n_features=4, mean_docs=5)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_url_is_read_as_the_file(
    tmp_path: Path, store: Any, data: rw.Dataset, ending: str
) -> None:
    path = tmp_path / f"a.{ending}"
    rw.write(data, path)
    expected = rw.read(path)
    for url in (put(store, path, f"/bucket/a.{ending}"), f"file://{path}"):
        found = rw.read(url)
        np.testing.assert_array_equal(found.X, expected.X)
        np.testing.assert_array_equal(found.qid, expected.qid)


@pytest.mark.parametrize("ending", ["txt", "parquet"])
def test_parts_behind_a_url(tmp_path: Path, store: Any, data: rw.Dataset, ending: str) -> None:
    for i, piece in enumerate(data.split((0.5, 0.5))):
        rw.write(piece, tmp_path / f"{i}.{ending}")
        put(store, tmp_path / f"{i}.{ending}", f"/bucket/web/{i}.{ending}")
    store.pipe("/bucket/web/_SUCCESS", b"")
    names = [f"memory://bucket/web/{i}.{ending}" for i in range(2)]
    local = rw.read_parts(tmp_path / f"*.{ending}")
    for given in ("memory://bucket/web", f"memory://bucket/web/*.{ending}", names):
        parts = rw.read_parts(given)
        assert len(parts) == 2
        for a, b in zip(parts.facts.parts, local.facts.parts, strict=True):
            assert a.fingerprint == b.fingerprint
            assert a.name.endswith(os.path.basename(b.name))
    rw.LinearRanker().fit_parts(parts)
    assert names_parts("memory://bucket/web")
    assert names_parts("memory://bucket/web/*.txt")
    assert not names_parts(names[0])


def test_partition_of_a_url(tmp_path: Path, store: Any, data: rw.Dataset) -> None:
    for ending in ("txt", "parquet"):
        rw.write(data, tmp_path / f"all.{ending}")
        url = put(store, tmp_path / f"all.{ending}", f"/bucket/all.{ending}")
        manifest = rw.data.partition(url, tmp_path / ending, 3)
        assert sum(part.n_queries for part in manifest.parts) == 12


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://bucket/nothing.txt", "there is no such file"),
        ("memory://bucket/nothing.parquet", "there is no such file"),
        ("memory://bucket/nothing*.txt", "there is no file of such a name"),
        ("nosuch://bucket/a.txt", "cannot be read: Protocol not known: nosuch"),
    ],
)
def test_what_cannot_be_read_is_one_line(store: Any, url: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        rw.read_parts(url)
    assert "\n" not in str(caught.value)


def test_the_same_url_twice(store: Any, tmp_path: Path, data: rw.Dataset) -> None:
    rw.write(data, tmp_path / "a.txt")
    url = put(store, tmp_path / "a.txt", "/bucket/a.txt")
    with pytest.raises(DataError, match="is the same file as"):
        part_paths([url, url])


def test_a_remote_part_that_changes_is_refused(
    store: Any, tmp_path: Path, data: rw.Dataset
) -> None:
    from rankwright.data.part_files import read_part

    rw.write(data, tmp_path / "a.txt")
    url = put(store, tmp_path / "a.txt", "/bucket/a.txt")

    def busy(path: str) -> rw.Dataset:
        found = rw.read(path)
        store.pipe("/bucket/a.txt", b"1 qid:1 1:1\n")
        return found

    with pytest.raises(DataError, match="the file changed while it was read"):
        read_part(url, busy)


def test_nothing_is_written_to_a_url(
    tmp_path: Path, data: rw.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rw.write(data, "a.txt")
    with pytest.raises(DataError, match="are written to this machine only"):
        rw.write(data, "s3://bucket/a.txt")
    with pytest.raises(DataError, match="are written to this machine only"):
        rw.data.partition("a.txt", "s3://bucket/parts", 2)
    with pytest.raises(DataError, match="are written to this machine only"):
        rw.save(rw.LinearRanker().fit_dataset(data), "s3://bucket/model.rw")
    assert os.listdir(tmp_path) == ["a.txt"]


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: str) -> Any:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec, "url_to_fs", absent)
    with pytest.raises(ImportError, match=r"s3://b/a.txt: Install s3fs"):
        rw.read("s3://b/a.txt")
    monkeypatch.setattr(remote, "load_extra", absent)
    with pytest.raises(ImportError, match="Install"):
        rw.read("s3://b/a.txt")


def test_permission_is_told(monkeypatch: pytest.MonkeyPatch, store: Any) -> None:
    def forbidden(*_: Any, **__: Any) -> Any:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(type(store), "open", forbidden)
    with pytest.raises(DataError, match=r"memory://b/a.txt: may not be read: permission denied"):
        rw.read("memory://b/a.txt")
