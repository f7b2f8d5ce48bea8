"""The solver for an objective."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rankwright.blas import one_blas_thread
from rankwright.data.validation import Floats
from rankwright.losses.own import as_loss
from rankwright.showing import Brief
from rankwright.solvers.bundle import bundle
from rankwright.solvers.coordinate_descent import coordinate_descent
from rankwright.solvers.feature_induction import feature_induction
from rankwright.solvers.lbfgs import lbfgs
from rankwright.solvers.objective import Objective
from rankwright.solvers.prox_newton import MOST_FEATURES, prox_newton
from rankwright.solvers.solution import Callback, Solution
from rankwright.solvers.working_set import working_set

SolverName = Literal[
    "auto",
    "prox_newton",
    "working_set",
    "coordinate_descent",
    "feature_induction",
    "bundle",
    "lbfgs",
]


@dataclass(frozen=True, repr=False)
class Solver(Brief):
    """A function that minimises, what it needs, and when it stops unless it is told.

    Attributes
    ----------
    function : callable
        ``function(objective, start, tol=..., max_iter=..., callback=..., **options)`` returns a
        :class:`Solution`.
    tol : float
        A bundle's is a gap, the others' a violation.
    max_iter : int
        Iterations.
    needs : tuple of str
        Methods that the prepared loss must have.
    takes_sparse : bool
        Whether features may be sparse.
    takes_shares : bool
        Whether the data may come in more than one share.
    options : tuple of str
        Names of its other parameters.
    """

    function: Callable[..., Solution]
    tol: float
    max_iter: int
    needs: tuple[str, ...] = ()
    takes_sparse: bool = True
    takes_shares: bool = True
    options: tuple[str, ...] = ()


# A violation of 1e-6 of the slope at weights 0 leaves a gap that no metric shows; a bundle, which
# converges more slowly, certifies a gap of 1e-4 of the loss. So many iterations are only needed
# where a loss is almost flat; a fit that uses them up says so.
_INDUCTION = ("step", "n_induced", "min_decrease", "max_updates")
SOLVERS: dict[str, Solver] = {
    "prox_newton": Solver(prox_newton, 1e-6, 200, needs=("hessian",), takes_sparse=False),
    "working_set": Solver(working_set, 1e-6, 1000, needs=("descent_spec",), takes_shares=False),
    "coordinate_descent": Solver(
        coordinate_descent,
        1e-6,
        1000,
        needs=("descent_spec",),
        takes_shares=False,
        options=("step",),
    ),
    "feature_induction": Solver(
        feature_induction,
        1e-6,
        1000,
        needs=("descent_spec",),
        takes_shares=False,
        options=_INDUCTION,
    ),
    "bundle": Solver(bundle, 1e-4, 2000),
    "lbfgs": Solver(lbfgs, 1e-6, 2000),
}


def choose_solver(objective: Objective) -> str:
    """Return the solver that suits an objective.

    A bundle for losses with kinks. For losses with a Hessian, proximal Newton if the data are dense
    with few features. Else, for losses made of log-sum-exp terms: working sets with l1, where few
    features are left; coordinate descent with an elastic net, which leaves many, or without a
    penalty; with l2 L-BFGS, as products with all of X by all threads go further there than single
    columns. L-BFGS for everything else.
    """
    if not as_loss(objective.loss).smooth:
        return "bundle"
    if (
        not why_not("prox_newton", objective)
        and objective.n_features <= MOST_FEATURES
        and not objective.has_slow_hessian
    ):
        return "prox_newton"
    kink, convexity = objective.penalty.kink, objective.penalty.convexity
    if why_not("coordinate_descent", objective) or (kink == 0 and convexity > 0):
        return "lbfgs"
    return "working_set" if kink > 0 and convexity == 0 else "coordinate_descent"


def why_not(name: str, objective: Objective) -> str:
    """Return why a solver cannot minimise an objective, or an empty text."""
    solver = SOLVERS[name]
    for need in solver.needs:
        if not objective.offers(need):
            return f"{name} needs a loss with {need}, which {_show(objective.loss)} has not."
    if objective.is_sparse and not solver.takes_sparse:
        return f"{name} needs dense features, but X is sparse."
    if len(objective.shares) > 1 and not solver.takes_shares:
        return f"{name} needs all data in one share, but there are {len(objective.shares)}."
    return ""


def _show(loss: object) -> str:
    """Return the name of a loss, with the parameters that are not as by default."""
    fields = dataclasses.fields(loss) if dataclasses.is_dataclass(loss) else ()
    values = {f.name: getattr(loss, f.name) for f in fields if f.init}
    changed = [
        f"{f.name}={values[f.name]!r}" for f in fields if repr(f.default) != repr(values[f.name])
    ]
    name = type(loss).__name__
    return f"{name}({', '.join(changed)})" if changed else name


def minimize(
    objective: Objective,
    start: Floats | None = None,
    *,
    solver: SolverName = "auto",
    tol: float | None = None,
    max_iter: int | None = None,
    callback: Callback | None = None,
    **options: Any,
) -> Solution:
    """Minimise an objective.

    Parameters
    ----------
    objective : Objective
        What to minimise.
    start : ndarray of shape (n_features,), optional
        First weights; 0 by default.
    solver : {"auto", "prox_newton", "working_set", "coordinate_descent", "feature_induction", \
"bundle", "lbfgs"}
        How; see :func:`choose_solver` for ``"auto"``.
    tol, max_iter : optional
        When to stop; by default what ``SOLVERS`` says.
    callback : callable, optional
        Called with :class:`Progress` after each iteration.
    **options
        Parameters of one solver, such as ``step``; the other solvers do without.
    """
    name = choose_solver(objective) if solver == "auto" else solver
    if name not in SOLVERS:
        raise ValueError(
            f"solver must be 'auto', {', '.join(map(repr, SOLVERS))}, but is {name!r}."
        )
    chosen = SOLVERS[name]
    for option in options:
        if not any(option in other.options for other in SOLVERS.values()):
            raise TypeError(f"no solver has a parameter {option!r}.")
    if problem := why_not(name, objective):
        raise TypeError(f"{problem} Use solver='auto'.")
    # The products with X are ours. What is left to BLAS is small, and its threads wait for each
    # other by spinning, which takes a hundred times as long when other processes want the cores.
    with one_blas_thread():
        return chosen.function(
            objective,
            np.zeros(objective.n_features) if start is None else start,
            tol=chosen.tol if tol is None else tol,
            max_iter=chosen.max_iter if max_iter is None else max_iter,
            callback=callback,
            **{option: options[option] for option in options if option in chosen.options},
        )
