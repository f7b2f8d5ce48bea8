"""Reading LETOR text: the format, its faults, and that the outcome is exact and always the same."""

from __future__ import annotations

import gzip
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwright import _kernels
from rankwright.data import lines as blocks_of_lines
from rankwright.data.dataset import Dataset
from rankwright.data.letor import read_letor
from rankwright.data.letor_rows import LetorRows, read_rows
from rankwright.data.letor_text import LetorFormat
from rankwright.data.lines import LineBlocks, Lines
from rankwright.exceptions import DataError, DataWarning
from tests.reference import letor as reference

Store = Callable[..., Path]
PLAIN = "2 qid:1 1:0.5 2:0.25\n0 qid:1 1:1 2:0.75\n1 qid:2 1:0.125 2:3\n"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Write text to a file."""

    def write(text: str | bytes, name: str = "data.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def bits(values: Any) -> bytes:
    """Return the bytes, so that -0.0 is not 0.0 and nan is nan."""
    return np.ascontiguousarray(values).tobytes()


def to_dense(X: Any) -> Any:
    """Return a dense matrix; ``toarray`` would add -0.0 to 0.0."""
    if not sp.issparse(X):
        return X
    full = np.zeros(X.shape, dtype=X.dtype)
    full[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices] = X.data
    return full


def assert_same(a: Dataset, b: Dataset) -> None:
    assert a.is_sparse == b.is_sparse
    assert a.X.dtype == b.X.dtype
    assert a.X.shape == b.X.shape
    if a.is_sparse:
        assert bits(a.X.indptr) == bits(b.X.indptr)
        assert bits(a.X.indices) == bits(b.X.indices)
        assert bits(a.X.data) == bits(b.X.data)
    else:
        assert bits(a.X) == bits(b.X)
    assert bits(a.y) == bits(b.y)
    assert a.qid.tolist() == b.qid.tolist()
    assert a.order.tolist() == b.order.tolist()
    assert (a.doc_ids is None) == (b.doc_ids is None)
    if a.doc_ids is not None and b.doc_ids is not None:
        assert a.doc_ids.tolist() == b.doc_ids.tolist()


def parse(text: bytes, how: LetorFormat, block_bytes: int = 1 << 20) -> LetorRows:
    """Parse text in blocks."""
    stream: Any = io.BytesIO(text)
    return read_rows(LineBlocks(how.path, stream, False, block_bytes, 1), how)


def fault(path: Path | str, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        read_letor(path, **options)
    return str(caught.value)


# ---- format ----


def test_labels_qids_and_features_are_read(store: Store) -> None:
    ds = read_letor(store(PLAIN))
    assert ds.y.tolist() == [2, 0, 1]
    assert ds.qid.tolist() == [1, 1, 2]
    assert ds.qid.dtype == np.int64
    assert ds.X.tolist() == [[0.5, 0.25], [1, 0.75], [0.125, 3]]
    assert ds.X.dtype == np.float32
    assert ds.doc_ids is None


def test_float64_is_read_on_request(store: Store) -> None:
    ds = read_letor(store("1 qid:1 1:0.1 2:1\n"), dtype="float64")
    assert ds.X.dtype == np.float64
    assert ds.X.tolist() == [[0.1, 1]]


def test_other_dtypes_are_refused(store: Store) -> None:
    with pytest.raises(ValueError, match=r"^dtype must be float32 or float64, but is 'int8'\.$"):
        read_letor(store(PLAIN), dtype="int8")


@pytest.mark.parametrize("width", [0, -1, True, 2.0])
def test_a_width_that_is_no_positive_integer_is_refused(store: Store, width: Any) -> None:
    with pytest.raises(ValueError, match=r"^n_features must be a positive integer or None, but is"):
        read_letor(store(PLAIN), n_features=width)


def test_comments_are_skipped(store: Store) -> None:
    ds = read_letor(store("1 qid:1 1:2 # 2:3 4:x\n0 qid:1 1:5#6:7\n"))
    assert ds.X.tolist() == [[2], [5]]


def test_doc_ids_are_kept_on_request(store: Store) -> None:
    text = (
        "1 qid:1 1:1 #docid = GX01-2 inc = 1 prob = 0.5\n"
        "0 qid:1 1:1 # docid=GX02\n"
        "0 qid:1 1:1 #\tsome words \r\n"
        "0 qid:1 1:1 # docid = \n"
        "0 qid:1 1:1 # docid\n"
        "0 qid:1 1:1 # docidx = 1\n"
        "0 qid:1 1:1 # a # b\n"
        "0 qid:1 1:1 #\n"
        "0 qid:1 1:1"
    )
    ds = read_letor(store(text), doc_ids=True)
    assert ds.doc_ids is not None
    expected = ["GX01-2", "GX02", "some words", "", "docid", "docidx = 1", "a # b", "", ""]
    assert ds.doc_ids.tolist() == expected


def test_string_qids_keep_their_text(store: Store) -> None:
    ds = read_letor(store("1 qid:007 1:1\n1 qid:7 1:1\n1 qid:été 1:1\n"))
    assert ds.qid.tolist() == ["007", "7", "été"]


@pytest.mark.parametrize("text", ["01", "-0", "+1", "1.0", "1e3", "9223372036854775808", "1\x002"])
def test_a_qid_that_is_not_the_usual_text_of_an_integer_is_a_string(
    store: Store, text: str
) -> None:
    assert read_letor(store(f"1 qid:5 1:1\n1 qid:{text} 1:1\n")).qid.tolist() == ["5", text]


def test_integer_qids_cover_all_of_int64(store: Store) -> None:
    ids = [-(2**63), -1, 0, 999999999999999999, 1000000000000000000, 2**63 - 1]
    ds = read_letor(store("".join(f"1 qid:{i} 1:1\n" for i in ids)))
    assert ds.qid.dtype == np.int64
    assert ds.qid.tolist() == ids


def test_qids_that_are_not_utf8_stay_different(store: Store) -> None:
    assert read_letor(store(b"1 qid:\xff 1:1\n1 qid:\xfe 1:1\n")).n_queries == 2


def test_rows_of_a_query_are_gathered(store: Store) -> None:
    ds = read_letor(store("1 qid:b 1:1\n2 qid:a 1:2\n3 qid:b 1:3\n"))
    assert ds.qid.tolist() == ["b", "b", "a"]
    assert ds.X.tolist() == [[1], [3], [2]]
    assert ds.order.tolist() == [0, 2, 1]


def test_a_file_without_qids_is_one_query_and_warns(store: Store) -> None:
    path = store("1 1:1\n0 1:2\n")
    with pytest.warns(DataWarning) as caught:
        ds = read_letor(path)
    message = f"{path}: no line has a qid, so all documents are taken as one query."
    assert [str(warning.message) for warning in caught] == [message]
    assert caught[0].filename == __file__
    assert ds.n_queries == 1


def test_missing_features_are_zero(store: Store) -> None:
    ds = read_letor(store("1 qid:1 2:5\n0 qid:1\n0 qid:1 1:1 3:2\n"), dense=True)
    assert ds.X.tolist() == [[0, 5, 0], [0, 0, 0], [1, 0, 2]]


def test_missing_trailing_features_are_zero(store: Store) -> None:
    ds = read_letor(store("1 qid:1 1:1 2:2 3:3\n0 qid:1 1:4\n"))
    assert ds.X.tolist() == [[1, 2, 3], [4, 0, 0]]


def test_a_given_width_adds_features_that_the_file_lacks(store: Store) -> None:
    ds = read_letor(store("1 qid:1 1:1 2:2\n"), n_features=4)
    assert ds.X.tolist() == [[1, 2, 0, 0]]


def test_a_given_width_may_be_an_integer_of_numpy(store: Store) -> None:
    width: Any = np.int64(3)
    assert read_letor(store("1 qid:1 1:1\n"), n_features=width).n_features == 3


def test_a_file_may_have_no_features(store: Store) -> None:
    assert read_letor(store("1 qid:1\n0 qid:1 # d\n")).X.shape == (2, 0)


def test_one_based_indices_start_at_the_first_column(store: Store) -> None:
    assert read_letor(store("1 qid:1 1:7 2:8\n")).X.tolist() == [[7, 8]]


def test_an_index_zero_makes_the_file_zero_based(store: Store) -> None:
    assert read_letor(store("1 qid:1 1:7 2:8\n0 qid:1 0:1\n")).X.tolist() == [[0, 7, 8], [1, 0, 0]]


def test_zero_based_can_be_demanded(store: Store) -> None:
    assert read_letor(store("1 qid:1 1:7 2:8\n"), zero_based=True).X.tolist() == [[0, 7, 8]]


@pytest.mark.parametrize("options", [{}, {"dense": False}, {"n_features": 6}])
def test_indices_need_not_increase(store: Store, options: dict[str, Any]) -> None:
    # The smallest and the largest index stand in the middle, where the first pass does not look.
    ds = read_letor(store("1 qid:1 3:3 5:5 0:9 2:2\n0 qid:1 4:4 1:1\n"), **options)
    assert to_dense(ds.X).tolist() == [[9, 0, 2, 3, 0, 5], [0, 1, 0, 0, 4, 0]]


def test_blank_lines_and_comment_lines_are_no_rows(store: Store) -> None:
    ds = read_letor(store("\n \t\n# note\n1 qid:1 1:1\n\n  # note 1:2\n0 qid:1 1:2\n\r\n"))
    assert ds.X.tolist() == [[1], [2]]


def test_crlf_lines_are_read_as_others(store: Store) -> None:
    unix = read_letor(store(PLAIN, "unix"))
    assert_same(unix, read_letor(store(PLAIN.replace("\n", "\r\n"), "dos")))


def test_the_final_newline_may_be_missing(store: Store) -> None:
    assert_same(read_letor(store(PLAIN, "a")), read_letor(store(PLAIN.rstrip("\n"), "b")))


def test_tabs_and_many_blanks_separate(store: Store) -> None:
    assert read_letor(store("  1\tqid:1 \t 1:1\t\t2:2  \n")).X.tolist() == [[1, 2]]


def test_exponents_and_signs_are_read(store: Store) -> None:
    texts = ["1e3", "1E-3", "+2.5e+2", "-2.5E2", ".5", "-.5", "5.", "+7", "-0", "-0.0e5"]
    entries = " ".join(f"{i}:{text}" for i, text in enumerate(texts, 1))
    ds = read_letor(store(f"+1.5e0 qid:-3 {entries}\n"), dtype=np.float64)
    assert bits(ds.X[0]) == bits([float(text) for text in texts])
    assert ds.y.tolist() == [1.5]
    assert ds.qid.tolist() == [-3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan_and_inf_are_read_if_allowed(store: Store, dtype: Any) -> None:
    text = "1 qid:1 1:nan 2:NaN 3:inf 4:-Infinity 5:+INF 6:-nan\n"
    ds = read_letor(store(text), allow_nan=True, dtype=dtype)
    inf = np.inf
    np.testing.assert_array_equal(ds.X[0], [np.nan, np.nan, inf, -inf, inf, np.nan])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_number_too_large_is_not_an_allowed_infinity(store: Store, dtype: Any) -> None:
    with pytest.raises(DataError, match="must fit float"):
        read_letor(store("1 qid:1 1:1e999\n"), allow_nan=True, dtype=dtype)


def test_numbers_too_small_become_zero_with_their_sign(store: Store) -> None:
    ds = read_letor(store("1 qid:1 1:1e-60 2:-1e-60 3:1e-999 4:-1e-999\n"))
    assert bits(ds.X[0]) == bits(np.array([0, -0.0, 0, -0.0], dtype=np.float32))


# ---- dense or sparse ----


def test_a_quarter_of_the_cells_makes_a_dense_matrix(store: Store) -> None:
    assert not read_letor(store("1 qid:1 4:1\n0 qid:1 1:1\n")).is_sparse


def test_less_than_a_quarter_of_the_cells_makes_a_sparse_matrix(store: Store) -> None:
    ds = read_letor(store("1 qid:1 5:1\n0 qid:1 1:1\n"))
    assert isinstance(ds.X, sp.csr_array)
    assert ds.X.toarray().tolist() == [[0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]


def test_the_form_can_be_demanded(store: Store) -> None:
    assert read_letor(store("1 qid:1 1:1 2:1\n"), dense=False).is_sparse
    assert not read_letor(store("1 qid:1 99:1\n"), dense=True).is_sparse


def test_zeros_that_are_written_are_stored(store: Store) -> None:
    X = read_letor(store("1 qid:1 1:0 3:2\n"), dense=False).X
    assert X.indices.tolist() == [0, 2]
    assert X.data.tolist() == [0, 2]


def test_the_largest_index_fits_a_sparse_matrix(store: Store) -> None:
    X = read_letor(store("1 qid:1 2147483646:3\n"), n_features=2**31 - 2).X
    assert X.shape == (1, 2**31 - 2)
    assert X.indices.tolist() == [2**31 - 3]


# ---- files ----


@pytest.mark.parametrize(
    "compress", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gz", "zst"]
)
@pytest.mark.parametrize("n_parts", [1, 3])
def test_compression_is_recognised_by_content(
    store: Store, compress: Callable[[bytes], bytes], n_parts: int
) -> None:
    parts = [compress(PLAIN.encode()) for _ in range(n_parts)]
    ds = read_letor(store(b"".join(parts), "no_suffix"))
    assert_same(ds, read_letor(store(PLAIN * n_parts)))


def test_a_plain_file_may_be_called_gz(store: Store) -> None:
    assert read_letor(store(PLAIN, "plain.gz")).n_docs == 3


@pytest.mark.parametrize(
    "compress", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gz", "zst"]
)
@pytest.mark.parametrize("kept", [0.4, 0.999])
def test_a_compressed_file_that_is_cut_short_is_refused(
    store: Store, compress: Callable[[bytes], bytes], kept: float
) -> None:
    rng = np.random.default_rng(0)
    rows = [f"1 qid:1 1:{value}\n" for value in rng.random(3000)]
    whole = compress("".join(rows).encode())
    path = store(whole[: int(kept * len(whole))])
    assert fault(path).startswith(f"{path}: is damaged or cut short (Compressed file ended before")


def test_a_damaged_gz_file_is_refused(store: Store) -> None:
    whole = bytearray(gzip.compress(PLAIN.encode()))
    whole[-8] ^= 1  # the checksum
    path = store(bytes(whole))
    assert fault(path).startswith(f"{path}: is damaged or cut short (CRC check failed")


def test_rubbish_behind_a_zst_frame_is_refused(store: Store) -> None:
    path = store(zstandard.ZstdCompressor().compress(PLAIN.encode()) + b"rubbish")
    assert fault(path).startswith(f"{path}: is damaged or cut short (")


@pytest.mark.parametrize(
    "wrap", [bytes, gzip.compress, zstandard.ZstdCompressor().compress], ids=["plain", "gz", "zst"]
)
def test_dash_is_standard_input(
    store: Store, monkeypatch: pytest.MonkeyPatch, wrap: Callable[[bytes], bytes]
) -> None:
    raw: Any = io.BytesIO(wrap(PLAIN.encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    assert_same(read_letor("-"), read_letor(store(PLAIN)))


def test_faults_in_standard_input_are_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    raw: Any = io.BytesIO(b"x 1:1\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    assert fault("-") == "standard input, line 1, label: must be a number, but is 'x'."


def test_a_pipe_and_a_redirected_file_work_as_standard_input(store: Store) -> None:
    code = (
        "from rankwright.data.letor import read_letor; import sys; "
        "sys.stdout.write(repr(read_letor('-').X.tolist()))"
    )
    command = [sys.executable, "-c", code]
    expected = repr(read_letor(store(PLAIN)).X.tolist()).encode()
    piped = subprocess.run(command, input=PLAIN.encode(), stdout=subprocess.PIPE, check=True)
    assert piped.stdout == expected
    with store(PLAIN).open("rb") as stream:
        redirected = subprocess.run(command, stdin=stream, stdout=subprocess.PIPE, check=True)
    assert redirected.stdout == expected


def test_blocks_of_a_compressed_file_are_put_together(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "# head\n" * 5 + "1 qid:a 1:1 # x\n0 qid:7 3:1\n" * 5 + "\n" * 20 + "1 qid:8 2:1 # y"
    plain, packed = store(text, "plain"), store(gzip.compress(text.encode()), "packed")
    for dense in (True, False):
        whole = read_letor(plain, doc_ids=True, dense=dense)
        for block_bytes in (1, 7, 64):
            monkeypatch.setattr(blocks_of_lines, "BLOCK_BYTES", block_bytes)
            assert_same(read_letor(packed, doc_ids=True, dense=dense), whole)


LATER: dict[str, tuple[str, dict[str, Any]]] = {
    "wider": ("1 qid:1 1:1 2:2\n" * 5 + "1 qid:1 7:1\n", {}),
    "wider_in_the_middle_of_a_line": ("1 qid:1 1:1 2:2\n" * 5 + "1 qid:1 1:1 9:9 2:2\n", {}),
    "zero_based": ("1 qid:1 1:1 2:2\n" * 5 + "1 qid:1 0:1\n", {}),
    "zero_based_and_sparse": ("1 qid:1 1:1 2:2\n" * 5 + "1 qid:1 0:1\n", {"dense": False}),
    "sparse": ("1 qid:1 1:1 4:4\n" + "1 qid:1\n" * 20, {}),
    "dense": ("1 qid:1 8:1\n" + "1 qid:1 1:1 2:2 3:3 4:4\n" * 20, {}),
    "texts": ("1 qid:1 1:1\n1 qid:2 1:1\n1 qid:b 1:1\n1 qid:3 1:1\n1 qid:-4 1:1\n", {}),
    "no_features_at_first": ("1 qid:1\n" * 5 + "1 qid:1 2:2\n", {}),
    "no_documents_at_first": ("# note\n\n" * 5 + "1 qid:1 2:2\n", {}),
    "more_in_the_end": ("1 qid:1 1:1                \n" * 5 + "1 qid:1 1:1\n" * 200, {}),
}


@pytest.mark.parametrize(("text", "options"), LATER.values(), ids=LATER)
@pytest.mark.parametrize("block_bytes", [1, 40])
@pytest.mark.parametrize("piped", [False, True])
def test_what_only_a_later_block_shows_holds_for_all(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    options: dict[str, Any],
    block_bytes: int,
    piped: bool,
) -> None:
    path = store(text)
    whole = read_letor(path, doc_ids=True, **options)
    monkeypatch.setattr(blocks_of_lines, "BLOCK_BYTES", block_bytes)
    raw: Any = io.BytesIO(text.encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    again = read_letor("-" if piped else path, doc_ids=True, **options)
    assert_same(again, whole)
    assert again.qid.dtype == whole.qid.dtype
    if whole.is_sparse:
        assert again.X.indices.dtype == whole.X.indices.dtype


def test_lines_are_counted_across_blocks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_of_lines, "BLOCK_BYTES", 16)
    rows = "1 qid:1 1:1\n\n" * 10
    path = store(gzip.compress((rows + "1 qid:1 1:x\n").encode()))
    message = "line 21, feature 1: must have a number as its value, but is '1:x'."
    assert fault(path) == f"{path}, {message}"
    path = store(gzip.compress((rows + "# note\n1 1:1\n").encode()))
    assert fault(path).startswith(f"{path}, line 22, qid: every line must have qid:ID")


# ---- faults: every message in full ----

FAULTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "label": (
        "1 qid:1 1:1\n\n# note\nx qid:1 1:1\n",
        {},
        "line 4, label: must be a number, but is 'x'.",
    ),
    "label_with_rubbish": ("1x qid:1\n", {}, "line 1, label: must be a number, but is '1x'."),
    "label_is_an_entry": ("1:1 2:1\n", {}, "line 1, label: must be a number, but is '1:1'."),
    "label_is_long": (
        "x" * 1000,
        {},
        f"line 1, label: must be a number, but is '{'x' * 60}'.",
    ),
    "label_nan": ("nan qid:1\n", {}, "line 1, label: must be finite, but is 'nan'."),
    "label_nan_even_if_features_may_be": (
        "inf qid:1\n",
        {"allow_nan": True},
        "line 1, label: must be finite, but is 'inf'.",
    ),
    "label_overflow": ("1e999 qid:1\n", {}, "line 1, label: must be finite, but is '1e999'."),
    "qid_empty": (
        "1 qid: 1:1\n",
        {},
        "line 1, qid: must be qid:ID, once, behind the label, but is 'qid:'.",
    ),
    "qid_twice": (
        "1 qid:1 qid:2 1:1\n",
        {},
        "line 1, qid: must be qid:ID, once, behind the label, but is 'qid:2'.",
    ),
    "qid_misplaced": (
        "1 qid:1 1:1\n1 1:1 qid:1\n",
        {},
        "line 2, qid: every line must have qid:ID behind the label, or none; other lines have it, "
        "this one has not.",
    ),
    "qid_behind_features": (
        "1 1:1 qid:1\n",
        {},
        "line 1, qid: must be qid:ID, once, behind the label, but is 'qid:1'.",
    ),
    "qid_missing_first": (
        "# note\n1 1:1\n0 qid:1 1:1\n",
        {},
        "line 2, qid: every line must have qid:ID behind the label, or none; other lines have it, "
        "this one has not.",
    ),
    "entry_without_colon": (
        "1 qid:1 1:1 2\n",
        {},
        "line 1, feature: must be index:value, but is '2'.",
    ),
    "entry_without_index": (
        "1 qid:1 :1\n",
        {},
        "line 1, feature: must be index:value, but is ':1'.",
    ),
    "entry_with_negative_index": (
        "1 qid:1 -1:1\n",
        {},
        "line 1, feature: must be index:value, but is '-1:1'.",
    ),
    "entry_with_name": (
        "1 qid:1 a:1\n",
        {},
        "line 1, feature: must be index:value, but is 'a:1'.",
    ),
    "entry_in_other_encoding": (
        "1 qid:1 \udcff:1\n",
        {},
        "line 1, feature: must be index:value, but is '\ufffd:1'.",
    ),
    "index_beyond_width": (
        "1 qid:1 1:1 3:1\n",
        {"n_features": 2},
        "line 1, feature: indices must be at most 2, but the line has '3:1'. Fix the line, or pass "
        "a larger n_features.",
    ),
    "zero_based_index_beyond_width": (
        "1 qid:1 0:1 2:1\n",
        {"n_features": 2},
        "line 1, feature: indices must be at most 1, but the line has '2:1'. Fix the line, or pass "
        "a larger n_features.",
    ),
    "index_beyond_31_bits": (
        "1 qid:1 1:1\n1 qid:1 2147483647:1\n",
        {},
        "line 2, feature: indices must be at most 2147483646, but the line has '2147483647:1'. Fix "
        "the line.",
    ),
    "index_beyond_64_bits": (
        "1 qid:1 99999999999999999999:1\n",
        {},
        "line 1, feature: indices must be at most 2147483646, but the line has "
        "'99999999999999999999:1'. Fix the line.",
    ),
    "index_zero": (
        "1 qid:1 1:1\n1 qid:1 0:1\n",
        {"zero_based": False},
        "line 2, feature: indices must start at 1, but the line has '0:1'. Pass zero_based=True if "
        "the file counts from 0.",
    ),
    "value": (
        "1 qid:1 1:1 2:y\n",
        {},
        "line 1, feature 2: must have a number as its value, but is '2:y'.",
    ),
    "value_missing": (
        "1 qid:1 1: 2:1\n",
        {},
        "line 1, feature 1: must have a number as its value, but is '1:'.",
    ),
    "value_twice": (
        "1 qid:1 1:1:1\n",
        {},
        "line 1, feature 1: must have a number as its value, but is '1:1:1'.",
    ),
    "value_with_comma": (
        "1 qid:1 1:0,5\n",
        {},
        "line 1, feature 1: must have a number as its value, but is '1:0,5'.",
    ),
    "value_nan": (
        "1 qid:1 12:nan\n",
        {},
        "line 1, feature 12: must be finite, but is '12:nan'. Fix the line, or "
        "allow missing values (allow_nan=True; --missing median).",
    ),
    "value_inf": (
        "1 qid:1 0:-inf\n",
        {},
        "line 1, feature 0: must be finite, but is '0:-inf'. Fix the line, or allow missing values "
        "(allow_nan=True; --missing median).",
    ),
    "value_overflow": (
        "1 qid:1 1:1e39\n",
        {},
        "line 1, feature 1: must fit float32, but is '1:1e39'. Scale it, or pass dtype='float64'.",
    ),
    "value_overflow_without_digit_in_front": (
        "1 qid:1 1:-.5e40\n",
        {},
        "line 1, feature 1: must fit float32, but is '1:-.5e40'. Scale it, or pass "
        "dtype='float64'.",
    ),
    "value_overflow_of_float64": (
        "1 qid:1 1:1e309\n",
        {"dtype": "float64"},
        "line 1, feature 1: must fit float64, but is '1:1e309'. Scale it.",
    ),
    "duplicate": (
        "1 qid:1 1:1 2:2\n1 qid:1 1:1 2:2 1:3\n",
        {},
        "line 2, feature 1: must occur once in a line, but occurs twice.",
    ),
    "duplicate_neighbours": (
        "1 qid:1 3:1 3:1\n",
        {},
        "line 1, feature 3: must occur once in a line, but occurs twice.",
    ),
}


@pytest.mark.parametrize("dense", [True, False, None])
@pytest.mark.parametrize(("text", "options", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_names_file_line_and_field(
    store: Store, text: str, options: dict[str, Any], message: str, dense: bool | None
) -> None:
    if "2147483646" in message:
        dense = False  # a dense matrix of that width would need gigabytes
    path = store(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError) as caught:
        read_letor(path, dense=dense, **options)
    error = caught.value
    assert str(error) == f"{path}, {message}"
    place, _, rest = message.partition(": ")
    assert (error.path, error.message) == (str(path), rest)
    assert f"line {error.line}, {error.field}" == place


def test_the_first_fault_in_file_order_is_reported(store: Store) -> None:
    lines = [f"1 qid:1 1:{i}" for i in range(300)]
    for i in (299, 250, 120, 121):
        lines[i] = f"bad{i} qid:1 1:1"
    path = store("\n".join(lines))
    for n_jobs in (1, 2, 8):
        assert fault(path, n_jobs=n_jobs).startswith(f"{path}, line 121, label")


def test_a_file_without_documents_is_refused(store: Store) -> None:
    for text in ("", "\n", "# nothing\n"):
        path = store(text)
        assert fault(path) == f"{path}: there must be at least one document, but there is none."


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.txt"
    assert fault(path) == f"{path}: there is no such file."


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert fault(tmp_path) == f"{tmp_path}: must be a file, but is a folder."


def test_a_path_through_a_file_is_refused(store: Store) -> None:
    path = store(PLAIN) / "data.txt"
    assert fault(path) == f"{path}: cannot be read: Not a directory."


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_file_that_may_not_be_read_is_refused(store: Store) -> None:
    path = store(PLAIN)
    path.chmod(0)
    assert fault(path) == f"{path}: may not be read: permission denied."


def test_a_parquet_file_under_another_name_is_refused(store: Store) -> None:
    path = store(b"PAR1....")
    assert fault(path) == f"{path}: is a Parquet file. Name it *.parquet."


def test_a_dense_matrix_beyond_memory_is_refused(store: Store) -> None:
    path = store("1 qid:1 1:1\n")
    message = (
        "a dense matrix of 1 x 1000000000000000 needs 3725290 GiB, more than there is. "
        "Pass dense=False."
    )
    assert fault(path, dense=True, n_features=10**15) == f"{path}: {message}"


# ---- exactness ----


def decimal_text(value: Fraction) -> str:
    """Return a fraction whose denominator is a power of two, in full."""
    with localcontext() as context:
        context.prec = 1200
        return format(Decimal(value.numerator) / Decimal(value.denominator), "f")


def hard_decimals(rng: np.random.Generator) -> list[str]:
    """Return decimals halfway between two float32, next to halfway, denormal, long and short."""
    patterns = rng.integers(0, 0x7F7FFFFF, 300, dtype=np.uint32)  # finite, positive
    patterns[:100] >>= 8  # denormal and tiny
    texts = []
    for low in patterns.view(np.float32):
        high = np.nextafter(low, np.float32(np.inf))
        middle = decimal_text((Fraction(float(low)) + Fraction(float(high))) / 2)
        point = "" if "." in middle else "."
        above = f"{middle}{point}{'0' * 30}1"
        below = str(Decimal(decimal_text(Fraction(float(low)))))  # exactly representable
        texts += [middle, f"-{middle}", above, below]
    for _ in range(1500):
        digits = "".join(map(str, rng.integers(0, 10, rng.integers(1, 25))))
        place = int(rng.integers(0, len(digits) + 1))
        exponent = f"e{rng.integers(-50, 38 - place)}" if rng.random() < 0.5 else ""
        sign = rng.choice(["", "-", "+"])
        texts.append(f"{sign}{digits[:place]}.{digits[place:]}{exponent}")
    return texts


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_value_is_the_float_nearest_to_its_text(store: Store, dtype: Any) -> None:
    texts = hard_decimals(np.random.default_rng(5))
    path = store("".join(f"1 qid:1 1:{text}\n" for text in texts))
    X = read_letor(path, dtype=dtype).X[:, 0]
    expected = np.array([reference.nearest(text, dtype) for text in texts])
    wrong = np.flatnonzero(X.view(f"u{X.itemsize}") != expected.view(f"u{X.itemsize}"))
    assert [texts[i] for i in wrong] == []


def test_every_label_is_the_double_nearest_to_its_text(store: Store) -> None:
    texts = hard_decimals(np.random.default_rng(6))
    ds = read_letor(store("".join(f"{text} qid:1 1:1\n" for text in texts)))
    assert bits(ds.y) == bits([float(text) for text in texts])


NUMBERS = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(str),
    st.integers(-(10**12), 10**12).map(str),
    st.from_regex(r"[+-]?[0-9]{1,10}\.[0-9]{0,10}([eE][+-]?[0-9])?", fullmatch=True),
)
BLANK = st.sampled_from([" ", "  ", "\t", " \t"])


@st.composite
def lines(draw: st.DrawFn) -> str:
    """Draw a line: a document in some spelling, or blanks, or a comment."""
    ending = draw(st.sampled_from(["", " ", "\r", " #", "# docid = D-1 x", " # two words \t"]))
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(["", " \t"])) + ending
    indices = draw(st.lists(st.integers(1, 12), unique=True, max_size=8))
    entries = [f"{index}:{draw(NUMBERS)}" for index in indices]
    qid = draw(st.sampled_from(["1", "2", "-7", "a", "01"]))
    return draw(BLANK).join([draw(NUMBERS), f"qid:{qid}", *entries]) + ending


@settings(max_examples=150, deadline=None)
@given(
    st.lists(lines(), min_size=1, max_size=12),
    lines(),
    st.integers(1, 40),
    st.sampled_from([1, 50, 100, 1 << 20]),
    st.booleans(),
)
def test_any_text_reads_as_its_slow_twin_reads_it(
    drawn: list[str], last: str, chunk_bytes: int, block_bytes: int, dense: bool
) -> None:
    text = "\n".join([*drawn, "0 qid:1 12:1", last])
    expected = reference.read(text)
    how = LetorFormat("text", dense=dense, doc_ids=True, n_jobs=2, chunk_bytes=chunk_bytes)
    rows = parse(text.encode(), how, block_bytes)
    assert bits(to_dense(rows.X)) == bits(expected.X)
    assert bits(rows.y) == bits(expected.y)
    assert [str(qid) for qid in rows.qid.tolist()] == expected.qid
    assert rows.doc_ids is not None
    assert rows.doc_ids.tolist() == expected.doc_ids


def plain_decimals(rng: np.random.Generator, n: int) -> list[str]:
    """Return decimals of a few digits, of which files are full, and some just beyond that."""
    texts = []
    for _ in range(n):
        n_digits, n_behind = int(rng.integers(1, 17)), int(rng.integers(0, 10))
        digits = "".join(map(str, rng.integers(0, 10, n_digits)))
        head, tail = digits[: max(n_digits - n_behind, 0)], digits[max(n_digits - n_behind, 0) :]
        texts.append(f"{rng.choice(['', '', '-'])}{head or '0'}{'.' if tail else ''}{tail}")
    midpoints = ["16777217", "-33554435", "8388608.5", "4194304.25", "0.50000003", "2097152.125"]
    return ["0", "-0", "-0.0", "7", *midpoints, *texts]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("blank", [" ", "\t"])
@pytest.mark.parametrize("gaps", [False, True])
def test_long_rows_of_plain_decimals_are_read_exactly(
    dtype: Any, dense: bool, blank: str, gaps: bool
) -> None:
    rng = np.random.default_rng(7)
    texts = plain_decimals(rng, 3000)
    short = [text for text in texts if len(text) < 15]
    rows = [list(rng.choice(short, 300)) for _ in range(30)] + [texts[i::9] for i in range(9)]
    expected = np.zeros((len(rows), 800), dtype=dtype)
    lines = []
    for x, row in zip(expected, rows, strict=True):
        columns = np.sort(rng.choice(800, len(row), False)) if gaps else np.arange(len(row))
        x[columns] = [reference.nearest(text, dtype) for text in row]
        entries = [f"{c + 1}:{text}" for c, text in zip(columns, row, strict=True)]
        lines.append(blank.join(["1", "qid:1", *entries]))
    for instructions in _kernels.instruction_sets():
        how = LetorFormat("text", dense, dtype, n_features=800, instructions=instructions)
        assert bits(to_dense(parse("\n".join(lines).encode(), how).X)) == bits(expected)


# What a batch of entries must leave to those who read one at a time, behind twenty good entries.
NOT_PLAIN = [
    *("21:5#22:6", "21:5 #22:6", "21:5\r22:6", "21:5\r", "21:5\n22:6 qid:1 1:2", "21:5  22:6"),
    *("21:", "21:-", "21:.", "21:5.", "21:.5", "21:+5", "21:--5", "21:1.2.3", "21:1-2", "21:5\x00"),
    *("21:1e5", "21:nan", "21:123456789012345", "21:1234567890123456", "21:0.123456789", "20:1"),
    *("3:1", "41:1", "2147483648:1", "21:5 21:6", "21 22:6", "21::5", "x:5", ":5", "\x0122:6"),
]


@pytest.mark.parametrize("odd", NOT_PLAIN)
@pytest.mark.parametrize("dense", [True, False])
def test_what_follows_a_batch_is_read_or_refused_alike(odd: str, dense: bool) -> None:
    good = "1 qid:1 " + " ".join(f"{j}:{j}.25" for j in range(1, 21))
    rest = " ".join(f"{j}:{j}.5" for j in range(23, 40))

    def outcome(instructions: str) -> Any:
        how = LetorFormat("text", dense, n_features=40, instructions=instructions)
        try:
            rows = parse(f"{good}\n{good} {odd} {rest}\n{good}\n".encode(), how)
        except DataError as error:
            return str(error)
        return bits(to_dense(rows.X)), bits(rows.y)

    *vectors, portable = map(outcome, _kernels.instruction_sets())
    assert vectors == [portable] * len(vectors)


# ---- always the same ----


def sample_text(n_rows: int = 400) -> str:
    rng = np.random.default_rng(1)
    rows = []
    for row in range(n_rows):
        columns = np.flatnonzero(rng.random(30) < 0.3) + 1
        if row % 7 == 0:
            rng.shuffle(columns)
        entries = " ".join(f"{column}:{rng.normal():.9g}" for column in columns)
        rows.append(f"{row % 5} qid:q{row // 9} {entries} # d{row}")
    return "\n".join(rows)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_and_chunks_do_not_change_a_bit(dense: bool, dtype: Any) -> None:
    text = sample_text().encode()

    def outcome(n_jobs: int, chunk_bytes: int, instructions: str = "") -> list[bytes]:
        how = LetorFormat(
            *("text", dense, dtype),
            doc_ids=True,
            n_jobs=n_jobs,
            chunk_bytes=chunk_bytes,
            instructions=instructions,
        )
        rows = parse(text, how)
        parts = [rows.X] if dense else [rows.X.data, rows.X.indices, rows.X.indptr]
        return [bits(part) for part in (*parts, rows.y, rows.qid, rows.doc_ids)]

    expected = outcome(1, 1 << 20)
    for n_jobs in (1, 2, 8):
        for chunk_bytes in (1, 17, 1000, 1 << 20):
            assert outcome(n_jobs, chunk_bytes) == expected
    for instructions in _kernels.instruction_sets():
        assert outcome(1, 1 << 20, instructions) == expected


@pytest.mark.parametrize("n_jobs", [1, 2, 8])
@pytest.mark.parametrize("chunk_bytes", [1, 20, 1 << 20])
def test_threads_and_chunks_do_not_change_the_fault(n_jobs: int, chunk_bytes: int) -> None:
    # What comes behind the fault, qids for instance, must not count.
    text = "1 1:1\n" * 5 + "1 1:x\n" + "1 qid:1 1:1\ny\n" * 5
    how = LetorFormat("text", n_jobs=n_jobs, chunk_bytes=chunk_bytes)
    with pytest.raises(DataError) as caught:
        parse(text.encode(), how)
    message = "text, line 6, feature 1: must have a number as its value, but is '1:x'."
    assert str(caught.value) == message


def test_four_python_threads_may_read_at_once(store: Store) -> None:
    path = store(sample_text())
    expected = read_letor(path, n_jobs=1)
    with ThreadPoolExecutor(4) as pool:
        for ds in pool.map(lambda _: read_letor(path, n_jobs=3), range(40)):
            assert_same(ds, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_reads_after_its_parent_used_threads() -> None:
    code = """
