"""Numbers that an engine sends to the other side of a split than the model does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
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
    [Gap(feature='age', above=0.0, up_to=1.0), Gap(feature='price', above=1.0, up_to=3.0)]
    """
    found: list[Gap] = []
    for gap in sorted(gaps, key=lambda one: (one.feature, one.above)):
        last = found[-1] if found else None
        if last is not None and last.feature == gap.feature and gap.above <= last.up_to:
            found[-1] = Gap(gap.feature, last.above, max(last.up_to, gap.up_to))
        else:
            found.append(gap)
    return found


def admitted(X: Rows, names: Sequence[str], present: Collection[str], gaps: Iterable[Gap]) -> Rows:
    """Return the nearest rows of which a certificate speaks.

    Features that every document has are not missing. And of thresholds the library knows no
    difference between 0 and :data:`rankwright.trees.forest.ZERO`: where an engine has a gap above
    0, what is up to there is 0.
    """
    X = X.copy()
    for name in present:
        if name in names:
            x = X[:, names.index(name)]
            x[np.isnan(x)] = 0
    for gap in gaps:
        if gap.above == 0:
            x = X[:, names.index(gap.feature)]
            x[(x > 0) & (x <= x.dtype.type(ZERO))] = 0
    return X
