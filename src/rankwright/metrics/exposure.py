"""How the attention that a list gives is shared by groups of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Groups, Ints
from rankwright.data.validation import Floats, check_scores
from rankwright.metrics.dcg import discounts, require_gain_labels
from rankwright.metrics.metric import Columns, Empty, RowMetric, Ties
from rankwright.metrics.on_data import column, columns_of
from rankwright.metrics.order import rows_by_rank, sums_at, text_codes
from rankwright.showing import Brief


@dataclass(frozen=True)
class ExposureDisparity(RowMetric):
    r"""How far the exposure of groups of documents is from the share that is due to them.

    .. math::
        \frac{1}{2} \sum_{g} \left\lvert E_g - T_g \right\rvert, \qquad
        E_g = \frac{\sum_{r \le k} [d_{(r)} \in g]\, D(r)}{\sum_{r \le k} D(r)}

    where :math:`T_g` is the group's share of the documents, or of the relevance,
    :math:`\sum_{d \in g} G(y_d) / \sum_d G(y_d)`. It is 0 if each group is seen as much as is due
    to it, and never more than 1; less is better.

    Parameters
    ----------
    k : int, optional
        Ranks that are seen; all by default.
    group : str, default "group"
        The column with the group of each document. Documents without one are a group too.
    target : {"documents", "relevance"}, default "documents"
        What is due to a group: its share of the query's documents, or of their gains.
    gain : {"exp2", "linear"}, default "exp2"
        :math:`G(y) = 2^y - 1` or :math:`G(y) = y`, for ``target="relevance"``.
    discount : {"log2", "letor"}, default "log2"
        The exposure :math:`D(r)` of a rank, as for :class:`NDCG`.
    ties : {"average", "order"}, default "average"
        Order of equal scores. ``"average"`` gives tied documents the same exposure, which is what
        each has on average over all orders: :math:`E_g` is a mean then, not the disparity.
    empty : "skip" or float, default "skip"
        Value of a query whose documents are all of one group, or none of them relevant if that is
        the target.

    References
    ----------
    .. [1] Singh & Joachims, "Fairness of exposure in rankings", KDD 2018.
    .. [2] Diaz et al., "Evaluating stochastic rankings with expected exposure", CIKM 2020.

    Examples
    --------
    >>> makers = {"group": ["big", "big", "small", "small"]}
    >>> ExposureDisparity(k=2).per_query([1, 1, 1, 1], [4.0, 3.0, 2.0, 1.0], columns=makers)
    array([0.5])
    """

    k: int | None = None
    group: str = "group"
    target: Literal["documents", "relevance"] = "documents"
    gain: Literal["exp2", "linear"] = "exp2"
    discount: Literal["log2", "letor"] = "log2"
    ties: Ties = "average"
    empty: Empty = "skip"

    name: ClassVar[str] = "exposure_disparity"
    higher_is_better: ClassVar[bool] = False
    # No order of equal scores is the worst for all groups.
    tie_rules: ClassVar[tuple[str, ...]] = ("average", "order")

    def of_rows(self, y: Floats, scores: Floats, groups: Groups, columns: Columns) -> Floats:
        """Return the metric of each query."""
        if self.target == "relevance":
            require_gain_labels(y, self.name, self.gain)
        shares = self.shares(y, scores, groups, columns)
        due = shares.relevance if self.target == "relevance" else shares.documents
        n = groups.n_queries
        half = sums_at(shares.query, np.abs(shares.exposure - due) / 2, n)
        several = np.bincount(shares.query, minlength=n) > 1
        return np.where(several & ~np.isnan(half), half, self.undefined)

    def shares(self, y: Floats, scores: Floats, groups: Groups, columns: Columns) -> ExposureShares:
        """Return what each group of each query gets, and what it has."""
        texts = column(self, columns, self.group, len(y))
        names, code = text_codes(texts)
        ranked = rows_by_rank(scores, groups, self.ties)
        seen = self._exposure(groups)
        # A block's documents share what its ranks have.
        mean = (seen[ranked.begin + ranked.size] - seen[ranked.begin]) / ranked.size
        entry, place = np.unique(ranked.query * len(names) + code, return_inverse=True)
        query, group = np.divmod(entry, max(len(names), 1))

        def share(of_row: Floats) -> Floats:
            own = sums_at(place, of_row, len(entry))
            whole = sums_at(query, own, groups.n_queries)[query]
            shares: Floats = np.full(len(own), np.nan)
            return np.divide(own, whole, out=shares, where=whole > 0)

        gains = np.exp2(np.minimum(y, 1000)) - 1 if self.gain == "exp2" else y
        return ExposureShares(
            names,
            query,
            group,
            exposure=share(mean[ranked.block]),
            documents=share(np.ones(len(y))),
            relevance=share(np.maximum(gains, 0)),
        )

    def by_group(self, dataset: Dataset, scores: ArrayLike) -> list[dict[str, Any]]:
        """Return a line for each group of a data set: its shares, each the mean over the queries.

        A query without documents of a group counts 0; one without gains is left out of
        ``relevance``.

        Examples
        --------
        >>> makers = {"group": ["big", "big", "small"]}
        >>> ds = Dataset([[3.0], [2.0], [1.0]], [1, 0, 1], kept=makers)
        >>> for line in ExposureDisparity(k=2).by_group(ds, ds.X[:, 0]):
        ...     print(line["group"], round(line["documents"], 2), line["exposure"])
        big 0.67 1.0
        small 0.33 0.0
        """
        checked = check_scores(scores, dataset.n_docs)
        columns = columns_of(dataset, [self])
        return self.shares(dataset.y, checked, dataset.groups, columns).by_group()

    def _exposure(self, groups: Groups) -> Floats:
        """Return the exposure of the first 0, 1, 2, ... ranks."""
        longest = int(groups.sizes.max(initial=0))
        each = np.zeros(longest)
        depth = min(self.k or longest, longest)
        each[:depth] = discounts(depth, self.discount)
        return np.append(0.0, np.cumsum(each))


@dataclass(frozen=True, eq=False, repr=False)
class ExposureShares(Brief):
    """Shares of groups in queries, an entry for each group of each query.

    Attributes
    ----------
    names : ndarray
        Names of the groups.
    query, group : ndarray
        Which query and which group an entry is about, by position.
    exposure, documents, relevance : ndarray
        The group's share of the query's exposure, documents and gains; NaN if there are none.
    """

    names: NDArray[Any]
    query: Ints
    group: Ints
    exposure: Floats
    documents: Floats
    relevance: Floats

    def by_group(self) -> list[dict[str, Any]]:
        """Return a line for each group: its shares, each the mean over the queries."""
        columns = {"documents": self.documents, "relevance": self.relevance}
        columns["exposure"] = self.exposure
        means = {name: self._means(values) for name, values in columns.items()}
        return [
            {"group": str(name), **{c: float(values[g]) for c, values in means.items()}}
            for g, name in enumerate(self.names.tolist())
        ]

    def _means(self, shares: Floats) -> Floats:
        defined = ~np.isnan(shares)
        total = sums_at(self.group[defined], shares[defined], len(self.names))
        return total / max(len(np.unique(self.query[defined])), 1)
