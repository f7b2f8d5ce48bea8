"""Streaming LETOR text: whole queries, in bounded memory, the same rows as reading at once."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwright.data.dataset import Dataset
from rankwright.data.letor import read_letor, stream
from rankwright.exceptions import DataError, DataWarning

Store = Callable[..., Path]
SIZES = [3, 1, 4, 1, 5, 2, 6]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Write text to a file."""

    def write(text: str | bytes, name: str = "data.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def queries(sizes: list[int], prefix: str = "") -> str:
    rng = np.random.default_rng(len(sizes))
    rows = []
    for query, size in enumerate(sizes):
        for row in range(size):
            x = rng.normal(size=3)
            rows.append(f"{row} qid:{prefix}{query} 1:{x[0]} 2:{x[1]} 3:{x[2]} # d{query}-{row}")
    return "\n".join(rows) + "\n"


def assert_joined(pieces: list[Dataset], whole: Dataset) -> None:
    """Check that the pieces, one behind the other, are the whole."""
    assert {piece.is_sparse for piece in pieces} == {whole.is_sparse}
    assert {piece.n_features for piece in pieces} == {whole.n_features}
    assert {piece.X.dtype for piece in pieces} == {whole.X.dtype}
    assert {piece.qid.dtype.kind for piece in pieces} == {whole.qid.dtype.kind}
    if whole.is_sparse:
        X: Any = sp.vstack([piece.X for piece in pieces], format="csr")
        assert X.data.tobytes() == whole.X.data.tobytes()
        assert X.indices.tolist() == whole.X.indices.tolist()
        assert X.indptr.tolist() == whole.X.indptr.tolist()
    else:
        X = np.concatenate([piece.X for piece in pieces])
        assert X.tobytes() == whole.X.tobytes()
    assert np.concatenate([piece.y for piece in pieces]).tolist() == whole.y.tolist()
    assert [qid for piece in pieces for qid in piece.qid.tolist()] == whole.qid.tolist()
    if whole.doc_ids is not None:
        docs = [piece.doc_ids for piece in pieces if piece.doc_ids is not None]
        assert np.concatenate(docs).tolist() == whole.doc_ids.tolist()


def fault(pieces: Iterator[Dataset]) -> str:
    with pytest.raises(DataError) as caught:
        list(pieces)
    return str(caught.value)


def set_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    raw: Any = io.BytesIO(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))


@pytest.mark.parametrize("n_queries", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("block_bytes", [1, 50, 200, 1 << 20])
def test_pieces_hold_whole_queries_as_many_as_asked(
    store: Store, n_queries: int, block_bytes: int
) -> None:
    path = store(queries(SIZES))
    pieces = list(stream(path, n_queries, block_bytes=block_bytes, doc_ids=True))
    full, rest = divmod(len(SIZES), n_queries)
    assert [piece.n_queries for piece in pieces] == [n_queries] * full + [rest] * (rest > 0)
    assert [size for piece in pieces for size in piece.groups.sizes] == SIZES
    assert_joined(pieces, read_letor(path, doc_ids=True))


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_options_are_those_of_reading(store: Store, dense: bool, dtype: Any) -> None:
    path = store(queries(SIZES, "q"))
    options: dict[str, Any] = {"dense": dense, "dtype": dtype, "n_features": 5, "doc_ids": True}
    pieces = list(stream(path, 2, block_bytes=100, **options))
    assert_joined(pieces, read_letor(path, **options))


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=9),
    n_queries=st.integers(1, 10),
    block_bytes=st.integers(1, 300),
)
def test_any_cut_gives_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], n_queries: int, block_bytes: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "stream.txt"
    path.write_text(queries(sizes))
    assert_joined(list(stream(path, n_queries, block_bytes=block_bytes)), read_letor(path))


@pytest.mark.parametrize(
    "compress", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gz", "zst"]
)
def test_compressed_files_are_streamed(store: Store, compress: Callable[[bytes], bytes]) -> None:
    text = queries(SIZES)
    pieces = list(stream(store(compress(text.encode()), "packed"), 2, block_bytes=64))
    assert_joined(pieces, read_letor(store(text)))


