"""Coordinate descent for losses made of log-sum-exp terms."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from rankwright import _kernels
from rankwright.data.validation import Floats, Matrix
from rankwright.losses.domination import PreparedDomination
from rankwright.losses.softmax import PreparedSoftmax
from rankwright.solvers.solution import Callback, Objective, Progress, Solution

Step = Literal["newton", "range", "thesis"]


def supports(loss: object) -> bool:
    """Whether coordinate descent can minimise a prepared loss."""
    softmax = isinstance(loss, PreparedSoftmax) and loss.eps == 0
    return softmax or isinstance(loss, PreparedDomination)


def coordinate_descent(
    objective: Objective,
    start: Floats,
    *,
    step: Step = "newton",
    tol: float = 1e-6,
    max_iter: int = 1000,
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
        What to minimise; its loss must be a prepared Domination, ListNet or XENDCG without eps.
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
    descent = _descent(objective, step)
    everything = np.arange(len(w))
    scores = objective.scores(w)
    shift = scores - _margins(objective, scores)
    history = [objective.loss_and_slope(scores)[0] + penalty.value(w)]
    enough = objective.enough(tol)
    stop, n_iter, violation = "max_iter", 0, np.inf
    chosen, inner = everything, enough
    while n_iter < max_iter:
        descent.start(scores - shift)  # sums of exponentials are taken afresh, against drift
        violation, _ = descent.sweep(chosen, penalty.l1, penalty.l2, w)
        n_iter += 1
        scores = descent.scores() + shift
        history.append(objective.loss_and_slope(scores)[0] + penalty.value(w))
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
            inner = max(enough, 0.1 * violation)
            chosen = active if 0 < len(active) < len(w) else everything
    descent.start(objective.scores(w) - shift)
    gradient = descent.slopes(everything)
    violation = float(penalty.violation(w, gradient).max(initial=0.0))
    return Solution(w, history, violation, objective.gap(w, gradient), n_iter, stop)


def _margins(objective: Objective, scores: Floats) -> Floats:
    loss = objective.prepared
    return loss.margins(scores) if isinstance(loss, PreparedDomination) else scores


def _descent(objective: Objective, step: Step) -> _kernels.Descent:
    loss, X = objective.prepared, objective.X
    weights: Floats
    if not supports(loss):
        raise TypeError(
            "coordinate descent needs a loss made of log-sum-exp terms (Domination, ListNet, "
            f"XENDCG without eps), but got {objective.loss!r}. Use solver='auto'."
        )
    if isinstance(loss, PreparedDomination):
        weights = np.full(objective.n_queries, 1 / objective.n_queries)
        spec: _kernels.DominationSpec | _kernels.SoftmaxSpec = _kernels.DominationSpec(
            loss.layers, weights, loss.constant, loss.between, loss.level
        )
    else:
        assert isinstance(loss, PreparedSoftmax)
        # A query without a target has loss 0.
        empty = np.bincount(
            loss.groups.query_of_rows(), weights=loss.phi, minlength=objective.n_queries
        )
        weights = np.where(empty > 0, loss.weights, 0.0) / objective.n_queries
        spec = _kernels.SoftmaxSpec(loss.groups.indptr, loss.phi, weights)
    return _make_descent(spec, X, step)


def _make_descent(
    spec: _kernels.DominationSpec | _kernels.SoftmaxSpec, X: Matrix, step: Step
) -> _kernels.Descent:
    if sp.issparse(X):
        columns = sp.csc_array(X)
        columns.sum_duplicates()  # and sorts the rows of each column
        return _kernels.sparse_descent(spec, columns.data, columns.indices, columns.indptr, step)
    return _kernels.dense_descent(spec, np.ascontiguousarray(X.T), step)
