"""Feedback before it is sent: its id is made once, so that no try can count twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from rankwright.client.results import RankedQuery
from rankwright.client.sending import Features, as_id, asked_documents, listed_documents
from rankwright.suggestions import meant

_RANKING = {"ranking", "ranking_id", "labels", "clicks", "event_id"}
_DOCUMENTS = {"query", "documents", "ids", "X", "labels", "clicks", "event_id"}


@dataclass(frozen=True)
class GivenFeedback:
    """A feedback.

    Attributes
    ----------
    event_id : str
        Of all bodies.
    body : dict, optional
        For a ranking that the service keeps; None if it said that it does not.
    whole : dict, optional
        With the features: for a service that does not keep the ranking, or lost it.
    """

    event_id: str
    body: dict[str, Any] | None
    whole: dict[str, Any] | None

    @property
    def first(self) -> dict[str, Any]:
        """What to send first."""
        if self.body is not None or self.whole is not None:
            return self.body or self.whole or {}
        raise ValueError(
            "the service did not keep this ranking (ranking_id is None): give the features too, "
            "with feedback_with_features."
        )

    @property
    def can_mend(self) -> bool:
        """Whether there is more to send if the service has lost the ranking."""
        return self.body is not None and self.whole is not None


def judged_ranking(
    ranking: str | RankedQuery, labels: Any, clicks: Any, event_id: str | None
) -> GivenFeedback:
    """Return feedback for a ranking, or for its id."""
    if not isinstance(ranking, str | RankedQuery):
        raise TypeError(f"ranking must be a ranking or its id, but is {ranking!r}.")
    known = ranking.ids if isinstance(ranking, RankedQuery) else None
    said = _said_of(labels, clicks, known, event_id)
    if isinstance(ranking, str):
        return GivenFeedback(said["event_id"], {**said, "ranking_id": ranking}, None)
    whole = None
    if ranking.asked is not None:
        shown = {name: ranking.asked[name] for name in ranking.ids}  # in the order of the answer
        whole = _whole(ranking.query, shown, said)
    body = None if ranking.ranking_id is None else {**said, "ranking_id": ranking.ranking_id}
    return GivenFeedback(said["event_id"], body, whole)


def judged_documents(
    query: object, asked: Mapping[str, Features], labels: Any, clicks: Any, event_id: str | None
) -> GivenFeedback:
    """Return feedback that brings its documents, in the order in which they were shown."""
    if labels is not None and not isinstance(labels, Mapping):
        given = list(labels)
        if len(given) != len(asked):
            raise ValueError(
                f"labels must be by id, or one for each document, but {len(given)} came for "
                f"{len(asked)} documents."
            )
        labels = {name: y for name, y in zip(asked, given, strict=True) if y is not None}
    said = _said_of(labels, clicks, tuple(asked), event_id)
    whole = _whole(as_id(query, "query"), asked, said)
    return GivenFeedback(said["event_id"], None, whole)


def judged_event(event: Mapping[str, Any]) -> GivenFeedback:
    """Return feedback of a dict with the arguments of one of the two methods of the client."""
    by_ranking = event.keys() & {"ranking", "ranking_id"}
    known = _RANKING if by_ranking else _DOCUMENTS
    for name in event.keys() - known:
        raise TypeError(f"an event has no {name!r}.{meant(name, known)}")
    said = (event.get("labels"), event.get("clicks"), event.get("event_id"))
    if by_ranking:
        return judged_ranking(event[min(by_ranking)], *said)
    asked = asked_documents(event.get("documents"), event.get("ids"), event.get("X"))
    return judged_documents(event.get("query"), asked, *said)


def _whole(query: str, shown: Mapping[str, Features], said: Mapping[str, Any]) -> dict[str, Any]:
    return {**said, "query": query, "documents": listed_documents(shown)}


def _said_of(
    labels: Any,
    clicks: Any,
    known: tuple[str, ...] | None,
    event_id: str | None,
) -> dict[str, Any]:
    """Return the part that labels and clicks are in, with the id of the event."""
    if (labels is None) == (clicks is None):
        raise TypeError("give labels= or clicks=: one of both.")
    what: dict[str, Any]
    if labels is None:
        if isinstance(clicks, str):
            raise TypeError("clicks must be a list of ids, but is one text. Write [id].")
        what = {"clicks": [as_id(name, "a clicked id") for name in clicks or ()]}
    elif isinstance(labels, Mapping):
        what = {"labels": {as_id(name, "a labelled id"): y for name, y in labels.items()}}
    else:
        raise TypeError("labels must be a dict of labels by the ids of documents.")
    for name in (name for part in what.values() for name in part):
        if known is not None and name not in known:
            raise ValueError(f"document {name!r} is not in the ranking.{meant(name, known)}")
    return {"event_id": uuid4().hex if event_id is None else as_id(event_id, "event_id"), **what}
