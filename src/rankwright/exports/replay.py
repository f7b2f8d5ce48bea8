"""Probes as a table that an engine can be asked again: query, doc, score, then the features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.exports.judging import Hearing
from rankwright.exports.rules import NUMBERS
from rankwright.exports.targets.target import Rows


def replay_table(trial: Hearing, names: Sequence[str]) -> bytes:
    """Return probes with the scores that the engine must give; a missing value is empty.

    Numbers are the shortest texts that are read back as the same doubles.
    """
    lines = ["\t".join(["query", "doc", "score", *names])]
    scores = np.atleast_2d(np.asarray(trial.verdicts.scores).T)
    for i, row in enumerate(trial.rows.astype(np.float64).tolist()):
        score = " ".join(repr(float(one)) for one in scores[:, i])
        values = ["" if value != value else repr(value) for value in row]
        lines.append("\t".join(["probe", str(i + 1), score, *values]))
    return ("\n".join(lines) + "\n").encode()


def replayed_probes(path: Path, names: Sequence[str], number: str) -> tuple[Rows, Floats]:
    """Return the rows and scores of a table that :func:`replay_table` wrote."""
    try:
        head, *lines = path.read_bytes().decode().splitlines()
        if head.split("\t") != ["query", "doc", "score", *names]:
            raise ValueError
        cells = [line.split("\t") for line in lines]
        rows = np.array([[float(text or "nan") for text in row[3:]] for row in cells])
        scores = np.array([[float(text) for text in row[2].split()] for row in cells])
        rows = rows.reshape(len(cells), len(names)).astype(NUMBERS[number])
        return rows, scores[:, 0] if scores.shape[1:] == (1,) else scores
    except (ValueError, IndexError):
        raise DataError("is not a table of probes.", path=path) from None
