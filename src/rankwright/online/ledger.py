"""What a guarantee is made of, while rounds go by."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwright.theory.warm import WarmStart


@dataclass
class Ledger:
    """What a guarantee is made of, while rounds go by.

    Attributes
    ----------
    comparator
        What the learner is compared with, fixed in advance; in its scale once it has begun.
    totals : dict of str to float
        Sums and extremes over the rounds, kept by the learner's ``_charge``; and where they
        began.
    in_scale : bool
        Whether the comparator is in the learner's scale.
    has_start : bool
        Whether it is known where the rounds began.
    """

    comparator: Any
    totals: dict[str, float] = field(default_factory=dict)
    in_scale: bool = False
    has_start: bool = False

    def enter(self, learner: Any) -> None:
        """Bring the comparator into the scale of a learner, and note where it starts; once."""
        if not self.has_start:
            learner.require_guarantee()
        if not self.in_scale:
            self.comparator = learner._comparator_in_scale(self.comparator)
            self.in_scale = True
        if not self.has_start:
            learner._note_start(self)
            self.has_start = True

    @property
    def start(self) -> WarmStart:
        """Where the rounds began, as the comparator sees it."""
        return WarmStart(self.totals.get("start", 0.0), self.totals.get("gap", 0.0))

    @start.setter
    def start(self, start: WarmStart) -> None:
        if not start.is_cold:
            self.totals["start"], self.totals["gap"] = start.length, start.gap

    def add(self, name: str, values: ArrayLike) -> None:
        """Add to a sum, one value after the other."""
        self.totals[name] = add_in_order(self.totals.get(name, 0.0), values)

    def keep_max(self, name: str, value: float) -> None:
        """Keep the larger value."""
        self.totals[name] = max(self.totals.get(name, -math.inf), float(value))

    def keep_min(self, name: str, value: float) -> None:
        """Keep the smaller value."""
        self.totals[name] = min(self.totals.get(name, math.inf), float(value))


def add_in_order(total: float, values: ArrayLike) -> float:
    """Return a sum taken one value after the other: pieces of a stream may be cut anywhere."""
    return float(np.cumsum(np.append(total, values))[-1])
