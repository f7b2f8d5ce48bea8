"""Files of scores: one number per line."""

from __future__ import annotations

import math

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike, display_name, open_binary
from rankwright.data.validation import Floats
from rankwright.data.writing import write_text
from rankwright.exceptions import DataError


def read_scores(path: PathLike, dataset: Dataset) -> Floats:
    """Read one score per line, in the order of a data set's lines.

    Parameters
    ----------
    path : str or path-like
        The file, or ``"-"`` for standard input.
    dataset : Dataset
        The documents that were scored.

    Returns
    -------
    ndarray
        Scores in the order of the data set's rows.
    """
    with open_binary(path) as (stream, _):
        lines = stream.read().split(b"\n")
    while lines and not lines[-1].strip():
        lines.pop()
    try:
        values = np.array([float(line) for line in lines])
    except ValueError:
        values = None
    if values is None or not np.isfinite(values).all():
        number, text = next((i, line) for i, line in enumerate(lines, 1) if not _is_finite(line))
        raise DataError(
            f"must be one finite number, but is {text.decode('utf-8', 'replace').strip()[:60]!r}.",
            path=display_name(path),
            line=number,
            field="score",
        )
    if len(values) != dataset.n_docs:
        raise DataError(
            f"there must be one score for each of the {dataset.n_docs} documents, but there are "
            f"{len(values)}.",
            path=display_name(path),
        )
    return np.asarray(values[dataset.order])


def write_scores(scores: Floats, dataset: Dataset, path: PathLike) -> None:
    """Write the scores of a data set's rows, in the order of its lines; ``"-"`` is standard output.

    Numbers take the fewest digits that read back to the same float.
    """
    write_text(path, "".join(f"{score!r}\n" for score in dataset.restore(scores).tolist()))


def _is_finite(text: bytes) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
