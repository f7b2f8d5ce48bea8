r"""Bounds of Predtron: Theorem 1, its corollaries and variants, with constants.

Throughout, R bounds the inputs, :math:`\gamma` is a margin, :math:`c_L` and :math:`C_L` are the
smallest loss above 0 and the largest, and ``link`` is
:func:`~rankwright.theory.link_constant`: 1 for l2, :math:`e^2(\log n - 1)` behind a link.
"""

from __future__ import annotations

import math

from rankwright.theory.guarantee import Guarantee, over_square, require


def predtron_theorem1(
    margin: float, radius: float, smallest_loss: float, largest_loss: float, link: float = 1.0
) -> Guarantee:
    r"""Theorem 1: Algorithm 1 with :math:`\eta = c_L/(4R^2)` on separable data.

    .. math::
        \sum_t L_t \le \frac{4 R^2 C_L^2}{c_L \gamma^2}

    for a strict margin: the most similar predictions are exactly the correct ones. With
    :math:`\eta = 1`, which the paper's experiments use, it fails (P2). Corollary 2 is this with
    :math:`c_L = \alpha_2, C_L = \alpha_1` (the paper prints :math:`\alpha_2^2`, P4), the bound with
    an option to reject with :math:`c_L = \beta_2, C_L = 1`.

    Parameters
    ----------
    margin : float
        :math:`\gamma` of weights of norm 1.
    radius : float
        R.
    smallest_loss, largest_loss : float
        :math:`c_L` and :math:`C_L`.
    link : float, default 1.0
        The link's constant.

    Examples
    --------
    >>> predtron_theorem1(0.5, 1.0, smallest_loss=1.0, largest_loss=3.0).value  # 4 x 9 / 0.25
    144.0
    """
    require(radius=radius, smallest_loss=smallest_loss, largest_loss=largest_loss, link=link)
    # The bound against any U at U = U* C_L/gamma: every lead is at least C_L, every phi is 0.
    size = 4 * link * radius**2 * largest_loss**2 / smallest_loss
    return Guarantee(
        "Theorem 1",
        "sum of losses",
        "4 link R^2 C_L^2 / (c_L gamma^2)",
        over_square(size, margin),
        _terms(margin, radius, link) | {"c_L": smallest_loss, "C_L": largest_loss},
    )


def predtron_any_step(
    margin: float, radius: float, smallest_loss: float, largest_loss: float, eta: float
) -> Guarantee:
    r"""Algorithm 1 with any step, on separable data (P2).

    .. math::
        \text{mistakes} \le \frac{4 R^2 + 2 (C_L - c_L)/\eta}{\gamma^2}

    The second term grows as the features shrink, because losses are compared with scores. For 0-1
    losses it is 0, and the step is irrelevant.

    Parameters
    ----------
    margin, radius, smallest_loss, largest_loss
        As for :func:`predtron_theorem1`.
    eta : float
        :math:`\eta`.
    """
    require(radius=radius, smallest_loss=smallest_loss, largest_loss=largest_loss, eta=eta)
    # |W|^2 grows by at most 4 R^2 eta^2 + 2 eta <rep(sigma_y) - rep(sigma~), t>. That product is
    # L(sigma~) - phi <= C_L - c_L, since phi >= c_L on a mistake.
    size = 4 * radius**2 + 2 * (largest_loss - smallest_loss) / eta
    return Guarantee(
        "Algorithm 1, any step",
        "mistakes",
        "(4 R^2 + 2 (C_L - c_L)/eta) / gamma^2",
        over_square(size, margin),
        {"gamma": margin, "R": radius, "c_L": smallest_loss, "C_L": largest_loss, "eta": eta},
    )


