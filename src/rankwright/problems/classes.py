"""Classification: two classes, many classes, ordered classes; costs and rejection."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from rankwright import _kernels
from rankwright.data.validation import Floats, finite_numbers
from rankwright.problems.native import Codes, Native

REJECT: Final = -1
"""The prediction that rejects."""


class Multiclass(Native):
    r"""Classes 0 to K - 1 on the basis vectors, with any loss matrix and an option to reject.

    .. math::
        \mathrm{rep}(k) = e_k, \qquad \mathrm{rep}(\mathrm{REJECT}) = \sum_j e_j / \sqrt{K}, \qquad
        L(k, y) = \Lambda_{ky}, \qquad L(\mathrm{REJECT}, y) = \beta_y

    For the 0-1 loss the surrogate is :math:`\max(0, 1 + \max_{k \ne y} t_k - t_y)`.

    As the paper defines it, REJECT is a prediction like the others, and a learner that starts with
    zero weights never takes it: updates never raise :math:`\sum_k t_k`, and
    :math:`\sum_k t_k/\sqrt{K} \le \max_k t_k` while that sum is not positive.
    ``rule="surrogate"`` makes it useful: reject if :math:`\beta_y \le \phi(t, y)` for every label
    y, :math:`\phi` the surrogate without REJECT, and otherwise take the class with the largest
    score. The surrogate still bounds the loss, which is all that Theorem 1 needs. For the 0-1 loss
    that is to reject when the two largest scores are within :math:`1 - \beta`.

    Parameters
    ----------
    n_classes : int
        :math:`K`, at least 2.
    loss : array-like of shape (K, K), optional
        :math:`\Lambda`, by prediction and label: 0 on the diagonal, positive elsewhere. By default
        the 0-1 loss.
    reject : float or array-like of shape (K,), optional
        :math:`\beta`, the positive cost of rejecting, by label if it has several values. None is no
        such option.
    rule : {"representation", "surrogate"}, default "representation"
        When to reject.

    Examples
    --------
    >>> Multiclass(3, reject=0.4).predict([1.0, 0.9, 0.8]) == REJECT  # 2.7/sqrt(3) > 1
    True
    """

    def __init__(
        self,
        n_classes: int,
        loss: ArrayLike | None = None,
        reject: float | ArrayLike | None = None,
        rule: Literal["representation", "surrogate"] = "representation",
    ) -> None:
        if rule not in ("representation", "surrogate"):
            raise ValueError(f"rule must be 'representation' or 'surrogate', but is {rule!r}.")
        self.rule = rule
        if n_classes < 2:
            raise ValueError(f"n_classes must be at least 2, but is {n_classes!r}.")
        self.n_classes = self.n_scores = int(n_classes)
        matrix = 1.0 - np.eye(self.n_classes) if loss is None else np.array(loss, dtype=np.float64)
        if matrix.shape != (self.n_classes, self.n_classes):
            raise ValueError(
                f"loss must be {n_classes} x {n_classes}, by prediction and label, but has shape "
                f"{matrix.shape}."
            )
        off = ~np.eye(self.n_classes, dtype=bool)
        if np.diag(matrix).any() or not (np.isfinite(matrix[off]) & (matrix[off] > 0)).all():
            raise ValueError("loss must be 0 on the diagonal, and positive and finite elsewhere.")
        costs = np.empty(0)
        if reject is not None:
            given = finite_numbers("reject", reject)
            if given.shape not in ((), (self.n_classes,)) or (given <= 0).any():
                found = f"has shape {given.shape}" if (given > 0).all() else f"has {given.min():g}"
                raise ValueError(
                    f"reject must be a positive cost, or one for each of {self.n_classes} classes, "
                    f"but {found}."
                )
            costs = np.broadcast_to(given, (self.n_classes,)).copy()
        self.matrix: Floats = np.ascontiguousarray(matrix)
        self.reject_costs: Floats = costs

    def _compile(self, n: int) -> _kernels.Problem:
        by_surrogate = self.rule == "surrogate"
        return _kernels.ClassProblem(self.matrix, self.reject_costs, by_surrogate)

    def encode(self, y: Any) -> Floats:
        """Return a class as an array."""
        return np.array([_check_class(y, self.n_classes)])

    def _code(self, prediction: Any) -> Codes:
        # In the kernel's tables REJECT is the row behind the classes, K: -1 is no row.
        rejected = prediction == REJECT and len(self.reject_costs) > 0
        code = self.n_classes if rejected else _check_class(prediction, self.n_classes)
        return np.array([code], dtype=np.int32)

    def _decode(self, codes: Codes) -> int:
        return REJECT if codes[0] == self.n_classes else int(codes[0])

    def extremes(self, scores: ArrayLike, y: Any) -> tuple[float, float, float]:
        """Return the similarities that margins are made of."""
        t = self._scores(scores)
        label = int(_check_class(y, self.n_classes))
        others = np.delete(t, label).max()
        # By the surrogate's rule REJECT is no argmax, and no vector competes with the class's own.
        if len(self.reject_costs) and self.rule == "representation":
            others = max(others, t.sum() / np.sqrt(self.n_classes))
        return float(t[label]), float(t[label]), float(others)

    def loss_range(self, y: Any = None) -> tuple[float, float]:
        r"""Return :math:`c_L` and :math:`C_L`."""
        losses = np.vstack([self.matrix, self.reject_costs.reshape(-1, self.n_classes)])
        if y is not None:
            losses = losses[:, int(_check_class(y, self.n_classes))]
        positive = losses[losses > 0]
        return float(positive.min()), float(positive.max())


class Ordinal(Multiclass):
    r"""Ordered classes 0 to K - 1 with the absolute loss.

    .. math::
        \mathrm{rep}(k) = e_k, \qquad L(k, y) = |k - y|

    Parameters
    ----------
    n_classes : int
        :math:`K`, at least 2.
    """

    def __init__(self, n_classes: int) -> None:
        # Basis vectors, though the classes are ordered: on a line only two points have length 1.
        ranks = np.arange(max(int(n_classes), 0), dtype=np.float64)
        super().__init__(n_classes, np.abs(ranks[:, None] - ranks))


class Binary(Native):
    r"""Two classes 0 and 1 on a line, with a cost for each.

    .. math::
        \mathrm{rep}(0) = -1, \quad \mathrm{rep}(1) = 1, \qquad
        L(\sigma, y) = \alpha_y [\sigma \ne y]

    For equal costs of 1 this is the perceptron. Two classes with an option to reject are a
    :class:`Multiclass` problem.

    Parameters
    ----------
    alpha : pair of float, default (1.0, 1.0)
        :math:`\alpha_0` and :math:`\alpha_1`, positive.
    """

    n_scores = 1
    n_classes = 2

    def __init__(self, alpha: tuple[float, float] = (1.0, 1.0)) -> None:
        first, second = map(float, alpha)
        if not (np.isfinite([first, second]).all() and min(first, second) > 0):
            raise ValueError(f"alpha must be two positive numbers, but is {alpha!r}.")
        self.alpha = (first, second)

    def _compile(self, n: int) -> _kernels.Problem:
        return _kernels.BinaryProblem(*self.alpha)

    def encode(self, y: Any) -> Floats:
        """Return a class as an array."""
        return np.array([_check_class(y, 2)])

    def _code(self, prediction: Any) -> Codes:
        return np.array([_check_class(prediction, 2)], dtype=np.int32)

    def _decode(self, codes: Codes) -> int:
        return int(codes[0])

    def extremes(self, scores: ArrayLike, y: Any) -> tuple[float, float, float]:
        """Return the similarities that margins are made of."""
        own = float(self._scores(scores)[0]) * (1 if _check_class(y, 2) else -1)
        return own, own, -own

    def loss_range(self, y: Any = None) -> tuple[float, float]:
        r"""Return :math:`c_L` and :math:`C_L`."""
        if y is not None:
            return (self.alpha[int(_check_class(y, 2))],) * 2
        return min(self.alpha), max(self.alpha)


def _check_class(y: Any, n_classes: int) -> float:
    if not (0 <= y < n_classes and int(y) == y):
        raise ValueError(f"a class must be a whole number from 0 to {n_classes - 1}, not {y!r}.")
    return float(y)
