"""Bounds of Predtron for rounds that begin with any weights."""

from __future__ import annotations

from rankwright.theory.guarantee import Guarantee, require
from rankwright.theory.warm import WarmStart, named_after, warm_perceptron_bound


def predtron_warm_bound(
    mode: str,
    u_norm: float,
    radius: float,
    smallest_loss: float,
    largest_loss: float,
    comparator_loss: float,
    start: WarmStart,
    eta: float,
    link: float = 1.0,
) -> Guarantee:
    r"""Any data, against any weights U, from any start.

    Updates with the prediction are those of :func:`warm_perceptron_bound`, with
    :math:`G = 4 R^2` (``"loss_driven"``: :math:`4 R^2 C_L`). Augmented ones have the lesser of

    .. math::
        \sum_t L_t \le \frac{\sum_t \ell_t(U) + \|U - W_1\|^2/(2\eta)}{1 - 2\eta R^2/c_L}, \qquad
        \sum_t L_t \le C_L M,

    where M, the bound of :func:`warm_perceptron_bound` with
    :math:`G = 4R^2 + 2 (C_L - c_L)/\eta` against :math:`U/c_L`, is one of mistakes.

    Behind a link :math:`\nabla\psi(W_1) = \Theta_1` is the start, in the norm
    :math:`\|\cdot\|_q`, :math:`R^2` is multiplied by the link's constant, and
    :math:`\|U - W_1\|^2/2` is the divergence
    :math:`\frac12 (\|U\|_r - \|\Theta_1\|_q)^2 + \delta` of :math:`\psi`.

    Parameters
    ----------
    mode, radius, smallest_loss, largest_loss, comparator_loss, link
        As for :func:`predtron_bound`.
    u_norm : float
        :math:`\|U\|_r`; :math:`\|U\|` for l2.
    start : WarmStart
        Where the rounds begin.
    eta : float
        The step.

    Examples
    --------
    >>> start = WarmStart(length=50.0, gap=0.0)
    >>> predtron_warm_bound("predicted", 2.0, 1.0, 1.0, 1.0, 5.0, start, eta=1.0).value < 6
    True
    """
    require(u_norm=u_norm, radius=radius, comparator_loss=comparator_loss, link=link, eta=eta)
    size, name = link * radius**2, f"Predtron, {mode}, warm start"
    if mode != "augmented":
        G = 4 * size * (largest_loss if mode == "loss_driven" else 1.0)
        bound = warm_perceptron_bound(u_norm, G, comparator_loss, start.over(eta))
        return named_after(bound, name, "mistakes" if mode == "predicted" else "sum of losses")
    # P2, against U / c_L: a mistake moves <W, U> by c_L - l_t(U) at least, and |W|^2 by
    # 2 eta (C_L - c_L) + 4 eta^2 R^2 at most.
    G = 4 * size + 2 * max(0.0, largest_loss - smallest_loss) / eta
    over = 1 / smallest_loss
    mistakes = warm_perceptron_bound(
        u_norm * over, G, comparator_loss * over, start.over(eta).against(over)
    )
    bound = named_after(mistakes, name, "sum of losses", times=largest_loss)
    room, away = 1 - 2 * eta * size * over, start.distance(u_norm)
    if room > 0 and (comparator_loss + away**2 / (2 * eta)) / room < bound.value:
        terms = {"l(U)": comparator_loss, "|U - W_1|": away, "R": radius, "link": link}
        terms |= {"c_L": smallest_loss, "eta": eta}
        formula = "(l(U) + |U - W_1|^2/(2 eta)) / (1 - 2 eta link R^2/c_L)"
        value = (comparator_loss + away**2 / (2 * eta)) / room
        bound = Guarantee(name, "sum of losses", formula, value, terms)
    return bound
