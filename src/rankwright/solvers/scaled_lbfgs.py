"""L-BFGS in coordinates that are scaled by the curvature of the loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwright.data.validation import Floats
from rankwright.solvers.objective import Objective
from rankwright.solvers.scores import Scores
from rankwright.solvers.solution import Callback, Progress, Solution

# Steps that are remembered, as is customary.
_MEMORY = 10
# Iterations after which the curvatures are taken afresh, which costs as much as one iteration.
_FRESH = 8
# A step is long enough where the slope has fallen to this share. The scores along a step are known,
# so that one more look costs no product with X.
_SETTLED = 0.3
# Armijo's share of the promised decrease; and how far apart values may be by rounding alone.
_SUFFICIENT, _ROUNDING = 1e-4, 1e-14
# Looks along one direction. Each trial is four times as far, or leaves a tenth of the interval on
# either side: thirty lead to any step that floats can tell.
_MOST_LOOKS, _FARTHER, _INSIDE = 30, 4.0, 0.1
# Of the largest curvature; below, a weight moves nothing.
_FLATTEST = 1e-12


def scaled_lbfgs(
    objective: Objective,
    start: Floats,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution:
    r"""Minimise an objective with a smooth penalty.

    The inverse Hessian begins as :math:`\gamma D^{-1}` where L-BFGS has :math:`\gamma I`: D is the
    curvature along each weight (:meth:`Objective.bends`), penalty included. Frequent and rare words
    then move by steps of their own, and iterations are about a third as many. Each costs one
    product with X, which tells the scores all along the direction, and one with its transpose.

    Parameters are those of :func:`~rankwright.solvers.lbfgs.lbfgs`.
    """
    penalty, w = objective.penalty, start.astype(np.float64).copy()
    at_zero = objective.at_zero()
    enough = objective.enough(tol, at_zero)
    if w.any():
        scores = objective.scores(w)
        loss, slope = objective.loss_and_slope(scores)
        gradient = objective.gradient(slope)
    else:
        scores, (loss, _, gradient) = objective.scores_at_zero(), at_zero
    smooth, pull = penalty.smooth(w)
    history, total, memory = [loss + smooth], gradient + pull, _Memory()
    stop, n_iter, stale = "max_iter", 0, _FRESH
    while True:
        violation = float(np.abs(total).max(initial=0.0))
        if violation <= enough:
            stop = "converged"
            break
        if n_iter == max_iter:
            break
        if stale >= _FRESH:
            scale, stale = _scale(objective, scores, total), 0
        direction = memory.direction(total, scale)
        step = _search(objective, w, scores, total, direction, history[-1])
        if step is None:
            if not memory.steps:
                stop = "stalled"
                break
            memory, stale = _Memory(), _FRESH  # what is remembered may mislead
            continue
        scores, n_iter, stale = step.scores, n_iter + 1, stale + 1
        history.append(min(history[-1], step.value))
        gradient = objective.gradient(step.slope)
        new = gradient + step.pull
        memory.add(step.w - w, new - total)
        w, total = step.w, new
        if callback:
            callback(Progress(n_iter, history[-1], violation, int(np.count_nonzero(w))))
    return Solution(w, history, violation, objective.gap(w, gradient), n_iter, stop)


def _scale(objective: Objective, scores: Scores, gradient: Floats) -> Floats:
    if not objective.offers("curvatures"):
        # A first step of length 1; later ones are scaled by what is remembered.
        return np.full(len(gradient), float(np.linalg.norm(gradient)))
    scale = objective.bends(scores) + objective.penalty.convexity
    return np.maximum(scale, _FLATTEST * max(float(scale.max(initial=0.0)), _FLATTEST))


class _Memory:
    """The last steps, the changes of the gradient along them, and the products of both."""

    def __init__(self) -> None:
        self.steps: list[tuple[Floats, Floats, float]] = []

    def add(self, moved: Floats, change: Floats) -> None:
        along = float(moved @ change)
        # A loss that is not convex may bend downwards; there is nothing to learn from that.
        if along > 0:
            self.steps = [*self.steps[1 - _MEMORY :], (moved, change, along)]

    def direction(self, gradient: Floats, scale: Floats) -> Floats:
        """Return minus the inverse Hessian times a gradient (the two loops of Nocedal)."""
        q, shares = -gradient, []
        for moved, change, along in reversed(self.steps):
            shares.append(float(moved @ q) / along)
            q -= shares[-1] * change
        if self.steps:
            _, change, along = self.steps[-1]
            q *= along / float(change @ (change / scale))
        q /= scale
        for (moved, change, along), share in zip(self.steps, reversed(shares), strict=True):
            q += (share - float(change @ q) / along) * moved
        return q


class _Step(NamedTuple):
    """Where a step leads, and what is known there."""

    w: Floats
    scores: Scores
    value: float
    slope: Scores  # of the loss
    pull: Floats  # of the penalty


def _search(
    objective: Objective,
    w: Floats,
    scores: Scores,
    total: Floats,
    direction: Floats,
    value: float,
) -> _Step | None:
    """Go along a direction until its slope has settled; None if nothing is left to gain."""
    penalty = objective.penalty
    first = float(total @ direction)
    if not first < 0:
        return None
    along = objective.scores(direction)
    # The slope falls below 0 before `low` and is above it, or the value too high, at `high`.
    low, at_low, high, at_high = 0.0, first, np.inf, np.nan
    t, best = 1.0, None
    for _ in range(_MOST_LOOKS):
        moved, at = w + t * direction, scores + t * along
        loss, slope = objective.loss_and_slope(at)
        smooth, pull = penalty.smooth(moved)
        here, steep = loss + smooth, slope.dot(along) + float(pull @ direction)
        # Where values differ by rounding only, slopes still tell.
        level = abs(here - value) <= _ROUNDING * abs(value) and steep <= _SETTLED * -first
        falls = here <= value + _SUFFICIENT * t * first or level
        if falls:
            best = _Step(moved, at, here, slope, pull)
        if falls and abs(steep) <= _SETTLED * -first:
            return best
        if falls and steep < 0:
            low, at_low = t, steep
        else:
            high, at_high = t, steep
        if high == np.inf:
            t *= _FARTHER
            continue
        width = high - low
        # The secant of the slopes, or the middle where they tell nothing.
        guess = low - at_low * width / (at_high - at_low) if at_high > 0 else low + 0.5 * width
        t = min(max(guess, low + _INSIDE * width), high - _INSIDE * width)
    return best
