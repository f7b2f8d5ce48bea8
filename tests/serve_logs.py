"""Logs of a service, small, for tests of learning and replay."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import rankwright as rw
from rankwright.estimator import Ranker
from rankwright.persistence import packed, unpack_model
from rankwright.serve.learning.learner import Learner
from rankwright.serve.learning.lessons import why_it_cannot_learn
from rankwright.serve.records import EventLesson, EventRecord, Kind, LearnerRecord, NewEvent
from rankwright.serve.settings import Settings
from rankwright.serve.store import open_store
from rankwright.serve.store.interface import Store

N_FEATURES = 4
# A model of every online class, and of every kind of state that they keep.
ONLINE: dict[str, Callable[[], Any]] = {
    "slam": lambda: rw.SLAMPerceptron(n_epochs=2),
    "slam-last": lambda: rw.SLAMPerceptron("map", variant="last", n_epochs=1),
    "slam-paper": lambda: rw.SLAMPerceptron(update="paper", variant="voted", n_epochs=1),
    "slam-kernel": lambda: rw.SLAMPerceptron(kernel="rbf", n_epochs=1),
    "slam-budget": lambda: rw.SLAMPerceptron(kernel="rbf", budget=20, n_epochs=1),
    "slam-missing": lambda: rw.SLAMPerceptron(missing="median", n_epochs=1),
    "online": lambda: rw.OnlineRanker(n_epochs=1),
    "online-slam": lambda: rw.OnlineRanker("smooth-slam", eta=0.1, schedule="sqrt", n_epochs=1),
    "pamir": lambda: rw.PAMIR(C=0.1),
    "prank": lambda: rw.PRank(n_epochs=2),
    "prank-voted": lambda: rw.PRank(variant="voted", n_epochs=1),
    "prank-kernel": lambda: rw.PRank(kernel="poly", n_epochs=1),
    "widrow-hoff": lambda: rw.WidrowHoff(n_epochs=1),
    "widrow-hoff-step": lambda: rw.WidrowHoff(eta=0.01, variant="averaged", n_epochs=1),
    "widrow-hoff-kernel": lambda: rw.WidrowHoff(kernel="rbf", n_epochs=1),
    "multiclass": lambda: rw.MulticlassPerceptron(n_epochs=1),
    "multiclass-voted": lambda: rw.MulticlassPerceptron(variant="voted", n_epochs=1),
    "multiclass-kernel": lambda: rw.MulticlassPerceptron(kernel="rbf", n_epochs=1),
    "predtron-ranker": lambda: rw.PredtronRanker(n_epochs=1),
    "predtron-ranker-l1": lambda: rw.PredtronRanker(norm="l1", n_epochs=1),
    "predtron-ranker-kernel": lambda: rw.PredtronRanker(kernel="rbf", n_epochs=1),
    "predtron-ordinal": lambda: rw.PredtronOrdinal(n_epochs=1),
    "predtron-ordinal-kernel": lambda: rw.PredtronOrdinal(kernel="rbf", n_epochs=1),
    "predtron-classifier": lambda: rw.PredtronClassifier(n_epochs=1),
    "predtron-classifier-kernel": lambda: rw.PredtronClassifier(kernel="rbf", n_epochs=1),
}
HIDDEN = np.array([2.0, -1.0, 0.5, 0.0])


def graded(X: Any) -> Any:
    """Return labels 0 to 3 that follow from the features."""
    return np.digitize(X @ HIDDEN, [-1.5, 0.5, 2.0]).astype(np.float64)


def fitted(name: str = "slam", seed: int = 0) -> Any:
    """Return an online model that has seen a few queries."""
    X = np.random.default_rng(seed).normal(size=(60, N_FEATURES))
    model = ONLINE[name]()
    return model.fit(X, graded(X), qid=np.repeat(np.arange(10), 6))


def other_model() -> Any:
    """Return a model that does not learn online."""
    X = np.random.default_rng(1).normal(size=(60, N_FEATURES))
    return rw.LinearRanker().fit(X, graded(X), np.repeat(np.arange(10), 6))


def lesson(seed: int, what: str = "good", n_docs: int | None = None) -> EventLesson:
    """Return a lesson; ``what`` says what is wrong with it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7)) if n_docs is None else n_docs
    n = 1 if what == "one" else n
    X: Any = rng.normal(size=(n, N_FEATURES + (what == "wide")))
    labels = graded(X[:, :N_FEATURES])
    match what:
        case "single":
            X = X.astype(np.float32)
        case "missing":
            X[0, 1] = np.nan
        case "huge":
            X[-1, 0] = 1e31
        case "label":
            labels[0] = 17.5
        case "none":
            X = None
    return EventLesson(f"q{seed}", [f"d{i}" for i in range(n)], labels, X)


