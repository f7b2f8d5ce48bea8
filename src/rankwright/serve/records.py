"""What the service remembers: rankings, events, models, learners. Plain values, no database."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float32] | NDArray[np.float64]
NOT_YET = "no event was learned yet."  # why a learner has no bound


class Kind(StrEnum):
    """What an event of the log is."""

    feedback = "feedback"
    promotion = "promotion"  # a model is served from here on, and learns
    experiment = "experiment"  # one begins or ends


@dataclass(frozen=True, eq=False)
class RankingRecord:
    """An answer that was given.

    Attributes
    ----------
    ranking_id : str
        Made by the server; begins with the time in milliseconds, so that a server can tell how old
        an id is that it does not know.
    at : float
        Seconds since 1970.
    query : str
        The caller's id of the query.
    version : str
        What ranked: ``"1"``, or ``"1+250"`` for model 1 after 250 learned events.
    arm : str, optional
        ``"a"`` or ``"b"`` in an experiment.
    ids : list of str
        The documents, in the order in which they came.
    scores : ndarray of shape (n_docs,)
        Their scores.
    features : ndarray of shape (n_docs, n_features), optional
        As the model got them; NaN is a missing value. None unless features are logged.
    k : int, optional
        How many were answered, the best ones; None: all of them.
    """

    ranking_id: str
    at: float
    query: str
    version: str
    arm: str | None
    ids: list[str]
    scores: NDArray[np.float64]
    features: Numbers | None = None
    k: int | None = None


@dataclass(frozen=True, eq=False)
class EventLesson:
    """What an event teaches: labelled documents of one query.

    Attributes
    ----------
    query : str
        The caller's id of the query.
    ids : list of str
        The documents that have a label, in the order of the ranking.
    labels : ndarray of shape (n_docs,)
        Their labels.
    features : ndarray of shape (n_docs, n_features), optional
        None if they were not logged: such an event is measured and not learned.
    """

    query: str
    ids: list[str]
    labels: NDArray[np.float64]
    features: Numbers | None


@dataclass(frozen=True, eq=False)
class NewEvent:
    """An event before it has its place in the log.

    Attributes
    ----------
    event_id : str
        The caller's: the log has each once.
    at : float
        Seconds since 1970.
    kind : Kind
        What it is.
    digest : bytes
        Of what the caller sent: the same id with another content is a mistake of the caller.
    lesson : Lesson, optional
        Of a feedback.
    ranking_id, version, arm : str, optional
        What was judged, and who had ranked it.
    value : float, optional
        NDCG@10 of the ranking as it was answered, by these labels.
    details : dict
        Plain values, of what is no feedback: ``{"model": 2, "previous": 1}`` of a promotion,
        ``{"experiment": 1, "a": 1, "b": 2, "share": 0.5, "name": ..., "running": True}``.
    """

    event_id: str
    at: float
    kind: Kind
    digest: bytes = b""
    lesson: EventLesson | None = None
    ranking_id: str | None = None
    version: str | None = None
    arm: str | None = None
    value: float | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class EventRecord:
    """An event of the log; ``seq`` is its place: 1, 2, 3, ... without a gap."""

    seq: int
    new: NewEvent


class Fate(StrEnum):
    """What became of an event that was handed to the store."""

    accepted = "accepted"
    duplicate = "duplicate"  # the log had it
    conflict = "conflict"  # the log has this id with another content


@dataclass(frozen=True)
class ModelRecord:
    """A model that was handed to the service; its bytes are asked for apart.

    Attributes
    ----------
    model_id : int
        1, 2, 3, ...
    digest : str
        SHA-256 of the file, in hexadecimal digits.
    kind : str
        The class, such as ``"SLAMPerceptron"``.
    learns : bool
        Whether it goes on learning while it is served.
    added : float
        When, in seconds since 1970.
    note : str
        What the caller said of it: by default the name of the file.
    """

    model_id: int
    digest: str
    kind: str
    learns: bool
    added: float
    note: str = ""


@dataclass(frozen=True)
class LearnerRecord:
    """Where the learner of a model is; written with what it knows, in one transaction.

    Attributes
    ----------
    model_id : int
        Whose.
    position : int
        The last event that it has passed.
    active : bool
        Whether it learns from the next one: whether the model is served, at this place of the log.
    learned, skipped : int
        Events that it learned from, and feedback that it could not learn from.
    content : bytes
        What it knows: a model file.
    ledger : str
        JSON of its guarantee log; ``""`` without one.
    loss : float
        Sum of its losses since it was first served.
    bound : float, optional
        What theory guarantees of that sum; None where it says nothing.
    reason : str
        Why there is no bound; ``""`` if there is one.
    library, cpu : str
        What computed: the version of rankwright, and the family of the processor.
    updated : float
        When, in seconds since 1970.
    """

    model_id: int
    position: int
    active: bool
    learned: int
    skipped: int
    content: bytes
    ledger: str = ""
    loss: float = 0.0
    bound: float | None = None
    reason: str = ""
    library: str = ""
    cpu: str = ""
    updated: float = 0.0

    @property
    def version(self) -> str:
        """The name of the version that it has reached."""
        return f"{self.model_id}+{self.learned}" if self.learned else str(self.model_id)


@dataclass(frozen=True, eq=False)
class Mark:
    """A step of a learner, for replay and charts.

    Attributes
    ----------
    model_id, position, learned : int
        As of the learner after the step.
    digest : bytes
        SHA-256 of what its content holds, whichever version of the library wrote it.
    seqs : ndarray of int64
        The events that it learned in this step.
    losses : ndarray of float64
        What it lost on each.
    loss : float
    bound : float, optional
        As of the learner after the step.
    """

    model_id: int
    position: int
    learned: int
    digest: bytes
    seqs: NDArray[np.int64]
    losses: NDArray[np.float64]
    loss: float
    bound: float | None


@dataclass(frozen=True)
class ExperimentRecord:
    """Two models that share the queries.

    Attributes
    ----------
    number : int
        1, 2, 3, ...
    name : str
        The caller's.
    a, b : int
        The models.
    share : float
        How much of the queries b gets.
    begun : int
        The event that began it.
    ended : int, optional
        The event that ended it; None while it runs.
    """

    number: int
    name: str
    a: int
    b: int
    share: float
    begun: int
    ended: int | None = None


@dataclass(frozen=True)
class ArmSums:
    """What the judged rankings of one arm add up to.

    Attributes
    ----------
    queries, rankings : int
        How many have a value.
    total : float
        Sum over the queries of the mean value of their rankings.
    squares : float
        Sum of the squares of these means.
    """

    queries: int = 0
    rankings: int = 0
    total: float = 0.0
    squares: float = 0.0

    @property
    def mean(self) -> float | None:
        """Mean over the queries; None without any."""
        return self.total / self.queries if self.queries else None

    @property
    def spread(self) -> float:
        """Sum of the squared differences of the queries' values from their mean."""
        if not self.queries:
            return 0.0
        return max(self.squares - self.total**2 / self.queries, 0.0)  # less is rounding


@dataclass(frozen=True)
class Serving:
    """Who ranks now.

    Attributes
    ----------
    generation : int
        Grows with every change of anything here: cheap to ask for.
    promoted : int
        The model that ranks.
    previous : int, optional
        The one before it, to roll back to.
    experiment : Experiment, optional
        The one that runs, which then decides who ranks.
    """

    generation: int
    promoted: int
    previous: int | None = None
    experiment: ExperimentRecord | None = None
