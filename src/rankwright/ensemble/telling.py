"""What an ensemble tells while it is fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from rankwright.showing import Brief


@dataclass(frozen=True, repr=False)
class EnsembleProgress(Brief):
    """How far the fit of an ensemble has come.

    Attributes
    ----------
    iteration, total : int
        Members that are fitted, and all members.
    member : str
        The member that is being fitted, or was just finished.
    detail : object
        What that member tells of itself, such as a
        :class:`~rankwright.trees.BoostingProgress`; None when it is finished.
    """

    iteration: int
    total: int
    member: str
    detail: Any = None

    def __str__(self) -> str:
        if self.detail is None:
            return f"{self.member}: member {self.iteration} of {self.total} is fitted"
        return f"{self.member}, member {self.iteration + 1} of {self.total}: {self.detail}"


Callback: TypeAlias = Callable[[EnsembleProgress], object]  # a true answer stops
