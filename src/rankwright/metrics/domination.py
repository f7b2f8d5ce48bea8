"""The two error measures of domination: who is outscored, and who outscores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankwright.data.validation import Floats
from rankwright.metrics.metric import Empty, Metric, Ties
from rankwright.metrics.ranking import RankedLabels


@dataclass(frozen=True)
class _OfDomination(Metric):
    """What both share: an error is good when it is low."""

    # The thesis counts s_j > s_i, strictly, so that a tie is no error.
    ties: Ties = "best"
    empty: Empty = "skip"

    higher_is_better: ClassVar[bool] = False


@dataclass(frozen=True)
class DominationError(_OfDomination):
    r"""Share of the dominating documents that are outscored by a document they dominate.

    .. math::
        \frac{1}{|\{i : \exists j,\; y_i > y_j\}|}
        \Bigl|\Bigl\{i : \max_{j : y_j < y_i} s_j > s_i\Bigr\}\Bigr|

    Document :math:`i` dominates :math:`j` if :math:`y_i > y_j`.

    Parameters
    ----------
    ties : {"average", "order", "worst", "best"}, default "best"
        Order of equal scores; see :class:`Metric`. With the default, a tie is no error.
    empty : "skip" or float, default "skip"
        Value of a query whose labels are all equal.

    Examples
    --------
    >>> DominationError().per_query([2, 1, 1, 0], [3.0, 1.0, 2.0, 2.0])
    array([0.33333333])
    """

    name: ClassVar[str] = "domination_error"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        return ranking.kernel.domination_error(self._rule(ranking))


@dataclass(frozen=True)
class DominatedError(_OfDomination):
    r"""Share of the dominated documents that outscore one of their dominators.

    .. math::
        \frac{1}{|\{j : \exists i,\; y_i > y_j\}|}
        \Bigl|\Bigl\{j : \min_{i : y_i > y_j} s_i < s_j\Bigr\}\Bigr|

    Parameters
    ----------
    ties : {"average", "order", "worst", "best"}, default "best"
        Order of equal scores; see :class:`Metric`. With the default, a tie is no error.
    empty : "skip" or float, default "skip"
        Value of a query whose labels are all equal.

    References
    ----------
    .. [1] Dekel, Manning & Singer, "Log-linear models for label ranking", NIPS 2003.

    Examples
    --------
    >>> DominatedError().per_query([2, 1, 1, 0], [3.0, 1.0, 2.0, 2.0])
    array([0.33333333])
    """

    name: ClassVar[str] = "dominated_error"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        return ranking.kernel.dominated_error(self._rule(ranking))
