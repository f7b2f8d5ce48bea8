"""Systems side by side on the same queries: measured, tested, and told apart.

What a system is does not matter here: a ranker that was fitted a moment ago, scores that production
logged, a run. There are two ways to put the question. *Which is best?* The leader is tested against
each of the others; baselines are tested by themselves, so that they do not cost certainty about
the contenders. *Is it better than what runs today?* Each is tested against the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.data.validation import Floats
from rankwright.evaluation.bootstrap import bootstrap_intervals
from rankwright.evaluation.latex import latex_table
from rankwright.evaluation.randomization import sign_tests
from rankwright.evaluation.segments import Part
from rankwright.evaluation.significance import PairedComparison, compare_pairs, mean_interval
from rankwright.evaluation.values import write_values
from rankwright.evaluation.verdicts import advice, verdict
from rankwright.metrics.metric import mean_or_nan
from rankwright.metrics.parsing import parse

BASELINE = "baseline"


@dataclass(frozen=True, eq=False, kw_only=True)
class Standing:
    """One line of the leaderboard.

    Attributes
    ----------
    name, family : str
        The system; a family ``"baseline"`` is tested by itself.
    means, low, high : dict of str to float
        Each metric over all test queries, with its 95 % bootstrap interval.
    per_query : dict of str to ndarray
        Its values by query, fold after fold.
    fold_means : dict of str to list of float
        Its mean in each fold.
    train_seconds, search_seconds : float, optional
        Of the chosen fit, and of the whole search, summed over the folds.
    score_us : float, optional
        Microseconds to score a document; the median of the folds.
    model_bytes, features_used : float, optional
        Means over the folds.
    n_features : int, optional
        Features that there are.
    params : list of dict
        What the search chose, for each fold.
    """

    name: str
    family: str = ""
    means: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]
    per_query: dict[str, Floats]
    fold_means: dict[str, list[float]]
    train_seconds: float | None = None
    search_seconds: float | None = None
    score_us: float | None = None
    model_bytes: float | None = None
    features_used: float | None = None
    n_features: int | None = None
    params: list[dict[str, Any]] = field(default_factory=list)


def means_of(
    systems: Mapping[str, Sequence[Mapping[str, Floats]]], random_state: int = 0
) -> dict[str, dict[str, Any]]:
    """Return what a :class:`Standing` tells of values by query, of systems, folds and metrics."""
    per_query = {
        (name, m): np.concatenate([part[m] for part in parts])
        for name, parts in systems.items()
        for m in parts[0]
    }
    # All at once: they share the draws of the bootstrap.
    intervals = bootstrap_intervals(list(per_query.values()), random_state=random_state)
    ends = dict(zip(per_query, intervals, strict=True))
    return {
        name: {
            "means": {m: mean_or_nan(per_query[name, m]) for m in parts[0]},
            "low": {m: ends[name, m][0] for m in parts[0]},
            "high": {m: ends[name, m][1] for m in parts[0]},
            "per_query": {m: per_query[name, m] for m in parts[0]},
            "fold_means": {m: [mean_or_nan(part[m]) for part in parts] for m in parts[0]},
        }
        for name, parts in systems.items()
    }


@dataclass(frozen=True, eq=False)
class Segment:
    """Systems on the queries of one kind.

    Attributes
    ----------
    column, value : str
        What these queries have in common; see :mod:`rankwright.evaluation.segments`.
    n_queries : int
        How many there are.
    means, low, high : dict of str to dict of str to float
        By system and metric: the mean over these queries, and its 95 % interval by Student's t.
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON; what is not finite becomes None."""
        return {
            "column": self.column,
            "value": self.value,
            "n_queries": self.n_queries,
            "systems": {
                name: {
                    "means": {m: _finite(v) for m, v in means.items()},
                    "low": {m: _finite(v) for m, v in self.low[name].items()},
                    "high": {m: _finite(v) for m, v in self.high[name].items()},
                    "difference": [_finite(v) for v in self.differences.get(name, ())],
                }
                for name, means in self.means.items()
            },
        }


@dataclass(eq=False, kw_only=True)
class Contest:
    """Systems on the same test queries; what ``rw.evaluate`` returns for several.

    Attributes
    ----------
    metrics : list of str
        What was measured; the first orders the leaderboard.
    standings : list of Standing
        The leaderboard, best first.
    pairs : list of PairedComparison
        By the first metric: the best against each of the others, in the order of the leaderboard;
        or each of the others against the reference.
    tests : dict of str to Dataset
        The test queries, by fold.
    scores : dict of (str, str) to ndarray
        Scores of the test documents by system and fold; -inf for documents that were not ranked.
    reference : str, optional
        The system that the others are held against.
    segments : list of Segment
        The same, for queries of a kind.
    card : dict
        What it takes to do it again.
    models : dict of str to object
        The systems that are models, by name.
    """

    metrics: list[str]
    standings: list[Standing]
    pairs: list[PairedComparison]
    tests: dict[str, Dataset]
    scores: dict[tuple[str, str], Floats]
    reference: str | None = None
    segments: list[Segment] = field(default_factory=list)
    card: dict[str, Any] = field(default_factory=dict)
    models: dict[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """Name of the system that leads by the first metric."""
        if not self.standings:
            raise ValueError("every model failed.")
        return self.standings[0].name

    @property
    def as_good(self) -> list[str]:
        """Names of the systems that are not significantly worse than the best, without it."""
        return [pair.b for pair in self.pairs if pair.a == self.best and not pair.significant]

    @property
    def verdict(self) -> str:
        """Say in a sentence or two which is best and whether that is certain."""
        return verdict(self.standings, self.pairs, self.metrics[0], self.reference)

    @property
    def advice(self) -> str:
        """Say in one sentence what to do."""
        return advice(self.standings, self.pairs, self.metrics[0], self.reference)

    def write_per_query(self, path: PathLike) -> None:
        """Write a tab-separated table, one query a line; ``.json`` gives an object of arrays."""
        columns = {f"{m} {s.name}": s.per_query[m] for m in self.metrics for s in self.standings}
        ids = np.concatenate([test.groups.names.astype(object) for test in self.tests.values()])
        write_values(path, ids, columns)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON, without those by query."""
        return {
            "verdict": self.verdict,
            "advice": self.advice,
            "reference": self.reference,
            "systems": [
                {
                    "system": s.name,
                    "metrics": {
                        m: {
                            "mean": _finite(s.means[m]),
                            "low": _finite(s.low[m]),
                            "high": _finite(s.high[m]),
                        }
                        for m in self.metrics
                    },
                    "score_us": s.score_us,
                    "features_used": s.features_used,
                }
                for s in self.standings
            ],
            "pairs": [pair.to_dict() for pair in self.pairs],
            "segments": [segment.to_dict() for segment in self.segments],
            "card": self.card,
        }

    def pair(self, name: str) -> PairedComparison | None:
        """Return the test of a system against the leader, or against the reference, if any."""
        for pair in self.pairs:
            if name == (pair.b if self.reference is None else pair.a):
                return pair
        return None

    def model(self, name: str, fold: str | None = None) -> Any:
        """Return the model of a system; of the first fold by default."""
        if name not in self.models:
            raise KeyError(f"{name!r} is no model, or is not known.")
        return self.models[name]

    def to_latex(self) -> str:
        """Return the leaderboard as a LaTeX table, for the package booktabs.

        The best value of a column is bold; a dagger marks systems that differ significantly from
        the best one, or from the reference, by the first metric.
        """
        return latex_table(self)


