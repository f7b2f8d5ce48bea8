"""Optima of the objectives that the solvers minimise, by other optimisers, and the thesis' descent.

Everything is for small dense data. Losses come from the decimal twins; the optimisers are scipy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.optimize

from tests.reference.losses import Evaluation, Floats, pairs


def smooth_optimum(
    mean_loss: Callable[[Floats], Evaluation], n_features: int, l1: float, l2: float
) -> Floats:
    """Minimise ``mean_loss(w) + l1 |w|_1 + l2/2 |w|^2`` with w = u - v and u, v >= 0."""

    def split(z: Floats) -> Evaluation:
        w = z[:n_features] - z[n_features:]
        value, gradient = mean_loss(w)
        smooth = gradient + l2 * w
        total = value + 0.5 * l2 * float(w @ w) + l1 * float(z.sum())
        return total, np.concatenate([smooth + l1, l1 - smooth])

    def plain(w: Floats) -> Evaluation:
        value, gradient = mean_loss(w)
        return value + 0.5 * l2 * float(w @ w), gradient + l2 * w

    options = {"maxiter": 5000, "maxfun": 5000, "ftol": 1e-17, "gtol": 1e-12, "maxcor": 30}
    best: Floats
    if l1 == 0:
        best = scipy.optimize.minimize(
            plain, np.zeros(n_features), jac=True, method="L-BFGS-B", options=options
        ).x
        return best
    z = scipy.optimize.minimize(
        split,
        np.zeros(2 * n_features),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * n_features),
        options=options,
    ).x
    best = z[:n_features] - z[n_features:]
    return best


def violation(w: Floats, gradient: Floats, l1: float, l2: float) -> Floats:
    """Return the distance of ``-gradient`` from the subdifferential of the penalty, one by one."""
    result = np.empty(len(w))
    for j, (weight, slope) in enumerate(zip(w, gradient + l2 * w, strict=True)):
        if weight > 0:
            result[j] = abs(slope + l1)
        elif weight < 0:
            result[j] = abs(slope - l1)
        else:
            result[j] = max(abs(slope) - l1, 0.0)
    return result


# --- losses with kinks -------------------------------------------------------------------------


@dataclass(frozen=True)
class Hinge:
    """``weight * max(0, max_j (margin + directions[j] @ w))``."""

    weight: float
    directions: Floats
    margin: float = 1.0

    def value(self, w: Floats) -> float:
        return self.weight * max(0.0, float(np.max(self.margin + self.directions @ w)))


def slam_hinges(X: Floats, y: Floats, v: Floats) -> list[Hinge]:
    """One hinge for each document that is above another: over all documents below it."""
    hinges = []
    for i in range(len(y)):
        below = [j for j in range(len(y)) if y[j] < y[i]]
        if below and v[i] > 0:
            hinges.append(Hinge(float(v[i]), X[below] - X[i]))
    return hinges


def pair_hinges(X: Floats, y: Floats) -> list[Hinge]:
    """One hinge for each pair."""
    return [Hinge(1.0, X[[j]] - X[i]) for i, j in pairs(y)]


def hinge_optimum(hinges: Sequence[Hinge], n_features: int, l1: float, l2: float) -> Floats:
    """Minimise the sum of hinges plus the penalty, over w = u - v and one slack per hinge.

    Without l2 it is a linear program, with it a quadratic one.
    """
    n = len(hinges)
    weights = np.array([hinge.weight for hinge in hinges])
    owner = np.repeat(np.arange(n), [len(hinge.directions) for hinge in hinges])
    directions = np.concatenate([hinge.directions for hinge in hinges])
    margins = np.array([hinges[i].margin for i in owner.tolist()])
    # directions @ (u - v) - slack[owner] <= -margin
    slacks = np.zeros((len(owner), n))
    slacks[np.arange(len(owner)), owner] = 1
    A = np.hstack([directions, -directions, -slacks])
    cost = np.concatenate([np.full(2 * n_features, l1), weights])
    start = scipy.optimize.linprog(cost, A_ub=A, b_ub=-margins, bounds=(0, None), method="highs")
    z: Floats = start.x
    if l2 > 0:
        sign = np.concatenate([np.eye(n_features), -np.eye(n_features)])

        def value(z: Floats) -> Evaluation:
            w = sign.T @ z[: 2 * n_features]
            slope = np.concatenate([l2 * sign @ w, np.zeros(n)]) + cost
            return float(cost @ z + 0.5 * l2 * w @ w), slope

        z = scipy.optimize.minimize(
            value,
            z,
            jac=True,
            method="SLSQP",
            bounds=[(0, None)] * len(z),
            constraints=[{"type": "ineq", "fun": lambda z: -margins - A @ z, "jac": lambda z: -A}],
            options={"maxiter": 1000, "ftol": 1e-14},
        ).x
    w: Floats = z[:n_features] - z[n_features : 2 * n_features]
    return w


# --- the thesis' descent -----------------------------------------------------------------------


@dataclass
class ThesisDescent:
    """Algorithm 2 of the thesis, for one query of positives and negatives, without penalty.

    With everything at its default it is the corrected algorithm; each switch puts back an error or
    takes a step that the thesis warns of.

    Attributes
    ----------
    skip_zeros : bool
        D1: leave out positives that do not have the feature.
    leave_positives : bool
        D2: update the margins of dominated documents only.
    sign : float
        D6: -1 is the sign of Section 4.
    newton : bool
        D11: divide by the second derivative here, not by a bound on it everywhere.
    """

    X: Floats
    positive: npt.NDArray[np.bool_]
    skip_zeros: bool = False
    leave_positives: bool = False
    sign: float = 1.0
    newton: bool = False

    def __post_init__(self) -> None:
        self.w = np.zeros(self.X.shape[1])
        self.margin = np.zeros(len(self.X))

    def loss(self) -> float:
        """Return the loss at the weights, whatever the algorithm believes the margins to be."""
        m = self.X @ self.w
        highest = m[~self.positive].max()
        log_z = highest + np.log(np.exp(m[~self.positive] - highest).sum())
        return float(np.logaddexp(0, log_z - m[self.positive]).sum())

    def gradient(self, r: int) -> float:
        """Return the derivative by weight r, from the margins."""
        e, x, rows = np.exp(self.margin), self.X[:, r], self.positive
        z, mu = e[~rows].sum(), e[~rows] @ x[~rows]
        terms = (mu - z * x[rows]) / (z + e[rows])
        return float(terms[x[rows] != 0].sum() if self.skip_zeros else terms.sum())

    def curvature(self, r: int) -> float:
        """Return the second derivative by weight r."""
        e, x, rows = np.exp(self.margin), self.X[:, r], self.positive
        z, mu, nu = e[~rows].sum(), e[~rows] @ x[~rows], e[~rows] @ x[~rows] ** 2
        total = z + e[rows]
        mean = (mu + e[rows] * x[rows]) / total
        return float(((nu + e[rows] * x[rows] ** 2) / total - mean**2).sum())

    def sweep(self) -> float:
        """Update every weight once; return the loss."""
        for r in range(self.X.shape[1]):
            bound = self.positive.sum() * float((self.X[:, r] ** 2).max())
            bound = self.curvature(r) if self.newton else bound
            if bound > 0:
                self.move(r, -self.sign * self.gradient(r) / bound)
        return self.loss()

    def move(self, r: int, step: float) -> None:
        """Change a weight, and the margins that the algorithm changes."""
        self.w[r] += step
        rows = ~self.positive if self.leave_positives else np.ones(len(self.X), dtype=bool)
        self.margin[rows] += step * self.X[rows, r]
