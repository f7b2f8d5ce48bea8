"""A fit that fails leaves the model as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


class EndedEarly(KeyboardInterrupt):
    """An interrupt that a ``fit`` has answered with a model that can be used."""


class UnfinishedError(OSError):
    """A ``fit`` that could not go on, and has left a model that can be used."""


class Refitted:
    """Base of estimators whose ``fit`` is done or not done.

    A model that keeps old weights beside the names of new features would give wrong scores. So
    whatever a ``fit`` has set when it raises is undone, unless that is :class:`EndedEarly` or
    :class:`UnfinishedError`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("fit", "fit_parts"):
            if name in vars(cls):
                setattr(cls, name, undone(vars(cls)[name]))


def undone(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``fit`` after whose errors the attributes are those from before."""

    @wraps(fit)
    def fit_or_leave(self: Any, *args: Any, **options: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **options)
        except (EndedEarly, UnfinishedError):
            raise
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return fit_or_leave
