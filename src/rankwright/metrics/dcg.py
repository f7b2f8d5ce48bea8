"""Discounted cumulative gain, plain and normalised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rankwright.data.validation import Floats
from rankwright.metrics.metric import Empty, Metric, Ties
from rankwright.metrics.ranking import RankedLabels

# Sums of gains must stay finite too, below 2^1024 = 1.8e308: with these limits lists may have
# 2^23 documents (exp2) or 10^8 (linear).
_LARGEST_LABEL = {"exp2": 1000.0, "linear": 1e300}


def check_gain_labels(y: Floats, name: str) -> None:
    """Raise unless the gains of the labels, 2^y - 1, are not negative, and their sums finite."""
    most = _LARGEST_LABEL["exp2"]
    if len(y) and (y.min() < 0 or y.max() > most):
        raise ValueError(
            f"{name} needs labels from 0 to {most:g}, but they go from {y.min():g} to {y.max():g}."
        )


def require_gain_labels(y: Floats, metric: str, gain: str) -> None:
    """Raise unless the gains of the labels are not negative, and their sums finite."""
    most = _LARGEST_LABEL[gain]
    bad = np.flatnonzero((y < 0) | (y > most))
    if len(bad):
        raise ValueError(
            f"{metric} needs labels from 0 to {most:g}, but row {bad[0]} has {y[bad[0]]:g}."
        )


def discounts(n_ranks: int, discount: Literal["log2", "letor"]) -> Floats:
    r"""Return the weight of each rank.

    ``"log2"`` is :math:`1/\log_2(1 + r)`; ``"letor"`` is 1 for the first two ranks and
    :math:`1/\log_2 r` from the third on.

    >>> discounts(4, "letor").round(3)
    array([1.   , 1.   , 0.631, 0.5  ])
    """
    rank = np.arange(1, n_ranks + 1)
    if discount == "log2":
        return 1 / np.log2(1 + rank)
    # The script divides by log2(r) from rank 2 on, where that is 1, and not at all at rank 1.
    return 1 / np.log2(np.maximum(rank, 2))


@dataclass(frozen=True)
class DCG(Metric):
    r"""Discounted cumulative gain at cutoff ``k``.

    .. math::
        \mathrm{DCG@}k = \sum_{r=1}^{k} G(y_{(r)})\, D(r)

    where :math:`y_{(r)}` is the label at rank :math:`r`.

    Parameters
    ----------
    k : int, optional
        Ranks that count; all by default.
    gain : {"exp2", "linear"}, default "exp2"
        :math:`G(y) = 2^y - 1` or :math:`G(y) = y`.
    discount : {"log2", "letor"}, default "log2"
        :math:`D(r) = 1/\log_2(1 + r)`, or 1 for ranks 1 and 2 and :math:`1/\log_2 r` from rank 3
        on, as in Microsoft's LETOR script.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.

    Examples
    --------
    >>> DCG().per_query([0, 2], [3.0, 1.0])  # (2^2 - 1) / log2(3)
    array([1.89278926])
    """

    k: int | None = None
    gain: Literal["exp2", "linear"] = "exp2"
    discount: Literal["log2", "letor"] = "log2"
    ties: Ties = "average"

    name: ClassVar[str] = "dcg"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        _require_gains(ranking, self.name, self.gain)
        # A table of the ranks that exist: k may be 2^31 - 1. In the kernels k = 0 is no cutoff.
        weights = discounts(min(self.k or ranking.longest, ranking.longest), self.discount)
        return ranking.kernel.dcg(self.k or 0, self.gain == "exp2", weights, self._rule(ranking))


@dataclass(frozen=True)
class NDCG(Metric):
    r"""Normalised discounted cumulative gain at cutoff ``k``.

    .. math::
        \mathrm{NDCG@}k = \frac{1}{Z} \sum_{r=1}^{k} G(y_{(r)})\, D(r)

    where :math:`y_{(r)}` is the label at rank :math:`r` and :math:`Z` makes the best order 1.

    Parameters
    ----------
    k : int, optional
        Ranks that count; all by default.
    gain : {"exp2", "linear"}, default "exp2"
        :math:`G(y) = 2^y - 1` [2]_ or :math:`G(y) = y` [1]_.
    discount : {"log2", "letor"}, default "log2"
        :math:`D(r) = 1/\log_2(1 + r)`, or 1 for ranks 1 and 2 and :math:`1/\log_2 r` from rank 3
        on.
    ties : {"average", "order", "worst", "best"}, default "average"
        Order of equal scores; see :class:`Metric`.
    empty : "skip" or float, default "skip"
        Value of a query whose labels are all 0. LightGBM counts it as 1.
    short : {"keep", "zero"}, default "keep"
        Whether a query with fewer than ``k`` documents counts 0, as in Microsoft's LETOR script.

    References
    ----------
    .. [1] Järvelin & Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
    .. [2] Burges et al., "Learning to rank using gradient descent", ICML 2005.

    Examples
    --------
    >>> NDCG(k=1).per_query([0, 2], [3.0, 1.0])
    array([0.])
    >>> print(NDCG(k=10, ties="order"))
    ndcg@10(ties=order)
    """

    k: int | None = None
    gain: Literal["exp2", "linear"] = "exp2"
    discount: Literal["log2", "letor"] = "log2"
    ties: Ties = "average"
    empty: Empty = "skip"
    short: Literal["keep", "zero"] = "keep"

    name: ClassVar[str] = "ndcg"

    def from_ranking(self, ranking: RankedLabels) -> Floats:
        """Return the metric of each query."""
        _require_gains(ranking, self.name, self.gain)
        weights = discounts(min(self.k or ranking.longest, ranking.longest), self.discount)
        return ranking.kernel.ndcg(
            self.k or 0, self.gain == "exp2", weights, self.short == "zero", self._rule(ranking)
        )


def _require_gains(ranking: RankedLabels, name: str, gain: str) -> None:
    hint = "Shift or scale the labels" + (", or pass gain='linear'." if gain == "exp2" else ".")
    ranking.require_labels(name, _LARGEST_LABEL[gain], hint)
