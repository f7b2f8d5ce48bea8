r"""Links: what Predtron's norms mean for steps and bounds.

With :math:`\psi(W) = \frac12 \|W\|_r^2` and :math:`q = r/(r - 1)` an update in the dual weights
costs :math:`(q - 1) n^{2/q} R^2` where the Euclidean one costs :math:`R^2`; n is the number of
entries, columns or singular values that the norm is taken over, and R is measured in the dual norm
of margins by :math:`\|W\|_1`. Predtron.Link takes :math:`q = \log n`, which makes that
:math:`e^2 (\log n - 1) R^2`. Below n = 8 this :math:`r = \log n/(\log n - 1)` is above 2 or
negative (P8), and r = q = 2 is used.
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats, Matrix, check_X

NormName: TypeAlias = Literal["l2", "l1", "group", "trace"]
NORMS = ("l2", "l1", "group", "trace")


def link_size(norm: NormName, n_features: int, n_scores: int = 1) -> int:
    """Return n: how many entries, columns or singular values a norm is taken over."""
    if norm == "l1":
        return n_features * n_scores
    return {"l2": 1, "group": n_features, "trace": min(n_features, n_scores)}[norm]


def link_exponent(n: int) -> float:
    r"""Return the dual exponent q of a link over n values: :math:`\log n` from n = 8 on, else 2.

    >>> link_exponent(7), round(link_exponent(100), 3)
    (2.0, 4.605)
    """
    # The proof needs 1 < r <= 2, that is q >= 2: n >= e^2 = 7.39.
    return math.log(n) if n >= 8 else 2.0


def link_constant(norm: NormName, n: int) -> float:
    r"""Return :math:`(q - 1) n^{2/q}`, which multiplies :math:`R^2`; 1 for ``"l2"``."""
    if norm == "l2":
        return 1.0
    q = link_exponent(n)
    # q - 1 is the smoothness of the dual of psi, in |.|_q; |G|_q <= n^(1/q) |G|_max does the rest,
    # and n^(1/q) = e for q = log n.
    return float((q - 1) * n ** (2 / q))


def weight_norm(W: Any, norm: NormName) -> float:
    r"""Return the norm by which a margin is measured.

    ``"l2"`` is Frobenius' norm, ``"l1"`` the sum of absolute entries, ``"group"`` the sum of the
    lengths of the columns (one for each feature), ``"trace"`` the sum of the singular values. One
    weight for each feature is a matrix with one row.
    """
    matrix = np.atleast_2d(np.asarray(W, dtype=np.float64))
    if norm == "l1":
        return float(np.abs(matrix).sum())
    if norm == "group":
        return float(np.linalg.norm(matrix, axis=0).sum())
    return float(np.linalg.norm(matrix, "nuc") if norm == "trace" else np.linalg.norm(matrix))


def link_norm(W: Any, norm: NormName, exponent: float) -> float:
    r"""Return the norm of weights with an exponent, over what ``norm`` is taken over.

    With exponent 1 it is :func:`weight_norm`. With the link's q it is that of
    :math:`\Theta = \nabla\psi(W)`, and with :math:`r = q/(q - 1)` that of U in
    :math:`\langle \Theta, U \rangle \le \|\Theta\|_q \|U\|_r`.
    """
    matrix = np.atleast_2d(np.asarray(W, dtype=np.float64))
    if norm == "l2" or exponent == 2:  # all of them
        return float(np.linalg.norm(matrix))
    values = np.abs(matrix).ravel()
    if norm == "group":
        values = np.linalg.norm(matrix, axis=0)
    elif norm == "trace":
        values = np.linalg.svd(matrix, compute_uv=False)
    largest = float(values.max(initial=0.0))
    return largest * float(np.linalg.norm(values / largest, exponent)) if largest > 0 else 0.0


def link_radius(
    X: Matrix, norm: NormName, groups: Groups | None = None, *, intercept: bool = False
) -> float:
    r"""Return R: the size of the largest input, in the norm that the bound needs.

    For rows: the largest length, or with ``"l1"`` and ``"group"`` the largest entry. For queries
    (``groups``): the largest operator norm :math:`\|X_q\|`, or with ``"l1"`` and ``"group"`` the
    largest length of a query's column. An intercept counts as a feature that is 1.
    """
    X = check_X(X)
    # R is the norm dual to that of the margin. A row enters as rep x^T, |rep| = 1: the dual of l1
    # and group sees its largest entry, that of the trace (the operator norm) its length.
    if groups is None:
        if norm in ("l1", "group"):
            values = np.abs(X.data if sp.issparse(X) else X)
            largest = float(values.max(initial=0.0))
            return max(largest, 1.0) if intercept else largest
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else _row_squares(X)
        return math.sqrt(float(np.max(squares, initial=0.0)) + intercept)
    return max((_query_radius(X[rows], norm) for rows in groups), default=0.0)


def _row_squares(X: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def _query_radius(X: Matrix, norm: NormName) -> float:
    if norm in ("l1", "group"):
        squares = X.multiply(X).sum(axis=0) if sp.issparse(X) else _row_squares(X.T)
        return math.sqrt(float(np.max(squares, initial=0.0)))
    # Both products have the same largest eigenvalue, |X|^2; rounding may make a zero negative.
    small = X @ X.T if X.shape[0] <= X.shape[1] else X.T @ X
    gram = np.asarray(small.toarray() if sp.issparse(small) else small, dtype=np.float64)
    return math.sqrt(max(0.0, float(np.linalg.eigvalsh(gram)[-1]))) if gram.size else 0.0
