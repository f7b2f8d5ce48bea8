"""Lengths: of documents, and of gradients by scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats, Matrix, check_X
from rankwright.losses import Loss, from_name
from rankwright.losses.loss import check_query_data, sum_by_query

_BLOCK = 65536  # rows; squares of everything at once would take as much memory as X


def radius(X: Any) -> float:
    r"""Return the length of the longest document.

    .. math::
        R_X = \max_i \|x_i\|_2

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_docs, n_features)
        Features.

    Examples
    --------
    >>> radius([[3.0, 4.0], [1.0, 0.0]])
    5.0
    """
    matrix = check_X(X)
    longest = 0.0
    for begin in range(0, matrix.shape[0], _BLOCK):
        part = matrix[begin : begin + _BLOCK].astype(np.float64)
        # Divided by the largest entry, no square is too large or too small.
        scale = float(np.abs(part.data if sp.issparse(part) else part).max(initial=0.0))
        if scale > 0:
            part = part / scale
            squares = np.asarray((part * part).sum(axis=1))
            longest = max(longest, scale * float(np.sqrt(squares.max())))
    return longest


def mean_square(X: Matrix) -> float:
    r"""Return the mean of :math:`\|x\|^2` over documents; infinite where it overflows."""
    total = 0.0
    with np.errstate(over="ignore"):
        for begin in range(0, X.shape[0], _BLOCK):
            part = X[begin : begin + _BLOCK]
            values = (part.data if sp.issparse(part) else part).astype(np.float64).ravel()
            total += float(values @ values)
    return total / max(int(X.shape[0]), 1)


def score_gradient_norms(
    loss: str | Loss, scores: ArrayLike, y: ArrayLike, groups: Groups | None = None
) -> Floats:
    r"""Return :math:`\|\nabla_s L\|_1` of each query.

    At most ``loss.lipschitz(m)`` on a query of m documents.

    Parameters
    ----------
    loss : str or Loss
        The loss or its name.
    scores, y : array-like of shape (n_docs,)
        Scores and labels.
    groups : Groups, optional
        Row ranges of the queries; None is one query.

    Examples
    --------
    >>> score_gradient_norms("rank_hinge", scores=[0, 1, 2], y=[2, 1, 0])  # three pairs
    array([4.])
    """
    labels, values, groups = check_query_data(scores, y, groups)
    _, grad = from_name(loss).value_and_grad(values, labels, groups)
    return sum_by_query(np.abs(grad), groups)
