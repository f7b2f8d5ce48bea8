"""Large CSV files, a block of lines at a time: neither their text nor a table of it is ever whole.

The first block tells which columns are numbers. Where a later one disagrees, or anything else is
out of the ordinary, that is CannotStream, and the file is to be read as a whole: slower, and with
a message that says what is wrong.
"""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwright.data.columns import Columns
from rankwright.data.files import STANDARD, PathLike, display_name, open_binary
from rankwright.data.formats import format_of
from rankwright.data.groups import Coded
from rankwright.data.hashing import as_integer
from rankwright.data.lines import CannotStream
from rankwright.data.tables import (
    HEAD_BYTES,
    csv_options,
    id_columns,
    import_frames,
    sniff,
)
from rankwright.data.texts import text_array
from rankwright.exceptions import DataError

BLOCK_BYTES = 4 << 20
_NUMBERS = ("int64", "double", "bool")
_WIDEST = 64  # characters of a document id, each of which then takes that room


class CsvRows(NamedTuple):
    """What was read: all columns with their types in the first block, and those that are wanted."""

    head: Any
    names: list[str]
    X: NDArray[np.float64]
    others: dict[str, Any]


def read_csv_blocks(path: PathLike, wanted: Columns) -> CsvRows | None:
    """Read a CSV file of more than one block, if it is an ordinary one."""
    rows: _Rows | None = None
    try:
        with _ordinary():
            for block in _csv_blocks(path, wanted):
                rows = rows or _Rows(block, block.expected)
                rows.add(block)
                del block
    except CannotStream:
        return None
    import_frames("pyarrow").default_memory_pool().release_unused()
    return None if rows is None else rows.whole()


def csv_parts(path: PathLike, wanted: Columns) -> Iterator[CsvRows]:
    """Read the same file, and yield the rows of each block; CannotStream if it is another one."""
    for block in _csv_blocks(path, wanted):
        with _ordinary():
            rows = _Rows(block, block.rows.num_rows)
            rows.add(block)
        yield rows.whole()


@contextlib.contextmanager
def _ordinary() -> Iterator[None]:
    """Leave whatever is wrong with a file to those who read it as a whole."""
    arrow = import_frames("pyarrow")
    try:
        yield
    except (arrow.ArrowException, DataError, UnicodeDecodeError, OSError):
        raise CannotStream("something is out of the ordinary") from None


class _Block(NamedTuple):
    """A table of some rows, what its columns are, and how many rows are expected in all."""

    rows: Any
    plan: _Plan
    schema: Any
    expected: int


def _csv_blocks(path: PathLike, wanted: Columns) -> Iterator[_Block]:
    """Yield the tables of a CSV file of more than one block; CannotStream if it is another one."""
    if os.path.isdir(path) or format_of(path, wanted.format) not in ("csv", "tsv"):
        raise CannotStream("it is no file of comma-separated values")
    if os.fspath(path) == STANDARD:  # which cannot be read again
        raise CannotStream("it is standard input")
    with _ordinary(), open_binary(path) as (stream, compressed):
        size = 0 if compressed else os.fstat(stream.fileno()).st_size
        yield from _tables(stream, size, path, wanted)


def _tables(stream: BinaryIO, size: int, path: PathLike, wanted: Columns) -> Iterator[_Block]:
    reader = import_frames("pyarrow.csv")
    buffer = bytearray(BLOCK_BYTES)
    filled = _fill(stream, buffer, 0)
    cut = buffer.rfind(b"\n", 0, filled) + 1
    if filled < BLOCK_BYTES or cut == 0:
        raise CannotStream("it is small")
    _require_closed_quotes(buffer, cut)
    kind = format_of(path, wanted.format)
    lines = bytes(buffer[: min(cut, HEAD_BYTES)])
    dialect = sniff(lines, kind, id_columns(wanted), display_name(path))
    options = csv_options(dialect, wanted)
    head = reader.read_csv(_lines_of(buffer, cut), **options)
    plan = _plan(head.schema, wanted)
    options["convert_options"] = _converted(options["convert_options"], head.schema, plan)
    options["read_options"] = reader.ReadOptions(column_names=head.column_names)
    expected = int(1.02 * head.num_rows * size / cut)
    schema, begin = head.schema, buffer.index(b"\n") + 1
    del head
    while cut > 0:
        table = reader.read_csv(_lines_of(buffer, cut, begin), **options)
        yield _Block(table, plan, schema, expected)
        del table
        begin, left = 0, filled - cut
        buffer[:left] = buffer[cut:filled]
        filled = _fill(stream, buffer, left)
        # At the end the last line may lack its newline.
        cut = filled if filled < BLOCK_BYTES else buffer.rfind(b"\n", 0, filled) + 1
        _require_closed_quotes(buffer, cut)
    if filled:
        raise CannotStream("a line is longer than a block")