def predtron_predicted(margin: float, radius: float, link: float = 1.0) -> Guarantee:
    r"""Bound updates with the prediction, on separable data (P3).

    .. math::
        \text{mistakes} \le \frac{4 R^2}{\gamma^2}

    for the weak margin, which allows any order among correct predictions (P5), and for any step.

    Parameters
    ----------
    margin, radius, link
        As for :func:`predtron_theorem1`.
    """
    require(radius=radius, link=link)
    # The perceptron's proof: the prediction never has a smaller similarity than sigma_y, so that
    # |W|^2 grows by at most |rep - rep|^2 R^2 <= 4 R^2, whatever the step.
    return Guarantee(
        "Predicted update",
        "mistakes",
        "4 link R^2 / gamma^2",
        over_square(4 * link * radius**2, margin),
        _terms(margin, radius, link),
    )


def predtron_loss_driven(
    margin: float, radius: float, largest_loss: float, link: float = 1.0
) -> Guarantee:
    r"""Predtron.LD: updates with the prediction, scaled by its loss, on separable data (P3).

    .. math::
        \sum_t L_t \le \frac{4 R^2 C_L}{\gamma^2}

    for the weak margin and for any step: the factor :math:`C_L/c_L` of Theorem 1 is gone.

    Parameters
    ----------
    margin, radius, largest_loss, link
        As for :func:`predtron_theorem1`.
    """
    require(radius=radius, largest_loss=largest_loss, link=link)
    # gamma^2 (sum L)^2 <= 4 R^2 sum L^2 <= 4 R^2 C_L sum L.
    return Guarantee(
        "Predtron.LD",
        "sum of losses",
        "4 link R^2 C_L / gamma^2",
        over_square(4 * link * radius**2 * largest_loss, margin),
        _terms(margin, radius, link) | {"C_L": largest_loss},
    )


def predtron_bound(
    mode: str,
    u_norm: float,
    radius: float,
    smallest_loss: float,
    largest_loss: float,
    comparator_loss: float = 0.0,
    link: float = 1.0,
    eta: float | None = None,
) -> Guarantee:
    r"""Any data, against any weights U.

    .. math::
        \sum_t L_t \text{ (predicted: mistakes)} \le 2 \sum_t \ell_t(U) + 4 R^2 \|U\|^2 \kappa,
        \qquad \kappa = 1/c_L,\; 1,\; C_L

    for ``"augmented"``, ``"predicted"`` and ``"loss_driven"``. :math:`\ell_t(U)`, over the rounds
    with a mistake, is the surrogate :math:`\phi`, the hinge
    :math:`\xi_t = \max(0, 1 - \langle \mathrm{rep}(\sigma_y) - \mathrm{rep}(\sigma_t), U x_t
    \rangle)`, and :math:`L_t \xi_t`. The first needs :math:`\eta = c_L/(4R^2)`; another step below
    twice that gives :math:`(\sum_t \ell_t(U) + \|U\|^2/(2\eta)) / (1 - 2\eta R^2/c_L)`, and any
    step (P2) that of M mistakes, with :math:`M c_L - \sum_t \ell_t(U) \le \|U\| \sqrt{M A}` for
    :math:`A = 4R^2 + 2(C_L - c_L)/\eta`, each costs at most :math:`C_L`.

    Parameters
    ----------
    mode : {"augmented", "predicted", "loss_driven"}
        The update.
    u_norm : float
        :math:`\|U\|` in the norm of margins, :func:`~rankwright.theory.weight_norm`.
    radius, smallest_loss, largest_loss, link
        As for :func:`predtron_theorem1`.
    comparator_loss : float
        :math:`\sum_t \ell_t(U)`.
    eta : float, optional
        Step of ``"augmented"``, if it is another one.
    """
    require(u_norm=u_norm, radius=radius, comparator_loss=comparator_loss, link=link)
    size = link * radius**2
    factor = {"augmented": 1 / smallest_loss, "predicted": 1.0, "loss_driven": largest_loss}[mode]
    value = 2 * comparator_loss + 4 * size * u_norm**2 * factor
    name = {"augmented": "1/c_L", "predicted": "1", "loss_driven": "C_L"}[mode]
    formula = f"2 l(U) + 4 link R^2 |U|^2 {name}"
    terms = {"l(U)": comparator_loss, "|U|": u_norm, "R": radius, "link": link}
    terms |= {"c_L": smallest_loss, "C_L": largest_loss}
    best = smallest_loss / max(4 * size, 1e-300)
    # A learner computes that step itself, in another order of operations.
    if mode == "augmented" and eta is not None and not math.isclose(eta, best, rel_tol=1e-9):
        terms["eta"] = eta
        room = 1 - 2 * eta * size * factor
        formula = "(l(U) + |U|^2/(2 eta)) / (1 - 2 eta link R^2/c_L)"
        value = (comparator_loss + u_norm**2 / (2 * eta)) / room if room > 0 else math.inf
        # P2, against any U: a mistake moves <W, U> by c_L - l_t(U) at least, since the augmented
        # argmax has a loss, and |W|^2 by 2 eta (C_L - c_L) + 4 eta^2 R^2 at most.
        A = 4 * size + 2 * (largest_loss - smallest_loss) / eta
        b = u_norm * math.sqrt(max(A, 0.0))
        root = (b + math.sqrt(b**2 + 4 * smallest_loss * comparator_loss)) / (2 * smallest_loss)
        if largest_loss * root**2 < value:
            formula = "C_L M, M c_L - l(U) = |U| sqrt(M A), A = 4 link R^2 + 2 (C_L - c_L)/eta"
            value = largest_loss * root**2
    quantity = "mistakes" if mode == "predicted" else "sum of losses"
    return Guarantee(f"Predtron, {mode}", quantity, formula, value, terms)


