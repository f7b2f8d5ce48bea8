"""Bodies of numbers: a matrix as ``.npy``, or a table as an Arrow stream.

Nothing in them is believed before it is checked: a ``.npy`` may hold plain floats only, and an
Arrow stream neither compressed buffers nor dictionaries, so that it takes no more memory than it
has bytes.
"""

from __future__ import annotations

import ast
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.feature_names import listed
from rankwright.extras import load_extra
from rankwright.serve.http.memory import keep_answers
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.ranking.served import ServedModel
from rankwright.serve.records import Numbers
from rankwright.suggestions import meant

NPY = "application/x-npy"
ARROW = "application/vnd.apache.arrow.stream"
_LONGEST_HEADER = 4096
_RECORD_BATCH = 3  # of the headers of Arrow's messages


# ---- .npy ----


def npy_matrix(body: bytes) -> Numbers:
    """Return the matrix of a ``.npy``: a view of the body where that is possible."""
    # Version 1.0 has a length of two bytes here, others are longer and seldom.
    length = int.from_bytes(body[8:10], "little")
    if body[:8] != b"\x93NUMPY\x01\x00" or length > _LONGEST_HEADER:
        raise _no_npy("it must begin as numpy.save writes it, version 1.0")
    dtype, fortran, n, width, size = _npy_header(body[: 10 + length])
    if len(body) - 10 - length != size:
        raise _no_npy(
            f"{n} x {width} numbers take {size} bytes, but {len(body) - 10 - length} came"
        )
    found: NDArray[Any] = np.frombuffer(body, dtype, offset=10 + length)
    if fortran:
        return np.ascontiguousarray(found.reshape(width, n).T)
    if not found.flags.aligned:
        found = found.copy()
    return found.reshape(n, width)


