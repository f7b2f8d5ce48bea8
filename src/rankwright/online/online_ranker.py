"""Online gradient descent on any ranking loss."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Ints
from rankwright.data.products import native_rows
from rankwright.data.validation import Floats
from rankwright.inputs import RankingData
from rankwright.losses import Loss, from_name
from rankwright.losses.own import as_loss, prepare_loss
from rankwright.online.base import Ledger, Rounds
from rankwright.online.means import Variant
from rankwright.online.parameters import parametrized
from rankwright.online.rankers import OnlineLinearRanker
from rankwright.theory.guarantee import Guarantee
from rankwright.theory.margins import check_comparator
from rankwright.theory.perceptron import gradient_descent_bound

Schedule: TypeAlias = Literal["constant", "sqrt", "inverse"]
_POWERS = {"constant": 0.0, "sqrt": 0.5, "inverse": 1.0}


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
        if self.schedule not in _POWERS:
            raise ValueError(
                f"schedule must be one of {', '.join(_POWERS)}, but is {self.schedule!r}."
            )

    def _prepare(self, data: RankingData) -> _GradientTask:
        loss = as_loss(self.loss_for(data.y))
        return _GradientTask(data, native_rows(data.X), loss, data.weights)

    def _learn(self, task: _GradientTask, order: Ints, comparator: Floats | None) -> Rounds:
        u = None if comparator is None else check_comparator(comparator, self.n_features_in_)
        names = () if u is None else ("comparator", "distance", "gradient")
        terms = {name: np.zeros(len(order)) for name in names}
        losses, n_updates, t = np.empty(len(order)), 0, self.n_rounds_
        with self._iterate(len(order)) as iterate:
            w = self._weights()
            for i, q in enumerate(order.tolist()):
                begin, end = (int(row) for row in task.data.groups.indptr[q : q + 2])
                scores = task.rows.scores(begin, end, w)
                if not np.isfinite(scores).all():
                    raise ValueError(
                        f"the weights overflow with eta = {self.eta:g}: scale the features, or "
                        "take a smaller eta."
                    )
                losses[i], grad = task.value_and_grad(scores, q, t)
                t += 1
                # Rounds count on from one call to the next: a stream may be cut anywhere.
                eta = self.eta / t ** _POWERS[self.schedule]
                before = w if u is None else w.copy()
                if grad.any():
                    n_updates += 1
                    iterate.step(task.rows, begin, -eta * grad)
                else:
                    # The weights hold for one round more, which a mean must count.
                    iterate.skip()
                if u is not None:
                    step = w - before
                    terms["comparator"][i] = task.value_and_grad(
                        task.rows.scores(begin, end, u), q, t - 1
                    )[0]
                    # |w_t - u|^2 - |w_{t+1} - u|^2, without cancellation
                    terms["distance"][i] = (2 * (u - w) + step) @ step / (2 * eta)
                    terms["gradient"][i] = step @ step / (2 * eta)
        return Rounds(losses, n_updates, terms)

    def _charge(self, task: _GradientTask, order: Ints, rounds: Rounds, ledger: Ledger) -> None:
        if not task.loss.convex:
            raise ValueError(f"a guarantee needs a convex loss, but {task.loss!r} is not.")
        for name, values in rounds.terms.items():
            ledger.add(name, values)

    def guarantee(self, ledger: Ledger) -> Guarantee:
        """Return the bound of the rounds so far."""
        t = ledger.totals
        bound = gradient_descent_bound(t["comparator"], t["distance"], t["gradient"])
        return replace(bound, terms={**bound.terms, "loss": t["loss"]})


@dataclass(frozen=True)
class _GradientTask:
    data: RankingData
    rows: _kernels.Rows
    loss: Loss
    weights: Floats | None  # of each row

    def value_and_grad(self, scores: Floats, q: int, draw: int) -> tuple[float, Floats]:
        """Return loss and gradient of one query; random losses know query and draw."""
        groups = self.data.groups
        rows = slice(groups.indptr[q], groups.indptr[q + 1])
        y, weights = self.data.y[rows], None if self.weights is None else self.weights[rows]
        prepared = prepare_loss(self.loss, y, groups.only(q), weights, draw=draw, n_jobs=1)
        values, grad = prepared.values_and_grad(scores)
        return float(values[0]), grad
