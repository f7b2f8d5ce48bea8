"""Tables in files: CSV, TSV, JSON lines and Parquet, whole or in parts, as Arrow tables."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rankwright.data.columns import DOC_ID, Columns
from rankwright.data.feature_names import listed
from rankwright.data.files import STANDARD, PathLike, display_name, open_binary, open_raw
from rankwright.data.formats import format_of, parts_of, require_table
from rankwright.data.lines import CannotStream
from rankwright.data.remote import is_remote
from rankwright.exceptions import DataError
from rankwright.extras import load_extra

PART_CELLS = 1 << 20  # of a Parquet file, to be read at a time
HEAD_BYTES = 1 << 16  # of a CSV file, to see how it is written
_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")


def import_frames(name: str) -> Any:
    """Import a module that only tables need."""
    return load_extra(name, "frames", "data frames, Parquet and CSV need")


def one_line(error: Exception) -> str:
    """Return a foreign message on one line, without a full stop."""
    return " ".join(str(error).split()).rstrip(".")


def load_table(path: PathLike, wanted: Columns) -> Any:
    """Return what is in a file, or in the parts of a folder, as an Arrow table."""
    kind = format_of(path, wanted.format)
    require_table(kind, path)
    if not os.path.isdir(path):
        table = _load_file(path, kind, wanted)
    else:
        parts = parts_of(path)
        table = join_tables([(part, _load_file(part, kind, wanted)) for part in parts], wanted)
    # Of two columns with this name, from_frame tells.
    if kind in ("csv", "tsv") and table.column_names.count(wanted.qid) == 1:
        table = plain_integers(table, str(wanted.qid))
    return table


def load_columns(path: PathLike, format: str | None = None) -> Any:
    """Return a table whose columns ``qid`` and ``doc_id`` hold ids; see :func:`load_table`."""
    return load_table(path, Columns(format=format))


class Dialect(NamedTuple):
    """How a file of comma-separated values is written."""

    delimiter: str = ","
    decimal: str = "."


def sniff(head: bytes, kind: str, ids: Sequence[str], path: str) -> Dialect:
    r"""Return how a CSV file is written, by its first lines.

    The delimiter is the one of comma, semicolon and tab that the header has most of. With another
    one than a comma, numbers may have a decimal comma.

    Examples
    --------
    >>> sniff(b"qid;label;price\nq1;2;3,5\n", "csv", ["qid"], "shop.csv")
    Dialect(delimiter=';', decimal=',')
    """
    lines = head.decode("utf-8-sig", "replace").splitlines()
    header = re.sub(r'"[^"]*"', "", lines[0]) if lines else ""
    counts = Counter(header)
    delimiter = "\t" if kind == "tsv" else max(",;\t", key=lambda mark: counts[mark])
    if delimiter == ",":
        return Dialect()
    rows = list(csv.reader(lines[:-1] if len(head) >= HEAD_BYTES else lines, delimiter=delimiter))
    commas, points = [], []
    for name, *values in zip(*rows, strict=False):
        if name in ids:
            continue
        texts = [text for text in values if text]
        if all(_COMMA.fullmatch(t) or _WHOLE.fullmatch(t) for t in texts):
            commas += [name] if any("," in t for t in texts) else []
        elif all(_POINT.fullmatch(t) or _WHOLE.fullmatch(t) for t in texts):
            points.append(name)
    if commas and points:
        raise DataError(
            f"numbers must have decimal points, or all of them decimal commas, but {commas[0]!r} "
            f"has commas and {points[0]!r} has points.",
            path=path,
        )
    return Dialect(delimiter, "," if commas else ".")


def csv_options(dialect: Dialect, wanted: Columns) -> dict[str, Any]:
    """Return what Arrow is told of a CSV file. Ids are texts: 001 and 1 are two queries."""
    arrow, reader = import_frames("pyarrow"), import_frames("pyarrow.csv")
    # Arrow too reads in blocks, and would end one at a newline within quotes.
    parsing = reader.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
    return {
        "parse_options": parsing,
        "convert_options": reader.ConvertOptions(
            column_types={name: arrow.string() for name in id_columns(wanted)},
            strings_can_be_null=True,
            decimal_point=dialect.decimal,
        ),
    }


def id_columns(wanted: Columns) -> list[str]:
    """Return the names of the columns that hold ids or categories, if they are there."""
    categories = (*wanted.categorical, *wanted.categories_of_model())
    return [name for name in (wanted.qid, wanted.doc_id or DOC_ID, *categories) if name]


def _load_file(path: PathLike, kind: str, wanted: Columns) -> Any:
    """Return what is in one file as an Arrow table."""
    arrow = import_frames("pyarrow")
    with _opened(path, kind, arrow) as (source, head):
        try:
            if kind == "parquet":
                table = import_frames("pyarrow.parquet").read_table(source)
            elif kind == "jsonl":
                table = _read_json(source)
            else:
                dialect = sniff(head, kind, id_columns(wanted), display_name(path))
                options = csv_options(dialect, wanted)
                table = import_frames("pyarrow.csv").read_csv(source, **options)
            _ = table.column_names
        except (arrow.ArrowException, OSError) as error:
            reason = one_line(error)
            raise DataError(
                f"is not a readable {kind} file: {reason}.", path=display_name(path)
            ) from None
        except UnicodeDecodeError:
            raise DataError(
                "names of columns must be UTF-8 text.", path=display_name(path)
            ) from None
    return table


def parquet_parts(path: PathLike) -> Iterator[Any]:
    """Yield the rows of a Parquet file as tables of bounded size."""
    arrow, reader = import_frames("pyarrow"), import_frames("pyarrow.parquet")
    with _opened(path, "parquet", arrow) as (source, _):
        try:
            file = reader.ParquetFile(source, pre_buffer=False)
            cells = max(1, len(file.schema_arrow))
            rows = max(1, PART_CELLS // cells)
            for batch in file.iter_batches(batch_size=rows):
                yield arrow.Table.from_batches([batch])
        except (arrow.ArrowException, OSError, UnicodeDecodeError):
            raise CannotStream("something is wrong with it") from None


def _read_json(source: Any) -> Any:
    """Read JSON lines. There are no times in JSON: what looks like one is a text, as it was."""
    arrow, reader = import_frames("pyarrow"), import_frames("pyarrow.json")
    table = reader.read_json(source)
    times = [field.name for field in table.schema if arrow.types.is_temporal(field.type)]
    if not times:
        return table
    schema = arrow.schema([(name, arrow.string()) for name in times])
    source.seek(0)
    options = reader.ParseOptions(explicit_schema=schema)
    return reader.read_json(source, parse_options=options).select(table.column_names)


@contextmanager
def _opened(path: PathLike, kind: str, arrow: Any) -> Iterator[tuple[Any, bytes]]:
    """Give Arrow a file to read from, or what is in a compressed one, and its first bytes.

    Arrow takes names for addresses (``s3:a.parquet``), and not every name is UTF-8.
    """
    plain = os.fspath(path) != STANDARD and Path(path).suffix.lower() not in (".gz", ".zst")
    if kind == "parquet" and plain:
        if not is_remote(path) and not Path(path).is_file():
            raise DataError("there is no such file.", path=path)
        with open_raw(path) as file:
            yield file, b""
    else:
        with open_binary(path, text=kind != "parquet") as (stream, _):
            content = stream.read()
        yield arrow.BufferReader(content), content[:HEAD_BYTES]


def join_tables(parts: list[tuple[str, Any]], wanted: Columns) -> Any:
    """Return the parts of a table as one: columns by name, ids as texts where one has texts."""
    arrow = import_frames("pyarrow")
    first_path, first = parts[0]
    names = first.column_names
    tables = []
    for path, table in parts:
        missing = [name for name in names if name not in table.column_names]
        more = [name for name in table.column_names if name not in names]
        if missing or more:
            has, lacks = (first_path, path) if missing else (path, first_path)
            raise DataError(
                f"parts must have the same columns, but {os.path.basename(has)} has "
                f"{listed(missing or more)}, and {os.path.basename(lacks)} has not.",
                path=path,
            )
        tables.append(table.select(names) if len(set(names)) == len(names) else table)
    for name in set(id_columns(wanted)) & set(names):
        if len({str(table.schema.field(name).type) for table in tables}) > 1:
            tables = [_as_texts(table, name) for table in tables]
    try:
        return arrow.concat_tables(tables, promote_options="permissive")
    except arrow.ArrowException as error:
        raise DataError(
            f"parts must have the same types of columns: {one_line(error)}.",
            path=os.path.dirname(first_path),
        ) from None


def _as_texts(table: Any, name: str) -> Any:
    return table.set_column(table.column_names.index(name), name, table[name].cast("string"))


def line_of_row(path: str, row: int) -> int | None:
    """Return the line of a CSV file that a row ends in; None where there are no lines."""
    try:
        if not os.path.isfile(path) or format_of(path) not in ("csv", "tsv"):
            return None
        with open_binary(path) as (stream, _):
            reader = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", "replace", newline=""))
            rows = (reader.line_num for cells in reader if cells)
            return next(itertools.islice(rows, row + 1, None), None)
    except (OSError, DataError, ValueError, csv.Error):
        return None


def plain_integers(table: Any, column: str) -> Any:
    """Turn a column of texts into integers if that loses nothing."""
    texts = table[column]
    try:
        numbers = texts.cast("int64")
    except import_frames("pyarrow").ArrowInvalid:
        return table
    if numbers.cast("string") != texts:
        return table
    return table.set_column(table.column_names.index(column), column, numbers)


def index_columns(table: Any) -> list[str]:
    """Return the columns that pandas noted to be the index of a frame, in a Parquet file."""
    try:
        noted = (table.schema.pandas_metadata or {}).get("index_columns", [])
    except (ValueError, AttributeError, UnicodeDecodeError):  # what a stranger wrote there
        return []
    return [name for name in noted if isinstance(name, str)] if isinstance(noted, list) else []


def write_table(table: Any, kind: str, out: Any) -> None:
    """Write an Arrow table to an open file."""
    writer = TableWriter(kind, out)
    writer.add(table)
    writer.close()


class TableWriter:
    """Writes tables of the same columns to an open file, one below the other.

    The bytes do not depend on how the rows were cut into tables.
    """

    GROUP_ROWS = 1 << 20  # of Parquet, as many as Arrow puts into a group

    def __init__(self, kind: str, out: Any) -> None:
        self._kind, self._out = kind, out
        self._writer: Any = None
        self._waiting: list[Any] = []  # for a group to be full
        self._n_groups = 0

    def add(self, table: Any) -> None:
        """Append rows."""
        if self._kind == "jsonl":
            _write_json_lines(table, self._out)
            return
        self._writer = self._writer or self._opened(table.schema)
        if self._kind != "parquet":
            self._writer.write_table(table)
            return
        self._waiting.append(table)
        while sum(part.num_rows for part in self._waiting) >= self.GROUP_ROWS:
            self._write_group()

    def close(self) -> None:
        """Write what is left."""
        if any(part.num_rows for part in self._waiting) or self._n_groups == 0:
            self._write_group()
        if self._writer is not None:
            self._writer.close()

    def _opened(self, schema: Any) -> Any:
        if self._kind == "parquet":
            return import_frames("pyarrow.parquet").ParquetWriter(self._out, schema)
        writer = import_frames("pyarrow.csv")
        options = writer.WriteOptions(delimiter="\t" if self._kind == "tsv" else ",")
        return writer.CSVWriter(self._out, schema, write_options=options)

    def _write_group(self) -> None:
        if not self._waiting:
            return
        self._n_groups += 1
        whole = import_frames("pyarrow").concat_tables(self._waiting).combine_chunks()
        self._writer.write_table(whole.slice(0, self.GROUP_ROWS), row_group_size=self.GROUP_ROWS)
        self._waiting = [whole.slice(self.GROUP_ROWS)]


def _write_json_lines(table: Any, out: Any) -> None:
    for batch in table.to_batches(max_chunksize=1 << 12):
        rows = ({name: _json_cell(cell) for name, cell in row.items()} for row in batch.to_pylist())
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        out.write("".join(lines).encode("utf-8"))


def _json_cell(cell: Any) -> Any:
    """Return a value that JSON has: a missing one for NaN."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
