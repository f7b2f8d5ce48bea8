"""Votes of all weights of a Predtron run: scores behind a link, and ballots of a problem."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rankwright import _kernels
from rankwright.data.validation import Floats, Matrix
from rankwright.online.votes import UPDATES, History
from rankwright.theory.links import NormName


def linked_history(
    norm: NormName, q: float, points: Floats, coef: Floats, intercept: bool
) -> History:
    """Return the scores under all weights, each made of the updates before it by the link."""
    shape = points.shape[1] + intercept, coef.shape[1]

    def weights() -> Iterator[Floats]:
        theta, W = np.zeros(shape), np.zeros(shape)
        yield W
        for x, c in zip(points, coef, strict=True):
            theta += np.outer(np.append(x, 1.0) if intercept else x, c)
            _kernels.LinkedWeights(norm, q, theta, intercept).write(W.ravel())
            yield W

    def scores_of(rows: Matrix) -> Iterator[tuple[int, Floats]]:
        first, made, features = 0, [], points.shape[1]
        for W in weights():
            scores = np.asarray(rows @ W[:features], dtype=np.float64)
            made.append(scores + W[features] if intercept else scores)
            if len(made) == UPDATES:
                yield first, np.stack(made, axis=1)
                first, made = first + UPDATES, []
        if made:
            yield first, np.stack(made, axis=1)

    return scores_of
