"""Expected reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankwright.data.validation import Floats
from rankwright.metrics.metric import Empty, Metric, Ties
from rankwright.metrics.ranking import RankedLabels


@dataclass(frozen=True)
class ERR(Metric):
    r"""Expected reciprocal rank: a user reads down the list and stops at a satisfying document.

    .. math::
        \mathrm{ERR@}k = \sum_{r=1}^{k} \frac{1}{r}\, p(y_{(r)}) \prod_{j<r} \bigl(1 -
        p(y_{(j)})\bigr), \qquad p(y) = \frac{2^y - 1}{2^{y_{\max}}}

    Parameters
    ----------
    k : int, optional
        Ranks that count; all by default.
    max_grade : float, default 4
        :math:`y_{\max}`, the highest label possible; a larger label is an error.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query whose labels are all 0.

    References
    ----------
    .. [1] Chapelle, Metzler, Zhang & Grinspan, "Expected reciprocal rank for graded relevance",
       CIKM 2009.

    Examples
    --------
    >>> ERR(max_grade=1).per_query([1, 1], [2.0, 1.0])  # 1/2 + (1/2) (1/2) (1/2)
    array([0.625])
    """

    k: int | None = None
    max_grade: float = 4
    ties: Ties = "average"
    empty: Empty = "skip"

    name: ClassVar[str] = "err"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        # A label above max_grade would stop the user with a probability above 1, and the factors
        # 1 - p behind it would be negative.
        hint = "Pass max_grade, the highest label possible."
        ranking.require_labels(f"err with max_grade={self.max_grade:g}", self.max_grade, hint)
        return ranking.kernel.err(self.k or 0, self.max_grade, self._rule(ranking))
