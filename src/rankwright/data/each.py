"""One value for each part of the data, where that part lies.

Whoever computes with the parts knows neither how many there are nor where: here, as in
:class:`EachHere`, or on other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from rankwright.data.pages import give_back


class Each(Protocol):
    """One value for each part of the data, where that part lies.

    Functions are pure and importable: they may run elsewhere, and more than once. Of arguments that
    are an :class:`Each` themselves, every part gets its own.
    """

    def __len__(self) -> int: ...

    def map(self, function: Callable[..., Any], *args: Any) -> Each:
        """Return ``function(value, *args)`` for each part; the results stay with the parts."""
        ...

    def tell(self, function: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Yield ``function(value, *args)`` for each part, in the order of the parts."""
        ...


class EachHere:
    """One value for each part, in the memory of this process.

    Parameters
    ----------
    values : iterable
        They.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = list(values)

    def __len__(self) -> int:
        return len(self.values)

    def map(self, function: Callable[..., Any], *args: Any) -> EachHere:
        """Return ``function(value, *args)`` for each part."""
        return EachHere(self.tell(function, *args))

    def tell(self, function: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Yield ``function(value, *args)`` for each part, one after the other."""
        columns = [a.values if isinstance(a, EachHere) else [a] * len(self) for a in args]
        for own in zip(self.values, *columns, strict=True):
            found = function(*own)
            give_back()  # what was mapped of this part
            yield found


def itself(value: Any) -> Any:
    """Return a value: ``tell(itself)`` brings values here."""
    return value
