"""What members of an ensemble are made into, of data in memory or in parts: one ranker."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from rankwright.data.parts import Parts, check_are_parts
from rankwright.data.validation import Floats, Matrix
from rankwright.ensemble.members import Member
from rankwright.ensemble.part_lesson import PartLesson
from rankwright.ensemble.scales import greedy_weights, warn_of_few
from rankwright.ensemble.teaching import FittedMembers, Teaching
from rankwright.ensemble.telling import Callback
from rankwright.ensemble.validating import Validating
from rankwright.estimator import check_fitted_array
from rankwright.exceptions import DataError, DataWarning
from rankwright.inputs import WeightColumn, levels_up
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import mean_on
from rankwright.metrics.parsing import MetricLike, parse
from rankwright.part_model import most_bytes
from rankwright.refitting import EndedEarly, UnfinishedError
from rankwright.trees.additive import Additive, summed
from rankwright.trees.forest_ranker import ForestRanker


class AveragedRanker(ForestRanker):
    """Base of rankers that are averages of others."""

    reports_progress = True
    stops_on_request = True
    bag: str | float | None
    weights: str | Sequence[float]
    n_estimators: int | None
    eval_metric: MetricLike
    random_state: int

    def own_members(self) -> list[Member]:
        """Return the members, copies with seeds and settings of their own."""
        raise NotImplementedError

    @property
    def weighs_by_valid(self) -> bool:
        """Whether validation queries choose the weights."""
        return isinstance(self.weights, str) and self.weights == "valid"

    # ---- fitting ----

    def fit_parts(
        self,
        parts: Parts,
        valid: Parts | None = None,
        callback: Callback | None = None,
        *,
        sample_weight: WeightColumn | None = None,
        query_weight: WeightColumn | None = None,
        machines: int | None = None,
    ) -> Self:
        """Fit every member to its bag of the queries, of data in parts of whole queries.

        Every member must learn from parts (``takes_parts``), or be fitted already. Bags are those
        of :meth:`fit`: each part computes the weights of its own queries, and nothing is copied.
        Queries outside a bag are not watched here: members that stop early, or choose a base, need
        ``valid``; others have all their trees without it.

        Parameters
        ----------
        parts : Parts
            The data, as :func:`rankwright.read_parts` returns them.
        valid : Parts, optional
            Validation queries, for members that watch them and for ``weights="valid"``.
        callback : callable, optional
            Called with an :class:`EnsembleProgress` whenever a member reports, and when it is
            fitted; a true answer ends training.
        sample_weight, query_weight : str or callable, optional
            The weights of :meth:`fit`: columns that are kept beside the features
            (``read_parts(..., keep=[...])``), or functions of a part.
        machines : int, optional
            How many grow the trees of a member; see :meth:`BoostedRanker.fit_parts`.
        """
        weights = sample_weight, query_weight
        parts = self.checked_parts(parts, valid, weights, machines)
        watched = None
        if valid is not None:
            check_are_parts(valid, "valid")
            known, metric = parts.facts.features, parse(self.eval_metric)
            watched = Validating.in_parts(valid, known, metric, self.n_jobs)
        lesson = PartLesson(
            parts,
            valid,
            weights,
            self.bag,
            self.random_state,
            self.n_estimators is not None,
            machines,
            self.n_jobs,
        )
        return self.learn(lesson, parts, watched, callback)

    def learn(
        self,
        lesson: Teaching,
        X: Matrix | Parts,
        valid: Validating | None,
        callback: Callback | None,
    ) -> Self:
        """Fit all members to documents X, and keep their average."""
        members = self.own_members()
        given = None if isinstance(self.weights, str) else np.asarray(self.weights, dtype=float)
        if given is not None and len(given) != len(members):
            raise ValueError(
                f"weights must be {len(members)} numbers, one for each member, but are "
                f"{len(given)}."
            )
        fitted = lesson.fit(members, callback)
        if not fitted.names:
            raise KeyboardInterrupt
        self._keep(fitted, given, X, valid, parse(self.eval_metric))
        if fitted.stop == "ctrl-c":  # what there is can be used, whoever pressed it
            self.stop_ = "interrupted"
            raise EndedEarly
        if fitted.stop == "machine_lost":
            raise UnfinishedError(fitted.complaint)
        return self

    def _keep(
        self,
        fitted: FittedMembers,
        given: Floats | None,
        X: Matrix | Parts,
        valid: Validating | None,
        metric: Metric,
    ) -> None:
        ranks = np.array(fitted.scales) > 0
        for name in np.array(fitted.names)[~ranks]:
            warnings.warn(
                f"member {name} ranks nothing: its weight is 0.",
                DataWarning,
                stacklevel=levels_up(),
            )
        weights = np.where(ranks, 1.0 if given is None else given[: len(ranks)], 0.0)
        if not weights.any():
            weights = np.where(ranks, 1.0, 0.0)  # interrupted before a member with a weight
        if valid is not None and self.weighs_by_valid:
            warn_of_few(valid.queries, metric)
            terms = fitted.terms(np.ones(len(ranks)))
            each = [valid.scores(term) * factor for term, factor in terms]
            if each:
                weights[ranks] = greedy_weights(np.array(each), valid.queries, metric)
        if weights.any():
            weights = weights / weights.sum()
        used = fitted.terms(weights)
        found = summed(used) if used else Additive(self.n_features_in_)
        self.keep_additive(found, X)
        self._scorer()
        self.member_names_ = fitted.names
        self.member_trees_ = [term.n_trees for term in fitted.sums]
        self.member_weights_ = weights
        self.member_scales_ = np.array(fitted.scales)
        self.stop_ = fitted.stop
        self.best_score_ = math.nan
        if valid is not None:
            self.best_score_ = mean_on(metric, valid.queries, valid.scores(found))

    # ---- parts ----

    def takes_parts(self) -> bool:
        """Tell whether it learns from data in parts: if all members do, or are fitted."""
        return all(member.ranker.takes_parts() for member in self._to_be_fitted())

    def check_learns_from_parts(self) -> None:
        """Raise for members that cannot learn from data in parts."""
        for member in self._to_be_fitted():
            if not member.ranker.takes_parts():
                raise TypeError(
                    f"member {member.name!r} learns from data in memory only; of members, "
                    "LinearRanker, DominationRank, BoostedRanker and those that are fitted do "
                    "from parts."
                )
            member.ranker.check_learns_from_parts()

    def check_takes_parts(self, parts: Parts, machines: int | None = None) -> None:
        """Raise for members that cannot learn from these parts."""
        super().check_takes_parts(parts, machines)
        for member in self._to_be_fitted():
            member.ranker.check_takes_parts(parts, machines)

    def _to_be_fitted(self) -> list[Member]:
        return [member for member in self.own_members() if not member.is_whole]

    @property
    def part_bytes(self) -> tuple[float, ...]:  # type: ignore[override]
        """What ``fit_parts`` takes beside one part: what the member takes that takes most."""
        own = [member.ranker.part_bytes for member in self._to_be_fitted()]
        return most_bytes(own or [(0, 0)])

    def watches(self) -> str:
        """Return what it is that ``fit_parts`` needs validation queries for, or nothing."""
        if self.weighs_by_valid:
            return "weights='valid'"
        for member in self.own_members():
            needed = "" if member.is_whole else member.ranker.watches()
            if needed:
                return f"{needed} of member {member.name!r}"
        return ""

    # ---- what it tells ----

    def grown(self) -> dict[str, Any]:
        """Return the mean number of trees that validation queries chose, and the weights."""
        found: dict[str, Any] = {}
        grown = [n for n in self.member_trees_ if n > 0]
        if grown:
            found["n_estimators"] = round(sum(grown) / len(grown))
        if self.weighs_by_valid:
            found["weights"] = self.member_weights_.tolist()
        return found

    def summary(self) -> dict[str, Any]:
        """Return how many members and trees there are, and how good they were."""
        return {
            **super().summary(),
            "members": len(self.member_names_),
            "iterations": self.n_iter_,
            "best_score": self.best_score_,
            "stop": self.stop_,
        }

    def check_state(self) -> None:
        """Raise unless a model that was read from a file can be one."""
        super().check_state()
        names, trees = vars(self).get("member_names_"), vars(self).get("member_trees_")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise DataError("member_names_ must be a list of names.")
        counted = isinstance(trees, list) and all(type(n) is int and n >= 0 for n in trees)
        if not counted or len(trees or ()) != len(names):
            raise DataError(f"member_trees_ must be {len(names)} numbers of trees.")
        for name in ("member_weights_", "member_scales_"):
            check_fitted_array(self, name, (len(names),))
