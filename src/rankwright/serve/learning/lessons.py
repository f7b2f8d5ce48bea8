"""What an event teaches a learner: documents, labels and a query, or why there is nothing to learn.

Every answer here follows from the event and the model file alone, never from when or in which
company an event is read: live and in a replay the same events are learned, and the same skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats
from rankwright.estimator import Ranker
from rankwright.online.base import OnlineLearner
from rankwright.online.kernel_form import KernelForm
from rankwright.predtron import PredtronLabelRanker, PredtronMultilabel
from rankwright.serve.records import EventLesson, EventRecord, Numbers


class Skip(StrEnum):
    """Why a learner passes feedback by."""

    emptied = "its lesson is gone: it was older than what is kept"
    features = "it came without features"
    width = "it has another number of features than the model"
    missing = "it lacks values, and the model takes none that are missing"
    document = "one document alone has no order"
    label = "a label is none of the model's classes"
    refused = "the learner refused it"


def why_it_cannot_learn(model: Any) -> str:
    """Return why a model is served as it is; ``""`` if it goes on learning from feedback.

    Parameters
    ----------
    model : estimator
        A fitted model of the library, or a pipeline.
    """
    name = type(model).__name__
    if not isinstance(model, OnlineLearner):
        return f"{name} does not learn online"
    if isinstance(model, PredtronMultilabel | PredtronLabelRanker):
        return f"{name} learns from several labels of a document, and feedback has one"
    if isinstance(model, KernelForm) and not model._has_features():
        return "a precomputed kernel has no features"
    classes = vars(model).get("classes_")
    if classes is not None and np.asarray(classes).dtype.kind not in "biuf":
        return "its classes are texts, and labels of feedback are numbers"
    return ""


@dataclass(frozen=True, eq=False)
class Lessons:
    """Events that are learned in one call.

    Attributes
    ----------
    X : ndarray of shape (n_docs, n_features)
        As logged.
    y : ndarray of shape (n_docs,)
        Labels.
    qid : ndarray of shape (n_docs,)
        The place of each document's event in the log: every event is a query of its own, and
        whatever a learner draws at random follows from it.
    seqs : ndarray of shape (n_events,)
        The places.
    ends : ndarray of shape (n_events,)
        The row behind the last of each event.
    """

    X: Numbers
    y: Floats
    qid: Ints
    seqs: Ints
    ends: Ints

    @classmethod
    def of(cls, events: Sequence[EventRecord]) -> Lessons:
        """Put events together whose features have one type."""
        lessons = [lesson_of(event) for event in events]
        sizes = np.array([len(lesson.labels) for lesson in lessons])
        seqs = np.array([event.seq for event in events], dtype=np.int64)
        X: Any = [lesson.features for lesson in lessons]
        return cls(
            X[0] if len(X) == 1 else np.concatenate(X),
            np.concatenate([lesson.labels for lesson in lessons]).astype(np.float64, copy=False),
            np.repeat(seqs, sizes),
            seqs,
            np.cumsum(sizes),
        )

    def by_event(self, losses: Floats) -> Floats:
        """Return what was lost on each event: the sum of its rounds, one after the other."""
        if len(self.seqs) == 1:
            return np.array([in_order(losses)])
        if len(losses) == len(self.seqs):  # a round is a query
            return losses
        begins = np.append(0, self.ends[:-1]).tolist()
        parts = zip(begins, self.ends.tolist(), strict=True)
        return np.array([in_order(losses[begin:end]) for begin, end in parts])


def in_order(values: Floats) -> float:
    """Return a sum, taken one value after the other."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def lesson_of(event: EventRecord) -> EventLesson:
    """Return the lesson of an event that has one."""
    if event.new.lesson is None:
        raise ValueError(f"event {event.seq} has no lesson.")
    return event.new.lesson


class Taker:
    """Tells what a model can learn from.

    Parameters
    ----------
    model : estimator
        A fitted online learner.
    """

    def __init__(self, model: Any) -> None:
        self.n_features: int = model.n_features_in_
        self.by_query = isinstance(model, Ranker)
        self.takes_missing = vars(model).get("missing", "error") != "error"
        found = vars(model).get("classes_")
        self._classes: NDArray[Any] | None = None if found is None else np.sort(found)

    def why_not(self, lesson: EventLesson | None) -> Skip | None:
        """Return why an event cannot be learned; None if it can, as far as can be seen."""
        if lesson is None:
            return Skip.emptied
        X, labels = lesson.features, lesson.labels
        if X is None:
            return Skip.features
        if X.ndim != 2 or X.shape[1] != self.n_features:
            return Skip.width
        if len(labels) < 1 + self.by_query:
            return Skip.document
        if self._classes is not None and not _are_among(self._classes, labels):
            return Skip.label
        if not self.takes_missing and np.isnan(X).any():
            return Skip.missing
        return None


def _are_among(classes: NDArray[Any], labels: Floats) -> bool:
    at = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    return bool((classes[at] == labels).all())
