"""Members of an ensemble, fitted one after the other, each to its bag of queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.validation import Floats
from rankwright.ensemble.members import Member
from rankwright.ensemble.scales import mean_deviation
from rankwright.ensemble.telling import Callback, EnsembleProgress
from rankwright.inputs import RankingData
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import per_query_on
from rankwright.refitting import EndedEarly
from rankwright.trees.additive import Additive
from rankwright.trees.grafting import check_same_features


@dataclass
class FittedMembers:
    """Members that are fitted, and what is known of each."""

    names: list[str] = field(default_factory=list)
    sums: list[Additive] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    stop: str = "complete"

    def terms(self, weights: Floats) -> list[tuple[Additive, float]]:
        """Return the members that count, with what their scores are multiplied by."""
        known = zip(self.sums, weights.tolist(), self.scales, strict=True)
        return [(term, w / scale) for term, w, scale in known if w > 0 and scale > 0]


@dataclass(frozen=True)
class Lesson:
    """What all members learn from.

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

    def fit(self, members: Sequence[Member], callback: Callback | None) -> FittedMembers:
        """Fit members until all are, the callback has enough, or an interrupt comes."""
        fitted = FittedMembers()
        for member in members:
            tell = _Telling(callback, fitted, len(members), member.name)
            try:
                if member.is_whole or self._counts(member, tell):
                    self._add(member, fitted)
                    tell(None)
            except KeyboardInterrupt:  # between members: those that are fitted can be used
                fitted.stop = "ctrl-c"
            if fitted.stop != "complete":
                break
        return fitted

    def _counts(self, member: Member, tell: _Telling) -> bool:
        """Fit a member; say whether it counts. One that was stopped does if there is no other."""
        groups, ranker = self.train.groups, member.ranker
        bag = self.bag(member.number, self.data.weight_of_queries)
        options: dict[str, Any] = {
            "sample_weight": self.data.sample_weight,
            "query_weight": np.repeat(bag, groups.sizes),
        }
        if ranker.reports_progress:
            options["callback"] = tell
        if ranker.takes_valid():
            options["valid"] = self._watched(ranker, bag)
        try:
            ranker.fit(self.train, self.train.y, self.train.qid, **options)
        except EndedEarly:
            tell.fitted.stop = "ctrl-c"
        except KeyboardInterrupt:
            tell.fitted.stop = "ctrl-c"
            return False
        return tell.fitted.stop == "complete" or not tell.fitted.names

    def _watched(self, ranker: Any, bag: Floats) -> Dataset | None:
        """Return the queries that a member watches: validation queries, or those it has not seen.

        If none of these counts in the metric, it does not stop early, and has no base to choose.
        """
        known = ranker.get_params(deep=False)
        chooses = known.get("base") == "auto"
        if self.fixed and not chooses:
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

    def _add(self, member: Member, fitted: FittedMembers) -> None:
        """Keep a member's sum, and its scale on the training documents."""
        found, train = Additive.of(member.ranker), self.train
        if member.is_whole:
            check_same_features(f"member {member.name!r}", member.ranker, found, train.features)
        scale = mean_deviation(found.scores(train.X, self.n_jobs), train.groups)
        fitted.names.append(member.name)
        fitted.sums.append(found)
        fitted.scales.append(scale)


@dataclass(frozen=True)
class _Telling:
    """Whoever wants to know how far a member is; a true answer ends it."""

    callback: Callback | None
    fitted: FittedMembers
    total: int
    name: str

    def __call__(self, detail: Any) -> bool:
        progress = EnsembleProgress(len(self.fitted.names), self.total, self.name, detail)
        if self.callback is not None and self.callback(progress):
            self.fitted.stop = "interrupted"
        return self.fitted.stop == "interrupted"
