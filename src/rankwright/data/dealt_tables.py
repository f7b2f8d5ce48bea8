"""Rows of tables, dealt out to parts by the hash of their query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rankwright.data.columns import Columns
from rankwright.data.feature_names import listed
from rankwright.data.groups import gather
from rankwright.data.hashing import hash_ids
from rankwright.data.lines import CannotStream
from rankwright.data.part_files import check_there
from rankwright.data.tables import (
    import_frames,
    join_tables,
    load_table,
    parquet_parts,
    plain_integers,
    write_table,
)
from rankwright.data.validation import check_qid
from rankwright.exceptions import DataError


class DealtTables:
    """Tables, cut into parts. Parquet is read in blocks of rows, other tables file by file.

    Parameters
    ----------
    paths : list of str
        The files.
    n_parts : int
        How many parts.
    columns : Columns
        The column of query ids, and the format.
    out_kind : str
        The format of the parts.
    """

    def __init__(self, paths: list[str], n_parts: int, columns: Columns, out_kind: str) -> None:
        self.paths, self.n_parts, self.columns = paths, n_parts, columns
        self.letor: dict[str, Any] = {}
        self.ending, self._kind = f".{out_kind}", out_kind
        self._schemas: dict[str, Any] = {}  # of all files that have rows

    def check(self) -> None:
        """Look whether all files are there."""
        check_there(self.paths)

    def deal(self, path: str, waiting: Path) -> None:
        """Write the rows of a file, each to those that wait for its part."""
        arrow = import_frames("pyarrow")
        writers: dict[int, Any] = {}
        source = self.paths.index(path)
        try:
            for table in self._tables(path):
                parts = self._part_of_rows(table, path)
                if table.num_rows:
                    self._schemas[path] = table.schema
                for number in np.unique(parts).tolist():
                    if number not in writers:
                        name = str(waiting / f"{number}.{source}.arrow")
                        writers[number] = arrow.ipc.new_file(name, table.schema)
                    writers[number].write_table(table.take(np.flatnonzero(parts == number)))
        finally:
            for writer in writers.values():
                writer.close()

    def _tables(self, path: str) -> Iterator[Any]:
        if self.columns.format != "parquet":
            yield load_table(path, self.columns)
            return
        begun = False
        try:
            for table in parquet_parts(path):
                begun = True
                yield table
        except CannotStream:
            if begun:
                raise DataError("is damaged: it cannot be read to its end.", path=path) from None
            yield load_table(path, self.columns)  # which says what is wrong

    def _part_of_rows(self, table: Any, path: str) -> Any:
        name = str(self.columns.qid)
        if table.column_names.count(name) != 1:
            raise DataError(
                f"there must be one column {name!r} with the query of each row, but there are "
                f"{listed(table.column_names)}. Name the right one: qid=... (--qid).",
                path=path,
                field=name,
            )
        return hash_ids(_query_column(table, name, path)) % np.uint64(self.n_parts)

    def gather(self, number: int, waiting: Path, out: str) -> tuple[int, int] | None:
        """Write a part; return how many documents and queries it has, None without any."""
        arrow = import_frames("pyarrow")
        found = {s: waiting / f"{number}.{i}.arrow" for i, s in enumerate(self.paths)}
        if not any(path.exists() for path in found.values()):
            return None
        tables = []
        # Files without rows here count too: all parts have the same columns of the same types.
        for source, schema in self._schemas.items():
            path = found[source]
            if not path.exists():
                tables.append((source, schema.empty_table()))
                continue
            with arrow.OSFile(str(path)) as file:
                tables.append((source, arrow.ipc.open_file(file).read_all()))
            path.unlink()
        table = join_tables(tables, self.columns)
        order, groups = gather(_query_column(table, str(self.columns.qid), out))
        with open(out, "wb") as file:
            write_table(table if order is None else table.take(order), self._kind, file)
        return table.num_rows, groups.n_queries


def _query_column(table: Any, name: str, path: str) -> Any:
    column = table[name]
    if len(missing := np.flatnonzero(column.is_null().to_numpy())):
        raise DataError(
            f"must not be missing, but row {missing[0]} has no value.", path=path, field=name
        )
    if str(column.type) in ("string", "large_string"):
        column = plain_integers(table, name)[name]
    try:
        return check_qid(column.to_numpy())
    except (TypeError, ValueError) as error:
        raise DataError(str(error), path=path, field=name) from None
