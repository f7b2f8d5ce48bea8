"""Validation queries of an ensemble: their labels here, their features where they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankwright.data.alignment import Features
from rankwright.data.dataset import Dataset
from rankwright.data.parts import Parts
from rankwright.data.validation import Floats
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import columns_of
from rankwright.trees.additive import Additive


@dataclass(frozen=True)
class Validating:
    """Queries to choose weights by.

    Attributes
    ----------
    queries : Dataset
        Labels, queries, and what a metric looks at; of parts there are no features.
    scores : callable
        Returns the scores of their documents.
    """

    queries: Dataset
    scores: Callable[[Additive], Floats]

    @classmethod
    def in_memory(cls, valid: Dataset, n_jobs: int | None) -> Validating:
        """Return validation queries that are here."""
        return cls(valid, lambda found: found.scores(valid.X, n_jobs))

    @classmethod
    def in_parts(
        cls, valid: Parts, known: Features, metric: Metric, n_jobs: int | None
    ) -> Validating:
        """Return validation parts; ``known`` are the features of the training documents."""
        bare = valid.map(_without_features, metric)
        kept = {name: np.concatenate([one.kept[name] for one in bare]) for name in bare[0].kept}
        y, qid = (np.concatenate([getattr(one, name) for one in bare]) for name in ("y", "qid"))
        queries = Dataset.from_checked(np.empty((len(y), 0)), y, qid, kept=kept)

        def scores(found: Additive) -> Floats:
            return np.concatenate(valid.map(_scores_of_part, found, known, n_jobs))

        return cls(queries, scores)


def _without_features(part: Dataset, metric: Metric) -> Dataset:
    kept = columns_of(part, [metric])
    return Dataset.from_checked(np.empty((part.n_docs, 0)), part.y, part.qid, kept=kept)


def _scores_of_part(part: Dataset, found: Additive, known: Features, n_jobs: int | None) -> Floats:
    return found.scores(part.aligned(known, "valid").X, n_jobs)
