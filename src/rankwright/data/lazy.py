"""Attributes that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801
    """A property that keeps its value.

    Unlike :class:`functools.cached_property` before Python 3.12 it has no lock, which a thread
    could hold while another one forks: the child would wait for it for ever. Two threads that ask
    at once compute the same value twice.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object, owner: type) -> Self | T:
        if instance is None:
            return self
        # From now on the instance's own attribute is found first.
        value = instance.__dict__[self.name] = self.function(instance)
        return value
