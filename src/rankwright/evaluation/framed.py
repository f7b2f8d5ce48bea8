"""What was measured, as columns of tables; see ``to_frame`` of the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankwright.data.dataset import Dataset

if TYPE_CHECKING:
    from rankwright.evaluation.contest import Contest
    from rankwright.evaluation.segmented import Segment
    from rankwright.evaluation.significance import PairedComparison

Table: TypeAlias = dict[str, Any]
_COSTS = (
    "train_seconds",
    "search_seconds",
    "score_us",
    "model_bytes",
    "features_used",
)


def leaderboard_table(contest: Contest) -> Table:
    """Return the leaderboard: a row for each system, with its test against the held one."""
    standings = contest.standings
    table: Table = {"name": [s.name for s in standings], "family": [s.family for s in standings]}
    for metric in contest.metrics:
        table[metric] = [s.means[metric] for s in standings]
        table[f"{metric} low"] = [s.low[metric] for s in standings]
        table[f"{metric} high"] = [s.high[metric] for s in standings]
    pairs = [contest.pair(s.name) for s in standings]
    for column, name in (("difference", "difference"), ("p", "p_holm")):
        table[column] = [np.nan if pair is None else getattr(pair, name) for pair in pairs]
    for name in _COSTS:
        values = [getattr(s, name) for s in standings]
        table[name] = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    return table


def pairs_table(pairs: Sequence[PairedComparison]) -> Table:
    """Return the tests, one a row."""
    from rankwright.evaluation.significance import PairedComparison

    names = [*PairedComparison.__dataclass_fields__, "significant"]
    return {name: [getattr(pair, name) for pair in pairs] for name in names}


def queries_table(contest: Contest) -> Table:
    """Return each metric of each system on each query, one value a row."""
    folds, ids = _queries(contest.tests)
    blocks = [(s, metric) for s in contest.standings for metric in contest.metrics]
    return {
        "fold": folds * len(blocks),
        "qid": ids * len(blocks),
        "name": [s.name for s, _ in blocks for _ in ids],
        "metric": [metric for _, metric in blocks for _ in ids],
        "value": np.concatenate([s.per_query[metric] for s, metric in blocks] or [np.zeros(0)]),
    }


def _queries(tests: Mapping[str, Dataset]) -> tuple[list[str], list[Any]]:
    folds, ids = [], []
    for name, test in tests.items():
        found = test.groups.names.tolist()
        folds += [name] * len(found)
        ids += found
    return folds, ids


def segments_table(segments: Sequence[Segment]) -> Table:
    """Return each metric of each system on each kind of queries, one value a row."""
    rows = [
        (s.column, s.value, s.n_queries, name, m, mean, s.low[name][m], s.high[name][m])
        for s in segments
        for name, means in s.means.items()
        for m, mean in means.items()
    ]
    names = ("segment", "value", "queries", "name", "metric", "mean", "low", "high")
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return {name: list(column) for name, column in zip(names, columns, strict=True)}