class _Rows:
    """The columns that are wanted, of one block after the other."""

    def __init__(self, block: _Block, expected: int) -> None:
        self._plan, self._schema = block.plan, block.schema
        names, label, query, doc = block.plan
        self._X = _Matrix(names, expected)
        self._y = _Matrix([] if label is None else [label], expected, missing=False)
        self._ids, self._docs = _Codes(query), _Texts(doc, expected)

    def add(self, block: _Block) -> None:
        for part in (self._X, self._y, self._ids, self._docs):
            part.add(block.rows)

    def whole(self) -> CsvRows:
        names, label, query, doc = self._plan
        found: dict[str | None, Callable[[], Any]] = {
            label: self._y.whole().ravel,
            query: self._ids.whole,
            doc: self._docs.whole,
        }
        others = {name: whole() for name, whole in found.items() if name is not None}
        return CsvRows(self._schema.empty_table(), names, self._X.whole(), others)


class _Plan(NamedTuple):
    """The columns that are wanted."""

    names: list[str]
    label: str | None
    qid: str | None
    doc_id: str | None


def _plan(schema: Any, wanted: Columns) -> _Plan:
    """Return which columns are what, if the types in the first block leave no question."""
    columns = schema.names
    wanted = wanted.found(columns)
    if wanted.categorical or wanted.keep:
        raise CannotStream("it has categories, of which all levels must be known")
    types = {name: str(kind) for name, kind in zip(columns, schema.types, strict=True)}
    kinds = {name: None if kind in _NUMBERS else kind for name, kind in types.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whoever asked for the rows tells what is left out
        names = wanted.choose(kinds)
    label = wanted.label if wanted.labelled else None
    unclear = label is not None and kinds[label] is not None
    if unclear or len(types) < len(columns) or "null" in types.values():
        raise CannotStream("the first lines do not tell what its columns are")
    return _Plan(names, label, wanted.qid, wanted.doc_id)


def _converted(options: Any, schema: Any, plan: _Plan) -> Any:
    """Tell Arrow which columns to read, and that numbers are floats, whatever they begin with."""
    arrow = import_frames("pyarrow")
    types = {**options.column_types}
    for name in (*plan.names, plan.label):
        if name is not None:
            is_bool = schema.field(name).type == arrow.bool_()
            types[name] = arrow.bool_() if is_bool else arrow.float64()
    options.column_types = types
    options.include_columns = [
        *plan.names,
        *(name for name in plan[1:] if name is not None),
    ]
    return options


class _Matrix:
    """Columns of numbers side by side; rows that are expected take no memory before they come."""

    def __init__(self, names: list[str], expected: int, *, missing: bool = True) -> None:
        self._names = names
        self._missing = missing
        self._rows = np.empty((expected, len(names)))
        self._n = 0

    def add(self, table: Any) -> None:
        """Append the rows of a table."""
        begin, self._n = self._n, self._n + table.num_rows
        _grow(self._rows, self._n)
        for j, name in enumerate(self._names):
            column = table[name] if self._missing else _without_nulls(table[name])
            if str(column.type) == "bool":
                column = column.cast("int8").cast("double")
            row = begin
            for part in column.chunks:
                chunk = part.fill_null(math.nan) if part.null_count else part
                self._rows[row : row + len(chunk), j] = _numbers(chunk)
                row += len(chunk)

    def whole(self) -> NDArray[np.float64]:
        """Return the rows, without the room behind them."""
        self._rows.resize((self._n, len(self._names)), refcheck=False)
        return self._rows


class _Codes:
    """Ids of queries: few texts, many times."""

    def __init__(self, name: str | None) -> None:
        arrow = import_frames("pyarrow")
        self._name = name
        self._known = arrow.array([], arrow.string())  # in the order in which they came
        self._codes: list[NDArray[np.int32]] = []

    def add(self, table: Any) -> None:
        """Append the ids of a table."""
        if self._name is None:
            return
        arrow, compute = import_frames("pyarrow"), import_frames("pyarrow.compute")
        coded = _without_nulls(table[self._name]).combine_chunks().dictionary_encode()
        found = compute.index_in(coded.dictionary, value_set=self._known).fill_null(-1)
        places = _numbers(found).copy()
        new = np.flatnonzero(places < 0)
        places[new] = len(self._known) + np.arange(len(new))
        if len(new):
            texts = coded.dictionary.filter(compute.equal(found, -1))
            self._known = arrow.concat_arrays([self._known, texts])
        self._codes.append(places[_numbers(coded.indices)])

    def whole(self) -> Coded:
        """Return the ids: texts, or integers if that loses nothing."""
        texts = self._known.to_pylist()
        numbers = [as_integer(text) for text in texts]
        ids = text_array(texts) if None in numbers else np.array(numbers, dtype=np.int64)
        return Coded(ids, np.concatenate(self._codes))


class _Texts:
    """Ids of documents: many texts of about one length."""

    def __init__(self, name: str | None, expected: int) -> None:
        self._name = name
        self._ids = np.empty(expected, dtype="U1")
        self._n = 0

    def add(self, table: Any) -> None:
        """Append the ids of a table."""
        if self._name is None:
            return
        part = text_array(_without_nulls(table[self._name]).to_pylist())
        if part.dtype.kind != "U" or part.itemsize > 4 * _WIDEST:
            raise DataError("document ids differ much in length")
        if part.itemsize > self._ids.itemsize:
            wider = np.empty(len(self._ids), dtype=part.dtype)
            wider[: self._n] = self._ids[: self._n]
            self._ids = wider
        begin, self._n = self._n, self._n + len(part)
        _grow(self._ids, self._n)
        self._ids[begin : self._n] = part

    def whole(self) -> NDArray[Any]:
        """Return the ids."""
        self._ids.resize(self._n, refcheck=False)
        return self._ids


def _numbers(chunk: Any) -> NDArray[Any]:
    """Return numbers of Arrow as they lie in memory; its ``to_numpy`` would import pandas."""
    dtype = {"double": np.float64, "int32": np.int32}[str(chunk.type)]
    return np.frombuffer(chunk.buffers()[1], dtype)[chunk.offset : chunk.offset + len(chunk)]


def _grow(rows: NDArray[Any], n: int) -> None:
    """Make room for n rows, in place: that moves pages and copies nothing."""
    if n > len(rows):
        rows.resize((max(n, len(rows) * 5 // 4), *rows.shape[1:]), refcheck=False)


def _without_nulls(column: Any) -> Any:
    if column.null_count:
        raise DataError("labels and ids must not be missing")
    return column


def _fill(stream: BinaryIO, buffer: bytearray, filled: int) -> int:
    """Read until the buffer is full or the file ends; return how many bytes it then holds."""
    while filled < len(buffer):
        n = stream.readinto(memoryview(buffer)[filled:])  # type: ignore[attr-defined]
        if not n:
            break
        filled += n
    return filled


def _require_closed_quotes(buffer: bytearray, end: int) -> None:
    """Raise if a newline may be part of a value: a block that ends there would cut a row."""
    if buffer.find(b'"', 0, end) < 0:
        return
    text = np.frombuffer(buffer, dtype=np.uint8, count=end)
    newlines, quotes = (np.flatnonzero(text == ord(mark)) for mark in '\n"')
    if (np.bincount(np.searchsorted(newlines, quotes)) % 2).any():
        raise CannotStream("a value may go on in the next line")


def _lines_of(buffer: bytearray, end: int, begin: int = 0) -> Any:
    arrow = import_frames("pyarrow")
    return arrow.BufferReader(arrow.py_buffer(memoryview(buffer)[begin:end]))
