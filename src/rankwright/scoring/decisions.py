r"""What scores decide: labels of an ordered set, classes, sets of labels.

Thresholds :math:`b_1 \le \ldots \le b_{k-1}` decide for :math:`\min \{ r : s < b_r \}`, a score
that is a rank itself for the nearest one, and scores of classes for the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright import _kernels
from rankwright.data.groups import Ints
from rankwright.data.validation import Floats
from rankwright.problems.classes import Binary, Multiclass, Ordinal
from rankwright.problems.native import Native


def by_thresholds(scores: Floats, thresholds: Floats) -> Ints:
    """Return how many thresholds each score has reached."""
    return thresholds.searchsorted(scores, "right").astype(np.int64, copy=False)


def by_rounding(scores: Floats, n_ranks: int) -> Ints:
    """Return ranks, from 0, of scores that are ranks from 1 before rounding."""
    return by_thresholds(scores, _between_ranks(n_ranks))


@cache  # to make them takes as long as to find the ranks of a query
def _between_ranks(n_ranks: int) -> Floats:
    """Return what a score must reach to be rounded to the second rank, to the third, and so on."""
    # Halves go up, as in the kernel; np.round would take them to the even rank.
    halves = np.arange(1.5, n_ranks)
    halves.flags.writeable = False
    return halves


def plurality(votes: Floats) -> Ints:
    """Return the option with most votes, or the largest score; of equal ones the first."""
    return np.asarray(votes.argmax(axis=1), dtype=np.int64)


def predicted_codes(problem: Native, scores: Floats, n_codes: int) -> NDArray[np.int32]:
    """Return what a problem predicts, as integers; the last axis of the scores is that of one."""
    flat = np.ascontiguousarray(scores.reshape(-1, scores.shape[-1]))
    codes = np.empty((len(flat), n_codes), dtype=np.int32)
    _kernels.predict_all(problem.kernel(1), flat, codes)
    return codes.reshape(*scores.shape[:-1], n_codes)


def class_codes(
    scores: Floats, rejecting: Callable[[], Native] | None = None
) -> NDArray[np.integer[Any]]:
    """Return the best class of each row of scores; with two on a line, the second above 0.

    ``rejecting`` makes the problem of those that may reject; without, this is what problems of
    classes predict, whatever their costs, and they take longer to make.
    """
    if rejecting is not None:
        return predicted_codes(rejecting(), scores, 1)[:, 0]
    return plurality(scores) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.int64)


def problem_of_classes(n: int, loss: ArrayLike | None, reject: ArrayLike | None) -> Native:
    """Return the problem of n classes with costs, and an option to reject.

    One cost for each true class, or a matrix by prediction and true class.
    """
    matrix = None if loss is None else np.asarray(loss, dtype=np.float64)
    if matrix is not None and matrix.ndim == 1:
        if len(matrix) != n:
            raise ValueError(f"loss must have a cost for each of {n} classes.")
        matrix = np.where(np.eye(n, dtype=bool), 0.0, matrix)  # by true class: columns
    # Two classes lie on a line, and one score tells them apart; its costs are by true class.
    if n == 2 and reject is None:
        problem = Multiclass(2, matrix)  # checks the costs
        return Binary((float(problem.matrix[1, 0]), float(problem.matrix[0, 1])))
    return Multiclass(n, matrix, reject, rule="surrogate")


def problem_of_ranks(n: int) -> Native:
    """Return the problem of n ordered classes."""
    # Between two classes the distance is 0 or 1: the 0-1 loss, for which one score is enough.
    return Binary() if n == 2 else Ordinal(n)


def named_classes(
    codes: NDArray[np.integer[Any]], classes: NDArray[Any], reject: Any, reject_label: Any
) -> NDArray[Any]:
    """Return classes by their codes; that of the option to reject is behind them."""
    if reject is None:
        return np.asarray(classes[codes])
    label = reject_label
    if label is None:
        label = "reject" if classes.dtype.kind in "UO" else -1
    if label in classes.tolist():
        raise ValueError(
            f"reject_label must be none of the classes, but is {label!r}. Pass another one."
        )
    return np.asarray(np.append(classes, np.array([label]))[codes])


def named_sets(
    codes: NDArray[np.integer[Any]], classes: NDArray[Any], n_labels: int
) -> NDArray[Any]:
    """Return sets of labels as ones and zeros; of one label that is a vector, its values."""
    if not is_one_label(classes, n_labels):
        return codes.astype(np.int64)
    named: NDArray[Any] = classes[codes[:, 0]]
    return named


def is_one_label(classes: NDArray[Any], n_labels: int) -> bool:
    """Tell whether labels were a vector."""
    # A matrix with one column has one class, the column's number; a vector has its two values.
    return n_labels == 1 and len(classes) == 2
