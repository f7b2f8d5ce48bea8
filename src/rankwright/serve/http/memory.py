"""Answers that are kept: a few, without a lock that a fork could leave behind."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_MOST = 1024


def keep_answers(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that remembers what it answered, of plain arguments without names.

    Callers from outside choose the arguments: when there are too many, all are forgotten.

    >>> length = keep_answers(len)
    >>> length("four"), length("four")
    (4, 4)
    """
    kept: dict[object, T] = {}

    @wraps(function)
    def answer(*args: P.args, **more: P.kwargs) -> T:
        try:
            return kept[args]
        except KeyError:
            pass
        found = function(*args, **more)
        if len(kept) >= _MOST:
            kept.clear()
        kept[args] = found
        return found

    return answer
