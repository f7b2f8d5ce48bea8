"""What the service answered, as plain values. Fields that a newer service adds are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from rankwright.showing import Brief


@dataclass(frozen=True, repr=False)
class RankedDocument(Brief):
    """A document of a ranking.

    Attributes
    ----------
    id : str
        The caller's.
    score : float
        A larger score ranks higher.
    rank : int
        1 is the best.
    label : object, optional
        Where the model predicts labels.
    explanation : dict, optional
        What each feature adds to the score, if it was asked for.
    """

    id: str
    score: float
    rank: int
    label: Any = None
    explanation: dict[str, float] | None = None


@dataclass(frozen=True, repr=False)
class RankedQuery(Brief):
    """A ranking, best first.

    Attributes
    ----------
    query : str
        The caller's id of the query.
    ranking_id : str, optional
        What feedback is given for. None where the service does not keep the ranking.
    model : str
        The version that ranked: ``"1"``, or ``"1+250"`` after 250 learned events.
    documents : tuple of RankedDocument
        The documents, best first.
    """

    query: str
    ranking_id: str | None
    model: str
    documents: tuple[RankedDocument, ...]
    # What was asked, by id: feedback brings the features where the service has lost the ranking.
    asked: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, best first."""
        return tuple(document.id for document in self.documents)

    @property
    def scores(self) -> tuple[float, ...]:
        """The scores, best first."""
        return tuple(document.score for document in self.documents)

    @property
    def ranks(self) -> dict[str, int]:
        """The rank of each document, by its id."""
        return {document.id: document.rank for document in self.documents}

    @property
    def labels(self) -> dict[str, Any]:
        """The label of each document, by its id; None where the model predicts scores only."""
        return {document.id: document.label for document in self.documents}


@dataclass(frozen=True, repr=False)
class Receipt(Brief):
    """What became of a feedback.

    Attributes
    ----------
    event_id : str
        Under which the log has it.
    accepted : bool
        Whether it is in the log, on disk. False only of an event of a batch that was refused.
    duplicate : bool
        Whether the log had it before: from an earlier try, or because it was sent twice.
    status : int, optional
        Why not, as a status of HTTP.
    error : str
        Why not, in one line.
    """

    event_id: str
    accepted: bool
    duplicate: bool = False
    status: int | None = None
    error: str = ""


@dataclass(frozen=True, repr=False)
class Answered(Brief):
    """Something that is made of an object of an answer."""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Take the fields that are known."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in body.items() if name in known})


@dataclass(frozen=True, repr=False)
class ServiceState(Answered):
    """How far the log and the learner of the served model are.

    Attributes
    ----------
    events : int
        Feedback events in the log.
    learned, skipped : int
        Events that the served model learned from, and those that it could not learn from.
    behind : int
        Events that its learner has not seen yet.
    model : str
        The version that ranks.
    cumulative_loss : float, optional
        The sum of its losses; None if it does not learn.
    bound : float, optional
        What theory guarantees of that sum; None where it says nothing.
    reason : str
        Why there is no bound.
    """

    events: int
    learned: int
    model: str
    cumulative_loss: float | None
    bound: float | None
    reason: str = ""
    skipped: int = 0
    behind: int = 0


@dataclass(frozen=True, repr=False)
class ModelInfo(Answered):
    """A model of the service.

    Attributes
    ----------
    model : int
        Its number: what :meth:`Client.promote` takes.
    version : str
        How far it has learned: ``"2"``, or ``"2+250"``.
    kind : str
        Its class.
    digest : str
        SHA-256 of the file that was handed in.
    added : float
        When, in seconds since 1970.
    note : str
        What was said of it.
    learns, serving : bool
        Whether it goes on learning while it is served, and whether it is served now.
    learned, skipped : int
        Events that it learned from, and those that it could not learn from.
    """

    model: int
    version: str
    kind: str
    digest: str
    added: float
    note: str = ""
    learns: bool = False
    serving: bool = False
    learned: int = 0
    skipped: int = 0


@dataclass(frozen=True, repr=False)
class NowServed(Answered):
    """What ranks after a change: the model, its version, and the model before it."""

    model: int
    version: str
    previous: int | None = None


@dataclass(frozen=True, repr=False)
class ArmSummary(Answered):
    """One side of an experiment: the model, its judged queries and rankings, their mean NDCG@10."""

    model: int
    queries: int
    rankings: int
    mean: float | None


@dataclass(frozen=True, repr=False)
class ExperimentSummary(Answered):
    """Two models that share the queries, and what feedback says of them.

    Attributes
    ----------
    experiment : int
        Its number.
    name : str
        The caller's.
    running : bool
        Whether it still runs.
    share : float
        How much of the queries ``b`` gets.
    a, b : ArmSummary
        The two sides.
    difference, low, high : float, optional
        Mean NDCG@10 of b less that of a, and an interval that holds however often it is looked at.
    certain : bool
        Whether 0 is outside of it.
    verdict : str
        The same in words.
    """

    experiment: int
    name: str
    running: bool
    share: float
    a: ArmSummary
    b: ArmSummary
    difference: float | None
    low: float | None
    high: float | None
    certain: bool
    verdict: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Take the fields that are known, of the arms too."""
        return super().of({**body, "a": ArmSummary.of(body["a"]), "b": ArmSummary.of(body["b"])})
