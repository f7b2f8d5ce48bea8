"""The weights that a penalty chose, with less of it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from rankwright.exceptions import ConvergenceWarning
from rankwright.inputs import levels_up
from rankwright.penalties import ElasticNet
from rankwright.solvers import Objective, Solution, minimize


def relaxed(objective: Objective, first: Solution, relax: float, **options: Any) -> Solution:
    r"""Refit the features that the l1 part of a penalty chose, with an l2 part in its place.

    With S those features, m the median of their :math:`|w_j|`, and r ``relax``,

    .. math::
        \min_{w \in R^S} \; \frac{1}{Q} \sum_q L(X_q w, y_q)
        + \frac{a_2}{2} \|w\|_2^2 + \frac{r a_1}{m} \|w\|_2^2.

    Objective, gap and violation are those of this problem; what the first fit tells of features,
    such as their order, stays. ``options`` are those of :func:`~rankwright.solvers.minimize`.
    """
    features = np.flatnonzero(first.coef)
    penalty = objective.penalty
    if not relax or penalty.kink == 0 or len(features) == 0:
        return first
    # w^2 / m costs a weight of the median size what |w| did, whatever the features' scale.
    m = float(np.median(np.abs(first.coef[features])))
    ridge = ElasticNet(l2=penalty.convexity + 2 * float(relax) * penalty.kink / m)
    part = objective.restricted(features).with_penalty(ridge)
    refit = warned(minimize(part, first.coef[features], **options))
    coef = np.zeros_like(first.coef)
    coef[features] = refit.coef
    return replace(
        first,
        coef=coef,
        objective=refit.objective,
        violation=refit.violation,
        gap=refit.gap,
        n_iter=first.n_iter + refit.n_iter,
        stop=refit.stop,
    )


def warned(solution: Solution) -> Solution:
    """Return a solution, with a warning if it is none to the tolerance asked for."""
    if not solution.converged:
        warnings.warn(
            f"stopped after {solution.n_iter} iterations with violation {solution.violation:.1e} "
            f"and gap {solution.gap:.1e}, before the tolerance was met. "
            f"{solution.trouble or 'Raise max_iter or tol.'}",
            ConvergenceWarning,
            stacklevel=levels_up(),
        )
    return solution
