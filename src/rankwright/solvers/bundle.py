"""A bundle method for losses with kinks: SLAM and RankHinge."""

from __future__ import annotations

import math

import numpy as np
import scipy.optimize

from rankwright.data.validation import Floats
from rankwright.penalties import ElasticNet
from rankwright.solvers.objective import Objective
from rankwright.solvers.scores import Scores
from rankwright.solvers.solution import Callback, Progress, Solution

# The dual takes the eigenvalues of a matrix of this size in each iteration, tens of milliseconds.
# When there are more planes, half of them and the newest stay.
_MOST_PLANES, _NEWEST = 300, 20
# Accuracy of the model's minimum: a share of what the gap must become, or of what it is. Its errors
# then stay invisible in both.
_OF_ENOUGH, _OF_GAP = 0.1, 0.02
# A step that gains this share of what the model promised shows that it can be trusted farther:
# half the proximal weight. One that gains nothing: half as much again, by smaller steps since the
# new planes mend the model too.
_SERIOUS, _LOOSER, _TIGHTER = 0.3, 0.5, 1.5
# Where the second plane is taken: this share of the way from the best point to the trial.
_BEYOND = 0.1
# When the model with its proximal term promises little, and without it much, the term is ten times
# too strong.
_FREER = 0.1
# The last digit. A proximal weight so many times smaller than the first one is as good as none.
_EPS = float(np.finfo(np.float64).eps)
_TROUBLES = {
    "stalled": "No step gains a digit: the features are of very different or very large sizes. "
    "Scale them, or use standardize=True."
}
# Ascents of the dual with l1, as many as features may change sides, and halvings of each: 2^-40 of
# a direction moves no digit that the gap could show.
_ASCENTS, _HALVINGS = 100, 40
# Below any value that floats of data can have: in place of 0 where something is divided by it.
_TINY = 1e-300
# Evaluations between best point and trial: golden section leaves 0.618^6, a twentieth, of the way.
_SECTIONS = 6


