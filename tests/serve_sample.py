"""Records for tests of the service, and whether two are the same."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwright.serve.records import EventLesson, Kind, Mark, NewEvent, RankingRecord

Array = np.ndarray[Any, Any]


def sample_lesson(n_docs: int = 3, n_features: int = 4, seed: int = 0) -> EventLesson:
    rng = np.random.default_rng(seed)
    ids = [f"d{i}" for i in range(n_docs)]
    labels = rng.integers(0, 3, n_docs).astype(np.float64)
    return EventLesson(f"q{seed}", ids, labels, rng.normal(size=(n_docs, n_features)))


def sample_event(event_id: str, seed: int = 0, at: float = 1000.0, **more: Any) -> NewEvent:
    """Return a feedback; the same id and seed are the same event."""
    digest = hashlib.sha256(str(seed).encode()).digest()
    return NewEvent(event_id, at, Kind.feedback, digest, sample_lesson(seed=seed), **more)


def sample_ranking(ranking_id: str, at: float = 1000.0, features: bool = True) -> RankingRecord:
    X = np.arange(6.0, dtype=np.float32).reshape(3, 2) if features else None
    scores = np.array([0.5, -1.0, 2.0])
    return RankingRecord(ranking_id, at, "q", "1+7", "b", ["a", "b", "c"], scores, X)


def sample_mark(model_id: int, position: int, learned: int = 1) -> Mark:
    seqs, losses = np.arange(position - learned, position) + 1, np.full(learned, 0.25)
    return Mark(model_id, position, learned, b"d" * 32, seqs, losses, 0.5, None)


def same_array(one: ArrayLike | None, other: ArrayLike | None) -> bool:
    """Tell whether values, their type and shape are the same to the bit."""
    if one is None or other is None:
        return one is other
    a, b = np.asarray(one), np.asarray(other)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def same_record(one: Any, other: Any) -> bool:
    """Tell whether all attributes of two records are the same to the bit."""
    if type(one) is not type(other):
        return False
    for name in one.__dataclass_fields__:
        a, b = getattr(one, name), getattr(other, name)
        if isinstance(a, EventLesson):
            if not same_record(a, b):
                return False
        elif isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            if not same_array(a, b):
                return False
        elif a != b:
            return False
    return True
