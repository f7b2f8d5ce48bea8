"""Metrics over pairs of documents with different labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from rankwright.data.validation import Floats
from rankwright.metrics.metric import Empty, Metric
from rankwright.metrics.ranking import RankedLabels


@dataclass(frozen=True)
class PairwiseError(Metric):
    r"""Share of the pairs with different labels that are in the wrong order; a tied pair costs 0.5.

    .. math::
        \frac{1}{|P|} \sum_{(i, j) \in P} \bigl([s_i < s_j] + \tfrac12 [s_i = s_j]\bigr),
        \qquad P = \{(i, j) : y_i > y_j\}

    For binary labels this is one minus the area under the ROC curve.

    Parameters
    ----------
    empty : "skip" or float, default "skip"
        Value of a query whose labels are all equal.

    Examples
    --------
    >>> PairwiseError().per_query([2, 1, 0], [1.0, 2.0, 0.0])
    array([0.33333333])
    """

    # No option ties: one half is the mean over both orders of a pair, and the area under the ROC
    # curve has no other reading.
    empty: Empty = "skip"

    name: ClassVar[str] = "pairwise_error"
    higher_is_better: ClassVar[bool] = False

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        return ranking.kernel.pairwise_error(self._rule(ranking))


@dataclass(frozen=True)
class KendallTau(Metric):
    r"""Kendall's rank correlation of labels and scores.

    .. math::
        \tau_b = \frac{C - D}{\sqrt{(n_0 - n_1)(n_0 - n_2)}}, \qquad \tau_a = \frac{C - D}{n_0}

    where :math:`C` and :math:`D` count the concordant and discordant pairs, :math:`n_0 = m(m-1)/2`
    all pairs, :math:`n_1` those tied in the label and :math:`n_2` those tied in the score.

    Parameters
    ----------
    variant : {"a", "b"}, default "b"
        Which :math:`\tau`.
    empty : "skip" or float, default "skip"
        Value of a query whose denominator is 0.

    Examples
    --------
    >>> KendallTau().per_query([2, 1, 0], [1.0, 2.0, 0.0])
    array([0.33333333])
    """

    variant: Literal["a", "b"] = "b"
    empty: Empty = "skip"

    name: ClassVar[str] = "kendall_tau"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        # Constant scores make tau-b 0/0, not 0: undefined, as constant labels are.
        return ranking.kernel.kendall_tau(self.variant == "b", self._rule(ranking))
