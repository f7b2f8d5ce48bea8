"""What a solver returns, and what it tells on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from rankwright.data.validation import Floats
from rankwright.showing import Brief


@dataclass(frozen=True, repr=False)
class Progress(Brief):
    """Where a solver stands, for progress bars."""

    iteration: int
    objective: float
    violation: float
    n_features: int  # with a weight that is not 0
    total: ClassVar[None] = None  # nobody knows how many iterations there will be

    def __str__(self) -> str:
        return (
            f"iteration {self.iteration}: objective {self.objective:.6g}, "
            f"{self.n_features} features, violation {self.violation:.1e}"
        )


Callback: TypeAlias = Callable[[Progress], Any]


@dataclass(frozen=True, repr=False)
class Solution(Brief):
    """The result of a solver.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        Weights.
    objective : list of float
        Objective at the start and after each iteration.
    violation : float
        Largest violation of the optimality conditions, on the scale of the gradient.
    gap : float
        Certified bound on how far the objective is from its minimum; infinite where none is known.
    n_iter : int
        Iterations.
    stop : str
        Why it stopped: ``"converged"``, ``"max_iter"``, ``"stalled"`` (no digits left to improve).
    trouble : str
        What keeps a stalled solver from its tolerance, if it is more than the last digits.
    """

    coef: Floats
    objective: list[float]
    violation: float
    gap: float
    n_iter: int
    stop: str
    trouble: str = field(default="", kw_only=True)

    @property
    def converged(self) -> bool:
        """Whether the tolerance was met, or nothing was left to gain."""
        return self.stop != "max_iter" and not self.trouble