import io, os, sys, warnings
from rankwright.data.letor_rows import LetorRows, read_rows
from rankwright.data.letor_text import LetorFormat
from rankwright.data.lines import LineBlocks, Lines

warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads is the point
how = LetorFormat("text", n_jobs=4, chunk_bytes=100)

def read():
    text = b"".join(b"%d qid:1 1:%d 2:0.5\\n" % (i % 3, i) for i in range(2000))
    return read_rows(LineBlocks("text", io.BytesIO(text), False, 1 << 20, 4), how).X.tobytes()

expected = read()
for _ in range(5):
    child = os.fork()
    if child == 0:
        os._exit(0 if read() == expected else 1)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("the child read something else")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
def test_a_signal_stops_reading_at_once() -> None:
    class Stop(Exception):  # noqa: N818 (no error)
        pass

    def stop(*_: object) -> None:
        raise Stop

    text = Lines.of(b"0\n" * (48 << 20))
    start = time.perf_counter()
    _kernels.LetorText(*text, 1)
    whole = time.perf_counter() - start

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, whole / 20)
        start = time.perf_counter()
        with pytest.raises(Stop):
            _kernels.LetorText(*text, 1)
        elapsed = time.perf_counter() - start
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert elapsed < 0.75 * whole  # about 0.1 seconds, if signals are looked at
