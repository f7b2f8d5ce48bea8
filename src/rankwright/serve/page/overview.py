"""What the page shows, as one JSON document: ``GET /v1/overview``.

A few kilobytes, however long the service has run: series are thinned, lists are cut, and what a
reader opens (the explanation of a ranking) is asked for apart.
"""

from __future__ import annotations

from msgspec import Struct

from rankwright.serve.bodies import ExperimentResult, ModelVersion


class RoutePace(Struct):
    """How fast a route answers: milliseconds of its last requests."""

    route: str
    requests: int
    p50: float | None
    p95: float | None
    p99: float | None


class Pace(Struct):
    """What passes through: a number for each second, oldest first, and latencies.

    ``p50``, ``p95`` and ``p99`` are milliseconds of requests for rankings, of the five seconds up
    to each; null without one.
    ``worker`` says whose figures these are: of one process, where there are several.
    """

    rankings: list[float]
    feedback: list[float]
    p50: list[float | None]
    p95: list[float | None]
    p99: list[float | None]
    routes: list[RoutePace]
    worker: str


class Incumbent(Struct):
    """Who ranks now, and how far its learner is. ``behind``: events that wait to be learned."""

    model: int
    version: str
    kind: str
    note: str
    learns: bool
    learned: int
    skipped: int
    behind: int


class LossLine(Struct):
    """Cumulative loss beside its bound, after so many learned events: three lists of a length."""

    learned: list[int]
    loss: list[float]
    bound: list[float | None]


class Promise(Struct):
    """What theory says of the loss: a guarantee with its terms, or the reason why there is none."""

    name: str
    quantity: str
    formula: str
    terms: dict[str, float]
    loss: float | None
    bound: float | None
    reason: str


class FeatureView(Struct):
    """A feature, now and then: population stability, missing values, histograms as shares."""

    name: str
    psi: float | None
    state: str  # "stable", "moved", "drifted"
    missing_then: float
    missing_now: float
    then: list[float]
    now: list[float]


class DriftView(Struct):
    """The features that moved most, of ``n_features``; ``reason`` says why there are none.

    ``whose`` says whose documents these are, where there are several workers: each watches its own.
    """

    reference: str
    rows: int
    n_features: int
    n_moved: int
    n_drifted: int
    features: list[FeatureView]
    reason: str
    whose: str


class StoreView(Struct):
    """The log on its disk; ``error`` is one line if it does not answer."""

    events: int
    rankings: int
    n_bytes: int
    healthy: bool
    waiting: int
    dropped: int
    error: str


class ShownDocument(Struct):
    """A document of a ranking, best first."""

    id: str
    score: float


class ShownRanking(Struct):
    """A ranking that was answered; ``documents`` are its first."""

    ranking_id: str
    at: float
    query: str
    version: str
    arm: str | None
    n_documents: int
    documents: list[ShownDocument]


class Overview(Struct):
    """Is it up, is it learning, is it within its guarantee, who is better, has the data drifted."""

    at: float
    started: float
    library: str
    pace: Pace
    serving: Incumbent | None
    promise: Promise | None
    line: LossLine
    models: list[ModelVersion]
    previous: int | None  # to roll back to
    experiments: list[ExperimentResult]
    drift: DriftView
    store: StoreView
    rankings: list[ShownRanking]


class ExplainedDocument(Struct):
    """A document of ``GET /v1/rankings/{id}``: its contributions by feature, largest first.

    ``explained`` is the score that they add up to, together with ``rest``, the sum of those that
    are not named.
    """

    id: str
    score: float
    rank: int
    explanation: dict[str, float] | None
    rest: float | None
    explained: float | None


class ExplainedRanking(Struct):
    """``GET /v1/rankings/{id}``: a ranking with its explanations, or the reason without."""

    ranking_id: str
    at: float
    query: str
    version: str
    arm: str | None
    n_documents: int
    documents: list[ExplainedDocument]
    explained_by: str | None
    reason: str
