"""SmoothSLAM: the weights of SLAM on the terms of the domination loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.losses.directions import WithTerms
from rankwright.losses.loss import Loss
from rankwright.losses.metric_weights import MetricWeights, Sharing
from rankwright.losses.prepared_domination import PreparedDomination
from rankwright.threads import n_threads


@dataclass(frozen=True)
class SmoothSLAM(MetricWeights, WithTerms, Loss):
    r"""Smooth surrogate of a listwise metric.

    .. math::
        L(s, y) = \frac{1}{\log 2} \sum_i v_i
        \log\Bigl(1 + \sum_{j : y_j < y_i} e^{s_j - s_i}\Bigr)

    with the weights :math:`v` of :class:`SLAM`. If document i is misordered, some exponent is at
    least 0 and its logarithm at least :math:`\log 2`, so that
    :math:`L(s, y) \ge \sum_{i\ \mathrm{misordered}} v_i \ge 1 - \mathrm{metric}` with pessimistic
    ties. L is convex, :math:`\|\nabla_s L\|_1 \le 2 \sum_i v_i / \log 2 \le 2 / \log 2`, and
    :math:`L \log 2` is :class:`Domination` with weights of documents. All documents below i push
    it up, not only the best of them, so that it can be trained where SLAM has its minimum at
    weights 0 (S13).

    Parameters
    ----------
    metric : {"ndcg", "map", "ndcg@K"} or callable, default "ndcg"
        The metric to bound, or a function from a query's labels to its weights :math:`v \ge 0`,
        which are taken as they are.
    threshold : float, default 1.0
        For MAP, relevant from this label on; :math:`y` is then 1 or 0.
    weights : {"group", "printed"}, default "group"
        As for :class:`SLAM`.

    Examples
    --------
    >>> loss = SmoothSLAM("map")
    >>> value, grad = loss.value_and_grad([0.0, 0.0], [1, 0])  # v = 1/2, log(1 + e^0)
    >>> round(value, 6), grad.round(6)
    (0.5, array([-0.360674,  0.360674]))
    """

    metric: str | Callable[[Floats], Floats] = "ndcg"
    threshold: float = 1.0
    weights: Sharing = "group"

    name: ClassVar[str] = "smooth-slam"
    steepness: ClassVar[float] = 2 / math.log(2)
    cost: ClassVar[str] = "O(m log m), O(m) on known labels"

    def prepare(
        self,
        y: Floats,
        groups: Groups,
        *,
        draw: int = 0,
        n_jobs: int | None = None,
        weights: Floats | None = None,
    ) -> PreparedDomination:
        """Sort the labels into layers and compute the weights of the terms."""
        v = self.document_weights(y, groups) / math.log(2)
        if weights is not None:
            v = weights * v
        # Terms of log(1 + Z e^-s) with weights of documents are the domination loss: its kernel,
        # Hessian, conjugate and coordinate descent serve as they are.
        grades = self.grades(y)
        return PreparedDomination(grades, grades, groups, None, n_threads(n_jobs), v)

    prepare_terms = prepare  # to gradients that are shares, a curvature of 1 would be large
