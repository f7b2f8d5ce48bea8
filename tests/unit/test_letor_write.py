"""Writing LETOR text: what is written, that it reads back exactly, that it is all or nothing."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwright import _kernels
from rankwright.data import writing
from rankwright.data.dataset import Dataset
from rankwright.data.letor import read_letor, write_letor
from rankwright.exceptions import DataError

BLANKS = " \t\r\n"


def small(**options: Any) -> Dataset:
    return Dataset([[0.5, 1], [2, 0]], [1, 0], **({"qid": [7, 7]} | options))


def scattered(dtype: Any = np.float64, *, sparse: bool = False, n_docs: int = 1500) -> Dataset:
    """Return rows of 50 queries in random order."""
    rng = np.random.default_rng(4)
    X: Any = (rng.normal(size=(n_docs, 6)) * (rng.random((n_docs, 6)) < 0.5)).astype(dtype)
    if sparse:
        X = sp.csr_array(X)
    qid = rng.integers(0, 50, n_docs)
    docs = [f"doc {i}" for i in range(n_docs)]
    return Dataset(X, rng.integers(0, 5, n_docs), qid, doc_ids=docs)


def full_bits(X: Any) -> bytes:
    """Return the bytes of the dense matrix; ``toarray`` would add -0.0 to 0.0."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X).tobytes()
    full = np.zeros(X.shape, dtype=X.dtype)
    full[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices] = X.data
    return full.tobytes()


def assert_comes_back(
    dataset: Dataset, path: Path, *, zero_based: bool = False, read_zero_based: bool | None = None
) -> None:
    write_letor(dataset, path, zero_based=zero_based)
    back = read_letor(
        path,
        dense=not dataset.is_sparse,
        dtype=dataset.X.dtype,
        zero_based=read_zero_based,
        allow_nan=True,
        doc_ids=dataset.doc_ids is not None,
    )
    assert back.X.dtype == dataset.X.dtype
    assert back.X.shape == dataset.X.shape
    assert full_bits(back.X) == full_bits(dataset.X)
    assert back.y.tobytes() == dataset.y.tobytes()
    assert back.qid.dtype.kind == dataset.qid.dtype.kind
    assert back.qid.tolist() == dataset.qid.tolist()
    assert back.order.tolist() == dataset.order.tolist()
    assert (back.doc_ids is None) == (dataset.doc_ids is None)
    if back.doc_ids is not None and dataset.doc_ids is not None:
        assert back.doc_ids.tolist() == dataset.doc_ids.tolist()


# ---- text ----


