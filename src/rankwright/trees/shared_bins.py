"""LightGBM's bins, made once for all fits to the same features.

A search fits many models to one matrix, an ensemble too. To sort its values into bins takes longer
than to grow many trees, and bins depend on few parameters.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

from rankwright.data.validation import Matrix

# Training and validation queries with two sets of binning parameters.
_MOST = 4


@dataclass(frozen=True)
class _Kept:
    arrays: tuple[weakref.ref[Any], ...]  # of the features; weak, so that bins keep no data alive
    key: Any
    binned: Any

    def is_of(self, arrays: tuple[Any, ...], key: Any) -> bool:
        same = len(arrays) == len(self.arrays)
        same = same and all(ref() is a for ref, a in zip(self.arrays, arrays, strict=True))
        return same and bool(key == self.key)


class SharedBins:
    """The last few matrices that were sorted into bins.

    A matrix is known by its arrays, not by their content: who shares bins changes no feature in
    place.
    """

    def __init__(self) -> None:
        self._kept: list[_Kept] = []

    def of(self, X: Matrix, key: Any, make: Callable[[], Any]) -> Any:
        """Return what was made of these features with an equal key, or make it."""
        arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
        alive = [kept for kept in self._kept if all(ref() is not None for ref in kept.arrays)]
        for kept in alive:
            if kept.is_of(arrays, key):
                return kept.binned
        made = make()
        added = _Kept(tuple(weakref.ref(a) for a in arrays), key, made)
        self._kept = [*alive, added][-_MOST:]
        return made


_current: ContextVar[SharedBins | None] = ContextVar("shared_bins", default=None)


@contextmanager
def shared_bins() -> Iterator[None]:
    """Let the fits in this block, and in this thread, share the bins of equal matrices.

    The models are the same bits as without; blocks may be nested, and share with the outermost.
    """
    if _current.get() is not None:
        yield
        return
    token = _current.set(SharedBins())
    try:
        yield
    finally:
        _current.reset(token)


def current_bins() -> SharedBins | None:
    """Return the bins of the block that this is called in, or None."""
    return _current.get()
