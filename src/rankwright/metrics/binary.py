"""Metrics that see only whether a document is relevant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rankwright import _kernels
from rankwright.data.validation import Floats
from rankwright.metrics.metric import Empty, Metric, Ties
from rankwright.metrics.ranking import RankedLabels


@dataclass(frozen=True)
class AP(Metric):
    r"""Average precision; its mean over queries is MAP.

    .. math::
        \mathrm{AP@}k = \frac{1}{N} \sum_{r=1}^{k} [y_{(r)} \ge \tau]\; \mathrm{Precision@}r

    where :math:`N` is the number of relevant documents :math:`R`, or :math:`\min(R, k)`.

    Parameters
    ----------
    k : int, optional
        Ranks that count; all by default.
    threshold : float, default 1.0
        :math:`\tau`: relevant from this label on.
    denominator : {"relevant", "cutoff"}, default "relevant"
        :math:`N = R`, or :math:`N = \min(R, k)`.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query without a relevant document.

    Examples
    --------
    >>> AP().per_query([1, 0, 1], [3.0, 2.0, 1.0])  # (1/1 + 2/3) / 2
    array([0.83333333])
    """

    k: int | None = None
    # trec_eval and Microsoft's LETOR script call grades from 1 on relevant.
    threshold: float = 1.0
    denominator: Literal["relevant", "cutoff"] = "relevant"
    ties: Ties = "average"
    empty: Empty = "skip"

    name: ClassVar[str] = "ap"
    denominators: ClassVar[tuple[str, ...]] = ("relevant", "cutoff")

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        return ranking.kernel.average_precision(
            self.k or 0, self.threshold, self.denominator, self._rule(ranking)
        )


@dataclass(frozen=True)
class _OfRelevant(Metric):
    """What the metrics without options of their own share."""

    k: int | None = None
    threshold: float = 1.0
    ties: Ties = "average"
    empty: Empty = "skip"


@dataclass(frozen=True)
class RR(_OfRelevant):
    r"""Reciprocal rank of the first relevant document; its mean over queries is MRR.

    0 if the first relevant document stands below rank ``k``.

    Parameters
    ----------
    k : int, optional
        Ranks that count; all by default.
    threshold : float, default 1.0
        Relevant from this label on.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query without a relevant document.

    Examples
    --------
    >>> RR().per_query([0, 1, 1], [3.0, 2.0, 1.0])
    array([0.5])
    """

    name: ClassVar[str] = "rr"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        return ranking.kernel.reciprocal_rank(self.k or 0, self.threshold, self._rule(ranking))


@dataclass(frozen=True)
class Precision(Metric):
    r"""Share of relevant documents among the first ``k``.

    Parameters
    ----------
    k : int, optional
        Ranks that count; all by default.
    threshold : float, default 1.0
        Relevant from this label on.
    denominator : {"cutoff", "documents"}, default "cutoff"
        Divide by :math:`k`, missing ranks being irrelevant, or by the number of documents if that
        is smaller.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query without a relevant document.

    Examples
    --------
    >>> Precision(k=4).per_query([1, 0, 1], [3.0, 2.0, 1.0])
    array([0.5])
    """

    k: int | None = None
    threshold: float = 1.0
    denominator: Literal["cutoff", "documents"] = "cutoff"
    ties: Ties = "average"
    empty: Empty = "skip"

    name: ClassVar[str] = "precision"
    denominators: ClassVar[tuple[str, ...]] = ("cutoff", "documents")

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        # Precision, recall and RBP are one formula, sum_{r <= k} w_r [y_(r) >= tau] / N. It is
        # linear in the relevance at each rank: the mean over tied orders needs no enumeration.
        weights = np.ones(ranking.longest)
        return ranking.kernel.relevant_gain(
            self.k or 0, self.threshold, weights, self.denominator, self._rule(ranking)
        )


@dataclass(frozen=True)
class Recall(_OfRelevant):
    """Share of the relevant documents that stand among the first ``k``.

    Parameters
    ----------
    k : int, optional
        Ranks that count; all by default.
    threshold : float, default 1.0
        Relevant from this label on.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query without a relevant document.

    Examples
    --------
    >>> Recall(k=1).per_query([1, 0, 1], [3.0, 2.0, 1.0])
    array([0.5])
    """

    name: ClassVar[str] = "recall"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        weights = np.ones(ranking.longest)
        # N = R even if R > k: the best recall@k is then k/R, not 1, as in trec_eval.
        return ranking.kernel.relevant_gain(
            self.k or 0, self.threshold, weights, "relevant", self._rule(ranking)
        )


@dataclass(frozen=True)
class F1(_OfRelevant):
    r"""Harmonic mean of precision and recall among the first ``k``.

    .. math::
        \mathrm{F1@}k = \frac{2}{k + R} \sum_{r \le k} [y_{(r)} \ge \tau]

    with :math:`R` relevant documents. Without a cutoff :math:`k` is the number of documents.

    Parameters
    ----------
    k : int, optional
        Ranks that count; all by default.
    threshold : float, default 1.0
        :math:`\tau`: relevant from this label on.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query without a relevant document.

    Examples
    --------
    >>> F1(k=1).per_query([1, 0, 1], [3.0, 2.0, 1.0])  # precision 1, recall 1/2
    array([0.66666667])
    """

    name: ClassVar[str] = "f1"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        # 2PR/(P + R) with P = hits/k and R = hits/relevant is linear in the hits: the mean over
        # tied orders is that of the hits.
        relevant, _ = ranking.counts(self.threshold)
        weights = np.ones(ranking.longest)
        rule = _kernels.Rule(self.ties, 0.0, ranking.n_threads)
        hits = ranking.kernel.relevant_gain(self.k or 0, self.threshold, weights, "one", rule)
        cutoff = ranking.groups.sizes if self.k is None else self.k
        return np.where(relevant > 0, 2 * hits / np.maximum(cutoff + relevant, 1), self.undefined)


@dataclass(frozen=True)
class RPrecision(Metric):
    r"""Precision among as many documents as are relevant.

    .. math::
        \text{R-Precision} = \frac{1}{R} \sum_{r \le R} [y_{(r)} \ge \tau]

    with :math:`R` relevant documents: precision and recall are equal there.

    Parameters
    ----------
    threshold : float, default 1.0
        :math:`\tau`: relevant from this label on.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query without a relevant document.

    Examples
    --------
    >>> RPrecision().per_query([1, 0, 1], [3.0, 2.0, 1.0])
    array([0.5])
    """

    threshold: float = 1.0
    ties: Ties = "average"
    empty: Empty = "skip"

    name: ClassVar[str] = "r_precision"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        relevant, _ = ranking.counts(self.threshold)
        return ranking.kernel.r_precision(self.threshold, relevant, self._rule(ranking))


@dataclass(frozen=True)
class HitRate(_OfRelevant):
    """Whether a relevant document stands among the first ``k`` (trec_eval's success).

    Parameters
    ----------
    k : int, optional
        Ranks that count; all by default.
    threshold : float, default 1.0
        Relevant from this label on.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query without a relevant document.

    Examples
    --------
    >>> HitRate(k=1).per_query([0, 1], [2.0, 2.0])  # a tie: one half
    array([0.5])
    """

    name: ClassVar[str] = "hit_rate"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        return ranking.kernel.hit_rate(self.k or 0, self.threshold, self._rule(ranking))


@dataclass(frozen=True)
class RBP(Metric):
    r"""Rank-biased precision: the expected rate at which a patient user finds relevant documents.

    .. math::
        \mathrm{RBP} = (1 - p) \sum_{r} [y_{(r)} \ge \tau]\, p^{\,r-1}

    Parameters
    ----------
    p : float, default 0.8
        Persistence: the probability of continuing to the next rank.
    k : int, optional
        Ranks that count; all by default.
    threshold : float, default 1.0
        :math:`\tau`: relevant from this label on.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query without a relevant document.

    References
    ----------
    .. [1] Moffat & Zobel, "Rank-biased precision for measurement of retrieval effectiveness", TOIS
       2008.

    Examples
    --------
    >>> RBP(p=0.5).per_query([1, 0, 1], [3.0, 2.0, 1.0])  # 0.5 * (1 + 0.25)
    array([0.625])
    """

    p: float = 0.8
    k: int | None = None
    threshold: float = 1.0
    ties: Ties = "average"
    empty: Empty = "skip"

    name: ClassVar[str] = "rbp"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        # Over an endless list the weights sum to 1, so N = 1: a short list is not scaled up. Far
        # ranks underflow to 0, which loses nothing: all ranks behind r weigh p^r together.
        weights = (1 - self.p) * self.p ** np.arange(ranking.longest, dtype=np.float64)
        return ranking.kernel.relevant_gain(
            self.k or 0, self.threshold, weights, "one", self._rule(ranking)
        )
