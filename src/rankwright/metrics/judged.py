"""Metrics of judgements that are not complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats, check_y
from rankwright.metrics.metric import Columns, Empty, Metric, Ties
from rankwright.metrics.ranking import RankedLabels


@dataclass(frozen=True)
class Bpref(Metric):
    r"""Binary preference: how few irrelevant documents stand above the relevant ones.

    .. math::
        \mathrm{bpref} = \frac{1}{R} \sum_{i:\, y_i \ge \tau}
        \left(1 - \frac{\min(n_i, R)}{\min(R, N)}\right)

    where :math:`R` documents are relevant, :math:`N` are judged and not relevant, and
    :math:`n_i` of these stand above document :math:`i`. Documents without a judgement are not
    looked at, wherever they stand; a relevant one that a run did not find gains nothing. This is
    trec_eval's formula.

    Parameters
    ----------
    threshold : float, default 1.0
        :math:`\tau`: relevant from this label on.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query without a relevant document.

    References
    ----------
    .. [1] Buckley & Voorhees, "Retrieval evaluation with incomplete information", SIGIR 2004.

    Examples
    --------
    >>> Bpref().per_query([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0])  # (1 + 1/2) / 2
    array([0.75])
    """

    threshold: float = 1.0
    ties: Ties = "average"
    empty: Empty = "skip"

    name: ClassVar[str] = "bpref"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        relevant, irrelevant = ranking.counts(self.threshold)
        return ranking.kernel.bpref(self.threshold, relevant, irrelevant, self._rule(ranking))


@dataclass(frozen=True)
class Judged(Metric):
    r"""Share of the first ``k`` documents that have been judged.

    .. math::
        \mathrm{Judged@}k = \frac{1}{\min(k, m)} \sum_{r \le k} [y_{(r)} \text{ is known}]

    of :math:`m` documents. A label that is NaN is not known; so are the labels of a run's documents
    that the judgements lack. A low value says that other metrics are guesses: they take such
    documents for irrelevant, or leave them out (``evaluate(..., unjudged=)``).

    Parameters
    ----------
    k : int, optional
        Ranks that count; all by default.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.

    Examples
    --------
    >>> Judged(k=2).per_query([1.0, float("nan"), 0.0], [3.0, 2.0, 1.0])
    array([0.5])
    """

    k: int | None = None
    ties: Ties = "average"

    name: ClassVar[str] = "judged"
    # What is ranked here is whether there is a label, which a ranking of labels does not know.
    uses_ranking: ClassVar[bool] = False

    def per_query(
        self,
        y: ArrayLike,
        scores: ArrayLike,
        groups: Groups | None = None,
        *,
        columns: Columns | None = None,
        n_jobs: int | None = None,
    ) -> Floats:
        """Return the metric of each query; labels may be NaN."""
        labels = check_y(y, finite=False)
        known = (~np.isnan(labels)).astype(np.float64)
        check_y(np.where(known == 1, labels, 0.0))  # NaN is no judgement, infinity is no label
        return self.from_ranking(RankedLabels(known, scores, groups, depth=self.k, n_jobs=n_jobs))

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query of a ranking of 1 for judged and 0 for others."""
        sizes = ranking.groups.sizes
        seen = sizes if self.k is None else np.minimum(sizes, self.k)
        weights = np.ones(min(self.k or ranking.longest, ranking.longest))
        found = ranking.kernel.dcg(self.k or 0, False, weights, self._rule(ranking))
        share: Floats = np.full(len(seen), np.nan)
        return np.divide(found, seen, out=share, where=seen > 0)
