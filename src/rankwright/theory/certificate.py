"""Whether a loss keeps its promise on given scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.losses import Bound, Loss, from_name
from rankwright.losses.loss import check_query_data
from rankwright.losses.own import as_loss
from rankwright.metrics.metric import mean_of_queries

# Relative to 1 + |bound|: above the rounding of a sum over 10^5 documents, 1e-11, and far below
# what a promise that is really broken fails by (0.6 in S3).
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class LossCertificate:
    r"""A loss beside what it promises.

    .. math::
        \mathrm{slack}_q = L_q - \mathrm{lower}_q \ge 0

    Attributes
    ----------
    loss : Loss
        The loss.
    bound : Bound
        Its promise: a metric, and the lower bound made of it.
    values : ndarray of shape (n_queries,)
        Loss of each query.
    lower : ndarray of shape (n_queries,)
        What the loss promises to be at least.
    metric_values : ndarray of shape (n_queries,)
        The metric, by the conventions of ``bound.metric``: pessimistic ties.
    query_ids : ndarray of shape (n_queries,)
        Ids of the queries.
    """

    loss: Loss
    bound: Bound
    values: Floats
    lower: Floats
    metric_values: Floats
    query_ids: NDArray[Any]

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.values)

    @property
    def slack(self) -> Floats:
        """Loss minus lower bound, by query."""
        return self.values - self.lower

    @property
    def mean_value(self) -> float:
        """Mean loss."""
        return _exact_mean(self.values)

    @property
    def mean_lower(self) -> float:
        """Mean of the lower bounds."""
        return _exact_mean(self.lower)

    @property
    def mean_metric(self) -> float:
        """Mean of the metric."""
        return mean_of_queries(self.metric_values, str(self.bound.metric))

    @property
    def mean_slack(self) -> float:
        """Mean slack."""
        return _exact_mean(self.slack)

    @property
    def min_slack(self) -> float:
        """Smallest slack of a query."""
        return float(self.slack.min(initial=math.inf))

    @property
    def tightest_query(self) -> Any:
        """Id of the query with the smallest slack; None without queries."""
        return self.query_ids.tolist()[int(self.slack.argmin())] if self.n_queries else None

    @property
    def broken(self) -> NDArray[np.bool_]:
        """Queries on which the promise is broken by more than rounding."""
        # Written so that NaN is broken.
        return ~(self.slack >= -_ROUNDING * (1 + np.abs(self.lower)))

    @property
    def holds(self) -> bool:
        """Whether the promise is kept on every query, up to rounding."""
        return not self.broken.any()

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON, without those by query."""
        return {
            "loss": repr(self.loss),
            "promise": self.bound.text,
            "metric": str(self.bound.metric),
            "n_queries": self.n_queries,
            "mean_loss": self.mean_value,
            "mean_lower": self.mean_lower,
            "mean_metric": self.mean_metric,
            "mean_slack": self.mean_slack,
            "min_slack": self.min_slack,
            "tightest_query": self.tightest_query,
            "holds": self.holds,
        }

    def __repr__(self) -> str:
        verdict = "on every query"
        if not self.holds:
            verdict = f"no, broken on {int(self.broken.sum())} of {self.n_queries} queries"
        rows = [
            ("loss", repr(self.loss)),
            ("queries", f"{self.n_queries}"),
            ("promise", f"loss >= {self.bound.text} on every query"),
            ("mean loss", f"{self.mean_value:.6g}"),
            ("mean lower bound", f"{self.mean_lower:.6g}"),
            ("mean slack", f"{self.mean_slack:.6g}"),
            ("smallest slack", f"{self.min_slack:.6g} (query {self.tightest_query})"),
            ("mean metric", f"{self.mean_metric:.6g} = {self.bound.metric}"),
            ("holds", verdict),
        ]
        return "\n".join(f"{name:16}  {text}" for name, text in rows)


def certificate(
    loss: str | Loss, scores: ArrayLike, y: ArrayLike, groups: Groups | None = None
) -> LossCertificate:
    r"""Check :math:`L_q \ge \mathrm{lower}_q` on every query.

    Parameters
    ----------
    loss : str or Loss
        A loss with a ``bound``, or its name. One of your own needs ``value_and_grad`` and
        ``bound``.
    scores : array-like of shape (n_docs,)
        Scores.
    y : array-like of shape (n_docs,)
        Labels.
    groups : Groups, optional
        Row ranges of the queries; None is one query.

    Examples
    --------
    >>> print(certificate("slam", scores=[0.5, 1.0, 0.0], y=[2, 1, 0]))
    loss              SLAM(metric='ndcg', margin=1.0, threshold=1.0, weights='group')
    queries           1
    promise           loss >= 1 (1 - ndcg) on every query
    mean loss         0.619676
    mean lower bound  0.203292
    mean slack        0.416384
    smallest slack    0.416384 (query 0)
    mean metric       0.796708 = ndcg(ties=worst,empty=1.0)
    holds             on every query
    """
    loss = from_name(loss)
    asked = as_loss(loss)
    bound = asked.bound
    if bound is None:
        raise ValueError(f"loss must have a bound to be certified, but {loss!r} has none.")
    labels, values, groups = check_query_data(scores, y, groups)
    ids = groups.names
    return LossCertificate(
        loss,
        bound,
        asked.per_query(values, labels, groups),
        np.asarray(bound.lower(labels, values, groups), dtype=np.float64),
        bound.metric.per_query(labels, values, groups),
        ids,
    )


def _exact_mean(values: Floats) -> float:
    # fsum rounds once: the mean does not depend on the order of the queries.
    return math.fsum(values.tolist()) / len(values) if len(values) else math.nan
