"""Bounds of online learning: the SLAM paper's, PRank's, and those of their comparators."""

from __future__ import annotations

import math

from rankwright.theory.guarantee import Guarantee, over_square, require


def slam_theorem5(
    u_norm: float,
    radius: float,
    max_docs: int,
    v_max: float,
    comparator_loss: float = 0.0,
    eta: float | None = None,
) -> Guarantee:
    r"""Theorem 5: the perceptron with :math:`\eta = 1/(4 m R_X^2 v_{\max})`.

    .. math::
        \sum_t (1 - \mathrm{metric}_t) \le 2 \sum_t f_t(u) + 4 \|u\|^2 m R_X^2 v_{\max}

    for every u, where :math:`f_t(u)` is u's surrogate on the rounds with a loss. It does not hold
    for Algorithm 1 as printed, with :math:`\eta = 1` (S1); the proof gives
    :math:`(\sum_t f_t(u) + \|u\|^2/(2\eta)) / (1 - 2 \eta m R_X^2 v_{\max})` for any
    :math:`\eta` that leaves the denominator positive.

    Parameters
    ----------
    u_norm : float
        :math:`\|u\|`.
    radius : float
        :math:`R_X`, the length of the longest document.
    max_docs : int
        m, the most documents of a query.
    v_max : float
        The largest ratio of two positive weights of a query.
    comparator_loss : float
        :math:`\sum_t f_t(u)`.
    eta : float, optional
        Another step than the theorem's.

    Examples
    --------
    >>> slam_theorem5(u_norm=2.0, radius=1.0, max_docs=10, v_max=3.0).value
    480.0
    """
    require(u_norm=u_norm, radius=radius, max_docs=max_docs, v_max=v_max)
    require(comparator_loss=comparator_loss)
    terms = {"f(u)": comparator_loss, "|u|": u_norm, "m": max_docs, "R": radius, "v_max": v_max}
    size = max_docs * radius**2 * v_max
    # The theorem is the general form at eta = 1/(4 size), where the denominator is 1/2.
    if eta is None:
        value, formula = 2 * comparator_loss + 4 * u_norm**2 * size, "2 f(u) + 4 |u|^2 m R^2 v_max"
    else:
        require(eta=eta)
        room, terms["eta"] = 1 - 2 * eta * size, eta
        formula = "(f(u) + |u|^2/(2 eta)) / (1 - 2 eta m R^2 v_max)"
        value = math.inf
        if room > 0 and eta > 0:
            value = (comparator_loss + u_norm**2 / (2 * eta)) / room
    return Guarantee("Theorem 5", "sum of 1 - metric", formula, value, terms)


def slam_corollary6(margin: float, radius: float, max_docs: int, v_max: float) -> Guarantee:
    r"""Corollary 6: the separable case of Theorem 5.

    .. math::
        \sum_t (1 - \mathrm{metric}_t) \le \frac{4 m R_X^2 v_{\max}}{\gamma^2}

    if a unit vector orders every pair of different labels with margin :math:`\gamma`.

    Parameters
    ----------
    margin : float
        :math:`\gamma`; see :class:`MarginReport`.
    radius, max_docs, v_max
        As for :func:`slam_theorem5`.
    """
    require(radius=radius, max_docs=max_docs, v_max=v_max)
    # Theorem 5 at u = u*/gamma: every lead is at least 1, so that f(u) = 0, and |u| = 1/gamma.
    return Guarantee(
        "Corollary 6",
        "sum of 1 - metric",
        "4 m R^2 v_max / gamma^2",
        over_square(4 * max_docs * radius**2 * v_max, margin),
        {"gamma": margin, "m": max_docs, "R": radius, "v_max": v_max},
    )


def slam_corollary7(
    u_norm: float,
    radius: float,
    k: int,
    v_max: float,
    comparator_loss: float = 0.0,
    eta: float | None = None,
) -> Guarantee:
    r"""Corollary 7: Theorem 5 for NDCG@k, with k in the place of m.

    .. math::
        \sum_t (1 - \mathrm{NDCG@}k_t) \le 2 \sum_t f_t(u) + 4 \|u\|^2 k R_X^2 v_{\max}

    with the usual NDCG@k; the paper's own definition breaks it (S3), and its last term grows as
    :math:`k \log k`, not k (S10).

    Parameters
    ----------
    u_norm, radius, v_max, comparator_loss, eta
        As for :func:`slam_theorem5`.
    k : int
        The cutoff.
    """
    # m counts the documents with a positive weight; NDCG@k has at most k of them.
    bound = slam_theorem5(u_norm, radius, k, v_max, comparator_loss, eta)
    terms = {("k" if name == "m" else name): value for name, value in bound.terms.items()}
    formula = bound.formula.replace("m R^2", "k R^2")
    return Guarantee("Corollary 7", "sum of 1 - ndcg@k", formula, bound.value, terms)


