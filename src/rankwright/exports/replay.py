"""Probes as a table that an engine can be asked again: query, doc, score, then the features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwright.exports.judging import Hearing


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
