"""How much memory data in parts would take, told before anything is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from rankwright.data.files import open_raw
from rankwright.data.formats import LETOR
from rankwright.data.manifest import has_manifest, read_manifest
from rankwright.data.part_files import same_format
from rankwright.data.tables import import_frames
from rankwright.exceptions import DataError

PROGRAM = 250_000_000  # bytes of the program itself, with its libraries
_NO_FEATURES = 2  # columns: label and query id
_OVER = 3  # times its features: what one part takes while it is read


@dataclass(frozen=True)
class Sizes:
    """How large parts are, before they are read: documents of each, features, bytes of a value."""

    n_docs: Sequence[int]
    n_features: int
    n_bytes: int


@dataclass(frozen=True)
class Needed:
    """Bytes that are needed in any case, to read the largest part, and for each document."""

    always: float
    largest: int
    a_doc: int
    n_docs: int

    @property
    def growing(self) -> int:
        """Bytes for all documents."""
        return self.a_doc * self.n_docs

    @property
    def total(self) -> float:
        """All bytes."""
        return self.always + self.largest + self.growing

    def beside(self, other: Needed) -> Needed:
        """Return what is needed with the documents of other parts too."""
        largest, a_doc = max(self.largest, other.largest), max(self.a_doc, other.a_doc)
        return Needed(self.always, largest, a_doc, self.n_docs + other.n_docs)


def needed_memory(
    paths: Sequence[str],
    fixed: float = 0,
    a_doc: float = 0,
    a_value: float = 0,
    *,
    format: str | None = None,
) -> Needed:
    r"""Return the memory in which data can be read and learned from.

    .. math::
        P + f + 3 b F \max_i n_i + (s + r F) \sum_i n_i

    for parts of :math:`n_i` documents with F features of b bytes, a learner that takes f bytes,
    s bytes a document and r bytes a value, and P = 250 MB for the program. Files that are mapped
    into memory hardly count: pages of them are given back.
    """
    sizes = part_sizes(paths, format)
    largest = _OVER * max(sizes.n_docs) * sizes.n_features * sizes.n_bytes
    each = int(a_doc + a_value * sizes.n_features)
    return Needed(PROGRAM + fixed, largest, each, sum(sizes.n_docs))


def check_memory(
    paths: Sequence[str],
    most: int,
    *needs: float,
    format: str | None = None,
    valid: Sequence[str] = (),
) -> None:
    """Raise unless :func:`needed_memory` is at most so many bytes, validation parts included."""
    needed = needed_memory(paths, *needs, format=format)
    if valid:
        needed = needed.beside(needed_memory(valid, *needs, format=format))
    if needed.total <= most:
        return
    rest = needed.always + needed.growing
    more = "Partition the data into more parts, or allow" if rest < most else "Allow"
    raise DataError(
        f"needs about {needed.total / 1e9:.2f} GB of memory, but --max-memory allows "
        f"{most / 1e9:.2f} GB. It is {needed.always / 1e9:.2f} GB in any case, "
        f"{needed.largest / 1e9:.2f} GB to read the largest of {len(paths)} parts, and "
        f"{needed.a_doc} bytes for each of {needed.n_docs} documents. {more} more.",
        path=os.path.dirname(paths[0]) or paths[0],
    )


def part_sizes(paths: Sequence[str], format: str | None = None) -> Sizes:
    """Return how large parts are."""
    kind = same_format(paths, format)
    if kind == "parquet":
        return _parquet_sizes(paths)
    counts = []
    n_features = 0
    for path in paths:
        folder, name = os.path.split(path)
        if not has_manifest(folder):
            raise DataError(
                "how much memory it takes is not known before it is read. Partition the data "
                "first: rankwright partition FILE... -o FOLDER --parts N",
                path=path,
            )
        manifest = read_manifest(folder)
        counts += [part.n_docs for part in manifest.parts if part.name == name]
        n_features = max(n_features, int(manifest.letor.get("n_features", 0)))
    if kind == LETOR:
        return Sizes(counts, n_features, 4)
    return Sizes(counts, max(_columns_of_text(path) for path in paths), 8)


def _parquet_sizes(paths: Sequence[str]) -> Sizes:
    arrow, reader = import_frames("pyarrow"), import_frames("pyarrow.parquet")
    counts, n_columns, n_bytes = [], 0, 4
    for path in paths:
        try:
            with open_raw(path) as file:
                found = reader.ParquetFile(file)
                types = [column.physical_type for column in found.schema]
                counts.append(found.metadata.num_rows)
        except (OSError, arrow.ArrowException) as error:
            text = " ".join(str(error).split()).rstrip(".")
            raise DataError(f"is not a readable parquet file: {text}.", path=path) from None
        n_columns = max(n_columns, len(types))
        # Features are of single precision if all of them are; label and query id are none.
        others = [kind for kind in types if kind not in ("FLOAT", "BYTE_ARRAY")]
        n_bytes = max(n_bytes, 4 if len(others) <= _NO_FEATURES else 8)
    return Sizes(counts, n_columns, n_bytes)


def _columns_of_text(path: str) -> int:
    """Return about how many columns a table of text has, by its first line."""
    with open_raw(path) as file:
        head = file.readline(1 << 20)
    return 1 + max(head.count(mark) for mark in (b",", b";", b"\t"))
