"""Theorems 2 and 3, Corollary 7: SLAM is above the metric's loss, on every small query there is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.experiments.experiment import Context, Experiment
from rankwright.experiments.findings import Findings, Row, holds
from rankwright.losses import SLAM
from rankwright.losses.metric_weights import Sharing
from rankwright.metrics import AP, NDCG, Metric

SCALES = (1e-6, 1.0, 1e3)  # gaps far below, at and far above the margin
SHARING: tuple[Sharing, ...] = ("printed", "group")
STATEMENTS: list[tuple[str, SLAM, Metric]] = [
    (f"{source}{', S14' if weights == 'group' else ''}", SLAM(name, weights=weights), metric)
    for weights in SHARING
    for source, name, metric in (
        ("Theorem 2", "map", AP(ties="worst")),
        ("Theorem 3", "ndcg", NDCG(ties="worst")),
        ("Corollary 7", "ndcg@2", NDCG(k=2, ties="worst")),
    )
]


def run(context: Context) -> Findings:
    """Compare the surrogate with the metric for all labels and all weak orders."""
    largest = context.pick(4, 6)
    result = Findings(settings={"documents": largest, "labels": [0, 1, 2], "gaps": list(SCALES)})
    slacks: dict[int, list[float]] = {i: [] for i in range(len(STATEMENTS))}
    counts = [0] * len(STATEMENTS)
    for m in context.each("all queries of m documents", range(1, largest + 1)):
        for y, scores, groups in _all_queries(m, 3 if m < 6 else 2):
            for i, (_, loss, metric) in enumerate(STATEMENTS):
                value = metric.per_query(y, scores, groups)
                slack = loss.per_query(scores, y, groups) - (1 - value)
                slack = slack[~np.isnan(value)]
                counts[i] += len(slack)
                slacks[i].append(float(slack.min(initial=np.inf)))
    for i, (source, loss, metric) in enumerate(STATEMENTS):
        least = min(slacks[i])
        what = f"smallest slack of {loss} above 1 - {metric.name}, {counts[i]:,} cases"
        result.rows.append(Row(source, what, least, holds(least >= -1e-12)))
    result.rows.append(_literal_cutoff())
    result.rows.append(_smaller_map_weights())
    return result


def _all_queries(m: int, n_labels: int) -> Iterator[tuple[Floats, Floats, Groups]]:
    """Yield all pairs of labels and weak orders of m documents, as queries, for each scale."""
    orders = np.array(
        sorted({tuple(_without_gaps(r)) for r in product(range(m), repeat=m)}), dtype=float
    )
    labels = np.array(list(product(range(n_labels), repeat=m)), dtype=float)
    y = np.repeat(labels, len(orders), axis=0).ravel()
    scores = np.tile(orders, (len(labels), 1)).ravel()
    groups = Groups(np.arange(0, len(y) + 1, m))
    for scale in SCALES:
        yield y, scale * scores, groups


def _without_gaps(ranks: tuple[int, ...]) -> list[int]:
    """Return the same weak order with the levels 0, 1, ... and none left out."""
    levels = {level: i for i, level in enumerate(sorted(set(ranks)))}
    return [levels[r] for r in ranks]


def _literal_cutoff() -> Row:
    """S3: equation (30) sums over the k most relevant documents, not over the first k positions."""
    y, scores = np.ones(5), np.array([0.0, 1, 2, 3, 4])
    literal = 1 - 1 / np.log2(1 + 5)  # document 1, which stands last
    surrogate = float(SLAM("ndcg@1").per_query(scores, y, None)[0])
    note = "S3: equation (30) read literally; with the usual NDCG@k the bound holds, see above"
    return Row(
        "Corollary 7", "slack with (30) as printed", surrogate - literal, "refuted", note=note
    )


def _smaller_map_weights() -> Row:
    """S2: weights that bound MAP and are smaller than (8)'s somewhere."""
    y = np.array([1.0, 1, 0])
    printed, other = np.array([1 / 4, 1 / 6, 0]), np.array([5 / 24, 5 / 24, 0])
    groups = Groups.one_query(3)
    least = np.inf
    for ranks in product(range(3), repeat=3):
        scores = np.array(ranks, dtype=float)
        loss = SLAM(lambda labels: other).per_query(1e-9 * scores, y, groups)
        value = AP(ties="worst").per_query(y, scores, groups)
        least = min(least, float((loss - (1 - value))[0]))
    smaller = least >= -1e-9 and bool((other < printed).any())
    note = "S2: (5/24, 5/24, 0) bounds 1 - MAP of labels (1, 1, 0) too, and 5/24 < 1/4"
    return Row(
        "Equation 8", "smallest slack of smaller weights", least, holds(not smaller), note=note
    )


UPPER_BOUNDS = Experiment(
    "slam",
    "upper_bounds",
    "Theorem 2, Theorem 3, Corollary 7",
    "the surrogate is above the metric's loss",
    run,
)