def test_a_line_has_label_qid_and_every_dense_feature(tmp_path: Path) -> None:
    write_letor(small(), tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text(
        encoding="utf-8"
    ) == "1 qid:7 1:0.5 2:1\n0 qid:7 1:2 2:0\n"


def test_sparse_rows_are_written_as_they_are_stored(tmp_path: Path) -> None:
    X = sp.csr_array(np.array([[0, 3.0, 0], [0, 0, 0], [1, 0, 2]]))
    write_letor(Dataset(X, [1, 0, 2], ["a", "a", "b"]), tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text(
        encoding="utf-8"
    ) == "1 qid:a 2:3\n0 qid:a\n2 qid:b 1:1 3:2\n"


def test_indices_count_from_zero_on_request(tmp_path: Path) -> None:
    write_letor(small(), tmp_path / "a.txt", zero_based=True)
    assert (tmp_path / "a.txt").read_text(
        encoding="utf-8"
    ) == "1 qid:7 0:0.5 1:1\n0 qid:7 0:2 1:0\n"


def test_doc_ids_become_comments(tmp_path: Path) -> None:
    write_letor(small(doc_ids=["x", "a # b"]), tmp_path / "a.txt")
    expected = "1 qid:7 1:0.5 2:1 # x\n0 qid:7 1:2 2:0 # a # b\n"
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == expected


def test_rows_are_written_in_the_order_of_the_input(tmp_path: Path) -> None:
    ds = Dataset([[1.0], [2], [3]], [0, 1, 2], ["b", "a", "b"])
    write_letor(ds, tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text(
        encoding="utf-8"
    ) == "0 qid:b 1:1\n1 qid:a 1:2\n2 qid:b 1:3\n"


def test_numbers_take_the_fewest_digits(tmp_path: Path) -> None:
    X = np.array([[0.1, 1 / 3, 1e30, -0.0]])
    write_letor(Dataset(X, [0.7], [1]), tmp_path / "wide")
    assert (tmp_path / "wide").read_text(
        encoding="utf-8"
    ) == "0.7 qid:1 1:0.1 2:0.3333333333333333 3:1e+30 4:-0\n"
    write_letor(Dataset(X.astype(np.float32), [0.7], [1]), tmp_path / "narrow")
    assert (tmp_path / "narrow").read_text(
        encoding="utf-8"
    ) == "0.7 qid:1 1:0.1 2:0.33333334 3:1e+30 4:-0\n"


@pytest.mark.parametrize("sparse", [False, True])
def test_threads_and_portions_do_not_change_the_text(tmp_path: Path, sparse: bool) -> None:
    ds = scattered(sparse=sparse)
    write_letor(ds, tmp_path / "1", n_jobs=1)
    for n_jobs in (2, 8):
        write_letor(ds, tmp_path / "n", n_jobs=n_jobs)
        assert (tmp_path / "n").read_bytes() == (tmp_path / "1").read_bytes()


def test_gz_and_zst_names_are_compressed(tmp_path: Path) -> None:
    for name in ("a.txt", "a.txt.gz", "a.txt.zst"):
        write_letor(small(), tmp_path / name)
    plain = (tmp_path / "a.txt").read_bytes()
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == plain
    with zstandard.open(tmp_path / "a.txt.zst", "rb") as stream:
        assert stream.read() == plain


@pytest.mark.parametrize("name", ["a.gz", "a.zst"])
def test_equal_data_gives_equal_files(tmp_path: Path, name: str) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for folder in ("one", "two"):
        write_letor(small(), tmp_path / folder / name)
        os.utime(tmp_path / folder / name, (1, 1))
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_dash_is_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer))
    write_letor(small(), "-")
    assert buffer.getvalue() == b"1 qid:7 1:0.5 2:1\n0 qid:7 1:2 2:0\n"


# ---- round trip ----


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.zst"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zero_based", [False, True])
def test_scattered_rows_come_back(
    tmp_path: Path, dtype: Any, sparse: bool, name: str, zero_based: bool
) -> None:
    assert_comes_back(scattered(dtype, sparse=sparse), tmp_path / name, zero_based=zero_based)


@pytest.mark.parametrize("sparse", [False, True])
def test_many_portions_come_back(tmp_path: Path, sparse: bool) -> None:
    # More rows than one portion of sparse rows, and than one of dense rows that are wide.
    n_docs = 70_000 if sparse else 3
    width = 3 if sparse else 1_500_000
    X: Any = sp.csr_array((n_docs, width)) if sparse else np.zeros((n_docs, width), np.float32)
    ds = Dataset(X, np.arange(n_docs), np.arange(n_docs) % 7)
    assert_comes_back(ds, tmp_path / "a.txt")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_are_not_finite_come_back(tmp_path: Path, dtype: Any) -> None:
    X = np.array([[np.nan, np.inf, -np.inf]], dtype=dtype)
    assert_comes_back(Dataset(X, [1], [1], allow_nan=True), tmp_path / "a.txt")


@pytest.mark.parametrize("zero_based", [False, True])
def test_empty_first_and_last_columns_of_a_sparse_matrix_come_back(
    tmp_path: Path, zero_based: bool
) -> None:
    X = sp.csr_array(np.array([[0, 0, 0, 0], [0, 1.5, 0, 0]], dtype=np.float32))
    assert_comes_back(Dataset(X, [1, 0], [1, 1]), tmp_path / "a.txt", zero_based=zero_based)


def test_the_largest_and_smallest_integer_qids_come_back(tmp_path: Path) -> None:
    ids = np.array([2**63 - 1, -(2**63), 0])
    assert_comes_back(Dataset(np.ones((3, 1)), [1, 2, 3], ids), tmp_path / "a.txt")


def test_string_qids_that_all_look_like_integers_come_back_as_integers(tmp_path: Path) -> None:
    # The text cannot tell them apart; one other string among them is enough.
    write_letor(small(qid=["1", "2"]), tmp_path / "a.txt")
    assert read_letor(tmp_path / "a.txt").qid.tolist() == [1, 2]
    assert_comes_back(small(qid=["1", "02"]), tmp_path / "a.txt")


def floats(width: int) -> st.SearchStrategy[float]:
    return st.floats(width=32 if width == 32 else 64, allow_nan=False, allow_infinity=False)


def texts(excluded: str) -> st.SearchStrategy[str]:
    usable = st.characters(exclude_characters=excluded + "\0", exclude_categories=["Cs"])
    return st.text(usable, max_size=6)


