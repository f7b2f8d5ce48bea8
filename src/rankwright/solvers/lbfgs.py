"""L-BFGS for smooth losses: scaled by their curvature, or with an l1 penalty scipy's."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.optimize

from rankwright.data.validation import Floats
from rankwright.solvers.objective import Objective
from rankwright.solvers.scaled_lbfgs import scaled_lbfgs
from rankwright.solvers.solution import Callback, Progress, Solution

# Values that differ by less are equal but for the rounding of their sums.
_ROUNDING = 1e-14


def lbfgs(
    objective: Objective,
    start: Floats,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution:
    r"""Minimise by limited-memory BFGS.

    With a smooth penalty, weights are scaled by the curvature of the loss
    (:func:`~rankwright.solvers.scaled_lbfgs.scaled_lbfgs`). An l1 penalty is made smooth by writing
    :math:`w = u - v` with :math:`u, v \ge 0`, for scipy's L-BFGS-B.

    Parameters
    ----------
    objective : Objective
        What to minimise; its loss must be smooth.
    start : ndarray of shape (n_features,)
        First weights.
    tol : float
        Stop when the largest violation is below ``tol`` times the loss's largest derivative at
        weights 0.
    max_iter : int
        Iterations.
    callback : callable, optional
        Called with :class:`Progress` after each iteration.
    """
    if objective.penalty.kink == 0:
        return scaled_lbfgs(objective, start, tol=tol, max_iter=max_iter, callback=callback)
    run = _LBFGSRun(objective, objective.enough(tol), callback)
    z = run.begin(start)
    if run.last.violation <= run.enough:
        return run.solution(run.last, 0, "converged")
    result = scipy.optimize.minimize(
        run.value_and_gradient,
        z,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(z),
        callback=run.after,
        # We say when to stop; scipy only if nothing changes any more. A line search takes a few
        # evaluations, never twenty.
        options={"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 1e-16, "gtol": 1e-300},
    )
    run.value_and_gradient(result.x)
    found = run.last
    if found.violation > run.enough:
        found = min(run.best, run.last, key=lambda point: point.objective)
    stop = "stalled"
    if found.violation <= run.enough:
        stop = "converged"
    elif result.nit >= max_iter:
        stop = "max_iter"
    return run.solution(found, int(result.nit), stop)


class _Point(NamedTuple):
    """Weights, and what is known there."""

    objective: float
    w: Floats
    gradient: Floats  # of the loss
    violation: float


class _LBFGSRun:
    """What scipy asks for, and what is remembered of its way."""

    last: _Point
    best: _Point

    def __init__(self, objective: Objective, enough: float, callback: Callback | None) -> None:
        self.objective, self.enough, self.callback = objective, enough, callback
        self.history: list[float] = []

    def begin(self, start: Floats) -> Floats:
        """Evaluate the start; return it as scipy sees it."""
        z = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)])
        self.value_and_gradient(z)
        self.best = self.last
        self.history.append(self.last.objective)
        return z

    def value_and_gradient(self, z: Floats) -> tuple[float, Floats]:
        """Evaluate u and v, one after the other in z."""
        objective, penalty = self.objective, self.objective.penalty
        w = z[: len(z) // 2] - z[len(z) // 2 :]
        loss, slope = objective.loss_and_slope(objective.scores(w))
        gradient = objective.gradient(slope)
        violation = float(penalty.violation(w, gradient).max(initial=0.0))
        self.last = _Point(loss + penalty.value(w), w, gradient, violation)
        smooth, pull = penalty.smooth(w)
        value, total = loss + smooth + penalty.kink * float(z.sum()), gradient + pull
        return value, np.concatenate([total + penalty.kink, -total + penalty.kink])

    def after(self, z: Floats) -> None:
        """Look at the last point: scipy has taken it."""
        # What falls is the split objective, where u and v may both be positive; F may rise a
        # little. Of values that differ by rounding only, the last one's point is the better one.
        if self.last.objective <= self.best.objective + _ROUNDING * abs(self.best.objective):
            self.best = self.last
        self.history.append(min(self.history[-1], self.last.objective))
        if self.callback:
            n_features = int(np.count_nonzero(self.last.w))
            n_iter = len(self.history) - 1
            self.callback(Progress(n_iter, self.history[-1], self.last.violation, n_features))
        if self.last.violation <= self.enough:
            raise StopIteration

    def solution(self, point: _Point, n_iter: int, stop: str) -> Solution:
        """Return a point as the result."""
        gap = self.objective.gap(point.w, point.gradient)
        return Solution(point.w.copy(), self.history, point.violation, gap, n_iter, stop)