def bundle(
    objective: Objective,
    start: Floats,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution:
    r"""Minimise by cutting planes, with a certified gap.

    A convex loss lies above each of its tangent planes, so that the model

    .. math::
        m(w) = \max_i \{a_i^\top w + b_i\} + \Omega(w)

    bounds the objective from below. Each iteration minimises the model plus a proximal term around
    the best point (through its dual, a concave problem on a simplex), looks for the best point
    between there and the best so far, and adds the planes there and at a point a little beyond.
    When the proximal model has nothing left to gain, the model alone gives a lower bound of the
    objective, and with it the gap; this needs an l2 penalty, without which the gap is reported as
    infinite. It stops as ``"stalled"`` when numbers are so large that their rounding hides the gap.

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
    model = _Model(penalty, objective.n_features)
    best_value = model.touch(objective, best, best_scores) + penalty.value(best)
    at_zero, _ = objective.loss_and_slope(objective.scores_at_zero())
    enough = tol * max(at_zero, _TINY)
    if not penalty.violation(best, model.planes[0]).any():  # no query has a pair to order
        return Solution(best, [best_value], 0.0, 0.0, 0, "converged")
    model.keep_near(best, _first_curvature(model.planes[0], best_value))
    stop, gap, certified, n_iter, history = "max_iter", math.inf, math.inf, 0, [best_value]
    while n_iter < max_iter:
        # The model's minimum need not be known better than what it is needed for.
        accuracy = max(_OF_ENOUGH * enough, _OF_GAP * min(gap, best_value))
        trial, lower, noise = model.minimise(accuracy, model.mu)
        gap = best_value - lower
        # Sums of numbers so large that their rounding hides the gap certify nothing; NaN neither.
        if not noise <= max(enough, 4 * _EPS * best_value):
            stop, gap = "stalled", math.inf
            break
        if gap <= enough:
            excess = model.excess(best_value)
            if penalty.convexity > 0:
                # Without the proximal term the model bounds the objective everywhere.
                trial, lower, noise = model.minimise(_OF_ENOUGH * enough, 0.0)
                excess = best_value - lower + noise
                certified = max(excess, 0.0)
            if excess <= enough:
                stop = "converged"
                break
            # It is the proximal term that promises so little, if the model alone knows less than
            # that no loss is below 0; or if nothing else is known.
            model.scale_mu(_FREER if penalty.convexity == 0 or excess > at_zero else 1.0)
        n_iter += 1
        scores = objective.scores(trial)
        t, value = _between(objective, best, best_scores, trial, scores)
        if value < best_value:
            model.scale_mu(_LOOSER if value < best_value - _SERIOUS * gap else 1.0)
            best, best_value = best + t * (trial - best), value
            best_scores = best_scores + t * (scores - best_scores)
            model.keep_near(best, None)
        else:
            model.scale_mu(_TIGHTER)
        history.append(best_value)
        # A plane a little beyond the best point tells more than one at a distant trial.
        near = _BEYOND * trial + (1 - _BEYOND) * best
        near_scores = _BEYOND * scores + (1 - _BEYOND) * best_scores
        model.touch(objective, near, near_scores)
        model.touch(objective, trial, scores)
        if callback:
            callback(Progress(n_iter, best_value, gap, int(np.count_nonzero(best))))
    return Solution(best, history, gap, certified, n_iter, stop, trouble=_TROUBLES.get(stop, ""))


def _first_curvature(plane: Floats, value: float) -> float:
    """Curvature with which the first step may lower the objective by about its size."""
    return float(plane @ plane) / max(2 * value, _TINY)


def _between(
    objective: Objective, best: Floats, best_scores: Scores, trial: Floats, scores: Scores
) -> tuple[float, float]:
    """Return the best point between best and trial, and its objective (golden section)."""
    penalty, golden = objective.penalty, (math.sqrt(5) - 1) / 2

    def value(t: float) -> float:
        loss, _ = objective.loss_and_slope(best_scores + t * (scores - best_scores))
        return loss + penalty.value(best + t * (trial - best))

    low, high = 0.0, 1.0
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b, at_one = value(a), value(b), value(1.0)
    for _ in range(_SECTIONS):
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

    The dual of :math:`\min_w \max_i (a_i w + b_i) + \Omega(w) + \frac{\mu}{2} |w - c|^2` over the
    weights :math:`\lambda` of the planes is concave, its gradient :math:`b + A w(\lambda)` where
    :math:`w(\lambda)` is a soft threshold. Weight is moved from the worst plane that has any to the
    best, as far as the curvature allows.
    """

    def __init__(self, penalty: ElasticNet, n_features: int) -> None:
        self.penalty = penalty
        self.planes: list[Floats] = []
        self.offsets: list[float] = []
        self.weights = np.empty(0)
        self.centre = np.zeros(n_features)
        self.mu = self.first_mu = 0.0

    def add(self, gradient: Floats, loss: float, at: Floats) -> None:
        """Add the plane of the loss at a point."""
        self.planes.append(gradient)
        self.offsets.append(loss - float(gradient @ at))
        self.weights = np.append(self.weights, 1.0 if len(self.weights) == 0 else 0.0)
        if len(self.planes) > _MOST_PLANES:
            # The planes that hold nothing go first; the newest stay.
            n = len(self.weights)
            heaviest = np.argsort(-self.weights[:-_NEWEST], kind="stable")[: _MOST_PLANES // 2]
            keep = np.append(np.sort(heaviest), np.arange(n - _NEWEST, n))
            self.planes = [self.planes[i] for i in keep]
            self.offsets = [self.offsets[i] for i in keep]
            self.weights = self.weights[keep] / self.weights[keep].sum()

    def touch(self, objective: Objective, at: Floats, scores: Scores) -> float:
        """Add the plane that touches the loss at a point with these scores; return the loss."""
        loss, slope = objective.loss_and_slope(scores)
        self.add(objective.gradient(slope), loss, at)
        return loss

    def keep_near(self, centre: Floats, mu: float | None) -> None:
        """Centre the proximal term; its first weight tells how small it may become."""
        self.centre = centre
        if mu is not None:
            self.mu = self.first_mu = mu

    def scale_mu(self, factor: float) -> None:
        """Trust the model farther from the centre, or with a factor above 1 less far."""
        self.mu = min(max(self.mu * factor, self.first_mu * _EPS), self.first_mu / _EPS)

    def excess(self, value: float) -> float:
        """Estimate how far ``value``, the objective at the centre, is from its minimum without l2.

        The mean of the planes by their weights is below the loss everywhere, most so where the
        minimiser is far away: with l1 its length is at most ``value / l1``, without it is taken to
        be no farther from the centre than twice the centre's length.
        """
        pulled = self.weights @ np.array(self.planes)
        height = float(self.weights @ np.array(self.offsets))
        kink = self.penalty.kink
        if kink > 0:
            steepest = float(np.abs(pulled).max(initial=0.0)) - kink
            return value - height + value / kink * max(steepest, 0.0)
        # The minimiser may be as far on the other side of 0 as the centre is on this one.
        reach = 2 * float(np.linalg.norm(pulled) * np.linalg.norm(self.centre))
        return value - height - float(pulled @ self.centre) + reach

    def minimise(self, tol: float, mu: float) -> tuple[Floats, float, float]:
        """Return the minimiser of the model with proximal weight ``mu``, and a lower bound.

        The bound is within ``tol`` of the minimum, or as near as some thousand steps come; the last
        number is about what rounding may have added to it.
        """
        A, b = np.array(self.planes), np.array(self.offsets)
        curvature = self.penalty.convexity + mu
        if self.penalty.kink == 0:
            pull = mu / curvature * (A @ self.centre)
            weights = _minimise_on_simplex(A @ A.T / curvature, b + pull)
        else:
            weights = self._ascend(A, b, tol, mu)
        self.weights = weights
        w = self._primal(weights @ A, mu)
        near = w - self.centre
        # The dual objective: a lower bound whatever the weights are.
        heights, slopes, rest = weights * b, weights * (A @ w), self.penalty.value(w)
        rest += 0.5 * mu * float(near @ near)
        size = float(np.abs(heights).sum() + np.abs(slopes).sum()) + rest
        return w, float(heights.sum() + slopes.sum()) + rest, _EPS * size

    def _ascend(self, A: Floats, b: Floats, tol: float, mu: float) -> Floats:
        """Maximise the dual with l1: quadratic as long as the same features have a weight.

        The maximiser of that quadratic function shows an ascent, along which one goes as far as the
        dual itself rises.
        """
        kink, curvature = self.penalty.kink, self.penalty.convexity + mu
        weights = self.weights
        slack = b + A @ self._primal(weights @ A, mu)
        for _ in range(_ASCENTS):
            if float(slack.max()) - float(weights @ slack) <= tol:  # the duality gap
                break
            z = mu * self.centre - weights @ A
            active = np.flatnonzero(np.abs(z) > kink)
            part = A[:, active]
            pull = mu * self.centre[active] - kink * np.sign(z[active])
            highest = _minimise_on_simplex(part @ part.T / curvature, b + part @ pull / curvature)
            direction = highest - weights
            low, high = 0.0, 1.0
            for n in range(_HALVINGS):
                t = high if n == 0 else 0.5 * (low + high)
                slack = b + A @ self._primal((weights + t * direction) @ A, mu)
                rising = float(direction @ slack) >= 0
                low, high = (t, high) if rising else (low, t)
                if rising and n == 0:
                    break
            if low == 0:
                break  # no digits left
            weights = weights + low * direction
            slack = b + A @ self._primal(weights @ A, mu)
        return weights

    def _primal(self, pulled: Floats, mu: float) -> Floats:
        """Return the w that the weights of the planes imply."""
        return self.penalty.argmin(mu * self.centre - pulled, mu)


def _minimise_on_simplex(gram: Floats, b: Floats) -> Floats:
    r"""Minimise :math:`\frac12 \lambda^\top G \lambda - b^\top \lambda` over the simplex.

    On the simplex this is the quadratic form of :math:`Q = G - b 1^\top - 1 b^\top + t 1 1^\top` up
    to a constant, and the minimiser of :math:`\frac12 \mu^\top Q \mu - 1^\top \mu` over :math:`\mu
    \ge 0`, a problem of non-negative least squares, points in its direction.
    """
    # On the simplex t changes nothing; it is to keep Q from negative eigenvalues. Twice the largest
    # b and the mean of G's diagonal are of Q's own size; 1e-12 is for planes that are all 0.
    shift = 2 * float(b.max()) + float(np.trace(gram)) / len(b) + 1e-12
    Q = gram - b[:, None] - b[None, :] + shift
    values, vectors = np.linalg.eigh(Q)
    # Rounding errors of eigh are about 1e-16 n of the largest; with 300 planes, this is above them.
    values = np.maximum(values, 1e-12 * max(values[-1], _TINY))
    root = np.sqrt(values)[:, None] * vectors.T
    target = (vectors.T @ np.ones(len(b))) / np.sqrt(values)
    # scipy allows 3 n by default, which planes that are nearly the same use up.
    solution, _ = scipy.optimize.nnls(root, target, maxiter=50 * len(b))
    total = float(solution.sum())
    weights = solution / total if total > 0 else np.full(len(b), 1 / len(b))
    return _polish(gram, b, np.asarray(weights, dtype=np.float64))


def _polish(gram: Floats, b: Floats, weights: Floats) -> Floats:
    """Return the minimiser among the planes that have weight, which the square root has blurred."""
    chosen = np.flatnonzero(weights > 0)
    n = len(chosen)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = gram[np.ix_(chosen, chosen)]
    system[:n, n] = system[n, :n] = 1
    exact = np.zeros_like(weights)
    # Planes may depend on each other: least squares, down to the rounding of the largest.
    exact[chosen] = np.linalg.lstsq(system, np.append(b[chosen], 1.0), rcond=1e-15)[0][:n]
    exact = np.maximum(exact, 0)
    if not exact.any():
        return weights
    exact /= exact.sum()

    def value(x: Floats) -> float:
        return float(0.5 * x @ gram @ x - b @ x)

    return exact if value(exact) < value(weights) else weights
