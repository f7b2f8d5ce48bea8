"""How much memory data in parts would take, told before anything is read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rankwright.data.files import open_raw
from rankwright.data.formats import LETOR
from rankwright.data.manifest import has_manifest, read_manifest
from rankwright.data.part_files import same_format
from rankwright.data.tables import import_frames
from rankwright.exceptions import DataError

PROGRAM = 250_000_000  # bytes of the program itself, with its libraries
_OVER = 3  # times its features: what one part takes while it is read


def check_memory(
    paths: Sequence[str],
    most: int,
    fixed: float = 0,
    bytes_a_doc: float = 0,
    share: float = 0,
    *,
    format: str | None = None,
) -> None:
    r"""Raise unless the data can be read and learned from within so many bytes.

    .. math::
        P + f + 3 b F \max_i n_i + (s + r b F) \sum_i n_i

    for parts of :math:`n_i` documents with F features of b bytes, a learner that takes f bytes,
    s bytes a document and a share r of the features, and P = 250 MB for the program. Files that are
    mapped into memory do not count: the system gives their room to others when it is needed.
    """
    sizes, width = part_sizes(paths, format)
    bytes_a_doc = int(bytes_a_doc + share * width)
    largest, always = _OVER * max(sizes) * width, PROGRAM + fixed
    growing = bytes_a_doc * sum(sizes)
    needed = always + largest + growing
    if needed <= most:
        return
    more = "Partition the data into more parts, or allow" if always + growing < most else "Allow"
    raise DataError(
        f"needs about {needed / 1e9:.2f} GB of memory, but --max-memory allows {most / 1e9:.2f} "
        f"GB. It is {always / 1e9:.2f} GB in any case, {largest / 1e9:.2f} GB to read the largest "
        f"of {len(sizes)} parts, and {bytes_a_doc} bytes for each of {sum(sizes)} documents. "
        f"{more} more.",
        path=os.path.dirname(paths[0]) or paths[0],
    )


def part_sizes(paths: Sequence[str], format: str | None = None) -> tuple[list[int], int]:
    """Return the documents of each part, and the bytes of a document's features in memory."""
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
        return counts, 4 * n_features
    return counts, 8 * max(_columns_of_text(path) for path in paths)


def _parquet_sizes(paths: Sequence[str]) -> tuple[list[int], int]:
    arrow, reader = import_frames("pyarrow"), import_frames("pyarrow.parquet")
    counts, width = [], 0
    for path in paths:
        try:
            with open_raw(path) as file:
                found = reader.ParquetFile(file)
                counts.append(found.metadata.num_rows)
                width = max(width, 8 * found.metadata.num_columns)
        except (OSError, arrow.ArrowException) as error:
            text = " ".join(str(error).split()).rstrip(".")
            raise DataError(f"is not a readable parquet file: {text}.", path=path) from None
    return counts, width


def _columns_of_text(path: str) -> int:
    """Return about how many columns a table of text has, by its first line."""
    with open_raw(path) as file:
        head = file.readline(1 << 20)
    return 1 + max(head.count(mark) for mark in (b",", b";", b"\t"))
