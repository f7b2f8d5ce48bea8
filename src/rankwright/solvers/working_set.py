"""Small problems in place of a large one: the few features that an l1 penalty leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats
from rankwright.solvers.coordinate_descent import coordinate_descent
from rankwright.solvers.objective import Objective
from rankwright.solvers.prox_newton import MOST_FEATURES, prox_newton
from rankwright.solvers.solution import Callback, Progress, Solution

# Features that join at once: at least so many, or as many as have a weight.
_FEWEST = 64
# How near to its optimum a set is brought, by the violation that it was chosen at: what joins next
# moves all weights again. At last to half of what is enough, so that a second look agrees.
_NEARER, _BELOW = 0.1, 0.5


def working_set(
    objective: Objective,
    start: Floats,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution:
    r"""Minimise over the features that have a weight or should have one.

    One product with X tells the derivatives along all features. Those that violate the optimality
    conditions most join those with a weight, in numbers that at most double the set; what is left
    of X without all other columns is small, and so is the problem on it. That is solved by
    :func:`~rankwright.solvers.prox_newton.prox_newton`, ten times as near to its optimum as the
    violation that was found. It ends when no feature violates the conditions, so that the result is
    the optimum over all features, with its certificate.

    A set of more features than a Hessian may have saves nothing: from there on it is
    :func:`~rankwright.solvers.coordinate_descent.coordinate_descent` over all features.

    Parameters
    ----------
    objective : Objective
        What to minimise; its loss must be one that coordinate descent takes, and its data be one
        share. Without an l1 penalty all features are in the set.
    start : ndarray of shape (n_features,)
        First weights.
    tol : float
        Stop when the largest violation is below ``tol`` times the loss's largest derivative at
        weights 0.
    max_iter : int
        Iterations of the solvers on the sets, taken together.
    callback : callable, optional
        Called with :class:`Progress` after each of them.
    """
    penalty, w = objective.penalty, start.astype(np.float64).copy()
    at_zero = objective.at_zero()
    enough = objective.enough(tol, at_zero)
    loss, _, gradient = objective.at(w) if w.any() else at_zero
    history = [loss + penalty.value(w)]
    stop, n_iter = "max_iter", 0

    def tell(progress: Progress) -> None:
        if callback:
            callback(replace(progress, iteration=n_iter + progress.iteration))

    while True:
        violations = penalty.violation(w, gradient)
        violation = float(violations.max(initial=0.0))
        if violation <= enough:
            stop = "converged"
            break
        if n_iter >= max_iter:
            break
        chosen = _working_features(w, violations, penalty.kink)
        whole = len(chosen) == len(w)
        target = _BELOW * enough if whole else max(_BELOW * enough, _NEARER * violation)
        steepest = float(np.abs(at_zero[2][chosen]).max(initial=0.0))
        inside = objective if whole else objective.restricted(chosen)
        found = _solve(
            inside,
            w[chosen],
            tol=target / max(steepest, violation),
            max_iter=max_iter - n_iter,
            callback=tell,
        )
        n_iter += found.n_iter
        history += found.objective[1:]
        w[chosen] = found.coef
        _, slope = inside.loss_and_slope(inside.scores(found.coef))
        gradient = objective.gradient(slope)
        if found.n_iter == 0 or (found.stop == "stalled" and not history[-1] < history[-2]):
            stop = "stalled"
            break
    violation = float(penalty.violation(w, gradient).max(initial=0.0))
    return Solution(w, history, violation, objective.gap(w, gradient), n_iter, stop)


def _working_features(w: Floats, violations: Floats, kink: float) -> Ints:
    """Return the features with a weight, and of the others those that violate most."""
    everything = np.arange(len(w))
    if kink == 0:
        return everything
    others = np.flatnonzero((w == 0) & (violations > 0))
    n_new = max(_FEWEST, int(np.count_nonzero(w)))
    if len(others) > n_new:
        # Of those that violate the same, the first.
        others = others[np.argsort(-violations[others], kind="stable")[:n_new]]
    chosen = np.union1d(np.flatnonzero(w), others)
    return chosen if len(chosen) <= MOST_FEATURES else everything


def _solve(
    objective: Objective, start: Floats, *, tol: float, max_iter: int, callback: Callback
) -> Solution:
    small = objective.n_features <= MOST_FEATURES and not objective.has_slow_hessian
    hessian = objective.offers("hessian_of_sparse" if objective.is_sparse else "hessian")
    solver = prox_newton if small and hessian else coordinate_descent
    return solver(objective, start, tol=tol, max_iter=max_iter, callback=callback)
