"""What the library asks of a model before it learns from data in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import zip_longest
from typing import Any, ClassVar, Protocol, Self

from rankwright.data.parts import Parts, check_are_parts


class PartModel(Protocol):
    """A model that may learn from data in parts; without a word of its own it does not."""

    part_bytes: ClassVar[tuple[float, ...]] = (0, 0)
    """What ``fit_parts`` takes beside one part: bytes in any case, bytes a document, and bytes a
    value of the features."""

    def fit_parts(
        self,
        parts: Parts,
        valid: Parts | None = None,
        callback: Callable[[Any], Any] | None = None,
    ) -> Self:
        """Learn from data in parts of whole queries, which need not fit into memory."""
        raise TypeError(_in_memory_only(self))

    def takes_parts(self) -> bool:
        """Tell whether it learns from data in parts."""
        return type(self).fit_parts is not PartModel.fit_parts

    def check_learns_from_parts(self) -> None:
        """Raise for parameters with which nothing can be learned from data in parts."""
        if not self.takes_parts():
            raise TypeError(_in_memory_only(self))

    def check_takes_parts(self, parts: Parts, machines: int | None = None) -> None:
        """Raise for what cannot be learned from these parts, without looking at documents."""
        check_are_parts(parts)
        self.check_learns_from_parts()

    def watches(self) -> str:
        """Return what it is that ``fit_parts`` needs validation queries for, or nothing."""
        return ""

    def check_watched(self, valid: Any) -> None:
        """Raise if validation queries are needed, and there are none."""
        needed = self.watches()
        if needed and valid is None:
            raise ValueError(f"{needed} needs validation queries: fit(..., valid=...).")


def most_bytes(needs: Iterable[tuple[float, ...]]) -> tuple[float, ...]:
    """Return what is enough for each of several models, one after the other.

    Examples
    --------
    >>> most_bytes([(100.0, 160.0), (900.0, 130.0, 1.0)])
    (900.0, 160.0, 1.0)
    """
    return tuple(max(own) for own in zip_longest(*needs, fillvalue=0))


def _in_memory_only(model: Any) -> str:
    return (
        f"{type(model).__name__} learns from data in memory only; LinearRanker, DominationRank, "
        "BoostedRanker and EnsembleRanker learn from parts."
    )
