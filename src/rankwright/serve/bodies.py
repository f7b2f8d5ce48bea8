"""What callers send and get: the bodies of the HTTP API, version 1, and nothing else.

Unknown fields are refused, so that a misspelt one is an answer and not a silence.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

Feature = float | None  # None is a missing value


class Document(Struct, forbid_unknown_fields=True, gc=False):
    """A document: its id, and its features in the model's order or by their names."""

    id: str
    features: list[Feature] | dict[str, Feature]


class RankRequest(Struct, forbid_unknown_fields=True):
    """``POST /v1/rank``: a query with its documents."""

    query: str
    documents: list[Document]
    k: int | None = None
    explain: bool = False


class PlacedDocument(Struct, omit_defaults=True, gc=False):
    """A document of an answer, best first."""

    id: str
    score: float
    rank: int
    label: Any = UNSET  # where the model predicts labels
    explanation: dict[str, float] | UnsetType = UNSET  # contributions by feature, largest first


class Ranked(Struct):
    """The answer: who ranked, and the documents, best first.

    ``ranking_id`` is null where the ranking is not kept: feedback must then bring the features.
    """

    ranking_id: str | None
    model: str
    documents: list[PlacedDocument]


class LabelledDocument(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A document of a feedback that brings its features."""

    id: str
    features: list[Feature] | dict[str, Feature]
    label: float | None = None  # None: no label, or clicks say it


class Feedback(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """``POST /v1/feedback``: labels or clicks, for a ranking or for documents that come along.

    Exactly one of ``ranking_id`` and ``documents``; exactly one of ``labels``, ``clicks`` and the
    labels of the documents.
    """

    event_id: str
    ranking_id: str | None = None
    labels: dict[str, float] | None = None
    clicks: list[str] | None = None
    query: str | None = None
    documents: list[LabelledDocument] | None = None


class Accepted(Struct, omit_defaults=True):
    """What became of an event; ``error`` only in a batch, for an event that was refused."""

    accepted: bool
    duplicate: bool
    event_id: str | UnsetType = UNSET
    status: int | UnsetType = UNSET
    error: str | UnsetType = UNSET


class State(Struct):
    """``GET /v1/state``: how far the log and the learner of the served model are.

    ``bound`` is null where theory says nothing; ``reason`` then says why.
    """

    events: int
    learned: int
    model: str
    cumulative_loss: float | None
    bound: float | None
    reason: str
    skipped: int
    behind: int


class ModelVersion(Struct):
    """A model of ``GET /v1/models``."""

    model: int
    version: str
    kind: str
    digest: str
    added: float
    note: str
    learns: bool
    serving: bool
    learned: int
    skipped: int


class Promotion(Struct, forbid_unknown_fields=True):
    """``POST /v1/models/promote``: which model to serve."""

    model: int


class Promoted(Struct):
    """Who ranks after a promotion, and who did before."""

    model: int
    version: str
    previous: int | None


class NewExperiment(Struct, forbid_unknown_fields=True):
    """``POST /v1/experiments``: two models, and how much of the queries the second one gets."""

    name: str
    a: int
    b: int
    share: float = 0.5


class Arm(Struct):
    """One side of an experiment."""

    model: int
    queries: int
    rankings: int
    mean: float | None


class ExperimentResult(Struct):
    """Of ``GET /v1/experiments``: NDCG@10 of the judged rankings of both arms, b less a.

    ``low`` and ``high`` hold at every moment at once, however often they are looked at: an
    experiment may be ended as soon as 0 is outside. ``verdict`` says it in words.
    """

    experiment: int
    name: str
    running: bool
    share: float
    a: Arm
    b: Arm
    difference: float | None
    low: float | None
    high: float | None
    certain: bool
    verdict: str


class RefusalBody(Struct, omit_defaults=True):
    """Every answer that is not 2xx: one line, and the field it is about."""

    error: str
    field: str | UnsetType = UNSET
