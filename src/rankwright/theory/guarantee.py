"""A bound as a value with its terms."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Any


@dataclass(frozen=True)
class Guarantee:
    """A bound, term by term.

    Attributes
    ----------
    name : str
        Where it comes from.
    quantity : str
        What is at most ``value``.
    formula : str
        The right side, in the names of ``terms``.
    value : float
        Its value; infinite where it says nothing.
    terms : dict of str to float
        What it is made of.
    """

    name: str
    quantity: str
    formula: str
    value: float
    terms: dict[str, float] = field(default_factory=dict)

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return {
            "name": self.name,
            "quantity": self.quantity,
            "formula": self.formula,
            "value": self.value if math.isfinite(self.value) else None,  # JSON has no infinity
            "terms": dict(self.terms),
        }

    def __repr__(self) -> str:
        terms = ", ".join(f"{name} = {value:.6g}" for name, value in self.terms.items())
        return f"{self.name}: {self.quantity} <= {self.formula} = {self.value:.6g} ({terms})"


def require(**values: float) -> None:
    """Raise unless all values are numbers >= 0."""
    for name, value in values.items():
        if not (isinstance(value, Real) and value >= 0):  # NaN too
            raise ValueError(f"{name} must be a number >= 0, but is {value!r}.")


def over_square(numerator: float, margin: float) -> float:
    """Return ``numerator / margin^2``, infinite without a margin."""
    # Not by its square, which may be 0.
    return numerator / margin / margin if margin > 0 else math.inf
