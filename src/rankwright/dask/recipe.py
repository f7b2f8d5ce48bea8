"""What workers hold: values that travel as the way they are made.

A part, or a loss on it, may be larger than everything else that is sent. It is never sent. What
travels is a :class:`Recipe`: functions and their arguments, from the file on. A worker that gets
one makes the value anew, with the same bits.
"""

from __future__ import annotations

import threading
import uuid
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from rankwright.blas import one_blas_thread
from rankwright.data.arrays import fingerprint
from rankwright.data.dataset import Dataset
from rankwright.data.pages import give_back
from rankwright.data.spool import Spool, Spooled
from rankwright.exceptions import DataError


class Recipe:
    """A value, and how it is made: ``function(parent's value, *args)``.

    Data sets lie in a spool of the worker, and are mapped into memory whenever they are asked for.

    Parameters
    ----------
    function : callable
        Pure and importable.
    args : tuple
        Its arguments.
    parent : Recipe, optional
        What gives its first argument.
    expected : tuple of str, optional
        The fingerprint that a data set must have, and its name.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        parent: Recipe | None = None,
        expected: tuple[str, str] | None = None,
    ) -> None:
        self.function, self.args, self.parent, self.expected = function, args, parent, expected
        self.name = uuid.uuid4().hex
        self.notes: list[str] = []  # warnings of making it
        self._lock = threading.Lock()
        self._is_made = False
        self._value: Any = None
        self._spooled: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return found_here, (self.name, (self.function, self.args, self.parent, self.expected))

    @property
    def value(self) -> Any:
        """The value; it is made when it is asked for first."""
        with self._lock:
            if not self._is_made:
                given = () if self.parent is None else (self.parent.value,)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    self.set(self.function(*given, *self.args))
                self.notes = [str(one.message) for one in caught]
            return self._value if self._spooled is None else self._spooled.open()

    @property
    def spooled(self) -> Spooled:
        """Where a data set lies on this host, as long as this object lives."""
        self.value  # noqa: B018  # made when it is asked for first
        assert self._spooled is not None
        found: Spooled = self._spooled
        return found

    def set(self, value: Any) -> None:
        """Keep a value that was made already."""
        _known[self.name] = self
        if isinstance(value, Dataset):
            self.check(value)
            spool = own_spool()
            self._spooled = spool.put(value)
            weakref.finalize(self, spool.drop, self._spooled).atexit = False
        else:
            self._value = value
        self._is_made = True

    def check(self, value: Dataset) -> None:
        """Raise unless a data set is what it was when it was made first."""
        if self.expected is not None and fingerprint(value) != self.expected[0]:
            raise DataError(
                "has changed since it was read first. Read the parts again.", path=self.expected[1]
            )


_known: weakref.WeakValueDictionary[str, Recipe] = weakref.WeakValueDictionary()


def found_here(name: str, given: tuple[Any, ...]) -> Recipe:
    """Return a value that was sent here; one that is here already is not made twice."""
    made = _known.get(name)
    if made is None:
        made = Recipe(*given)
        made.name = name
        made = _known.setdefault(name, made)
    return made


_spools: list[Spool] = []
_spools_lock = threading.Lock()


def own_spool() -> Spool:
    """Return the spool of this process, in the folder that a Dask worker cleans up after itself."""
    from distributed import get_worker

    with _spools_lock:
        if not _spools:
            try:
                place = get_worker().local_directory
            except ValueError:  # no worker
                place = None
            _spools.append(Spool(place))
        return _spools[0]


# ---- tasks ----


def made_first(function: Callable[..., Any], *args: Any) -> Recipe:
    """Make a value of arguments alone."""
    made = Recipe(function, args)
    with one_blas_thread():
        made.value  # noqa: B018  # now, so that what is wrong is known now
    return made


def told(value: Any, function: Callable[..., Any], *args: Any) -> Any:
    """Return ``function(value, *args)``."""
    given = [arg.value if isinstance(arg, Recipe) else arg for arg in args]
    try:
        with one_blas_thread():
            return function(value.value if isinstance(value, Recipe) else value, *given)
    finally:
        give_back()


def kept(value: Any, function: Callable[..., Any], *args: Any) -> Any:
    """Return the same as it stays on a worker: numbers as they are, all else as it is made."""
    found = told(value, function, *args)
    if not isinstance(value, Recipe) or isinstance(found, np.ndarray | tuple | float | int):
        return found
    made = Recipe(function, args, value)
    made.set(found)
    return made


def pinned(made: Recipe, expected: str, name: str) -> Recipe:
    """Return a part that is read again only if it is the same."""
    made.expected = expected, name
    made.check(made.value)
    return made