QIDS = texts(BLANKS + "#").map(lambda text: f"q{text}")
DOC_IDS = texts("\r\n").map(lambda text: text.strip(BLANKS))


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    n_docs, width = draw(st.integers(1, 8)), draw(st.integers(0, 5))
    bits = draw(st.sampled_from([32, 64]))
    row = st.lists(st.just(0.0) | floats(bits), min_size=width, max_size=width)
    rows = draw(st.lists(row, min_size=n_docs, max_size=n_docs))
    X: Any = np.array(rows, dtype=f"float{bits}").reshape(n_docs, width)
    if draw(st.booleans()):
        X = sp.csr_array(X)
    y = draw(st.lists(floats(64), min_size=n_docs, max_size=n_docs))
    pool = st.lists(
        st.integers(-(2**63), 2**63 - 1) if draw(st.booleans()) else QIDS, min_size=1, max_size=4
    )
    qid = draw(st.lists(st.sampled_from(draw(pool)), min_size=n_docs, max_size=n_docs))
    docs = draw(st.none() | st.lists(DOC_IDS, min_size=n_docs, max_size=n_docs))
    return Dataset(X, y, np.array(qid), doc_ids=docs)


@settings(max_examples=200, deadline=None)
@given(dataset=datasets(), zero_based=st.booleans())
def test_any_data_set_comes_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, dataset: Dataset, zero_based: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "round_trip.txt"
    # Without any feature there is no index to tell the base.
    demanded = True if zero_based and dataset.n_features == 0 else None
    assert_comes_back(dataset, path, zero_based=zero_based, read_zero_based=demanded)


# ---- all or nothing ----


def refusal(dataset: Dataset, path: Path) -> str:
    with pytest.raises(DataError) as caught:
        write_letor(dataset, path)
    return str(caught.value)


@pytest.mark.parametrize("qid", ["", "a b", "a\tb", "a\r", "a\nb", "a#b"])
def test_a_qid_that_would_not_read_back_is_refused(tmp_path: Path, qid: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    assert refusal(small(qid=["ok", qid]), path) == (
        f"{path}, qid: query ids must have neither blanks nor '#' in LETOR text, but one is "
        f"{qid!r}."
    )
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("doc", ["a\nb", "a\rb", " a", "a\t", "docid = a", "docid=a b"])
def test_a_doc_id_that_would_not_read_back_is_refused(tmp_path: Path, doc: str) -> None:
    path = tmp_path / "a.txt"
    assert refusal(small(doc_ids=["ok", doc]), path) == (
        f"{path}, doc_id: document ids must be one line without outer blanks or 'docid =' in "
        f"LETOR text, but one is {doc!r}."
    )
    assert os.listdir(tmp_path) == []


def test_missing_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "none" / "of" / "these" / "a.txt"
    write_letor(small(), path)
    assert read_letor(path).n_docs == small().n_docs


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.mkdir()
    assert refusal(small(), path) == f"{path}: cannot be written: Is a directory."
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    path = tmp_path / "a.txt"
    assert refusal(small(), path) == f"{path}: cannot be written: Permission denied."


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a.zst"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["disk", "stop"])
def test_nothing_is_left_when_writing_fails_midway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException
) -> None:
    path = tmp_path / name
    path.write_text("old")
    format_sparse: Callable[..., bytes] = _kernels.format_sparse
    calls = []

    def fail_second_time(*arguments: Any) -> bytes:
        calls.append(1)
        if len(calls) == 2:
            assert len(os.listdir(tmp_path)) == 2  # it is being written
            raise error
        return format_sparse(*arguments)

    monkeypatch.setattr(_kernels, "format_sparse", fail_second_time)
    X = sp.csr_array((70_000, 3))  # two portions
    seen = DataError if isinstance(error, OSError) else type(error)
    with pytest.raises(seen):
        write_letor(Dataset(X, np.zeros(70_000)), path)
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == [name]


def test_an_old_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old " * 1000)
    write_letor(small(), path)
    assert path.read_text(encoding="utf-8") == "1 qid:7 1:0.5 2:1\n0 qid:7 1:2 2:0\n"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX modes")
def test_a_file_gets_the_mode_that_the_umask_grants(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda i: write_letor(small(), tmp_path / f"{i}.txt"), range(20)))
    finally:
        left = os.umask(before)
    assert left == 0o027
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {0o640}


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs /dev/null")
def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    write_letor(small(), link)
    assert stat.S_ISCHR(link.stat().st_mode)
    assert os.listdir(tmp_path) == ["null"]


def test_atomic_writing_shows_nothing_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with writing.write_atomically(path) as out:
        out.write(b"half")
        out.flush()
        assert not path.exists()
    assert path.read_bytes() == b"half"
