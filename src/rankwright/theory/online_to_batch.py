"""From a stream to new data: what a cumulative loss says of the weights that it left behind."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from rankwright.data.validation import check_count
from rankwright.theory.guarantee import Guarantee, require

Predicts: TypeAlias = Literal["random", "averaged", "voted", "best"]
_PREDICTS = ("random", "averaged", "voted", "best")


def online_to_batch(
    cumulative_loss: float,
    n_rounds: int,
    predicts: Predicts = "random",
    *,
    largest_loss: float = 1.0,
    delta: float | None = None,
) -> Guarantee:
    r"""Bound the expected loss on new data by the cumulative loss M of T rounds.

    .. math::
        \text{risk} \le \frac{M}{T} \;\;\text{on average over the stream}, \qquad
        \text{risk} \le \frac{M}{T} + C \sqrt{\frac{\ln(1/\delta)}{2T}}
        \;\;\text{with probability } 1 - \delta

    for rounds that are drawn independently from one distribution and each seen *once* (one epoch),
    with losses between 0 and C. ``predicts`` says of which weights; w_t are those after round t:

    - ``"random"``: one of :math:`w_0, \ldots, w_{T-1}`, drawn uniformly (risk: its mean over that
      draw). Any loss and any online learner: :math:`1 - \mathrm{NDCG}` of a perceptron, the
      distance of PRank's ranks;
    - ``"averaged"``: the mean of :math:`w_1, \ldots, w_T`, which ``variant="averaged"`` keeps, for
      losses that are *convex in the weights*, such as those of
      :class:`~rankwright.online.OnlineRanker`: M + C in place of M, since :math:`w_T` was never
      tried and :math:`w_0` is left out. Of :math:`1 - \mathrm{NDCG}` it says nothing;
    - ``"voted"``: the vote (of classes) or the median (of ranks) of the predictions of
      :math:`w_1, \ldots, w_T`: twice the bound of ``"averaged"``, for the 0-1 loss and for
      distances of ranks;
    - ``"best"``: the :math:`w_t` with the smallest mean loss on the rounds after t plus
      :math:`C \sqrt{\ln(T(T+1)/\delta) / (2(T-t))}`; any loss, with probability
      :math:`1 - \delta`: :math:`M/T + 6 C \sqrt{\ln(2(T+1)/\delta)/T}`.

    M may be a bound on the cumulative loss, such as Theorem 5's, if it is at most C T. Proof:
    :math:`w_{t-1}` does not know round t, so that its risk less its loss there are the differences
    of a martingale, each within an interval of length C; the second bound is Hoeffding's and
    Azuma's. Jensen's inequality gives ``"averaged"``. If a median or a majority is off by L, at
    least half of the predictions are off by L or more, which gives ``"voted"``.

    Parameters
    ----------
    cumulative_loss : float
        M: ``cumulative_loss_`` of a learner after one pass.
    n_rounds : int
        T.
    predicts : {"random", "averaged", "voted", "best"}, default "random"
        What predicts.
    largest_loss : float, default 1.0
        C: 1 for one minus a metric, k - 1 for distances of k ranks.
    delta : float, optional
        :math:`\delta`; by default the bound on average. ``"best"`` needs one.

    References
    ----------
    .. [1] Cesa-Bianchi, Conconi & Gentile, "On the generalization ability of on-line learning
       algorithms", IEEE Transactions on Information Theory 50, 2004: Proposition 1, Corollary 2 and
       Theorem 4 (its constant in the second bound is twice ours).

    Examples
    --------
    >>> online_to_batch(30.0, n_rounds=1000).value
    0.03
    >>> print(online_to_batch(30.0, 1000, delta=0.05))
    Online to batch, random: expected loss <= M/T + C sqrt(ln(1/delta)/(2T)) = 0.0687023 (M = 30, T
    = 1000, C = 1, delta = 0.05)
    """
    require(cumulative_loss=cumulative_loss, largest_loss=largest_loss)
    check_count("n_rounds", n_rounds)
    if cumulative_loss > largest_loss * n_rounds * (1 + 1e-9):  # sums are rounded
        raise ValueError(
            "cumulative_loss must be at most largest_loss * n_rounds, "
            f"{largest_loss * n_rounds:g}, but is {cumulative_loss:g}. Pass the largest loss of a "
            "round; a bound on the loss that is above says nothing."
        )
    if predicts not in _PREDICTS:
        raise ValueError(f"predicts must be one of {', '.join(_PREDICTS)}, but is {predicts!r}.")
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, but is {delta!r}.")
    if predicts == "best" and delta is None:
        raise ValueError("predicts='best' holds with some probability only: pass delta.")
    T, C, M = n_rounds, largest_loss, cumulative_loss
    terms = {"M": M, "T": T, "C": C}
    kept = predicts in ("averaged", "voted")  # weights after each round
    value, formula = ((M + C) / T, "(M + C)/T") if kept else (M / T, "M/T")
    if delta is not None:
        terms["delta"] = delta
        if predicts == "best":
            value += 6 * C * math.sqrt(math.log(2 * (T + 1) / delta) / T)
            formula += " + 6 C sqrt(ln(2(T + 1)/delta)/T)"
        else:
            value += C * math.sqrt(math.log(1 / delta) / (2 * T))
            formula += " + C sqrt(ln(1/delta)/(2T))"
    if predicts == "voted":
        value, formula = 2 * value, f"2 ({formula})"
    return Guarantee(f"Online to batch, {predicts}", "expected loss", formula, value, terms)
