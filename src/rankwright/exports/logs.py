"""Logs of engines, as tables: query, doc, score, and the features by their names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike

from rankwright.data.columns import Columns
from rankwright.data.dataset import Dataset
from rankwright.data.frames import read_columns
from rankwright.data.tables import load_table
from rankwright.exceptions import DataError

_WANTED = Columns(label="score", qid="query", doc_id="doc")


def read_log(path: str | PathLike[str], names: Sequence[str]) -> tuple[Dataset, list[str]]:
    """Return a log, and which of the features have a column in it without any value.

    Columns that are no numbers are left out, unless they are features: then it is a DataError.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns that are no features are told of a log
        try:
            dataset = read_columns(path, _WANTED, allow_nan=True)
        except DataError as error:
            raise _of_log(error, path) from None
        there = set(dataset.feature_names or ())
        lacking = [name for name in names if name not in there]
        return dataset, _without_values(path, lacking) if lacking else []


def _of_log(error: DataError, path: str | PathLike[str]) -> DataError:
    """Return an error of a table as one of a log, whose label is a score."""
    if error.field in ("score", "query", "doc") and "must be a column" in error.message:
        return DataError(
            f"a log must have the columns query, doc and score, but has no {error.field}.",
            path=path,
        )
    if error.message.startswith("must be a table"):
        return DataError(
            "a log must be a table: name it .tsv, .csv, .jsonl or .parquet.", path=path
        )
    if error.message.startswith("y must"):
        return DataError(error.message.replace("y must", "score must", 1), path=path)
    return error


def _without_values(path: str | PathLike[str], names: Sequence[str]) -> list[str]:
    """Return the columns that hold no value at all; a DataError for one of texts."""
    table = load_table(path, _WANTED)
    found = [name for name in names if name in table.column_names]
    for name in found:
        column = table[name]
        if column.null_count < len(column):
            raise DataError(
                f"features must be numbers, or empty where they are missing, but the column has "
                f"texts, such as {_first_text(column.drop_null().to_pylist())!r:.50}.",
                path=path,
                field=name,
            )
    return found


def _first_text(values: Sequence[object]) -> object:
    """Return the first value that is not read as a number; the first, if all are."""
    for value in values:
        try:
            float(str(value))
        except ValueError:
            return value
    return values[0]
