"""Tables and data frames (pandas, polars, Arrow) with named columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from rankwright.data.alignment import Features
from rankwright.data.categories import Categories, as_level, encoded
from rankwright.data.columns import DOC_ID, NO_VALUES, Columns
from rankwright.data.csv_blocks import CsvRows, csv_parts, read_csv_blocks
from rankwright.data.dataset import Dataset
from rankwright.data.feature_names import feature_name
from rankwright.data.files import PathLike, display_name
from rankwright.data.foreign import plain
from rankwright.data.formats import format_of, format_to_write, require_table
from rankwright.data.groups import Coded
from rankwright.data.kept import Kept, kept_texts
from rankwright.data.lines import CannotStream
from rankwright.data.spreadsheets import as_cell
from rankwright.data.tables import (
    import_frames,
    index_columns,
    line_of_row,
    load_table,
    one_line,
    parquet_parts,
    write_table,
)
from rankwright.data.validation import (
    check_doc_ids,
    check_names,
    check_qid,
    check_X,
    check_y,
    first_place,
    require_rows,
)
from rankwright.data.views import columns_for_frame
from rankwright.data.writing import write_atomically
from rankwright.exceptions import DataError


def from_frame(
    frame: Any,
    *,
    label: str | None = "label",
    qid: str | None = "qid",
    doc_id: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    keep: Sequence[str] = (),
    allow_nan: bool = False,
    path: str | None = None,
) -> Dataset:
    """Make a data set of a data frame.

    Parameters
    ----------
    frame : pandas, polars, pyarrow or other data frame
        One document a row.
    label, qid, doc_id : str
        Columns with labels, query ids and document ids. ``label=None`` makes all labels 0, as for
        documents that are to be scored; ``qid=None`` means one query; ``doc_id=None`` takes a
        column ``doc_id`` if there is one.
    features : sequence of str, optional
        Feature columns, which may be empty; by default all others that are numbers. A warning names
        the texts that are left out, and columns that look like the index of a pandas frame.
    ignore : sequence of str
        Columns to leave out without a word.
    categorical : sequence of str
        Columns of categories, texts or numbers: features whose values are names
        (:mod:`rankwright.data.categories`).
    keep : sequence of str
        Columns to keep in ``Dataset.kept``, to measure by. What else they are does not change: a
        column of numbers is a feature too, unless it is ignored.
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
    wanted = Columns(label, qid, doc_id, features, ignore, categorical=categorical, keep=keep)
    return _from_frame(frame, wanted, allow_nan=allow_nan, path=path)


def features_of(frame: Any, model: Features) -> Dataset:
    """Make a data set of the columns of a frame that the features of a model are made of."""
    return _from_frame(frame, Columns(label=None, qid=None, model=model), allow_nan=True, path="X")


def _from_frame(
    frame: Any,
    wanted: Columns,
    *,
    index: Sequence[str] = (),
    allow_nan: bool = False,
    path: str | None = None,
) -> Dataset:
    """Make a data set of a frame; ``index`` are columns that were its index."""
    nw = import_frames("narwhals")
    try:
        table = nw.from_native(plain(frame, "frame"), eager_only=True)
    except ValueError as error:
        raise DataError(f"cannot be used: {one_line(error)}.", path=path) from None
    wanted = wanted.found(list(table.columns), path)
    n_rows = len(table)
    require_rows(n_rows, path)
    try:
        kinds = _kinds(table)
    except UnicodeDecodeError:  # of fields within a column
        raise DataError("names of columns must be UTF-8 text.", path=path) from None
    names = wanted.choose(kinds, index, path)
    X, levels = _matrix(table, names, wanted.categorical, path)

    def values(column: str) -> Any:
        series = table.get_column(column)
        if len(missing := series.is_null().arg_true()):
            raise DataError(
                f"must not be missing, but row {missing[0]} has no value.", path=path, field=column
            )
        return _to_numpy(series, column, path)

    label = wanted.label if wanted.labelled else None
    return _from_checked(
        X,
        np.zeros(n_rows) if label is None else values(label),
        np.zeros(n_rows, dtype=np.int64) if wanted.qid is None else values(wanted.qid),
        names,
        None if wanted.doc_id is None else values(wanted.doc_id),
        categories=levels,
        kept={name: kept_texts(table.get_column(name).to_list()) for name in wanted.keep},
        allow_nan=allow_nan,
        path=path,
    )


