"""Coordinate descent that lets in a few features at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats, check_count
from rankwright.solvers.descent import Descent, Step
from rankwright.solvers.objective import Objective
from rankwright.solvers.scores import Scores
from rankwright.solvers.solution import Callback, Progress, Solution

# Near the optimum a violation still shows where the objective has no digits left to show a gain:
# rounds without one are allowed, but not for ever.
_MOST_IDLE_ROUNDS = 20


@dataclass(frozen=True, repr=False)
class Induction(Solution):
    """The result of feature induction.

    Attributes
    ----------
    selected : ndarray of int
        Features with a weight that is not 0, in the order in which they were let in.
    n_updates : int
        Weights that were moved, over all sweeps.
    """

    selected: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_updates: int = 0


def feature_induction(
    objective: Objective,
    start: Floats,
    *,
    n_induced: int | None = None,
    step: Step = "newton",
    tol: float,
    min_decrease: float = 0.0,
    max_iter: int,
    max_updates: int | None = None,
    callback: Callback | None = None,
) -> Induction:
    r"""Minimise over a set of features that grows by the most promising ones.

    One round looks at every feature that is not in the set, and lets in those whose best move
    lowers the objective most for certain: with g its derivative, h the majoriser of the loss along
    it (see :func:`~rankwright.solvers.coordinate_descent.coordinate_descent`) and
    :math:`\Omega` the penalty,

    .. math::
        \max_d \; -\bigl(g d + h(d) + \Omega(w + d e_r) - \Omega(w)\bigr) > 0.

    Then the weights of the set are trained until they are optimal. It ends when no feature is left
    that violates the optimality conditions, so that the result is the optimum over all features; or
    earlier, by one of the limits. The objective never rises.

    Parameters
    ----------
    objective : Objective
        What to minimise; its loss must be one that coordinate descent takes.
    start : ndarray of shape (n_features,)
        First weights; features with one are in the set from the start.
    n_induced : int, optional
        Features to let in per round; None is all that promise something.
    step : {"newton", "range", "thesis"}
        The majoriser.
    tol : float
        A feature violates the conditions if it does by more than ``tol`` times the loss's largest
        derivative at weights 0.
    min_decrease : float
        Also end a round of training when a sweep lowers the objective by less than this share of
        what the first sweep did, and let in no feature that promises less than this share of what
        the first one promised.
    max_iter : int
        Sweeps of one round.
    max_updates : int, optional
        Moves of one weight, over all sweeps.
    callback : callable, optional
        Called with :class:`Progress` after each sweep.
    """
    check_count("n_induced", n_induced, optional=True)
    if not 0 <= min_decrease < 1:
        raise ValueError(f"min_decrease must lie from 0 to below 1, but is {min_decrease!r}.")
    check_count("max_updates", max_updates, 0, optional=True)
    run = _InductionRun(objective, start, step, tol, min_decrease, max_iter, max_updates, callback)
    stop = ""
    while not stop:
        new = run.most_promising(n_induced)
        if run.n_iter > 0 or len(run.chosen) == 0:  # else first train what the start has
            run.let_in(new)
        if run.violation <= run.enough:
            stop = "converged"
        elif not run.goes_on:
            stop = "small_decrease"
        else:
            # Without a limit, features enter in large numbers, and many of them leave again: do not
            # train them to the end before the next round, only to a tenth of what is wrong.
            hasty = n_induced is None and objective.penalty.l1 > 0
            stop = run.train(max(run.enough, 0.1 * run.violation) if hasty else run.enough)
    return run.solution(stop)


class _InductionRun:
    """Weights, the features that are in, and what was used up of the limits."""

    def __init__(
        self,
        objective: Objective,
        start: Floats,
        step: Step,
        tol: float,
        min_decrease: float,
        max_iter: int,
        max_updates: int | None,
        callback: Callback | None,
    ) -> None:
        self.objective, self.callback = objective, callback
        self.min_decrease, self.max_iter = min_decrease, max_iter
        self.max_updates = math.inf if max_updates is None else max_updates
        self.w = start.astype(np.float64).copy()
        self.descent = Descent(objective, step)
        self.enough = objective.enough(tol)
        self.chosen: Ints = np.flatnonzero(self.w)
        self.order: dict[int, None] = dict.fromkeys(self.chosen.tolist())
        self.n_iter = self.n_updates = self.n_idle = 0
        self.first_promise = self.first_gain = 0.0
        self.violation, self.goes_on = math.inf, True
        self.scores = objective.whole.scores(self.w)
        self.history = [self._value()]

    def _value(self) -> float:
        loss, self.slope = self.objective.loss_and_slope(Scores([self.scores]))
        return loss + self.objective.penalty.value(self.w)

    def most_promising(self, n: int | None) -> Ints:
        """Return the features outside that promise most, at most n of them."""
        self.descent.start(self.scores)
        decrease, violation = self.descent.promises(self.objective.penalty, self.w)
        self.violation = float(violation.max(initial=0.0))
        outside = violation > self.enough
        outside[self.chosen] = False
        if not self.first_promise:
            self.first_promise = float(decrease.max(where=outside, initial=0.0))
        outside &= decrease > self.min_decrease * self.first_promise
        candidates = np.flatnonzero(outside)
        # No candidate left: keep training the active set, unless it stopped because its gain was
        # too small.
        self.goes_on = len(candidates) > 0 or self.min_decrease == 0
        if n is None or len(candidates) <= n:
            return candidates
        # Of those that promise the same, the first.
        return candidates[np.argsort(-decrease[candidates], kind="stable")[:n]]

    def let_in(self, new: Ints) -> None:
        self.chosen = np.append(self.chosen, new)
        self.order |= dict.fromkeys(new.tolist())

    def train(self, enough: float) -> str:
        """Sweep over the chosen features until they are optimal; return why all must stop."""
        before = self.history[-1]
        for _ in range(self.max_iter):
            if self.n_updates >= self.max_updates:
                return "max_updates"
            violation = self._sweep()
            gain = self.history[-2] - self.history[-1]
            self.first_gain = self.first_gain or gain
            if violation <= enough or gain < self.min_decrease * self.first_gain:
                self.n_idle = 0 if self.history[-1] < before else self.n_idle + 1
                return "" if self.n_idle < _MOST_IDLE_ROUNDS else "stalled"
            if self.objective.penalty.l1 > 0:
                # Features back at 0 leave the set. Should they return, the next round finds them.
                self.chosen = self.chosen[self.w[self.chosen] != 0]
        return "max_iter"

    def _sweep(self) -> float:
        left = self.max_updates - self.n_updates
        chosen = self.chosen if len(self.chosen) <= left else self.chosen[: int(left)]
        self.descent.start(self.scores)
        violation, n_moved = self.descent.sweep(chosen, self.objective.penalty, self.w)
        self.n_iter += 1
        self.n_updates += n_moved
        self.scores = self.descent.scores()
        self.history.append(self._value())
        if self.callback:
            n_features = int(np.count_nonzero(self.w))
            self.callback(Progress(self.n_iter, self.history[-1], violation, n_features))
        return violation

    def solution(self, stop: str) -> Induction:
        w, penalty = self.w, self.objective.penalty
        gradient = self.objective.gradient(self.slope)
        violation = float(penalty.violation(w, gradient).max(initial=0.0))
        selected = np.array([r for r in self.order if w[r] != 0], dtype=np.int64)
        gap = self.objective.gap(w, gradient)
        return Induction(
            w, self.history, violation, gap, self.n_iter, stop, selected, self.n_updates
        )
