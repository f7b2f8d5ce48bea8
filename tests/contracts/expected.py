"""Checks of scikit-learn that do not hold here, with the reason."""

from __future__ import annotations

from typing import Any


def weights_differ(estimator: Any) -> dict[str, str]:
    """Return the checks that take a weight for a number of copies."""
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": (
            "a document that comes twice competes with itself; a weight does not do that"
        )
        for kind in ("dense", "sparse")
    }
