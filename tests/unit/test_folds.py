"""Training, validation and test queries."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.evaluation import Fold, read_folds, rotate, split
from rankwright.exceptions import DataError, DataWarning


@pytest.fixture(scope="module")
def data() -> rw.Dataset:
    return rw.data.make_mslr_like(n_queries=40, n_features=12, mean_docs=12)


def ids(part: rw.Dataset) -> set[Any]:
    assert part.groups.ids is not None
    return set(part.groups.ids.tolist())


def test_parts_are_cut_by_query(data: rw.Dataset) -> None:
    (fold,) = split(data, random_state=1)
    assert ids(fold.train) | ids(fold.valid) | ids(fold.test) == ids(data)
    assert [p.n_queries for p in fold.parts().values()] == [24, 8, 8]
    train, test = data.split((0.5, 0.5))
    (fold,) = split(train, test)
    assert fold.test is test
    assert [p.n_queries for p in fold.parts().values()] == [16, 4, 20]
    (fold,) = split(train, test, valid=data)
    assert fold.train is train
    assert fold.valid is data


def test_folds_rotate_as_in_letor(data: rw.Dataset) -> None:
    folds = rotate(data, 4)
    assert [fold.name for fold in folds] == ["Fold1", "Fold2", "Fold3", "Fold4"]
    tested = [ids(fold.test) for fold in folds]
    assert set.union(*tested) == ids(data)
    assert sum(map(len, tested)) == data.n_queries
    for fold, after in zip(folds, [*folds[1:], folds[0]], strict=True):
        assert ids(fold.valid) == ids(after.test)
        assert not ids(fold.train) & (ids(fold.valid) | ids(fold.test))


def test_letor_folders_are_read(data: rw.Dataset, tmp_path: Path) -> None:
    for fold, names in zip(rotate(data, 3), ("1", "2", "10"), strict=True):
        folder = tmp_path / f"Fold{names}"
        folder.mkdir()
        rw.write_letor(fold.train, folder / "train.txt.gz")
        rw.write_letor(fold.valid, folder / "vali.txt")
        rw.write_letor(fold.test, folder / "test.txt.zst")
    with pytest.warns(DataWarning, match="Fold3 is missing; there are 3 folds."):
        folds = read_folds(tmp_path)
    assert [fold.name for fold in folds] == ["Fold1", "Fold2", "Fold10"]
    assert [ids(fold.test) for fold in folds] == [ids(fold.test) for fold in rotate(data, 3)]
    (one,) = read_folds(tmp_path / "Fold2")
    assert ids(one.valid) == ids(folds[1].valid)


def test_a_fold_is_the_same_when_mapped(data: rw.Dataset, tmp_path: Path) -> None:
    import scipy.sparse as sp

    for X in (data.X, sp.csr_array(data.X)):
        (fold,) = split(rw.Dataset(X, data.y, [f"q {q}" for q in data.qid]))
        fold.write(tmp_path)
        again = Fold.map("split", tmp_path)
        assert again.fingerprint == fold.fingerprint
        for path in tmp_path.iterdir():
            path.unlink()
    changed = rw.Dataset(data.X, data.y.copy(), data.qid)
    changed.y[0] += 1
    assert split(changed)[0].fingerprint != split(data)[0].fingerprint


def equal_labels(n_queries: int = 10, label: float = 1.0) -> rw.Dataset:
    rng = np.random.default_rng(0)
    return rw.Dataset(rng.random((30, 2)), np.full(30, label), np.arange(30) % n_queries)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda d: split(d.select([0])),
            "training, validation and test queries need at least 3 queries, but there is 1 query.",
        ),
        (
            lambda d: split(d.select([0]), d),
            "training and validation queries need at least 2 queries, but there is 1 query.",
        ),
        (
            lambda d: split(equal_labels()),
            "the train queries of split must have one with different labels, but all labels are 1 "
            "within each of its 6: there is nothing to rank.",
        ),
        (lambda d: split(d, valid=d), "valid needs test: a test set is cut from training"),
        (
            lambda d: split(d, rw.Dataset(d.X[:, :5], d.y, d.qid)),
            "the test queries of split: there must be the 12 features of the training queries of "
            "split, but there are 5.",
        ),
        (lambda d: rotate(d, 2), "folds must be at least 3, for training, validation and test,"),
        (lambda d: rotate(d, 50), "50 folds need at least 50 queries, but there is 40 queries."),
        (lambda d: read_folds("nowhere"), "nowhere: there is no such folder."),
    ],
)
def test_what_cannot_be_cut_is_said(call: Any, message: str, data: rw.Dataset) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        call(data)


def test_a_folder_must_be_complete(data: rw.Dataset, tmp_path: Path) -> None:
    for name in ("train.txt", "test.txt", "vali.txt", "valid.txt"):
        rw.write_letor(data, tmp_path / name)
    message = "must have one vali.txt or valid.txt or validation.txt (.gz and .zst allowed), but "
    with pytest.raises(DataError, match=re.escape(f"{message}has vali.txt, valid.txt.")):
        read_folds(tmp_path)
    (tmp_path / "vali.txt").unlink()
    (tmp_path / "valid.txt").unlink()
    with pytest.raises(DataError, match=re.escape(f"{message}has none.")):
        read_folds(tmp_path)
