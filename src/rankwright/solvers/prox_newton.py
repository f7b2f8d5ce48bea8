"""Proximal Newton for few features."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from rankwright._kernels import quadratic_descent
from rankwright.data.validation import Floats
from rankwright.penalties import ElasticNet
from rankwright.solvers.objective import Objective
from rankwright.solvers.scores import Scores
from rankwright.solvers.solution import Callback, Progress, Solution

# A Hessian of this many features still fits a cache (8 MB), and its factorisation costs no more
# than a few products with the data.
MOST_FEATURES = 1000
# Documents per feature in the sample of the Hessian. A covariance of d features from n documents is
# off by about 2 sqrt(d/n): by a fifth with the few, enough while steps are long, and by an eighth
# with the many, which leaves BFGS little to correct.
_FEW, _MANY = 100, 256
# Iterations with the few, each with a fresh Hessian: far from the optimum it changes most.
_FRESH = 3
# Corrected by BFGS, B converges faster than any fixed rate. If in so many iterations the violation
# has not even fallen to a quarter, B is too far from the Hessian here, and is computed afresh.
_WATCHED, _FALL = 4, 4
# Armijo's share of the promised decrease, as is customary, and a step that moves no digit.
_SUFFICIENT, _SHORTEST = 1e-4, 1e-8
# Sweeps over a quadratic model of at most a thousand features, and when they are enough: by how
# much the last moves are smaller than the first. The next direction is another one anyway, and the
# line search forgives the rest.
_MOST_SWEEPS, _SMALL_MOVE = 200, 1e-2


def prox_newton(
    objective: Objective,
    start: Floats,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution:
    r"""Minimise by Newton steps on the loss, the penalty kept as it is.

    Each iteration minimises

    .. math::
        g^\top d + \tfrac12 d^\top B d + \Omega(w + d)

    exactly for l2 (a Cholesky factorisation) and by coordinate descent on :math:`B` with l1, then
    goes as far along :math:`d` as the objective falls enough (Armijo).

    :math:`B` is the Hessian if that is cheap. On large data it is the Hessian of a sample of the
    queries, with enough documents for its error to be small, corrected by BFGS updates: those bring
    back what the sample lacks, and an iteration costs two products with X, as one of L-BFGS, of
    which far fewer are needed. The sample depends on the query ids only.

    Parameters
    ----------
    objective : Objective
        What to minimise; its loss must have a ``hessian``, as Domination, ListNet and XENDCG have.
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
    penalty, w = objective.penalty, start.astype(np.float64).copy()
    enough = objective.enough(tol)
    scores = objective.scores(w)
    value, slope = objective.loss_and_slope(scores)
    history = [value + penalty.value(w)]
    gradient = objective.gradient(slope)
    curvature = _Curvature(objective)
    stop, n_iter = "max_iter", 0
    while True:
        violation = float(penalty.violation(w, gradient).max(initial=0.0))
        if violation <= enough:
            stop = "converged"
            break
        if n_iter == max_iter:
            break
        B = curvature.at(scores, violation)
        direction = _newton_direction(w, gradient, B, penalty)
        step = _line_search(objective, w, scores, gradient, direction, history[-1])
        if step is None and curvature.refine():
            continue
        if step is None:
            stop = "stalled"
            break
        moved, scores, value, slope = step
        history.append(value)
        new_gradient = objective.gradient(slope)
        curvature.update(moved - w, new_gradient - gradient)
        w, gradient = moved, new_gradient
        n_iter += 1
        if callback:
            callback(Progress(n_iter, value, violation, int(np.count_nonzero(w))))
    return Solution(w, history, violation, objective.gap(w, gradient), n_iter, stop)


class _Curvature:
    """The matrix B: Hessians of samples, BFGS updates in between."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.stage = 0  # index of the sample in use
        self.uses = 0  # of this stage
        self.violations: list[float] = []
        self.B: Floats | None = None
        self.sample = objective.sample(_FEW * objective.n_features)

    @property
    def exact(self) -> bool:
        """Whether B is the Hessian itself."""
        return self.sample.is_all

    def at(self, scores: Scores, violation: float) -> Floats:
        """Return B at the current scores."""
        self.violations.append(violation)
        if self.stage == 0 and self.uses == _FRESH:
            self.refine()
        recent = self.violations[-_WATCHED:]
        slow = len(recent) == _WATCHED and recent[-1] > recent[0] / _FALL
        if self.B is None or self.exact or (self.stage == 0 and self.uses < _FRESH) or slow:
            self.B = self.sample.hessian(scores)
            if slow:
                self.violations.clear()
        self.uses += 1
        return self.B

    def refine(self) -> bool:
        """Move on to the larger sample; False if there is none."""
        if self.exact or self.stage == 1:
            return False
        self.stage, self.uses, self.B = 1, 0, None
        self.sample = self.objective.sample(_MANY * self.objective.n_features)
        return True

    def update(self, moved: Floats, change: Floats) -> None:
        """BFGS: make B agree with the change of the gradient along the step."""
        along = float(change @ moved)
        if self.B is None or self.exact or along <= 0:
            return
        pushed = self.B @ moved
        scale = float(moved @ pushed)
        if scale > 0:
            self.B = self.B - np.outer(pushed, pushed / scale) + np.outer(change, change / along)


def _line_search(
    objective: Objective,
    w: Floats,
    scores: Scores,
    gradient: Floats,
    direction: Floats,
    value: float,
) -> tuple[Floats, Scores, float, Scores] | None:
    """Return new weights, scores, objective and slope; None if nothing is left to gain."""
    penalty = objective.penalty
    along = objective.scores(direction)
    # What the model promises for a full step, without its curvature.
    promise = float(gradient @ direction) + penalty.value(w + direction) - penalty.value(w)
    if promise >= 0:
        return None
    t = 1.0
    while t > _SHORTEST:
        moved = w + t * direction
        at = scores + t * along
        loss, slope = objective.loss_and_slope(at)
        total = loss + penalty.value(moved)
        if total <= value + _SUFFICIENT * t * promise:
            return moved, at, total, slope
        t /= 2
    return None


def _newton_direction(w: Floats, gradient: Floats, H: Floats, penalty: ElasticNet) -> Floats:
    diagonal = np.diag(H) + penalty.convexity
    # Rounding must not make a direction of no curvature one of negative curvature. In float32 it
    # leaves about 1e-7 of the largest; a billionth more on the others is far below their error.
    # (Where all are 0, 1e-300 keeps the system from being singular.)
    floor = 1e-7 * max(float(diagonal.max(initial=0.0)), 1e-300)
    system = H + np.diag(
        np.full(len(w), penalty.convexity) + np.where(diagonal < floor, floor, 1e-9 * diagonal)
    )
    slope = gradient + penalty.smooth(w)[1]
    if penalty.kink == 0:
        try:
            factor = scipy.linalg.cho_factor(system)
            return np.asarray(-scipy.linalg.cho_solve(factor, slope), dtype=np.float64)
        except scipy.linalg.LinAlgError:
            system[np.diag_indices_from(system)] += floor
            return np.asarray(-np.linalg.lstsq(system, slope)[0], dtype=np.float64)
    return quadratic_descent(system, slope, w, penalty.kink, _MOST_SWEEPS, _SMALL_MOVE)
