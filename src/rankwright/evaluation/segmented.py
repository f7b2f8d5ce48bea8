"""Systems on the queries of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.evaluation.bootstrap import bootstrap_intervals
from rankwright.evaluation.randomization import sign_tests
from rankwright.evaluation.segments import Part
from rankwright.metrics.metric import mean_or_nan

if TYPE_CHECKING:
    from rankwright.evaluation.contest import Standing

_RESAMPLES = 2000  # as many for each kind as for all queries together
_MOST_SHOWN = 4  # systems in a line


@dataclass(frozen=True, eq=False, repr=False)
class Segment:
    """Systems on the queries of one kind.

    Attributes
    ----------
    column, value : str
        What these queries have in common; see :mod:`rankwright.evaluation.segments`.
    n_queries : int
        How many there are.
    means, low, high : dict of str to dict of str to float
        By system and metric: the mean over these queries, and its 95 % bootstrap interval.
    differences : dict of str to tuple of float
        By system: its mean difference from the leader, or from the reference, in the first metric,
        with a 95 % interval. With many segments one or the other leaves out 0 by chance: they are
        not corrected for their number.
    """

    column: str
    value: str
    n_queries: int
    means: dict[str, dict[str, float]]
    low: dict[str, dict[str, float]]
    high: dict[str, dict[str, float]]
    differences: dict[str, tuple[float, float, float]]

    def __repr__(self) -> str:
        metric = next(iter(next(iter(self.means.values()))))
        shown = (f"{n} {means[metric]:.4f}" for n, means in self.means.items())
        means = ", ".join(islice(shown, _MOST_SHOWN)).strip()
        return f"Segment({self.column} {self.value}: {self.n_queries} queries, {metric} {means})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON; what is not finite becomes None."""
        return {
            "column": self.column,
            "value": self.value,
            "n_queries": self.n_queries,
            "systems": {
                name: {
                    "means": {m: finite_or_none(v) for m, v in means.items()},
                    "low": {m: finite_or_none(v) for m, v in self.low[name].items()},
                    "high": {m: finite_or_none(v) for m, v in self.high[name].items()},
                    "difference": [finite_or_none(v) for v in self.differences.get(name, ())],
                }
                for name, means in self.means.items()
            },
        }


def segmented(
    standings: Sequence[Standing],
    parts: Sequence[Part],
    metrics: Sequence[str],
    reference: str | None = None,
    random_state: int = 0,
) -> list[Segment]:
    """Return the systems on each kind of queries."""
    segments = []
    for part in parts:
        values = {(s.name, m): s.per_query[m][part.queries] for s in standings for m in metrics}
        intervals = bootstrap_intervals(
            list(values.values()), n_resamples=_RESAMPLES, random_state=random_state
        )
        ends = dict(zip(values, intervals, strict=True))
        means = {s.name: {m: mean_or_nan(values[s.name, m]) for m in metrics} for s in standings}
        low, high = (
            {s.name: {m: ends[s.name, m][side] for m in metrics} for s in standings}
            for side in (0, 1)
        )
        held = standings[0].name if reference is None else reference
        main = metrics[0]
        names = [name for name in means if name != held]
        gaps = [values[name, main] - values[held, main] for name in names]
        gaps = [gap[~np.isnan(gap)] for gap in gaps]
        tests = sign_tests(gaps, n_resamples=_RESAMPLES, random_state=random_state)
        differences = {
            name: (float(gap.mean()), *test.interval(0.05)) if len(gap) else (np.nan,) * 3
            for name, gap, test in zip(names, gaps, tests, strict=True)
        }
        segments.append(
            Segment(part.column, part.value, part.n_queries, means, low, high, differences)
        )
    return segments


def finite_or_none(value: float) -> float | None:
    """Return a number as JSON can hold it."""
    return float(value) if np.isfinite(value) else None
