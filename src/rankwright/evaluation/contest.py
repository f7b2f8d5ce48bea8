"""Systems side by side on the same queries: measured, tested, and told apart.

What a system is does not matter here: a ranker that was fitted a moment ago, scores that production
logged, a run. There are two ways to put the question. *Which is best?* The leader is tested against
each of the others; baselines are tested by themselves, so that they do not cost certainty about
the contenders. *Is it better than what runs today?* Each is tested against the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.files import PathLike
from rankwright.data.framing import Backend, frame_of, table_named
from rankwright.data.validation import Floats
from rankwright.evaluation.bootstrap import bootstrap_intervals
from rankwright.evaluation.framed import (
    leaderboard_table,
    pairs_table,
    queries_table,
    segments_table,
)
from rankwright.evaluation.latex import latex_table
from rankwright.evaluation.segmented import Segment, finite_or_none
from rankwright.evaluation.significance import PairedComparison, Pairs, compare_pairs
from rankwright.evaluation.values import write_values
from rankwright.evaluation.verdicts import advice, verdict
from rankwright.evaluation.views import contest_html, contest_text
from rankwright.metrics.metric import Metric, mean_or_nan
from rankwright.metrics.parsing import parse

BASELINE = "baseline"
_MOST_SHOWN = 5  # metrics or systems that are printed with one object


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
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

    def __repr__(self) -> str:
        shown = (
            f"{m} {mean:.4f} [{self.low[m]:.4f}, {self.high[m]:.4f}]"
            for m, mean in islice(self.means.items(), _MOST_SHOWN)
        )
        return f"Standing({self.name!r}: {', '.join(shown)})"


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


@dataclass(eq=False, kw_only=True, repr=False)
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
    page : str, optional
        The last page that :func:`rankwright.report.write_report` made of it.
    measures : dict of str to Metric
        The metrics themselves, by name.
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
    page: str | None = None
    measures: dict[str, Metric] = field(default_factory=dict)

    def measure(self, name: str) -> Metric:
        """Return a metric by its name among ``metrics``."""
        return parse(self.measures.get(name, name))

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
        return advice(self.standings, self.pairs, self.reference)

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
                            "mean": finite_or_none(s.means[m]),
                            "low": finite_or_none(s.low[m]),
                            "high": finite_or_none(s.high[m]),
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

    def troubles(self) -> list[str]:
        """Return what went wrong, a line each."""
        return []

    def __repr__(self) -> str:
        return contest_text(self)

    def _repr_html_(self) -> str:
        return contest_html(self)

    def to_frame(
        self,
        table: Literal["leaderboard", "pairs", "queries", "segments"] = "leaderboard",
        *,
        backend: Backend | None = None,
    ) -> Any:
        """Return one of its tables as a data frame.

        Parameters
        ----------
        table : {"leaderboard", "pairs", "queries", "segments"}, default "leaderboard"
            A row for each system; for each test; for each query, system and metric; or for each
            kind of queries, system and metric.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Whose data frame it is; by default the first of them that is installed.
        """
        tables = {
            "leaderboard": lambda: leaderboard_table(self),
            "pairs": lambda: pairs_table(self.pairs),
            "queries": lambda: queries_table(self),
            "segments": lambda: segments_table(self.segments),
        }
        return frame_of(table_named(table, tables), backend)


def ranked(
    standings: Sequence[Standing], metric: str, measure: Metric | None = None
) -> list[Standing]:
    """Return the standings, best first, by a metric that is what its name says or ``measure``."""
    sign = -1 if parse(measure or metric).higher_is_better else 1
    return sorted(standings, key=lambda s: (np.isnan(s.means[metric]), sign * s.means[metric]))


def held_against(
    standings: Sequence[Standing],
    metric: str,
    reference: str | None = None,
    random_state: int = 0,
    measure: Metric | None = None,
) -> Pairs:
    """Test the first of the standings against the others, or each of them against the reference.

    Baselines are a family of their own.
    """
    if len(standings) < 2:
        return Pairs()
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
        higher_is_better=parse(measure or metric).higher_is_better,
    )
    place = {s.name: i for i, s in enumerate(others)}
    return Pairs(sorted(pairs, key=lambda p: place[p.b if reference is None else p.a]))
