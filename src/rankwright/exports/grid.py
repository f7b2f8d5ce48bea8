r"""Leaves that every engine adds without rounding.

Let :math:`g = 2^{-q}` and let every leaf, and the shift, be a multiple of it such that

.. math:: \sum_k \max |\text{leaf}_k| + |\text{shift}| \le 2^{24} g.

Then every partial sum, in any order, is a multiple of :math:`g` of at most :math:`2^{24} g`, which
float32 and float64 hold exactly: one model, the same bits wherever it is summed. A leaf moves by at
most :math:`g / 2`, hence a score of :math:`K` trees by at most :math:`K g / 2`.

The other way is to round each leaf to the nearest float32. A sum of these in float32 differs from
the model's by at most

.. math::
    \sum_k \max |\text{leaf}_k - \mathrm{f32}(\text{leaf}_k)|
    + (K - 1)\, 2^{-24} \sum_k \max |\text{leaf}_k|

up to terms of second order, which :func:`sum_rounding` includes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rankwright.data.validation import Floats
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Leaves, Trees

UNITS = 1 << 24
"""The largest integer up to which float32 has all of them."""
_FINEST = -126  # the exponent of the smallest normal float32: no engine flushes what is on its grid
_COARSEST = 103  # 2^24 units of it are still below the largest float32


@dataclass(frozen=True, eq=False)
class Placed:
    """Trees with the leaves that are exported.

    Attributes
    ----------
    trees : Trees
        The trees, shift included.
    how : {"own", "grid", "nearest"}
        As they were, on a grid, or rounded to float32.
    g : float, optional
        The grid's step.
    moved : float
        By how much a leaf was moved, at most.
    bound : float
        By how much a score differs, at most, from the model's plus the shift.
    rounding : float
        The part of it that sums in float32 make, from the sum in doubles of the leaves as placed.
    """

    trees: Trees
    how: Leaves
    g: float | None
    moved: float
    bound: float
    rounding: float = 0.0


def place(trees: Trees, how: Leaves, shifted: bool) -> Placed:
    """Return trees with leaves as an engine needs them.

    Parameters
    ----------
    trees : Trees
        The model's.
    how : {"own", "grid", "nearest"}
        Where to put the leaves.
    shifted : bool
        Whether to add what makes all scores at least 0.
    """
    if how == "grid":
        return _on_grid(trees, shifted)
    leaf = trees.leaf if how == "own" else _nearest(trees)
    placed = replace(trees, leaf=leaf)
    if shifted:
        low = max(0.0, -math.fsum(placed.smallest()))
        placed = replace(placed, shift=float(np.float32(low)) if how == "nearest" else low)
    moved = np.abs(leaf - trees.leaf)
    if how == "own":
        return Placed(placed, how, None, 0.0, 0.0)
    rounding = sum_rounding(placed)
    apart = math.fsum(np.maximum.reduceat(moved, trees.forest.leaf_begin[:-1]))
    return Placed(placed, how, None, float(moved.max()), apart + rounding, rounding)


def _on_grid(trees: Trees, shifted: bool) -> Placed:
    total = math.fsum(trees.largest())
    exponent = max(math.frexp(total)[1] - 24, _FINEST) if total > 0 else 0
    while exponent <= _COARSEST:
        g = math.ldexp(1.0, exponent)
        units = np.rint(trees.leaf / g)
        placed = replace(trees, leaf=units * g + 0.0)  # never -0.0
        low = max(0.0, -math.fsum(placed.smallest())) if shifted else 0.0
        if math.fsum(placed.largest()) + low <= UNITS * g:
            moved = float(np.abs(placed.leaf - trees.leaf).max())
            bound = trees.n_trees * g / 2 if moved > 0 else 0.0
            return Placed(replace(placed, shift=low), "grid", g, moved, bound)
        exponent += 1
    raise Refusal(
        "leaves",
        f"the leaves add up to {total:.3g}, more than float32 holds",
        "divide the labels or the learning rate, and train again",
    )


def _nearest(trees: Trees) -> Floats:
    with np.errstate(over="ignore"):
        leaf = trees.leaf.astype(np.float32)
    if not np.isfinite(leaf).all():
        raise Refusal("leaves", "leaves are larger than float32 holds", "scale them")
    return leaf.astype(np.float64) + 0.0


def sum_rounding(placed: Trees) -> float:
    """Return how far sums in float32 may be from the sums of the same leaves in doubles."""
    total = math.fsum(placed.largest()) + abs(placed.shift)
    n = placed.n_trees - (placed.shift == 0)  # additions that round
    # (1 + u)^n - 1 <= n u / (1 - n u): what n roundings of relative size u make of a sum.
    u = 2.0**-24
    return total * n * u / (1 - n * u)
