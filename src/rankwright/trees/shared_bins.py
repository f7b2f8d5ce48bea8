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

import numpy as np
import scipy.sparse as sp

from rankwright.data.validation import Matrix

# Training and validation queries of five folds, and of one more with other bins, which take a
# quarter of the memory of float32 features, or less.
_MOST = 12


@dataclass(frozen=True)
class _Kept:
    owners: list[weakref.ref[Any]]  # of the features' memory; weak: bins keep no data alive
    key: Any
    binned: Any

    @property
    def alive(self) -> bool:
        """Whether no other features can have come to lie where these lie."""
        return all(ref() is not None for ref in self.owners)


class SharedBins:
    """The last few matrices that were sorted into bins.

    A matrix is known by where it lies in memory, not by its content: who shares bins changes no
    feature in place.
    """

    def __init__(self) -> None:
        self._kept: list[_Kept] = []

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, X: Matrix, key: Any, make: Callable[[], Any]) -> Any:
        """Return what was made of these features with an equal key, or make it."""
        arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
        # Views are made anew for each fit; what they show is known by address, shape and type.
        key = [key, *(array.__array_interface__ for array in arrays)]
        self._kept = [kept for kept in self._kept if kept.alive]
        for kept in self._kept:
            if kept.key == key:
                return kept.binned
        made = make()
        owners = [weakref.ref(_owner(array)) for array in arrays]
        self._kept = [*self._kept, _Kept(owners, key, made)][-_MOST:]
        return made


def _owner(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


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
