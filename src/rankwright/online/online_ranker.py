"""Online gradient descent on any ranking loss."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups, Ints
from rankwright.data.products import native_rows
from rankwright.data.validation import Floats
from rankwright.inputs import RankingData
from rankwright.losses import Loss, from_name
from rankwright.losses.own import as_loss, prepare_queries
from rankwright.online.base import Rounds
from rankwright.online.ledger import Ledger
from rankwright.online.means import Variant
from rankwright.online.parameters import parametrized
from rankwright.online.rankers import OnlineLinearRanker
from rankwright.theory.guarantee import Guarantee
from rankwright.theory.margins import check_comparator
from rankwright.theory.perceptron import gradient_descent_bound

Schedule: TypeAlias = Literal["constant", "sqrt", "inverse"]
_SCHEDULES = ("constant", "sqrt", "inverse")
_TERMS = ("comparator", "distance", "gradient")


@parametrized
class OnlineRanker(OnlineLinearRanker):
    r"""Takes one gradient step for each query.

    .. math::
        w \leftarrow w - \eta_t X_q^\top \nabla_s L(X_q w, y_q)

    With weights, L is the weighted loss, as for :meth:`~rankwright.linear.LinearRanker.fit`.

    For a convex loss and any comparator u, the sum of the losses is at most that of u plus what
    :func:`~rankwright.theory.gradient_descent_bound` says.

    Parameters
    ----------
    loss : str or Loss, default "xendcg"
        :math:`L`: a name as for :class:`~rankwright.linear.LinearRanker`, or a loss of
        :mod:`rankwright.losses` or your own. A loss that draws at random draws again in each round.
    eta : float, default 0.01
        :math:`\eta`.
    schedule : {"constant", "sqrt", "inverse"}, default "constant"
        :math:`\eta_t = \eta`, :math:`\eta/\sqrt t` or :math:`\eta/t` in round t.
    skip_empty : bool, default True
        Learn nothing from queries without a relevant document: labels all equal, and not above 0.
        False, here or in the loss, lets XE-NDCG and ListNet learn from them too.
    @variant
    @rounds queries

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights that predict.
    n_rounds_, n_updates_ : int
        Queries so far, and those with a gradient that is not 0.
    cumulative_loss_ : float
        Sum of the losses of the queries, each before its step.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> train, test = make_mslr_like(n_queries=100, mean_docs=30).split((0.7, 0.3))
    >>> ranker = OnlineRanker("listnet").fit(train.X, train.y, train.qid)
    >>> ranker.score(test.X, test.y, test.qid) > 0.7
    True
    """

    loss: str | Loss = "xendcg"
    eta: float = 0.01
    _: KW_ONLY
    takes_weights: ClassVar[bool] = True
    bounds_metric: ClassVar[bool] = False
    any_start: ClassVar[bool] = True  # what its bound is made of is measured, round by round
    schedule: Schedule = "constant"
    skip_empty: bool = True
    variant: Variant | None = None

    def loss_for(self, y: Floats) -> Loss:
        """Return the loss, whatever the labels are."""
        return from_name(self.loss, self.skip_empty)

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        from_name(self.loss)
        if self.schedule not in _SCHEDULES:
            raise ValueError(
                f"schedule must be one of {', '.join(_SCHEDULES)}, but is {self.schedule!r}."
            )

    def _prepare(self, data: RankingData) -> _GradientTask:
        loss = as_loss(self.loss_for(data.y))
        queries = prepare_queries(loss, data.y, data.groups, data.weights)
        return _GradientTask(data.groups, native_rows(data.X), loss, queries)

    def _learn(self, task: _GradientTask, order: Ints, comparator: Floats | None) -> Rounds:
        u = np.empty(0)
        if comparator is not None:
            u = check_comparator(comparator, self.n_features_in_)
        names = _TERMS if comparator is not None else ()
        losses, terms = np.empty(len(order)), np.empty((len(names), len(order)))
        with self._iterate(len(order)) as iterate:
            n_updates = _kernels.gradient_descent(
                task.rows,
                task.groups.indptr,
                order,
                task.queries,
                float(self.eta),
                self.schedule,
                u,
                iterate,
                losses,
                terms,
            )
        return Rounds(losses, n_updates, dict(zip(names, terms, strict=True)))

    def _charge(self, task: _GradientTask, order: Ints, rounds: Rounds, ledger: Ledger) -> None:
        for name, values in rounds.terms.items():
            ledger.add(name, values)

    def _no_guarantee(self) -> str:
        loss = as_loss(from_name(self.loss, self.skip_empty))
        return "" if loss.convex else f"a guarantee needs a convex loss, but {loss!r} is not."

    def guarantee(self, ledger: Ledger) -> Guarantee:
        """Return the bound of the rounds so far."""
        t = ledger.totals
        bound = gradient_descent_bound(t["comparator"], t["distance"], t["gradient"])
        return replace(bound, terms={**bound.terms, "loss": t["loss"]})


@dataclass(frozen=True)
class _GradientTask:
    groups: Groups
    rows: _kernels.Rows
    loss: Loss
    queries: _kernels.QueryLoss
