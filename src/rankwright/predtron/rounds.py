"""The rounds of Predtron: what they are given, and what happens in one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups, Ints
from rankwright.data.validation import Floats, Matrix
from rankwright.problems.native import Native
from rankwright.problems.problem import Problem, method_of

Mode: TypeAlias = Literal["augmented", "predicted", "loss_driven"]
MODES = ("augmented", "predicted", "loss_driven")
# Scores, label, scores of a comparator (or none), direction to fill; loss, and its charge.
RoundOf: TypeAlias = Callable[[Floats, Any, Floats, Floats], tuple[float, float]]


def check_mode(mode: str) -> None:
    """Raise unless there is such an update."""
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, but is {mode!r}.")


@dataclass(frozen=True)
class PredtronData:
    """Examples: rows, or queries of rows.

    ``labels`` has a row for each row of X if the problem is built in, and is otherwise a list with
    a label for each round. ``groups`` are the rows of each round, None if these are single rows.
    """

    X: Matrix
    labels: Any
    groups: Groups | None
    order: Ints | None = None
    weights: Floats | None = None  # of each row
    of_query: Floats | None = None  # the weight of each round's loss

    @property
    def n_rounds(self) -> int:
        """Rows or queries."""
        return self.X.shape[0] if self.groups is None else self.groups.n_queries

    def rows_of(self, at: int) -> slice:
        """Return the rows of a round."""
        if self.groups is None:
            return slice(at, at + 1)
        return slice(int(self.groups.indptr[at]), int(self.groups.indptr[at + 1]))

    def weigh(self, at: int, loss: float, direction: Floats) -> float:
        """Return the loss of a round times its weight; multiply the direction by the rows'."""
        if self.weights is not None:
            direction *= self.weights[self.rows_of(at)]
        return loss if self.of_query is None else loss * float(self.of_query[at])

    def label_of(self, at: int) -> Any:
        """Return the label of a round, as the problem's kernel or the problem itself reads it."""
        if isinstance(self.labels, list):
            return self.labels[at]
        return np.ascontiguousarray(self.labels[self.rows_of(at)].ravel())


def round_of(problem: Problem, mode: str) -> RoundOf:
    """Return what makes a round of scores and label."""
    if isinstance(problem, Native):

        def native(t: Floats, y: Any, u: Floats, direction: Floats) -> tuple[float, float]:
            kernel = problem.kernel(len(t))
            return _kernels.predtron_round(kernel, mode, t, y, u, direction)

        return native
    return lambda t, y, u, direction: predtron_round(problem, mode, t, y, u, direction)


def predtron_round(
    problem: Problem, mode: str, t: Floats, y: Any, u: Floats, direction: Floats
) -> tuple[float, float]:
    r"""Make one round of Algorithm 1 over any problem; ``cpp/predtron.hpp`` is its compiled form.

    Fills :math:`s\,(\mathrm{rep}(\tilde\sigma) - \mathrm{rep}(\sigma_y))` if the prediction has a
    loss, and returns that loss and what the bound charges a comparator with scores u (0 without).
    """
    sigma = problem.predict(t, y)
    loss = float(problem.loss(sigma, y))
    # Not `loss <= 0`: a NaN from a problem of one's own makes no update either.
    if not loss > 0:
        return 0.0, 0.0
    # Of the predictions without loss the one that the scores prefer; the bounds hold for any (P5).
    correct = problem.represent(problem.correct(y, t))
    scale, charge = (loss if mode == "loss_driven" else 1.0), 0.0
    if mode == "augmented":
        augmented = method_of(problem, "augmented")
        sigma = augmented(t, y)
        if len(u):
            # phi(u, y) = max_sigma L(sigma, y) - <rep(sigma_y) - rep(sigma), u>, as in Theorem 1.
            best = augmented(u, y)
            charge = float(problem.loss(best, y) - (correct - problem.represent(best)) @ u)
    step = problem.represent(sigma) - correct
    if mode != "augmented" and len(u):
        # What the comparator lacks of a weak margin of 1 against this very mistake (P3, P5).
        charge = scale * max(0.0, 1 + float(step @ u))
    direction[:] = scale * step
    return loss, charge


def loss_range(problem: Problem, label: Any) -> tuple[float, float]:
    r"""Return :math:`c_L` and :math:`C_L` of a label as :class:`PredtronData` has it."""
    if isinstance(problem, Native):
        return problem.encoded_range(label)
    found: tuple[float, float] = method_of(problem, "loss_range")(label)
    return found
