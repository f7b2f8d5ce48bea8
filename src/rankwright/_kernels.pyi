"""
Native kernels. Arguments are checked for shape only; see the Python callers.
"""

from collections.abc import Callable
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

def read_at(
    fd: int,
    offset: int,
    buffer: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> int:
    """
    Fill the buffer from a file; return how many bytes there are, fewer only at its end.
    """

class LetorOptions:
    def __init__(
        self,
        first_index: int,
        n_features: int,
        fixed_width: bool,
        allow_nan: bool,
        doc_ids: bool,
        longest_id: int,
        instructions: str = "",
    ) -> None: ...

class LetorText:
    """LETOR text after the first pass."""

    def __init__(
        self,
        padded: Annotated[
            NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        n_bytes: int,
        n_threads: int,
        chunk_bytes: int = 262144,
    ) -> None: ...
    @property
    def n_lines(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_entries(self) -> int: ...
    @property
    def min_index(self) -> int: ...
    @property
    def max_index(self) -> int: ...
    @property
    def has_qid(self) -> bool: ...
    @property
    def qid_is_integer(self) -> bool: ...
    @property
    def first_without_qid(self) -> int: ...
    def qids(
        self,
    ) -> tuple[bytes, Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")]]: ...
    def doc_ids(
        self,
    ) -> tuple[bytes, Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")]]: ...
    def scan_all_indices(self) -> None: ...
    def checksum(self) -> int: ...

    chunk_bytes: int = 262144

    @overload
    def parse_dense(
        self,
        X: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        qid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        options: LetorOptions,
    ) -> tuple[str, int, int, bytes] | None: ...
    @overload
    def parse_dense(
        self,
        X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        qid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        options: LetorOptions,
    ) -> tuple[str, int, int, bytes] | None: ...
    @overload
    def parse_sparse(
        self,
        data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        qid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        options: LetorOptions,
    ) -> tuple[str, int, int, bytes] | None: ...
    @overload
    def parse_sparse(
        self,
        data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        qid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        options: LetorOptions,
    ) -> tuple[str, int, int, bytes] | None: ...
    @overload
    def parse_sparse(
        self,
        data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        qid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        options: LetorOptions,
    ) -> tuple[str, int, int, bytes] | None: ...
    @overload
    def parse_sparse(
        self,
        data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        qid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        options: LetorOptions,
    ) -> tuple[str, int, int, bytes] | None: ...

def format_lines(
    values: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_threads: int,
) -> bytes:
    """Numbers as Python writes them, one in a line."""

@overload
def format_dense(
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    rows: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    y: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    query: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    qid_text: bytes,
    qid_offsets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    comment_text: bytes | None,
    comment_offsets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    first_index: int,
    n_threads: int,
) -> bytes: ...
@overload
def format_dense(
    X: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    rows: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    y: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    query: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    qid_text: bytes,
    qid_offsets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    comment_text: bytes | None,
    comment_offsets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    first_index: int,
    n_threads: int,
) -> bytes: ...
@overload
def format_sparse(
    data: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    rows: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    y: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    query: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    qid_text: bytes,
    qid_offsets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    comment_text: bytes | None,
    comment_offsets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    first_index: int,
    n_threads: int,
) -> bytes: ...
@overload
def format_sparse(
    data: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    rows: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    y: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    query: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    qid_text: bytes,
    qid_offsets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    comment_text: bytes | None,
    comment_offsets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    first_index: int,
    n_threads: int,
) -> bytes: ...
@overload
def format_sparse(
    data: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    rows: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    y: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    query: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    qid_text: bytes,
    qid_offsets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    comment_text: bytes | None,
    comment_offsets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    first_index: int,
    n_threads: int,
) -> bytes: ...
@overload
def format_sparse(
    data: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    rows: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    y: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    query: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    qid_text: bytes,
    qid_offsets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    comment_text: bytes | None,
    comment_offsets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    first_index: int,
    n_threads: int,
) -> bytes: ...

class Rows:
    """The rows of a feature matrix."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    def scores(
        self,
        begin: int,
        end: int,
        w: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...

@overload
def dense_rows(
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
) -> Rows: ...
@overload
def dense_rows(
    X: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
) -> Rows: ...
@overload
def sparse_rows(
    data: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_features: int,
) -> Rows: ...
@overload
def sparse_rows(
    data: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_features: int,
) -> Rows: ...
@overload
def sparse_rows(
    data: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_features: int,
) -> Rows: ...
@overload
def sparse_rows(
    data: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_features: int,
) -> Rows: ...
@overload
def largest_size(
    values: Annotated[NDArray[numpy.float32], dict(order="C", device="cpu", writable=False)],
    skip_nan: bool = False,
) -> float: ...
@overload
def largest_size(
    values: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu", writable=False)],
    skip_nan: bool = False,
) -> float: ...
@overload
def linear_scores(
    X: Rows,
    W: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu", writable=False)],
    b: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    out: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
    threads: int,
) -> bool: ...
@overload
def linear_scores(
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    W: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu", writable=False)],
    b: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    out: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
    threads: int,
) -> bool: ...
@overload
def linear_scores(
    X: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    W: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu", writable=False)],
    b: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    out: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
    threads: int,
) -> bool: ...
def use_avx2(use: bool) -> None:
    """
    For tests: whether kernels take the vector instructions that the machine has.
    """

@overload
def check_csr(
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_columns: int,
) -> tuple[int, bool]: ...
@overload
def check_csr(
    indices: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_columns: int,
) -> tuple[int, bool]: ...
def multiply(
    X: Rows,
    w: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
def multiply_transposed(
    X: Rows,
    g: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
def moments(
    X: Rows,
    g: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
def gram(
    X: Rows,
    g: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
def group_sums(
    X: Rows,
    rows: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    begin: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    g: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
def read_numbers(text: str) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """The numbers of a text, as doubles."""

def instruction_sets() -> list[str]:
    """
    Vector instructions of this processor that kernels know, the best first.
    """

class Walkers:
    """Documents with their sums over the trees so far."""

    def add(self, first: int, last: int) -> None: ...
    def sums(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...

class ForestScorer:
    """A forest, compiled for scoring."""

    def __init__(
        self,
        n_features: int,
        node_begin: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        leaf_begin: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        feature: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        missing: Annotated[
            NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        cut64: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        cut32: Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        left: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        right: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        leaf_value: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        set_begin: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        set_words: Annotated[
            NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        instructions: str = "",
    ) -> None: ...
    def scores(
        self, X: Rows, n_trees: int, threads: int
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def top(
        self,
        X: Rows,
        indptr: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        k: int,
        n_trees: int,
        added: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def contributions(
        self,
        X: Rows,
        node_begin: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        leaf_begin: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        left: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        right: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        node_count: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        leaf_count: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        leaf_value: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def walkers(self, X: Rows) -> Walkers: ...

def novelty_gains(
    begin: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    size: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    covering: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    before: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    discount: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    alpha: float,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """
    Gain of a subtopic in each block of tied documents that has some that cover it.
    """

def greedy_gains(
    documents: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    subtopics: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    discount: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    alpha: float,
    by_row: bool,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]:
    """
    Gain of each query's documents in the order that takes the best next one.
    """

class Rule:
    """Tie rule, value of undefined queries, threads."""

    def __init__(self, ties: str, empty: float, n_threads: int) -> None: ...

class Ranking:
    """Labels in the order of decreasing score, query by query."""

    def __init__(
        self,
        y: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        scores: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        indptr: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        depth: int,
        n_threads: int,
    ) -> None: ...
    @property
    def bad_score(self) -> int: ...
    @property
    def bad_label(self) -> int: ...
    @property
    def lowest_label(self) -> float: ...
    @property
    def highest_label(self) -> float: ...
    def dcg(
        self,
        k: int,
        exponential: bool,
        discount: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        rule: Rule,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def ndcg(
        self,
        k: int,
        exponential: bool,
        discount: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        short_is_zero: bool,
        rule: Rule,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def relevant_gain(
        self,
        k: int,
        threshold: float,
        discount: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        divide_by: str,
        rule: Rule,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def average_precision(
        self, k: int, threshold: float, denominator: str, rule: Rule
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def reciprocal_rank(
        self, k: int, threshold: float, rule: Rule
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def hit_rate(
        self, k: int, threshold: float, rule: Rule
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def r_precision(
        self,
        threshold: float,
        n_relevant: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        rule: Rule,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def bpref(
        self,
        threshold: float,
        n_relevant: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        n_irrelevant: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        rule: Rule,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def err(
        self, k: int, max_grade: float, rule: Rule
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def pairwise_error(
        self, rule: Rule
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def kendall_tau(
        self, corrected: bool, rule: Rule
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def domination_error(
        self, rule: Rule
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def dominated_error(
        self, rule: Rule
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...

class Layers:
    """Documents of each query by increasing label."""

    def __init__(
        self,
        y: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        indptr: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        n_threads: int,
    ) -> None: ...
    @property
    def n_layers(self) -> int: ...
    @property
    def rows(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")]: ...
    @property
    def begin(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")]: ...
    @property
    def first_layer(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")]: ...
    @property
    def labels(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def ndcg_weights(
        self,
        k: int,
        discount: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        shared: bool,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def map_weights(
        self, threshold: float, shared: bool
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def slam(
        self,
        scores: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        v: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        margin: float,
        n_threads: int,
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    ]: ...
    def domination(
        self,
        margins: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        constant: float,
        between: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        level: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        n_threads: int,
        hess: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    ]: ...
    def rank_hinge(
        self,
        scores: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        n_threads: int,
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    ]: ...
    def rank_logistic(
        self,
        scores: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        n_threads: int,
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    ]: ...
    def pairs(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...

def softmax_cross_entropy(
    scores: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    phi: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    eps: float,
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
]: ...
def softmax(
    scores: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    eps: float,
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
def xendcg_targets(
    powers: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    gamma: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    keys: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
]: ...
def softmax_terms(
    scores: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    phi: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    eps: float,
    newton: str,
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
]: ...
def lambdarank(
    scores: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    gains: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    best: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    sigma: float,
    k: int,
    norm: bool,
    keys: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    noise: float,
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
]: ...
def largest_weighted(
    values: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_threads: int,
) -> float: ...
def round_to_grid(
    values: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    largest: float,
    count: float,
    n_threads: int,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C")]: ...

class SoftmaxSpec:
    """Targets and weights of a softmax cross entropy."""

    def __init__(
        self,
        indptr: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        phi: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...

class DominationSpec:
    """Layers, weights and margins of a domination loss."""

    def __init__(
        self,
        layers: Layers,
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        constant: float,
        between: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        level: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        document: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...

class Descent:
    """Coordinate descent on one loss and matrix."""

    def start(
        self,
        scores: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def scores(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def sweep(
        self,
        coordinates: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        a1: float,
        a2: float,
        w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> tuple[float, int]: ...
    def slopes(
        self,
        coordinates: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def promises(
        self,
        coordinates: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        a1: float,
        a2: float,
        w: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        decrease: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        violation: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> None: ...

def quadratic_descent(
    B: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    slope: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    w: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    a1: float,
    most: int,
    enough: float,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
@overload
def dense_descent(
    spec: SoftmaxSpec,
    columns: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    step: str,
) -> Descent: ...
@overload
def dense_descent(
    spec: SoftmaxSpec,
    columns: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    step: str,
) -> Descent: ...
@overload
def dense_descent(
    spec: DominationSpec,
    columns: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    step: str,
) -> Descent: ...
@overload
def dense_descent(
    spec: DominationSpec,
    columns: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    step: str,
) -> Descent: ...
@overload
def sparse_descent(
    spec: SoftmaxSpec,
    data: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    step: str,
) -> Descent: ...
@overload
def sparse_descent(
    spec: SoftmaxSpec,
    data: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    step: str,
) -> Descent: ...
@overload
def sparse_descent(
    spec: SoftmaxSpec,
    data: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    step: str,
) -> Descent: ...
@overload
def sparse_descent(
    spec: SoftmaxSpec,
    data: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    step: str,
) -> Descent: ...
@overload
def sparse_descent(
    spec: DominationSpec,
    data: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    step: str,
) -> Descent: ...
@overload
def sparse_descent(
    spec: DominationSpec,
    data: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    step: str,
) -> Descent: ...
@overload
def sparse_descent(
    spec: DominationSpec,
    data: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    step: str,
) -> Descent: ...
@overload
def sparse_descent(
    spec: DominationSpec,
    data: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    step: str,
) -> Descent: ...

class Iterate:
    """Weights of an online learner and their mean."""

    def __init__(
        self,
        w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        sum: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        mean: str,
        round: int,
        since: int,
    ) -> None: ...
    def step(
        self,
        rows: Rows,
        begin: int,
        coef: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None:
        """One round: w += sum_i coef_i x_{begin + i}."""

    def skip(self) -> None:
        """One round without an update."""

    @property
    def round(self) -> int: ...
    @property
    def since(self) -> int: ...

class SlamRounds:
    """Queries as the SLAM perceptron sees them."""

    def __init__(
        self,
        layers: Layers,
        v: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        loss: str,
        k: int,
        misordered_only: bool,
        discount: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def round(
        self,
        q: int,
        scores: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        comparator: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> tuple[float, float]: ...
    def learn(
        self,
        rows: Rows,
        order: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        eta: float,
        comparator: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        iterate: Iterate,
        losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        surrogates: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> int: ...

class QueryLoss:
    """A loss on given labels, query by query."""

def loss_by_query(f: Callable[..., tuple[float, object]]) -> QueryLoss:
    """What f(scores, q, draw) says: the value and the gradient of query q."""

def cross_entropies(
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    targets: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    eps: float,
    keys: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    seed: int,
    row_weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
) -> QueryLoss: ...
def gradient_descent(
    rows: Rows,
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    order: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    loss: QueryLoss,
    eta: float,
    schedule: str,
    u: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    iterate: Iterate,
    losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    terms: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> int:
    """
    Terms by round: the comparator's loss, by how much the distance to it shrank, the step.
    """

def prank(
    rows: Rows,
    y: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    order: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    step: float,
    iterate: Iterate,
    losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    taus: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order="C", device="cpu")],
) -> int: ...
def prank_step(
    score: float,
    y: int,
    thresholds: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    tau: Annotated[NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu")],
) -> int: ...
def widrow_hoff(
    rows: Rows,
    y: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    k: int,
    order: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    eta: float,
    squared_radius: float,
    iterate: Iterate,
    losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    errors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> tuple[int, float]: ...
def multiclass_perceptron(
    rows: Rows,
    y: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    k: int,
    order: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    uniform: bool,
    iterate: Iterate,
    losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> int: ...
def multiclass_step(
    scores: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    y: int,
    uniform: bool,
    coef: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> int: ...
def pamir(
    rows: Rows,
    layers: Layers,
    queries: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    keys: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    seed: int,
    C: float,
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    iterate: Iterate,
    losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> int: ...

class Problem:
    """A prediction task; see rankwright.problems."""

    def predict(
        self,
        scores: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        y: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None = None,
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")]: ...
    def loss(
        self,
        prediction: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        y: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> float: ...
    def correct(
        self,
        y: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        scores: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None = None,
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")]: ...
    def augmented(
        self,
        scores: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        y: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")]: ...
    def represent(
        self,
        prediction: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...

class BinaryProblem(Problem):
    def __init__(self, alpha0: float, alpha1: float) -> None: ...

class ClassProblem(Problem):
    def __init__(
        self,
        loss: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        reject: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        by_surrogate: bool,
    ) -> None: ...

class LabelsProblem(Problem):
    def __init__(self, m: int, loss: str) -> None: ...

class RankingProblem(Problem):
    def __init__(
        self,
        f: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        discount: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    @property
    def most(self) -> int: ...
    def augmented_by(
        self,
        scores: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        gains: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        route: str,
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")]: ...
    def route(
        self,
        gains: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> str: ...

def assign(
    cost: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")]: ...

class LinkedWeights:
    """Weights behind a link."""

    def __init__(
        self,
        norm: str,
        q: float,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        intercept: bool,
    ) -> None: ...
    def write(
        self, W: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")]
    ) -> None: ...
    def scores(
        self, rows: Rows, first: int, n: int
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")]: ...
    def update(
        self,
        rows: Rows,
        first: int,
        n: int,
        g: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        eta: float,
        iterate: Iterate,
        round: int,
    ) -> None: ...

def predict_all(
    problem: Problem,
    scores: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def predtron_round(
    problem: Problem,
    mode: str,
    scores: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    y: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    comparator: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    direction: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> tuple[float, float]: ...
def predtron(
    problem: Problem,
    mode: str,
    eta: float,
    rows: Rows,
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    order: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    labels: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    comparator: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    weights: LinkedWeights,
    iterate: Iterate,
    losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    charges: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> int: ...
