"""Read a data set, whatever its format."""

from __future__ import annotations

from typing import Any

from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike, suffix
from rankwright.data.frames import SUFFIXES, read_frame, write_frame
from rankwright.data.letor import read_letor, write_letor


def read(path: PathLike, **options: Any) -> Dataset:
    """Read a data set.

    ``.parquet`` and ``.csv`` go to :func:`rankwright.data.read_frame`, everything else is LETOR
    text and goes to :func:`rankwright.data.read_letor`; ``options`` are theirs. ``.gz`` and
    ``.zst`` may follow; ``"-"`` is standard input.

    Parameters
    ----------
    path : str or path-like
        The file.
    **options
        Of the reader, such as ``dtype=`` and ``n_features=`` for LETOR or ``label=`` for Parquet.

    Examples
    --------
    >>> import rankwright as rw
    >>> ds = rw.read("train.txt")  # doctest: +SKIP
    """
    return read_frame(path, **options) if suffix(path) in SUFFIXES else read_letor(path, **options)


def write(dataset: Dataset, path: PathLike, *, spreadsheet_safe: bool = False) -> None:
    """Write a data set in the format that the name tells; see :func:`read`.

    ``spreadsheet_safe`` is for ``.csv``: see :func:`rankwright.data.write_frame`.
    """
    if suffix(path) in SUFFIXES:
        write_frame(dataset, path, spreadsheet_safe=spreadsheet_safe)
    else:
        write_letor(dataset, path)