def ranked(standings: Sequence[Standing], metric: str) -> list[Standing]:
    """Return the standings, best first."""
    sign = -1 if parse(metric).higher_is_better else 1
    return sorted(standings, key=lambda s: (np.isnan(s.means[metric]), sign * s.means[metric]))


def held_against(
    standings: Sequence[Standing], metric: str, reference: str | None = None, random_state: int = 0
) -> list[PairedComparison]:
    """Test the first of the standings against the others, or each of them against the reference.

    Baselines are a family of their own.
    """
    if len(standings) < 2:
        return []
    held = standings[0].name if reference is None else reference
    others = [s for s in standings if s.name != held]
    families = [
        [(held, s.name) if reference is None else (s.name, held) for s in family]
        for family in (
            [s for s in others if s.family != BASELINE],
            [s for s in others if s.family == BASELINE],
        )
        if family
    ]
    pairs = compare_pairs(
        {s.name: s.per_query[metric] for s in standings},
        families=families,
        random_state=random_state,
        higher_is_better=parse(metric).higher_is_better,
    )
    place = {s.name: i for i, s in enumerate(others)}
    return sorted(pairs, key=lambda pair: place[pair.b if reference is None else pair.a])


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
        values = {s.name: {m: s.per_query[m][part.queries] for m in metrics} for s in standings}
        means: dict[str, dict[str, float]] = {name: {} for name in values}
        low: dict[str, dict[str, float]] = {name: {} for name in values}
        high: dict[str, dict[str, float]] = {name: {} for name in values}
        for name, columns in values.items():
            for metric, column in columns.items():
                known = column[~np.isnan(column)]
                found = mean_interval(known) if len(known) else (np.nan, np.nan, np.nan)
                means[name][metric], low[name][metric], high[name][metric] = map(float, found)
        held = standings[0].name if reference is None else reference
        main = metrics[0]
        names = [name for name in values if name != held]
        gaps = [values[name][main] - values[held][main] for name in names]
        gaps = [gap[~np.isnan(gap)] for gap in gaps]
        tests = sign_tests(gaps, n_resamples=2000, random_state=random_state)
        differences = {
            name: (float(gap.mean()), *test.interval(0.05)) if len(gap) else (np.nan,) * 3
            for name, gap, test in zip(names, gaps, tests, strict=True)
        }
        segments.append(
            Segment(part.column, part.value, part.n_queries, means, low, high, differences)
        )
    return segments


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
