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
        Stop when the largest violation is below ``tol`` times that at weights 0.
    max_iter : int
        Iterations.
    callback : callable, optional
        Called with :class:`Progress` after each iteration.
    """
    penalty, n = objective.penalty, objective.n_features
    split = penalty.l1 > 0
    enough = tol * objective.violation_at_zero()
    history: list[float] = []
    last = (np.inf, np.zeros(n), np.zeros(n))

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

    def after(z: Floats) -> None:
        value, w, gradient = last
        violation = float(penalty.violation(w, gradient).max(initial=0.0))
        history.append(min(value, history[-1]))
        if callback:
            callback(Progress(len(history) - 1, value, violation, int(np.count_nonzero(w))))
        if violation <= enough:
            raise StopIteration

    z = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)]) if split else start
    value_and_gradient(z)
    history.append(last[0])
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
    _, w, gradient = last
    violation = float(penalty.violation(w, gradient).max(initial=0.0))
    stop = "converged" if violation <= enough else "stalled"
    if stop == "stalled" and result.nit >= max_iter:
        stop = "max_iter"
    return Solution(w, history, violation, objective.gap(w, gradient), int(result.nit), stop)
