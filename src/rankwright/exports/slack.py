r"""Thresholds of an engine that adds a little to each.

Solr reads a text as a float32 :math:`a` and compares with

.. math:: T(a) = \mathrm{f32}(a + 10^{-6}), \qquad \text{left} \iff x \le T(a).

For most numbers :math:`c` there is an :math:`a` with :math:`T(a) = c`, a few steps from
:math:`c - 10^{-6}`. There is none near 0, where :math:`T` moves in steps of :math:`2^{-43}`, nor
for some negative :math:`c` just above a power of two. Then one of the two neighbours that can be
reached is taken: such that 0 and all data stay on their side, if one does that, and the nearer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.exports.targets.target import Rows

SLACK = np.float32(1e-6)
"""What is added, in float32."""
_STEPS = 12  # numbers to each side of c - 1e-6 that are tried; for all c met so far 1 would do


@dataclass(frozen=True, eq=False)
class Slackened:
    """Thresholds for an engine with slack.

    Attributes
    ----------
    text : ndarray of float32
        What is written.
    threshold : ndarray of float32
        What the engine makes of it.
    """

    text: NDArray[Any]
    threshold: NDArray[Any]


def slackened(c: NDArray[Any], feature: NDArray[Any], data: Rows | None) -> Slackened:
    """Return what to write so that an engine with slack has the thresholds ``c``, or near ones.

    Parameters
    ----------
    c : ndarray of float32
        The largest number that goes left at each split.
    feature : ndarray of int
        The feature of each split.
    data : ndarray, optional
        Rows that should stay on their sides.
    """
    below, above = _neighbours(c)
    chosen: dict[tuple[int, float], bool] = {}  # many splits are alike, and data may be long
    take_above = np.zeros(len(c), dtype=bool)
    for i in np.flatnonzero(below.threshold != c):
        split = int(feature[i]), float(c[i])
        if split not in chosen:
            x = np.zeros(0, np.float32) if data is None else data[:, feature[i]]
            chosen[split] = _is_better(above.threshold[i], below.threshold[i], c[i], x)
        take_above[i] = chosen[split]
    return Slackened(
        np.where(take_above, above.text, below.text),
        np.where(take_above, above.threshold, below.threshold),
    )


def _is_better(above: Any, below: Any, c: Any, x: NDArray[Any]) -> bool:
    """Tell whether the threshold above is better: 0 counts first, then data, then nearness."""

    def lost(low: Any, high: Any) -> tuple[bool, int, float]:
        inside = int(np.count_nonzero((low < x) & (x <= high)))  # NaN never is
        return bool(low < 0 <= high), inside, float(high) - float(low)

    return lost(c, above) < lost(below, c)


def _neighbours(c: NDArray[Any]) -> tuple[Slackened, Slackened]:
    """Return the largest threshold up to ``c`` that can be reached, and the smallest above."""
    up, down = np.float32(np.inf), np.float32(-np.inf)
    with np.errstate(over="ignore"):
        texts = [c - SLACK]
        for _ in range(_STEPS):
            texts = [np.nextafter(texts[0], down), *texts, np.nextafter(texts[-1], up)]
        a = np.stack(texts)
        reached = a + SLACK
    # T does not decrease: the last of those up to c, and the one after it.
    last = np.count_nonzero(reached <= c, axis=0) - 1
    after = np.minimum(last + 1, len(a) - 1)  # above infinity there is none, and none is needed
    return (
        Slackened(*(np.take_along_axis(one, last[None], 0)[0] for one in (a, reached))),
        Slackened(*(np.take_along_axis(one, after[None], 0)[0] for one in (a, reached))),
    )
