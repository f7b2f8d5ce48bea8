"""The solver for an objective."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from rankwright.blas import one_blas_thread
from rankwright.data.validation import Floats
from rankwright.losses.domination import PreparedDomination
from rankwright.losses.softmax import PreparedSoftmax
from rankwright.solvers.bundle import bundle
from rankwright.solvers.coordinate_descent import Step, coordinate_descent, supports
from rankwright.solvers.feature_induction import feature_induction
from rankwright.solvers.lbfgs import lbfgs
from rankwright.solvers.prox_newton import prox_newton
from rankwright.solvers.solution import Callback, Objective, Solution

Solver = Literal[
    "auto", "prox_newton", "coordinate_descent", "feature_induction", "bundle", "lbfgs"
]

# A Hessian of this many features still fits a cache, and its factorisation costs no more than a few
# products with the data.
_MOST_NEWTON_FEATURES = 1000
# Sums over pairs of layers are taken one pair of depths at a time.
_MOST_NEWTON_LAYERS = 32

# tol and max_iter if they are not given; a bundle's tol is a gap, the others' a violation.
_DEFAULTS = {
    "prox_newton": (1e-6, 200),
    "coordinate_descent": (1e-6, 1000),
    "feature_induction": (1e-6, 1000),
    "bundle": (1e-4, 2000),
    "lbfgs": (1e-6, 2000),
}


def choose_solver(objective: Objective) -> str:
    """Return the solver that suits an objective.

    A bundle for losses with kinks. For losses made of log-sum-exp terms, proximal Newton if the
    data are dense with few features; else L-BFGS with an l2 penalty, where products with all of X
    by all threads go further than single columns, and coordinate descent with l1 or without a
    penalty. L-BFGS for everything else.
    """
    loss = objective.prepared
    if not getattr(objective.loss, "smooth", True):
        return "bundle"
    newton = not sp.issparse(objective.X) and objective.n_features <= _MOST_NEWTON_FEATURES
    if newton and isinstance(loss, PreparedDomination):
        newton = int(np.diff(loss.layers.first_layer).max(initial=0)) <= _MOST_NEWTON_LAYERS
    if newton and isinstance(loss, PreparedSoftmax | PreparedDomination):
        return "prox_newton"
    ridge = objective.penalty.l1 == 0 and objective.penalty.l2 > 0
    return "coordinate_descent" if supports(loss) and not ridge else "lbfgs"


def minimize(
    objective: Objective,
    start: Floats | None = None,
    *,
    solver: Solver = "auto",
    step: Step = "newton",
    tol: float | None = None,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise an objective.

    Parameters
    ----------
    objective : Objective
        What to minimise.
    start : ndarray of shape (n_features,), optional
        First weights; 0 by default.
    solver : {"auto", "prox_newton", "coordinate_descent", "feature_induction", "bundle", "lbfgs"}
        How; see :func:`choose_solver` for ``"auto"``.
    step : {"newton", "range", "thesis"}
        For coordinate descent and feature induction.
    tol, max_iter : optional
        When to stop; by default what suits the solver.
    callback : callable, optional
        Called with :class:`Progress` after each iteration.
    """
    name = choose_solver(objective) if solver == "auto" else solver
    if name not in _DEFAULTS:
        raise ValueError(
            f"solver must be 'auto', {', '.join(map(repr, _DEFAULTS))}, but is {name!r}."
        )
    default_tol, default_max_iter = _DEFAULTS[name]
    tol = default_tol if tol is None else tol
    max_iter = default_max_iter if max_iter is None else max_iter
    w = np.zeros(objective.n_features) if start is None else start
    solve: Any = {
        "prox_newton": prox_newton,
        "coordinate_descent": partial(coordinate_descent, step=step),
        "feature_induction": partial(feature_induction, step=step),
        "bundle": bundle,
        "lbfgs": lbfgs,
    }[name]
    # The products with X are ours. What is left to BLAS is small, and its threads wait for each
    # other by spinning, which takes a hundred times as long when other processes want the cores.
    with one_blas_thread():
        found: Solution = solve(objective, w, tol=tol, max_iter=max_iter, callback=callback)
    return found
