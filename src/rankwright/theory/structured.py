"""Two structured surrogates that Section 6.1 of the SLAM paper compares with: exact, and slow."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats, check_number
from rankwright.losses.loss import Bound, Loss
from rankwright.metrics.binary import AP
from rankwright.metrics.dcg import NDCG
from rankwright.metrics.metric import Metric
from rankwright.problems.ranking import Ranking


@dataclass(frozen=True)
class _Structured(Loss):
    """A maximum over all rankings, one query at a time."""

    smooth: ClassVar[bool] = False

    @property
    @abstractmethod
    def metric(self) -> Metric:
        """What is bounded, with pessimistic ties."""

    @abstractmethod
    def one_query(self, scores: Floats, y: Floats) -> tuple[float, Floats]:
        """Return value and subgradient of a query."""

    @property
    def bound(self) -> Bound:
        """One minus the metric."""
        metric = self.metric

        def lower(y: Floats, scores: Floats, groups: Groups) -> Floats:
            return 1 - metric.per_query(y, scores, groups)

        return Bound(metric, lower, f"1 - {metric.name}")

    def prepare(self, y: Floats, groups: Groups, **options: Any) -> _Prepared:
        """Keep the labels."""
        return _Prepared(self, y, groups)


class _Prepared:
    def __init__(self, loss: _Structured, y: Floats, groups: Groups) -> None:
        self.loss, self.y, self.groups = loss, y, groups

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the value of each query and a subgradient."""
        values, grad = np.zeros(self.groups.n_queries), np.zeros_like(scores)
        for q, rows in enumerate(self.groups):
            values[q], grad[rows] = self.loss.one_query(scores[rows], self.y[rows])
        return values, grad


@dataclass(frozen=True)
class SVMMAP(_Structured):
    r"""The loss of SVM-MAP.

    .. math::
        L(s, y) = \max_\pi\; 1 - \mathrm{AP}(\pi)
        - \frac{2}{r (m - r)} \sum_{(i, j) \text{ misordered by } \pi} (s_i - s_j)

    over all rankings of the m documents, i among the r relevant ones and j among the others. It is
    at least :math:`1 - \mathrm{AP}`, and :math:`\|\nabla_s L\|_1 \le 4`, since every pair
    contributes at most :math:`4/(r (m - r))`. It is 0 on queries without a pair to order.

    Parameters
    ----------
    threshold : float, default 1.0
        Relevant from this label on.

    References
    ----------
    .. [1] Yue, Finley, Radlinski & Joachims, "A support vector method for optimizing average
       precision", SIGIR 2007.

    Examples
    --------
    >>> SVMMAP().value_and_grad([0.0, 0.25], [1, 0])  # 1 - 1/2 + 2 x 0.25
    (1.0, array([-2.,  2.]))
    """

    threshold: float = 1.0

    name: ClassVar[str] = "svm-map"
    cost: ClassVar[str] = "O(r (m - r))"

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold)

    @property
    def metric(self) -> Metric:
        """Average precision."""
        return AP(threshold=self.threshold, ties="worst", empty=1.0)

    def lipschitz(self, m: int) -> float:
        """4, for any number of documents."""
        return 4.0 if m > 1 else 0.0

    def one_query(self, scores: Floats, y: Floats) -> tuple[float, Floats]:
        """Return value and subgradient of a query."""
        order = np.argsort(-scores, kind="stable")
        relevant = y[order] >= self.threshold
        up, down = order[relevant], order[~relevant]
        grad = np.zeros_like(scores)
        r, n = len(up), len(down)
        if r == 0 or n == 0:
            return 0.0, grad
        # The j-th other document moves above the i-th relevant one: what AP loses, less what the
        # scores object. Both are best left in the order of their scores, and then each j chooses
        # for itself how many relevant documents it stays below (Yue et al., Section 4.2).
        i, j = np.arange(1, r + 1)[:, None], np.arange(1, n + 1)
        price = 2 / (r * n)
        gains = (i / (i + j - 1) - i / (i + j)) / r - price * (scores[up][:, None] - scores[down])
        from_last = np.cumsum(gains[::-1], axis=0)
        passed = np.argmax(np.vstack([np.zeros(n), from_last]), axis=0)
        value = np.where(passed > 0, from_last[passed - 1, np.arange(n)], 0.0).sum()
        grad[down] = price * passed
        grad[up] = -price * (passed[:, None] > np.arange(r)[::-1]).sum(axis=0)
        return float(value), grad


@dataclass(frozen=True)
class LargeMarginNDCG(_Structured):
    r"""The loss of Chapelle, Le and Smola, with rank as the weight of a document.

    .. math::
        L(s, y) = \max_\pi\; 1 - \mathrm{NDCG}(\pi) + \sum_i (\pi_y(i) - \pi(i))\, s_i

    over all rankings, :math:`\pi(i)` the rank of document i and :math:`\pi_y` one that the labels
    agree with (among equal labels that of the rows, an arbitrary choice). It is at least
    :math:`1 - \mathrm{NDCG}`, and :math:`\|\nabla_s L\|_1 \le m^2/2`, attained when the maximum
    reverses :math:`\pi_y`: it fails the condition of Corollary 9. It is 0 if all labels are equal.

    References
    ----------
    .. [1] Chapelle, Le & Smola, "Large margin optimization of ranking measures", NIPS workshop on
       machine learning for web search, 2007; the linear weights of Section 7.9 of the SLAM paper.

    Examples
    --------
    >>> value, grad = LargeMarginNDCG().value_and_grad([0.0, 1.0, 2.0], [2, 1, 0])
    >>> grad  # reversed: 1, 2, 3 less 3, 2, 1
    array([-2.,  0.,  2.])
    """

    name: ClassVar[str] = "large-margin-ndcg"
    cost: ClassVar[str] = "O(m^3)"

    @property
    def metric(self) -> Metric:
        """NDCG of the whole list."""
        return NDCG(ties="worst", empty=1.0)

    def lipschitz(self, m: int) -> float:
        """Half of m squared, rounded down: all ranks reversed."""
        return float(m * m // 2)

    def one_query(self, scores: Floats, y: Floats) -> tuple[float, Floats]:
        """Return value and subgradient of a query."""
        if len(y) == 0 or y.min() == y.max():
            return 0.0, np.zeros_like(scores)
        # Predtron's surrogate of rankings for f(rank) = -rank, whose representation is divided by
        # its length: the scores are multiplied by it.
        problem = Ranking("ndcg", "-i")
        best = problem.augmented(np.linalg.norm(problem.f(len(y))) * scores, y)
        grad = (problem.correct(y) - best).astype(np.float64)
        return float(problem.loss(best, y) + grad @ scores), grad
