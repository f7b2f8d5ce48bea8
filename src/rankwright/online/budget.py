r"""A budget: kernel perceptrons that keep at most so many documents.

A round with a mistake adds :math:`g_t` to the weights w; what is bounded grows by its gain
:math:`a_t`. Perceptrons have

.. math::
    \langle w_t, g_t \rangle \le 0, \qquad \|g_t\| \le q\, a_t, \qquad
    \langle u, g_t \rangle \ge a_t - \ell_t(u), \qquad G = q^2 \max_t a_t,

which gives :math:`\sum_t a_t \le G \|u\|^2 + 2 \sum_t \ell_t(u)`. With a budget, as in the
Forgetron, the update of the oldest round s goes when there are too many documents: all weights are
multiplied by a :math:`\varphi \le 1`, and then :math:`r = \sigma_s g_s` is taken away,
:math:`\sigma_s` being the product of all :math:`\varphi` since round s. It is the largest
:math:`\varphi` with which the sums over all updates that are gone keep

.. math::
    2 \sum \sigma_s a_s \le \tfrac12 \sum a_s, \qquad
    \sum \bigl(\|r\|^2 - 2 \langle w, r \rangle\bigr)
    \le G \Bigl(\tfrac12 \sum a_s - 2 \sum \sigma_s a_s\Bigr),

w after the :math:`\varphi`, and G of the rounds so far. Then, with
:math:`S = \sum (1 - \varphi)/(1 + \varphi)`,

.. math::
    \sum_t a_t \le 2 G \|u\|^2 (1 + S) + 4 \sum_t \ell_t(u).

Proof: follow :math:`\|w - G u\|^2`, which begins as :math:`G^2\|u\|^2`. An update takes at least
:math:`2 G (a_t - \ell_t) - G a_t` from it; a :math:`\varphi` adds at most
:math:`G^2\|u\|^2 (1 - \varphi)/(1 + \varphi)`; that r goes adds
:math:`\|r\|^2 - 2 \langle w, r \rangle + 2 G \sigma_s \langle u, g_s \rangle`, whose last part was
taken when s came, so that :math:`2 G \sigma_s a_s` of it are missing. All that is missing is at
most :math:`\frac12 G \sum a_s`, by both conditions, also if G grows later on. QED.

S is known beforehand. Every :math:`\sigma_s \le 1/(4 (B + m))` keeps both conditions, B being the
budget and m the most documents of an update. So if :math:`\varphi < 1` then :math:`\sigma_s` is not
below that, the :math:`\varphi` in the life of s have a product that is not below it either, and a
life sees :math:`k = \lfloor B/m \rfloor` updates go. Hence
:math:`S \le \frac{M}{2k} \log(4 (B + m))` after M updates, and with gains of 1

.. math::
    M \le \frac{2 G \|u\|^2 + 4 \sum_t \ell_t(u)}{1 - G \|u\|^2 \log(4 (B + m))/k}
    \qquad\text{if the denominator is positive.}
"""

from __future__ import annotations

import math
from typing import Final

from rankwright.data.validation import Floats

_LARGEST: Final = 1e150  # whose square is a number
SHARE: Final = 0.5  # of the gains, that all damage together may take


class Budget:
    r"""What a budget has to remember of the updates that are gone.

    ``totals`` has the sums of :math:`a_s`, :math:`\sigma_s a_s` and
    :math:`\|r\|^2 - 2 \langle w, r \rangle`, the largest :math:`\|g\|^2/a^2` and a so far,
    and S.
    """

    N_TOTALS: Final = 6

    def __init__(self, size: int, totals: Floats) -> None:
        self.size = size
        self.totals = totals.copy()

    def enter(self, gain: float, squared_length: float) -> None:
        """Take notice of an update."""
        if not 0 <= squared_length < _LARGEST:
            raise ValueError(
                "a budget needs a kernel that is positive semi-definite and finite, but an update "
                f"has a squared length of {squared_length:g}: take another kernel, or scale the "
                "features."
            )
        self.totals[3] = max(self.totals[3], squared_length / gain**2)
        self.totals[4] = max(self.totals[4], gain)

    def leave(self, gain: float, left: float, damage: float) -> float:
        r"""Return :math:`\varphi`, and take notice of an update that goes.

        Parameters
        ----------
        gain, left : float
            :math:`a_s`, and :math:`\sigma_s a_s` without :math:`\varphi`.
        damage : float
            :math:`\|r\|^2 - 2 \langle w, r \rangle` without :math:`\varphi`: it is multiplied by
            :math:`\varphi^2`.
        """
        gains, faded, damages, ratio, largest = map(float, self.totals[:5])
        G, room = ratio * largest, SHARE * (gains + gain) - 2 * faded
        share = min(1.0, room / max(2 * left, 1e-300))
        # damage share^2 + 2 G left share <= rest; feasible near 0, where the first root ends it.
        slope, rest = 2 * G * left, G * room - damages
        if damage * share**2 + slope * share > rest:
            root = math.sqrt(max(0.0, slope * slope + 4 * damage * rest))
            share = max(0.0, min(share, 2 * rest / max(slope + root, 1e-300)))
        self.totals[:3] += gain, share * left, share**2 * damage
        self.totals[5] += (1 - share) / (1 + share)
        return share
