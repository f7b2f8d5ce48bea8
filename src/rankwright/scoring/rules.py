"""Scoring rules: what a fitted model of each class predicts, made of its state alone.

A rule is made of what a file holds, or of an estimator's attributes; it checks what it uses, and
holds nothing else. Scores and decisions are those of :mod:`rankwright.scoring.sums` and
:mod:`rankwright.scoring.decisions`, by which the estimators predict as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.problems.multilabel import Multilabel
from rankwright.problems.native import Native
from rankwright.scoring.decisions import (
    by_rounding,
    by_thresholds,
    class_codes,
    named_classes,
    named_sets,
    plurality,
    predicted_codes,
    problem_of_classes,
    problem_of_ranks,
)
from rankwright.scoring.given import Intake
from rankwright.scoring.state import (
    State,
    check_label_names,
    check_labels,
    check_n_labels,
    check_thresholds,
    settled,
)
from rankwright.scoring.sums import Sums, check_sums_of, one_each, sums_of
from rankwright.scoring.topics import check_topics, hashed_scores, topic_scores


class ScoringRule(Protocol):
    """What a scorer asks."""

    takes_missing: ClassVar[bool] = False
    """Whether missing values are taken as they are."""
    options: ClassVar[tuple[str, ...]] = ()
    """What else ``predict`` may be told, by name."""

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the rule of a fitted model; DataError if the state cannot be one's."""
        ...

    def predict(self, intake: Intake, X: Any, **options: Any) -> NDArray[Any]:
        """Return scores or labels of what was given, which the intake checks."""
        ...


@dataclass(frozen=True)
class ScoreRule(ScoringRule):
    """A score for each row."""

    sums: Sums

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the rule of a ranker."""
        check_sums_of(state)
        return cls(sums_of(state))

    def predict(self, intake: Intake, X: Any, **options: Any) -> Floats:
        """Return scores."""
        return one_each(self.sums, intake, X)


@dataclass(frozen=True)
class LabelScoresRule(ScoringRule):
    """A row of scores for each row: one for each label."""

    sums: Sums

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the rule of a ranker of labels."""
        check_sums_of(state, check_n_labels(state))
        return cls(sums_of(state))

    def predict(self, intake: Intake, X: Any, **options: Any) -> Floats:
        """Return scores."""
        return self.sums.scores_of(intake, X)


@dataclass(frozen=True)
class ThresholdRule(ScoringRule):
    """Labels between thresholds."""

    sums: Sums
    thresholds: Floats
    classes: NDArray[Any]

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the rule of PRank."""
        check_sums_of(state)
        check_thresholds(state, check_labels(state))
        return cls(sums_of(state), state["thresholds_"], state["classes_"])

    def predict(self, intake: Intake, X: Any, **options: Any) -> NDArray[Any]:
        """Return labels."""
        labels: NDArray[Any] = self.classes[
            by_thresholds(one_each(self.sums, intake, X), self.thresholds)
        ]
        return labels


@dataclass(frozen=True)
class RoundingRule(ScoringRule):
    """Labels whose ranks are rounded scores."""

    sums: Sums
    classes: NDArray[Any]

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the rule of Widrow-Hoff."""
        check_sums_of(state)
        check_labels(state)
        return cls(sums_of(state), state["classes_"])

    def predict(self, intake: Intake, X: Any, **options: Any) -> NDArray[Any]:
        """Return labels."""
        ranks = by_rounding(one_each(self.sums, intake, X), len(self.classes))
        labels: NDArray[Any] = self.classes[ranks]
        return labels


@dataclass(frozen=True)
class PrototypeRule(ScoringRule):
    """The label with the best score."""

    sums: Sums
    classes: NDArray[Any]

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the rule of the multiclass perceptron."""
        check_sums_of(state, check_labels(state))
        return cls(sums_of(state), state["classes_"])

    def predict(self, intake: Intake, X: Any, **options: Any) -> NDArray[Any]:
        """Return labels."""
        labels: NDArray[Any] = self.classes[plurality(self.sums.scores_of(intake, X))]
        return labels


@dataclass(frozen=True)
class ClassRule(ScoringRule):
    """The class that a problem predicts, or the option to reject."""

    sums: Sums
    make: Callable[..., Native]  # compiled for each call: threads do not share what it writes to
    costs: tuple[Any, ...]
    classes: NDArray[Any]
    reject_label: Any = None

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the rule of Predtron's learners of classes."""
        classes = state.get("classes_")
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or len(classes) < 2:
            raise DataError("classes_ must be two or more classes.")
        make, costs = cls._problem_in(state)
        check_sums_of(state, int(make(len(classes), *costs).n_scores or 1))
        return cls(sums_of(state), make, costs, classes, state.get("reject_label"))

    @classmethod
    def _problem_in(cls, state: State) -> tuple[Callable[..., Native], tuple[Any, ...]]:
        return problem_of_classes, (state.get("loss"), state.get("reject"))

    def predict(self, intake: Intake, X: Any, **options: Any) -> NDArray[Any]:
        """Return classes."""
        reject = self.costs[1] if self.costs else None
        problem = partial(self.make, len(self.classes), *self.costs)
        scores = self.sums.scores_of(intake, X)
        rows = scores if scores.ndim == 2 else scores[:, None]
        codes = class_codes(rows, None if reject is None else problem)
        return named_classes(codes, self.classes, reject, self.reject_label)


