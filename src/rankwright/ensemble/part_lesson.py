"""What members of an ensemble learn from, in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwright.data.alignment import Features
from rankwright.data.dataset import Dataset
from rankwright.data.parts import Parts
from rankwright.data.validation import Floats
from rankwright.ensemble.bags import Bag, bag_of_parts
from rankwright.ensemble.members import Member
from rankwright.ensemble.scales import mean_of_deviations, query_deviations
from rankwright.ensemble.teaching import Teaching, grows_as_told
from rankwright.ensemble.telling import Callback
from rankwright.inputs import WeightColumn
from rankwright.trees.additive import Additive
from rankwright.trees.forest_ranker import ForestRanker


@dataclass(frozen=True)
class PartLesson(Teaching):
    """Training queries in parts.

    Attributes
    ----------
    parts, valid : Parts
        The training queries, and those to watch.
    weights : tuple of (str, callable or None)
        Weights of documents, and of queries.
    bag : {"queries"}, float or None
        What a member learns from.
    random_state : int
        Seed of the bags.
    fixed : bool
        Members have as many trees as they are told: they watch nothing, but to choose a base.
    machines : int or None
        How many grow the trees of a member.
    n_jobs : int or None
        Threads.
    """

    parts: Parts
    valid: Parts | None
    weights: tuple[WeightColumn | None, WeightColumn | None]
    bag: str | float | None
    random_state: int
    fixed: bool
    machines: int | None
    n_jobs: int | None

    @property
    def features(self) -> Features:
        """The features of the training documents."""
        return self.parts.facts.features

    def learn(self, member: Member, callback: Callback) -> None:
        """Fit a member to its bag of the queries, which each part computes for itself."""
        documents, queries = self.weights
        bag = Bag(self.bag, self.random_state, member.number)
        more: dict[str, Any] = {"query_weight": bag_of_parts(bag, self.parts, queries)}
        if not grows_as_told(member.ranker, self.fixed):
            more["valid"] = self.valid
        if member.ranker.reports_progress:
            more["callback"] = callback
        if isinstance(member.ranker, ForestRanker):
            more["machines"] = self.machines
        member.ranker.fit_parts(self.parts, sample_weight=documents, **more)

    def deviation(self, found: Additive) -> float:
        """Return the mean standard deviation of scores within the training queries."""
        each = self.parts.map(_deviations_of_part, found, self.n_jobs)
        return mean_of_deviations(np.concatenate(each))


def _deviations_of_part(part: Dataset, found: Additive, n_jobs: int | None) -> Floats:
    return query_deviations(found.scores(part.X, n_jobs), part.groups)
