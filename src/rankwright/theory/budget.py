"""Bounds of kernel perceptrons with a budget."""

from __future__ import annotations

import math

from rankwright.data.validation import check_count
from rankwright.theory.guarantee import Guarantee, require


def budget_bound(
    u_norm: float, growth: float, shrinkage: float, comparator_loss: float = 0.0
) -> Guarantee:
    r"""Bound a perceptron that lets its oldest updates go, against any u.

    .. math::
        \sum_t a_t \le 2 G \|u\|^2 (1 + S) + 4 \sum_t \ell_t(u), \qquad
        S = \sum_i \frac{1 - \varphi_i}{1 + \varphi_i}

    where :math:`\varphi_i` are the factors by which the weights were multiplied; the proof is in
    :mod:`rankwright.online.budget`. Without a budget it is :math:`G \|u\|^2 + 2 \sum_t \ell_t(u)`.

    Parameters
    ----------
    u_norm : float
        :math:`\|u\|`.
    growth : float
        G: :math:`4 R^2 V` for SLAM, :math:`4 R^2` for Predtron's predicted updates and
        :math:`4 R^2 C_L` for loss-driven ones, :math:`2 R^2` for the multiclass perceptron.
    shrinkage : float
        S.
    comparator_loss : float
        :math:`\sum_t \ell_t(u)`, over the rounds with a mistake.

    Examples
    --------
    >>> budget_bound(u_norm=2.0, growth=4.0, shrinkage=0.5).value
    48.0
    """
    require(u_norm=u_norm, growth=growth, shrinkage=shrinkage, comparator_loss=comparator_loss)
    # Nothing is said of a u of infinite length, even if there is no growth.
    size = growth * u_norm * u_norm * (1 + shrinkage)
    size = math.inf if math.isnan(size) else size
    return Guarantee(
        "Budget",
        "sum of gains",
        "2 G |u|^2 (1 + S) + 4 l(u)",
        2 * size + 4 * comparator_loss,
        {"G": growth, "|u|": u_norm, "S": shrinkage, "l(u)": comparator_loss},
    )


def budget_theorem(
    u_norm: float,
    growth: float,
    budget: int,
    comparator_loss: float = 0.0,
    *,
    max_docs: int = 1,
    smallest_gain: float = 1.0,
) -> Guarantee:
    r"""Bound a perceptron with a budget before it runs.

    .. math::
        \sum_t a_t \le \frac{2 G \|u\|^2 + 4 \sum_t \ell_t(u)}
        {1 - G \|u\|^2 \log(4 (B + m)) / (k\, a_{\min})}, \qquad k = \lfloor B/m \rfloor

    if the denominator is positive: the budget B must be, but for a logarithm, the number of
    mistakes that the perceptron may make without one. No algorithm with B documents can compete
    with all u of a length above :math:`\sqrt{B + 1}`, for G = 1 [1]_.

    Parameters
    ----------
    u_norm, growth, comparator_loss
        As for :func:`budget_bound`.
    budget : int
        B.
    max_docs : int, default 1
        m, the most documents of an update.
    smallest_gain : float, default 1.0
        :math:`a_{\min}`, the least gain of an update.

    References
    ----------
    .. [1] Dekel, Shalev-Shwartz & Singer, "The Forgetron: a kernel-based perceptron on a budget",
       SIAM Journal on Computing, 2008.

    Examples
    --------
    >>> round(budget_theorem(u_norm=2.0, growth=1.0, budget=100).value, 1)
    10.5
    """
    require(u_norm=u_norm, growth=growth, comparator_loss=comparator_loss)
    require(smallest_gain=smallest_gain)
    check_count("budget", budget)
    check_count("max_docs", max_docs)
    k = budget // max_docs
    size, value = growth * u_norm**2, math.inf
    if k > 0 and smallest_gain > 0:
        room = 1 - size * math.log(4 * (budget + max_docs)) / (k * smallest_gain)
        value = (2 * size + 4 * comparator_loss) / room if room > 0 else math.inf
    terms = {"G": growth, "|u|": u_norm, "l(u)": comparator_loss, "B": budget, "m": max_docs}
    return Guarantee(
        "Budget, beforehand",
        "sum of gains",
        "(2 G |u|^2 + 4 l(u)) / (1 - G |u|^2 log(4 (B + m)) / (k a_min))",
        value,
        terms | {"k": k, "a_min": smallest_gain},
    )
