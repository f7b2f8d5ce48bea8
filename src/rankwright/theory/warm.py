r"""Bounds of rounds that begin with weights other than 0.

A learner that was fitted goes on from :math:`w_1`; the bounds are about the rounds since then. Of
the start they need its length and how far it is from pointing where the comparator does,

.. math::
    \|w_1\|, \qquad \delta = \|u\| \|w_1\| - \langle u, w_1 \rangle \ge 0,

which is 0 for :math:`u = c\,w_1, c \ge 0`. From weights 0 both are 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rankwright.data.validation import Floats
from rankwright.showing import Brief
from rankwright.theory.guarantee import Guarantee, require


@dataclass(frozen=True, repr=False)
class WarmStart(Brief):
    r"""Where rounds begin, as a comparator sees it.

    Attributes
    ----------
    length : float
        :math:`\|w_1\|`.
    gap : float
        :math:`\delta = \|u\| \|w_1\| - \langle u, w_1 \rangle`.

    Examples
    --------
    >>> import numpy as np
    >>> start = WarmStart.between(np.array([3.0, 0.0]), u=np.array([0.0, 4.0]))
    >>> start.length, round(start.gap, 9), round(start.distance(4.0), 9)
    (3.0, 12.0, 5.0)
    """

    length: float = 0.0
    gap: float = 0.0

    def __post_init__(self) -> None:
        require(length=self.length, gap=self.gap)

    @classmethod
    def between(cls, w: Floats, u: Floats) -> WarmStart:
        """Return the start from weights against a comparator of the same shape."""
        length, other = float(np.linalg.norm(w)), float(np.linalg.norm(u))
        if length == 0 or other == 0:
            return cls(length, 0.0)
        # 1 - cos, without cancellation: weights that point the same way have a gap of 0.
        apart = float(np.linalg.norm(u / other - w / length))
        return cls(length, length * other * apart * apart / 2)

    @property
    def is_cold(self) -> bool:
        """Whether the weights are 0."""
        return self.length == 0

    def over(self, step: float) -> WarmStart:
        """Return the start in units of a step."""
        return WarmStart(self.length / step, self.gap / step)

    def against(self, times: float) -> WarmStart:
        """Return the start against the comparator, multiplied by a number >= 0."""
        return WarmStart(self.length, self.gap * times)

    def distance(self, u_norm: float) -> float:
        r"""Return :math:`\|u - w_1\|`."""
        return math.hypot(u_norm - self.length, math.sqrt(2 * self.gap))


def warm_perceptron_bound(
    u_norm: float, growth: float, comparator_loss: float = 0.0, start: WarmStart | None = None
) -> Guarantee:
    r"""Bound a perceptron from any start, against any u.

    .. math::
        \sum_t a_t \le e + h + \sqrt{h^2 + 2 B e}, \qquad
        e = \sum_t \ell_t(u) + \delta, \quad B = \tfrac12 G \|u\|^2, \quad h = B - \|u\| \|w_1\|

    where an update :math:`g_t`, in units of a step, has :math:`\langle w_t, g_t \rangle \le 0`,
    :math:`\|g_t\|^2 \le G a_t` and :math:`\langle u, g_t \rangle \ge a_t - \ell_t(u)`. From
    weights 0 it is at most :math:`G \|u\|^2 + 2 \sum_t \ell_t(u)`. For long :math:`w_1` that point
    where u does it is near :math:`\sum_t \ell_t(u)`: what u loses, and little more.

    Proof: with N the sum of the :math:`a_t`,
    :math:`N - \sum \ell_t + \langle w_1, u \rangle \le \langle w_{T+1}, u \rangle
    \le \|u\| \sqrt{\|w_1\|^2 + G N}`. The left side is :math:`N - e + \|u\| \|w_1\|`; where it is
    positive, squares give a quadratic in N whose larger root is the bound, and elsewhere
    :math:`N \le e - \|u\| \|w_1\|`, which is less.

    Parameters
    ----------
    u_norm : float
        :math:`\|u\|`.
    growth : float
        G, as for :func:`budget_bound`; :math:`(k - 1) R^2 + 1` for PRank.
    comparator_loss : float
        :math:`\sum_t \ell_t(u)`, over the rounds with an update.
    start : WarmStart, optional
        Where the rounds begin, in units of a step; with weights 0 by default.

    Examples
    --------
    >>> warm_perceptron_bound(u_norm=2.0, growth=4.0).value
    16.0
    >>> warm_perceptron_bound(2.0, 4.0, comparator_loss=3.0, start=WarmStart(1000.0)).value < 3.02
    True
    """
    start = WarmStart() if start is None else start
    require(u_norm=u_norm, growth=growth, comparator_loss=comparator_loss)
    terms = {"l(u)": comparator_loss, "|u|": u_norm, "G": growth}
    terms |= {"|w_1|": start.length, "delta": start.gap}
    return Guarantee(
        "Perceptron, warm start",
        "sum of gains",
        "e + h + sqrt(h^2 + 2 B e), e = l(u) + delta, B = G |u|^2/2, h = B - |u| |w_1|",
        _larger_root(u_norm, growth, comparator_loss, start),
        terms,
    )


def _larger_root(u_norm: float, growth: float, comparator_loss: float, start: WarmStart) -> float:
    if not math.isfinite(u_norm):
        return math.inf
    e, B = comparator_loss + start.gap, growth * u_norm * u_norm / 2
    h = B - u_norm * start.length
    root = math.hypot(h, math.sqrt(2 * B) * math.sqrt(e))
    # h + root without cancellation: nothing is lost of a short bound beside long weights.
    both = h + root if h >= 0 else (2 * B / (root - h)) * e
    return e + both if math.isfinite(both) else math.inf


def from_start(bound: Guarantee) -> Guarantee:
    r"""Return a bound by :math:`\|u\|`, into which :math:`\|u - w_1\|` was put, by its right name.

    Bounds that follow the distance to u begin with it; from weights 0 it is :math:`\|u\|`.
    """
    names = {"|u|": "|u - w_1|", "|U|": "|U - W_1|"}
    formula = bound.formula
    for name, other in names.items():
        formula = formula.replace(name, other)
    terms = {names.get(name, name): value for name, value in bound.terms.items()}
    return replace(bound, name=f"{bound.name}, warm start", formula=formula, terms=terms)


def named_after(bound: Guarantee, name: str, quantity: str, times: float = 1.0) -> Guarantee:
    """Return a perceptron's bound under a learner's name; each gain costs ``times`` at most."""
    formula = bound.formula if times == 1 else f"C_L ({bound.formula})"
    return Guarantee(name, quantity, formula, times * bound.value, bound.terms)
