"""Lengths: of documents, and of gradients by scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats, Matrix, check_X
from rankwright.losses import Loss, from_name
from rankwright.losses.loss import check_query_data, sum_by_query
from rankwright.theory.guarantee import Guarantee, require

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
        # Near the largest entry, no square is too large or too small. A power of two rounds
        # nothing: lengths do not depend on the rows beside them.
        largest = float(np.abs(part.data if sp.issparse(part) else part).max(initial=0.0))
        scale = math.ldexp(1.0, math.frexp(largest)[1] - 1)
        if largest > 0:
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
    loss: str | Loss, scores: ArrayLike, y: ArrayLike, groups: Groups | None = None, p: int = 1
) -> Floats:
    r"""Return :math:`\|\nabla_s L\|_p` of each query.

    For p = 1 at most ``loss.lipschitz(m)`` on a query of m documents.

    Parameters
    ----------
    loss : str or Loss
        The loss or its name.
    scores, y : array-like of shape (n_docs,)
        Scores and labels.
    groups : Groups, optional
        Row ranges of the queries; None is one query.
    p : {1, 2}, default 1
        Which norm.

    Examples
    --------
    >>> score_gradient_norms("rank_hinge", scores=[0, 1, 2], y=[2, 1, 0])  # three pairs
    array([4.])
    """
    if p not in (1, 2):
        raise ValueError(f"p must be 1 or 2, but is {p!r}.")
    labels, values, groups = check_query_data(scores, y, groups)
    _, grad = from_name(loss).value_and_grad(values, labels, groups)
    return sum_by_query(np.abs(grad) ** p, groups) ** (1 / p)


def slam_proposition4(surrogate: float, radius: float, max_docs: int, v_max: float) -> Guarantee:
    r"""Proposition 4 of the SLAM paper: a step is short where the surrogate is small.

    .. math::
        \|z_t\|^2 \le 4 m R_X^2 v_{\max} f_t(w_t), \qquad z_t \in \partial f_t(w_t)

    on a query with a loss (elsewhere both sides are 0). It is what Theorem 5 is made of. Proof:
    :math:`\|z\| \le 2 R_X V` with :math:`V = \sum_i v_i \le 1`, and some document i with a
    weight is misordered, so that its hinge is 1 or more and
    :math:`V \le m v_{\max} v_i \le m v_{\max} f`; then
    :math:`\|z\|^2 \le 4 R_X^2 V \cdot V`.

    Parameters
    ----------
    surrogate : float
        :math:`f_t(w_t)`, SLAM's loss of the query.
    radius : float
        :math:`R_X`, the length of the longest document.
    max_docs : int
        m, the documents of the query; with a cutoff, that.
    v_max : float
        The largest ratio of two positive weights of the query.

    Examples
    --------
    >>> slam_proposition4(surrogate=0.5, radius=2.0, max_docs=10, v_max=3.0).value
    240.0
    """
    require(surrogate=surrogate, radius=radius, max_docs=max_docs, v_max=v_max)
    return Guarantee(
        "Proposition 4",
        "|z|^2",
        "4 m R^2 v_max f",
        4 * max_docs * radius**2 * v_max * surrogate,
        {"f": surrogate, "R": radius, "m": max_docs, "v_max": v_max},
    )
