"""Parquet, CSV and data frames (pandas, polars, Arrow) with named columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rankwright.data.columns import DOC_ID, Columns
from rankwright.data.dataset import Dataset
from rankwright.data.feature_names import listed
from rankwright.data.files import PathLike, open_binary, suffix
from rankwright.data.foreign import plain
from rankwright.data.spreadsheets import as_cell
from rankwright.data.validation import (
    check_doc_ids,
    check_names,
    check_qid,
    check_X,
    check_y,
    require_rows,
)
from rankwright.data.writing import write_atomically
from rankwright.exceptions import DataError
from rankwright.extras import load_extra

SUFFIXES = (".parquet", ".csv")


def from_frame(
    frame: Any,
    *,
    label: str = "label",
    qid: str | None = "qid",
    doc_id: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    allow_nan: bool = False,
    path: str | None = None,
) -> Dataset:
    """Make a data set of a data frame.

    Parameters
    ----------
    frame : pandas, polars, pyarrow or other data frame
        One document a row.
    label, qid, doc_id : str
        Columns with labels, query ids and document ids. ``qid=None`` means one query;
        ``doc_id=None`` takes a column ``doc_id`` if there is one.
    features : sequence of str, optional
        Feature columns; by default all others that are numbers. A warning names the texts that are
        left out, and columns that look like the index of a pandas frame.
    ignore : sequence of str
        Columns to leave out without a word.
    allow_nan : bool, default False
        Accept missing, NaN and infinite features.
    path : str, optional
        File to name in messages.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "bm25": [0.5, 1.5], "clicks": [3, 4]})
    >>> ds = from_frame(frame)
    >>> ds, ds.feature_names
    (Dataset(2 documents, 1 query, 2 features, dense float64), ['bm25', 'clicks'])
    """
    wanted = Columns(label, qid, doc_id, features, ignore)
    return _from_frame(frame, wanted, allow_nan=allow_nan, path=path)


def _from_frame(
    frame: Any,
    wanted: Columns,
    *,
    index: Sequence[str] = (),
    allow_nan: bool = False,
    path: str | None = None,
) -> Dataset:
    """Make a data set of a frame; ``index`` are columns that were its index."""
    nw = _import("narwhals")
    try:
        table = nw.from_native(plain(frame, "frame"), eager_only=True)
    except ValueError as error:
        raise DataError(f"cannot be used: {_one_line(error)}.", path=path) from None
    wanted = wanted.found(list(table.columns), path)
    n_rows = len(table)
    require_rows(n_rows, path)
    names = wanted.choose(_kinds(table), index, path)
    X = _matrix(table, names, path)

    def values(column: str) -> Any:
        series = table.get_column(column)
        if len(missing := series.is_null().arg_true()):
            raise DataError(
                f"must not be missing, but row {missing[0]} has no value.", path=path, field=column
            )
        return _to_numpy(series, column, path)

    try:
        matrix = check_X(X, allow_nan=allow_nan)
        y = check_y(values(str(wanted.label)), n_rows)
        ids = np.zeros(n_rows, dtype=np.int64)
        if wanted.qid is not None:
            ids = check_qid(values(wanted.qid), n_rows)
        feature_names = check_names(names, len(names))
        docs = None if wanted.doc_id is None else check_doc_ids(values(wanted.doc_id), n_rows)
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(str(error), path=path) from None
    return Dataset.from_checked(matrix, y, ids, feature_names, docs)


def read_frame(
    path: PathLike,
    *,
    label: str = "label",
    qid: str | None = "qid",
    doc_id: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    allow_nan: bool = False,
) -> Dataset:
    """Read a ``.parquet`` or ``.csv`` (also ``.csv.gz``) file; see :func:`from_frame`."""
    return read_columns(path, Columns(label, qid, doc_id, features, ignore), allow_nan=allow_nan)


def read_columns(path: PathLike, wanted: Columns, *, allow_nan: bool = False) -> Dataset:
    """Do what :func:`read_frame` does, with columns that are told by one object."""
    arrow, kind = _import("pyarrow"), suffix(path)
    if kind == ".parquet":
        load = _import("pyarrow.parquet").read_table
    else:
        # Ids as text: 001 and 1 are two queries.
        csv, texts = (
            _import("pyarrow.csv"),
            {c: arrow.string() for c in (wanted.qid, wanted.doc_id or DOC_ID) if c},
        )
        options = csv.ConvertOptions(column_types=texts, strings_can_be_null=True)
        load = partial(csv.read_csv, convert_options=options)
    with _opened(path, arrow) as source:
        try:
            table = load(source)
            names = table.column_names
        except (arrow.ArrowException, OSError) as error:
            reason = _one_line(error)
            raise DataError(f"is not a readable {kind[1:]} file: {reason}.", path=path) from None
        except UnicodeDecodeError:
            raise DataError("names of columns must be UTF-8 text.", path=path) from None
    if kind == ".csv" and wanted.qid is not None and names.count(wanted.qid) == 1:
        table = _plain_integers(table, wanted.qid)  # of two, from_frame tells
    return _from_frame(
        table, wanted, index=_index_columns(table), allow_nan=allow_nan, path=str(path)
    )


def _index_columns(table: Any) -> list[str]:
    """Return the columns that pandas noted to be the index of a frame, in a Parquet file."""
    try:
        noted = (table.schema.pandas_metadata or {}).get("index_columns", [])
    except (ValueError, AttributeError, UnicodeDecodeError):  # what a stranger wrote there
        return []
    return [name for name in noted if isinstance(name, str)] if isinstance(noted, list) else []


@contextmanager
def _opened(path: PathLike, arrow: Any) -> Iterator[Any]:
    """Give Arrow a file to read from, or what is in a compressed one.

    Arrow takes names for addresses (``s3:a.parquet``), and not every name is UTF-8.
    """
    if Path(path).suffix.lower() == ".parquet":
        if not Path(path).is_file():
            raise DataError("there is no such file.", path=path)
        with open(path, "rb") as file:
            yield file
    else:
        with open_binary(path) as (stream, _):
            content = stream.read()
        yield arrow.BufferReader(content)


def _plain_integers(table: Any, column: str) -> Any:
    """Turn a column of texts into integers if that loses nothing."""
    texts = table[column]
    try:
        numbers = texts.cast("int64")
    except _import("pyarrow").ArrowInvalid:
        return table
    if numbers.cast("string") != texts:
        return table
    return table.set_column(table.column_names.index(column), column, numbers)


def write_frame(
    dataset: Dataset,
    path: PathLike,
    *,
    label: str = "label",
    qid: str = "qid",
    doc_id: str = DOC_ID,
    spreadsheet_safe: bool = False,
) -> None:
    """Write a data set as ``.parquet`` or ``.csv``, rows in the order of the input.

    Features without names become ``f1``, ``f2``, ... With ``spreadsheet_safe``, ids and names that
    a spreadsheet would take for formulas get an apostrophe; they are not read back as they were.
    """
    arrow = _import("pyarrow")
    X = dataset.X.toarray() if dataset.is_sparse else dataset.X
    names = dataset.feature_names or [f"f{j + 1}" for j in range(dataset.n_features)]
    taken = {label, qid, doc_id} & set(names)  # reading would take it for what it is called
    if taken:
        raise DataError(f"features must not be named {listed(sorted(taken))}.", path=path)
    columns: dict[str, Any] = {label: dataset.restore(dataset.y), qid: dataset.restore(dataset.qid)}
    if dataset.doc_ids is not None:
        columns[doc_id] = dataset.restore(dataset.doc_ids)
    X = dataset.restore(X)
    columns |= {name: X[:, j] for j, name in enumerate(names)}
    if spreadsheet_safe:
        columns = {as_cell(name): _as_cells(column) for name, column in columns.items()}
    table = arrow.table({name: arrow.array(column) for name, column in columns.items()})
    with write_atomically(path) as out:
        if suffix(path) == ".parquet":
            _import("pyarrow.parquet").write_table(table, out)
        else:
            _import("pyarrow.csv").write_csv(table, out)


def _as_cells(column: Any) -> Any:
    return [as_cell(text) for text in column.tolist()] if column.dtype.kind in "UOT" else column


def _kinds(table: Any) -> dict[str, str | None]:
    """Return the columns, each with its type if that is no number and no truth value."""
    words = {"String": "text", "Object": "objects", "Unknown": "no values"}
    return {
        name: None
        if kind.is_numeric() or str(kind) == "Boolean"
        else words.get(str(kind), str(kind))
        for name, kind in table.schema.items()
    }


def _matrix(table: Any, names: list[str], path: str | None) -> Any:
    """Copy the columns into one matrix: float32 if all of them are, else float64."""
    columns = []
    for name in names:
        column = table.get_column(name)
        if str(column.dtype) == "Boolean":
            column = column.cast(_import("narwhals").Float64)
        columns.append(column)
    single = bool(columns) and all(str(column.dtype) == "Float32" for column in columns)
    X = np.empty((len(table), len(names)), dtype=np.float32 if single else np.float64)
    for j, column in enumerate(columns):
        X[:, j] = _to_numpy(column, names[j], path)
    return X


def _to_numpy(column: Any, name: str, path: str | None) -> Any:
    try:
        return column.to_numpy()
    except Exception as error:  # each library has errors of its own
        raise DataError(f"cannot be read: {_one_line(error)}.", path=path, field=name) from None


def _import(name: str) -> Any:
    return load_extra(name, "frames", "data frames, Parquet and CSV need")


def _one_line(error: Exception) -> str:
    """Return a foreign message on one line, without a full stop."""
    return " ".join(str(error).split()).rstrip(".")
