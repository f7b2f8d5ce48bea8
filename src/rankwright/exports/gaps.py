"""Numbers that an engine sends to the other side of a split than the model does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.exports.targets.target import Gap, Rows
from rankwright.trees.forest import ZERO


def gaps_between(
    names: Sequence[str], feature: NDArray[Any], wanted: NDArray[Any], has: NDArray[Any]
) -> list[Gap]:
    """Return where splits at the thresholds ``has`` differ from splits at ``wanted``."""
    apart = np.flatnonzero(wanted != has)
    low, high = np.minimum(wanted, has), np.maximum(wanted, has)
    return joined(Gap(names[feature[i]], float(low[i]), float(high[i])) for i in apart)


def joined(gaps: Iterable[Gap]) -> list[Gap]:
    """Return gaps in order, those that overlap or touch as one.

    >>> joined([Gap("price", 2.0, 3.0), Gap("price", 1.0, 2.0), Gap("age", 0.0, 1.0)])
    [Gap(feature='age', above=0, up_to=1), Gap(feature='price', above=1, up_to=3)]
    """
    found: list[Gap] = []
    for gap in sorted(gaps, key=lambda one: (one.feature, one.above)):
        last = found[-1] if found else None
        if last is not None and last.feature == gap.feature and gap.above <= last.up_to:
            found[-1] = Gap(gap.feature, last.above, max(last.up_to, gap.up_to))
        else:
            found.append(gap)
    return found


def without_tiny(X: Rows, names: Sequence[str], gaps: Iterable[Gap]) -> Rows:
    """Return rows in which values are 0 that the library takes for 0, and the engine does not.

    These are up to :data:`rankwright.trees.forest.ZERO`, where a gap begins at 0: a model of the
    library cannot say what an engine does with them.
    """
    found = X
    for gap in gaps:
        if gap.above == 0:
            found = X.copy() if found is X else found
            x = found[:, names.index(gap.feature)]
            x[(x > 0) & (x <= x.dtype.type(ZERO))] = 0
    return found
