"""What whoever starts the service decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Log(StrEnum):
    """What is written of a ranking."""

    features = "features"
    ids = "ids"
    none = "none"


@dataclass(frozen=True)
class Limits:
    """What one caller may ask. A request beyond is answered with 4xx, which names the limit.

    Attributes
    ----------
    body : int
        Bytes of a request.
    documents : int
        Documents of a query.
    queries : int
        Queries, or events, of a batch.
    text : int
        Characters of an id.
    seconds : float
        For a request to arrive.
    rate : float
        Requests a second, of one caller; 0 is no limit.
    connections : int
        At a time.
    waiting : int
        Bytes of rankings that wait to be written; beyond, rankings are answered and not logged.
    """

    body: int = 64 << 20
    documents: int = 10_000
    queries: int = 1_000
    text: int = 512
    seconds: float = 10.0
    rate: float = 0.0
    connections: int = 1_000
    waiting: int = 256 << 20


@dataclass(frozen=True)
class Settings:
    """Of one ``rankwright serve``.

    Attributes
    ----------
    store : str
        ``sqlite:///path``, a path, or ``postgresql://user@host/name``.
    host, port : str, int
        Where to listen.
    workers : int
        Processes that rank.
    log : Log, optional
        None: features if a served model learns, else ids.
    tokens : str, optional
        A file of tokens; None if there is none. Never their values: settings may be printed.
    comparator : str, optional
        A model file whose weights every learner is compared with; None: those it starts with.
    reference : str, optional
        A data file whose features drift is measured against; None: the first that are served.
    retention : float
        Days after which rankings go and events are emptied; 0: never.
    publish : float
        Seconds between two states of a learner.
    limits : Limits
    """

    store: str = "rankwright.db"
    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 1
    log: Log | None = None
    tokens: str | None = None
    comparator: str | None = None
    reference: str | None = None
    retention: float = 0.0
    publish: float = 0.25
    limits: Limits = field(default_factory=Limits)