def _from_checked(
    X: Any,
    y: Any,
    qid: Any,
    names: list[str],
    docs: Any,
    *,
    categories: Categories | None = None,
    kept: Kept | None = None,
    allow_nan: bool,
    path: str | None,
) -> Dataset:
    """Make a data set of columns, or say what is wrong with them."""
    n_rows = len(X)
    if not allow_nan:
        _check_finite(X, names, path)
    try:
        return Dataset.from_checked(
            check_X(X, allow_nan=True),
            check_y(y, n_rows),
            qid if isinstance(qid, Coded) else check_qid(qid, n_rows),
            Features(len(names), check_names(names, len(names)), categories=categories or {}),
            check_doc_ids(docs, n_rows),
            kept=kept,
            owned=True,
        )
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(str(error), path=path) from None


def read_frame(
    path: PathLike,
    *,
    format: str | None = None,
    label: str | None = "label",
    qid: str | None = "qid",
    doc_id: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    keep: Sequence[str] = (),
    allow_nan: bool = False,
) -> Dataset:
    """Read a table: Parquet, CSV, TSV or JSON lines; see :func:`from_frame`.

    The ending tells the format (``.parquet``, ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson``, also
    compressed), or ``format``. The delimiter of CSV is a comma, a semicolon or a tab: the one that
    the header has most of. A folder is a table in parts, whose columns are joined by name.
    """
    wanted = Columns(
        label, qid, doc_id, features, ignore, format, categorical=categorical, keep=keep
    )
    return read_columns(path, wanted, allow_nan=allow_nan)


def read_columns(path: PathLike, wanted: Columns, *, allow_nan: bool = False) -> Dataset:
    """Do what :func:`read_frame` does, with columns that are told by one object."""
    if (rows := read_csv_blocks(path, wanted)) is not None:
        return _from_rows(rows, wanted, allow_nan, display_name(path))
    table = load_table(path, wanted)
    return _from_frame(
        table, wanted, index=index_columns(table), allow_nan=allow_nan, path=display_name(path)
    )


def read_blocks_of_table(
    path: PathLike, wanted: Columns, *, allow_nan: bool = False
) -> Iterator[Dataset]:
    """Do what :func:`read_columns` does, a part of the rows at a time, in bounded memory.

    Files that must be read as a whole, for a message if nothing else, are CannotStream.
    """
    name = display_name(path)
    try:
        if format_of(path, wanted.format) == "parquet":
            for table in parquet_parts(path):
                if wanted.found(table.column_names, name).categorical:
                    raise CannotStream("it has categories, of which all levels must be known")
                index = index_columns(table)
                yield _from_frame(table, wanted, index=index, allow_nan=allow_nan, path=name)
        else:
            for rows in csv_parts(path, wanted):
                yield _from_rows(rows, wanted, allow_nan, name)
    except DataError:
        raise CannotStream("something is wrong with it") from None


def _from_rows(rows: CsvRows, wanted: Columns, allow_nan: bool, path: str) -> Dataset:
    """Make a data set of the rows of a large file."""
    head = import_frames("narwhals").from_native(rows.head, eager_only=True)
    wanted = wanted.found(list(head.columns), path)
    names = wanted.choose(_kinds(head), (), path)  # which tells what is left out
    n_rows, given = len(rows.X), rows.others
    label = wanted.label if wanted.labelled else None
    return _from_checked(
        rows.X,
        np.zeros(n_rows) if label is None else given[label],
        np.zeros(n_rows, dtype=np.int64) if wanted.qid is None else given[wanted.qid],
        names,
        None if wanted.doc_id is None else given[wanted.doc_id],
        allow_nan=allow_nan,
        path=path,
    )