def slam_misordered(
    u_norm: float, radius: float, V: float = 1.0, comparator_loss: float = 0.0
) -> Guarantee:
    r"""Bound the perceptron that updates misordered documents only, against any u.

    .. math::
        \sum_t (1 - \mathrm{metric}_t) \le 2 \sum_t f_t(u) + 4 \|u\|^2 R_X^2 V

    with :math:`V = \max_t \sum_i v_i \le 1`, and :math:`f_t` summed over the misordered documents:
    neither m nor :math:`v_{\max}` nor :math:`\eta` (S1).

    Parameters
    ----------
    u_norm, radius, comparator_loss
        As for :func:`slam_theorem5`.
    V : float, default 1.0
        The largest sum of a query's weights.
    """
    require(u_norm=u_norm, radius=radius, V=V, comparator_loss=comparator_loss)
    # With x the sum of the weights of all misordered documents, which bounds the losses,
    # x - f(u) <= <w, u> <= |u| |w| <= |u| sqrt(4 R^2 V x) <= x/2 + 2 |u|^2 R^2 V.
    return Guarantee(
        "Misordered update",
        "sum of 1 - metric",
        "2 f(u) + 4 |u|^2 R^2 V",
        2 * comparator_loss + 4 * u_norm**2 * radius**2 * V,
        {"f(u)": comparator_loss, "|u|": u_norm, "R": radius, "V": V},
    )


def slam_separable(margin: float, radius: float, V: float = 1.0) -> Guarantee:
    r"""Bound the perceptron that updates misordered documents only, on separable queries.

    .. math::
        \sum_t (1 - \mathrm{metric}_t) \le \frac{4 R_X^2 V}{\gamma^2}

    Parameters
    ----------
    margin, radius
        As for :func:`slam_corollary6`.
    V : float, default 1.0
        The largest sum of a query's weights.

    Examples
    --------
    >>> print(slam_separable(margin=0.5, radius=1.0))
    Misordered update, separable: sum of 1 - metric <= 4 R^2 V / gamma^2 = 16 (gamma = 0.5, R = 1,
    V = 1)
    """
    require(radius=radius, V=V)
    return Guarantee(
        "Misordered update, separable",
        "sum of 1 - metric",
        "4 R^2 V / gamma^2",
        over_square(4 * radius**2 * V, margin),
        {"gamma": margin, "R": radius, "V": V},
    )


def slam_printed(margin: float, radius: float, V: float = 1.0, eta: float = 1.0) -> Guarantee:
    r"""Bound Algorithm 1 as printed, with any step: what is left of Theorem 5 (S1).

    .. math::
        \sum_t (1 - \mathrm{metric}_t) \le \frac{4 R_X^2 V + 2/\eta}{\gamma^2}

    Parameters
    ----------
    margin, radius, V
        As for :func:`slam_separable`.
    eta : float, default 1.0
        The step.
    """
    require(radius=radius, V=V, eta=eta)
    # An active document may be in order, with a lead below 1. Its update then lengthens w, by at
    # most 2 eta v_i in |w|^2; that is the term that grows as features and leads shrink.
    return Guarantee(
        "Algorithm 1 as printed, separable",
        "sum of 1 - metric",
        "(4 R^2 V + 2/eta) / gamma^2",
        over_square(4 * radius**2 * V + (2 / eta if eta > 0 else math.inf), margin),
        {"gamma": margin, "R": radius, "V": V, "eta": eta},
    )


def prank_theorem2(margin: float, radius: float, n_ranks: int) -> Guarantee:
    r"""Theorem 2 of the PRank paper.

    .. math::
        \sum_t |\hat y_t - y_t| \le \frac{(k - 1)(R^2 + 1)}{\gamma^2}

    where a unit vector :math:`(w^*, b^*)` has all thresholds on the right side with margin
    :math:`\gamma`.

    Parameters
    ----------
    margin : float
        :math:`\gamma = \min_{t,r} (w^* \cdot x_t - b^*_r)\, y_{t,r}`.
    radius : float
        R, the length of the longest document.
    n_ranks : int
        k.
    """
    require(radius=radius, n_ranks=n_ranks)
    return Guarantee(
        "PRank, Theorem 2",
        "sum of |predicted - y|",
        "(k - 1)(R^2 + 1) / gamma^2",
        over_square((n_ranks - 1) * (radius**2 + 1), margin),
        {"gamma": margin, "R": radius, "k": n_ranks},
    )


