"""How far a fitted loss may be from the best one, on new queries."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from rankwright.data.validation import check_count
from rankwright.losses import Loss, from_name
from rankwright.losses.metric_weights import MetricWeights
from rankwright.losses.own import as_loss
from rankwright.theory.guarantee import Guarantee, require


@dataclass(frozen=True)
class Generalization:
    r"""Theorem 8 of the SLAM paper, term by term.

    .. math::
        \mathbb{E}\, L(\hat w) \le L(w^\star)
        + 2 L_2 B \Bigl(\frac{8}{n} + \sqrt{\frac{2}{n}}\Bigr)

    where :math:`L(w)` is the expected loss of a new query, :math:`w^\star` its minimiser over
    :math:`\|w\| \le B`, and the expectation is over the draw of the n training queries. It bounds
    an excess over something unknown, on average: not the loss of one model.

    Attributes
    ----------
    loss : Loss
        The loss.
    n_queries : int
        n.
    radius : float
        :math:`R_X`.
    B : float
        Radius of the ball of weights.
    gradient : float
        Bound on :math:`\|\nabla_s \ell\|_1`.
    L2 : float
        :math:`R_X` times that: how fast the loss of a query can change with w.
    best_alpha : float
        The penalty weight with the smallest bound,
        :math:`\lambda^\star = \sqrt{4 L_2^2/n} / \sqrt{B^2/2 + 4 B^2/n}`.
    excess : float
        The bound on the excess with that weight, as printed.
    trivial : float
        :math:`2 L_2 B`, by which any two weights of the ball differ at most.
    alpha : float
        The penalty weight of the next two terms; ``best_alpha`` unless another is given.
    penalty_term : float
        :math:`\alpha B^2/2`: what the penalty may cost.
    sample_term : float
        :math:`4 (\alpha B + L_2)^2/(\alpha n)`: what the sample may cost.
    """

    loss: Loss
    n_queries: int
    radius: float
    B: float
    gradient: float
    L2: float
    best_alpha: float
    excess: float
    trivial: float
    alpha: float
    penalty_term: float
    sample_term: float

    @property
    def excess_at_alpha(self) -> float:
        """The bound on the excess with penalty weight ``alpha``: the sum of the two terms."""
        return self.penalty_term + self.sample_term

    @property
    def says_something(self) -> bool:
        """Whether one of the bounds is below ``trivial``."""
        return min(self.excess, self.excess_at_alpha) < self.trivial

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        extra = {"excess_at_alpha": self.excess_at_alpha, "says_something": self.says_something}
        return {**values, "loss": repr(self.loss), **extra}

    def __repr__(self) -> str:
        text = (
            f"Let {self.n_queries} queries be drawn independently, no document be longer than "
            f"R_X = {self.radius:.4g}, and B = {self.B:.4g} be chosen before the draw. Among the "
            f"weights with |w| <= B take those that minimise the mean loss of the queries + "
            f"lambda/2 |w|^2, lambda = {self.best_alpha:.4g}. On average over the draw, their "
            f"expected loss on a new query exceeds that of the best w with |w| <= B by at most "
            f"{self.excess:.4g}"
        )
        if self.alpha != self.best_alpha:
            text += f"; with lambda = {self.alpha:.4g}, by at most {self.excess_at_alpha:.4g}"
        text += (
            f". Any two w with |w| <= B differ by at most 2 L2 B = {self.trivial:.4g} anyway"
            f"{'' if self.says_something else ', so the theorem adds nothing here'}. The expected "
            "loss of the best w is unknown: this is no bound on the loss itself."
        )
        return text


def generalization(
    loss: str | Loss,
    X_radius: float,
    n_queries: int,
    B: float,
    alpha: float | None = None,
    *,
    V: float | None = None,
    m: int | None = None,
) -> Generalization:
    r"""Bound the excess loss of a linear model on new queries.

    .. math::
        \mathbb{E}\, L(\hat w) - L(w^\star) \le \frac{\alpha B^2}{2}
        + \frac{4 (\alpha B + L_2)^2}{\alpha n}, \qquad
        L_2 = R_X \sup \|\nabla_s \ell\|_1

    at the best :math:`\alpha` at most :math:`2 L_2 B (8/n + \sqrt{2/n})`. Here :math:`\hat w`
    minimises the mean loss :math:`+ \frac{\alpha}{2} \|w\|^2` over :math:`\|w\| \le B` on n
    independent queries.

    Parameters
    ----------
    loss : str or Loss
        A convex loss, or its name.
    X_radius : float
        :math:`R_X`: no document is longer; see :func:`radius`.
    n_queries : int
        n, the number of training queries.
    B : float
        Bound on the length of the weights, chosen before the data are seen.
    alpha : float, optional
        Weight of the l2 penalty; the best one by default.
    V : float, optional
        For SLAM and SmoothSLAM, the largest sum of a query's weights v, so that the gradient's norm
        is at most 2 V, or 2 V / log 2. It is at most 1 for all metrics that have names, which is
        the default; weights of your own need it.
    m : int, optional
        The most documents of a query, for losses whose gradient grows with them.

    References
    ----------
    .. [1] Chaudhuri & Tewari, "Perceptron-like algorithms and generalization bounds for learning to
       rank", Theorems 8 and 11, Corollary 9.

    Examples
    --------
    >>> bound = generalization("slam", X_radius=1.0, n_queries=200, B=1.0)
    >>> bound.L2, round(bound.excess, 3)  # 2 x 1, 4 (8/200 + 1/10)
    (2.0, 0.56)
    """
    loss = from_name(loss)
    if as_loss(loss).convex is False:  # one that does not say is trusted
        raise ValueError(f"Theorem 8 needs a convex loss, but {loss!r} is not.")
    for name, value in (("X_radius", X_radius), ("B", B)):
        _require_positive(name, value)
    if n_queries < 1:
        raise ValueError(f"n_queries must be at least 1, but is {n_queries!r}.")
    n = int(n_queries)
    gradient = _gradient(loss, V, m)
    # By w the gradient is X^T g, and |X^T g|_2 <= max |x_i|_2 |g|_1.
    L2 = X_radius * gradient
    # The minimiser of alpha (B^2/2 + 4 B^2/n) + 4 L2^2/(alpha n) + 8 L2 B/n, which is the sum of
    # the two terms below. `excess` is its value with sqrt(1/2 + 4/n) <= sqrt(1/2) + 2/sqrt(n), so
    # that the terms at `best` add up to a little less than the printed bound.
    best = math.sqrt(4 * L2**2 / n) / math.sqrt(B**2 / 2 + 4 * B**2 / n)
    weight = best
    if alpha is not None:
        _require_positive("alpha", alpha)
        weight = float(alpha)
    return Generalization(
        loss=loss,
        n_queries=n,
        radius=float(X_radius),
        B=float(B),
        gradient=gradient,
        L2=L2,
        best_alpha=best,
        excess=2 * L2 * B * (8 / n + math.sqrt(2 / n)),
        trivial=2 * L2 * B,
        alpha=weight,
        penalty_term=weight * B**2 / 2,
        sample_term=4 * (weight * B + L2) ** 2 / (weight * n),
    )


def chapelle_wu_rate(
    lipschitz: float, X_radius: float, n_queries: int, B: float, m: int
) -> Guarantee:
    r"""Return the rate of Chapelle and Wu's bound, which grows with the length of queries.

    .. math::
        \tilde L_2\, B\, R_X \sqrt{m/n}, \qquad \tilde L_2 = \sup \|\nabla_s \ell\|_2

    up to a constant that the SLAM paper does not repeat; Theorem 8 has
    :math:`\tilde L_1 B R_X/\sqrt n`, up to :math:`2 \sqrt 2` and terms in 1/n, and
    :math:`\tilde L_1 \le \sqrt m\, \tilde L_2`, so that its rate is never worse. Theirs holds for
    losses that are not convex, too.

    Parameters
    ----------
    lipschitz : float
        :math:`\tilde L_2`; see :func:`score_gradient_norms` with p = 2.
    X_radius, n_queries, B
        As for :func:`generalization`.
    m : int
        The most documents of a query.

    References
    ----------
    .. [1] Chapelle & Wu, "Gradient descent optimization of smoothed information retrieval metrics",
       Information Retrieval 13, 2010; as quoted after Corollary 9 of the SLAM paper.

    Examples
    --------
    >>> chapelle_wu_rate(2.0, X_radius=1.0, n_queries=100, B=1.0, m=25).value
    1.0
    """
    require(lipschitz=lipschitz, X_radius=X_radius, B=B)
    check_count("n_queries", n_queries)
    check_count("m", m)
    return Guarantee(
        "Chapelle & Wu",
        "excess loss, up to a constant,",
        "L2 B R sqrt(m/n)",
        lipschitz * B * X_radius * math.sqrt(m / n_queries),
        {"L2": lipschitz, "B": B, "R": X_radius, "m": m, "n": n_queries},
    )


def _gradient(loss: Loss, V: float | None, m: int | None) -> float:
    """Return a bound on the l1 norm of the gradient by scores."""
    if V is not None:
        if not isinstance(loss, MetricWeights):
            raise ValueError(f"V is about the weights of SLAM, but the loss is {loss!r}.")
        _require_positive("V", V)
        # A subgradient of SLAM is a sum of v_i (e_k - e_i) over the active documents i.
        return loss.steepness * V
    lipschitz = as_loss(loss).lipschitz
    try:
        # Any two sizes tell a bound that is free of m; then any m will do.
        if m is None and lipschitz(2) != lipschitz(1000):
            raise ValueError(
                f"the gradient of {loss!r} grows with the documents of a query. Pass m, the most "
                "documents of a query."
            )
        gradient = float(lipschitz(2 if m is None else m))
    except NotImplementedError:
        raise ValueError(
            f"Theorem 8 needs a loss with lipschitz(m), but {loss!r} has none."
        ) from None
    if not (math.isfinite(gradient) and gradient > 0):
        of_weights = isinstance(loss, MetricWeights)
        hint = " Pass V, the largest sum of a query's weights." if of_weights else ""
        raise ValueError(
            f"Theorem 8 needs a finite bound on the gradient's l1 norm above 0, but that of "
            f"{loss!r} is {gradient:g}.{hint}"
        )
    return gradient


def _require_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, but is {value!r}.")