@pytest.mark.parametrize("wrap", [bytes, gzip.compress], ids=["plain", "gz"])
def test_standard_input_is_streamed(
    store: Store, monkeypatch: pytest.MonkeyPatch, wrap: Callable[[bytes], bytes]
) -> None:
    text = queries(SIZES)
    set_stdin(monkeypatch, wrap(text.encode()))
    assert_joined(list(stream("-", 2, block_bytes=100)), read_letor(store(text)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_streamed_though_it_cannot_be_read_twice(
    store: Store, tmp_path: Path
) -> None:
    text = queries(SIZES)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=[text])
    writer.start()
    pieces = list(stream(pipe, 2, block_bytes=100))
    writer.join()
    assert_joined(pieces, read_letor(store(text)))


def test_all_pieces_have_the_features_of_the_whole_file(store: Store) -> None:
    text = "1 qid:1 1:1\n" * 5 + "1 qid:2 1:1 4:4\n"
    pieces = list(stream(store(text), 1, block_bytes=12))
    assert [piece.X.shape for piece in pieces] == [(5, 4), (1, 4)]


def test_all_pieces_have_the_form_that_suits_the_whole_file(store: Store) -> None:
    text = "1 qid:1 1:1 2:2\n0 qid:2 100:1\n"
    assert [piece.is_sparse for piece in stream(store(text), 1, block_bytes=1)] == [True, True]


def test_all_pieces_have_qids_of_one_type(store: Store) -> None:
    text = "1 qid:1 1:1\n1 qid:2 1:1\n1 qid:b 1:1\n"
    pieces = list(stream(store(text), 1, block_bytes=1))
    assert [piece.qid.tolist() for piece in pieces] == [["1"], ["2"], ["b"]]


def test_an_index_zero_at_the_end_makes_all_pieces_zero_based(store: Store) -> None:
    text = "1 qid:1 1:1\n1 qid:2 1:5 0:1 2:3\n"
    pieces = list(stream(store(text), 1, block_bytes=1))
    assert [piece.X.tolist() for piece in pieces] == [[[0, 1, 0]], [[1, 5, 3]]]


def test_indices_need_not_increase(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "1 qid:1 3:3 5:5 2:2\n0 qid:2 1:1\n"
    expected = [[[0, 2, 3, 0, 5]], [[1, 0, 0, 0, 0]]]
    assert [piece.X.tolist() for piece in stream(store(text), 1)] == expected
    set_stdin(monkeypatch, text.encode())
    assert [piece.X.tolist() for piece in stream("-", 1, dense=True)] == expected


def test_pieces_do_not_share_memory(store: Store) -> None:
    first, second = stream(store(queries([2, 2])), 1)
    assert first.X.base is None
    assert second.y.base is None


def test_memory_is_bounded_by_the_block_not_by_the_file(store: Store) -> None:
    path = store(queries([10] * 600))  # 6000 rows
    whole = read_letor(path)
    list(stream(path, 5, block_bytes=1 << 14))  # warm up
    tracemalloc.start()
    try:
        n_docs = sum(piece.n_docs for piece in stream(path, 5, block_bytes=1 << 14, n_jobs=1))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n_docs == whole.n_docs
    text_bytes = path.stat().st_size
    assert text_bytes > 400_000
    assert peak < text_bytes / 2


def test_an_unfinished_stream_closes_its_file(store: Store) -> None:
    pieces = stream(store(queries(SIZES)), 1, block_bytes=10)
    assert next(pieces).n_queries == 1
    del pieces  # an open file would be a ResourceWarning, hence an error


def test_a_file_without_qids_is_one_query_and_warns_once(store: Store) -> None:
    path = store("1 1:1\n" * 50)
    with pytest.warns(DataWarning) as caught:
        pieces = list(stream(path, 1, block_bytes=20))
    message = f"{path}: no line has a qid, so all documents are taken as one query."
    assert [str(warning.message) for warning in caught] == [message]
    assert [piece.n_docs for piece in pieces] == [50]


# ---- faults ----


@pytest.mark.parametrize("ids", ["121", "aba", "1b1"])
@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
@pytest.mark.parametrize("n_queries", [1, 100])
def test_a_query_that_comes_again_is_refused(
    store: Store, ids: str, block_bytes: int, n_queries: int
) -> None:
    path = store("".join(f"1 qid:{name} 1:1\n" for name in ids))
    name = int(ids[0]) if ids.isdigit() else ids[0]
    message = (
        f"the rows of a query must be adjacent to be streamed, but query {name!r} comes again "
        "after others. Sort the file by query, or read it whole."
    )
    assert fault(stream(path, n_queries, block_bytes=block_bytes)) == f"{path}, qid: {message}"


def test_a_query_that_comes_again_is_refused_even_as_another_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The first block of standard input has integers only.
    set_stdin(monkeypatch, b"1 qid:1 1:1\n1 qid:2 1:1\n1 qid:b 1:1\n1 qid:1 1:1\n")
    assert "but query '1' comes again" in fault(stream("-", 1, block_bytes=1))


@pytest.mark.parametrize("block_bytes", [1, 30, 1 << 20])
def test_a_fault_names_file_line_and_field(store: Store, block_bytes: int) -> None:
    path = store("# note\n\n" + "1 qid:1 1:1\n" * 7 + "1 qid:2 1:x\n")
    message = f"{path}, line 10, feature 1: must have a number as its value, but is '1:x'."
    assert fault(stream(path, block_bytes=block_bytes)) == message


def test_pieces_before_a_fault_are_delivered(store: Store) -> None:
    pieces = stream(store("1 qid:1 1:1\n1 qid:2 1:1\n1 qid:3 1:x\n"), 1, block_bytes=1)
    assert next(pieces).qid.tolist() == [1]


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_a_missing_qid_is_refused(store: Store, block_bytes: int) -> None:
    path = store("1 qid:1 1:1\n# note\n1 1:1\n")
    place = f"{path}, line 3, qid: every line must have qid:ID behind the label, or none"
    assert fault(stream(path, block_bytes=block_bytes)).startswith(place)


def test_a_qid_in_another_block_than_lines_without_is_refused_where_the_first_is_missing(
    store: Store,
) -> None:
    path = store("# note\n1 1:1\n1 1:1\n1 qid:1 1:1\n")
    with pytest.warns(DataWarning):
        message = fault(stream(path, block_bytes=1))
    assert message.startswith(f"{path}, line 2, qid: every line must have qid:ID behind the label")


def test_a_feature_beyond_the_first_block_of_standard_input_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_stdin(monkeypatch, b"1 qid:1 1:1\n1 qid:2 7:1\n")
    assert fault(stream("-", block_bytes=1)) == (
        "standard input, line 2, feature: indices must be at most 1, but the line has '7:1'. Fix "
        "the line, or pass a larger n_features."
    )
    set_stdin(monkeypatch, b"1 qid:1 1:1\n1 qid:2 7:1\n")
    pieces = stream("-", 1, block_bytes=1, n_features=7)
    assert [piece.n_features for piece in pieces] == [7, 7]


@pytest.mark.parametrize("name", ["data.txt", "-"])
def test_no_documents_are_refused(store: Store, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    set_stdin(monkeypatch, b"# nothing\n")
    path = name if name == "-" else store("# nothing\n", name)
    shown = "standard input" if name == "-" else str(path)
    message = f"{shown}: there must be at least one document, but there is none."
    assert fault(stream(path)) == message


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.txt"
    assert fault(stream(path)) == f"{path}: there is no such file."


def test_a_gz_file_that_is_cut_short_is_refused(store: Store) -> None:
    path = store(gzip.compress(queries(SIZES).encode())[:-20])
    assert fault(stream(path)).startswith(f"{path}: is damaged or cut short (")


@pytest.mark.parametrize("n_queries", [0, -1, True])
def test_the_number_of_queries_must_be_positive(store: Store, n_queries: int) -> None:
    message = rf"^n_queries must be a positive integer, but is {n_queries}\.$"
    with pytest.raises(ValueError, match=message):
        stream(store(queries(SIZES)), n_queries)
