"""A ranking that was answered, with what its scores are made of."""

from __future__ import annotations

import numpy as np

from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.page.overview import (
    ExplainedDocument,
    ExplainedRanking,
    ShownDocument,
    ShownRanking,
)
from rankwright.serve.ranking.board import Look
from rankwright.serve.ranking.served import ServedModel
from rankwright.serve.records import RankingRecord

FIRST = 3  # documents of a line of the list
MOST_DOCUMENTS = 20  # of a ranking that is opened
Reasons = list[tuple[dict[str, float], float, float]]
_ROUNDING = 1e-9  # of a sum, relative to its terms


def _order(ranking: RankingRecord, most: int) -> list[int]:
    found: list[int] = np.argsort(-ranking.scores, kind="stable")[:most].tolist()
    return found


def shown_ranking(ranking: RankingRecord) -> ShownRanking:
    """Return a ranking as a line of the list: its first documents."""
    return ShownRanking(
        ranking.ranking_id,
        ranking.at,
        ranking.query,
        ranking.version,
        ranking.arm,
        len(ranking.ids),
        [ShownDocument(ranking.ids[i], float(ranking.scores[i])) for i in _order(ranking, FIRST)],
    )


def explained_ranking(ranking: RankingRecord, look: Look) -> ExplainedRanking:
    """Return a ranking with the contributions to its first documents' scores.

    They are those of the version that is served now: the one that ranked has learned since.
    """
    order = _order(ranking, MOST_DOCUMENTS)
    number = int(ranking.version.partition("+")[0])
    model, reasons = look.models.get(number), None
    if ranking.features is None:
        reason = "There are no explanations: this ranking was logged without features."
    elif model is None:
        reason = f"There are no explanations: model {number} is not served now."
    else:
        reasons, reason = _contributions(model, ranking, order)
    return ExplainedRanking(
        ranking.ranking_id,
        ranking.at,
        ranking.query,
        ranking.version,
        ranking.arm,
        len(ranking.ids),
        [
            ExplainedDocument(
                ranking.ids[i],
                float(ranking.scores[i]),
                place + 1,
                *((None, None, None) if reasons is None else reasons[place]),
            )
            for place, i in enumerate(order)
        ],
        None if reasons is None or model is None else model.version,
        reason,
    )


def _contributions(
    model: ServedModel, ranking: RankingRecord, order: list[int]
) -> tuple[Reasons | None, str]:
    """Return for each document what features add, what the others add together, and the sum."""
    assert ranking.features is not None
    X = ranking.features[order]
    try:
        named = model.explain(X)
        scores = model.rank(X)
    except RefusedError as refusal:
        return None, f"There are no explanations: {refusal.text}"
    found = [
        (adds, _rest(float(score), adds), float(score))
        for adds, score in zip(named, scores, strict=True)
    ]
    if model.version == ranking.version:
        return found, ""
    return found, (
        f"Explained by version {model.version}, which has learned since: its scores may differ."
    )


def _rest(score: float, adds: dict[str, float]) -> float:
    rest = score - sum(adds.values())
    return 0.0 if abs(rest) <= _ROUNDING * max(map(abs, (score, *adds.values()))) else rest
