"""What models take, and whether one can stand in for another without callers noticing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rankwright.data.feature_names import all_feature_names
from rankwright.serve.http.refusals import RefusedError
from rankwright.serve.ranking.ways import ranking_way
from rankwright.serve.store.interface import Store


class Taking(Protocol):
    """What takes documents."""

    @property
    def feature_names(self) -> list[str]:
        """What features are called."""
        ...

    @property
    def takes_missing(self) -> bool:
        """Whether values may be missing."""
        ...


@dataclass(frozen=True)
class Takes:
    """What a model file takes."""

    feature_names: list[str]
    takes_missing: bool


def content_takes(content: bytes) -> Takes:
    """Return what a model file takes; DataError if it is none, or cannot rank."""
    way = ranking_way(content)
    return Takes(all_feature_names(way.names, way.n_features), way.takes_missing)


def model_takes(store: Store, number: int) -> Takes:
    """Return what a model of the store takes; RefusedError without it."""
    try:
        return content_takes(store.model_content(number))
    except KeyError:
        raise unknown_model(number) from None


def unknown_model(number: object) -> RefusedError:
    """Return the refusal of a model that is not there."""
    return RefusedError(
        404, f"there is no model {number!s:.40}: GET /v1/models lists them.", "model"
    )


def feature_conflict(new: Taking, old: Taking) -> str:
    """Say what callers of one model would have to change for another; ``""`` if nothing.

    >>> old = Takes(["title", "age"], True)
    >>> feature_conflict(Takes(["title", "price"], True), old)
    "its feature 2 is 'price' and not 'age'"
    >>> feature_conflict(Takes(["title", "age"], False), old)
    'it takes no missing values'
    """
    if len(new.feature_names) != len(old.feature_names):
        return f"it has {len(new.feature_names)} features and not {len(old.feature_names)}"
    pairs = zip(new.feature_names, old.feature_names, strict=True)
    for place, (mine, theirs) in enumerate(pairs, start=1):
        if mine != theirs:
            return f"its feature {place} is {mine!r:.100} and not {theirs!r:.100}"
    return "it takes no missing values" if old.takes_missing and not new.takes_missing else ""