@dataclass(frozen=True)
class OrdinalClassRule(ClassRule):
    """The ordered class that a problem predicts."""

    @classmethod
    def _problem_in(cls, state: State) -> tuple[Callable[..., Native], tuple[Any, ...]]:
        check_labels(state)
        return problem_of_ranks, ()


@dataclass(frozen=True)
class LabelSetRule(ScoringRule):
    """The labels whose scores are positive."""

    sums: Sums
    loss: str
    n_labels: int
    classes: NDArray[Any]

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the rule of Predtron's learner of sets."""
        n, loss = check_n_labels(state), state.get("loss", "hamming")
        check_sums_of(state, n)
        check_label_names(state, n)
        Multilabel(n, loss)  # it raises
        return cls(sums_of(state), loss, n, state["classes_"])

    def predict(self, intake: Intake, X: Any, **options: Any) -> NDArray[Any]:
        """Return which labels each row has, 1 or 0; for a vector y, its values."""
        problem = Multilabel(self.n_labels, self.loss)
        codes = predicted_codes(problem, self.sums.scores_of(intake, X), self.n_labels)
        return named_sets(codes, self.classes, self.n_labels)


@dataclass(frozen=True)
class TopicRule(ScoringRule):
    """A score for each topic."""

    weights: Floats
    features: Ints
    offsets: Ints

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the rule of rankers of topics."""
        check_topics(state)
        return cls(state["weights_"], state["features_"], state["offsets_"])

    def predict(self, intake: Intake, X: Any, **options: Any) -> Floats:
        """Return a row of scores for each row."""
        return topic_scores(intake.rows(X), self.weights, self.features, self.offsets)


@dataclass(frozen=True)
class HashRule(ScoringRule):
    """Scores that mean nothing."""

    takes_missing: ClassVar[bool] = True
    seed: int

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the rule of the random ranker."""
        return cls(int(state.get("random_state", 0)))

    def predict(self, intake: Intake, X: Any, **options: Any) -> Floats:
        """Return scores."""
        return hashed_scores(intake.rows(X), self.seed)


# Of every class in rankwright.models.CLASSES: the rule, or the module and the name of one that is
# loaded when it is needed.
RULES: Mapping[str, type[ScoringRule] | tuple[str, str]] = {
    "LinearRanker": ScoreRule,
    "DominationRank": ScoreRule,
    "TopicRankers": TopicRule,
    "SLAMPerceptron": ScoreRule,
    "OnlineRanker": ScoreRule,
    "PAMIR": ScoreRule,
    "PRank": ThresholdRule,
    "WidrowHoff": RoundingRule,
    "MulticlassPerceptron": PrototypeRule,
    "PredtronClassifier": ClassRule,
    "PredtronOrdinal": OrdinalClassRule,
    "PredtronMultilabel": LabelSetRule,
    "PredtronRanker": ScoreRule,
    "PredtronLabelRanker": LabelScoresRule,
    "BoostedRanker": ("rankwright.trees.rule", "TreeRule"),
    "EnsembleRanker": ("rankwright.trees.rule", "TreeRule"),
    "BestFeature": ScoreRule,
    "RandomRanker": HashRule,
}
# Of these all weights of a run vote, if ``variant`` is "voted".
_VOTE = {
    "PRank",
    "MulticlassPerceptron",
    "PredtronClassifier",
    "PredtronOrdinal",
    "PredtronMultilabel",
}


def rule_of(kind: str, state: State) -> ScoringRule:
    """Return the rule of a model, by its class and its state."""
    if kind not in RULES:
        _has_no_scorer(kind)
    if kind in _VOTE and settled(state, "variant") == "voted":
        _has_no_scorer(f"{kind} with variant='voted', in which all weights of a run vote,")
    found = RULES[kind]
    rule: type[ScoringRule]
    rule = getattr(import_module(found[0]), found[1]) if isinstance(found, tuple) else found
    return rule.of(state)


def _has_no_scorer(what: str) -> None:
    raise DataError(
        f"{what} has no scorer. Load the model itself, with rankwright.load(path), and call its "
        "predict."
    )
