"""What workers of a cluster hold, without a cluster: it travels as the way it is made."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import rankwright as rw
from rankwright.blas import one_blas_thread
from rankwright.data.arrays import fingerprint
from rankwright.exceptions import DataError

pytest.importorskip("distributed", reason="needs the extra dask")
from rankwright.dask import recipe as module
from rankwright.dask.parts import read_file
from rankwright.dask.recipe import Recipe, kept, made_first, pinned, told


@pytest.fixture
def path(tmp_path: Path) -> str:
    rw.write(rw.data.make_mslr_like(n_queries=8, n_features=3, mean_docs=6), tmp_path / "a.txt")
    return str(tmp_path / "a.txt")


def halved(part: rw.Dataset) -> rw.Dataset:
    return part.with_features(part.X / 2)


class Total:
    def __init__(self, part: rw.Dataset, times: float) -> None:
        self.sum = times * float(part.X.sum())

    def plus(self, more: float) -> float:
        return self.sum + more

    def both(self) -> tuple[float, float]:
        return self.sum, -self.sum


def test_a_value_is_made_again_where_it_is_sent(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    part = made_first(read_file, path, rw.read, {})
    scaled = kept(part, halved)
    total = kept(scaled, Total, 3.0)
    assert isinstance(total, Recipe)
    value = told(total, Total.plus, 1.0)
    assert kept(total, Total.both) == (value - 1.0, 1.0 - value)  # numbers stay numbers
    content = pickle.dumps(total)
    assert len(content) < 1000
    assert pickle.loads(content) is total  # here already
    monkeypatch.setattr(module, "_known", {})  # another process
    other = pickle.loads(content)
    assert other is not total
    assert told(other, Total.plus, 1.0) == value
    assert told(pickle.loads(pickle.dumps(part)), fingerprint) == told(part, fingerprint)


def test_a_part_must_not_change(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    part = made_first(read_file, path, rw.read, {})
    sent = pickle.dumps(pinned(part, told(part, fingerprint), "a.txt"))
    rw.write(rw.data.make_mslr_like(n_queries=2, n_features=3), path)
    monkeypatch.setattr(module, "_known", {})
    with pytest.raises(DataError, match=r"^a\.txt: has changed since it was read first\."):
        pickle.loads(sent).value  # noqa: B018


def test_files_go_with_their_values(path: str) -> None:
    part = made_first(read_file, path, rw.read, {})
    folder = module.own_spool().folder
    before = len(list(folder.iterdir()))
    scaled = kept(part, halved)
    assert len(list(folder.iterdir())) > before
    del scaled
    assert len(list(folder.iterdir())) == before


def test_blocks_of_one_thread_may_overlap() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads() -> set[Any]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        before = threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {1}  # the other block goes on
        second.__exit__(None, None, None)
        assert threads() == before