def prank_bound(
    margin: float, radius: float, n_ranks: int, comparator_loss: float = 0.0
) -> Guarantee:
    r"""Bound PRank against any unit vector, more tightly than Theorem 2 (R3).

    .. math::
        \sum_t |\hat y_t - y_t| \le
        \left(\frac{\sqrt c + \sqrt{c + 4 \gamma D}}{2 \gamma}\right)^2, \qquad
        c = (k - 1) R^2 + 1

    which is :math:`c/\gamma^2` when :math:`(w^*, b^*)` has margin :math:`\gamma` everywhere. In
    general :math:`D = \sum \max(0, \gamma - (w^* \cdot x_t - b^*_r)\, y_{t,r})` over the thresholds
    of the rounds with a mistake; every :math:`\gamma > 0` gives a bound. Proof: with N thresholds
    moved, :math:`\gamma N - D \le \langle v, v^* \rangle \le \|v\| \le \sqrt{c N}`.

    Parameters
    ----------
    margin, radius, n_ranks
        As for :func:`prank_theorem2`.
    comparator_loss : float
        D.

    Examples
    --------
    >>> prank_bound(margin=0.5, radius=1.0, n_ranks=5).value  # (4 + 1) / 0.25
    20.0
    """
    require(radius=radius, n_ranks=n_ranks, comparator_loss=comparator_loss)
    # A round that moves n <= k - 1 thresholds adds at most n^2 R^2 + n <= c n to |(w, b)|^2, since
    # w moves by n x. Theorem 2 has (k - 1)(R^2 + 1) in place of c: k - 2 more.
    c = (n_ranks - 1) * radius**2 + 1
    value = over_square(c, margin)
    # The larger root of gamma N - D = sqrt(c N), a quadratic in sqrt(N).
    if margin > 0 and comparator_loss > 0:
        root = (math.sqrt(c) + math.sqrt(c + 4 * margin * comparator_loss)) / (2 * margin)
        value = root * root
    return Guarantee(
        "PRank",
        "sum of |predicted - y|",
        "((sqrt(c) + sqrt(c + 4 gamma D)) / (2 gamma))^2",
        value,
        {"gamma": margin, "R": radius, "k": n_ranks, "c": c, "D": comparator_loss},
    )


def multiclass_bound(margin: float, radius: float) -> Guarantee:
    r"""Mistakes of the multiclass perceptron, with both updates.

    .. math::
        \#\text{mistakes} \le \frac{2 R^2}{\gamma^2}

    if prototypes of Frobenius norm 1 give every document's label a lead of :math:`\gamma`.

    Parameters
    ----------
    margin : float
        :math:`\gamma`.
    radius : float
        R, the length of the longest document.
    """
    require(radius=radius)
    # One prototype moves by x, others by -x in all: |W|^2 grows by at most 2 R^2.
    return Guarantee(
        "Multiclass perceptron",
        "number of mistakes",
        "2 R^2 / gamma^2",
        over_square(2 * radius**2, margin),
        {"gamma": margin, "R": radius},
    )


def widrow_hoff_bound(
    u_norm: float, radius: float, eta: float, comparator_loss: float = 0.0
) -> Guarantee:
    r"""Squared errors of Widrow-Hoff with a fixed step :math:`\eta < 1/R^2`.

    .. math::
        \sum_t (y_t - w_t \cdot x_t)^2 \le
        \frac{\|u\|^2/\eta + \sum_t (y_t - u \cdot x_t)^2}{1 - \eta R^2}

    A wrong rank costs at most 4 times its squared error, so the rank loss is at most 4 times this.

    Parameters
    ----------
    u_norm : float
        :math:`\|u\|`.
    radius : float
        R, the length of the longest document.
    eta : float
        The step.
    comparator_loss : float
        Sum of u's squared errors.
    """
    require(u_norm=u_norm, radius=radius, eta=eta, comparator_loss=comparator_loss)
    # With e = y - w.x: a rank that is wrong by L >= 1 has |e| >= L - 1/2 >= 1/2, so that
    # L <= 2 |e| <= 4 e^2.
    room = 1 - eta * radius**2
    value = math.inf
    if room > 0 and eta > 0:
        value = (u_norm**2 / eta + comparator_loss) / room
    return Guarantee(
        "Widrow-Hoff",
        "sum of squared errors",
        "(|u|^2/eta + f(u)) / (1 - eta R^2)",
        value,
        {"f(u)": comparator_loss, "|u|": u_norm, "R": radius, "eta": eta},
    )


def gradient_descent_bound(
    comparator_loss: float, distance_term: float, gradient_term: float
) -> Guarantee:
    r"""Online gradient descent on a convex loss, with any steps.

    .. math::
        \sum_t \ell_t(w_t) \le \sum_t \ell_t(u)
        + \sum_t \frac{\|w_t - u\|^2 - \|w_{t+1} - u\|^2}{2 \eta_t}
        + \sum_t \frac{\eta_t}{2} \|g_t\|^2

    With a fixed step the middle sum is at most :math:`\|u\|^2/(2\eta)`.

    Parameters
    ----------
    comparator_loss : float
        :math:`\sum_t \ell_t(u)`.
    distance_term : float
        The middle sum.
    gradient_term : float
        The last sum.
    """
    # The middle sum may be negative: w may end further from u than it started.
    require(comparator_loss=comparator_loss, gradient_term=gradient_term)
    return Guarantee(
        "Online gradient descent",
        "sum of losses",
        "f(u) + distance + gradients",
        comparator_loss + distance_term + gradient_term,
        {"f(u)": comparator_loss, "distance": distance_term, "gradients": gradient_term},
    )