@keep_answers
def _npy_header(header: bytes) -> tuple[np.dtype[Any], bool, int, int, int]:
    """Return type, order, rows, columns and bytes that a header promises."""
    try:
        told = ast.literal_eval(header[10:].decode("latin-1").strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _no_npy("its header cannot be read") from None
    if type(told) is not dict or told.keys() != {"descr", "fortran_order", "shape"}:
        raise _no_npy("its header must have descr, fortran_order and shape")
    kind, fortran, shape = told["descr"], told["fortran_order"], told["shape"]
    if kind not in ("<f4", "<f8"):
        raise _no_npy(f"it must hold float32 or float64, little-endian, not {kind!r:.40}")
    sizes = type(shape) is tuple and len(shape) == 2 and all(type(n) is int for n in shape)
    if not sizes or min(shape) < 0 or type(fortran) is not bool:
        raise _no_npy(f"it must have a row for each document, but its shape is {shape!r:.80}")
    dtype = np.dtype(kind)
    return dtype, fortran, shape[0], shape[1], shape[0] * shape[1] * dtype.itemsize


def _no_npy(why: str) -> RefusedError:
    return RefusedError(422, f"the body is no .npy that can be ranked: {why}.", "body")


# ---- Arrow ----


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of an Arrow stream, by name; those of texts apart, where it has them."""

    n_rows: int
    columns: dict[str, Any]
    texts: dict[str, list[str]]

    @property
    def ids(self) -> list[str] | None:
        """The ids of the documents."""
        return self.texts.get("id")

    @property
    def queries(self) -> list[str] | None:
        """The queries of the documents."""
        return self.texts.get("query")

    def matrix(self, model: ServedModel) -> Numbers:
        """Return the features of a model, found by their names; NaN is a missing value."""
        known = model.feature_names
        if self.columns.keys() != set(known):
            unknown = [name for name in self.columns if name not in set(known)]
            if unknown:
                text = f"there is no feature {unknown[0]!r:.200}.{meant(unknown[0], known)}"
                raise RefusedError(422, text, "body")
            missing = [name for name in known if name not in self.columns]
            text = f"features must be complete, but there is no {listed(missing)}."
            raise RefusedError(422, text, "body")
        columns = [self.columns[name] for name in known]
        single = all(str(column.type) == "float" for column in columns)
        found = np.empty((self.n_rows, len(known)), dtype=np.float32 if single else np.float64)
        for j, (name, column) in enumerate(zip(known, columns, strict=True)):
            found[:, j] = _column_numbers(name, column, model)
        return found


def _column_numbers(name: str, column: Any, model: ServedModel) -> NDArray[Any]:
    nulls = column.null_count
    if nulls and not model.takes_missing:
        text = f"{name!r} must not be null: {model.kind} takes no missing values."
        raise RefusedError(422, text, name)
    values: NDArray[Any] = column.to_numpy()
    if values.dtype.kind == "f" and np.count_nonzero(np.isnan(values)) > nulls:
        raise RefusedError(422, f"{name!r} must be numbers or null, but is NaN.", name)
    return values


def arrow_table(body: bytes, most: int, texts: tuple[str, ...] = ("id", "query")) -> Table:
    """Return the table of an Arrow stream of at most so many rows; some columns may be texts."""
    pa = load_extra("pyarrow", "serve", "Arrow bodies need")
    ipc = load_extra("pyarrow.ipc", "serve", "Arrow bodies need")
    try:
        schema, batches = _messages(pa, ipc, body, texts)
    except (pa.ArrowException, OSError, ValueError, struct.error, StopIteration) as error:
        reason = " ".join(str(error).split()) or "it ends too early"
        raise _no_arrow(f"it cannot be read ({reason:.120})") from None
    n_rows = sum(batch.num_rows for batch in batches)
    if n_rows > most:
        raise RefusedError(422, f"a body must have at most {most} rows, but has {n_rows}.", "body")
    if n_rows == 0:
        raise RefusedError(422, "there must be a document at least.", "body")
    table = pa.Table.from_batches(batches, schema)
    try:
        table.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        raise _no_arrow(f"its columns are broken ({error!s:.120})") from None
    columns = dict(zip(schema.names, table.columns, strict=True))
    there = [name for name in texts if name in columns]
    return Table(n_rows, columns, {name: _column_texts(name, columns.pop(name)) for name in there})


def _messages(pa: Any, ipc: Any, body: bytes, texts: tuple[str, ...]) -> tuple[Any, list[Any]]:
    # First what the messages say they are: nothing of Arrow looks at a body that was not checked.
    messages = ipc.MessageReader.open_stream(pa.py_buffer(body))
    if messages.read_next_message().type != "schema":
        raise _no_arrow("it must begin with a schema")
    for message in messages:
        if message.type != "record batch":
            raise _no_arrow("it must have a schema and rows, without dictionaries")
        _check_message(message.metadata.to_pybytes())
    reader = ipc.open_stream(pa.py_buffer(body))
    schema = reader.schema
    if len(set(schema.names)) < len(schema.names):
        raise _no_arrow("each name must be there once")
    for item in schema:
        text = item.name in texts and _is_text(pa, item.type)
        if not (text or pa.types.is_integer(item.type) or _is_float(pa, item.type)):
            raise _no_arrow(f"the column {item.name!r:.80} must hold numbers, not {item.type}")
    return schema, list(reader)


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_float(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_float32(kind) or pa.types.is_float64(kind))


def _check_message(metadata: bytes) -> None:
    """Raise unless a message is a batch of rows whose buffers lie in it as they are."""
    root = _at("<I", metadata, 0)
    kind, header = _slot(metadata, root, 1), _slot(metadata, root, 2)
    if kind == 0 or header == 0 or _at("<B", metadata, kind) != _RECORD_BATCH:
        raise _no_arrow("it must have a schema and rows, without dictionaries")
    if _slot(metadata, header + _at("<I", metadata, header), 3):
        raise _no_arrow("its buffers must not be compressed")


def _slot(metadata: bytes, table: int, field: int) -> int:
    """Return where a field of a table of flatbuffers lies; 0 if it is not there."""
    fields = table - _at("<i", metadata, table)
    if _at("<H", metadata, fields) < 6 + 2 * field:
        return 0
    offset = _at("<H", metadata, fields + 4 + 2 * field)
    return table + offset if offset else 0


def _at(form: str, metadata: bytes, place: int) -> int:
    if place < 0:
        raise ValueError("an offset is negative")
    found: int = struct.unpack_from(form, metadata, place)[0]
    return found


def _column_texts(name: str, column: Any) -> list[str]:
    if column.null_count:
        raise RefusedError(422, f"{name!r} must not be null.", name)
    return [str(value) for value in column.to_pylist()]


def _no_arrow(why: str) -> RefusedError:
    return RefusedError(422, f"the body is no Arrow stream that can be used: {why}.", "body")
