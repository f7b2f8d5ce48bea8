r"""What trees must obey: monotone features, and features that may meet in a branch.

A score with a monotone constraint :math:`c_j = \pm 1` never falls, or never rises, with feature
:math:`j` while all others stay:

.. math:: c_j \bigl(s(x + t e_j) - s(x)\bigr) \ge 0 \quad \text{for all } t > 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwright.data.alignment import Features
from rankwright.data.feature_names import all_feature_names
from rankwright.data.validation import Floats
from rankwright.suggestions import meant

Feature: TypeAlias = str | int


@dataclass(frozen=True)
class WeightLimits:
    """What weights of a linear part must be for the whole model to obey.

    Attributes
    ----------
    usable : ndarray of bool
        Which features may have one: no categories, and none that no interaction allows.
    signs : ndarray of int
        1 or -1 for weights that must not have the other sign.
    names : list of str
        What the features are called.
    """

    usable: NDArray[np.bool_]
    signs: NDArray[np.int64]
    names: list[str]

    @classmethod
    def of(cls, monotone: Any, interaction: Any, known: Features) -> WeightLimits:
        """Return the limits that constraints, and categories among the features, imply."""
        found, names = constraints(monotone, interaction, known), names_of_all(known)
        usable = np.array([name not in known.categories for name in names])
        if interaction is not None:
            met = [j for group in found["interaction_constraints"] for j in group]
            usable &= np.isin(np.arange(known.n), met)
        return cls(usable, np.array(found.get("monotone_constraints", [0] * known.n)), names)

    def broken(self, coef: Floats) -> NDArray[np.bool_]:
        """Return which weights break a limit."""
        return np.asarray((self.signs * coef < 0) | (~self.usable & (coef != 0)))

    @property
    def binding(self) -> bool:
        """Whether there is a limit."""
        return bool(self.signs.any() or not self.usable.all())


def names_of_all(known: Features) -> list[str]:
    """Return a name for each feature."""
    return all_feature_names(known.names, known.n)


def constraints(monotone: Any, interaction: Any, known: Features) -> dict[str, Any]:
    """Return constraints as LightGBM takes them: by the positions of the features."""
    found: dict[str, Any] = {}
    if monotone is not None:
        found["monotone_constraints"] = _signs(monotone, known)
    if interaction is not None:
        found["interaction_constraints"] = [
            [_position(feature, known, "interaction_constraints") for feature in group]
            for group in interaction
        ]
    return found


def _signs(monotone: Any, known: Features) -> list[int]:
    """Return -1, 0 or 1 for each feature."""
    if not isinstance(monotone, Mapping):
        if len(monotone) != known.n:
            raise ValueError(
                f"monotone_constraints must be {known.n} numbers, one for each feature, but are "
                f"{len(monotone)}. Or name features: {{'price': -1}}."
            )
        monotone = dict(enumerate(monotone))
    signs, names = [0] * known.n, names_of_all(known)
    for feature, sign in monotone.items():
        place = _position(feature, known, "monotone_constraints")
        if sign and names[place] in known.categories:
            raise ValueError(
                f"monotone_constraints must not have {names[place]!r}: categories have no order."
            )
        signs[place] = int(sign)
    return signs


def _position(feature: Feature, known: Features, parameter: str) -> int:
    """Return the position of a feature that is told by its name or its position."""
    if isinstance(feature, Integral):
        if not 0 <= feature < known.n:
            raise ValueError(
                f"{parameter} must name features from 0 to {known.n - 1}, but there is {feature}."
            )
        return int(feature)
    names = names_of_all(known)
    if feature not in names:
        raise ValueError(f"{parameter}: there is no feature {feature!r}.{meant(feature, names)}")
    return names.index(feature)