def feedback(seed: int, what: str = "good", at: float = 0.0, **more: Any) -> NewEvent:
    """Return a feedback event."""
    given = None if what == "emptied" else lesson(seed, what)
    return NewEvent(f"e{seed}", at, Kind.feedback, b"digest", given, **more)


def add(store: Store, model: Any) -> int:
    """Add a model to a store; return its number."""
    learns = not why_it_cannot_learn(model)
    return store.add_model(packed(model), type(model).__name__, learns, 0.0).model_id


def served(path: Path, *models: Any, name: str = "a.db") -> Store:
    """Return a store with models, of which the first is served."""
    store = open_store(str(path / name))
    for model in models:
        add(store, model)
    store.promote(1, 0.0, "first")
    return store


def learner_of(store: Store, **settings: Any) -> Learner:
    """Return a learner that publishes after every step."""
    return Learner(store, replace(Settings(publish=0.0), **settings))


def learn_all(store: Store, **settings: Any) -> None:
    """Learn all there is."""
    learner = learner_of(store, **settings)
    while learner.step():
        pass


def all_events(store: Store) -> list[EventRecord]:
    """Return the log."""
    return store.events(0, 1_000_000)


def record_of(store: Store, model_id: int = 1) -> LearnerRecord:
    """Return a learner that must be there."""
    found = store.learner(model_id)
    assert found is not None
    return found


def is_served(model_id: int, before: Sequence[EventRecord]) -> bool:
    """Tell whether a model is served after these events, looked at from the end."""
    for event in reversed(before):
        told = event.new.details
        if event.new.kind is Kind.promotion:
            return bool(told["model"] == model_id)
        if event.new.kind is Kind.experiment and told["running"]:
            return model_id in (told["a"], told["b"])
        if event.new.kind is Kind.experiment:
            promotions = [e for e in before if e.new.kind is Kind.promotion]
            return bool(promotions[-1].new.details["model"] == model_id)
    return False


def twin(
    content: bytes, model_id: int, events: Sequence[EventRecord]
) -> tuple[bytes, dict[int, float], int]:
    """Learn a log by the estimator's own ``partial_fit``, one event after the other.

    Returns the model file, the loss of each learned event, and how many were skipped.
    """
    model = unpack_model(io.BytesIO(content))
    losses: dict[int, float] = {}
    n_skipped = 0
    for at, event in enumerate(events):
        if event.new.kind is not Kind.feedback or not is_served(model_id, events[:at]):
            continue
        before, known = copy.deepcopy(model), model.cumulative_loss_
        given = event.new.lesson
        try:
            assert given is not None
            assert given.features is not None
            assert len(given.labels) > isinstance(model, Ranker)
            model.partial_fit(given.features, given.labels, np.full(len(given.labels), event.seq))
        except (AssertionError, ValueError):
            model, n_skipped = before, n_skipped + 1
        else:
            losses[event.seq] = model.cumulative_loss_ - known
    return (packed(model) if losses else content), losses, n_skipped
