"""Coordinate descent for losses made of log-sum-exp terms."""

from __future__ import annotations

import numpy as np

from rankwright.data.validation import Floats
from rankwright.solvers.descent import Descent, Step
from rankwright.solvers.objective import Objective
from rankwright.solvers.scores import Scores
from rankwright.solvers.solution import Callback, Progress, Solution


def coordinate_descent(
    objective: Objective,
    start: Floats,
    *,
    step: Step = "newton",
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution:
    r"""Minimise by moving one weight at a time.

    Each move minimises a majoriser of the objective along its coordinate, so that the objective
    never rises:

    - ``"newton"``: curvature :math:`\min(V e^{\rho |d|}, \beta)`, where V is the second derivative
      here, :math:`\rho` the largest range of the feature in a query and
      :math:`\beta = \sum \mathrm{range}^2 / 4`: a Newton step that cannot overshoot;
    - ``"range"``: curvature :math:`\beta`;
    - ``"thesis"``: curvature (number of dominating documents) :math:`\times \max x^2`.

    With an l1 penalty, sweeps go over the weights that are not 0 until those are ten times as near
    to their optimum as a sweep over all has found the rest; a weight that stays 0 costs only its
    gradient.

    Parameters
    ----------
    objective : Objective
        What to minimise; its loss must have a ``descent_spec``, as Domination, ListNet and XENDCG
        without eps have, and its data be one share.
    start : ndarray of shape (n_features,)
        First weights.
    step : {"newton", "range", "thesis"}
        The majoriser.
    tol : float
        Stop when the largest violation is below ``tol`` times the loss's largest derivative at
        weights 0.
    max_iter : int
        Sweeps.
    callback : callable, optional
        Called with :class:`Progress` after each sweep.
    """
    w = start.astype(np.float64).copy()
    penalty = objective.penalty
    descent = Descent(objective, step)
    everything = np.arange(len(w))
    scores = objective.whole.scores(w)
    # So that scores which have not moved come back as they were, rounding included.
    descent.shift = scores - (scores - descent.shift)

    def value(scores: Floats) -> float:
        return objective.loss_and_slope(Scores([scores]))[0] + penalty.value(w)

    history = [value(scores)]
    enough = objective.enough(tol)
    stop, n_iter, violation = "max_iter", 0, np.inf
    chosen, inner = everything, enough
    while n_iter < max_iter:
        descent.start(scores)  # sums of exponentials are taken afresh, against drift
        violation, _ = descent.sweep(chosen, penalty, w)
        n_iter += 1
        scores = descent.scores()
        history.append(value(scores))
        if callback:
            callback(Progress(n_iter, history[-1], violation, int(np.count_nonzero(w))))
        if len(chosen) < len(everything):
            if violation <= inner:
                chosen = everything
        elif violation <= enough:
            stop = "converged"
            break
        elif penalty.l1 > 0:
            # A full sweep finds what else should move; then only those that do.
            active = np.flatnonzero(w)
            inner = max(enough, 0.1 * violation)  # nearer is vain before the next full sweep
            chosen = active if 0 < len(active) < len(w) else everything
    descent.start(objective.whole.scores(w))
    gradient = descent.slopes(everything)
    violation = float(penalty.violation(w, gradient).max(initial=0.0))
    return Solution(w, history, violation, objective.gap(w, gradient), n_iter, stop)
