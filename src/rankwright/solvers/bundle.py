"""A bundle method for losses with kinks: SLAM and RankHinge."""

from __future__ import annotations

import math

import numpy as np

from rankwright.data.validation import Floats
from rankwright.penalties import ElasticNet
from rankwright.solvers.solution import Callback, Objective, Progress, Solution

_MOST_PLANES = 300


def bundle(
    objective: Objective,
    start: Floats,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> Solution:
    r"""Minimise by cutting planes, with a certified gap.

    A convex loss lies above each of its tangent planes, so that the model

    .. math::
        m(w) = \max_i \{a_i^\top w + b_i\} + \Omega(w)

    bounds the objective from below, and the difference of the best objective found and the model's
    minimum bounds how far that is from optimal. Each iteration minimises the model (through its dual, a
    concave problem on a simplex), looks for the best point between there and the best so far, and adds the
    plane at a point a little beyond.

    Without an l2 penalty the model is kept in place by a proximal term around the best point. The gap is
    then that of the regularised model and not a certificate; it is reported as infinite.

    Parameters
    ----------
    objective : Objective
        What to minimise; its loss must be convex.
    start : ndarray of shape (n_features,)
        First weights.
    tol : float
        Stop when the gap is below ``tol`` times the objective at weights 0.
    max_iter : int
        Iterations.
    callback : callable, optional
        Called with :class:`Progress` after each iteration.
    """
    penalty = objective.penalty
    best = start.astype(np.float64).copy()
    best_scores = objective.scores(best)
    loss, slope = objective.loss_and_slope(best_scores)
    best_value = loss + penalty.value(best)
    history = [best_value]
    at_zero, _ = objective.loss_and_slope(np.zeros(len(objective.y)))
    enough = tol * max(at_zero, 1e-300)
    model = _Model(penalty, objective.n_features)
    model.add(objective.gradient(slope), loss, best)
    model.keep_near(best, _first_curvature(model.planes[0], best_value))
    stop, gap, n_iter = "max_iter", math.inf, 0
    while n_iter < max_iter:
        trial, lower = model.minimise(enough)
        gap = best_value - lower
        if gap <= enough:
            stop = "converged"
            break
        n_iter += 1
        scores = objective.scores(trial)
        t, value = _between(objective, best, best_scores, trial, scores)
        improved = value < best_value - 1e-3 * gap
        if value < best_value:
            best, best_value = best + t * (trial - best), value
            best_scores = best_scores + t * (scores - best_scores)
            model.keep_near(best, None)
        elif not improved:
            model.tighten()
        history.append(best_value)
        # A plane a little beyond the best point tells more than one at a distant trial.
        point, at = 0.1 * trial + 0.9 * best, 0.1 * scores + 0.9 * best_scores
        for w, s in ((point, at), (trial, scores)):
            loss, slope = objective.loss_and_slope(s)
            model.add(objective.gradient(slope), loss, w)
        if callback:
            callback(Progress(n_iter, best_value, gap, int(np.count_nonzero(best))))
    certified = gap if penalty.l2 > 0 else math.inf
    return Solution(best, history, gap, certified, n_iter, stop)


def _first_curvature(plane: Floats, value: float) -> float:
    """Curvature with which the first step may lower the objective by about its size."""
    return float(plane @ plane) / max(2 * value, 1e-300)


def _between(
    objective: Objective, best: Floats, best_scores: Floats, trial: Floats, scores: Floats
) -> tuple[float, float]:
    """Return the best point of the segment from best to trial, and its objective (golden section)."""
    penalty, golden = objective.penalty, (math.sqrt(5) - 1) / 2

    def value(t: float) -> float:
        loss, _ = objective.loss_and_slope(best_scores + t * (scores - best_scores))
        return loss + penalty.value(best + t * (trial - best))

    low, high = 0.0, 1.0
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b, at_one = value(a), value(b), value(1.0)
    for _ in range(6):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = value(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = value(b)
    return min(((at_a, a), (at_b, b), (at_one, 1.0)))[::-1]


class _Model:
    r"""The planes, and the dual of minimising their maximum plus a penalty.

    The dual of :math:`\min_w \max_i (a_i w + b_i) + \Omega(w) + \frac{\mu}{2} |w - c|^2` over the weights
    :math:`\lambda` of the planes is concave, its gradient :math:`b + A w(\lambda)` where
    :math:`w(\lambda)` is a soft threshold. Weight is moved from the worst plane that has any to the best, as
    far as the curvature allows.
    """

    def __init__(self, penalty: ElasticNet, n_features: int) -> None:
        self.penalty = penalty
        self.planes: list[Floats] = []
        self.offsets: list[float] = []
        self.weights = np.empty(0)
        self.centre = np.zeros(n_features)
        self.mu = 0.0

    def add(self, gradient: Floats, loss: float, at: Floats) -> None:
        """Add the plane of the loss at a point."""
        self.planes.append(gradient)
        self.offsets.append(loss - float(gradient @ at))
        self.weights = np.append(self.weights, 1.0 if len(self.weights) == 0 else 0.0)
        if len(self.planes) > _MOST_PLANES:
            # The planes that hold nothing go first; the newest stay.
            keep = np.sort(np.argsort(-self.weights[:-20], kind="stable")[: _MOST_PLANES // 2])
            keep = np.append(keep, np.arange(len(self.weights) - 20, len(self.weights)))
            self.planes = [self.planes[i] for i in keep]
            self.offsets = [self.offsets[i] for i in keep]
            self.weights = self.weights[keep] / self.weights[keep].sum()

    def keep_near(self, centre: Floats, mu: float | None) -> None:
        """Centre the proximal term, which is there only without an l2 penalty."""
        self.centre = centre
        if mu is not None and self.penalty.l2 == 0:
            self.mu = mu

    def tighten(self) -> None:
        """Trust the model less far from the centre."""
        self.mu *= 1.5

    def minimise(self, enough: float) -> tuple[Floats, float]:
        """Return the model's minimiser and its minimum, the latter within a tenth of ``enough``."""
        A, b = np.array(self.planes), np.array(self.offsets)
        l1, curvature = self.penalty.l1, self.penalty.l2 + self.mu
        weights = self.weights

        def primal(pulled: Floats) -> Floats:
            z = self.mu * self.centre - pulled
            return np.asarray(np.sign(z) * np.maximum(np.abs(z) - l1, 0) / curvature, dtype=np.float64)

        gram = A @ A.T
        squares = np.diag(gram)
        pulled = weights @ A
        w = primal(pulled)
        slack = b + A @ w
        for _ in range(20000):
            up = int(np.argmax(slack))
            support = np.flatnonzero(weights > 0)
            down = int(support[np.argmin(slack[support])])
            # Duality gap of the master problem.
            if slack[up] - float(weights @ slack) <= 0.1 * enough:
                break
            distance = squares[up] + squares[down] - 2 * gram[up, down]
            step = (slack[up] - slack[down]) * curvature / max(distance, 1e-300)
            step = min(step, float(weights[down]))
            weights[up] += step
            weights[down] -= step
            pulled = pulled + step * (A[up] - A[down])
            w = primal(pulled)
            slack = b + A @ w
        self.weights = weights
        near = w - self.centre
        lower = float(weights @ slack) + self.penalty.value(w) + 0.5 * self.mu * float(near @ near)
        return w, lower