def predtron_corollary(
    number: int, margin: float, radius: float, max_label: int, m: int, n_features: int | None = None
) -> Guarantee:
    r"""Corollaries 5 to 8 as printed: rankings with the NDCG loss.

    .. math::
        \sum_t L_t \le \frac{2^{Y + 3} m^2 \log_2^2(2m) R^2}{\gamma^2}
        \;\;\text{(5, 7)}, \qquad 9 \log p \text{ times that (6, 8)}

    for subset ranking (5; 6 with margins by the l1 norm) and label ranking (7; 8 with margins by
    the group norm). They are valid and far too large: :math:`1/c_L` is bounded by
    :math:`2^{Y+1} m^2 \log_2^2(2m)`, which is 14 times too large at least (P11). On labels with
    ties no scores have a strict margin, and they say nothing (P5).

    Parameters
    ----------
    number : {5, 6, 7, 8}
        Which.
    margin, radius
        As for :func:`predtron_theorem1`.
    max_label : int
        Y, the largest label.
    m : int
        Documents of a query, or labels.
    n_features : int, optional
        p, for 6 and 8; at least 8 (P8).
    """
    if number not in (5, 6, 7, 8):
        raise ValueError(f"number must be 5, 6, 7 or 8, but is {number!r}.")
    require(radius=radius, max_label=max_label)
    size = 2.0 ** (max_label + 3) * m**2 * math.log2(2 * m) ** 2 * radius**2
    terms: dict[str, float] = {"gamma": margin, "R": radius, "Y": max_label, "m": m}
    formula = "2^(Y+3) m^2 log2(2m)^2 R^2 / gamma^2"
    if number in (6, 8):
        if n_features is None or n_features < 8:
            raise ValueError("Corollaries 6 and 8 need n_features, at least 8.")
        size *= 9 * math.log(n_features)  # the paper's round form of e^2 (log p - 1)
        terms["p"] = n_features
        formula = "9 log(p) " + formula
    return Guarantee(
        f"Corollary {number}", "sum of losses", formula, over_square(size, margin), terms
    )


def _terms(margin: float, radius: float, link: float) -> dict[str, float]:
    return {"gamma": margin, "R": radius, "link": link}
