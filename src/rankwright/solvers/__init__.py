"""Solvers: functions from an objective to a Solution."""

from rankwright.solvers.bundle import bundle
from rankwright.solvers.coordinate_descent import coordinate_descent
from rankwright.solvers.feature_induction import Induction, feature_induction
from rankwright.solvers.lbfgs import lbfgs
from rankwright.solvers.minimize import SOLVERS, Solver, choose_solver, minimize
from rankwright.solvers.objective import Objective
from rankwright.solvers.prox_newton import prox_newton
from rankwright.solvers.shares import Share
from rankwright.solvers.solution import Progress, Solution
from rankwright.solvers.working_set import working_set

__all__ = [
    "SOLVERS",
    "Induction",
    "Objective",
    "Progress",
    "Share",
    "Solution",
    "Solver",
    "bundle",
    "choose_solver",
    "coordinate_descent",
    "feature_induction",
    "lbfgs",
    "minimize",
    "prox_newton",
    "working_set",
]
