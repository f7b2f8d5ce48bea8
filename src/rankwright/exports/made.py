"""What was made of a model, and what there is to say of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rankwright.exports.grid import Placed
from rankwright.exports.rules import Rules
from rankwright.exports.targets.target import Options, Target, Written


@dataclass(frozen=True, eq=False)
class Made:
    """A model as it was written for a target.

    Attributes
    ----------
    target : Target
        Where it goes.
    options : Options
        What the user said of the place.
    rules : Rules
        What the file holds.
    placed : Placed, optional
        Where its leaves are; None without trees.
    written : Written
        The file.
    """

    target: Target
    options: Options
    rules: Rules
    placed: Placed | None
    written: Written

    @property
    def tolerance(self) -> float:
        """How far an engine may be from the grid model: 0 asks for the same bits."""
        return 0.0 if self.placed is None else self.placed.rounding

    @property
    def shift(self) -> float:
        """What is added to every score."""
        return 0.0 if self.placed is None else self.placed.trees.shift

    def outcome(self) -> str:
        """Return what holds of the engine's scores."""
        if self.placed is None:
            return "exact" if self.target.arithmetic == "lanes" else "bounded"
        if self.placed.how == "nearest":
            return "bounded"
        return "exact outside gaps" if self.written.gaps else "exact"

    def bound(self) -> float:
        """Return by how much scores differ at most; of weighted sums, relative to their terms.

        What is added to trees is the same double in the model and in the engine. The last addition
        is rounded in both, each time by at most 2^-53 of the score: that comes on top.
        """
        if self.placed is not None:
            return self.placed.bound
        if self.target.arithmetic == "lanes":
            return 0.0
        n = self.rules.n_features + 2  # a weight, a product, and the sums, each rounded
        # The result is rounded to float32 in any case, and ours is a sum of rounded doubles.
        in_float32 = n if self.target.arithmetic == "float32" else 1
        u = in_float32 * 2.0**-24
        return u / (1 - u) + 2 * n * 2.0**-53

    def facts(self) -> dict[str, Any]:
        """Return what a certificate says of it."""
        target, rules, options = self.target, self.rules, self.options
        return {
            "target": target.name,
            "engine": target.versions(rules, options),
            "kind": rules.kind,
            "number": target.number,
            "missing": target.missing(rules, options),
            "size": self._size(),
            "names": rules.names,
            "options": {
                **asdict(options),
                "present": sorted(options.present),
                "known": sorted(options.known),
            },
            "outcome": self.outcome(),
            "bound": self.bound(),
            "gaps": tuple(self.written.gaps),
            "shift": self.shift,
            **self._of_leaves(),
            **self._of_labels(),
        }

    def _size(self) -> str:
        trees, linear, said = self.rules.trees, self.rules.linear, []
        if trees is not None:
            said.append(f"{trees.n_trees:,} trees, {len(trees.nan_left):,} splits")
        if linear is not None:
            said.append(f"{np.count_nonzero(linear.weights.any(axis=0)):,} weights")
        return ", ".join(said)

    def _of_leaves(self) -> dict[str, Any]:
        if self.placed is None:
            return {}
        return {"leaves": self.placed.how, "g": self.placed.g, "moved": self.placed.moved}

    def _of_labels(self) -> dict[str, Any]:
        labels = self.rules.labels
        if labels is None:
            return {}
        thresholds = () if labels.thresholds is None else labels.thresholds.tolist()
        return {"thresholds": tuple(thresholds), "classes": labels.classes}
