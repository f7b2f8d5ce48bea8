"""How the model of a file ranks documents.

Rankers rank by their scores. What predicts labels ranks by the number that decides them, if there
is one (PRank's projection, Widrow-Hoff's rank before rounding, the score of two classes on a line),
and else by the labels, if they are numbers; its answers have the labels as well.
"""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwright.exceptions import DataError
from rankwright.model_file import PIPELINE, header_and_arrays
from rankwright.scoring.rules import ClassRule, PrototypeRule, RoundingRule, ThresholdRule
from rankwright.scoring.scorer import Scorer
from rankwright.scoring.sums import one_each
from rankwright.serve.records import Numbers

Scores: TypeAlias = NDArray[np.float64]
Way: TypeAlias = Callable[[Numbers], NDArray[Any]]
_SEVERAL = ("PredtronMultilabel", "PredtronLabelRanker", "TopicRankers")
_warnings = threading.Lock()


@dataclass(frozen=True, eq=False)
class RankingWay:
    """How a model ranks documents: scores, and labels where it predicts them."""

    kind: str
    n_features: int
    names: list[str] | None
    takes_missing: bool
    scores: Way
    labels: Way | None = None
    classes: list[Any] | None = None


def full_model(content: bytes) -> Any:
    """Return the model of a file, which can do all that it could."""
    return import_module("rankwright.persistence").unpack_model(io.BytesIO(content))


def kind_of_content(content: bytes) -> str:
    """Return the class of the model of a file; DataError if it is none."""
    kind: str = header_and_arrays(io.BytesIO(content))[0]["class"]
    return kind


def can_learn(content: bytes) -> bool:
    """Tell whether the model of a file goes on learning while it is served."""
    from rankwright.serve.learning.lessons import why_it_cannot_learn

    return not why_it_cannot_learn(full_model(content))


def ranking_way(content: bytes) -> RankingWay:
    """Return how the model of a file ranks; DataError if it is none, or cannot."""
    kind = kind_of_content(content)
    _refuse_several(kind)
    if kind == PIPELINE:
        return _way_of_model(full_model(content))
    try:
        scorer = Scorer.unpack(io.BytesIO(content))
    except DataError:
        return _way_of_model(full_model(content))  # which has votes, or is refused by it
    return _way_of_scorer(scorer)


def _refuse_several(kind: str) -> None:
    if kind in _SEVERAL:
        raise _cannot_rank(kind, "it gives a document several scores, not one")


def _cannot_rank(kind: str, why: str) -> DataError:
    return DataError(f"{kind} cannot be served: {why}. Serve a ranker.")


def _way_of_scorer(scorer: Scorer) -> RankingWay:
    rule, intake = scorer.rule, scorer.intake
    missing = intake.allow_nan or intake.state.get("missing", "error") != "error"
    kind, n, names = scorer.kind, scorer.n_features, scorer.feature_names

    def predict(X: Numbers) -> NDArray[Any]:
        return rule.predict(intake, X)

    if not isinstance(rule, ThresholdRule | RoundingRule | PrototypeRule | ClassRule):
        return RankingWay(kind, n, names, missing, predict)
    sums = rule.sums

    def decide(X: Numbers) -> NDArray[Any]:
        return one_each(sums, intake, X)

    one = sums.scores_of(intake, np.zeros((1, n))).size == 1
    scores = decide if one else _by_label(kind, predict, rule.classes)
    return RankingWay(kind, n, names, missing, scores, predict, rule.classes.tolist())


def _by_label(kind: str, labels: Way, classes: NDArray[Any]) -> Way:
    """Return the way to rank by labels, for models that have a score for each of them."""
    if classes.dtype.kind not in "fiub":
        raise _cannot_rank(kind, "its classes are texts, which have no order")
    return lambda X: np.asarray(labels(X), dtype=np.float64)


def _way_of_model(model: Any) -> RankingWay:
    """Return the way of a model that has no scorer: a pipeline, or one in which weights vote."""
    from rankwright.adapters import chooses_by_name
    from rankwright.data.dataset import Dataset
    from rankwright.estimator import as_model

    asked: Any = as_model(model)
    last: Any = model.steps[-1][1] if type(model).__name__ == PIPELINE else model
    kind = type(last).__name__
    _refuse_several(kind)
    known = asked.features()
    if known.categories:
        raise _cannot_rank(f"this {PIPELINE}", f"it takes texts, as {min(known.categories)!r}")
    by_name = chooses_by_name(model)
    names = known.names

    def calling(method: Callable[[Any], Any]) -> Way:
        def call(X: Numbers) -> NDArray[Any]:
            rows = X
            if by_name:
                dataset = Dataset(X, np.zeros(len(X)), feature_names=names, allow_nan=True)
                rows = asked.rows(dataset)
            with _warnings, warnings.catch_warnings():
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                return np.asarray(method(rows))

        return call

    missing = _takes_missing(model, calling(model.predict), known.n)
    predict = _finite_only(calling(model.predict), missing)
    classes = vars(last).get("classes_")
    if classes is None:
        return RankingWay(type(model).__name__, known.n, names, missing, predict)
    decide = _finite_only(calling(model.decision_function), missing)
    one = decide(np.zeros((1, known.n))).size == 1
    scores = decide if one else _by_label(kind, predict, classes)
    return RankingWay(
        type(model).__name__, known.n, names, missing, scores, predict, classes.tolist()
    )


def _takes_missing(model: Any, predict: Way, n: int) -> bool:
    """Tell whether a model predicts where values are missing: as it says, or as it does."""
    if model.__sklearn_tags__().input_tags.allow_nan:
        return True
    try:  # a pipeline whose first step fills them in does not say so
        found = predict(np.full((1, n), np.nan))
    except ValueError:
        return False
    return found.dtype.kind not in "fc" or bool(np.isfinite(found).all())


def _finite_only(way: Way, missing: bool) -> Way:
    """Return a way that takes finite numbers, and missing values if it may, and gives such."""

    def call(X: Numbers) -> NDArray[Any]:
        if (np.isinf(X) if missing else ~np.isfinite(X)).any():
            raise ValueError("features must be finite numbers.")
        found = way(X)
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            row = int(np.argmin(np.isfinite(found)))
            raise ValueError(f"the score of row {row} is not finite: scale the features.")
        return found

    return call
