"""The margins that the bounds speak of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.groups import Groups, gather
from rankwright.data.validation import Floats, check_qid, check_X, check_y, finite_numbers
from rankwright.theory.gradients import radius


def comparator_array(u: Any) -> Floats:
    """Return the weights of a comparator as an array, by rows."""
    array = finite_numbers(
        "the comparator",
        u,
        " It has the form of the learner's own weights; a learner or a DualComparator is for "
        "learners with a kernel.",
    )
    # In another layout its products and lengths differ in their last bits.
    return np.asarray(array, order="C")


def check_comparator(u: ArrayLike, size: int) -> Floats:
    """Return the weights of a comparator as a vector."""
    vector = comparator_array(u)
    if vector.shape != (size,):
        raise ValueError(
            f"the comparator must be a vector of {size} finite weights, but has shape "
            f"{vector.shape}."
        )
    return vector


def ranking_margins(scores: ArrayLike, y: Floats, groups: Groups) -> Floats:
    r"""Return each query's smallest lead :math:`s_i - s_j` over the pairs with :math:`y_i > y_j`.

    Infinite for a query without such a pair.
    """
    s = np.asarray(scores, dtype=np.float64)
    order = np.lexsort((y, groups.query_of_rows()))
    # Rows move within their queries only, so that the queries of the rows stay as they are.
    s, y, query = s[order], y[order], groups.query_of_rows()
    new = np.ones(len(s), dtype=bool)  # where a layer of equal labels begins
    new[1:] = (y[1:] != y[:-1]) | (query[1:] != query[:-1])
    starts = np.flatnonzero(new)
    margins = np.full(groups.n_queries, math.inf)
    if len(starts) == 0:
        return margins
    low, high = np.minimum.reduceat(s, starts), np.maximum.reduceat(s, starts)
    layer_query = query[starts]
    # The closest pair is the lowest of a layer and the highest of all layers below it, so that
    # O(m) comparisons replace those of all pairs.
    best = -math.inf  # of the layers below
    for layer, q in enumerate(layer_query.tolist()):
        if layer and layer_query[layer - 1] == q:
            margins[q] = min(margins[q], low[layer] - best)
            best = max(best, high[layer])
        else:
            best = high[layer]
    return margins


class MarginReport:
    r"""How well weights separate the labels, in the terms of the bounds.

    .. math::
        \gamma_q = \min_{i, j \in q : y_i > y_j} \frac{w \cdot x_i - w \cdot x_j}{\|w\|}

    and, with thresholds b, PRank's
    :math:`\gamma = \min_{t, r} (w \cdot x_t - b_r)\, y_{t,r} / \|(w, b)\|`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_docs, n_features)
        Features.
    y : array-like of shape (n_docs,)
        Labels.
    qid : array-like of shape (n_docs,), optional
        Query ids; None is one query.
    w : array-like of shape (n_features,)
        Weights.
    thresholds : array-like of shape (n_ranks - 1,), optional
        PRank's thresholds, between the distinct labels of y in increasing order (or ``classes``).
    classes : array-like, optional
        All labels, worst first, where y may lack some.

    Attributes
    ----------
    margin : float
        The smallest margin, :math:`\gamma`; infinite without a pair to order.
    margins : ndarray of shape (n_queries,)
        Smallest margin of each query; of each document, with thresholds.
    radius : float
        Length of the longest document, :math:`R_X`.
    norm : float
        :math:`\|w\|`, or :math:`\|(w, b)\|`.

    Examples
    --------
    >>> report = MarginReport([[3.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [2, 1, 0], None, w=[2.0, 0.0])
    >>> report.margin, report.radius, report.separable
    (1.0, 3.0, True)
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None,
        w: ArrayLike,
        *,
        thresholds: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> None:
        matrix, labels = check_X(X), check_y(y)
        weights = check_comparator(w, matrix.shape[1])
        self.radius = radius(matrix)
        self.norm = float(np.linalg.norm(weights))
        scores = np.asarray(matrix @ weights, dtype=np.float64)
        if thresholds is None:
            order, groups = gather(check_qid(qid, len(labels)))
            if order is not None:
                scores, labels = scores[order], labels[order]
            margins = ranking_margins(scores, labels, groups)
        else:
            b = np.asarray(thresholds, dtype=np.float64)
            self.norm = math.hypot(self.norm, float(np.linalg.norm(b)))
            known = np.unique(labels) if classes is None else np.asarray(classes, dtype=np.float64)
            if b.shape != (len(known) - 1,):
                raise ValueError(
                    f"thresholds must be {len(known) - 1}, between {len(known)} labels, but have "
                    f"shape {b.shape}."
                )
            margins = prank_margins(scores, np.searchsorted(known, labels), b).min(
                axis=1, initial=math.inf
            )
        # Zero weights separate nothing, whatever the pairs: their margin is 0, not 0/0.
        self.margins = margins / self.norm if self.norm > 0 else np.minimum(margins, 0.0)
        self.margin = float(self.margins.min(initial=math.inf))

    @property
    def separable(self) -> bool:
        """Whether all margins are positive."""
        return self.margin > 0

    @property
    def share(self) -> float:
        """Share of the queries (or documents) with a positive margin."""
        return float(np.mean(self.margins > 0)) if len(self.margins) else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return {
            "margin": self.margin if math.isfinite(self.margin) else None,
            "radius": self.radius,
            "norm": self.norm,
            "separable": self.separable,
            "share": self.share,
        }

    def __repr__(self) -> str:
        return (
            f"margin {self.margin:.6g}, radius {self.radius:.6g}, |w| {self.norm:.6g}, "
            f"{self.share:.1%} of {len(self.margins)} separated"
        )


def prank_margins(scores: Floats, ranks: NDArray[np.int64], b: Floats) -> Floats:
    """Return :math:`(s_t - b_r) y_{t,r}`, documents by thresholds; ranks count from 0."""
    # y_r = -1 if y <= r, else +1: the score must be below the thresholds from its own rank on.
    side = np.where(ranks[:, None] <= np.arange(len(b)), -1.0, 1.0)
    return np.asarray((scores[:, None] - b) * side)
