"""L-BFGS for smooth losses of which nothing else is known."""

from __future__ import annotations

import numpy as np
import scipy.optimize

from rankwright.data.validation import Floats
from rankwright.solvers.solution import Callback, Objective, Progress, Solution


def lbfgs(
    objective: Objective,
    start: Floats,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> Solution:
    r"""Minimise with scipy's L-BFGS-B.

    An l1 penalty is made smooth by writing :math:`w = u - v` with :math:`u, v \ge 0`.

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
    penalty, n = objective.penalty, objective.n_features
    split = penalty.l1 > 0
    enough = objective.enough(tol)
    history: list[float] = []
    last = best = (np.inf, np.zeros(n), np.zeros(n))  # objective, weights, gradient of the loss

    def weights(z: Floats) -> Floats:
        return z[:n] - z[n:] if split else z

    def value_and_gradient(z: Floats) -> tuple[float, Floats]:
        nonlocal last
        w = weights(z)
        loss, slope = objective.loss_and_slope(objective.scores(w))
        gradient = objective.gradient(slope)
        value = loss + 0.5 * penalty.l2 * float(w @ w) + penalty.l1 * float(z.sum() if split else 0)
        total = gradient + penalty.l2 * w
        last = (loss + penalty.value(w), w, gradient)
        if split:
            return value, np.concatenate([total + penalty.l1, -total + penalty.l1])
        return value, total

    def violation_of(point: tuple[float, Floats, Floats]) -> float:
        return float(penalty.violation(point[1], point[2]).max(initial=0.0))

    def after(z: Floats) -> None:
        # What falls is the split objective, where u and v may both be positive; F may rise a
        # little.
        nonlocal best
        # Of values that differ by rounding only, the last one's point is the better one.
        if last[0] <= best[0] + 1e-14 * abs(best[0]):
            best = last
        history.append(min(history[-1], last[0]))
        violation = violation_of(last)
        if callback:
            n_features = int(np.count_nonzero(last[1]))
            callback(Progress(len(history) - 1, history[-1], violation, n_features))
        if violation <= enough:
            raise StopIteration

    z = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)]) if split else start
    value_and_gradient(z)
    best = last
    history.append(last[0])
    if violation_of(last) <= enough:
        gap = objective.gap(last[1], last[2])
        return Solution(last[1].copy(), history, violation_of(last), gap, 0, "converged")
    result = scipy.optimize.minimize(
        value_and_gradient,
        z,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(z) if split else None,
        callback=after,
        options={"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 1e-16, "gtol": 1e-300},
    )
    value_and_gradient(result.x)
    found = last if violation_of(last) <= enough else min(best, last, key=lambda point: point[0])
    _, w, gradient = found
    stop = "stalled"
    if violation_of(found) <= enough:
        stop = "converged"
    elif result.nit >= max_iter:
        stop = "max_iter"
    gap = objective.gap(w, gradient)
    return Solution(w, history, violation_of(found), gap, int(result.nit), stop)
