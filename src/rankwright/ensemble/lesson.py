"""What members of an ensemble learn from, in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwright.data.alignment import Features
from rankwright.data.dataset import Dataset
from rankwright.data.validation import Floats
from rankwright.ensemble.members import Member
from rankwright.ensemble.scales import mean_deviation
from rankwright.ensemble.teaching import Teaching, grows_as_told
from rankwright.ensemble.telling import Callback
from rankwright.inputs import RankingData
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import per_query_on
from rankwright.trees.additive import Additive


@dataclass(frozen=True)
class Lesson(Teaching):
    """Training queries in memory.

    Attributes
    ----------
    train : Dataset
        The training queries.
    data : RankingData
        The same, with weights of documents and queries.
    valid : Dataset, optional
        Queries for members to watch.
    bag : callable
        Returns the weight of each query for a member, by its number and the queries' own weights.
    unseen : Metric, optional
        If there is no ``valid``, members watch this metric on the queries outside their bags.
    fixed : bool
        Members have as many trees as they are told: they watch nothing, but to choose a base.
    n_jobs : int, optional
        Threads.
    """

    train: Dataset
    data: RankingData
    valid: Dataset | None
    bag: Callable[[int, Floats | None], Floats]
    unseen: Metric | None
    fixed: bool
    n_jobs: int | None

    @property
    def features(self) -> Features:
        """The features of the training documents."""
        return self.train.features

    def learn(self, member: Member, callback: Callback) -> None:
        """Fit a member to its bag of the queries."""
        groups, ranker = self.train.groups, member.ranker
        bag = self.bag(member.number, self.data.weight_of_queries)
        options: dict[str, Any] = {
            "sample_weight": self.data.sample_weight,
            "query_weight": np.repeat(bag, groups.sizes),
        }
        if ranker.reports_progress:
            options["callback"] = callback
        if ranker.takes_valid():
            options["valid"] = self._watched(ranker, bag)
        ranker.fit(self.train, self.train.y, self.train.qid, **options)

    def _watched(self, ranker: Any, bag: Floats) -> Dataset | None:
        """Return the queries that a member watches: validation queries, or those it has not seen.

        If none of these counts in the metric, it does not stop early, and has no base to choose.
        """
        known = ranker.get_params(deep=False)
        chooses = known.get("base") == "auto"
        if grows_as_told(ranker, self.fixed):
            return None
        if self.valid is not None or self.unseen is None:
            return self.valid
        own = self.data.weight_of_queries
        outside = bag == 0 if own is None else (bag == 0) & (own > 0)
        if not np.isnan(per_query_on([self.unseen], self.train, self.train.y)[0][outside]).all():
            return self.train.select(outside)
        without = {"early_stopping_rounds": None} | ({"base": None} if chooses else {})
        ranker.set_params(**{name: value for name, value in without.items() if name in known})
        return None

    def deviation(self, found: Additive) -> float:
        """Return the mean standard deviation of scores within the training queries."""
        return mean_deviation(found.scores(self.train.X, self.n_jobs), self.train.groups)