def write_frame(
    dataset: Dataset,
    path: PathLike,
    *,
    label: str = "label",
    qid: str = "qid",
    doc_id: str = DOC_ID,
    spreadsheet_safe: bool = False,
    format: str | None = None,
) -> None:
    """Write a data set as Parquet, CSV, TSV or JSON lines, rows in the order of the input.

    Features without names become ``f1``, ``f2``, ... With ``spreadsheet_safe``, ids and names that
    a spreadsheet would take for formulas get an apostrophe; they are not read back as they were.
    """
    kind = format_to_write(path, format)
    require_table(kind, path)
    arrow = import_frames("pyarrow")
    try:
        columns = columns_for_frame(dataset, label, qid, doc_id)
    except DataError as error:
        raise DataError(error.message, path=path) from None
    if spreadsheet_safe:
        columns = {as_cell(name): _as_cells(column) for name, column in columns.items()}
    table = arrow.table({name: arrow.array(column) for name, column in columns.items()})
    with write_atomically(path) as out:
        write_table(table, kind, out)


def _as_cells(column: Any) -> Any:
    if column.dtype.kind not in "UOT":
        return column
    return [None if text is None else as_cell(text) for text in column.tolist()]


def _kinds(table: Any) -> dict[str, str | None]:
    """Return the columns, each with its type if that is no number and no truth value."""
    words = {"String": "text", "Object": "objects"}
    return {
        name: None
        if kind.is_numeric() or str(kind) == "Boolean"
        else NO_VALUES
        if _is_empty(table.get_column(name))
        else words.get(str(kind), str(kind))
        for name, kind in table.schema.items()
    }


def _is_empty(column: Any) -> bool:
    """Tell whether a column has no values, and hence no type."""
    return str(column.dtype) == "Unknown" and column.null_count() == len(column)


def _matrix(
    table: Any, names: list[str], categorical: Sequence[str], path: str | None
) -> tuple[Any, dict[str, list[str]]]:
    """Copy the columns into one matrix: float32 if all of them are, else float64.

    Also returns the levels of those that are categories.
    """
    nw, columns, levels = import_frames("narwhals"), [], {}
    for name in names:
        column = table.get_column(name)
        if str(column.dtype) == "Boolean" and name not in categorical:
            column = column.cast(nw.Float64)
        columns.append(column)
    single = bool(columns) and all(str(column.dtype) == "Float32" for column in columns)
    X = np.empty((len(table), len(names)), dtype=np.float32 if single else np.float64)
    for j, (name, column) in enumerate(zip(names, columns, strict=True)):
        if name in categorical:
            texts = np.array([as_level(value) for value in column.to_list()], dtype=object)
            X[:, j], levels[name] = encoded(texts)
        else:
            X[:, j] = np.nan if _is_empty(column) else _to_numpy(column, name, path)
    return X, levels


def refuse_infinite(dataset: Dataset, path: str, rows_before: int = 0) -> None:
    """Raise for an infinite value of a data set, or of a part of one, that may lack values."""
    values = dataset.X.data if dataset.is_sparse else dataset.X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    wrong = np.isinf(values)
    if wrong.any():
        row, column = first_place(dataset.X, wrong)
        name = feature_name(dataset.feature_names, column)
        _refuse(dataset.X[row, column], rows_before + int(dataset.order[row]), name, path)


def _check_finite(X: Any, names: list[str], path: str | None) -> None:
    """Raise for a value that is missing or infinite."""
    wrong = ~np.isfinite(X)
    if wrong.any():
        row, column = first_place(X, wrong)
        _refuse(X[row, column], row, names[column], path)


def _refuse(value: float, row: int, name: str, path: str | None) -> NoReturn:
    """Raise for a value, and say in which line it is."""
    line = None if path is None else line_of_row(path, row)
    place = f" in row {row}" if line is None else ""
    what, hint = f"{value:g}", ""
    if np.isnan(value):
        what, hint = "missing", ", or allow missing values (allow_nan=True; --missing median)"
    raise DataError(
        f"must be a finite number, but is {what}{place}. Replace it{hint}.",
        path=path,
        line=line,
        field=name,
    )


def _to_numpy(column: Any, name: str, path: str | None) -> Any:
    try:
        return column.to_numpy()
    except Exception as error:  # each library has errors of its own
        raise DataError(f"cannot be read: {one_line(error)}.", path=path, field=name) from None
