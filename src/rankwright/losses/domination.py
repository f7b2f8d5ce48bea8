"""The domination loss of Domination Rank."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.losses.loss import Bound, Loss
from rankwright.metrics.domination import DominationError
from rankwright.threads import n_threads


@dataclass(frozen=True, eq=False)
class Domination(Loss):
    r"""Soft count of the documents that are outscored by something they dominate.

    .. math::
        L(s, y) = \sum_i \log\Bigl(1 + \sum_{j : y_j < y_i} e^{\Delta(i, j) + s_j - s_i}\Bigr)

    over the documents :math:`i` that dominate something. Documents of equal labels form a layer;
    sums over the layers below are kept as logarithms, so that a query costs :math:`O(m)` on known
    labels and no score is too large.

    Without a margin, or with one that is never negative, :math:`L / \log 2` is at least the number
    of violated dominators, and :math:`\|\nabla_s L\|_1 \le 2 \times` the number of dominators.

    Parameters
    ----------
    margin : None, float, callable or array of shape (K, K), default None
        None is 0. A number :math:`\Delta` is the margin of every pair. A function :math:`t` of the
        labels gives the separable margin :math:`\Delta(i, j) = t(y_i) - t(y_j)`. An array holds the
        margin of each pair of labels, ``margin[y_i, y_j]``, for labels 0, 1, ..., K - 1.

    References
    ----------
    .. [1] Stevens, "Domination Rank"; equations as corrected in the papers page, D3-D9.

    Examples
    --------
    >>> value, grad = Domination().value_and_grad([0.0, 0.0], [1, 0])  # log(1 + e^0)
    >>> round(value, 6), grad  # log 2
    (0.693147, array([-0.5,  0.5]))
    """

    margin: Any = None

    name: ClassVar[str] = "domination"
    cost: ClassVar[str] = "O(m log m), O(m) on known labels"

    def __post_init__(self) -> None:
        margin = self.margin
        if margin is None or callable(margin):
            return
        try:
            array = np.asarray(margin, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.array(math.nan)
        square = array.ndim == 2 and array.shape[0] == array.shape[1]
        if not (array.ndim == 0 or square) or not np.isfinite(array).all():
            raise ValueError(
                "margin must be None, a finite number, a function of the labels, or a finite "
                f"square array by labels, but is {margin!r}."
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domination):
            return NotImplemented
        mine, theirs = self.margin, other.margin
        if mine is None or theirs is None or callable(mine) or callable(theirs):
            return type(mine) is type(theirs) and bool(mine == theirs)
        return np.array_equal(mine, theirs)

    def __hash__(self) -> int:
        if self.margin is None or callable(self.margin):
            return hash((Domination, self.margin))
        return hash((Domination, (np.asarray(self.margin, dtype=np.float64) + 0.0).tobytes()))

    @property
    def bound(self) -> Bound | None:
        """The number of violated dominators times log 2, if no margin can be negative."""
        if self.margin is not None and (callable(self.margin) or np.min(self.margin) < 0):
            return None
        metric = DominationError(ties="worst", empty=0.0)

        def lower(y: Floats, scores: Floats, groups: Groups) -> Floats:
            share = metric.per_query(y, scores, groups)
            lowest = np.full(groups.n_queries, np.inf)
            query = groups.query_of_rows()
            np.minimum.at(lowest, query, y)
            dominating = np.bincount(query, weights=y > lowest[query], minlength=groups.n_queries)
            return math.log(2) * share * dominating

        return Bound(metric, lower, "log 2 x the number of violated dominators")

    def lipschitz(self, m: int) -> float:
        """Twice the number of dominators, which is less than m."""
        return 2.0 * max(m - 1, 0)

    def prepare(
        self, y: Floats, groups: Groups, *, draw: int = 0, n_jobs: int | None = None
    ) -> PreparedDomination:
        """Sort the labels into layers and lay out the margins."""
        return PreparedDomination(y, groups, self.margin, n_threads(n_jobs))


class PreparedDomination:
    """Domination on given labels."""

    def __init__(
        self,
        y: Floats,
        groups: Groups,
        margin: float | Callable[[Floats], Floats] | Floats | None,
        threads: int,
    ) -> None:
        self.layers = _kernels.Layers(y, groups.indptr, threads)
        self.threads = threads
        self.shift: Floats | None = None
        self.constant = 0.0
        self.between = np.empty((0, 0))
        self.level = np.empty(0, dtype=np.int64)
        if margin is None:
            return
        if callable(margin):
            self.shift = np.asarray(margin(y), dtype=np.float64)
            if self.shift.shape != y.shape or not np.isfinite(self.shift).all():
                raise ValueError("margin must return one finite number for each label.")
            return
        if np.ndim(margin) == 0:
            self.constant = float(margin)
            return
        self.between = np.ascontiguousarray(margin, dtype=np.float64)
        labels = self.layers.labels
        if ((labels != np.floor(labels)) | (labels < 0) | (labels >= len(self.between))).any():
            raise ValueError(
                f"margins by label need labels 0 to {len(self.between) - 1}, but there are labels "
                f"from {labels.min():g} to {labels.max():g}."
            )
        self.level = labels.astype(np.int64)

    def margins(self, scores: Floats) -> Floats:
        """Return :math:`m = s - t(y)`."""
        return scores if self.shift is None else scores - self.shift

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the value of each query and the gradient."""
        return self.layers.domination(
            self.margins(scores), self.constant, self.between, self.level, self.threads
        )
